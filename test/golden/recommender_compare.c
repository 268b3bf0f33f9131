/*
 * Writes are matched by what they are about, not by their position: method, path, and for a create
 * the name. A checkpoint patch whose content is what the server holds already may be missing (U5).
 * What upstream does not know is left out: copies of unreadable checkpoints (U16) and Events.
 */
#include "recommender_compare.h"
#include "recommender_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/metrics.h"

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)

static const char *member_text(const struct vpa_json *node, const char *name)
{
    return vpa_or_empty(vpa_json_string(vpa_json_find(node, name)));
}

static const char *text_of(struct golden_case *c, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    if (!node)
        return NULL;
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, node);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&text));
}

static bool is_checkpoint(const char *path)
{
    return strstr(path, "/verticalpodautoscalercheckpoints") != NULL;
}

/* Last segment of a path; the name inside the body for creates. */
static const char *name_in_body(struct golden_case *c, const char *body)
{
    const struct vpa_json *root;

    if (vpa_json_parse(c->arena, body, strlen(body), &root, NULL) < 0)
        return "?";
    return vpa_or_empty(vpa_json_string(vpa_json_at(root, "metadata.name")));
}

static const char *key_of(struct golden_case *c, const char *method, const char *path,
                          const char *body)
{
    const char *short_path = strstr(path, "/namespaces/");

    short_path = short_path ? short_path + strlen("/namespaces/") : path;
    if (strcmp(method, "POST") == 0)
        return golden_label(c, "POST %s/%s", short_path, name_in_body(c, body));
    return golden_label(c, "%s %s", method, short_path);
}

/* ---- writes ---- */

struct got {
    const struct sim_asked *write;
    const char *key;
    bool used;
};
struct got_list {
    struct got *items;
    size_t count;
};

static bool is_ours_alone(struct golden_case *c, const struct sim_asked *w)
{
    if (strstr(w->path, "/events"))
        return true;
    if (!is_checkpoint(w->path))
        return false;
    return vpa_str_ends_with(w->path, "-unreadable") ||
           (strcmp(w->method, "POST") == 0 &&
            vpa_str_ends_with(name_in_body(c, w->body), "-unreadable"));
}

static struct got_list collect(struct world *w)
{
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(w->cluster, &count);
    struct got_list list = {.items =
                                vpa_arena_zalloc(w->c->arena, (count + 1) * sizeof(struct got))};

    for (size_t i = 0; i < count; i++) {
        if (is_ours_alone(w->c, &writes[i]))
            continue;
        list.items[list.count].write = &writes[i];
        list.items[list.count++].key =
            key_of(w->c, writes[i].method, writes[i].path, writes[i].body);
    }
    return list;
}

static struct got *take(struct got_list *list, const char *key)
{
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].used && strcmp(list->items[i].key, key) == 0) {
            list->items[i].used = true;
            return &list->items[i];
        }
    return NULL;
}

/* Whether an expected patch says what the server holds anyway. */
static bool may_be_missing(struct world *w, const struct vpa_json *want)
{
    const char *path = member_text(want, "path");
    const struct vpa_json *value =
        vpa_json_find(vpa_json_first(vpa_json_find(want, "body")), "value");

    if (strcmp(member_text(want, "method"), "PATCH") != 0 || !is_checkpoint(path) || !value)
        return false;
    vpa_auto_free char *stored = fake_cluster_checkpoint_content(w->cluster, path);
    return stored && strcmp(stored, fake_content_of(text_of(w->c, value))) == 0;
}

/* The total weights of a checkpoint once more, as bits; 0 where one is absent. */
static void compare_bits(struct golden_case *c, const char *label, const struct vpa_json *bits,
                         const struct vpa_json *body)
{
    static const char *const names[][2] = {{"cpu", "cpuHistogram"}, {"memory", "memoryHistogram"}};
    const struct vpa_json *op = vpa_json_is_array(body) ? vpa_json_first(body) : NULL;
    const struct vpa_json *status = op ? vpa_json_find(op, "value") : vpa_json_find(body, "status");

    for (size_t i = 0; bits && i < VPA_COUNT(names); i++) {
        double total = 0;

        vpa_json_double(vpa_json_at(status, golden_label(c, "%s.totalWeight", names[i][1])),
                        &total);
        golden_bits(c, golden_label(c, "%s bits.%s", label, names[i][0]),
                    vpa_json_find(bits, names[i][0]), total);
    }
}

static bool is_ordered(const struct world *w)
{
    bool ordered = false;

    vpa_json_bool(GOLDEN_IN(w->c, "ordered"), &ordered);
    return ordered;
}

