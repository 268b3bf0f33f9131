/* Stored states of algorithms: what is loaded goes on learning, answers in order, and is stored as
 * a text that loads again. */
#include <string.h>

#include "fuzz.h"
#include "vpa/model/algorithm.h"

#define DAY (24 * VPA_HOUR)

static struct vpa_method *method_of(const struct vpa_algorithm *a)
{
    struct vpa_parameters p;

    vpa_parameters_init(&p, a);
    struct vpa_method *m = vpa_method_new(&p, NULL);
    vpa_parameters_release(&p);
    FUZZ_CHECK(m != NULL);
    return m;
}

static void learn(struct vpa_knowledge *k, vpa_time now)
{
    static const enum vpa_usage_type types[] = {VPA_USAGE_CPU, VPA_USAGE_MEMORY, VPA_USAGE_OOM};
    static const vpa_amount amounts[] = {250, 1 << 28, 1 << 29};

    for (size_t i = 0; i < 3; i++)
        vpa_knowledge_add(k, &(struct vpa_usage){types[i], now, 1, amounts[i]});
    vpa_knowledge_age(k, now);
}

static void ask(const struct vpa_knowledge *k, vpa_time now)
{
    struct vpa_estimate e;

    if (!vpa_knowledge_estimate(k, &(struct vpa_question){now, 2}, &e))
        return;
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        FUZZ_CHECK(e.bound[VPA_TARGET].value[kind] >= 0);
        FUZZ_CHECK(e.bound[VPA_LOWER_BOUND].value[kind] <= e.bound[VPA_TARGET].value[kind] ||
                   strcmp(vpa_algorithm_name(vpa_method_algorithm(vpa_knowledge_method(k))),
                          VPA_ALGORITHM_VPA) == 0);
    }
}

static void store_again(struct vpa_method *m, const struct vpa_knowledge *k, vpa_time now)
{
    struct vpa_arena arena = {0};
    struct vpa_json_writer w;
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_buf text;

    vpa_buf_init(&text, 1 << 24);
    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(k, now, &w);
    FUZZ_CHECK(vpa_json_writer_done(&w));
    FUZZ_CHECK(vpa_json_parse(&arena, vpa_buf_text(&text), text.len, &root, &err) == 0);
    struct vpa_knowledge *again = vpa_knowledge_load(m, root, now, &err);
    FUZZ_CHECK(again != NULL);
    vpa_knowledge_free(again);
    vpa_buf_release(&text);
    vpa_arena_release(&arena);
}

static void try_algorithm(const struct vpa_algorithm *a, const struct vpa_json *root)
{
    const vpa_time now = vpa_time_from_unix(1768478400, 0);
    struct vpa_method *m = method_of(a);
    struct vpa_error err;
    struct vpa_knowledge *k = vpa_knowledge_load(m, root, now, &err);

    if (k) {
        ask(k, now);
        learn(k, now);
        ask(k, now + VPA_HOUR);
        store_again(m, k, now);
        vpa_knowledge_age(k, now + 30 * DAY);
        ask(k, now + 30 * DAY);
    }
    vpa_knowledge_free(k);
    vpa_method_unref(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    if (vpa_json_parse(&arena, (const char *)data, size, &root, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            try_algorithm(all[i], root);
    }
    vpa_arena_release(&arena);
    return 0;
}
