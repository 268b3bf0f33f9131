/* Conditions that say why nothing happens. */
#include "paused.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"

#define PATCH_MAX 8192
/* Behind it the message tells when it is tried again. */
#define AGAIN "; tried again with one pod at "
/* How long a refusal is believed. */
#define DENIED_AGE VPA_HOUR
/* Patches of one pass: the rest follows in the next. */
#define PATCHES_MAX 50

static const struct {
    enum vpa_proof_way way;
    const char *type;
} types[] = {{VPA_PROOF_EVICTION, PAUSED_EVICTIONS}, {VPA_PROOF_RESIZE, PAUSED_RESIZES}};

char *updater_paused_message(const struct vpa_breaker *breaker)
{
    char text[VPA_TIME_TEXT_MAX];

    vpa_time_format(breaker->retry_at, text);
    return vpa_xprintf("%.900s" AGAIN "%s", vpa_or_empty(breaker->seen), text);
}

/* Index of the last condition of the type, -1 without. */
static int64_t find_condition(const struct vpa_object *vpa, const char *type)
{
    for (size_t i = vpa->condition_count; i > 0; i--) {
        if (vpa_str_eq(vpa->conditions[i - 1].type, type))
            return (int64_t)i - 1;
    }
    return -1;
}

/* ---- restoring ---- */

static enum vpa_verdict verdict_named(const char *name)
{
    for (int v = VPA_VERDICT_NOT_PATCHED; v <= VPA_VERDICT_NOT_RESIZED; v++) {
        if (vpa_str_eq(vpa_verdict_name((enum vpa_verdict)v), name))
            return (enum vpa_verdict)v;
    }
    return VPA_VERDICT_NOT_PATCHED;
}

bool updater_paused_restore(struct vpa_proof *proof, const struct vpa_object *vpa, const char *key,
                            vpa_time now)
{
    bool any = false;

    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        int64_t at = find_condition(vpa, types[i].type);
        const struct vpa_condition *c = at < 0 ? NULL : &vpa->conditions[at];

        if (!c || !vpa_str_eq(c->status, "True"))
            continue;

        const char *message = vpa_or_empty(c->message);
        const char *again = strstr(message, AGAIN);
        vpa_auto_free char *seen =
            vpa_xstrndup(message, again ? (size_t)(again - message) : strlen(message));

        vpa_proof_restore(proof, key, types[i].way, verdict_named(c->reason), seen,
                          vpa_time_is_unset(c->last_transition) ? now : c->last_transition, now);
        any = true;
    }
    return any;
}

/* ---- publishing ---- */

static void put_condition(struct vpa_json_writer *w, const char *type,
                          const struct vpa_breaker *breaker, const char *message)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "type", type);
    vpa_json_member_string(w, "status", "True");
    vpa_json_key(w, "lastTransitionTime");
    vpa_json_put_time(w, breaker->opened);
    vpa_json_member_string(w, "reason", vpa_verdict_name(breaker->verdict));
    vpa_json_member_string(w, "message", message);
    vpa_json_close_object(w);
}

/* One operation that puts the condition right. */
static void put_operation(struct vpa_json_patch *patch, const struct vpa_object *vpa, int64_t at,
                          const char *type, const struct vpa_breaker *breaker)
{
    enum vpa_patch_op op = !breaker  ? VPA_PATCH_REMOVE
                           : at >= 0 ? VPA_PATCH_REPLACE
                                     : VPA_PATCH_ADD;
    vpa_auto_free char *message = breaker ? updater_paused_message(breaker) : NULL;
    vpa_auto_free char *path =
        at >= 0 ? vpa_xprintf("/status/conditions/%lld", (long long)at)
                : vpa_xstrdup(vpa->condition_count ? "/status/conditions/-" : "/status/conditions");
    struct vpa_json_writer *w = vpa_json_patch_op(patch, op, path);

    if (!breaker) {
        vpa_json_put_null(w);
    } else if (at < 0 && vpa->condition_count == 0) {
        vpa_json_open_array(w);
        put_condition(w, type, breaker, message);
        vpa_json_close_array(w);
    } else {
        put_condition(w, type, breaker, message);
    }
    vpa_json_patch_end_op(patch);
}