/* What both sides wrote, before anything is judged. */
static void note_causes(struct world *w, const struct vpa_json *want, const struct got_list *got)
{
    vpa_json_foreach (expected, vpa_json_find(want, "writes"))
        exemptions_note(&w->exemptions, member_text(expected, "path"),
                        vpa_or_empty(text_of(w->c, vpa_json_find(expected, "body"))), false);
    for (size_t i = 0; i < got->count; i++)
        exemptions_note(&w->exemptions, got->items[i].write->path, got->items[i].write->body, true);
    exemptions_noted(&w->exemptions);
}

/* A write of the reference that we left out. */
static void compare_unwritten(struct world *w, const char *label, const struct vpa_json *want)
{
    struct golden_case *c = w->c;

    if (!may_be_missing(w, want)) {
        golden_compared(c, want);
        golden_difference(c, label, text_of(c, vpa_json_find(want, "body")), "not written");
        return;
    }
    golden_exempt(c, 1); /* U5: the content is what the server holds */
    golden_compared(c, vpa_json_find(want, "method"));
    golden_compared(c, vpa_json_find(want, "path"));
    golden_compared(c, vpa_json_find(want, "body"));
    const struct vpa_json *op = vpa_json_first(vpa_json_find(want, "body"));
    if (!vpa_str_starts_with(member_text(want, "path"), "/apis/autoscaling.k8s.io/v1/namespaces/"))
        golden_unexpected(c, golden_label(c, "%s path", label), member_text(want, "path"));
    if (vpa_json_count(op) != 3 || strcmp(member_text(op, "op"), "replace") != 0 ||
        strcmp(member_text(op, "path"), "/status") != 0 || vpa_json_next(op))
        golden_unexpected(c, golden_label(c, "%s body", label), "another form");
    compare_bits(c, label, vpa_json_find(want, "bits"), vpa_json_find(want, "body"));
    golden_text(c, golden_label(c, "%s type", label), vpa_json_find(want, "type"),
                "application/json-patch+json");
    golden_int(c, golden_label(c, "%s code", label), vpa_json_find(want, "code"), 200);
}

/* When a write of the reference was sent. */
static vpa_time sent_at(const struct world *w, const struct vpa_json *want)
{
    int64_t after = 0;

    vpa_json_int64(vpa_json_find(want, "at_ms"), &after);
    return vpa_time_add(w->began, after * VPA_MILLISECOND);
}

static const struct vpa_json *parsed(struct golden_case *c, const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    return vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0 ? NULL : root;
}

static struct form_write form_of(const struct world *w, const char *label,
                                 const struct vpa_json *want, enum exempt fields)
{
    const char *path = member_text(want, "path");

    return (struct form_write){.label = label,
                               .body = vpa_json_find(want, "body"),
                               .began = w->began,
                               .at = sent_at(w, want),
                               .fields = fields,
                               .is_status = !is_checkpoint(path),
                               .capped = exemptions_is_capped(&w->exemptions, path),
                               .generation = exemptions_generation(&w->exemptions, path)};
}

/* The answer that the server gives to such a write where no fault is scripted. */
static bool is_usual_answer(const char *method, int64_t code)
{
    return code == (strcmp(method, "POST") == 0 ? 201 : 200) ||
           (strcmp(method, "PATCH") == 0 && code == 404);
}

/* A write of the reference that a decision explains: nothing of ours stands against it, so it is
 * held to the form of such writes. */
static void check_lone(struct world *w, const char *label, const struct vpa_json *want,
                       enum exempt fields)
{
    struct golden_case *c = w->c;
    const char *method = member_text(want, "method");
    struct form_write form = form_of(w, label, want, fields);
    const struct vpa_json *body = form.body;
    int64_t code = 0;

    golden_compared(c, vpa_json_find(want, "method"));
    golden_compared(c, vpa_json_find(want, "path"));
    golden_compared(c, body);
    golden_compared(c, vpa_json_find(want, "code"));
    golden_compared(c, vpa_json_find(want, "at_ms"));
    golden_text(c, golden_label(c, "%s type", label), vpa_json_find(want, "type"),
                strcmp(method, "PATCH") == 0 ? "application/json-patch+json" : "application/json");
    vpa_json_int64(vpa_json_find(want, "code"), &code);
    if (!is_usual_answer(method, code) && !vpa_json_find(w->step, "faults"))
        golden_unexpected(c, golden_label(c, "%s code", label), golden_label(c, "%d", (int)code));
    if (strcmp(method, "DELETE") == 0)
        golden_json(c, golden_label(c, "%s body", label), body,
                    "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"autoscaling.k8s.io/v1\"}");
    else
        form_check(c, &form);
    compare_bits(c, label, vpa_json_find(want, "bits"), body);
    golden_exempt(c, 1);
    w->exemptions.leaves += 2; /* a whole write is more than a leaf */
}

