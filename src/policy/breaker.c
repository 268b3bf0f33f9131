#include "breaker.h"

#include "vpa/base/mem.h"

const char *vpa_verdict_name(enum vpa_verdict verdict)
{
    static const char *const names[] = {
        "Waiting",       "Good",          "Void",     "NotPatched", "PatchedBack",
        "NoReplacement", "Unschedulable", "Crashing", "NotReady",   "NotResized"};

    return names[verdict];
}

bool verdict_lacks_values(enum vpa_verdict verdict)
{
    return verdict == VPA_VERDICT_NOT_PATCHED || verdict == VPA_VERDICT_PATCHED_BACK;
}

bool verdict_shows_values(enum vpa_verdict verdict)
{
    return verdict == VPA_VERDICT_GOOD || verdict == VPA_VERDICT_UNSCHEDULABLE ||
           verdict == VPA_VERDICT_CRASHING || verdict == VPA_VERDICT_NOT_READY;
}

bool breaker_within(vpa_time now, vpa_time since, vpa_duration span)
{
    return now >= since && vpa_time_sub(now, since) < span;
}

/* ---- one breaker ---- */

void breaker_open(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen, vpa_time now)
{
    vpa_duration pause = b->pause ? 2 * b->pause : VPA_PAUSE_FIRST;

    if (!b->open)
        b->opened = now;
    b->open = true;
    b->trial = false;
    b->pause = pause < VPA_PAUSE_LONGEST ? pause : VPA_PAUSE_LONGEST;
    b->retry_at = vpa_time_add(now, b->pause);
    breaker_note(b, verdict, seen);
}

void breaker_note(struct vpa_breaker *b, enum vpa_verdict verdict, const char *seen)
{
    if (verdict == VPA_VERDICT_NOT_RESIZED && verdict_shows_values(b->verdict))
        return;
    b->verdict = verdict;
    vpa_replace_text(&b->seen, seen);
}

void breaker_close(struct vpa_breaker *b)
{
    vpa_replace_text(&b->seen, NULL);
    *b = (struct vpa_breaker){.open = false};
}

/* No pause has more left than it is long: then the clock was ahead when it began. */
static bool is_paused(const struct vpa_breaker *b, vpa_time until, vpa_time now)
{
    return now < until && vpa_time_sub(b->retry_at, now) <= b->pause;
}

enum vpa_proof_permit breaker_permit(const struct vpa_breaker *b, enum vpa_proof_permit paused,
                                     vpa_time now)
{
    if (!b->open)
        return VPA_PERMIT_FREE;
    if (is_paused(b, b->retry_at, now))
        return paused;
    return b->trial ? VPA_PERMIT_WAITING : VPA_PERMIT_FIRST;
}

vpa_duration breaker_pause_of(vpa_duration left)
{
    vpa_duration pause = VPA_PAUSE_FIRST;

    while (pause < left)
        pause *= 2;
    return pause < VPA_PAUSE_LONGEST ? pause : VPA_PAUSE_LONGEST;
}

/* ---- a scope ---- */

void scope_init(struct scope *scope)
{
    *scope = (struct scope){.row = 1};
}

void scope_release(struct scope *scope)
{
    breaker_close(&scope->breaker);
}

enum vpa_proof_permit scope_permit(const struct scope *scope, vpa_duration later,
                                   enum vpa_proof_permit paused, vpa_time now)
{
    const struct vpa_breaker *b = &scope->breaker;

    if (!b->open)
        return VPA_PERMIT_FREE;
    if (is_paused(b, vpa_time_add(b->retry_at, later), now))
        return paused;
    /* A pod that takes hours to end is not waited for. */
    return b->trial && breaker_within(now, scope->tried, VPA_PAUSE_FIRST) ? VPA_PERMIT_WAITING
                                                                          : VPA_PERMIT_FIRST;
}

bool scope_is_due(const struct scope *scope, vpa_time now)
{
    return scope->breaker.open && vpa_permit_given(scope_permit(scope, 0, VPA_PERMIT_PAUSED, now));
}

void scope_try(struct scope *scope, vpa_time now)
{
    scope->breaker.trial = true;
    scope->tried = now;
}

void scope_failed(struct scope *scope, unsigned *member, bool trial, enum vpa_verdict verdict,
                  const char *seen, vpa_time now)
{
    if (*member != scope->row) {
        *member = scope->row;
        scope->row_count++;
    }
    if (scope->breaker.open ? trial : scope->row_count >= VPA_PROOF_ROW)
        breaker_open(&scope->breaker, verdict, seen, now);
}

void scope_forgive(struct scope *scope, unsigned *member)
{
    if (*member != scope->row)
        return;
    *member = 0;
    scope->row_count--;
}

void scope_helped(struct scope *scope)
{
    breaker_close(&scope->breaker);
    scope->row++;
    scope->row_count = 0;
}

/* ---- who goes first in the cluster ---- */

vpa_duration helpers_first(const struct helpers *helpers, const struct helper *helper, bool fails)
{
    bool helps = helper && helper->helped && !fails;
    bool any_helps = helpers->count > helpers->failing;

    return (fails ? VPA_PAUSE_FIRST : 0) + (any_helps && !helps ? VPA_PAUSE_FIRST : 0);
}

void helpers_failed(struct helpers *helpers, const struct helper *helper)
{
    helpers->failing += helper->helped;
}

void helpers_helped(struct helpers *helpers, struct helper *helper, vpa_time now)
{
    helpers->count += !helper->helped;
    *helper = (struct helper){.helped = true, .at = now};
}

void helpers_forget(struct helpers *helpers, struct helper *helper, bool fails, vpa_time now)
{
    if (!helper->helped || breaker_within(now, helper->at, VPA_PAUSE_LONGEST))
        return;
    helper->helped = false;
    helpers->count--;
    helpers->failing -= fails;
}
