/* A condition of ours on a VPA. */
#include "condition.h"

#include <stdlib.h>
#include <string.h>

#include "note.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"

#define PATCH_MAX 8192
/* How long a refusal is believed: an API server that has just started refuses everybody. */
#define REFUSAL_AGE (10 * VPA_MINUTE)
/* Of one round: the rest follows in the next pass. */
#define PATCHES_MAX 50
#define SHARE_OF_INTERVAL 4
/* How long one patch may take, with its wait for the rate limit, where an interval is long. */
#define PATCH_PATIENCE (5 * VPA_SECOND)

int64_t updater_condition_find(const struct vpa_object *vpa, const char *type)
{
    for (size_t i = vpa->condition_count; i > 0; i--) {
        if (vpa_str_eq(vpa->conditions[i - 1].type, type))
            return (int64_t)i - 1;
    }
    return -1;
}

bool updater_condition_is(const struct vpa_object *vpa, const char *type,
                          const struct vpa_condition *wanted)
{
    int64_t at = updater_condition_find(vpa, type);
    const struct vpa_condition *c = at < 0 ? NULL : &vpa->conditions[at];

    if (!wanted || !c)
        return !wanted && !c;
    return vpa_str_eq(c->status, "True") && vpa_str_eq(c->message, wanted->message);
}

/* ---- refusals ---- */

/* In this round one of its namespace has failed, or it was refused a short while ago. */
static bool has_to_wait(const struct condition_round *round, const struct vpa_object *vpa)
{
    const struct pass_env *env = round->pass->env;

    if (vpa_str_is_in(vpa->meta.ns, round->failed, round->failures))
        return true;

    const struct vpa_note *note = updater_note_find(env, vpa);

    return note && note->refused && vpa_loop_monotonic(env->loop) - note->refused_at < REFUSAL_AGE;
}

static bool is_told(const struct pass_env *env, const char *ns)
{
    vpa_auto_free char *prefix = vpa_xjoin(ns, '/', "");
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&env->notes, &i, &key, &value);) {
        const struct vpa_note *note = value;

        if (note->refused && strncmp(key, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

/* ---- a round ---- */

static vpa_duration share_of(const struct pass *pass)
{
    return pass->env->config->interval / SHARE_OF_INTERVAL;
}

struct condition_round updater_round(struct pass *pass, size_t *from, size_t count)
{
    int64_t until = vpa_loop_monotonic(pass->env->loop) + share_of(pass);

    return (struct condition_round){.pass = pass,
                                    .from = from,
                                    .first = *from,
                                    .count = count,
                                    .until = until < pass->deadline ? until : pass->deadline};
}

size_t updater_round_at(struct condition_round *round, size_t k)
{
    round->at = (round->first + k) % round->count;
    return round->at;
}

bool updater_round_may_put(const struct condition_round *round)
{
    const struct pass *pass = round->pass;

    if (round->over || round->sent >= PATCHES_MAX || updater_env_is_stopped(pass->env))
        return false;
    return round->sent == 0 || vpa_loop_monotonic(pass->env->loop) < round->until;
}

/* ---- a patch ---- */

static void put_condition(struct vpa_json_writer *w, const struct vpa_condition *c)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "type", c->type);
    vpa_json_member_string(w, "status", "True");
    vpa_json_member_time(w, "lastTransitionTime", c->last_transition);
    vpa_json_member_string(w, "reason", c->reason);
    vpa_json_member_string(w, "message", c->message);
    vpa_json_close_object(w);
}

static void put_first(struct vpa_json_writer *w, const struct vpa_condition *wanted)
{
    vpa_json_open_array(w);
    put_condition(w, wanted);
    vpa_json_close_array(w);
}

/* The first condition, where there may be no status either: a patch makes no parents. */
static void add_first(struct vpa_json_patch *patch, const struct vpa_object *vpa,
                      const struct vpa_condition *wanted)
{
    if (vpa->has_status) {
        put_first(vpa_json_patch_op(patch, VPA_PATCH_ADD, "/status/conditions"), wanted);
        return;
    }

    struct vpa_json_writer *w = vpa_json_patch_op(patch, VPA_PATCH_ADD, "/status");

    vpa_json_open_object(w);
    vpa_json_key(w, "conditions");
    put_first(w, wanted);
    vpa_json_close_object(w);
}

/* One operation that puts the condition right. */
static void put_operation(struct vpa_json_patch *patch, const struct vpa_object *vpa,
                          const char *type, const struct vpa_condition *wanted)
{
    int64_t at = updater_condition_find(vpa, type);
    enum vpa_patch_op op = !wanted ? VPA_PATCH_REMOVE : at >= 0 ? VPA_PATCH_REPLACE : VPA_PATCH_ADD;
    vpa_auto_free char *path = at >= 0 ? vpa_xprintf("/status/conditions/%lld", (long long)at)
                                       : vpa_xstrdup("/status/conditions/-");

    if (wanted && vpa->condition_count == 0)
        add_first(patch, vpa, wanted);
    else if (wanted)
        put_condition(vpa_json_patch_op(patch, op, path), wanted);
    else
        vpa_json_put_null(vpa_json_patch_op(patch, op, path));
    vpa_json_patch_end_op(patch);
}

/* By a missing right, by a policy, which may give any code, or by the schema. */
static bool is_refusal(const struct vpa_error *err)
{
    return err->code == VPA_DENIED || err->code == VPA_INVALID || err->code == VPA_CONFLICT;
}

/* In that namespace or everywhere, for lack of a right, or for that VPA: nobody can tell. */
static void on_refused(struct pass_env *env, const struct vpa_object *vpa,
                       const struct vpa_error *err)
{
    if (!is_told(env, vpa->meta.ns))
        VPA_WARN("The API server refuses to have a condition written: in that namespace events, "
                 "ledger and this log tell why updates do not come",
                 VPA_KERR(err), VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name));

    struct vpa_note *note = updater_note_of(env, vpa);

    note->refused = true;
    note->refused_at = vpa_loop_monotonic(env->loop);
}

