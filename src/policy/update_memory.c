/*
 * Memory of updates.
 *
 * Everything belongs to a pod, not to its name: a StatefulSet's next pod has the same name but
 * starts with a clean slate. So the memory is keyed by UID and swept with the pods.
 *
 * The timer of a resize runs while the kubelet reports one and the same status of what was sent
 * last. Times are those of the looks: the kubelet's transition time only tells one waiting from the
 * next, since the clocks of nodes are not ours.
 */
#include "vpa/policy/update_memory.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/resize_state.h"

/* Its eviction was not answered: if the pod is not seen alive when that is over, it was evicted. */
struct doubt {
    bool ready;
    vpa_time newest;
    vpa_time until;
    char key[]; /* of its owner */
};

struct entry {
    bool unboost;                         /* a boost was taken back, as noted last */
    bool evicted;                         /* the server has accepted it: */
    vpa_time accepted;                    /* then */
    bool awaited;                         /* it restarts for its resize, or replaces a pod: */
    bool starting;                        /* it is not ready yet */
    vpa_time start;                       /* the resize was accepted, or it was seen first */
    vpa_time ready;                       /* since then, before the resize */
    bool replaces;                        /* counted as the replacement of a pod that was evicted */
    enum vpa_resize_status status;        /* as observed last */
    vpa_time since;                       /* that status was seen first */
    bool sent;                            /* another size, since the status was observed */
    bool repeated;                        /* the same size, since then */
    vpa_time transition;                  /* of that status, by the kubelet's clock */
    bool refused;                         /* the server did not take what a resize asked for: */
    vpa_time refusal;                     /* then */
    uint64_t refused_patch;               /* the last one since then */
    struct doubt *doubt;                  /* NULL: there is none */
    struct vpa_recommendation infeasible; /* in the arena; .present false: none */
    struct vpa_arena arena;
    char uid[];
};

/* An owner some of whose pods were evicted. */
struct awaiting {
    int64_t count;   /* replacements not seen: */
    bool ready;      /* one of them was */
    vpa_time newest; /* creation of the newest pod when the first of them was evicted */
    vpa_time until;
    char key[]; /* namespace, kind, name */
};

struct vpa_update_memory {
    struct vpa_table entries;  /* by UID */
    struct vpa_table awaiting; /* by owner */
};

struct vpa_update_memory *vpa_update_memory_new(void)
{
    return vpa_xcalloc(1, sizeof(struct vpa_update_memory));
}

static void entry_free(struct entry *e)
{
    vpa_arena_release(&e->arena);
    free(e->doubt);
    free(e);
}

void vpa_update_memory_free(struct vpa_update_memory *memory)
{
    if (!memory)
        return;
    VPA_TABLE_RELEASE(&memory->entries, entry_free);
    VPA_TABLE_RELEASE(&memory->awaiting, free);
    free(memory);
}

static struct entry *entry_of(struct vpa_update_memory *memory, const char *uid)
{
    return VPA_TABLE_MAKE(&memory->entries, uid, struct entry, uid);
}

static char *key_of(const char *ns, const char *kind, const char *name)
{
    return vpa_xprintf("%s/%s/%s", ns, kind, name);
}

static struct awaiting *find_awaiting(const struct vpa_update_memory *memory, const char *ns,
                                      const char *kind, const char *name)
{
    if (memory->awaiting.count == 0)
        return NULL;

    vpa_auto_free char *key = key_of(ns, kind, name);

    return vpa_table_find(&memory->awaiting, key);
}

static struct awaiting *awaiting_of_pod(const struct vpa_update_memory *memory,
                                        const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);

    return owner ? find_awaiting(memory, pod->meta.ns, owner->kind, owner->name) : NULL;
}

/* Each pod replaces one, and only once. */
static void observe_replacement(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                vpa_time now)
{
    struct awaiting *a = awaiting_of_pod(memory, pod);
    struct entry *e;

    if (!a || a->count == 0 || pod->meta.creation <= a->newest)
        return;
    e = entry_of(memory, pod->meta.uid);
    if (e->replaces)
        return;
    a->count--;
    e->replaces = true;
    e->awaited = a->ready;
    e->start = now;
    e->ready = VPA_TIME_UNSET;
}

/* A replacement is to come; it is waited for until it is ready where the pod had been so. */
static void await(struct vpa_update_memory *memory, const char *key, bool ready, vpa_time newest,
                  vpa_time now)
{
    struct awaiting *a = VPA_TABLE_MAKE(&memory->awaiting, key, struct awaiting, key);

    /* A replacement of an earlier one may be older than what was shown since. */
    if (a->count == 0 || newest < a->newest)
        a->newest = newest;
    a->count++;
    a->ready |= ready;
    a->until = vpa_time_add(now, VPA_REPLACEMENT_PATIENCE);
}

void vpa_update_memory_note_eviction(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                     vpa_time newest, vpa_time now)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);
    struct entry *e = entry_of(memory, pod->meta.uid);

    e->evicted = true;
    e->accepted = now;
    free(e->doubt); /* of an earlier try */
    e->doubt = NULL;
    if (!owner)
        return;

    vpa_auto_free char *key = key_of(pod->meta.ns, owner->kind, owner->name);

    await(memory, key, vpa_pod_is_ready(pod), newest, now);
}

