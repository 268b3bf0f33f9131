/*
 * Pods of the cluster.
 *
 * A pod is one heap block: what is common, its containers, its name. A pod's containers do not
 * change, but another pod may have its name (that of a StatefulSet, made anew between two passes):
 * those that it has not are taken out then, the others go on with their intervals.
 *
 * The memory saver keeps pods that no VPA matches as `idle` records without aggregates, in an index
 * of their own; they become tracked when a VPA matches their group. A tracked pod whose labels
 * change to a set that nothing matches stays as it was, next to its idle record: upstream skips the
 * update.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster_private.h"
#include "init_names.h"

/* Longest list of init container names; a pod object has at most 1.5 MB. */
#define INIT_NAMES_MAX (2u << 20)

struct pod_key {
    const char *ns;
    const char *name;
};

static uint32_t pod_hash(const char *ns, const char *name)
{
    uint64_t hash = vpa_hash_bytes(ns, strlen(ns)) * 31 + vpa_hash_bytes(name, strlen(name));

    return (uint32_t)(hash ^ hash >> 32);
}

static bool pod_is(const struct vpa_hashed *object, const void *wanted)
{
    const struct vpa_tracked_pod *pod = (const struct vpa_tracked_pod *)object;
    const struct pod_key *key = wanted;

    return strcmp(vpa_tracked_pod_name(pod), key->name) == 0 &&
           strcmp(pod->group->ns, key->ns) == 0;
}

static struct vpa_tracked_pod *find(const struct vpa_pointer_set *set, const char *ns,
                                    const char *name)
{
    struct pod_key key = {ns, name};

    return (struct vpa_tracked_pod *)vpa_pointer_set_find(set, pod_hash(ns, name), pod_is, &key);
}

struct vpa_tracked_pod *vpa_pods_find(const struct vpa_cluster *c, const char *ns, const char *name)
{
    return find(&c->pods, ns, name);
}

/* Names are interned, so that in a pod with many containers addresses can be compared. */
struct vpa_tracked_container *vpa_pod_find_container(const struct vpa_cluster *c,
                                                     struct vpa_tracked_pod *pod, const char *name)
{
    bool many = pod->container_count > VPA_NAMES_FEW;
    const char *interned = many ? vpa_intern_find(c->names, name) : NULL;

    if (many && !interned)
        return NULL;
    for (size_t i = 0; i < pod->container_count; i++) {
        const char *known = pod->containers[i].name;
        if (many ? known == interned : strcmp(known, name) == 0)
            return &pod->containers[i];
    }
    return NULL;
}

enum vpa_phase vpa_phase_parse(const char *text)
{
    static const char *const names[] = {
        [VPA_PHASE_PENDING] = "Pending",
        [VPA_PHASE_RUNNING] = "Running",
        [VPA_PHASE_SUCCEEDED] = "Succeeded",
        [VPA_PHASE_FAILED] = "Failed",
    };

    for (size_t i = VPA_PHASE_PENDING; i < VPA_COUNT(names); i++) {
        if (vpa_str_eq(text, names[i]))
            return (enum vpa_phase)i;
    }
    return VPA_PHASE_UNKNOWN;
}

/* ---- membership ---- */

static struct vpa_tracked_pod **list_of(struct vpa_tracked_pod *pod)
{
    return pod->tracked ? &pod->group->pods : &pod->group->idle;
}

/* With containers only after it has left another group. */
static void enter_group(struct vpa_tracked_pod *pod, struct vpa_group *group)
{
    pod->group = group;
    struct vpa_tracked_pod **head = list_of(pod);
    pod->prev = NULL;
    pod->next = *head;
    if (*head)
        (*head)->prev = pod;
    *head = pod;
    if (pod->tracked)
        group->pod_count++;
}

static void leave_group(struct vpa_cluster *c, struct vpa_tracked_pod *pod)
{
    vpa_cluster_forget_names(c);
    if (pod->next)
        pod->next->prev = pod->prev;
    if (pod->prev)
        pod->prev->next = pod->next;
    else
        *list_of(pod) = pod->next;
    if (pod->tracked)
        pod->group->pod_count--;
}

/* The block moved: everything that points to the pod follows. */
static void moved(struct vpa_cluster *c, const struct vpa_tracked_pod *old,
                  struct vpa_tracked_pod *pod)
{
    vpa_cluster_forget_names(c);
    if (pod->next)
        pod->next->prev = pod;
    if (pod->prev)
        pod->prev->next = pod;
    else
        *list_of(pod) = pod;
    vpa_pointer_set_replace(pod->tracked ? &c->pods : &c->idle, pod->hashed.hash, &old->hashed,
                            &pod->hashed);
}

