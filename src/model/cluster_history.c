/*
 * What a VPA knows: the aggregates of its groups and the histories loaded from checkpoints, merged
 * by container name.
 *
 * Percentiles are never averaged: all weights of a container name are added before one is asked
 * for. The last digit of a sum depends on the order of its terms, so the order is fixed: aggregates
 * by the text of their label sets, then the loaded history. A name with a single source is not
 * copied for reading.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"

/* How far the clock of a node may be ahead (recommender/usage_sample.h). */
#define CLOCKS_APART VPA_HOUR

struct source {
    const char *container; /* interned, so that equal names are equal pointers */
    size_t order;
    struct vpa_aggregate *state;
};

static int compare_sources(const void *a, const void *b)
{
    const struct source *x = a;
    const struct source *y = b;
    int by_name = x->container == y->container ? 0 : strcmp(x->container, y->container);

    return by_name ? by_name : (x->order > y->order) - (x->order < y->order);
}

/* All sources of the VPA by container and order; heap array, the number in *count. */
static struct source *list_sources(struct vpa_autoscaler *v, size_t *count)
{
    size_t most = vpa_autoscaler_aggregate_count(v) + v->initial_count;
    struct source *sources = vpa_xreallocarray(NULL, most + 1, sizeof(*sources));
    size_t n = 0;

    vpa_autoscaler_sort_groups(v);
    for (size_t i = 0; i < v->group_count; i++) {
        for (struct vpa_member *m = v->groups[i]->members; m; m = m->next, n++)
            sources[n] = (struct source){m->name, n, &m->state};
    }
    for (size_t i = 0; i < v->initial_count; i++, n++)
        sources[n] = (struct source){v->initial[i].container, n, v->initial[i].state};
    if (n > 1)
        qsort(sources, n, sizeof(*sources), compare_sources);
    *count = n;
    return sources;
}

/* Sources of the same container from the first one on. */
static size_t run_length(const struct source *sources, size_t count)
{
    size_t n = 1;

    while (n < count && sources[n].container == sources[0].container)
        n++;
    return n;
}

/* copy_all: also names with a single source are copied. */
static void build_histories(struct vpa_autoscaler *v, bool copy_all, vpa_time now,
                            struct vpa_histories *out)
{
    size_t count;
    vpa_auto_free struct source *sources = list_sources(v, &count);
    size_t merges = 0;

    *out = (struct vpa_histories){0};
    for (size_t i = 0, n; i < count; i += n) {
        n = run_length(sources + i, count - i);
        out->count++;
        merges += copy_all || n > 1;
    }
    out->items = vpa_xreallocarray(NULL, out->count + 1, sizeof(*out->items));
    out->merged = vpa_xreallocarray(NULL, merges + 1, sizeof(*out->merged));

    struct vpa_history_entry *entry = out->items;
    for (size_t i = 0, n; i < count; i += n, entry++) {
        n = run_length(sources + i, count - i);
        entry->container = sources[i].container;
        entry->aggregate = sources[i].state;
        if (!copy_all && n == 1)
            continue;
        struct vpa_aggregate *merged = &out->merged[out->merged_count++];
        vpa_aggregate_init(merged, v->cluster->aggregation, now);
        for (size_t k = 0; k < n; k++)
            vpa_aggregate_merge(merged, sources[i + k].state);
        entry->aggregate = merged;
    }
}

void vpa_cluster_histories(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now,
                           struct vpa_histories *out)
{
    (void)c;
    build_histories(v, false, now, out);
}

void vpa_histories_release(struct vpa_histories *h)
{
    for (size_t i = 0; i < h->merged_count; i++)
        vpa_aggregate_release(&h->merged[i]);
    free(h->merged);
    free(h->items);
    *h = (struct vpa_histories){0};
}

/* ---- checkpoints ---- */

/* Most VPAs have one or two; whoever may write checkpoints can make it a hundred thousand. */
#define INITIAL_FEW 16

static struct vpa_initial *find_initial(const struct vpa_autoscaler *v, const char *container)
{
    if (v->initial_places) {
        size_t place = (size_t)(uintptr_t)vpa_table_find(v->initial_places, container);

        return place > 0 ? &v->initial[place - 1] : NULL;
    }
    for (size_t i = 0; i < v->initial_count; i++) {
        if (strcmp(v->initial[i].container, container) == 0)
            return &v->initial[i];
    }
    return NULL;
}

