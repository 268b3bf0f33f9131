#include "recommender_form.h"

#include <string.h>

#include "runner.h"

#include "vpa/base/quantity.h"
#include "vpa/base/str.h"

#define WEIGHT_MAX 10000 /* of the heaviest bucket of a checkpoint */

static const char *const histograms[] = {"cpuHistogram", "memoryHistogram"};

static const char *text_of(const struct vpa_json *node, const char *name)
{
    return vpa_or_empty(vpa_json_string(vpa_json_find(node, name)));
}

static void wrong(struct golden_case *c, const struct form_write *w, const char *what)
{
    golden_difference(c, golden_label(c, "%s (form)", w->label), "a write of a recommender", what);
}

static bool is_one_of(const char *text, const char *const *choices)
{
    for (; *choices; choices++)
        if (vpa_str_eq(text, *choices))
            return true;
    return false;
}

/* Every member has one of the names, and those before the first NULL are there. */
static bool has_members(const struct vpa_json *object, const char *const *names)
{
    vpa_json_foreach (member, object)
        if (!is_one_of(vpa_json_name(member), names))
            return false;
    return vpa_json_is_object(object);
}

/* The value of the patch, or the status of what is created. */
static const struct vpa_json *status_of(const struct vpa_json *body)
{
    return vpa_json_is_array(body) ? vpa_json_find(vpa_json_first(body), "value")
                                   : vpa_json_find(body, "status");
}

/* ---- recommendations ---- */

static bool read_amount(struct golden_case *c, const struct vpa_json *node,
                        struct vpa_quantity *out)
{
    const char *text = vpa_json_string(node);
    struct vpa_error err;

    return text && vpa_quantity_parse(c->arena, text, out, &err) == 0;
}

/* A list of amounts, none larger than in the other list. */
static bool is_amounts(struct golden_case *c, const struct vpa_json *list,
                       const struct vpa_json *above)
{
    static const char *const resources[] = {"cpu", "memory", NULL};

    if (list && !has_members(list, resources))
        return false;
    vpa_json_foreach (amount, list) {
        struct vpa_quantity a, b;

        if (!read_amount(c, amount, &a))
            return false;
        if (read_amount(c, vpa_json_find(above, vpa_json_name(amount)), &b) &&
            vpa_quantity_cmp(&a, &b) > 0)
            return false;
    }
    return true;
}

static void check_recommendation(struct golden_case *c, const struct form_write *w,
                                 const struct vpa_json *recommendation)
{
    static const char *const members[] = {"containerName", "target",         "lowerBound",
                                          "upperBound",    "uncappedTarget", NULL};

    if (vpa_json_count(recommendation) == 0)
        return;
    vpa_json_foreach (entry, vpa_json_find(recommendation, "containerRecommendations")) {
        const struct vpa_json *target = vpa_json_find(entry, "target");
        const char *name = golden_label(c, "\"%s\"", text_of(entry, "containerName"));

        if (!has_members(entry, members) || !target || !strstr(c->line, name))
            wrong(c, w, "an entry of other members");
        else if (!is_amounts(c, target, vpa_json_find(entry, "upperBound")) ||
                 !is_amounts(c, vpa_json_find(entry, "lowerBound"), target) ||
                 !is_amounts(c, vpa_json_find(entry, "upperBound"), NULL) ||
                 !is_amounts(c, vpa_json_find(entry, "uncappedTarget"), NULL))
            wrong(c, w, "amounts that are none, or out of order");
    }
    if (vpa_json_count(recommendation) != 1 ||
        !vpa_json_is_array(vpa_json_find(recommendation, "containerRecommendations")))
        wrong(c, w, "another recommendation");
}

/* ---- conditions ---- */

static const char *const no_pods[] = {"NoPodsMatched", "RecommendationProvided", NULL};