static void set_member(struct vpa_cluster *c, struct vpa_tracked_pod *pod,
                       struct vpa_tracked_container *container, vpa_time now)
{
    container->member =
        pod->tracked ? vpa_group_get_member(c, pod->group, container->name, now) : NULL;
}

static void init_container(struct vpa_cluster *c, struct vpa_tracked_container *container,
                           const char *name)
{
    container->name = vpa_intern(c->names, name);
    container->member = NULL;
    vpa_container_state_init(&container->state);
    vpa_oom_memory_init(&container->oom);
}

/* Without what stands behind the containers. */
static size_t head_size(size_t containers)
{
    return sizeof(struct vpa_tracked_pod) + containers * sizeof(struct vpa_tracked_container);
}

static size_t pod_size(size_t containers, bool has_init_names, size_t name_length)
{
    return head_size(containers) + (has_init_names ? sizeof(const char *) : 0) + name_length + 1;
}

static struct vpa_tracked_pod *make_pod(struct vpa_cluster *c, struct vpa_group *group,
                                        const char *name, bool tracked)
{
    struct vpa_tracked_pod *pod = vpa_xcalloc(1, pod_size(0, false, strlen(name)));

    pod->hashed.hash = pod_hash(group->ns, name);
    pod->tracked = tracked;
    memcpy(vpa_tracked_pod_name(pod), name, strlen(name) + 1);
    enter_group(pod, group);
    vpa_pointer_set_add(tracked ? &c->pods : &c->idle, &pod->hashed);
    return pod;
}

static void free_pod(struct vpa_cluster *c, struct vpa_tracked_pod *pod)
{
    struct vpa_group *group = pod->group;

    c->deleted_count -= pod->deleted;
    leave_group(c, pod);
    vpa_pointer_set_remove(pod->tracked ? &c->pods : &c->idle, &pod->hashed);
    for (size_t i = 0; i < pod->container_count; i++)
        vpa_unintern(c->names, pod->containers[i].name);
    vpa_unintern(c->names, vpa_tracked_pod_init_names(pod));
    free(pod);
    vpa_group_drop_if_unused(c, group);
}

void vpa_pods_free_all(struct vpa_cluster *c)
{
    struct vpa_hashed *object;

    for (size_t i = 0; (object = vpa_pointer_set_next(&c->pods, &i));)
        free_pod(c, (struct vpa_tracked_pod *)object);
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->idle, &i));)
        free_pod(c, (struct vpa_tracked_pod *)object);
}

/* The pod with room for other things behind it; containers that come are not set yet, those that go
 * are the last ones. */
static struct vpa_tracked_pod *reshape(struct vpa_cluster *c, struct vpa_tracked_pod *old,
                                       size_t containers, const char *init_names)
{
    size_t name_length = strlen(vpa_tracked_pod_name(old));
    struct vpa_tracked_pod *pod = vpa_xmalloc(pod_size(containers, init_names, name_length));

    memcpy(pod, old,
           head_size(containers < old->container_count ? containers : old->container_count));
    pod->container_count = (uint16_t)containers;
    pod->has_init_names = init_names != NULL;
    if (init_names)
        memcpy(&pod->containers[containers], &init_names, sizeof(init_names));
    memcpy(vpa_tracked_pod_name(pod), vpa_tracked_pod_name(old), name_length + 1);
    moved(c, old, pod);
    free(old);
    return pod;
}

/* The container of that name, added if missing; *pod may move. NULL when the pod is full. */
static struct vpa_tracked_container *
get_container(struct vpa_cluster *c, struct vpa_tracked_pod **pod, const char *name, vpa_time now)
{
    struct vpa_tracked_pod *old = *pod;
    struct vpa_tracked_container *container = vpa_pod_find_container(c, old, name);
    size_t count = old->container_count;

    if (container || count == VPA_POD_CONTAINERS_MAX)
        return container;
    struct vpa_tracked_pod *grown = reshape(c, old, count + 1, vpa_tracked_pod_init_names(old));
    init_container(c, &grown->containers[count], name);
    set_member(c, grown, &grown->containers[count], now);
    *pod = grown;
    return &grown->containers[count];
}

