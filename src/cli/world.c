#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "workloads.h"
#include "vpa/api/pod.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

/* One core counts as much as so many bytes when rows are ordered: what a core costs with its
 * memory on most machines that one can rent (1 to 4 GiB and up). */
#define BYTES_PER_CORE ((double)(INT64_C(4) << 30))

const char *const cli_group_names[] = {"container", "workload", "namespace", NULL};
const char *const cli_order_names[] = {"name", "waste", "risk", NULL};

struct usage {
    int64_t value[CLI_RESOURCES];
};
struct reading {
    struct cli *cli;
    struct cli_world *world;
    struct cli_vpas vpas;
    struct vpa_table measured; /* "ns/pod/container" -> usage */
    struct vpa_table rows;     /* "ns/kind/workload/container" */
    struct vpa_arena scratch;
    const char *kind; /* that is being listed */
};

static int64_t amount_of(int resource, const struct vpa_quantity *q)
{
    if (!q)
        return 0;
    return resource == CLI_CPU ? vpa_quantity_milli_value(q) : vpa_quantity_value(q);
}

/* Saturated: any pod may ask for the largest number that there is. */
static void add(int64_t *sum, int64_t amount)
{
    if (__builtin_add_overflow(*sum, amount, sum))
        *sum = amount > 0 ? INT64_MAX : INT64_MIN;
}

/* How much a is more than b. */
static int64_t excess(int64_t a, int64_t b)
{
    int64_t difference;

    if (a <= b)
        return 0;
    return __builtin_sub_overflow(a, b, &difference) ? INT64_MAX : difference;
}

/* ---- owners ---- */

static int on_owned(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct reading *r = ctx;
    struct vpa_arena *arena = &r->world->arena;
    bool controls;

    (void)err;
    vpa_json_foreach (o, vpa_json_at(object, "metadata.ownerReferences")) {
        if (!vpa_json_bool(vpa_json_find(o, "controller"), &controls) || !controls)
            continue;

        struct cli_owner *owner = vpa_arena_zalloc(arena, sizeof(*owner));

        owner->kind = vpa_arena_strdup(arena, vpa_json_text(o, "kind"));
        owner->name = vpa_arena_strdup(arena, vpa_json_text(o, "name"));
        vpa_table_put(&r->world->owners,
                      vpa_arena_printf(arena, "%s/%s/%s",
                                       vpa_json_text(object, "metadata.namespace"), r->kind,
                                       vpa_json_text(object, "metadata.name")),
                      owner);
    }
    return 0;
}

static void read_owners(struct reading *r, const char *ns)
{
    static const struct cli_kind kinds[] = {
        {.group_version = "apps/v1",
         .resource = "replicasets",
         .what_lacks = "Deployments of pods"},
        {.group_version = "batch/v1", .resource = "jobs", .what_lacks = "CronJobs of pods"}};
    static const char *const names[] = {"ReplicaSet", "Job"};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(kinds); i++) {
        r->kind = names[i];
        if (cli_list(r->cli, &kinds[i], ns, on_owned, r, &err) < 0)
            cli_note_list(r->cli, &kinds[i], ns, &err);
    }
}

/* ---- usage ---- */

static int on_metrics(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct reading *r = ctx;
    struct vpa_arena *arena = &r->world->arena;

    vpa_json_foreach (c, vpa_json_find(object, "containers")) {
        struct vpa_resource_list list;
        struct usage *usage = vpa_arena_zalloc(arena, sizeof(*usage));

        vpa_arena_clear(&r->scratch);
        if (vpa_resource_list_decode(&r->scratch, vpa_json_find(c, "usage"), &list, err) < 0)
            return -1;
        usage->value[CLI_CPU] = amount_of(CLI_CPU, vpa_resource_find(&list, "cpu"));
        usage->value[CLI_MEMORY] = amount_of(CLI_MEMORY, vpa_resource_find(&list, "memory"));
        vpa_table_put(
            &r->measured,
            vpa_arena_printf(arena, "%s/%s/%s", vpa_json_text(object, "metadata.namespace"),
                             vpa_json_text(object, "metadata.name"), vpa_json_text(c, "name")),
            usage);
    }
    return 0;
}