static void forget_places(struct vpa_autoscaler *v)
{
    if (v->initial_places)
        vpa_table_release(v->initial_places);
    free(VPA_STEAL(v->initial_places));
}

/* Of those that have none noted yet. */
static void note_places(struct vpa_autoscaler *v)
{
    if (v->initial_count <= INITIAL_FEW)
        return;
    if (!v->initial_places)
        v->initial_places = vpa_xcalloc(1, sizeof(*v->initial_places));
    for (size_t i = v->initial_places->count; i < v->initial_count; i++)
        vpa_table_put(v->initial_places, v->initial[i].container, (void *)(uintptr_t)(i + 1));
}

static void release_initial(struct vpa_cluster *c, struct vpa_initial *initial)
{
    vpa_unintern(c->names, initial->container);
    vpa_aggregate_release(initial->state);
    free(initial->state);
}

void vpa_autoscaler_free_initial(struct vpa_cluster *c, struct vpa_autoscaler *v)
{
    forget_places(v);
    for (size_t i = 0; i < v->initial_count; i++)
        release_initial(c, &v->initial[i]);
    free(VPA_STEAL(v->initial));
    v->initial_count = 0;
}

static void set_initial(struct vpa_cluster *c, struct vpa_autoscaler *v, const char *container,
                        struct vpa_aggregate *state)
{
    struct vpa_initial *initial = find_initial(v, container);

    if (initial) {
        vpa_aggregate_release(initial->state);
        free(initial->state);
        initial->state = state;
        return;
    }
    /* No room to spare. */
    v->initial = vpa_xreallocarray(v->initial, v->initial_count + 1, sizeof(*v->initial));
    v->initial[v->initial_count++] = (struct vpa_initial){vpa_intern(c->names, container), state};
    note_places(v);
}

/* ---- age ---- */

bool vpa_autoscaler_has_pod_with(const struct vpa_autoscaler *v, const char *container)
{
    return vpa_autoscaler_named(v, container)->container_count > 0;
}

static void settings_of(const struct vpa_autoscaler *v, const char *container,
                        struct vpa_settings *s)
{
    const struct vpa_aggregation *global = v->cluster->aggregation;

    vpa_settings_init(s, global);
    vpa_settings_apply_policy(s, vpa_policy_find(&v->object->resource_policy, container),
                              global->per_vpa_config);
}

vpa_duration vpa_autoscaler_memory_interval(const struct vpa_autoscaler *v, const char *container)
{
    struct vpa_settings s;

    settings_of(v, container, &s);
    return s.memory_interval;
}

/* What stored forms of the container are checked against. */
static struct vpa_aggregation aggregation_of(const struct vpa_autoscaler *v, const char *container)
{
    struct vpa_aggregation aggregation = *v->cluster->aggregation;

    aggregation.memory_interval = vpa_autoscaler_memory_interval(v, container);
    return aggregation;
}

/* How old the history of a container may become; 0: any age. */
static vpa_duration longest_age(const struct vpa_autoscaler *v, const char *container)
{
    struct vpa_settings s;
    vpa_duration window;

    settings_of(v, container, &s);
    if (__builtin_mul_overflow(s.memory_interval, s.memory_interval_count, &window) || window < 0)
        return 0;
    return window;
}

static bool is_over(const struct vpa_autoscaler *v, const char *container, vpa_time last_sample,
                    vpa_time now)
{
    vpa_duration window = longest_age(v, container);

    if (window == 0 || vpa_time_sub(now, last_sample) < window)
        return false;
    vpa_cluster_settle(v->cluster);
    const struct vpa_named *named = vpa_autoscaler_named(v, container);
    return named->member_count == 0 && named->container_count == 0;
}

bool vpa_autoscaler_has_outlived(const struct vpa_autoscaler *v, const char *container,
                                 vpa_time last_sample, vpa_time now)
{
    return !find_initial(v, container) && is_over(v, container, last_sample, now);
}

void vpa_autoscaler_collect_initial(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now)
{
    size_t kept = 0;

    forget_places(v);
    for (size_t i = 0; i < v->initial_count; i++) {
        struct vpa_initial *initial = &v->initial[i];
        const struct vpa_aggregate *state = initial->state;
        bool dated = !vpa_aggregate_is_empty(state) && !vpa_time_is_unset(state->last_sample);

        if (is_over(v, initial->container, dated ? state->last_sample : state->created, now))
            release_initial(c, initial);
        else
            v->initial[kept++] = *initial;
    }
    v->initial_count = (uint32_t)kept;
    note_places(v);
}

