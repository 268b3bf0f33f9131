/*
 * Which VPAs take part in a pass, and which pods each of them controls.
 *
 * Everything is matched and grouped once: pods find their topmost controller through the owner
 * caches (remembered per immediate owner), the controller finds its VPA through an index.
 *
 * Modes Off and Initial leave running pods alone; their VPAs take part for the boosts they ask for.
 * When one takes part for the first time, an earlier process may have left the end of a boost under
 * way.
 */
#include "select.h"

#include <stdlib.h>
#include <string.h>

#include "note.h"
#include "told.h"
#include "unknown.h"
#include "words.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/match.h"

/* The topmost controller of one immediate owner, remembered for its other pods. */
struct walk {
    bool failed;
    bool at_node; /* the pods are mirrors of static pods, which the node makes as files say */
    bool found;
    struct vpa_controller_key top;
};

/* Selectors and controllers of custom resources are asked for one by one. */
static bool may_go_on(const struct pass *pass)
{
    return !updater_env_is_stopped(pass->env) && !updater_pass_is_late(pass);
}

bool updater_select_takes_part(const struct vpa_object *vpa)
{
    return vpa_update_mode_active(vpa_update_mode_of(vpa)) || vpa_object_has_startup_boost(vpa);
}

static int resolve_selector(struct pass *pass, const struct vpa_object *vpa,
                            struct vpa_selector *out, struct vpa_error *err)
{
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);

    if (vpa->has_selector && !vpa->target_ref.present) {
        *out = vpa->selector;
        return 0;
    }
    if (!vpa->target_ref.present)
        return vpa_fail(err, VPA_INVALID, "targetRef not defined");
    return vpa_owners_selector(pass->env->owners, &target, &pass->arena, out, err);
}

/* Takes the VPA in unless the selector of its target is not known. Where that is so for the moment
 * only, its pods are not another one's meanwhile. */
static void add_selected(struct pass *pass, const struct vpa_object *vpa,
                         struct selection *selection)
{
    struct selected *s = &selection->items[selection->count];
    struct vpa_error err;

    if (resolve_selector(pass, vpa, &s->selector, &err) < 0) {
        VPA_V(3, "Skipping VPA: no selector of its target", VPA_KV("namespace", vpa->meta.ns),
              VPA_KV("vpa", vpa->meta.name), VPA_KERR(&err));
        updater_tell_of_vpa(pass->env, vpa, VPA_REST_TARGET, err.text);
        if (err.code == VPA_RETRY)
            updater_unknown_add(pass->unknown, vpa);
        return;
    }
    s->vpa = vpa;
    selection->count++;
}

static void leave_alone(struct pass *pass, const struct vpa_object *vpa)
{
    VPA_V(3, "Skipping VPA: nothing to do for it", VPA_KV("namespace", vpa->meta.ns),
          VPA_KV("vpa", vpa->meta.name), VPA_KV("mode", vpa_object_mode(vpa)));
    vpa_arena_clear(&pass->scratch);
    updater_tell_of_vpa(pass->env, vpa, VPA_REST_MODE, updater_words_of_mode(&pass->scratch, vpa));
}

/* Once per VPA, and again when it comes back to that mode. */
static void tell_of_auto(struct pass_env *env, const struct vpa_object *vpa)
{
    bool is_auto = vpa_update_mode_of(vpa) == VPA_MODE_AUTO;
    struct vpa_note *note = is_auto ? updater_note_of(env, vpa) : updater_note_find(env, vpa);

    if (is_auto && !note->told_of_auto)
        VPA_INFO("VPA uses the deprecated update mode Auto, use Recreate or InPlaceOrRecreate",
                 VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name));
    if (note)
        note->told_of_auto = is_auto;
}