/* Bodies that differ, where a decision may be the reason. */
static void compare_explained(struct world *w, const char *label, const struct vpa_json *want,
                              const char *got, enum exempt fields)
{
    struct golden_case *c = w->c;
    struct form_write form = form_of(w, label, want, fields);

    form_check(c, &form);
    size_t leaves = form_compare(c, &form, parsed(c, got));
    w->exemptions.leaves += leaves;
    golden_exempt(c, leaves);
}

static void compare_write(struct world *w, const char *label, const struct vpa_json *want,
                          const struct got *got, enum exempt fields)
{
    struct golden_case *c = w->c;
    const char *body = text_of(c, vpa_json_find(want, "body"));
    const char *ours =
        w->exemptions.active ? exemptions_without_conflict(c, got->write->body) : got->write->body;
    int64_t at_ms = 0;

    golden_compared(c, vpa_json_find(want, "method")); /* by them the two were brought together */
    golden_text(c, golden_label(c, "%s path", label), vpa_json_find(want, "path"),
                got->write->path);
    golden_compared(c, vpa_json_find(want, "body"));
    if (strcmp(vpa_or_empty(body), ours) != 0) {
        if (fields == EXEMPT_NOTHING)
            golden_difference(c, label, body, ours);
        else
            compare_explained(w, label, want, ours, fields);
    }
    compare_bits(c, label, vpa_json_find(want, "bits"), vpa_json_find(want, "body"));
    golden_text(c, golden_label(c, "%s type", label), vpa_json_find(want, "type"),
                got->write->type);
    golden_int(c, golden_label(c, "%s code", label), vpa_json_find(want, "code"), got->write->code);
    golden_compared(c, vpa_json_find(want, "at_ms"));
    vpa_json_int64(vpa_json_find(want, "at_ms"), &at_ms);
    if (at_ms != got->write->at_ms)
        golden_difference(c, golden_label(c, "%s at_ms", label),
                          golden_label(c, "%lld", (long long)at_ms),
                          golden_label(c, "%lld", (long long)got->write->at_ms));
}

static enum exempt fields_of(const struct world *w, const struct vpa_json *want)
{
    return exemptions_explain(&w->exemptions, member_text(want, "path"),
                              vpa_or_empty(text_of(w->c, vpa_json_find(want, "body"))));
}

/* Two of the expected writes in the wrong order. */
static void compare_order(struct world *w, const char *label, const struct got *match,
                          const struct got **last)
{
    if (!is_ordered(w) || !is_checkpoint(match->write->path))
        return;
    if (*last && match < *last)
        golden_difference(w->c, golden_label(w->c, "%s order", label), "later", "earlier");
    *last = match;
}

/* A write of ours that the reference has not. */
static void compare_extra(struct world *w, const char *prefix, const struct got *got)
{
    const struct sim_asked *write = got->write;

    if (exemptions_is_collected(&w->exemptions, write->path) ||
        exemptions_repeats(&w->exemptions, write->path) ||
        exemptions_explain(&w->exemptions, write->path, write->body) >= EXEMPT_HISTORY) {
        golden_exempt(w->c, 1);
        w->exemptions.leaves += 2;
        return;
    }
    golden_unexpected(w->c, golden_label(w->c, "%s %s", prefix, got->key), write->body);
}

static void compare_writes(struct world *w, const char *prefix, const struct vpa_json *want)
{
    struct golden_case *c = w->c;
    struct got_list got = collect(w);
    const struct got *last = NULL;

    note_causes(w, want, &got);
    if (vpa_json_count(vpa_json_find(want, "writes")) == 0)
        golden_json(c, golden_label(c, "%s writes", prefix), vpa_json_find(want, "writes"), "[]");
    vpa_json_foreach (expected, vpa_json_find(want, "writes")) {
        const char *key = key_of(c, member_text(expected, "method"), member_text(expected, "path"),
                                 vpa_or_empty(text_of(c, vpa_json_find(expected, "body"))));
        const char *label = golden_label(c, "%s %s", prefix, key);
        struct got *match = take(&got, key);
        enum exempt fields = fields_of(w, expected);

        if (match) {
            compare_write(w, label, expected, match, fields);
            compare_order(w, label, match, &last);
        } else if (fields >= EXEMPT_HISTORY && !may_be_missing(w, expected)) {
            check_lone(w, label, expected, fields);
        } else {
            compare_unwritten(w, label, expected);
        }
    }
    for (size_t i = 0; i < got.count; i++)
        if (!got.items[i].used)
            compare_extra(w, prefix, &got.items[i]);
}