static void read_usage(struct reading *r, const char *ns)
{
    static const struct cli_kind kind = {
        .group_version = "metrics.k8s.io/v1beta1", .resource = "pods", .what_lacks = "usage"};
    struct vpa_error err;

    if (cli_list(r->cli, &kind, ns, on_metrics, r, &err) < 0)
        cli_note_list(r->cli, &kind, ns, &err);
}

/* ---- pods ---- */

static struct cli_owner workload_of(struct reading *r, const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);
    const struct cli_owner *above;

    if (!owner)
        return (struct cli_owner){"Pod", pod->meta.name};
    above =
        vpa_table_find(&r->world->owners, vpa_arena_printf(&r->scratch, "%s/%s/%s", pod->meta.ns,
                                                           owner->kind, owner->name));
    return above ? *above : (struct cli_owner){owner->kind, owner->name};
}

static struct cli_row *row_at(struct reading *r, const struct vpa_pod *pod,
                              const struct cli_owner *workload, const struct vpa_object *vpa,
                              const char *container)
{
    struct vpa_arena *arena = &r->world->arena;
    const char *key = vpa_arena_printf(&r->scratch, "%s/%s/%s/%s", pod->meta.ns, workload->kind,
                                       workload->name, container);
    struct cli_row *row = vpa_table_find(&r->rows, key);

    if (row)
        return row;
    row = vpa_arena_zalloc(arena, sizeof(*row));
    row->ns = vpa_arena_strdup(arena, pod->meta.ns);
    row->kind = vpa_arena_strdup(arena, workload->kind);
    row->workload = vpa_arena_strdup(arena, workload->name);
    row->container = vpa_arena_strdup(arena, container);
    row->vpa = vpa ? vpa_arena_strdup(arena, vpa->meta.name) : "";
    row->mode = vpa ? vpa_arena_strdup(arena, vpa_object_mode(vpa)) : "";
    vpa_table_put(&r->rows, vpa_arena_strdup(arena, key), row);
    return row;
}

static void add_usage(struct reading *r, const struct vpa_pod *pod, const char *container,
                      struct cli_row *row, int64_t memory_request)
{
    const struct usage *usage =
        vpa_table_find(&r->measured, vpa_arena_printf(&r->scratch, "%s/%s/%s", pod->meta.ns,
                                                      pod->meta.name, container));

    if (!usage)
        return;
    row->measured = true;
    for (int i = 0; i < CLI_RESOURCES; i++)
        add(&row->usage[i], usage->value[i]);
    if (memory_request > 0 && usage->value[CLI_MEMORY] > memory_request)
        row->below = true;
}

static void add_recommendation(const struct vpa_object *vpa, struct cli_row *row,
                               const int64_t *request)
{
    static const char *const names[] = {"cpu", "memory"};
    const struct vpa_container_recommendation *rec =
        vpa ? vpa_recommendation_find(&vpa->recommendation, row->container) : NULL;

    for (int i = 0; rec && i < CLI_RESOURCES; i++) {
        const struct vpa_quantity *target = vpa_resource_find(&rec->target, names[i]);
        int64_t lower = amount_of(i, vpa_resource_find(&rec->lower_bound, names[i]));
        int64_t amount = amount_of(i, target);

        if (!target)
            continue;
        row->recommended = true;
        add(&row->target[i], amount);
        add(&row->saves[i], excess(request[i], amount));
        add(&row->lacks[i], excess(amount, request[i]));
        row->below |= request[i] < lower;
    }
}

static void add_container(struct reading *r, const struct vpa_pod *pod,
                          const struct cli_owner *workload, const struct vpa_object *vpa,
                          const struct vpa_container *c)
{
    struct cli_row *row = row_at(r, pod, workload, vpa, c->name);
    struct vpa_resources now = vpa_pod_effective_resources(pod, c->name);
    const int64_t request[] = {amount_of(CLI_CPU, vpa_resource_find(&now.requests, "cpu")),
                               amount_of(CLI_MEMORY, vpa_resource_find(&now.requests, "memory"))};

    row->pods++;
    for (int i = 0; i < CLI_RESOURCES; i++)
        add(&row->request[i], request[i]);
    add_usage(r, pod, c->name, row, request[CLI_MEMORY]);
    add_recommendation(vpa, row, request);
}