/* names: one per line, may be those that the pod has; *pod may move. */
static void set_init_names(struct vpa_cluster *c, struct vpa_tracked_pod **pod, const char *names)
{
    const char *old = vpa_tracked_pod_init_names(*pod);
    const char *new = *names ? vpa_intern(c->names, names) : NULL;

    if (new != old)
        *pod = reshape(c, *pod, (*pod)->container_count, new);
    vpa_unintern(c->names, old);
}

/* Containers keep their sample state; they feed the aggregates of the new labels from now on. */
static void relabel(struct vpa_cluster *c, struct vpa_tracked_pod *pod, struct vpa_group *group,
                    vpa_time now)
{
    struct vpa_group *old = pod->group;

    if (old == group)
        return;
    leave_group(c, pod);
    enter_group(pod, group);
    for (size_t i = 0; i < pod->container_count; i++)
        set_member(c, pod, &pod->containers[i], now);
    vpa_group_drop_if_unused(c, old);
}

/* What an idle record knows about its containers goes to the tracked record of the same pod. */
static struct vpa_tracked_pod *hand_over(struct vpa_cluster *c, struct vpa_tracked_pod *to,
                                         const struct vpa_tracked_pod *from, vpa_time now)
{
    for (size_t i = 0; i < from->container_count; i++) {
        struct vpa_tracked_container *container =
            get_container(c, &to, from->containers[i].name, now);
        if (container)
            container->oom = from->containers[i].oom;
    }
    to->phase = from->phase;
    to->uid_hash = from->uid_hash;
    to->version = from->version;
    set_init_names(c, &to, vpa_or_empty(vpa_tracked_pod_init_names(from)));
    return to;
}

/* Makes an idle record a tracked pod; it is gone afterwards. */
static struct vpa_tracked_pod *track(struct vpa_cluster *c, struct vpa_tracked_pod *idle,
                                     vpa_time now)
{
    const char *name = vpa_tracked_pod_name(idle);
    struct vpa_tracked_pod *pod = find(&c->pods, idle->group->ns, name);

    if (pod)
        relabel(c, pod, idle->group, now);
    else
        pod = make_pod(c, idle->group, name, true);
    pod = hand_over(c, pod, idle, now);
    free_pod(c, idle);
    return pod;
}

void vpa_pods_promote(struct vpa_cluster *c, struct vpa_group *group, vpa_time now)
{
    while (group->idle)
        track(c, group->idle, now);
}

/* ---- put ---- */

static void take_init_names(struct vpa_cluster *c, struct vpa_tracked_pod **pod,
                            const struct vpa_pod *source)
{
    vpa_auto_buf names = VPA_BUF(INIT_NAMES_MAX);

    init_names_put(source, &names);
    set_init_names(c, pod, vpa_buf_text(&names));
}

/* The record to update: tracked, or idle when the memory saver has no use for the pod. */
static struct vpa_tracked_pod *record_for(struct vpa_cluster *c, struct vpa_group *group,
                                          const char *name, bool want_tracked, vpa_time now)
{
    struct vpa_tracked_pod *idle = find(&c->idle, group->ns, name);
    struct vpa_tracked_pod *pod = find(&c->pods, group->ns, name);

    if (want_tracked) {
        if (idle) {
            relabel(c, idle, group, now);
            return track(c, idle, now);
        }
        if (!pod)
            return make_pod(c, group, name, true);
        relabel(c, pod, group, now);
        return pod;
    }
    if (idle) {
        relabel(c, idle, group, now);
        return idle;
    }
    idle = make_pod(c, group, name, false);
    return pod ? hand_over(c, idle, pod, now) : idle;
}

/* Takes out the containers that are not marked. */
static void drop_unmarked(struct vpa_cluster *c, struct vpa_tracked_pod *pod, const bool *marked)
{
    size_t kept = 0;

    for (size_t i = 0; i < pod->container_count; i++) {
        if (marked[i])
            pod->containers[kept++] = pod->containers[i];
        else
            vpa_unintern(c->names, pod->containers[i].name);
    }
    if (kept < pod->container_count)
        reshape(c, pod, kept, vpa_tracked_pod_init_names(pod));
}

/* Those that another pod of that name had. */
static void forget_containers(struct vpa_cluster *c, struct vpa_tracked_pod *pod,
                              const struct vpa_pod *source)
{
    bool marked[VPA_POD_CONTAINERS_MAX] = {false};

    if (!pod || pod->uid_hash == 0 || pod->uid_hash == vpa_hash_stable(source->meta.uid))
        return;
    for (size_t i = 0; i < source->container_count; i++) {
        const struct vpa_tracked_container *found =
            vpa_pod_find_container(c, pod, source->containers[i].name);

        if (found)
            marked[found - pod->containers] = true;
    }
    drop_unmarked(c, pod, marked);
}

