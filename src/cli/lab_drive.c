#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lab.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

/* Longest line: names of traces are short, numbers shorter. */
#define LINE_MAX_BYTES 1024
#define WORDS_MAX 4
/* Seconds of the year 9999. */
#define SECOND_MAX INT64_C(253402300799)

struct drive {
    const struct lab_policy *policy;
    FILE *out;
    struct lab_run *run; /* once the trace is known */
    int64_t second;      /* of the last line: times do not go back */
};

static int read_second(struct drive *d, const char *text, struct vpa_error *err)
{
    int64_t second;

    if (vpa_parse_int64(text, &second, err) < 0)
        return vpa_wrap(err, "time");
    if (second < 0 || second > SECOND_MAX)
        return vpa_fail(err, VPA_INVALID, "time: %.40s is not within 0 and %" PRId64, text,
                        SECOND_MAX);
    if (second < d->second)
        return vpa_fail(err, VPA_INVALID, "time: %.40s is before the line before", text);
    d->second = second;
    return 0;
}

static void put_value(FILE *out, double value)
{
    char text[VPA_DOUBLE_TEXT_MAX];

    if (isnan(value)) {
        fputc('-', out);
        return;
    }
    vpa_double_format_go(value, text);
    fputs(text, out);
}

static int on_trace(struct drive *d, char *const *words, struct vpa_error *err)
{
    int64_t interval;

    if (d->run)
        return vpa_fail(err, VPA_INVALID, "a second trace; each needs a program of its own");
    if (vpa_parse_int64(words[2], &interval, err) < 0)
        return vpa_wrap(err, "sample interval");
    if (interval < 1 || interval > LAB_DAY_SECONDS)
        return vpa_fail(err, VPA_INVALID, "sample interval: %.40s is not within 1 and %d", words[2],
                        LAB_DAY_SECONDS);
    d->run = lab_run_new(d->policy);
    return 0;
}

static int on_recommend(struct drive *d, char *const *words, struct vpa_error *err)
{
    struct lab_allocation a;

    if (read_second(d, words[1], err) < 0)
        return -1;
    lab_run_recommend(d->run, d->second, &a);
    put_value(d->out, a.cpu);
    fputc(' ', d->out);
    put_value(d->out, a.memory);
    fputc('\n', d->out);
    if (fflush(d->out) != 0)
        return vpa_fail(err, VPA_INVALID, "cannot write the answer: %s", strerror(errno));
    return 0;
}

static int on_sample(struct drive *d, char *const *words, struct vpa_error *err)
{
    double cpu;
    double memory;

    if (read_second(d, words[1], err) < 0 || lab_usage_parse(words[2], "-", "cpu", &cpu, err) < 0 ||
        lab_usage_parse(words[3], "-", "memory", &memory, err) < 0)
        return -1;
    lab_run_sample(d->run, d->second, cpu, memory);
    return 0;
}

static int on_oom(struct drive *d, char *const *words, struct vpa_error *err)
{
    double limit;

    if (read_second(d, words[1], err) < 0 ||
        lab_usage_parse(words[2], "-", "limit", &limit, err) < 0)
        return -1;
    if (isnan(limit))
        return vpa_fail(err, VPA_INVALID, "limit: \"-\" was not hit by anybody");
    lab_run_oom(d->run, d->second, limit);
    return 0;
}

static const struct {
    const char *name;
    size_t words;
    const char *form;
    int (*take)(struct drive *d, char *const *words, struct vpa_error *err);
} kinds[] = {
    {"trace", 3, "trace ID INTERVAL", on_trace},
    {"recommend", 2, "recommend TIME", on_recommend},
    {"sample", 4, "sample TIME CPU MEMORY", on_sample},
    {"oom", 3, "oom TIME LIMIT", on_oom},
};

/* Cuts the line at blanks; one word too many is counted, not kept. */
static size_t split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;

    for (char *p = line + strspn(line, " "); *p; p += strspn(p, " ")) {
        if (count < WORDS_MAX)
            words[count] = p;
        count++;
        p += strcspn(p, " ");
        if (*p)
            *p++ = '\0';
    }
    return count;
}

static int take_line(struct drive *d, char *line, struct vpa_error *err)
{
    char *words[WORDS_MAX];
    size_t count = split(line, words);

    for (size_t i = 0; count && i < VPA_COUNT(kinds); i++) {
        if (strcmp(words[0], kinds[i].name) != 0)
            continue;
        if (count != kinds[i].words)
            return vpa_fail(err, VPA_INVALID, "expected \"%s\"", kinds[i].form);
        if (!d->run && kinds[i].take != on_trace)
            return vpa_fail(err, VPA_INVALID, "%s before \"trace ID INTERVAL\"", kinds[i].name);
        return kinds[i].take(d, words, err);
    }
    return vpa_fail(err, VPA_INVALID, "\"%.40s\" is not one of trace, recommend, sample, oom",
                    count ? words[0] : "");
}

static int drive_lines(struct drive *d, FILE *in, struct vpa_error *err)
{
    char line[LINE_MAX_BYTES];

    for (size_t number = 1; fgets(line, sizeof(line), in); number++) {
        size_t len = strlen(line);
        if (len == sizeof(line) - 1 && line[len - 1] != '\n')
            return vpa_fail(err, VPA_LIMIT, "line %zu: longer than %d bytes", number,
                            LINE_MAX_BYTES - 2);
        line[strcspn(line, "\r\n")] = '\0';
        if (take_line(d, line, err) < 0)
            return vpa_wrap(err, "line %zu", number);
    }
    if (ferror(in))
        return vpa_fail(err, VPA_INVALID, "cannot read: %s", strerror(errno));
    return 0;
}

int lab_drive(const struct lab_policy *policy, FILE *in, FILE *out, struct vpa_error *err)
{
    struct drive d = {.policy = policy, .out = out};
    int result = drive_lines(&d, in, err);

    lab_run_free(d.run);
    return result;
}
