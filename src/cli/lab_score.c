/*
 * Policies x traces. A trace is replayed once for each policy; what comes out is one score per
 * resource, and a line of the table is a mean over the scores of a class of traces (long, short),
 * or of one group of it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "lab_folder.h"
#include "lab_measure.h"
#include "output.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"

#define ROUNDS 400
#define ROUNDS_MAX 100000

static const char *const resource_names[] = {"cpu", "memory"};
#define RESOURCES VPA_COUNT(resource_names)

/* The names of the figures in CSV and JSON. */
static const char *const figure_names[LAB_FIGURES] = {
    [LAB_SLACK] = "slack",
    [LAB_DAY_SLACK] = "daySlack",
    [LAB_UNSERVED] = "unserved",
    [LAB_TIME_ABOVE] = "timeAbove",
    [LAB_OOMS_PER_DAY] = "oomsPerDay",
    [LAB_OOM_FREE] = "oomFreeDays",
    [LAB_CHANGES] = "changesPerDay",
};

struct line {
    bool is_long;
    size_t resource;
    const char *group; /* "all": the mean of groups */
    const char *policy;
    struct lab_summary summary;
};

struct score {
    struct cli *cli;
    struct lab_traces traces;
    struct lab_score *scores[RESOURCES]; /* of one policy, by trace; group NULL: none */
    uint64_t rounds;
    uint64_t seed;
    struct line *lines;
    size_t count;
    size_t capacity;
};

static void score_release(struct score *s)
{
    lab_traces_release(&s->traces);
    for (size_t r = 0; r < RESOURCES; r++)
        free(s->scores[r]);
    free(s->lines);
}

/* Whether the comma separated list names the text; no list names all. */
static bool names(const char *list, const char *text)
{
    struct vpa_slice piece;

    if (!list)
        return true;
    while (vpa_str_split(&list, ',', &piece))
        if (vpa_slice_eq(vpa_slice_trim(piece), text))
            return true;
    return false;
}

static void replay_one(struct score *s, const struct lab_policy *policy, size_t i)
{
    const struct lab_trace *t = &s->traces.items[i];
    vpa_auto_free double *cpu = vpa_xcalloc(t->windows, sizeof(*cpu));
    vpa_auto_free double *memory = vpa_xcalloc(t->windows, sizeof(*memory));

    lab_run_trace(policy, t, cpu, memory);
    if (!lab_score_cpu(t, cpu, &s->scores[0][i]))
        s->scores[0][i].group = NULL;
    if (!lab_score_memory(t, memory, &s->scores[1][i]))
        s->scores[1][i].group = NULL;
}

/* The mean over the traces of a class, of one group or (NULL) all of them. */
static void add_line(struct score *s, const char *policy, bool is_long, size_t resource,
                     const char *group)
{
    vpa_auto_free struct lab_score *picked = vpa_xcalloc(s->traces.count + 1, sizeof(*picked));
    struct vpa_random random;
    size_t count = 0;

    for (size_t i = 0; i < s->traces.count; i++) {
        const struct lab_score *score = &s->scores[resource][i];
        if (score->group && s->traces.items[i].is_long == is_long &&
            (!group || strcmp(group, score->group) == 0))
            picked[count++] = *score;
    }
    if (!count)
        return;
    VPA_GROW(s->lines, s->count, s->capacity);
    struct line *line = &s->lines[s->count++];
    *line = (struct line){
        .is_long = is_long, .resource = resource, .group = group ? group : "all", .policy = policy};
    vpa_random_init(&random, s->seed);
    lab_summarise(picked, count, s->rounds, &random, &line->summary);
}

/* Whether the group of trace i did not come before. */
static bool first_of_group(const struct score *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(s->traces.items[k].group, s->traces.items[i].group) == 0)
            return false;
    return true;
}