static bool is_condition(struct golden_case *c, const struct form_write *w,
                         const struct vpa_json *condition)
{
    static const char *const members[] = {"type",   "status",  "lastTransitionTime",
                                          "reason", "message", NULL};
    static const char *const statuses[] = {"True", "False", "Unknown", NULL};
    const char *type = text_of(condition, "type"), *message = text_of(condition, "message");
    vpa_time since;
    struct vpa_error err;

    if (!has_members(condition, members) || !is_one_of(text_of(condition, "status"), statuses) ||
        vpa_time_parse(text_of(condition, "lastTransitionTime"), &since, &err) < 0 || since > w->at)
        return false;
    if (vpa_str_eq(text_of(condition, "reason"), "NoPodsMatched"))
        return is_one_of(type, no_pods) && vpa_str_eq(message, "No pods match this VPA object");
    if (vpa_str_eq(type, "ConfigUnsupported"))
        return *message != '\0' && vpa_json_count(condition) == 4;
    return vpa_str_eq(type, "RecommendationProvided")
               ? vpa_json_count(condition) == 3
               : strstr(c->line, golden_label(c, "\"type\":\"%s\"", type)) != NULL;
}

static void check_status(struct golden_case *c, const struct form_write *w)
{
    static const char *const members[] = {"recommendation", "conditions", "observedGeneration",
                                          NULL};
    const struct vpa_json *status = status_of(w->body);
    int64_t generation = 0;

    vpa_json_int64(vpa_json_find(status, "observedGeneration"), &generation);
    if (!has_members(status, members) || !vpa_json_find(status, "recommendation") ||
        generation != w->generation)
        wrong(c, w, "another status");
    check_recommendation(c, w, vpa_json_find(status, "recommendation"));
    vpa_json_foreach (condition, vpa_json_find(status, "conditions"))
        if (!is_condition(c, w, condition))
            wrong(c, w, text_of(condition, "type"));
}

/* ---- checkpoints ---- */

static bool is_bucket(const struct vpa_json *weight, int64_t *largest)
{
    int64_t bucket, n;

    if (vpa_parse_int64(vpa_json_name(weight), &bucket, NULL) < 0 || bucket < 0 ||
        !vpa_json_int64(weight, &n) || n < 1 || n > WEIGHT_MAX)
        return false;
    *largest = n > *largest ? n : *largest;
    return true;
}

/* An empty one has only its reference timestamp; in others the heaviest bucket has the most. */
static bool is_histogram(const struct vpa_json *histogram)
{
    static const char *const members[] = {"referenceTimestamp", "bucketWeights", "totalWeight",
                                          NULL};
    const struct vpa_json *weights = vpa_json_find(histogram, "bucketWeights");
    int64_t largest = 0;
    vpa_time reference;
    struct vpa_error err;
    double total;

    if (!has_members(histogram, members) ||
        (!vpa_json_is_null(vpa_json_find(histogram, "referenceTimestamp")) &&
         vpa_time_parse(text_of(histogram, "referenceTimestamp"), &reference, &err) < 0))
        return false;
    vpa_json_foreach (weight, weights)
        if (!is_bucket(weight, &largest))
            return false;
    return weights ? largest == WEIGHT_MAX &&
                         vpa_json_double(vpa_json_find(histogram, "totalWeight"), &total)
                   : vpa_json_count(histogram) == 1;
}

static void check_checkpoint(struct golden_case *c, const struct form_write *w)
{
    static const char *const members[] = {
        "lastUpdateTime",   "version",         "cpuHistogram",      "memoryHistogram",
        "firstSampleStart", "lastSampleStart", "totalSamplesCount", NULL};
    const struct vpa_json *status = status_of(w->body);
    const struct vpa_json *samples = vpa_json_find(status, "totalSamplesCount");
    vpa_time updated;
    struct vpa_error err;
    int64_t count = 1;

    if (!has_members(status, members) || !vpa_str_eq(text_of(status, "version"), "v3") ||
        vpa_time_parse(text_of(status, "lastUpdateTime"), &updated, &err) < 0 ||
        updated < w->began - w->began % VPA_SECOND || updated > w->at ||
        (samples && (!vpa_json_int64(samples, &count) || count < 1)))
        wrong(c, w, "another status");
    for (size_t i = 0; i < VPA_COUNT(histograms); i++)
        if (!is_histogram(vpa_json_find(status, histograms[i])))
            wrong(c, w, histograms[i]);
}

/* ---- both ---- */

