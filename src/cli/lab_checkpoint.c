/*
 * `lab checkpoint`: what is recommended from what a recommender has stored, by each policy that can
 * use it. Checkpoints come from a cluster or from a file (one object, a list, or several YAML
 * documents, as kubectl prints them).
 *
 * A checkpoint of VPA's own algorithm is a decayed histogram of each resource: policies that read
 * percentiles from it can be compared on it, nothing can be replayed, because it does not say when
 * anything was used. The state of another algorithm answers for that algorithm only, with its
 * default parameters. Amounts are those before minAllowed, maxAllowed and LimitRanges; a VPA's
 * containers share the minimum of a pod.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/checkpoint_states.h"
#include "lab.h"
#include "output.h"
#include "stored.h"
#include "vpa/base/file.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/json/yaml.h"
#include "vpa/model/algorithm.h"
#include "vpa/model/recommend.h"

#define KIND "VerticalPodAutoscalerCheckpoint"
#define FILE_MAX ((size_t)VPA_YAML_MAX)
#define POLICIES_MAX 32

struct policy {
    const char *name;
    struct vpa_estimator estimator;
};
struct item {
    struct vpa_checkpoint checkpoint;
    enum cli_stored kind;
};
struct collection {
    struct cli *cli;
    struct vpa_aggregation aggregation;
    struct policy policies[POLICIES_MAX];
    size_t policy_count;
    struct item **items; /* in the arena of the command */
    size_t count, capacity;
};

/* ---- policies ---- */

static int add_policy(struct collection *c, const char *name, struct vpa_error *err)
{
    struct policy *p = &c->policies[c->policy_count];
    const struct lab_policy *policy;

    if (c->policy_count == POLICIES_MAX)
        return vpa_fail(err, VPA_LIMIT, "more than %d policies", POLICIES_MAX);
    if (lab_policy_get(name, &policy, err) < 0)
        return -1;
    if (!lab_policy_estimator(policy, &p->estimator))
        return vpa_fail(err, VPA_INVALID,
                        "policy %.60s learns from samples; a checkpoint is a histogram, of which "
                        "percentiles can be read: vpa and its kin",
                        name);
    p->name = lab_policy_name(policy);
    c->policy_count++;
    return 0;
}

/* VPA's own with another percentile of the target. */
static int add_percentile(struct collection *c, const char *text, struct vpa_error *err)
{
    struct policy *p = &c->policies[c->policy_count];
    double value;

    if (c->policy_count == POLICIES_MAX)
        return vpa_fail(err, VPA_LIMIT, "more than %d policies", POLICIES_MAX);
    if (vpa_double_parse(text, &value, NULL) < 0 || !(value > 0.0) || value > 1.0)
        return vpa_fail(err, VPA_INVALID,
                        "--percentile: \"%.40s\" is not a number above 0 and up to 1", text);
    vpa_estimator_init(&p->estimator);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        p->estimator.percentile[VPA_TARGET][kind] = value;
    p->name = vpa_arena_printf(&c->cli->arena, "p%.4g", 100.0 * value);
    c->policy_count++;
    return 0;
}

static int add_each(struct collection *c, const char *list,
                    int (*add)(struct collection *c, const char *text, struct vpa_error *err),
                    struct vpa_error *err)
{
    struct vpa_slice piece;

    while (vpa_str_split(&list, ',', &piece)) {
        piece = vpa_slice_trim(piece);
        if (add(c, vpa_arena_strndup(&c->cli->arena, piece.ptr, piece.len), err) < 0)
            return -1;
    }
    return 0;
}

static int choose_policies(struct collection *c, struct vpa_error *err)
{
    const char *list = cli_option(c->cli, "policy");
    struct vpa_estimator unused;

    for (size_t i = 0; !list && lab_policy_at(i); i++)
        if (lab_policy_estimator(lab_policy_at(i), &unused) &&
            add_policy(c, lab_policy_name(lab_policy_at(i)), err) < 0)
            return -1;
    if (add_each(c, list, add_policy, err) < 0)
        return -1;
    return add_each(c, cli_option(c->cli, "percentile"), add_percentile, err);
}

/* ---- checkpoints ---- */

static const char *plain_container(struct collection *c, const struct item *item)
{
    const char *name = item->checkpoint.container_name;

    if (item->kind != CLI_STORED_STATE)
        return name;
    return vpa_arena_strndup(&c->cli->arena, name, strcspn(name, "."));
}

/* Those of other containers are read as well: all of a VPA share the minimum of a pod. */
static bool is_asked_for(struct collection *c, const struct item *item)
{
    const char *container = cli_option(c->cli, "container");

    return !container || vpa_str_eq(plain_container(c, item), container);
}