static void add_lines(struct score *s, const char *policy)
{
    bool by_group = cli_option(s->cli, "by-group") != NULL;

    for (size_t k = 0; k < 2 * RESOURCES; k++) {
        add_line(s, policy, k < RESOURCES, k % RESOURCES, NULL);
        for (size_t i = 0; by_group && i < s->traces.count; i++)
            if (first_of_group(s, i))
                add_line(s, policy, k < RESOURCES, k % RESOURCES, s->traces.items[i].group);
    }
}

static void show_progress(const char *policy, size_t done, size_t count)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (done == count)
        fprintf(stderr, "\r\033[K");
    else if (done % 8 == 0)
        fprintf(stderr, "\r\033[K%s: %zu of %zu traces", policy, done, count);
    fflush(stderr);
}

static void score_policy(struct score *s, const struct lab_policy *policy)
{
    for (size_t i = 0; i < s->traces.count; i++) {
        show_progress(lab_policy_name(policy), i, s->traces.count);
        replay_one(s, policy, i);
    }
    show_progress(lab_policy_name(policy), s->traces.count, s->traces.count);
    add_lines(s, lab_policy_name(policy));
}

/* ---- how it is shown ---- */

static bool has_figure(size_t resource, enum lab_figure f)
{
    if (f == LAB_UNSERVED || f == LAB_TIME_ABOVE)
        return resource == 0;
    if (f == LAB_OOMS_PER_DAY || f == LAB_OOM_FREE)
        return resource == 1;
    return true;
}

static void put_number(struct vpa_json_writer *w, const char *name, double value)
{
    vpa_json_key(w, name);
    if (isnan(value))
        vpa_json_put_null(w);
    else
        vpa_json_put_double(w, value);
}

static void put_figure(struct vpa_json_writer *w, const struct lab_summary *sum, size_t f)
{
    vpa_json_member_object(w, figure_names[f]);
    put_number(w, "mean", sum->figure[f]);
    put_number(w, "low", sum->low[f]);
    put_number(w, "high", sum->high[f]);
    vpa_json_close_object(w);
}

static void put_line_json(struct vpa_json_writer *w, const struct line *line)
{
    const struct lab_summary *sum = &line->summary;

    vpa_json_open_object(w);
    vpa_json_member_string(w, "class", line->is_long ? "long" : "short");
    vpa_json_member_string(w, "resource", resource_names[line->resource]);
    vpa_json_member_string(w, "group", line->group);
    vpa_json_member_string(w, "policy", line->policy);
    vpa_json_member_int(w, "traces", (int64_t)sum->traces);
    vpa_json_member_int(w, "groups", (int64_t)sum->groups);
    put_number(w, "days", sum->days);
    put_number(w, "pooledSlack", sum->pooled_slack);
    for (size_t f = 0; f < LAB_FIGURES; f++)
        if (has_figure(line->resource, (enum lab_figure)f))
            put_figure(w, sum, f);
    if (line->resource == 1) {
        vpa_json_member_int(w, "ooms", (int64_t)sum->ooms);
        vpa_json_member_int(w, "badDays", (int64_t)sum->bad_days);
        vpa_json_member_int(w, "totalDays", (int64_t)sum->total_days);
    }
    vpa_json_close_object(w);
}

static void print_json(const struct score *s)
{
    struct vpa_json_writer w;
    struct cli_json json;

    cli_json_begin(&json, &w);
    vpa_json_member_array(&w, "scores");
    for (size_t i = 0; i < s->count; i++)
        put_line_json(&w, &s->lines[i]);
    vpa_json_close_array(&w);
    cli_json_end(s->cli, &json);
}

static void put_csv_number(struct vpa_buf *out, double value)
{
    vpa_buf_putc(out, ',');
    if (!isnan(value))
        vpa_json_format_double(out, value);
}