static void unmark(struct vpa_cluster *c, struct vpa_tracked_pod *pod)
{
    if (pod && pod->deleted) {
        pod->deleted = false;
        c->deleted_count--;
    }
}

static void observe_ooms(struct vpa_cluster *c, struct vpa_tracked_pod *pod,
                         const struct vpa_pod *source, struct vpa_oom_queue *ooms)
{
    uint32_t uid_hash = vpa_hash_stable(source->meta.uid);
    bool new_uid = uid_hash != pod->uid_hash;

    pod->uid_hash = uid_hash;
    for (size_t i = 0; i < pod->container_count; i++) {
        struct vpa_tracked_container *container = &pod->containers[i];
        vpa_time t;
        vpa_amount memory;

        if (!vpa_oom_observe_container(&container->oom, source, container->name, new_uid, &t,
                                       &memory))
            continue;
        if (container->oom.from_status)
            c->oom_lookups.from_status++;
        else
            c->oom_lookups.from_spec++;
        if (ooms)
            vpa_oom_queue_push(ooms, t, memory, pod->group->ns, vpa_tracked_pod_name(pod),
                               container->name);
    }
}

/* Two versions with one hash are one in four thousand million. */
static uint32_t version_of(const struct vpa_meta *meta)
{
    const char *version = vpa_or_empty(meta->resource_version);
    vpa_auto_free char *text = vpa_xjoin(vpa_or_empty(meta->uid), '/', version);

    return *version ? vpa_hash_stable(text) : 0;
}

void vpa_cluster_place_pod(struct vpa_cluster *c, const struct vpa_pod *source, vpa_time now)
{
    vpa_cluster_settle(c);
    /* First of all: a container that is in a group has a history there. */
    forget_containers(c, find(&c->pods, source->meta.ns, source->meta.name), source);
    forget_containers(c, find(&c->idle, source->meta.ns, source->meta.name), source);

    struct vpa_group *group = vpa_group_get(c, source->meta.ns, &source->meta.labels);
    bool want_tracked = !c->memory_saver || group->vpa_count > 0;
    struct vpa_tracked_pod *pod = record_for(c, group, source->meta.name, want_tracked, now);

    pod->phase = (uint8_t)vpa_phase_parse(source->phase);
    for (size_t i = 0; i < source->container_count; i++)
        get_container(c, &pod, source->containers[i].name, now);
    take_init_names(c, &pod, source);
    unmark(c, pod);
    if (!want_tracked)
        unmark(c, find(&c->pods, source->meta.ns, source->meta.name));
    pod->version = version_of(&source->meta);
}

/* The record that takes the changes: that of the memory saver, if there is one. */
static struct vpa_tracked_pod *find_newest(const struct vpa_cluster *c, const char *ns,
                                           const char *name)
{
    struct vpa_tracked_pod *idle = find(&c->idle, ns, name);

    return idle ? idle : find(&c->pods, ns, name);
}

void vpa_cluster_observe_pod(struct vpa_cluster *c, const struct vpa_pod *version,
                             struct vpa_oom_queue *ooms)
{
    struct vpa_tracked_pod *pod = find_newest(c, version->meta.ns, version->meta.name);

    if (pod)
        observe_ooms(c, pod, version, ooms);
}

void vpa_cluster_put_pod(struct vpa_cluster *c, const struct vpa_pod *source,
                         struct vpa_oom_queue *ooms, vpa_time now)
{
    vpa_cluster_place_pod(c, source, now);
    vpa_cluster_observe_pod(c, source, ooms);
}

bool vpa_cluster_has_version(const struct vpa_cluster *c, const struct vpa_meta *meta)
{
    const struct vpa_tracked_pod *pod = find_newest(c, meta->ns, meta->name);
    uint32_t version = version_of(meta);

    return pod && version != 0 && pod->version == version;
}

void vpa_cluster_put_bare_pod(struct vpa_cluster *c, const char *ns, const char *name,
                              const struct vpa_labels *labels, enum vpa_phase phase, vpa_time now)
{
    vpa_cluster_settle(c);

    struct vpa_group *group = vpa_group_get(c, ns, labels);
    struct vpa_tracked_pod *pod = record_for(c, group, name, true, now);

    pod->phase = (uint8_t)phase;
    unmark(c, pod);
}

