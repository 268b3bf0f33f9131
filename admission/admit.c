/*
 * One review, one answer.
 *
 *     body -> review -> pod -> owner walk -> VPA -> patch -> answer
 *                    -> VPA object -> validation -> answer
 *
 * Nothing here can refuse a pod but the annotation that asks for it: whatever goes wrong with a
 * pod, it is admitted as it came. Everything is read from the snapshot and everything temporary
 * lives in the arena.
 */
#include "admit.h"

#include <string.h>

#include "vpa/api/object_types.h"
#include "vpa/api/review.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_peek.h"
#include "vpa/policy/patch_facts.h"

#define PATCH_MAX ((size_t)8 << 20)
/* Of a patch, as much as a log line has. */
#define SHADOW_PATCH_MAX ((size_t)1024)
/* Of a patch or an answer: what most of them need, taken at once. */
#define USUAL_LEN 2048

struct admission {
    const struct snapshot *snapshot;
    const struct admit_options *options;
    struct vpa_arena *arena;
    struct vpa_review_request request;
    struct vpa_review_response response;
    struct vpa_buf patch;
    struct vpa_status denial;
    struct admit_result *result;
};

const char *admit_resource_name(enum admit_resource resource)
{
    static const char *const names[] = {"unknown", "Pod", "VPA"};

    return names[resource];
}

const char *admit_status_name(enum admit_status status)
{
    static const char *const names[] = {"error", "skipped", "applied"};

    return names[status];
}

/* ---- what the ledger is told ---- */

#define INPUTS_MAX ((size_t)1 << 20) /* longer ones are hashed in the ledger anyhow */
#define ADMITTED_AS_IT_IS "admit as it is"
/* Of the log line about a patched pod. */
#define PATCH_LEVEL 4

static void decided(struct admission *a, const struct vpa_pod *pod, const char *vpa,
                    const struct vpa_ledger_entry *entry)
{
    if (!a->options->explain)
        return;
    a->result->entry = *entry;
    a->result->entry.ns = pod->meta.ns;
    a->result->entry.pod = pod->meta.name;
    a->result->entry.vpa = vpa;
    if (entry->why)
        a->result->entry.why = vpa_arena_strdup(a->arena, entry->why);
}

static void decided_by(struct admission *a, const struct vpa_patch_facts *facts,
                       struct vpa_ledger_entry *entry)
{
    struct vpa_json_writer w;
    vpa_auto_buf inputs = VPA_BUF(INPUTS_MAX);

    if (!a->options->explain)
        return;
    vpa_buf_reserve(&inputs, USUAL_LEN);
    vpa_json_writer_init(&w, &inputs);
    vpa_patch_facts_encode(&w, facts, a->response.patch, a->response.patch_len);
    if (!vpa_buf_failed(&inputs)) {
        entry->inputs = vpa_arena_strndup(a->arena, inputs.data, inputs.len);
        entry->inputs_len = inputs.len;
    }
    decided(a, facts->pod, facts->vpa->meta.name, entry);
}

/* ---- which VPA ---- */

struct candidates {
    struct vpa_arena *arena;
    const struct vpa_owner_view *owners;
    enum vpa_match_rule rule;
    struct vpa_candidate *items;
    size_t count;
    size_t capacity;
    bool told;                        /* of one without a selector: a pod makes one line of all */
    const struct vpa_object *best;    /* with add_stronger */
    const struct vpa_object *unknown; /* the strongest whose selector nobody knows for the moment */
};

static void add_candidate(void *ctx, const struct vpa_object *vpa)
{
    struct candidates *c = ctx;
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);
    const struct vpa_selector *selector = &vpa->selector;
    struct vpa_error err;

    if (!vpa_match_mode(vpa, c->rule))
        return;
    if (vpa->target_ref.present &&
        vpa_owner_view_selector(c->owners, &target, &selector, &err) < 0) {
        if (!c->told)
            VPA_V(3, "Skipping VPA object because we cannot fetch selector",
                  VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name), VPA_KERR(&err));
        c->told = true;
        if (err.code == VPA_RETRY && (!c->unknown || vpa_match_stronger(vpa, c->unknown)))
            c->unknown = vpa;
        return;
    }
    VPA_ARENA_GROW(c->arena, c->items, c->count, c->capacity);
    c->items[c->count++] = (struct vpa_candidate){vpa, selector};
}

