/*
 * Runs one case and says what differs.
 *
 * A case is judged by its recorded differences: none is a pass; a case on the list of deviations
 * must differ exactly as listed; a tagged one that is not listed may differ where its decisions
 * license it and must hold the set's invariant, unless the vectors are the ones the list was made
 * from.
 */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 2000 /* bytes of a printed value without -v */

void golden_record(struct golden_run *run, const char *label, const char *wanted, const char *got)
{
    VPA_GROW(run->found, run->found_count, run->found_capacity);
    run->found[run->found_count++] = (struct golden_found){label, wanted, got};
}

void golden_record_skip(struct golden_run *run, const char *reason)
{
    snprintf(run->skip_reason, sizeof(run->skip_reason), "%s", reason);
}

void golden_count_exempt(struct golden_run *run, size_t count)
{
    run->counts->exempt += count;
}

void golden_exempt(struct golden_case *c, size_t count)
{
    golden_count_exempt(c->run, count);
}

bool golden_listed(const struct golden_case *c)
{
    struct golden_deviation *d;

    return !c->run->unlisted && golden_deviation_find(c, &d) == GOLDEN_LISTED;
}

void golden_count_failure(struct golden_counts *counts)
{
    counts->cases++;
    counts->mismatches++;
}

/* ---- judgement ---- */

static void print_value(const char *what, const char *value, bool whole)
{
    size_t len = strlen(value);

    if (whole || len <= VALUE_MAX)
        printf("    %s %s\n", what, value);
    else
        printf("    %s %.*s... (%zu bytes)\n", what, VALUE_MAX, value, len);
}

static void report(struct golden_run *run, const struct golden_case *c, const char *why)
{
    run->counts->mismatches++;
    if (run->quiet || run->options->propose ||
        (!run->options->verbose && run->counts->mismatches > GOLDEN_PRINTED_MAX))
        return;
    printf("MISMATCH %s %s (%s)%s%s\n", c->set, c->id, c->file, *why ? ": " : "", why);
    for (size_t i = 0; i < run->found_count; i++) {
        printf("  %s\n", run->found[i].label);
        print_value("wanted", run->found[i].wanted, run->options->verbose);
        print_value("got   ", run->found[i].got, run->options->verbose);
    }
}

/* The listed labels and values are exactly those found. */
static bool as_listed(struct golden_run *run, const struct vpa_json *values)
{
    size_t listed = vpa_json_count(values);

    if (listed != run->found_count)
        return false;
    for (size_t i = 0; i < listed; i++) {
        const struct vpa_json *ours = vpa_json_find(values, run->found[i].label), *got;
        struct vpa_error err;
        const char *text = run->found[i].got;
        if (vpa_json_parse(&run->arena, text, strlen(text), &got, &err) < 0)
            return false;
        if (!ours || !vpa_json_equal(ours, got))
            return false;
    }
    return true;
}

static void propose(struct golden_run *run, const struct golden_case *c)
{
    char fingerprint[17];
    const char *separator = "";

    golden_fingerprint(c, fingerprint);
    printf("%s %s %s ", c->set, c->id, fingerprint);
    vpa_json_foreach (tag, c->differs) {
        const char *text = vpa_or_empty(vpa_json_string(tag));
        printf("%s", separator);
        for (; *text; text++)
            putchar(*text == ' ' ? '_' : *text);
        separator = ",";
    }
    printf("%s {", c->differs ? "" : "UNTAGGED");
    for (size_t i = 0; i < run->found_count; i++)
        printf("%s\"%s\":%s", i ? "," : "", run->found[i].label, run->found[i].got);
    printf("}\n");
}

bool golden_is_like(const char *pattern, const char *text)
{
    const char *star = strchr(pattern, '*');

    if (!star)
        return strcmp(pattern, text) == 0;
    if (strncmp(pattern, text, (size_t)(star - pattern)) != 0)
        return false;
    for (text += star - pattern; !golden_is_like(star + 1, text); text++)
        if (!*text)
            return false;
    return true;
}

static bool is_licensed(const struct golden_case *c, const struct golden_licence *licences,
                        const char *touched, const char *label)
{
    for (; licences->decision; licences++) {
        if (!golden_tagged(c, licences->decision) && !vpa_str_eq(licences->decision, touched))
            continue;
        for (size_t i = 0; i < GOLDEN_LICENSED_MAX && licences->labels[i]; i++)
            if (golden_is_like(licences->labels[i], label))
                return true;
    }
    return false;
}

/* Licences speak of leaves. */
struct leaves {
    const struct golden_case *c;
    const struct golden_licence *licences;
    const char *touched;
    size_t differing;
    bool licensed;
};

static void judge_leaf(void *ctx, const char *label, const struct vpa_json *want,
                       const struct vpa_json *got)
{
    struct leaves *l = ctx;

    (void)want, (void)got;
    l->differing++;
    l->licensed = l->licensed && is_licensed(l->c, l->licences, l->touched, label);
}

/* A document that stands in a text is taken for itself; NULL for a text that is for people. */
static const struct vpa_json *as_json(struct golden_run *run, const char *text)
{
    const struct vpa_json *root = NULL, *inner;
    struct vpa_error err;

    if (vpa_json_parse(&run->arena, text, strlen(text), &root, &err) < 0)
        return NULL;
    text = vpa_json_string(root);
    if (text && vpa_json_parse(&run->arena, text, strlen(text), &inner, &err) == 0 &&
        (vpa_json_is_object(inner) || vpa_json_is_array(inner)))
        return inner;
    return root;
}

