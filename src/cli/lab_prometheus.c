#include "lab_prometheus.h"

#include <math.h>

#include "vpa/base/file.h"
#include "vpa/base/math.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

#define ANSWER_MAX ((size_t)64 << 20)

#define auto_samples __attribute__((cleanup(lab_samples_release))) struct lab_samples

/* [1700000000.5, "0.25"]; "NaN" is a gap. What a series measures stands as CPU until both are one.
 */
static int add_sample(struct lab_samples *s, const struct vpa_json *pair, struct vpa_error *err)
{
    const struct vpa_json *time = vpa_json_first(pair);
    const char *text = time ? vpa_json_string(vpa_json_next(time)) : NULL;
    double second;
    double value;

    if (!text || !vpa_json_double(time, &second) || vpa_double_parse(text, &value, NULL) < 0)
        return vpa_fail(err, VPA_INVALID, "values: expected pairs of a time and a text");
    if (!(second >= 0.0) || second > 253402300799.0)
        return vpa_fail(err, VPA_INVALID, "values: %.17g is not a time of our era", second);
    if (isnan(value))
        return 0;
    if (isinf(value) || value < 0.0)
        return vpa_fail(err, VPA_INVALID, "values: %.40s is not a usage", text);
    if (s->count && (int64_t)second <= s->second[s->count - 1])
        return vpa_fail(err, VPA_INVALID, "values: times are to rise by a second at least");
    lab_samples_add(s, (int64_t)second, value, NAN);
    return 0;
}

static int read_answer(const struct vpa_json *root, struct lab_samples *s, struct vpa_error *err)
{
    const struct vpa_json *result = vpa_json_at(root, "data.result");
    size_t count = vpa_json_count(result);

    if (vpa_json_find(root, "kind"))
        return vpa_fail(err, VPA_INVALID,
                        "an object of Kubernetes, not an answer of Prometheus; a checkpoint is a "
                        "histogram, which cannot be replayed: lab checkpoint shows what is "
                        "recommended from it");
    if (!vpa_str_eq(vpa_json_string(vpa_json_at(root, "data.resultType")), "matrix"))
        return vpa_fail(err, VPA_INVALID, "expected the answer of a range query (a matrix)");
    if (count != 1)
        return vpa_fail(err, VPA_INVALID,
                        "expected one series, there are %zu: add them up, or "
                        "choose one, in the query",
                        count);
    vpa_json_foreach (pair, vpa_json_find(vpa_json_first(result), "values")) {
        if (add_sample(s, pair, err) < 0)
            return -1;
    }
    return 0;
}

static int read_file(const char *path, struct lab_samples *s, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    vpa_auto_free char *text = NULL;
    const struct vpa_json *root;
    size_t len;

    if (!path)
        return 0;
    if (vpa_read_file(path, ANSWER_MAX, &text, &len, err) < 0)
        return -1;
    if (vpa_json_parse(&arena, text, len, &root, err) < 0 || read_answer(root, s, err) < 0)
        return vpa_wrap(err, "%s", path);
    return 0;
}

int lab_prometheus_read(const char *cpu_file, const char *memory_file, struct lab_trace *out,
                        struct vpa_error *err)
{
    auto_samples cpu = {0}, memory = {0}, both = {0};
    size_t i = 0;
    size_t k = 0;

    if (read_file(cpu_file, &cpu, err) < 0 || read_file(memory_file, &memory, err) < 0)
        return -1;
    if (!cpu.count && !memory.count)
        return vpa_fail(err, VPA_INVALID, "%s: no samples",
                        vpa_or_empty(cpu_file ? cpu_file : memory_file));
    while (i < cpu.count || k < memory.count) {
        bool has_cpu = i < cpu.count && (k == memory.count || cpu.second[i] <= memory.second[k]);
        bool has_memory = k < memory.count && (i == cpu.count || memory.second[k] <= cpu.second[i]);
        int64_t second = has_cpu ? cpu.second[i] : memory.second[k];
        lab_samples_add(&both, second, has_cpu ? cpu.cpu[i] : NAN,
                        has_memory ? memory.cpu[k] : NAN);
        i += has_cpu ? 1 : 0;
        k += has_memory ? 1 : 0;
    }
    lab_trace_fold(&both, "prometheus", out);
    return 0;
}
