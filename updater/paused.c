/* Conditions that say why nothing happens. */
#include "paused.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

/* Behind it the message tells when it is tried again. */
#define AGAIN "; tried again with one pod at "
#define MESSAGE_MAX 1024
#define SEEN_TOLD ((size_t)900)

static const struct {
    enum vpa_proof_way way;
    const char *type;
} types[] = {{VPA_PROOF_EVICTION, PAUSED_EVICTIONS}, {VPA_PROOF_RESIZE, PAUSED_RESIZES}};

/* Whole letters only: what a server made of others would never be the same as ours. */
static void put_letters(struct vpa_buf *out, const char *text, size_t max)
{
    size_t len;

    for (const char *p = text; *p; p += len ? len : 1) {
        uint32_t rune;

        len = vpa_utf8_decode(p, &rune);
        if (out->len + len > max)
            return;
        vpa_buf_append(out, p, len);
    }
}

char *updater_paused_message(const struct vpa_breaker *breaker)
{
    char retry[VPA_TIME_TEXT_MAX];
    struct vpa_buf message;

    vpa_time_format(breaker->retry_at, retry);
    vpa_buf_init(&message, MESSAGE_MAX);
    put_letters(&message, vpa_or_empty(breaker->seen), SEEN_TOLD);
    vpa_buf_printf(&message, AGAIN "%s", retry);
    return vpa_buf_take(&message);
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

/* A text that was seen may be like ours: the last one counts. */
static const char *find_again(const char *message)
{
    const char *found = NULL;

    for (const char *at = message; (at = strstr(at, AGAIN)); at++)
        found = at;
    return found;
}

static void restore(struct vpa_proof *proof, enum vpa_proof_way way, const struct vpa_condition *c,
                    const char *key, vpa_time now)
{
    const char *message = vpa_or_empty(c->message);
    const char *again = find_again(message);
    vpa_auto_free char *seen =
        vpa_xstrndup(message, again ? (size_t)(again - message) : strlen(message));
    struct vpa_pause pause = {.verdict = verdict_named(c->reason),
                              .seen = seen,
                              .opened =
                                  vpa_time_is_unset(c->last_transition) ? now : c->last_transition,
                              .retry = VPA_TIME_UNSET};
    struct vpa_error err;

    if (again && vpa_time_parse(again + strlen(AGAIN), &pause.retry, &err) < 0)
        pause.retry = VPA_TIME_UNSET;
    vpa_proof_restore(proof, key, way, &pause, now);
}

void updater_paused_restore(struct vpa_proof *proof, const struct vpa_object *vpa, const char *key,
                            vpa_time now)
{
    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        int64_t at = updater_condition_find(vpa, types[i].type);

        if (at >= 0 && vpa_str_eq(vpa->conditions[at].status, "True"))
            restore(proof, types[i].way, &vpa->conditions[at], key, now);
    }
}

/* ---- publishing ---- */

bool updater_paused_is_told(const struct vpa_object *vpa)
{
    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        if (updater_condition_find(vpa, types[i].type) >= 0)
            return true;
    }
    return false;
}

bool updater_paused_put_right(struct condition_round *round, const struct vpa_proof *proof,
                              const struct vpa_object *vpa, const char *key)
{
    for (size_t i = 0; i < VPA_COUNT(types); i++) {
        const struct vpa_breaker *breaker =
            proof ? vpa_proof_breaker(proof, key, types[i].way) : NULL;
        vpa_auto_free char *message = breaker ? updater_paused_message(breaker) : NULL;
        struct vpa_condition wanted = {.type = types[i].type, .message = message};

        if (breaker) {
            wanted.reason = vpa_verdict_name(breaker->verdict);
            wanted.last_transition = breaker->opened;
        }
        if (updater_condition_is(vpa, types[i].type, breaker ? &wanted : NULL))
            continue;
        /* The next one rests on another version. */
        return updater_condition_put(round, vpa, types[i].type, breaker ? &wanted : NULL);
    }
    return false;
}