/* ---- loading ---- */

/* Takes out of the sum the peaks that a checkpoint of that time has left out, because their
 * intervals were open. */
static void take_out_open_peaks(const struct vpa_autoscaler *v, const char *container,
                                vpa_time stored, struct vpa_aggregate *live)
{
    const struct vpa_named *named = vpa_autoscaler_named(v, container);

    for (size_t i = 0; i < named->container_count; i++) {
        const struct vpa_tracked_container *found = named->containers[i].container;
        vpa_time end;
        vpa_amount peak;

        if (found->member && vpa_container_open_peak(&found->state, stored, &end, &peak))
            vpa_aggregate_subtract_memory(live, end, peak);
    }
}

/* What the aggregates that the VPA finds today hold of that container; false: nothing. */
static bool merge_live(const struct vpa_autoscaler *v, const char *container, vpa_time now,
                       struct vpa_aggregate *live)
{
    const struct vpa_named *named = vpa_autoscaler_named(v, container);
    bool any = false;

    vpa_aggregate_init(live, v->cluster->aggregation, now);
    for (size_t i = 0; i < named->member_count; i++) {
        struct vpa_member *m = named->members[i];

        if (!vpa_aggregate_is_empty(&m->state)) {
            vpa_aggregate_merge(live, &m->state);
            any = true;
        }
    }
    return any;
}

struct vpa_history_age vpa_autoscaler_history_age(const struct vpa_autoscaler *v,
                                                  const char *container)
{
    const struct vpa_named *named = vpa_autoscaler_named(v, container);
    const struct vpa_initial *initial = find_initial(v, container);
    struct vpa_history_age age = {
        .counted_until = VPA_TIME_UNSET,
        .loaded_from = initial ? initial->state->created : VPA_TIME_UNSET,
        .loaded_first = initial ? initial->state->first_sample : VPA_TIME_UNSET,
        .samples = initial ? initial->state->sample_count : 0,
    };

    for (size_t i = 0; i < named->member_count; i++) {
        const struct vpa_member *m = named->members[i];

        if (m->state.last_sample > age.counted_until)
            age.counted_until = m->state.last_sample;
        if (__builtin_add_overflow(age.samples, m->state.sample_count, &age.samples))
            age.samples = INT64_MAX;
    }
    return age;
}

/* stored: when the state was. False when the aggregates know it all, so that nothing is left to
 * load. */
static bool take_out_live(struct vpa_cluster *c, const struct vpa_autoscaler *v,
                          const char *container, vpa_time stored, struct vpa_aggregate *state)
{
    struct vpa_aggregate live;
    bool left = true;

    vpa_cluster_settle(c);
    if (merge_live(v, container, stored, &live)) {
        take_out_open_peaks(v, container, stored, &live);
        left = vpa_aggregate_take_out(state, &live);
    }
    vpa_aggregate_release(&live);
    return left;
}

/* A history with samples of the future would never be old. stored: when it was written. */
static void bound_times(struct vpa_aggregate *state, vpa_time stored, vpa_time now)
{
    if (vpa_time_is_unset(now) || vpa_time_sub(state->last_sample, now) <= CLOCKS_APART)
        return;
    state->last_sample = stored;
    if (state->first_sample > state->last_sample)
        state->first_sample = state->last_sample;
}

int vpa_cluster_load_checkpoint(struct vpa_cluster *c, const char *ns, const char *vpa_name,
                                const char *container, const struct vpa_checkpoint_status *status,
                                vpa_time now, struct vpa_error *err)
{
    struct vpa_autoscaler *v = vpa_cluster_find_vpa(c, ns, vpa_name);
    struct vpa_aggregate *state;

    if (!v)
        return vpa_fail(err, VPA_NOT_FOUND, "cannot load checkpoint to missing VPA object %s/%s",
                        ns, vpa_name);
    const struct vpa_aggregation aggregation = aggregation_of(v, container);
    state = vpa_xmalloc(sizeof(*state));
    /* Without CPU samples nothing else tells how old it is. */
    bool dated = !vpa_time_is_unset(status->last_update) && status->last_update < now;
    vpa_time stored = dated ? status->last_update : now;
    vpa_aggregate_init(state, c->aggregation, stored);
    if (vpa_aggregate_load(state, status, err) < 0 ||
        vpa_aggregate_check_stored(&aggregation, status, now, err) < 0) {
        vpa_aggregate_release(state);
        free(state);
        return vpa_wrap(err, "cannot load checkpoint for VPA %s/%s. Reason", ns, vpa_name);
    }
    bound_times(state, stored, now);
    if (!take_out_live(c, v, container, stored, state)) {
        vpa_aggregate_release(state);
        vpa_aggregate_init(state, c->aggregation, stored);
    }
    set_initial(c, v, container, state);
    return 0;
}