bool cli_world_wants_past(const struct cli *cli)
{
    return cli_option(cli, "prometheus") != NULL;
}

static void remember_pod(struct reading *r, const struct vpa_pod *pod,
                         const struct cli_owner *workload)
{
    struct vpa_arena *arena = &r->world->arena;
    struct cli_owner *owner = vpa_arena_zalloc(arena, sizeof(*owner));

    owner->kind = vpa_arena_strdup(arena, workload->kind);
    owner->name = vpa_arena_strdup(arena, workload->name);
    vpa_table_put(&r->world->pods, vpa_arena_printf(arena, "%s/%s", pod->meta.ns, pod->meta.name),
                  owner);
}

static int on_pod(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct reading *r = ctx;
    struct vpa_pod pod;
    struct cli_owner workload;
    const struct vpa_object *vpa;

    vpa_arena_clear(&r->scratch);
    if (vpa_pod_decode(&r->scratch, object, &pod, err) < 0)
        return -1;
    if (vpa_str_eq(pod.phase, "Succeeded") || vpa_str_eq(pod.phase, "Failed"))
        return 0;
    workload = workload_of(r, &pod);
    if (cli_world_wants_past(r->cli))
        remember_pod(r, &pod, &workload);
    vpa = cli_vpas_of_pod(&r->vpas, pod.meta.ns, workload.kind, workload.name, &pod.meta.labels);
    for (size_t i = 0; i < pod.container_count; i++)
        add_container(r, &pod, &workload, vpa, &pod.containers[i]);
    return 0;
}

/* ---- the whole ---- */

static int by_name(const void *a, const void *b)
{
    const struct cli_row *x = *(const struct cli_row *const *)a;
    const struct cli_row *y = *(const struct cli_row *const *)b;
    int order = strcmp(x->ns, y->ns);

    if (order == 0)
        order = strcmp(x->workload, y->workload);
    if (order == 0)
        order = strcmp(x->kind, y->kind);
    return order ? order : strcmp(x->container, y->container);
}

static double cost(const int64_t *amounts)
{
    return (double)amounts[CLI_CPU] / 1000 + (double)amounts[CLI_MEMORY] / BYTES_PER_CORE;
}

static int by_waste(const void *a, const void *b)
{
    double x = cost((*(const struct cli_row *const *)a)->saves);
    double y = cost((*(const struct cli_row *const *)b)->saves);

    return x == y ? by_name(a, b) : x < y ? 1 : -1;
}

static int by_risk(const void *a, const void *b)
{
    const struct cli_row *p = *(const struct cli_row *const *)a;
    const struct cli_row *q = *(const struct cli_row *const *)b;
    double x = cost(p->lacks), y = cost(q->lacks);

    if (p->below != q->below)
        return p->below ? -1 : 1;
    return x == y ? by_name(a, b) : x < y ? 1 : -1;
}

void cli_world_sort(struct cli_world *world, enum cli_order order)
{
    static int (*const orders[])(const void *, const void *) = {by_name, by_waste, by_risk};

    if (world->count > 1)
        qsort(world->rows, world->count, sizeof(*world->rows), orders[order]);
}

static void reading_release(struct reading *r)
{
    cli_vpas_release(&r->vpas);
    vpa_table_release(&r->measured);
    vpa_table_release(&r->rows);
    vpa_arena_release(&r->scratch);
}

static void collect(struct cli_world *world, const struct vpa_table *rows)
{
    world->rows = (struct cli_row **)(void *)vpa_table_sorted(rows);
    world->count = rows->count;
    cli_world_sort(world, CLI_ORDER_NAME);
}