int vpa_cluster_put_container(struct vpa_cluster *c, const char *ns, const char *pod_name,
                              const char *container, vpa_time now, struct vpa_error *err)
{
    struct vpa_tracked_pod *pod = find(&c->pods, ns, pod_name);

    if (!pod)
        return vpa_fail(err, VPA_NOT_FOUND, "KeyError: {%s %s}", ns, pod_name);
    if (!get_container(c, &pod, container, now))
        return vpa_fail(err, VPA_LIMIT, "pod %s/%s has too many containers", ns, pod_name);
    return 0;
}

/* ---- remove ---- */

bool vpa_cluster_remove_pod(struct vpa_cluster *c, const char *ns, const char *name)
{
    struct vpa_tracked_pod *pod = find(&c->pods, ns, name);
    struct vpa_tracked_pod *idle = find(&c->idle, ns, name);

    if (pod)
        free_pod(c, pod);
    if (idle)
        free_pod(c, idle);
    return pod || idle;
}

static void mark(struct vpa_cluster *c, struct vpa_tracked_pod *pod)
{
    if (pod && !pod->deleted) {
        pod->deleted = true;
        c->deleted_count++;
    }
}

void vpa_cluster_mark_pod_deleted(struct vpa_cluster *c, const char *ns, const char *name)
{
    mark(c, find(&c->pods, ns, name));
    mark(c, find(&c->idle, ns, name));
}

void vpa_cluster_keep_pod(struct vpa_cluster *c, const char *ns, const char *name)
{
    unmark(c, find(&c->pods, ns, name));
    unmark(c, find(&c->idle, ns, name));
}

static void mark_all(struct vpa_cluster *c, const struct vpa_pointer_set *set)
{
    struct vpa_hashed *object;

    for (size_t i = 0; (object = vpa_pointer_set_next(set, &i));)
        mark(c, (struct vpa_tracked_pod *)object);
}

void vpa_cluster_mark_all_pods_deleted(struct vpa_cluster *c)
{
    mark_all(c, &c->pods);
    mark_all(c, &c->idle);
}

static size_t sweep(struct vpa_cluster *c, const struct vpa_pointer_set *set)
{
    struct vpa_hashed *object;
    size_t removed = 0;

    for (size_t i = 0; c->deleted_count && (object = vpa_pointer_set_next(set, &i));) {
        struct vpa_tracked_pod *pod = (struct vpa_tracked_pod *)object;
        if (pod->deleted) {
            removed += pod->tracked;
            free_pod(c, pod);
        }
    }
    return removed;
}

size_t vpa_cluster_remove_deleted_pods(struct vpa_cluster *c)
{
    size_t removed = sweep(c, &c->pods);

    sweep(c, &c->idle);
    return removed;
}

/* Aggregates that are there because of deleted pods alone, and have no sample. */
static void forget_members(struct vpa_cluster *c, struct vpa_group *group, vpa_time now)
{
    bool deleted = false;

    for (const struct vpa_tracked_pod *pod = group->pods; pod; pod = pod->next) {
        if (pod->deleted)
            vpa_group_doubt_pod(pod);
        deleted = deleted || pod->deleted;
    }
    for (const struct vpa_tracked_pod *pod = group->pods; deleted && pod; pod = pod->next) {
        if (!pod->deleted)
            vpa_group_feed(group, pod);
    }
    if (deleted)
        vpa_group_collect(c, group, false, now);
}

void vpa_cluster_forget_deleted_pods(struct vpa_cluster *c, vpa_time now)
{
    struct vpa_hashed *object;

    for (size_t i = 0; c->deleted_count && (object = vpa_pointer_set_next(&c->groups, &i));)
        forget_members(c, (struct vpa_group *)object, now);
    vpa_cluster_remove_deleted_pods(c);
}

/* ---- ask ---- */

struct vpa_lookups vpa_cluster_take_lookups(struct vpa_cluster *c)
{
    struct vpa_lookups lookups = c->oom_lookups;
    struct vpa_hashed *object;

    vpa_cluster_settle(c);
    for (size_t i = 0; (object = vpa_pointer_set_next(&c->pods, &i));) {
        const struct vpa_tracked_pod *pod = (const struct vpa_tracked_pod *)object;
        for (size_t n = 0; n < pod->container_count; n++) {
            if (pod->containers[n].oom.from_status)
                lookups.from_status++;
            else
                lookups.from_spec++;
        }
    }
    c->oom_lookups = (struct vpa_lookups){0};
    return lookups;
}