static int compare_pods(const void *a, const void *b)
{
    const struct vpa_tracked_pod *x = *(struct vpa_tracked_pod *const *)a;
    const struct vpa_tracked_pod *y = *(struct vpa_tracked_pod *const *)b;

    return strcmp(vpa_tracked_pod_name(x), vpa_tracked_pod_name(y));
}

/* Tracked pods of the VPA's groups, by name; heap array. Also while its target is unresolved. */
static struct vpa_tracked_pod **list_pods(const struct vpa_autoscaler *v, size_t *count)
{
    size_t most = 0;
    size_t n = 0;

    for (size_t i = 0; i < v->group_count; i++)
        most += v->groups[i]->pod_count;
    struct vpa_tracked_pod **pods =
        vpa_xreallocarray(NULL, most + 1, sizeof(struct vpa_tracked_pod *));
    for (size_t i = 0; i < v->group_count; i++) {
        for (struct vpa_tracked_pod *pod = v->groups[i]->pods; pod; pod = pod->next)
            pods[n++] = pod;
    }
    qsort(pods, n, sizeof(struct vpa_tracked_pod *), compare_pods);
    *count = n;
    return pods;
}

/* A container of that name in a pod that feeds the VPA. */
struct owner {
    uint32_t pod_uid;
    const char *pod; /* its name */
    struct vpa_tracked_container *container;
};

static int compare_owners(const void *a, const void *b)
{
    const struct owner *x = a;
    const struct owner *y = b;

    if (x->pod_uid != y->pod_uid)
        return x->pod_uid < y->pod_uid ? -1 : 1;
    return strcmp(x->pod, y->pod);
}

/* In that order; heap array. */
static struct owner *list_owners(const struct vpa_autoscaler *v, const char *container,
                                 size_t *count)
{
    const struct vpa_named *named = vpa_autoscaler_named(v, container);
    struct owner *owners = vpa_xreallocarray(NULL, named->container_count + 1, sizeof(*owners));

    *count = 0;
    for (size_t i = 0; i < named->container_count; i++) {
        const struct vpa_named_container *found = &named->containers[i];

        if (found->container->member)
            owners[(*count)++] = (struct owner){found->pod->uid_hash,
                                                vpa_tracked_pod_name(found->pod), found->container};
    }
    qsort(owners, *count, sizeof(*owners), compare_owners);
    return owners;
}

/* Each owner is taken once. */
static struct vpa_tracked_container *take_owner(struct owner *owners, size_t count, uint32_t uid)
{
    size_t at = VPA_LOWER_BOUND(i, count, owners[i].pod_uid < uid);

    while (at < count && owners[at].pod_uid == uid && !owners[at].container)
        at++;
    return at < count && owners[at].pod_uid == uid ? VPA_STEAL(owners[at].container) : NULL;
}

/* history: which the interval stands beside. */
static void resume(struct vpa_tracked_container *owner, const struct vpa_aggregate *history,
                   const struct vpa_open_interval *interval, vpa_time now)
{
    vpa_time last = history->last_sample;

    if (vpa_container_resume(&owner->state, &owner->member->state, interval, now) && last > 0)
        owner->state.resumed_from = (uint32_t)(last / VPA_SECOND);
}