static void print_csv(const struct score *s)
{
    struct vpa_buf *out = &s->cli->out;

    vpa_buf_puts(out, "class,resource,group,policy,traces,groups,days,pooledSlack");
    for (size_t f = 0; f < LAB_FIGURES; f++)
        vpa_buf_printf(out, ",%s,%sLow,%sHigh", figure_names[f], figure_names[f], figure_names[f]);
    vpa_buf_puts(out, ",ooms,badDays,totalDays\n");
    for (size_t i = 0; i < s->count; i++) {
        const struct line *line = &s->lines[i];
        const struct lab_summary *sum = &line->summary;
        vpa_buf_printf(out, "%s,%s,", line->is_long ? "long" : "short",
                       resource_names[line->resource]);
        cli_put_csv(out, line->group);
        vpa_buf_printf(out, ",%s,%zu,%zu", line->policy, sum->traces, sum->groups);
        put_csv_number(out, sum->days);
        put_csv_number(out, sum->pooled_slack);
        for (size_t f = 0; f < LAB_FIGURES; f++) {
            put_csv_number(out, sum->figure[f]);
            put_csv_number(out, sum->low[f]);
            put_csv_number(out, sum->high[f]);
        }
        vpa_buf_printf(out, ",%zu,%zu,%zu\n", sum->ooms, sum->bad_days, sum->total_days);
    }
}

static void percent_cell(struct cli_table *table, double value, int digits)
{
    if (isnan(value))
        cli_table_cell(table, "-");
    else
        cli_table_printf(table, "%.*f%%", digits, 100.0 * value);
}

/* "53.6% (51-56)": the mean and its interval. */
static void interval_cell(struct cli_table *table, const struct lab_summary *sum, enum lab_figure f,
                          int digits, bool with_interval)
{
    if (!with_interval || isnan(sum->figure[f])) {
        percent_cell(table, sum->figure[f], digits);
        return;
    }
    cli_table_printf(table, "%.*f%% (%.*f-%.*f)", digits, 100.0 * sum->figure[f], digits - 1,
                     100.0 * sum->low[f], digits - 1, 100.0 * sum->high[f]);
}

static void put_row(struct cli_table *table, const struct line *line, bool with_interval)
{
    const struct lab_summary *sum = &line->summary;

    cli_table_cell(table, line->policy);
    cli_table_cell(table, line->group);
    interval_cell(table, sum, LAB_SLACK, 1, with_interval);
    percent_cell(table, sum->pooled_slack, 1);
    percent_cell(table, sum->figure[LAB_DAY_SLACK], 1);
    if (line->resource == 0) {
        interval_cell(table, sum, LAB_UNSERVED, 2, with_interval);
        percent_cell(table, sum->figure[LAB_TIME_ABOVE], 2);
    } else {
        cli_table_printf(table, "%zu", sum->ooms);
        cli_table_printf(table, "%zu of %zu", sum->bad_days, sum->total_days);
        percent_cell(table, sum->figure[LAB_OOM_FREE], 2);
    }
    cli_table_printf(table, "%.2f", sum->figure[LAB_CHANGES]);
}

static const struct cli_column cpu_columns[] = {
    {"POLICY"},          {"GROUP"},          {"SLACK", true},      {"POOLED", true},
    {"DAY SLACK", true}, {"UNSERVED", true}, {"TIME ABOVE", true}, {"CHANGES/DAY", true},
};
static const struct cli_column memory_columns[] = {
    {"POLICY"},         {"GROUP"},           {"SLACK", true},
    {"POOLED", true},   {"DAY SLACK", true}, {"OOMS", true},
    {"BAD DAYS", true}, {"OOM-FREE", true},  {"CHANGES/DAY", true},
};