static int take_checkpoint(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct collection *c = ctx;
    const char *vpa = cli_option(c->cli, "vpa");
    struct item *item = vpa_arena_zalloc(&c->cli->arena, sizeof(*item));

    if (cli_stored_decode(&c->cli->arena, object, &item->kind, &item->checkpoint, err) < 0)
        return -1;
    if (item->kind == CLI_STORED_ASIDE ||
        (vpa && !vpa_str_eq(item->checkpoint.vpa_object_name, vpa)))
        return 0;
    VPA_GROW(c->items, c->count, c->capacity);
    c->items[c->count++] = item;
    return 0;
}

static int take_document(struct collection *c, const struct vpa_json *root, struct vpa_error *err)
{
    const char *kind = vpa_json_text(root, "kind");
    const char *ns = vpa_json_string(vpa_json_at(root, "metadata.namespace"));

    if (vpa_str_eq(kind, "List") || vpa_str_eq(kind, KIND "List")) {
        vpa_json_foreach (item, vpa_json_find(root, "items")) {
            if (take_document(c, item, err) < 0)
                return -1;
        }
        return 0;
    }
    if (!vpa_str_eq(kind, KIND))
        return vpa_fail(err, VPA_INVALID, "an object of kind \"%.60s\", not " KIND, kind);
    if (c->cli->ns && *c->cli->ns && ns && !vpa_str_eq(ns, c->cli->ns))
        return 0;
    if (take_checkpoint(c, root, err) < 0)
        return vpa_wrap(err, "checkpoint %.100s", vpa_json_text(root, "metadata.name"));
    return 0;
}

static int read_file(struct collection *c, const char *path, struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    const struct vpa_json *const *roots;
    size_t len, count;

    c->cli->ns = cli_option(c->cli, "namespace"); /* of -n alone: there is no context here */
    if (vpa_read_file(path, FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (vpa_yaml_parse_all(&c->cli->arena, text, len, &roots, &count, err) < 0)
        return vpa_wrap(err, "%s", path);
    for (size_t i = 0; i < count; i++)
        if (take_document(c, roots[i], err) < 0)
            return vpa_wrap(err, "%s", path);
    return 0;
}

static int read_cluster(struct collection *c, struct vpa_error *err)
{
    if (cli_connect(c->cli, err) < 0)
        return -1;
    return cli_list(c->cli, &cli_checkpoints, c->cli->ns, take_checkpoint, c, err);
}

static int by_name(const void *a, const void *b)
{
    const struct vpa_checkpoint *x = &(*(const struct item *const *)a)->checkpoint;
    const struct vpa_checkpoint *y = &(*(const struct item *const *)b)->checkpoint;
    int order = strcmp(vpa_or_empty(x->meta.ns), vpa_or_empty(y->meta.ns));

    if (order == 0)
        order = strcmp(vpa_or_empty(x->vpa_object_name), vpa_or_empty(y->vpa_object_name));
    return order ? order : strcmp(vpa_or_empty(x->container_name), vpa_or_empty(y->container_name));
}

/* Containers of a VPA with a history of VPA's own, which share the minimum of a pod. */
static size_t containers_of(const struct collection *c, const struct vpa_checkpoint *of)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct vpa_checkpoint *other = &c->items[i]->checkpoint;

        count += c->items[i]->kind == CLI_STORED_HISTORY &&
                 vpa_str_eq(other->meta.ns, of->meta.ns) &&
                 vpa_str_eq(other->vpa_object_name, of->vpa_object_name);
    }
    return count ? count : 1;
}

/* ---- the table ---- */

static void put_amount(struct cli_table *table, enum vpa_kind kind, const struct vpa_amounts *of,
                       bool known)
{
    if (!known)
        cli_table_cell(table, "-");
    else if (kind == VPA_KIND_CPU)
        cli_table_printf(table, "%lldm", (long long)of->value[kind]);
    else
        cli_table_printf(table, "%.1fMi", (double)of->value[kind] / 1048576.0);
}

static void put_row(struct collection *c, struct cli_table *table, const struct item *item,
                    const char *policy, const struct vpa_estimate *estimate,
                    const bool known[VPA_KINDS])
{
    static const enum vpa_bound order[] = {VPA_TARGET, VPA_LOWER_BOUND, VPA_UPPER_BOUND};

    cli_table_cell(table, vpa_or_empty(item->checkpoint.meta.ns));
    cli_table_cell(table, vpa_or_empty(item->checkpoint.vpa_object_name));
    cli_table_cell(table, plain_container(c, item));
    cli_table_cell(table, policy);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        for (size_t i = 0; i < VPA_COUNT(order); i++)
            put_amount(table, kind, &estimate->bound[order[i]], known[kind]);
    cli_table_printf(table, "%lld", (long long)item->checkpoint.status.total_samples_count);
}

static int put_histogram(struct collection *c, struct cli_table *table, const struct item *item,
                         struct vpa_error *err)
{
    struct vpa_aggregate a;