int vpa_cluster_resume_intervals(struct vpa_cluster *c, const char *ns, const char *vpa_name,
                                 const char *container, const struct vpa_open_intervals *open,
                                 vpa_time now, struct vpa_error *err)
{
    struct vpa_autoscaler *v = vpa_cluster_find_vpa(c, ns, vpa_name);
    struct vpa_initial *initial = v ? find_initial(v, container) : NULL;
    size_t count;

    if (!initial)
        return vpa_fail(err, VPA_NOT_FOUND, "no checkpoint of VPA %s/%s, container %s, is loaded",
                        ns, vpa_name, container);
    const struct vpa_aggregation aggregation = aggregation_of(v, container);
    for (size_t i = 0; i < open->count; i++)
        if (vpa_aggregate_check_interval(&aggregation, &open->items[i], now, err) < 0)
            return -1;
    vpa_cluster_settle(c);
    vpa_auto_free struct owner *owners = list_owners(v, container, &count);
    for (size_t i = 0; i < open->count; i++) {
        const struct vpa_open_interval *interval = &open->items[i];
        struct vpa_tracked_container *owner = take_owner(owners, count, interval->pod_uid);

        /* One that has an interval got it from the checkpoint of another VPA of the same pods. */
        if (owner)
            resume(owner, initial->state, interval, now);
        else
            vpa_aggregate_add_memory(initial->state, interval->end,
                                     vpa_amount_max(interval->usage, interval->oom));
    }
    return 0;
}

/* An open interval and the history that holds its peak. */
struct open_peak {
    size_t history;
    size_t order;
    struct vpa_open_interval interval;
};

static int compare_open_peaks(const void *a, const void *b)
{
    const struct open_peak *x = a;
    const struct open_peak *y = b;

    if (x->history != y->history)
        return x->history < y->history ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, ((const struct vpa_history_entry *)entry)->container);
}

/* The history of that container name; h->count when there is none. */
static size_t find_history(const struct vpa_histories *h, const char *container)
{
    const struct vpa_history_entry *found =
        h->count ? bsearch(container, h->items, h->count, sizeof(*h->items), compare_name) : NULL;

    return found ? (size_t)(found - h->items) : h->count;
}

/* Takes the unfinished peak of every container out of the copies, so that a restart does not count
 * two peaks for one interval. Order: pods by name; containers of one pod go to different copies.
 * Heap array of what was taken out, by history; the number in *count. */
static struct open_peak *take_open_peaks(const struct vpa_autoscaler *v,
                                         const struct vpa_histories *h, vpa_time now, size_t *count)
{
    size_t pod_count, n = 0, capacity = 0;
    vpa_auto_free struct vpa_tracked_pod **pods = list_pods(v, &pod_count);
    struct open_peak *peaks = NULL;

    for (size_t i = 0; i < pod_count; i++) {
        for (size_t k = 0; k < pods[i]->container_count; k++) {
            const struct vpa_tracked_container *container = &pods[i]->containers[k];
            size_t history = container->member ? find_history(h, container->name) : h->count;
            vpa_time end;
            vpa_amount peak;

            if (history == h->count ||
                !vpa_container_open_peak(&container->state, now, &end, &peak))
                continue;
            vpa_aggregate_subtract_memory(h->items[history].aggregate, end, peak);
            VPA_GROW(peaks, n, capacity);
            peaks[n] = (struct open_peak){history,
                                          n,
                                          {.pod_uid = pods[i]->uid_hash,
                                           .end = end,
                                           .usage = container->state.memory_peak,
                                           .oom = container->state.oom_peak}};
            n++;
        }
    }
    if (peaks)
        qsort(peaks, n, sizeof(*peaks), compare_open_peaks);
    *count = n;
    return peaks;
}

void vpa_cluster_checkpoints(struct vpa_cluster *c, struct vpa_autoscaler *v, vpa_time now,
                             vpa_checkpoint_fn write, void *ctx)
{
    struct vpa_histories histories;
    vpa_auto_arena arena = {0};
    size_t count, next = 0;

    (void)c;
    build_histories(v, true, now, &histories);
    vpa_auto_free struct open_peak *peaks = take_open_peaks(v, &histories, now, &count);
    for (size_t i = 0; i < histories.count; i++) {
        struct vpa_open_intervals open = {0};
        struct vpa_checkpoint_status status;

        vpa_arena_clear(&arena);
        vpa_aggregate_save(histories.items[i].aggregate, now, &arena, &status);
        while (next + open.count < count && peaks[next + open.count].history == i)
            open.count++;
        struct vpa_open_interval *items = vpa_arena_alloc(&arena, open.count * sizeof(*items));
        for (size_t k = 0; k < open.count; k++)
            items[k] = peaks[next++].interval;
        open.items = items;
        open.history = vpa_histogram_checkpoint_hash(&status.memory);
        write(ctx, histories.items[i].container, &status, &open);
    }
    vpa_histories_release(&histories);
}