static void on_failed(struct condition_round *round, const struct vpa_object *vpa,
                      const struct vpa_kube_result *result, const struct vpa_error *err)
{
    *round->from = round->at + 1;
    if (vpa_kube_is_stale(result)) /* the next pass sees the newer version */
        return;
    if (is_refusal(err))
        on_refused(round->pass->env, vpa, err);
    else
        VPA_WARN_UNLESS_TOLD(err, "Cannot write a condition", VPA_KERR(err),
                             VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name));
    if (err->code == VPA_NOT_FOUND) /* it is gone, which says nothing about others */
        return;
    round->failed[round->failures++] = vpa->meta.ns;
    round->over = round->failures == VPA_COUNT(round->failed);
}

/* True: it is written, or may be. */
static bool send_patch(struct condition_round *round, const struct vpa_object *vpa,
                       const struct vpa_buf *body)
{
    vpa_duration share = share_of(round->pass);
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result = {0};
    struct vpa_error err;

    vpa_kube_path(&path, VPA_GROUP_VERSION, vpa->meta.ns, "verticalpodautoscalers", vpa->meta.name,
                  "status");
    round->sent++;
    if (vpa_kube_do(
            round->pass->env->client,
            &(struct vpa_kube_call){.verb = VPA_KUBE_PATCH_JSON,
                                    .path = vpa_buf_text(&path),
                                    .body = body->data,
                                    .body_len = body->len,
                                    .max_age = share < PATCH_PATIENCE ? share : PATCH_PATIENCE,
                                    .no_retry = true},
            &arena, &result, &err) < 0) {
        on_failed(round, vpa, &result, &err);
        return result.unanswered;
    }

    struct vpa_note *note = updater_note_find(round->pass->env, vpa);

    if (note)
        note->refused = false;
    return true;
}

bool updater_condition_put(struct condition_round *round, const struct vpa_object *vpa,
                           const char *type, const struct vpa_condition *wanted)
{
    struct vpa_json_patch patch;
    vpa_auto_buf body = VPA_BUF(PATCH_MAX);

    if (has_to_wait(round, vpa))
        return false;
    vpa_json_patch_begin(&patch, &body);
    vpa_json_put_string(vpa_json_patch_op(&patch, VPA_PATCH_TEST, "/metadata/resourceVersion"),
                        vpa->meta.resource_version);
    vpa_json_patch_end_op(&patch);
    put_operation(&patch, vpa, type, wanted);
    vpa_json_patch_end(&patch);
    return send_patch(round, vpa, &body);
}
