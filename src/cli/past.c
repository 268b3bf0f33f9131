#include "past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/config.h"
#include "../../recommender/prom_client.h"
#include "vpa/base/flags.h"
#include "vpa/base/str.h"
#include "vpa/model/algorithm.h"
#include "vpa/net/http_client.h"

#define FLAGS_MAX 64
/* Points of a picture: of a longer history several steps become one, its highest. */
#define POINTS_MAX 400

/* What a row is taught by. */
struct lesson {
    struct cli_row *row;
    struct cli_past_series *series;
    size_t count, capacity;
};

struct past {
    struct cli *cli;
    struct cli_world *world;
    struct vpa_table lessons; /* "ns/kind/workload/container" */
    struct recommender_config config;
    struct prom_plan plan;
    struct vpa_method *method;
    vpa_time from, now;
    vpa_duration step; /* of a point */
    size_t points;
    uint64_t replica;
};

/* ---- options ---- */

static const char *of_environment(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static int read_flags(struct past *p, struct vpa_error *err)
{
    const struct vpa_flags flags = recommender_flags(&p->config);
    struct vpa_arena *arena = &p->cli->arena;
    const char *rest = vpa_or_empty(cli_option(p->cli, "recommender-flags"));
    char *words[FLAGS_MAX];
    int count = 0, status;
    struct vpa_slice piece;

    words[count++] = vpa_arena_strdup(arena, "vpa-recommender");
    words[count++] = vpa_arena_strdup(arena, "--storage=prometheus");
    words[count++] = vpa_arena_strdup(arena, "--prometheus-cadvisor-job-name=kubelet");
    words[count++] = vpa_arena_strdup(arena, "--container-pod-name-label=pod");
    words[count++] = vpa_arena_strdup(arena, "--container-name-label=container");
    words[count++] =
        vpa_arena_printf(arena, "--prometheus-address=%s", cli_option(p->cli, "prometheus"));
    while (count < FLAGS_MAX && vpa_str_split(&rest, ' ', &piece))
        if (piece.len)
            words[count++] = vpa_arena_strndup(arena, piece.ptr, piece.len);
    if (vpa_flags_parse(&flags, arena, count, words, err) < 0 ||
        recommender_config_check(&p->config, of_environment, NULL, arena, &status, err) < 0)
        return vpa_wrap(err, "--recommender-flags");
    p->config.prometheus.ns = p->cli->ns;
    return prom_plan_init(&p->plan, &p->config.prometheus, err);
}

static int read_algorithm(struct past *p, struct vpa_error *err)
{
    const char *name = cli_option(p->cli, "algorithm");
    const struct vpa_algorithm *algorithm = vpa_algorithm_find(name ? name : VPA_ALGORITHM_VPA);
    struct vpa_parameters parameters;

    if (!algorithm)
        return vpa_fail(err, VPA_INVALID, "--algorithm %.60s is not known", name);
    vpa_parameters_init(&parameters, algorithm);
    p->method = vpa_method_new(&parameters, err);
    vpa_parameters_release(&parameters);
    return p->method ? 0 : -1;
}

static void choose_points(struct past *p)
{
    vpa_duration step = p->plan.resolution > 0 ? p->plan.resolution : VPA_HOUR;
    int64_t steps = p->plan.length / step + 1;

    p->step = step * (1 + steps / POINTS_MAX);
    p->points = (size_t)(p->plan.length / p->step + 1);
    p->from = vpa_time_add(p->now, -p->plan.length);
    p->world->past_from = p->from;
    p->world->past_points = p->points;
}

/* ---- whose usage it is ---- */

static const struct cli_owner *owner_of(const struct past *p, const char *ns, const char *pod)
{
    vpa_auto_free char *key = vpa_xprintf("%s/%s", ns, pod);
    const struct cli_owner *owner = vpa_table_find(&p->world->pods, key);
    static const char *const makers[] = {"ReplicaSet", "Job"};
    const char *dash = strrchr(pod, '-');

    for (size_t i = 0; !owner && dash && i < VPA_COUNT(makers); i++) {
        vpa_auto_free char *maker =
            vpa_xprintf("%s/%s/%.*s", ns, makers[i], (int)(dash - pod), pod);

        owner = vpa_table_find(&p->world->owners, maker);
    }
    return owner;
}

static struct lesson *lesson_of(const struct past *p, const struct history_pod *pod,
                                const char *container)
{
    const struct cli_owner *owner = owner_of(p, pod->ns, pod->name);
    vpa_auto_free char *key =
        owner ? vpa_xprintf("%s/%s/%s/%s", pod->ns, owner->kind, owner->name, container) : NULL;

    return key ? vpa_table_find(&p->lessons, key) : NULL;
}

/* ---- learning ---- */

static void add_point(const struct past *p, double *points, vpa_time t, double value)
{
    vpa_duration since = vpa_time_sub(t, p->from);

    if (since >= 0 && (size_t)(since / p->step) < p->points)
        points[since / p->step] = fmax(points[since / p->step], value);
}

struct ordered_usage {
    struct vpa_usage usage;
    size_t order;
};

static int compare_usage(const void *pa, const void *pb)
{
    const struct ordered_usage *a = pa, *b = pb;

    if (a->usage.t != b->usage.t)
        return a->usage.t < b->usage.t ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static size_t put_usage(const struct cli_past_series *series, struct ordered_usage *out,
                        size_t count)
{
    for (size_t i = 0; i < series->list->count; i++) {
        const struct history_sample *s = &series->list->items[i];

        if (s->amount < 0)
            continue;
        out[count] = (struct ordered_usage){
            .usage = {.type = series->kind == VPA_KIND_CPU ? VPA_USAGE_CPU : VPA_USAGE_MEMORY,
                      .t = (vpa_time)s->millis * VPA_MILLISECOND,
                      .replica = series->replica,
                      .amount = s->amount},
            .order = count};
        count++;
    }
    return count;
}

void cli_past_teach(struct vpa_knowledge *k, const struct cli_past_series *series, size_t count)
{
    size_t most = 0, n = 0;

    for (size_t i = 0; i < count; i++)
        most += series[i].list->count;
    vpa_auto_free struct ordered_usage *all = vpa_xreallocarray(NULL, most + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        n = put_usage(&series[i], all, n);
    qsort(all, n, sizeof(*all), compare_usage);
    for (size_t i = 0; i < n; i++)
        (void)vpa_knowledge_add(k, &all[i].usage);
}

static void draw(const struct past *p, int resource, const struct history_list *list,
                 struct cli_row *row)
{
    vpa_auto_free double *points = vpa_xcalloc(p->points, sizeof(*points));

    if (!row->past[resource])
        row->past[resource] =
            vpa_arena_zalloc(&p->world->arena, p->points * sizeof(*row->past[resource]));
    for (size_t i = 0; i < list->count; i++) {
        const struct history_sample *s = &list->items[i];

        if (s->amount >= 0)
            add_point(p, points, (vpa_time)s->millis * VPA_MILLISECOND,
                      resource == CLI_CPU ? vpa_amount_to_cores(s->amount) * 1000
                                          : vpa_amount_to_bytes(s->amount));
    }
    for (size_t i = 0; i < p->points; i++)
        row->past[resource][i] += points[i];
}

static void add_series(const struct past *p, struct lesson *lesson, enum vpa_kind kind,
                       const struct history_list *list)
{
    draw(p, kind == VPA_KIND_CPU ? CLI_CPU : CLI_MEMORY, list, lesson->row);
    VPA_GROW(lesson->series, lesson->count, lesson->capacity);
    lesson->series[lesson->count++] = (struct cli_past_series){kind, p->replica, list};
}

static void take_pod(struct past *p, const struct history_pod *pod)
{
    vpa_auto_free struct history_container **containers = history_containers(pod);

    p->replica++;
    for (size_t i = 0; i < pod->containers.count; i++) {
        const struct history_container *c = containers[i];
        struct lesson *lesson = lesson_of(p, pod, c->name);

        if (!lesson)
            continue;
        add_series(p, lesson, VPA_KIND_CPU, &c->cpu);
        add_series(p, lesson, VPA_KIND_MEMORY, &c->memory);
    }
}

static void teach_all(const struct past *p)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&p->lessons, &i, NULL, &value);) {
        const struct lesson *lesson = value;

        if (lesson->count == 0)
            continue;
        lesson->row->knowledge = vpa_knowledge_new(p->method, p->from);
        cli_past_teach(lesson->row->knowledge, lesson->series, lesson->count);
    }
}