void form_check(struct golden_case *c, const struct form_write *w)
{
    const struct vpa_json *op = vpa_json_first(w->body);

    if (vpa_json_is_array(w->body) &&
        (vpa_json_count(w->body) != 1 || vpa_json_count(op) != 3 ||
         !vpa_str_eq(text_of(op, "op"), w->is_status ? "add" : "replace") ||
         !vpa_str_eq(text_of(op, "path"), "/status")))
        wrong(c, w, "another patch");
    if (w->is_status)
        check_status(c, w);
    else if (status_of(w->body))
        check_checkpoint(c, w);
}

/* ---- comparison ---- */

struct comparison {
    struct golden_case *c;
    const struct form_write *w;
    size_t leaves;
};

static bool may_differ(const struct form_write *w, const char *leaf)
{
    static const char *const of_history[] = {
        "*.firstSampleStart",  "*.lastSampleStart", "*.totalSamplesCount", "*.cpuHistogram.*",
        "*.memoryHistogram.*", "*.recommendation*", "*.conditions[*",      NULL};
    static const char *const of_memory[] = {"*.memoryHistogram.*", "*.recommendation*.memory",
                                            NULL};

    for (const char *const *p = w->fields == EXEMPT_MEMORY ? of_memory : of_history; *p; p++)
        if (golden_is_like(*p, leaf))
            return true;
    return false;
}

/* What can be the only figure in which two histories differ: a bound, what is capped to the same
 * target, and the time of a transition that came with a pass that was not recorded. */
static bool may_stand_alone(const char *leaf)
{
    return golden_is_like("*.lowerBound.*", leaf) || golden_is_like("*.upperBound.*", leaf) ||
           golden_is_like("*.uncappedTarget.*", leaf) ||
           golden_is_like("*.lastTransitionTime", leaf);
}

static void on_leaf(void *ctx, const char *leaf, const struct vpa_json *want,
                    const struct vpa_json *got)
{
    struct comparison *k = ctx;

    (void)want, (void)got;
    k->leaves += may_stand_alone(leaf) ? 2 : 1;
    if (!may_differ(k->w, leaf))
        golden_difference(k->c, golden_label(k->c, "%s %s", k->w->label, leaf), "as ours",
                          "another");
}

static bool same(const struct vpa_json *a, const struct vpa_json *b, const char *name)
{
    const struct vpa_json *x = vpa_json_find(a, name), *y = vpa_json_find(b, name);

    return x && y ? vpa_json_equal(x, y) : x == y;
}

static bool same_amounts(const struct vpa_json *entry, const char *one, const char *other)
{
    const struct vpa_json *a = vpa_json_find(entry, one), *b = vpa_json_find(entry, other);

    return a && b ? vpa_json_equal(a, b) : a == b;
}

/* Another history has other samples, so that the weights, and the last of them, differ with the
 * total. (The first of them may be too old to weigh anything.) */
static void compare_checkpoint(struct golden_case *c, const struct form_write *w,
                               const struct vpa_json *got)
{
    const struct vpa_json *want = status_of(w->body), *ours = status_of(got);
    bool another = false;

    for (size_t i = 0; i < VPA_COUNT(histograms); i++) {
        bool total = same(vpa_json_find(want, histograms[i]), vpa_json_find(ours, histograms[i]),
                          "totalWeight");

        another = another || !total;
        if (total && !same(want, ours, histograms[i]))
            wrong(c, w, "weights that differ without their total");
    }
    if (!another && !same(want, ours, "lastSampleStart"))
        wrong(c, w, "lastSampleStart");
}

/* Where nothing caps, the target is the uncapped one, on both sides. */
static void compare_targets(struct golden_case *c, const struct form_write *w)
{
    vpa_json_foreach (entry,
                      vpa_json_at(status_of(w->body), "recommendation.containerRecommendations"))
        if (!w->capped && !same_amounts(entry, "target", "uncappedTarget"))
            wrong(c, w, "a target that nothing caps");
}

size_t form_compare(struct golden_case *c, const struct form_write *w, const struct vpa_json *got)
{
    struct comparison k = {.c = c, .w = w};

    golden_each_leaf(c, "", w->body, got, on_leaf, &k);
    if (w->is_status)
        compare_targets(c, w);
    else if (w->fields != EXEMPT_SHARED)
        compare_checkpoint(c, w, got);
    return k.leaves;
}