void vpa_update_memory_note_doubt(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                  vpa_time newest, vpa_time now)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_first(&pod->meta);
    struct entry *e = entry_of(memory, pod->meta.uid);

    if (!owner)
        return;

    vpa_auto_free char *key = key_of(pod->meta.ns, owner->kind, owner->name);
    size_t size = strlen(key) + 1;

    free(e->doubt);
    e->doubt = vpa_xcalloc(1, sizeof(*e->doubt) + size);
    e->doubt->ready = vpa_pod_is_ready(pod);
    e->doubt->newest = newest;
    e->doubt->until = vpa_time_add(now, VPA_DOUBT_PATIENCE);
    memcpy(e->doubt->key, key, size);
}

bool vpa_update_memory_is_evicted(const struct vpa_update_memory *memory, const char *uid)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->evicted;
}

int64_t vpa_update_memory_awaited(const struct vpa_update_memory *memory, const char *ns,
                                  const char *kind, const char *name)
{
    const struct awaiting *a = find_awaiting(memory, ns, kind, name);

    return a ? a->count : 0;
}

static void observe_resize(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                           vpa_time now)
{
    enum vpa_resize_status status = vpa_pod_resize_status(pod);
    vpa_time transition = vpa_pod_resize_transition(pod);
    struct entry *e = vpa_table_find(&memory->entries, pod->meta.uid);

    if (status == VPA_RESIZE_NONE) {
        if (e)
            e->status = VPA_RESIZE_NONE;
        return;
    }
    if (e && e->status == status && e->transition == transition && !e->sent)
        return;
    e = entry_of(memory, pod->meta.uid);
    e->sent = false;
    e->repeated = false;
    e->status = status;
    e->transition = transition;
    e->since = now;
}

/* A resize may be deferred before it restarts anything: until it is carried out, whoever is not
 * ready may be so because of it. Some pods are never ready, such as those that wait to lead. */
static void observe_start(struct vpa_update_memory *memory, const struct vpa_pod *pod, vpa_time now)
{
    struct entry *e = vpa_table_find(&memory->entries, pod->meta.uid);
    bool ready = vpa_pod_is_ready(pod);

    if (!e || !e->awaited)
        return;

    vpa_duration waited = vpa_time_sub(now, e->start);
    bool unseen = vpa_pod_ready_transition(pod) == e->ready && waited < VPA_RESTART_UNSEEN;

    e->starting = (!ready || unseen) && waited < VPA_REPLACEMENT_PATIENCE;
    e->awaited = e->starting || vpa_pod_resizing(pod) || vpa_pod_requests_differ(pod);
}

void vpa_update_memory_note_restart(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                    vpa_time now)
{
    struct entry *e = entry_of(memory, pod->meta.uid);

    e->awaited = e->starting = true;
    e->start = now;
    e->ready = vpa_pod_ready_transition(pod);
}

bool vpa_update_memory_is_starting(const struct vpa_update_memory *memory, const char *uid)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->starting;
}

void vpa_update_memory_observe(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                               vpa_time now)
{
    observe_resize(memory, pod, now);
    observe_replacement(memory, pod, now);
    observe_start(memory, pod, now);
}

void vpa_update_memory_note_resize(struct vpa_update_memory *memory, const char *uid)
{
    struct entry *e = vpa_table_find(&memory->entries, uid);

    if (e)
        e->sent = true;
}

void vpa_update_memory_note_repetition(struct vpa_update_memory *memory, const char *uid)
{
    entry_of(memory, uid)->repeated = true;
}

bool vpa_update_memory_is_repeated(const struct vpa_update_memory *memory, const char *uid)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->repeated;
}

bool vpa_update_memory_resize_since(const struct vpa_update_memory *memory, const char *uid,
                                    vpa_time *out)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    if (!e || e->status == VPA_RESIZE_NONE)
        return false;
    *out = e->since;
    return true;
}

void vpa_update_memory_record_infeasible(struct vpa_update_memory *memory, const char *uid,
                                         const struct vpa_recommendation *recommendation)
{
    struct entry *e = entry_of(memory, uid);
    struct vpa_arena old = e->arena;

    e->arena = (struct vpa_arena){0};
    e->infeasible = vpa_recommendation_copy(&e->arena, recommendation);
    e->infeasible.present = true;
    vpa_arena_release(&old); /* last: the recommendation may be the old record itself */
}

const struct vpa_recommendation *
vpa_update_memory_infeasible(const struct vpa_update_memory *memory, const char *uid)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->infeasible.present ? &e->infeasible : NULL;
}

bool vpa_update_memory_note_refusal(struct vpa_update_memory *memory, const char *uid,
                                    uint64_t patch, vpa_time now)
{
    struct entry *e = entry_of(memory, uid);
    bool is_another = !e->refused || e->refused_patch != patch;

    e->refused_patch = patch;
    if (vpa_update_memory_is_refused(memory, uid, now))
        return is_another; /* what is asked for instead may be refused as well */
    e->refused = true;
    e->refusal = now;
    return is_another;
}