/* Of a large namespace few are: the selectors of the others need not be known. */
static void add_stronger(void *ctx, const struct vpa_object *vpa)
{
    struct candidates *c = ctx;

    if (vpa_match_stronger(vpa, c->best))
        add_candidate(c, vpa);
}

/* The topmost controller of the pod; the empty kind and name when there is none. is_mirror: the pod
 * is that of a static pod, which its node makes as a file says. */
static struct vpa_controller_key topmost(const struct vpa_owner_view *owners,
                                         struct vpa_arena *arena, const struct vpa_pod *pod,
                                         bool *is_mirror, struct vpa_error *err)
{
    const struct vpa_controller_key none = {pod->meta.ns, "", "", ""};
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);
    struct vpa_controller_key top;
    bool found;

    if (!owner || !owners)
        return none;

    const struct vpa_controller_key key = vpa_controller_key_of_owner(pod->meta.ns, owner);
    if (vpa_owner_view_topmost(owners, &key, arena, &found, &top, err) < 0) {
        *is_mirror = vpa_owner_is_node_error(err);
        if (*is_mirror)
            err->code = VPA_OK; /* passed over in silence */
        return none;
    }
    return found ? top : none;
}

/* One of which nobody knows what it says, and that controls the pods of that controller or may. */
static bool is_under_unknown(const struct snapshot *snapshot, const struct vpa_pod *pod,
                             const struct vpa_controller_key *top)
{
    return snapshot_unknown_vpa(snapshot, pod->meta.ns, "", "") ||
           (top->kind[0] && snapshot_unknown_vpa(snapshot, top->ns, top->kind, top->name));
}

/* Nobody knows the pod's controller: of the VPAs that select by labels the strongest, unless a
 * stronger one with a target fits, or nobody knows whether it does. It may be the pod's: a weaker
 * one does not get it meanwhile. */
static const struct vpa_object *strongest_unowned(const struct snapshot *snapshot,
                                                  struct candidates *c, const struct vpa_pod *pod)
{
    const struct vpa_labels *labels = &pod->meta.labels;
    const struct vpa_candidate *best =
        vpa_match_strongest(c->items, c->count, c->rule, pod->meta.ns, "", "", labels);
    size_t first = c->count;

    c->best = best ? best->vpa : NULL;
    c->told = true; /* they are others' VPAs most of the time, and as many as there are */
    if (c->best)
        snapshot_targeting_vpas(snapshot, pod->meta.ns, add_stronger, c);
    for (size_t i = first; i < c->count; i++)
        if (vpa_match_selects(&c->items[i], pod->meta.ns, labels))
            return NULL;
    return c->best && c->unknown && vpa_match_stronger(c->unknown, c->best) ? NULL : c->best;
}

const struct vpa_object *admit_match(const struct snapshot *snapshot, enum vpa_match_rule rule,
                                     struct vpa_arena *arena, const struct vpa_pod *pod,
                                     bool *unknown, struct vpa_error *owner_error)
{
    const struct vpa_owner_view *owners = snapshot_owners(snapshot);
    bool is_mirror = false;

    owner_error->code = VPA_OK;
    *unknown = false;
    if (!snapshot_has_vpas(snapshot, pod->meta.ns))
        return NULL; /* nobody need know its owners, which costs a request, and others' waiting */

    struct vpa_controller_key top = topmost(owners, arena, pod, &is_mirror, owner_error);
    struct candidates c = {.arena = arena, .owners = owners, .rule = rule};

    *unknown = !is_mirror && is_under_unknown(snapshot, pod, &top);
    if (*unknown || is_mirror)
        return NULL;
    if (top.kind[0])
        snapshot_vpas(snapshot, top.ns, top.kind, top.name, add_candidate, &c);
    snapshot_vpas(snapshot, pod->meta.ns, "", "", add_candidate, &c);

    if (owner_error->code != VPA_OK)
        return strongest_unowned(snapshot, &c, pod);

    const struct vpa_candidate *best = vpa_match_strongest(c.items, c.count, rule, pod->meta.ns,
                                                           top.kind, top.name, &pod->meta.labels);
    return best ? best->vpa : NULL;
}