static void print_table(const struct score *s, bool is_long, size_t resource)
{
    struct vpa_buf *out = &s->cli->out;
    cli_auto_table table = {0};

    if (resource == 0)
        cli_table_init(&table, &s->cli->arena, cpu_columns, VPA_COUNT(cpu_columns));
    else
        cli_table_init(&table, &s->cli->arena, memory_columns, VPA_COUNT(memory_columns));
    for (size_t i = 0; i < s->count; i++)
        if (s->lines[i].is_long == is_long && s->lines[i].resource == resource)
            put_row(&table, &s->lines[i], s->rounds > 0);
    if (!table.cell_count)
        return;
    vpa_buf_printf(out, "%s%s, %s traces\n", out->len ? "\n" : "", resource_names[resource],
                   is_long ? "long" : "short");
    cli_table_print(&table, true, s->cli->color, out);
}

static void print(const struct score *s)
{
    if (cli_option(s->cli, "csv") || s->cli->format == CLI_CSV) {
        print_csv(s);
    } else if (cli_option(s->cli, "json") || cli_is_json(s->cli)) {
        if (s->cli->format != CLI_YAML)
            s->cli->format = CLI_JSON;
        print_json(s);
    } else {
        for (size_t k = 0; k < 2 * RESOURCES; k++)
            print_table(s, k < RESOURCES, k % RESOURCES);
    }
}

/* ---- options ---- */

static int read_count(const struct cli *cli, const char *name, uint64_t most, uint64_t *out,
                      struct vpa_error *err)
{
    const char *text = cli_option(cli, name);

    if (!text)
        return 0;
    if (vpa_parse_uint64(text, out, err) < 0)
        return vpa_wrap(err, "--%s", name);
    if (*out > most)
        return vpa_fail(err, VPA_INVALID, "--%s: %.40s is above %" PRIu64, name, text, most);
    return 0;
}

static int check_policies(const char *list, struct vpa_error *err)
{
    struct vpa_slice piece;

    while (vpa_str_split(&list, ',', &piece)) {
        struct vpa_slice word = vpa_slice_trim(piece);
        vpa_auto_free char *name = vpa_xstrndup(word.ptr, word.len);
        const struct lab_policy *policy;
        if (lab_policy_get(name, &policy, err) < 0)
            return vpa_wrap(err, "--policy");
    }
    return 0;
}

static int keep_groups(struct score *s, const char *list, struct vpa_error *err)
{
    struct lab_traces *t = &s->traces;
    size_t kept = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (names(list, t->items[i].group))
            t->items[kept++] = t->items[i];
        else
            lab_trace_release(&t->items[i]);
    }
    t->count = kept;
    if (!kept)
        return vpa_fail(err, VPA_NOT_FOUND, "no trace of the group %.100s", vpa_or_empty(list));
    return 0;
}

/* A trace that ends within its warm-up is in no figure. */
static void note_unscored(const struct score *s)
{
    size_t count = 0;

    for (size_t i = 0; i < s->traces.count; i++)
        count += s->traces.items[i].first >= s->traces.items[i].last;
    if (count)
        cli_note(s->cli,
                 "%zu of %zu traces end within the warm-up of 24 h (short ones: 6 h) and are "
                 "not scored",
                 count, s->traces.count);
}

int lab_score(struct cli *cli, const char *folder, struct vpa_error *err)
{
    __attribute__((cleanup(score_release))) struct score s = {
        .cli = cli, .rounds = ROUNDS, .seed = 1};
    const char *policies = cli_option(cli, "policy");

    if (check_policies(policies, err) < 0 ||
        read_count(cli, "rounds", ROUNDS_MAX, &s.rounds, err) < 0 ||
        read_count(cli, "seed", UINT64_MAX, &s.seed, err) < 0 ||
        lab_traces_read(folder, &s.traces, err) < 0 ||
        keep_groups(&s, cli_option(cli, "group"), err) < 0)
        return -1;
    note_unscored(&s);
    for (size_t r = 0; r < RESOURCES; r++)
        s.scores[r] = vpa_xcalloc(s.traces.count, sizeof(*s.scores[r]));
    for (size_t i = 0; lab_policy_at(i); i++)
        if (names(policies, lab_policy_name(lab_policy_at(i))))
            score_policy(&s, lab_policy_at(i));
    print(&s);
    return 0;
}