/* Drops the differences that the decisions of the case allow. */
static void drop_licensed(struct golden_run *run, const struct golden_case *c, const char *touched)
{
    size_t kept = 0;

    for (size_t i = 0; run->set->licences && i < run->found_count; i++) {
        struct leaves l = {
            .c = c, .licences = run->set->licences, .touched = touched, .licensed = true};

        golden_each_leaf(c, run->found[i].label, as_json(run, run->found[i].wanted),
                         as_json(run, run->found[i].got), judge_leaf, &l);
        if (l.licensed && l.differing > 0)
            golden_count_exempt(run, l.differing);
        else
            run->found[kept++] = run->found[i];
    }
    run->found_count = kept;
}

/* The case is on the list. */
static void judge_listed(struct golden_run *run, const struct golden_case *c,
                         struct golden_deviation *d)
{
    d->seen = true;
    run->counts->deviations++;
    golden_count_exempt(run, run->found_count);
    bool as_it_says = as_listed(run, run->values ? run->values : d->values);
    if (run->options->propose && run->found_count > 0 && !as_it_says)
        propose(run, c);
    if (run->found_count == 0)
        report(run, c, "listed as a deviation but equal to the reference");
    else if (!as_it_says)
        report(run, c, "differs, but not as listed");
}

static bool has_label(const struct golden_found *found, size_t count, const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].label, label) == 0)
            return true;
    return false;
}

/* The case once more, with the decisions undone. What equals the reference in one of the two runs
 * is as it should be: a decision need not take effect wherever it is undone. The labels of checks
 * among several values have a remark in brackets, and must hold when it is undone. */
static void compare_undone(struct golden_run *run, struct golden_case *c)
{
    size_t before = run->found_count, kept = 0;
    struct golden_found *found =
        vpa_arena_alloc(c->arena, (before + 1) * sizeof(struct golden_found));

    for (size_t i = 0; i < before; i++)
        found[i] = run->found[i];
    golden_count_exempt(run, before);
    run->found_count = 0;
    run->seen_count = 0;
    run->set->undone(c);
    golden_record_unseen(c, run->set->information);
    for (size_t i = 0; i < run->found_count; i++)
        if (run->set->undone_wholly || strstr(run->found[i].label, " (") ||
            has_label(found, before, run->found[i].label))
            run->found[kept++] = run->found[i];
    run->found_count = kept;
}

/* The case differs and is not on the list. */
static void judge_unlisted(struct golden_run *run, struct golden_case *c)
{
    const char *touched = run->set->touches ? run->set->touches(c) : NULL;

    if (run->ours || !run->set->invariant || !(c->differs || touched)) {
        report(run, c, c->differs ? "tagged, not listed" : "");
        return;
    }
    if (run->set->undone)
        compare_undone(run, c);
    drop_licensed(run, c, touched);
    run->counts->deviations++;
    run->seen_count = 0;
    run->set->invariant(c);
    if (!run->set->licences) /* it has compared everything once more */
        golden_record_unseen(c, run->set->information);
    if (run->found_count)
        report(run, c, "the invariant of the decision does not hold");
}

static void judge(struct golden_run *run, struct golden_case *c)
{
    struct golden_deviation *d;
    enum golden_listing listing = run->unlisted ? GOLDEN_UNLISTED : golden_deviation_find(c, &d);

    if (run->skip_reason[0]) {
        run->counts->skipped++;
        if (run->options->verbose && !run->quiet)
            printf("SKIPPED %s %s: %s\n", c->set, c->id, run->skip_reason);
    } else if (listing == GOLDEN_LISTED) {
        judge_listed(run, c, d);
    } else if (run->found_count > 0 && run->options->propose) {
        propose(run, c);
        run->counts->mismatches++;
    } else if (listing == GOLDEN_CHANGED_REFERENCE) {
        report(run, c, "listed, but with another result of the reference");
    } else if (run->found_count > 0) {
        judge_unlisted(run, c);
    }
}

/* ---- the case ---- */

/* A case needs its parts; without them nothing would be compared. */
static const char *read_case(struct golden_case *c, struct vpa_error *err)
{
    if (vpa_json_parse(c->arena, c->line, strlen(c->line), &c->root, err) < 0)
        return "JSON";
    c->id = vpa_json_string(vpa_json_find(c->root, "id"));
    c->in = vpa_json_find(c->root, "in");
    c->out = vpa_json_find(c->root, "out");
    c->differs = vpa_json_find(c->root, "differs");
    if (c->id && vpa_json_is_object(c->in) && vpa_json_count(c->out) > 0)
        return NULL;
    vpa_fail(err, VPA_INVALID, "a part is not there");
    return "id, in and out";
}

bool golden_run_line(struct golden_run *run, const char *file, const char *line)
{
    struct golden_case c = {
        .set = run->set->name, .file = file, .line = line, .arena = &run->arena, .run = run};
    size_t before = run->counts->mismatches;
    struct vpa_error err;

    run->counts->cases++;
    run->found_count = 0;
    run->seen_count = 0;
    run->skip_reason[0] = '\0';
    const char *needed = read_case(&c, &err);
    if (!c.id)
        c.id = "?";
    if (needed) {
        golden_record(run, "case", needed, err.text);
        report(run, &c, "");
        return false;
    }
    snprintf(run->current, GOLDEN_CURRENT_MAX, "%s", c.id);
    run->set->run(&c);
    golden_record_unseen(&c, run->set->information);
    judge(run, &c);
    run->current[0] = '\0';
    return run->counts->mismatches == before;
}