/* ---- pods ---- */

/* A pod may have thousands of containers: the first one is told, and how many there are; or what
 * all boosts of the pod are left out for. */
static void note_unusable_boost(void *ctx, const char *container, const char *reason)
{
    struct admission *a = ctx;

    if (a->result->unusable_boosts++ > 0 && container)
        return;
    a->result->unboosted_container =
        container ? vpa_arena_printf(a->arena, "%.256s", container) : NULL;
    a->result->unboosted_why = vpa_arena_strdup(a->arena, reason);
}

/* S10: the pod asks not to run without a VPA. One that changes nothing, being Off, will do. */
static void refuse_unmatched(struct admission *a, const struct vpa_pod *pod)
{
    const char *required = vpa_labels_get(&pod->meta.annotations, ADMIT_REQUIRED_ANNOTATION);
    struct vpa_error err;
    bool unknown;

    if (!required || strcmp(required, "true") != 0 ||
        admit_match(a->snapshot, VPA_MATCH_UPDATER, a->arena, pod, &unknown, &err))
        return;
    a->denial = (struct vpa_status){
        .status = "Failure",
        .message = vpa_arena_printf(a->arena,
                                    "pod %s/%s requires a VerticalPodAutoscaler (annotation %s), "
                                    "but none matches it",
                                    pod->meta.ns, pod->meta.name, ADMIT_REQUIRED_ANNOTATION),
        .reason = "Forbidden",
        .code = 403,
    };
    a->response.allowed = false;
    a->response.status = &a->denial;
    decided(a, pod, "",
            &(struct vpa_ledger_entry){.decision = "refuse",
                                       .rule = "it requires a VPA",
                                       .why = "no VerticalPodAutoscaler matches it"});
}

/* A VPA that has the pod, but may not act on it; or nobody can tell whether there is one. */
static void explain_unmatched(struct admission *a, const struct vpa_pod *pod,
                              const struct vpa_error *owner_error)
{
    const struct vpa_object *vpa;
    struct vpa_error ignored;
    bool unknown;

    if (!a->options->explain || !a->response.allowed)
        return;
    if (owner_error->code != VPA_OK) {
        decided(a, pod, "",
                &(struct vpa_ledger_entry){.decision = ADMITTED_AS_IT_IS,
                                           .rule = "its owners cannot be followed",
                                           .why = owner_error->text});
        return;
    }
    vpa = admit_match(a->snapshot, VPA_MATCH_UPDATER, a->arena, pod, &unknown, &ignored);
    if (vpa)
        decided(
            a, pod, vpa->meta.name,
            &(struct vpa_ledger_entry){.decision = ADMITTED_AS_IT_IS, .rule = "update mode Off"});
}

/* A pod of a template has no name yet. */
static void complete_names(struct admission *a, struct vpa_pod *pod)
{
    if (pod->meta.name[0] == '\0') {
        pod->meta.name = vpa_arena_printf(a->arena, "%s%%", pod->meta.generate_name);
        pod->meta.ns = a->request.ns;
    }
    if (pod->meta.ns[0] == '\0')
        pod->meta.ns = a->request.ns;
}

static void note_pod(struct admission *a, const struct vpa_pod *pod)
{
    a->result->pod_ns = vpa_arena_printf(a->arena, "%.256s", pod->meta.ns);
    a->result->pod_name = vpa_arena_printf(a->arena, "%.256s", pod->meta.name);
}

/* An owner that is not in the caches is often on its way: pods follow their ReplicaSet within
 * milliseconds. Other errors stay. */