struct selection *updater_select_vpas(struct pass *pass, const struct vpa_object *const *vpas,
                                      size_t count)
{
    struct selection *s = vpa_arena_zalloc(&pass->arena, sizeof(*s));

    s->items = vpa_arena_zalloc(&pass->arena, (count + 1) * sizeof(*s->items));
    for (size_t i = 0; i < count && may_go_on(pass); i++) {
        const struct vpa_object *vpa = vpas[i];

        if (vpa_common_flags_ignore(&pass->env->config->common, vpa->meta.ns))
            continue;
        tell_of_auto(pass->env, vpa);
        if (updater_select_takes_part(vpa))
            add_selected(pass, vpa, s);
        else
            leave_alone(pass, vpa);
    }
    return s;
}

void updater_select_release(struct selection *selection)
{
    vpa_table_release(&selection->walks);
}

/* A pass may meet thousands, and says so once. */
static void note_failure(struct pass *pass, struct selection *s, const struct vpa_pod *pod,
                         const struct vpa_error *err)
{
    VPA_V(4, "Failed to find the controller of a pod", VPA_KERR(err),
          VPA_KV("namespace", pod->meta.ns), VPA_KV("pod", pod->meta.name));
    if (s->failures++ > 0)
        return;
    s->first_failed = vpa_arena_printf(&pass->arena, "%s/%s", pod->meta.ns, pod->meta.name);
    s->first_failure = *err;
}

static void tell_failures(const struct selection *s)
{
    if (s->failures > 0)
        VPA_ERROR_UNLESS_TOLD(&s->first_failure, "Failed to find the controllers of pods",
                              VPA_KV("owners", (int64_t)s->failures),
                              VPA_KV("first", s->first_failed), VPA_KERR(&s->first_failure));
}

static const struct walk *walk_of(struct pass *pass, struct selection *s, const struct vpa_pod *pod,
                                  const struct vpa_owner_reference *owner)
{
    char *id = vpa_arena_printf(&pass->scratch, "%s/%s/%s/%s", pod->meta.ns, owner->api_version,
                                owner->kind, owner->name);
    struct walk *walk = vpa_table_find(&s->walks, id);
    struct vpa_error err;

    if (walk)
        return walk;

    const struct vpa_controller_key key = vpa_controller_key_of_owner(pod->meta.ns, owner);

    walk = vpa_arena_zalloc(&pass->arena, sizeof(*walk));
    vpa_table_put(&s->walks, vpa_arena_strdup(&pass->arena, id), walk);
    if (vpa_owners_topmost(pass->env->owners, &key, &pass->arena, &walk->found, &walk->top, &err) <
        0) {
        walk->failed = true;
        walk->at_node = vpa_owner_is_node_error(&err);
        if (!walk->at_node)
            note_failure(pass, s, pod, &err);
    }
    return walk;
}

static const struct walk *walk_of_pod(struct pass *pass, struct selection *s,
                                      const struct vpa_pod *pod)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);

    return owner ? walk_of(pass, s, pod, owner) : NULL;
}

static const struct vpa_candidate *controlling_vpa(const struct vpa_match_index *index,
                                                   const struct walk *walk,
                                                   const struct vpa_pod *pod)
{
    if (walk && walk->at_node)
        return NULL;
    if (walk && walk->failed)
        return vpa_match_find_unowned(index, VPA_MATCH_UPDATER, pod->meta.ns, &pod->meta.labels);
    if (walk && walk->found)
        return vpa_match_find(index, VPA_MATCH_UPDATER, walk->top.ns, walk->top.kind,
                              walk->top.name, &pod->meta.labels);
    return vpa_match_find(index, VPA_MATCH_UPDATER, pod->meta.ns, "", "", &pod->meta.labels);
}

static int selected_cmp(const void *key, const void *element)
{
    const struct vpa_object *vpa = key;
    const struct selected *s = element;
    int order = strcmp(vpa->meta.ns, s->vpa->meta.ns);

    return order ? order : strcmp(vpa->meta.name, s->vpa->meta.name);
}

static enum meter_hold hold_of(struct pass *pass, const struct walk *walk,
                               const struct vpa_pod *pod)
{
    bool failed = walk && walk->failed;
    const struct vpa_controller_key *top = walk && walk->found ? &walk->top : NULL;

    if (updater_unknown_governs(pass->unknown, pod->meta.ns, top, failed))
        return HOLD_VPA;
    return updater_pass_limits(pass, pod->meta.ns)->error ? HOLD_LIMIT_RANGE : HOLD_NONE;
}