bool vpa_update_memory_is_refused(const struct vpa_update_memory *memory, const char *uid,
                                  vpa_time now)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && e->refused && vpa_time_sub(now, e->refusal) < VPA_REFUSAL_AGE;
}

bool vpa_update_memory_was_refused(const struct vpa_update_memory *memory, const char *uid,
                                   uint64_t patch, vpa_time now)
{
    const struct entry *e = vpa_table_find(&memory->entries, uid);

    return e && vpa_update_memory_is_refused(memory, uid, now) && e->refused_patch == patch;
}

void vpa_update_memory_set_unboost(struct vpa_update_memory *memory, const char *uid, bool unboost)
{
    if (unboost || vpa_table_find(&memory->entries, uid))
        entry_of(memory, uid)->unboost = unboost;
}

bool vpa_unboost_unfinished(const struct vpa_pod *pod, const struct vpa_update_memory *memory)
{
    const struct entry *e = vpa_table_find(&memory->entries, pod->meta.uid);

    return e && e->unboost && (vpa_pod_resizing(pod) || vpa_pod_requests_differ(pod));
}

bool vpa_unboost_outlasts(const struct vpa_pod *pod, const struct vpa_update_memory *memory,
                          const struct vpa_resource_list *requests)
{
    return vpa_unboost_unfinished(pod, memory) && vpa_pod_requests_less_cpu(pod, requests);
}

bool vpa_unboost_presumed(const struct vpa_pod *pod)
{
    return !vpa_boost_marked(&pod->meta.annotations) && vpa_pod_requests_less_cpu(pod, NULL);
}

const char **vpa_update_memory_infeasible_uids(const struct vpa_update_memory *memory,
                                               size_t *count)
{
    vpa_auto_free void **sorted = vpa_table_sorted(&memory->entries);
    const char **uids = vpa_xcalloc(memory->entries.count + 1, sizeof(*uids));
    size_t n = 0;

    for (size_t i = 0; i < memory->entries.count; i++) {
        const struct entry *e = sorted[i];

        if (e->infeasible.present)
            uids[n++] = e->uid;
    }
    *count = n;
    return uids;
}

/* A pod that is alive when its time is over was not evicted; one that went before anybody saw that
 * was, whenever that is seen: passes may be far apart. */
static void settle_doubt(struct vpa_update_memory *memory, struct entry *e, bool alive,
                         vpa_time now)
{
    struct doubt *doubt = e->doubt;

    if (!doubt || (alive && now < doubt->until))
        return;
    if (!alive)
        await(memory, doubt->key, doubt->ready, doubt->newest, now);
    e->doubt = NULL;
    free(doubt);
}

/* Who lives on was not evicted in the end: the server was restored from a backup, say. */
static void settle_eviction(struct entry *e, vpa_time now)
{
    if (vpa_time_sub(now, e->accepted) >= VPA_EVICTION_PATIENCE)
        e->evicted = false;
}

void vpa_update_memory_sweep(struct vpa_update_memory *memory,
                             bool (*live)(void *ctx, const char *uid), void *ctx, vpa_time now)
{
    const char *uid;
    void *value;

    for (size_t i = 0; vpa_table_next(&memory->entries, &i, &uid, &value);) {
        bool alive = live(ctx, uid);

        settle_doubt(memory, value, alive, now);
        if (alive) {
            settle_eviction(value, now);
            continue;
        }
        vpa_table_remove(&memory->entries, uid);
        entry_free(value);
    }
    for (size_t i = 0; vpa_table_next(&memory->awaiting, &i, &uid, &value);) {
        struct awaiting *a = value;

        if (a->count > 0 && now < a->until)
            continue;
        vpa_table_remove(&memory->awaiting, uid);
        free(a);
    }
}

static bool any_lower(const struct vpa_resource_list *wanted,
                      const struct vpa_resource_list *recorded)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct vpa_quantity *old = vpa_resource_find(recorded, wanted->items[i].name);

        if (old && vpa_quantity_cmp(&wanted->items[i].quantity, old) < 0)
            return true;
    }
    return false;
}

static bool lower_than_record(const struct vpa_container_recommendation *wanted,
                              const struct vpa_recommendation *recorded, bool last_only)
{
    const struct vpa_container_recommendation *last = NULL;

    for (size_t i = 0; i < recorded->container_count; i++) {
        const struct vpa_container_recommendation *old = &recorded->containers[i];

        if (!vpa_str_eq(old->container_name, wanted->container_name))
            continue;
        if (!last_only && any_lower(&wanted->target, &old->target))
            return true;
        last = old;
    }
    return last_only && last && any_lower(&wanted->target, &last->target);
}

bool vpa_recommendation_lower(const struct vpa_recommendation *now_wanted,
                              const struct vpa_recommendation *recorded, bool last_only)
{
    if (!now_wanted || !recorded)
        return false;
    for (size_t i = 0; i < now_wanted->container_count; i++) {
        if (lower_than_record(&now_wanted->containers[i], recorded, last_only))
            return true;
    }
    return false;
}