static void note_owner_error(struct admission *a, const struct vpa_pod *pod,
                             const struct vpa_error *err)
{
    if (err->code == VPA_OK)
        return;
    a->result->owner_error = vpa_arena_strdup(a->arena, err->text);
    a->result->owner_unknown = err->code == VPA_RETRY || err->code == VPA_NOT_FOUND;
    note_pod(a, pod);
}

/* What no API server sends. Whoever can reach the port can make us say so: the caller decides how
 * often. */
static void complain(struct admission *a, const char *message, const char *why)
{
    a->result->complaint = message;
    a->result->complaint_why = vpa_arena_strdup(a->arena, why);
}

static bool has_too_many(const struct vpa_json *pod, const char *path)
{
    return vpa_json_count(vpa_json_at(pod, path)) > ADMIT_CONTAINERS_MAX;
}

static int read_pod(struct admission *a, struct vpa_pod *pod, struct vpa_error *err)
{
    const struct vpa_json *object = a->request.object;

    if (!object)
        return vpa_fail(err, VPA_INVALID, "there is no object");
    if (has_too_many(object, "spec.containers") || has_too_many(object, "spec.initContainers"))
        return vpa_fail(err, VPA_LIMIT, "more than %d containers", ADMIT_CONTAINERS_MAX);
    if (vpa_pod_check_types(a->arena, object, err) < 0)
        return -1;
    return vpa_pod_decode(a->arena, object, pod, err);
}

/*
 * The VPA with what the recommender says now, when it is asked and has an answer; else the VPA with
 * what it has stored. The recommender looks at VPAs of every mode: where another one than ours
 * would answer, being stronger and Off, it is not asked.
 */
static const struct vpa_object *advise(struct admission *a, const struct vpa_pod *pod,
                                       const struct vpa_object *vpa, struct vpa_object *advised)
{
    struct vpa_error ignored;
    bool unknown;

    if (!a->options->adviser ||
        admit_match(a->snapshot, VPA_MATCH_UPDATER, a->arena, pod, &unknown, &ignored) != vpa)
        return vpa;
    *advised = *vpa;
    return adviser_ask(a->options->adviser, a->arena, pod->meta.ns, a->request.object,
                       &advised->recommendation)
               ? advised
               : vpa;
}

static void tell_failed_patch(struct admission *a, const struct vpa_patch_facts *facts,
                              const struct vpa_error *err)
{
    VPA_ERROR("Cannot calculate the patch of a pod, admitting it as it is", VPA_KERR(err),
              VPA_KV("namespace", facts->pod->meta.ns), VPA_KV("pod", facts->pod->meta.name),
              VPA_KV("vpa", facts->vpa->meta.name));
    a->result->calculation_error = vpa_arena_strdup(a->arena, err->text);
    decided_by(a, facts,
               &(struct vpa_ledger_entry){.decision = ADMITTED_AS_IT_IS,
                                          .rule = "the patch cannot be calculated",
                                          .why = err->text});
}

/* change: old and new values and what they follow from, as the updater's lines have them. */
static void tell_patch(struct admission *a, const struct vpa_patch_facts *facts, const char *change)
{
    const char *rule = facts->advised ? "recommended on request" : "recommended";

    VPA_V(PATCH_LEVEL, "Patching pod", VPA_KV("namespace", facts->pod->meta.ns),
          VPA_KV("pod", facts->pod->meta.name), VPA_KV("vpa", facts->vpa->meta.name),
          VPA_KV("change", change), VPA_KV("reason", rule));
    decided_by(a, facts,
               &(struct vpa_ledger_entry){.decision = "patch", .rule = rule, .why = change});
}