static bool is_right(const struct vpa_object *vpa, int64_t at, const struct vpa_breaker *breaker)
{
    const struct vpa_condition *c = at < 0 ? NULL : &vpa->conditions[at];

    if (!breaker)
        return !c;

    vpa_auto_free char *message = updater_paused_message(breaker);

    return c && vpa_str_eq(c->status, "True") && vpa_str_eq(c->message, message);
}

static void on_patched(struct pass_env *env, const struct vpa_object *vpa,
                       const struct vpa_error *err)
{
    if (err->code == VPA_DENIED) {
        if (env->status_denied_at == 0)
            VPA_WARN("No right to patch verticalpodautoscalers/status: conditions do not tell of "
                     "paused updates, events and this log do",
                     VPA_KERR(err));
        env->status_denied_at = vpa_loop_monotonic(env->loop);
    } else if (err->code != VPA_CONFLICT &&
               err->code != VPA_INVALID) { /* a newer version is there */
        VPA_WARN_UNLESS_TOLD(err, "Cannot write a condition", VPA_KERR(err),
                             VPA_KV("namespace", vpa->meta.ns), VPA_KV("vpa", vpa->meta.name));
    }
}

static void send_patch(struct pass_env *env, const struct vpa_object *vpa,
                       const struct vpa_buf *body)
{
    vpa_auto_buf path = {0};
    struct vpa_error err;

    vpa_buf_init(&path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(&path, VPA_GROUP_VERSION, vpa->meta.ns, "verticalpodautoscalers", vpa->meta.name,
                  "status");
    if (vpa_kube_do(env->client,
                    &(struct vpa_kube_call){.verb = VPA_KUBE_PATCH_JSON,
                                            .path = vpa_buf_text(&path),
                                            .body = body->data,
                                            .body_len = body->len,
                                            .no_retry = true},
                    NULL, NULL, &err) < 0)
        on_patched(env, vpa, &err);
}

/* True when something was sent. */
static bool put_right(struct pass_env *env, const struct vpa_proof *proof,
                      const struct vpa_object *vpa)
{
    vpa_auto_free char *key = vpa_xjoin(vpa->meta.ns, '/', vpa->meta.name);
    struct vpa_json_patch patch;
    vpa_auto_buf body = {0};

    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        const struct vpa_breaker *breaker = vpa_proof_breaker(proof, key, types[i].way);
        int64_t at = find_condition(vpa, types[i].type);

        if (is_right(vpa, at, breaker))
            continue;
        vpa_buf_init(&body, PATCH_MAX);
        vpa_json_patch_begin(&patch, &body);
        vpa_json_put_string(vpa_json_patch_op(&patch, VPA_PATCH_TEST, "/metadata/resourceVersion"),
                            vpa->meta.resource_version);
        vpa_json_patch_end_op(&patch);
        put_operation(&patch, vpa, at, types[i].type, breaker);
        vpa_json_patch_end(&patch);
        send_patch(env, vpa, &body);
        return true; /* the next one rests on another version */
    }
    return false;
}

size_t updater_paused_publish(struct pass *pass, const struct vpa_proof *proof,
                              const struct selection *selection)
{
    struct pass_env *env = pass->env;
    int64_t now = vpa_loop_monotonic(env->loop);
    size_t sent = 0;

    if (env->status_denied_at && now - env->status_denied_at < DENIED_AGE)
        return 0;
    for (size_t i = 0; i < selection->count && sent < PATCHES_MAX; i++) {
        if (updater_pass_is_stopped(pass))
            break;
        sent += put_right(env, proof, selection->items[i].vpa);
    }
    return sent;
}