int cli_world_read(struct cli *cli, const char *ns, struct cli_world *out, struct vpa_error *err)
{
    static const struct cli_kind pods = {
        .group_version = "v1", .resource = "pods", .what_lacks = "pods"};
    static const struct cli_kind vpas = {.group_version = VPA_GROUP_VERSION,
                                         .resource = "verticalpodautoscalers",
                                         .what_lacks = "recommendations"};
    struct reading r = {.cli = cli, .world = out};
    struct vpa_error why;
    int status;

    *out = (struct cli_world){0};
    if (cli_vpas_read(cli, ns, &r.vpas, &why) < 0)
        cli_note_list(cli, &vpas, ns, &why);
    read_owners(&r, ns);
    read_usage(&r, ns);
    status = cli_list(cli, &pods, ns, on_pod, &r, err);
    if (status == 0)
        collect(out, &r.rows);
    reading_release(&r);
    if (status < 0)
        cli_world_release(out);
    return status;
}

void cli_world_release(struct cli_world *world)
{
    free(world->rows);
    world->rows = NULL;
    world->count = 0;
    vpa_table_release(&world->owners);
    vpa_table_release(&world->pods);
    vpa_arena_release(&world->arena);
}

/* ---- sums ---- */

static void add_row(struct cli_row *sum, const struct cli_row *row)
{
    for (int i = 0; i < CLI_RESOURCES; i++) {
        add(&sum->request[i], row->request[i]);
        add(&sum->usage[i], row->usage[i]);
        add(&sum->target[i], row->target[i]);
        add(&sum->saves[i], row->saves[i]);
        add(&sum->lacks[i], row->lacks[i]);
    }
    sum->recommended |= row->recommended;
    sum->measured |= row->measured;
    sum->below |= row->below;
}

bool cli_row_same_workload(const struct cli_row *a, const struct cli_row *b)
{
    return strcmp(a->ns, b->ns) == 0 && strcmp(a->workload, b->workload) == 0 &&
           strcmp(a->kind, b->kind) == 0;
}

static bool is_same(const struct cli_row *a, const struct cli_row *b, enum cli_group group)
{
    if (strcmp(a->ns, b->ns) != 0)
        return false;
    if (group == CLI_BY_NAMESPACE)
        return true;
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->kind, b->kind) == 0 &&
           (group == CLI_BY_WORKLOAD || strcmp(a->container, b->container) == 0);
}

/* The pods of a workload are those of each of its containers, unless some have fewer. most: of the
 * workload so far, 0: it begins here. */
static void add_pods(struct cli_row *sum, const struct cli_row *row, int64_t *most)
{
    if (row->pods <= *most)
        return;
    add(&sum->pods, row->pods - *most);
    *most = row->pods;
}

void cli_world_group(const struct cli_world *world, enum cli_group group, struct cli_world *out)
{
    int64_t most = 0;

    *out = (struct cli_world){0};
    out->rows = vpa_xcalloc(world->count ? world->count : 1, sizeof(*out->rows));
    for (size_t i = 0; i < world->count; i++) {
        const struct cli_row *row = world->rows[i];
        struct cli_row *sum;

        if (i > 0 && is_same(world->rows[i - 1], row, group)) {
            if (!cli_row_same_workload(world->rows[i - 1], row))
                most = 0;
            add_row(out->rows[out->count - 1], row);
            add_pods(out->rows[out->count - 1], row, &most);
            continue;
        }
        most = row->pods;
        sum = vpa_arena_alloc(&out->arena, sizeof(*sum));
        *sum = *row;
        if (group != CLI_BY_CONTAINER)
            sum->container = "";
        if (group == CLI_BY_NAMESPACE)
            sum->kind = sum->workload = sum->vpa = sum->mode = "";
        out->rows[out->count++] = sum;
    }
}

void cli_put_amount(struct vpa_buf *out, int resource, int64_t amount)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    double x = (double)amount;
    size_t unit = 0;

    if (resource == CLI_CPU) {
        if (amount % 1000 == 0 || amount >= 10000)
            vpa_buf_printf(out, amount % 1000 ? "%.1f" : "%.0f", x / 1000);
        else
            vpa_buf_printf(out, "%lldm", (long long)amount);
        return;
    }
    for (; x >= 1024 && unit + 1 < VPA_COUNT(units); unit++)
        x /= 1024;
    vpa_buf_printf(out, x >= 10 || x == (double)(int64_t)x ? "%.0f%s" : "%.1f%s", x, units[unit]);
}