/* ---- reads ---- */

/* U19: a scale that was not found is asked for again, and what comes meanwhile is found. */
static bool may_be_read(const struct world *w, const char *read)
{
    return w->exemptions.active && vpa_str_ends_with(read, "/scale") &&
           (w->exemptions.reads || vpa_str_starts_with(read, "404 "));
}

/* Both lists are sorted. */
static void compare_reads(struct world *w, const char *prefix, const struct vpa_json *want)
{
    struct golden_case *c = w->c;
    const struct vpa_json *expected = vpa_json_find(want, "reads"), *next;
    struct fake_list got;
    size_t count = 0;

    if (!expected)
        return;
    got = fake_cluster_reads(w->cluster, c->arena);
    next = vpa_json_first(expected);
    for (size_t i = 0; i < got.count; i++) {
        if (next && vpa_str_eq(vpa_json_string(next), got.items[i])) {
            golden_compared(c, next);
            next = vpa_json_next(next);
            count++;
        } else if (may_be_read(w, got.items[i])) {
            golden_exempt(c, 1);
        } else {
            golden_unexpected(c, golden_label(c, "%s reads[%zu]", prefix, i), got.items[i]);
        }
    }
    for (; next; next = vpa_json_next(next))
        golden_text(c, golden_label(c, "%s reads[%zu]", prefix, count++), next, NULL);
}

/* ---- exposition ---- */

static bool is_zero_line(const char *line)
{
    const char *value = strrchr(line, ' ');

    return value && strcmp(value, " 0") == 0;
}

static bool same_line(const char *want, const char *got)
{
    const char *want_value = strrchr(want, ' ');
    const char *got_value = strrchr(got, ' ');

    if (strcmp(want, got) == 0)
        return true;
    if (!want_value || !got_value || want_value - want != got_value - got ||
        strncmp(want, got, (size_t)(want_value - want)) != 0 || !strstr(want, "_sum"))
        return false;
    double a = strtod(want_value, NULL);
    double b = strtod(got_value, NULL);
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* Init containers are not looked at here, so nothing is counted (README: not vital). */
static bool is_not_counted(const struct vpa_json *line)
{
    return strstr(vpa_or_empty(vpa_json_string(line)), "InitContainer") != NULL;
}

/* A family of our own: upstream has none of that name to compare it with. */
static bool is_ours(const char *line)
{
    static const char *const families[] = {"vpa_recommender_certificate_",
                                           "vpa_recommender_failures_total",
                                           "vpa_recommender_measure_",
                                           "vpa_recommender_registration_repairs_total",
                                           "vpa_recommender_self_test_failures_total",
                                           "vpa_recommender_tls_handshake_failures_total"};
    const char *name = vpa_str_starts_with(line, "# TYPE ") ? line + strlen("# TYPE ") : line;

    for (size_t i = 0; i < VPA_COUNT(families); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

void compare_exposition(struct world *w, const struct vpa_json *want, const char *what,
                        const char *label)
{
    struct golden_case *c = w->c;
    size_t count;
    struct vpa_metrics metrics = {.table = recommender_metrics_table(&count)};
    const struct vpa_json *expected = vpa_json_count(want) > 0 ? vpa_json_first(want) : NULL;
    const char *rest;
    struct vpa_slice piece;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);
    size_t i = 0;

    metrics.count = count;
    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &text);
    rest = vpa_buf_text(&text);
    while (vpa_str_split(&rest, '\n', &piece)) {
        const char *line = vpa_arena_strndup(c->arena, piece.ptr, piece.len);
        bool type = vpa_str_starts_with(line, "# TYPE vpa_");

        if ((!type && !vpa_str_starts_with(line, "vpa_")) || is_ours(line))
            continue;
        if (strcmp(what, "nonzero") == 0 && (type || is_zero_line(line)))
            continue;
        if (!expected) {
            golden_unexpected(c, golden_label(c, "%s exposition %s", label, line), line);
            continue;
        }
        while (is_not_counted(expected)) {
            golden_compared(c, expected);
            golden_exempt(c, 1);
            expected = vpa_json_next(expected);
            i++;
        }
        golden_compared(c, expected);
        if (!expected || !same_line(vpa_or_empty(vpa_json_string(expected)), line)) {
            golden_text(c, golden_label(c, "%s exposition[%zu]", label, i), expected, line);
            return; /* what follows is out of step */
        }
        i++;
        expected = vpa_json_next(expected);
    }
    while (is_not_counted(expected)) {
        golden_compared(c, expected);
        expected = vpa_json_next(expected);
    }
    if (expected)
        golden_text(c, golden_label(c, "%s exposition[%zu]", label, i), expected, NULL);
}

/* ---- passes ---- */

void compare_count(const struct world *w, struct pass_totals *totals)
{
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(w->cluster, &count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(writes[i].method, "DELETE") == 0)
            totals->deletes++;
        else if (strcmp(writes[i].method, "POST") == 0)
            totals->creates++;
        else if (is_checkpoint(writes[i].path))
            totals->checkpoint_patches++;
        else
            totals->status_patches++;
    }
}