/* The patch by the VPA that governs the pod. */
static void patch_pod(struct admission *a, struct vpa_pod *pod, const struct vpa_object *vpa,
                      bool advised)
{
    vpa_auto_buf words = VPA_BUF(VPA_REASON_MAX);
    struct vpa_reason_phrases changes = {.out = &words, .pod = pod};
    const struct vpa_pod_patch_options options = {
        .startup_boost = a->options->startup_boost,
        .max_cpu_boost = a->options->max_cpu_boost,
        .on_unusable_boost = note_unusable_boost,
        .ctx = a,
        .changes = a->options->explain || vpa_log_enabled(PATCH_LEVEL, __FILE__) ? &changes : NULL,
    };
    struct vpa_patch_facts facts = {
        .review = a->request.uid,
        .pod = pod,
        .vpa = vpa,
        .advised = advised,
        .limits = snapshot_limits(a->snapshot, pod->meta.ns),
        .options = &options,
    };
    struct vpa_error err;

    vpa_buf_reserve(&a->patch, USUAL_LEN);
    int failed = vpa_pod_patch(a->arena, pod, vpa, facts.limits, &options, &a->patch, &err);
    if (a->result->unusable_boosts)
        note_pod(a, pod);
    if (failed == 0 && vpa_buf_failed(&a->patch))
        failed = vpa_fail(&err, VPA_LIMIT, "the patch would be longer than %zu bytes", PATCH_MAX);
    if (failed < 0) {
        tell_failed_patch(a, &facts, &err);
        return;
    }
    a->response.patch = vpa_buf_text(&a->patch);
    a->response.patch_len = a->patch.len;
    a->result->status = ADMIT_APPLIED;
    facts.before = changes.left_out > 0;
    tell_patch(a, &facts, vpa_buf_text(&words));
}

static void explain_panic(struct admission *a, const struct vpa_pod *pod)
{
    struct vpa_error ignored;
    bool unknown;
    const struct vpa_object *vpa =
        a->options->explain
            ? admit_match(a->snapshot, VPA_MATCH_WEBHOOK, a->arena, pod, &unknown, &ignored)
            : NULL;

    if (vpa)
        decided(a, pod, vpa->meta.name,
                &(struct vpa_ledger_entry){.decision = ADMITTED_AS_IT_IS,
                                           .rule = "panic",
                                           .why = "ConfigMap vpa-panic exists"});
}

static void explain_unknown(struct admission *a, const struct vpa_pod *pod)
{
    VPA_V(2, "A VPA that cannot be read may control this pod, admitting it as it is",
          VPA_KV("namespace", pod->meta.ns), VPA_KV("pod", pod->meta.name));
    decided(a, pod, "",
            &(struct vpa_ledger_entry){.decision = ADMITTED_AS_IT_IS,
                                       .rule = "a VPA that cannot be read may govern it"});
}

static void admit_pod(struct admission *a)
{
    struct vpa_error err;
    struct vpa_object advised;
    struct vpa_pod pod;
    bool unknown;

    a->result->resource = ADMIT_POD;
    a->result->status = ADMIT_SKIPPED;
    if (strcmp(a->request.version, "v1") != 0) {
        complain(a, "Expected the resource v1 pods", a->request.version);
        return;
    }
    if (read_pod(a, &pod, &err) < 0) {
        vpa_wrap(&err, "%s/%s", a->request.ns, a->request.name);
        complain(a, "Cannot read pod", err.text);
        return;
    }
    complete_names(a, &pod);
    if (snapshot_is_panic(a->snapshot)) {
        explain_panic(a, &pod);
        return;
    }

    const struct vpa_object *vpa =
        admit_match(a->snapshot, VPA_MATCH_WEBHOOK, a->arena, &pod, &unknown, &err);
    note_owner_error(a, &pod, &err);
    if (unknown) {
        explain_unknown(a, &pod);
        return;
    }
    if (!vpa) {
        refuse_unmatched(a, &pod);
        explain_unmatched(a, &pod, &err);
        return;
    }

    const struct vpa_object *newest = advise(a, &pod, vpa, &advised);

    patch_pod(a, &pod, newest, newest != vpa);
}

/* ---- VPA objects ---- */