static int fetch(struct past *p, struct history *history, struct vpa_error *err)
{
    struct vpa_transport *transport = vpa_http_client_new(
        p->cli->loop,
        &(struct vpa_http_client_options){.base_url = p->plan.origin,
                                          .insecure = p->config.prometheus.insecure},
        err);
    int status;

    if (!transport)
        return -1;
    status = prom_fetch_usage(p->cli->loop, transport, &p->plan, history, err);
    vpa_transport_free(transport);
    return status;
}

static int learn_all(struct past *p, struct vpa_error *err)
{
    struct history history;
    int status;

    history_init(&history, &p->plan);
    status = fetch(p, &history, err);
    if (status == 0) {
        vpa_auto_free struct history_pod **pods = history_pods(&history);

        for (size_t i = 0; i < history.pods.count; i++)
            take_pod(p, pods[i]);
        teach_all(p);
    }
    history_release(&history);
    return status;
}

/* ---- answers ---- */

static size_t containers_of(const struct cli_world *world, size_t i)
{
    size_t count = 1;

    for (size_t k = i; k > 0 && cli_row_same_workload(world->rows[k - 1], world->rows[i]); k--)
        count++;
    for (size_t k = i + 1;
         k < world->count && cli_row_same_workload(world->rows[k], world->rows[i]); k++)
        count++;
    return count;
}