/* A pod with the VPA that controls it. */
struct controlled {
    struct selected *by; /* NULL: none */
    enum meter_hold hold;
};

/* Both are in the order of namespaces. Owners of pods that no VPA can govern are not asked for: a
 * namespace may have thousands, each a custom resource of its own. */
static bool has_vpa(const struct selection *selection, size_t *next, const char *ns)
{
    while (*next < selection->count && strcmp(selection->items[*next].vpa->meta.ns, ns) < 0)
        ++*next;
    return *next < selection->count && vpa_str_eq(selection->items[*next].vpa->meta.ns, ns);
}

static struct controlled *find_controlling(struct pass *pass, struct selection *selection,
                                           const struct vpa_pod *const *pods, size_t count)
{
    struct vpa_candidate *candidates =
        vpa_arena_alloc(&pass->arena, (selection->count + 1) * sizeof(*candidates));
    struct controlled *of_pod = vpa_arena_zalloc(&pass->arena, (count + 1) * sizeof(*of_pod));

    for (size_t i = 0; i < selection->count; i++)
        candidates[i] =
            (struct vpa_candidate){selection->items[i].vpa, &selection->items[i].selector};

    struct vpa_match_index *index = vpa_match_index_new(candidates, selection->count);
    size_t next = 0;

    for (size_t i = 0; i < count && may_go_on(pass); i++) {
        if (!has_vpa(selection, &next, pods[i]->meta.ns))
            continue;
        vpa_arena_clear(&pass->scratch);

        const struct walk *walk = walk_of_pod(pass, selection, pods[i]);
        const struct vpa_candidate *c = controlling_vpa(index, walk, pods[i]);

        if (!c)
            continue;
        of_pod[i].by = bsearch(c->vpa, selection->items, selection->count,
                               sizeof(*selection->items), selected_cmp);
        if (!of_pod[i].by)
            continue;
        of_pod[i].by->pod_count++;
        of_pod[i].hold = hold_of(pass, walk, pods[i]);
    }
    tell_failures(selection);
    vpa_match_index_free(index);
    return of_pod;
}

void updater_select_pods(struct pass *pass, struct selection *selection,
                         const struct vpa_pod *const *pods, size_t count)
{
    struct controlled *of_pod = find_controlling(pass, selection, pods, count);

    for (size_t i = 0; i < selection->count; i++) {
        struct selected *s = &selection->items[i];

        s->pods = vpa_arena_alloc(&pass->arena, (s->pod_count + 1) * sizeof(struct vpa_pod *));
        s->held = vpa_arena_zalloc(&pass->arena, (s->pod_count + 1) * sizeof(*s->held));
    }
    for (size_t i = 0; i < count; i++) {
        struct selected *s = of_pod[i].by;

        if (!s)
            continue;
        pass->gauges.held[of_pod[i].hold]++;
        s->held[s->filled] = of_pod[i].hold != HOLD_NONE;
        s->pods[s->filled++] = pods[i];
    }
}

/* ---- what an earlier process may have left under way ---- */

/* VPAs of one name are told apart. */
static uint64_t uid_of(const struct vpa_object *vpa)
{
    const char *uid = vpa_or_empty(vpa->meta.uid);

    return vpa_hash_bytes(uid, strlen(uid));
}

static void recover(struct pass_env *env, const struct selected *s)
{
    struct vpa_note *note = updater_note_of(env, s->vpa);
    uint64_t uid = uid_of(s->vpa);

    if (note->recovered && note->recovered_uid == uid)
        return;
    note->recovered = true;
    note->recovered_uid = uid;
    for (size_t k = 0; updater_env_boosts(env, s->vpa) && k < s->pod_count; k++) {
        if (vpa_unboost_presumed(s->pods[k]))
            vpa_update_memory_set_unboost(env->memory, s->pods[k]->meta.uid, true);
    }
}

void updater_recover(struct pass_env *env, const struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        recover(env, &selection->items[i]);
}