static void admit_vpa(struct admission *a)
{
    struct vpa_validation *found = vpa_arena_zalloc(a->arena, sizeof(*found));

    vpa_validate_review(a->arena, &a->request, &a->options->validate, found);
    a->response.allowed = found->allowed;
    a->response.status = found->allowed ? NULL : &found->status;
    a->response.warnings = found->warnings;
    a->response.warning_count = found->warning_count;
    if (found->patch) {
        a->response.patch = found->patch;
        a->response.patch_len = strlen(found->patch);
    }
    a->result->resource = ADMIT_VPA;
    a->result->status = found->patch ? ADMIT_APPLIED : ADMIT_SKIPPED;
    if (a->options->explain && !found->allowed)
        a->result->entry = (struct vpa_ledger_entry){.ns = a->request.ns,
                                                     .vpa = a->request.name,
                                                     .decision = "refuse",
                                                     .rule = "an invalid VerticalPodAutoscaler",
                                                     .why = found->status.message};
}

/* ---- reviews ---- */

static int read_review(struct admission *a, const char *body, size_t len, struct vpa_error *err)
{
    const struct vpa_json *root;

    if (vpa_json_parse_folded(a->arena, body, len, &root, err) < 0)
        return -1;
    return vpa_review_decode(root, &a->request, err);
}

/* Of a review that is only more than we read: an answer without its uid would be none. */
static const char *peek_uid(struct vpa_arena *arena, const char *body, size_t len)
{
    const char *uid = vpa_json_peek(arena, body, len, "request.uid");

    return uid && strlen(uid) <= VPA_REVIEW_UID_MAX ? uid : "";
}

/* Beside another installation: says what the answer would be, and gives none. The counts stay those
 * of what would have been. */
static void only_look(struct admission *a)
{
    struct vpa_review_response *r = &a->response;

    if (r->patch && r->patch_len > 0)
        VPA_V(
            1, "Shadow: would patch", VPA_KV("resource", a->request.resource),
            VPA_KV("namespace", a->request.ns), VPA_KV("name", a->request.name),
            VPA_KV("change", vpa_or_empty(a->result->entry.why)),
            VPA_KV("patch", vpa_arena_strndup(a->arena, r->patch,
                                              r->patch_len < SHADOW_PATCH_MAX ? r->patch_len
                                                                              : SHADOW_PATCH_MAX)));
    if (!r->allowed)
        VPA_V(1, "Shadow: would refuse", VPA_KV("resource", a->request.resource),
              VPA_KV("namespace", a->request.ns), VPA_KV("name", a->request.name),
              VPA_KV("reason", r->status ? r->status->message : ""));
    *r = (struct vpa_review_response){.uid = r->uid, .allowed = true};
    if (a->result->entry.decision)
        a->result->entry.decision =
            vpa_arena_printf(a->arena, "would %s", a->result->entry.decision);
}

void admit(const struct snapshot *snapshot, const struct admit_options *options,
           struct vpa_arena *arena, const char *body, size_t len, struct vpa_buf *out,
           struct admit_result *result)
{
    struct admission a = {
        .snapshot = snapshot,
        .options = options,
        .arena = arena,
        .result = result,
        .response = {.uid = "", .allowed = true},
    };
    struct vpa_error err;

    *result = (struct admit_result){.resource = ADMIT_UNKNOWN, .status = ADMIT_ERROR};
    vpa_buf_init(&a.patch, PATCH_MAX);
    vpa_buf_reserve(out, USUAL_LEN);
    if (read_review(&a, body, len, &err) < 0) {
        if (err.code == VPA_LIMIT)
            a.response.uid = peek_uid(arena, body, len);
        complain(&a, "Cannot read the admission review", err.text);
    } else {
        const char *group = a.request.group;
        const char *resource = a.request.resource;
        a.response.uid = a.request.uid;
        if (group[0] == '\0' && strcmp(resource, "pods") == 0)
            admit_pod(&a);
        else if (strcmp(group, VPA_GROUP) == 0 && strcmp(resource, "verticalpodautoscalers") == 0)
            admit_vpa(&a);
        else
            complain(&a, "not supported resource type",
                     vpa_arena_printf(arena, "%.100s/%.100s", group, resource));
    }
    if (options->shadow)
        only_look(&a);
    if (a.request.dry_run) /* there will be no such pod or VPA */
        result->entry = (struct vpa_ledger_entry){0};
    vpa_review_encode(out, &a.response);
    vpa_buf_release(&a.patch);
}