void compare_totals(struct world *w, size_t step, const struct pass_totals *totals)
{
    struct golden_case *c = w->c;

    vpa_json_foreach (want, GOLDEN_OUT(c, "totals")) {
        int64_t index = -1;

        vpa_json_int64(vpa_json_find(want, "step"), &index);
        if (index != (int64_t)step)
            continue;
        golden_compared(c, vpa_json_find(want, "step"));
        if (w->exemptions.leaves > 0) { /* what is exempt changes the numbers */
            golden_compared(c, want);
            golden_exempt(c, vpa_json_count(want));
            continue;
        }
        golden_compared(c, vpa_json_find(want, "checkpoint_patches"));
        golden_int(c, golden_label(c, "totals[%zu].status", step), vpa_json_find(want, "status"),
                   totals->status_patches);
        golden_int(c, golden_label(c, "totals[%zu].creates", step),
                   vpa_json_find(want, "checkpoint_creates"), totals->creates);
        golden_int(c, golden_label(c, "totals[%zu].deletes", step),
                   vpa_json_find(want, "checkpoint_deletes"), totals->deletes);
        int64_t most = 0; /* unchanged ones are left out */
        vpa_json_int64(vpa_json_find(want, "checkpoint_patches"), &most);
        if (totals->checkpoint_patches > most)
            golden_difference(c, golden_label(c, "totals[%zu].patches", step),
                              golden_label(c, "at most %lld", (long long)most),
                              golden_label(c, "%lld", (long long)totals->checkpoint_patches));
    }
}

/* Where the pass stands in its case. */
static void compare_place(struct world *w, const char *prefix, const struct vpa_json *want,
                          const struct pass_place *place)
{
    struct golden_case *c = w->c;

    golden_compared(c, vpa_json_find(want, "at_s")); /* as part of the duration */
    golden_int(c, golden_label(c, "%s step", prefix), vpa_json_find(want, "step"),
               (int64_t)place->index);
    if (place->number != 0 || vpa_json_find(want, "i"))
        golden_int(c, golden_label(c, "%s i", prefix), vpa_json_find(want, "i"), place->number);
}

void compare_pass(struct world *w, const struct vpa_json *want, const struct pass_place *place)
{
    struct golden_case *c = w->c;
    vpa_duration after = vpa_time_sub(vpa_loop_now(w->loop), w->t0);
    double at = 0;
    const char *prefix;
    const char *expose = member_text(place->step, "expose");
    int64_t duration = 0;

    vpa_json_double(vpa_json_find(want, "at_s"), &at);
    prefix = golden_label(c, "%g s", at);
    if (!want) {
        golden_unexpected(c, "a pass", "made");
        return;
    }
    compare_place(w, prefix, want, place);
    golden_compared(c, vpa_json_find(want, "duration_ms"));
    vpa_json_int64(vpa_json_find(want, "duration_ms"), &duration);
    int64_t took = (after - (vpa_duration)(at * (double)VPA_SECOND)) / VPA_MILLISECOND;
    if (took != duration)
        golden_difference(c, golden_label(c, "%s duration_ms", prefix),
                          golden_label(c, "%lld", (long long)duration),
                          golden_label(c, "%lld", (long long)took));
    w->step = place->step;
    w->began = vpa_time_add(w->t0, (vpa_duration)(at * (double)VPA_SECOND));
    compare_writes(w, prefix, want);
    compare_reads(w, prefix, want);
    if (*expose)
        compare_exposition(w, vpa_json_find(want, "exposition"), expose, prefix);
}
