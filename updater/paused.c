/* Conditions that say why nothing happens. */
#include "paused.h"

#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

/* Behind it the message tells when it is tried again. */
#define AGAIN "; tried again with one pod at "
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
        int64_t at = updater_condition_find(vpa, types[i].type);
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

/* True when something was sent. */
static bool put_right(struct pass_env *env, const struct vpa_proof *proof,
                      const struct vpa_object *vpa)
{
    vpa_auto_free char *key = vpa_xjoin(vpa->meta.ns, '/', vpa->meta.name);

    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        const struct vpa_breaker *breaker = vpa_proof_breaker(proof, key, types[i].way);
        vpa_auto_free char *message = breaker ? updater_paused_message(breaker) : NULL;
        struct vpa_condition wanted = {.type = types[i].type, .message = message};

        if (breaker) {
            wanted.reason = vpa_verdict_name(breaker->verdict);
            wanted.last_transition = breaker->opened;
        }
        if (updater_condition_is(vpa, types[i].type, breaker ? &wanted : NULL))
            continue;
        updater_condition_put(env, vpa, types[i].type, breaker ? &wanted : NULL);
        return true; /* the next one rests on another version */
    }
    return false;
}

size_t updater_paused_publish(struct pass *pass, const struct vpa_proof *proof,
                              const struct selection *selection)
{
    struct pass_env *env = pass->env;
    size_t sent = 0;

    if (!updater_condition_may_put(env))
        return 0;
    for (size_t i = 0; i < selection->count && sent < PATCHES_MAX; i++) {
        if (updater_pass_is_stopped(pass))
            break;
        sent += put_right(env, proof, selection->items[i].vpa);
    }
    return sent;
}