static void take_target(const struct vpa_estimate *estimate, struct cli_row *row)
{
    const struct vpa_amounts *target = &estimate->bound[VPA_TARGET];
    const double amounts[] = {vpa_amount_to_cores(target->value[VPA_KIND_CPU]) * 1000,
                              vpa_amount_to_bytes(target->value[VPA_KIND_MEMORY])};

    for (int i = 0; i < CLI_RESOURCES; i++) {
        row->target[i] = (int64_t)fmin(ceil(amounts[i]) * (double)row->pods, 9e18);
        row->saves[i] = row->request[i] > row->target[i] ? row->request[i] - row->target[i] : 0;
        row->lacks[i] = row->target[i] > row->request[i] ? row->target[i] - row->request[i] : 0;
    }
    row->recommended = true;
}

static void answer(struct past *p)
{
    const char *name = vpa_algorithm_name(vpa_method_algorithm(p->method));
    struct vpa_estimate estimate;

    for (size_t i = 0; i < p->world->count; i++) {
        struct cli_row *row = p->world->rows[i];
        struct vpa_question question = {p->now, containers_of(p->world, i)};

        if (!row->knowledge)
            continue;
        vpa_knowledge_age(row->knowledge, p->now);
        if (!row->recommended && vpa_knowledge_estimate(row->knowledge, &question, &estimate)) {
            take_target(&estimate, row);
            row->algorithm = name;
        }
        vpa_knowledge_free(row->knowledge);
        row->knowledge = NULL;
    }
}

static void index_rows(struct past *p)
{
    for (size_t i = 0; i < p->world->count; i++) {
        struct cli_row *row = p->world->rows[i];
        struct lesson *lesson = vpa_arena_zalloc(&p->world->arena, sizeof(*lesson));

        lesson->row = row;
        vpa_table_put(&p->lessons,
                      vpa_arena_printf(&p->world->arena, "%s/%s/%s/%s", row->ns, row->kind,
                                       row->workload, row->container),
                      lesson);
    }
}

static void lessons_release(struct past *p)
{
    void *value;

    for (size_t i = 0; vpa_table_next(&p->lessons, &i, NULL, &value);)
        free(((struct lesson *)value)->series);
    vpa_table_release(&p->lessons);
}

int cli_past_read(struct cli *cli, struct cli_world *world, struct vpa_error *err)
{
    struct past p = {.cli = cli, .world = world, .now = cli_now(cli)};
    int status = -1;

    if (read_algorithm(&p, err) < 0)
        return -1;
    if (read_flags(&p, err) == 0) {
        choose_points(&p);
        index_rows(&p);
        status = learn_all(&p, err);
        if (status == 0)
            answer(&p);
        prom_plan_release(&p.plan);
    }
    lessons_release(&p);
    vpa_method_unref(p.method);
    return status;
}