    int result = cli_stored_load(c->cli, &c->aggregation, &item->checkpoint, &a, err);
    for (size_t i = 0; result == 0 && i < c->policy_count; i++) {
        const struct vpa_estimator *e = &c->policies[i].estimator;
        struct vpa_history history = vpa_aggregate_history(&a);
        struct vpa_amounts minimum = vpa_estimator_minimum(e, containers_of(c, &item->checkpoint));
        const bool known[VPA_KINDS] = {!vpa_decay_is_empty(&a.cpu), !vpa_decay_is_empty(&a.memory)};
        struct vpa_estimate estimate;
        vpa_estimator_estimate(e, &history, &minimum, &estimate);
        put_row(c, table, item, c->policies[i].name, &estimate, known);
    }
    vpa_aggregate_release(&a);
    return result;
}

static struct vpa_knowledge *load_state(struct collection *c, const struct vpa_algorithm *a,
                                        const struct vpa_checkpoint *item, vpa_time now,
                                        struct vpa_error *err)
{
    const char *text = vpa_labels_get(&item->meta.annotations, CHECKPOINT_STATE_ANNOTATION);
    struct vpa_knowledge *k = NULL;
    const struct vpa_json *stored;
    struct vpa_parameters p;

    if (!text) {
        vpa_error_set(err, VPA_INVALID, "annotation " CHECKPOINT_STATE_ANNOTATION " is missing");
        return NULL;
    }
    if (vpa_json_parse(&c->cli->arena, text, strlen(text), &stored, err) < 0)
        return NULL;
    vpa_parameters_init(&p, a);
    struct vpa_method *m = vpa_method_new(&p, err);
    if (m)
        k = vpa_knowledge_load(m, stored, now, err);
    vpa_method_unref(m);
    vpa_parameters_release(&p);
    return k;
}

/* As of when it was stored: it answers what its recommender would have. */
static int put_state(struct collection *c, struct cli_table *table, const struct item *item,
                     struct vpa_error *err)
{
    static const bool known[VPA_KINDS] = {true, true};
    const char *name = cli_stored_algorithm(&item->checkpoint);
    const struct vpa_algorithm *a = vpa_algorithm_find(name);
    vpa_time now = item->checkpoint.status.last_update;
    struct vpa_estimate estimate;

    if (!a)
        return vpa_fail(err, VPA_INVALID, "no algorithm \"%.60s\" here", name);
    if (vpa_time_is_unset(now))
        return vpa_fail(err, VPA_INVALID, "status.lastUpdateTime is missing");
    struct vpa_knowledge *k = load_state(c, a, &item->checkpoint, now, err);
    if (!k)
        return -1;
    if (vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &estimate))
        put_row(c, table, item, name, &estimate, known);
    else
        cli_note(c->cli, "checkpoint %s: %s knows too little to recommend",
                 vpa_or_empty(item->checkpoint.meta.name), name);
    vpa_knowledge_free(k);
    return 0;
}

static void print(struct collection *c)
{
    static const struct cli_column columns[] = {
        {"NAMESPACE"},          {"VPA"},
        {"CONTAINER"},          {"POLICY"},
        {"CPU", true},          {"LOWER", true},
        {"UPPER", true},        {"MEMORY", true},
        {"LOWER MEMORY", true}, {"UPPER MEMORY", true},
        {"SAMPLES", true},
    };
    cli_auto_table table = {0};
    struct vpa_error err;

    cli_table_init(&table, &c->cli->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < c->count; i++) {
        const struct item *item = c->items[i];
        bool state = item->kind == CLI_STORED_STATE;
        if (!is_asked_for(c, item) || (state && cli_option(c->cli, "policy")))
            continue;
        if ((state ? put_state : put_histogram)(c, &table, item, &err) < 0)
            cli_note(c->cli, "checkpoint %s cannot be used: %s",
                     vpa_or_empty(item->checkpoint.meta.name), err.text);
    }
    cli_print_table(c->cli, &table, "recommendations");
}

static bool is_any_asked_for(struct collection *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (is_asked_for(c, c->items[i]))
            return true;
    return false;
}

int lab_checkpoint(struct cli *cli, const char *path, struct vpa_error *err)
{
    struct collection c = {.cli = cli};
    int result = choose_policies(&c, err);

    if (result == 0)
        result = path ? read_file(&c, path, err) : read_cluster(&c, err);
    if (result == 0 && !is_any_asked_for(&c))
        result = vpa_fail(err, VPA_NOT_FOUND, "no checkpoint of %s%s here",
                          cli_option(cli, "vpa") ? "VPA " : "any VPA",
                          vpa_or_empty(cli_option(cli, "vpa")));
    if (result == 0) {
        vpa_aggregation_init(&c.aggregation);
        qsort(c.items, c.count, sizeof(*c.items), by_name);
        print(&c);
        vpa_aggregation_release(&c.aggregation);
    }
    free(c.items);
    return result;
}
