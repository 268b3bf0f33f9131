/* What is kept of breakers and proofs: restoring, resetting, sweeping, and which one is newest. */
#include <check.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/proof.h"

static struct vpa_proof *proof;
static const vpa_time start = 1000 * VPA_HOUR;

static void setup(void)
{
    proof = vpa_proof_new(VPA_MINUTE);
}

static void teardown(void)
{
    vpa_proof_free(proof);
    vpa_proof_free(NULL);
}

static struct vpa_proof_id id(const char *vpa, enum vpa_proof_way way)
{
    return (struct vpa_proof_id){vpa, "g", way, vpa_proof_start(proof)};
}

static enum vpa_proof_permit ask(const char *vpa, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, VPA_PROOF_EVICTION);

    return vpa_proof_ask(proof, &i, now);
}

static void sent(const char *vpa, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, VPA_PROOF_EVICTION);

    ck_assert(vpa_proof_sent(proof, &i, now));
}

static void judge(const char *vpa, enum vpa_proof_way way, enum vpa_verdict verdict, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, way);

    (void)vpa_proof_judge(proof, &i, verdict, "what was seen", now);
}

static bool everybody(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return true;
}

static bool nobody(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return false;
}

static bool only_other(void *ctx, const char *vpa)
{
    (void)ctx;
    return vpa_str_eq(vpa, "n/other");
}

/* ---- resets ---- */

/* Whatever way it was that did not help. */
TEST_TIMES(a_reset_is_of_both_ways, 2) {
    enum vpa_proof_way way = _i == 0 ? VPA_PROOF_EVICTION : VPA_PROOF_RESIZE;

    judge("n/v", way, VPA_VERDICT_NOT_PATCHED, start);
    ck_assert_ptr_nonnull(vpa_proof_breaker(proof, "n/v", way));
    ck_assert(vpa_proof_reset(proof, "n/v"));
    ck_assert_ptr_null(vpa_proof_breaker(proof, "n/v", way));
    ck_assert(!vpa_proof_reset(proof, "n/v"));
    ck_assert(!vpa_proof_reset(proof, "n/unheard-of"));
}

/* Nothing is proven behind it: whoever was waited for is waited for no more. */
TEST(a_reset_forgets_who_was_sent) {
    sent("n/v", start);
    ck_assert_int_eq(ask("n/v", start), VPA_PERMIT_WAITING);
    ck_assert(!vpa_proof_reset(proof, "n/v")); /* nothing was paused */
    ck_assert_int_eq(ask("n/v", start), VPA_PERMIT_FIRST);
    judge("n/v", VPA_PROOF_EVICTION, VPA_VERDICT_GOOD, start);
    ck_assert_int_eq(ask("n/v", start), VPA_PERMIT_FREE);
    vpa_proof_forgive(proof, "n/v", VPA_PROOF_RESIZE);
    ck_assert_int_eq(ask("n/v", start), VPA_PERMIT_FREE);
    vpa_proof_forgive(proof, "n/v", VPA_PROOF_EVICTION);
    ck_assert_int_eq(ask("n/v", start), VPA_PERMIT_FIRST);
}

/* ---- restoring ---- */

/* What this process has seen itself counts. */
TEST(what_is_open_is_not_restored) {
    const struct vpa_pause pause = {.verdict = VPA_VERDICT_CRASHING,
                                    .seen = "before",
                                    .opened = start - VPA_HOUR,
                                    .retry = start + VPA_HOUR};

    judge("n/v", VPA_PROOF_EVICTION, VPA_VERDICT_NOT_PATCHED, start);
    vpa_proof_restore(proof, "n/v", VPA_PROOF_EVICTION, &pause, start);
    const struct vpa_breaker *b = vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION);
    ck_assert_int_eq(b->verdict, VPA_VERDICT_NOT_PATCHED);
    ck_assert_str_eq(b->seen, "what was seen");
    ck_assert(b->opened == start);
    ck_assert(b->retry_at == start + VPA_PAUSE_FIRST);
}

/* ---- sweeping ---- */

TEST(who_is_waited_for_is_kept) {
    sent("n/v", start);
    vpa_proof_sweep(proof, everybody, NULL, start + VPA_HOUR);
    ck_assert_int_eq(ask("n/v", start + VPA_HOUR), VPA_PERMIT_WAITING);
}

TEST(proofs_are_kept_while_they_hold) {
    judge("n/v", VPA_PROOF_EVICTION, VPA_VERDICT_GOOD, start);
    vpa_proof_sweep(proof, everybody, NULL, start + VPA_PROOF_AGE - 1);
    ck_assert_int_eq(ask("n/v", start + VPA_PROOF_AGE - 1), VPA_PERMIT_FREE);
    vpa_proof_sweep(proof, everybody, NULL, start + VPA_PROOF_AGE);
    ck_assert_int_eq(ask("n/v", start + VPA_PROOF_AGE - 1), VPA_PERMIT_FIRST);
}

TEST(each_way_is_swept) {
    judge("n/v", VPA_PROOF_EVICTION, VPA_VERDICT_NOT_PATCHED, start);
    judge("n/v", VPA_PROOF_RESIZE, VPA_VERDICT_NOT_RESIZED, start);
    vpa_proof_sweep(proof, everybody, NULL, start);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 2);
    vpa_proof_sweep(proof, nobody, NULL, start);
    ck_assert_uint_eq(vpa_proof_open_count(proof), 0);
    ck_assert_ptr_null(vpa_proof_breaker(proof, "n/v", VPA_PROOF_EVICTION));
    ck_assert_ptr_null(vpa_proof_breaker(proof, "n/v", VPA_PROOF_RESIZE));
}

/* ---- namespaces ---- */

static void stop_namespace(const char *ns, vpa_time now)
{
    for (int i = 0; i < VPA_PROOF_ROW; i++) {
        vpa_auto_free char *vpa = vpa_xprintf("%s/v%d", ns, i);

        judge(vpa, VPA_PROOF_EVICTION, VPA_VERDICT_CRASHING, now);
    }
}

/* Whichever comes first in a table. */
TEST_TIMES(the_newest_namespace_is_told, 2) {
    static const char *const names[][2] = {{"a", "b"}, {"b", "a"}};
    const struct vpa_breaker *newest;

    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    ck_assert_ptr_null(newest);
    stop_namespace(names[_i][0], start);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 1);
    ck_assert(newest->opened == start);
    stop_namespace(names[_i][1], start + 1);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 2);
    ck_assert(newest->opened == start + 1);
    ck_assert(vpa_str_starts_with(newest->seen, names[_i][1]));
}

static size_t paused_namespaces(void)
{
    const struct vpa_breaker *newest;

    return vpa_proof_namespaces(proof, &newest);
}

/* Each time with another template, that helps no more than the last. What was the webhook's fault
 * counts no more. */
TEST_TIMES(a_vpa_that_is_changed_counts_once, 2) {
    static const enum vpa_verdict verdicts[] = {VPA_VERDICT_CRASHING, VPA_VERDICT_NOT_PATCHED};

    for (int change = 0; change < 2 * VPA_PROOF_ROW; change++) {
        judge("n/v", VPA_PROOF_EVICTION, verdicts[_i], start);
        ck_assert(vpa_proof_reset(proof, "n/v"));
        vpa_proof_sweep(proof, everybody, NULL, start);
        ck_assert_int_eq(ask("n/other", start), VPA_PERMIT_FIRST);
    }
    judge("n/a", VPA_PROOF_EVICTION, VPA_VERDICT_CRASHING, start);
    judge("n/b", VPA_PROOF_EVICTION, VPA_VERDICT_CRASHING, start);
    ck_assert_uint_eq(paused_namespaces(), _i == 0);
}

/* Whoever makes his VPAs anew is not known again. */
TEST(vpas_that_are_gone_count) {
    for (int i = 0; i < VPA_PROOF_ROW; i++) {
        ck_assert_uint_eq(paused_namespaces(), 0);
        vpa_proof_sweep(proof, nobody, NULL, start);
        judge("n/v", VPA_PROOF_EVICTION, VPA_VERDICT_CRASHING, start);
    }
    ck_assert_uint_eq(paused_namespaces(), 1);
}

/* Nobody is paused any more; the row goes on. */
TEST(a_pause_ends_with_the_last_vpa) {
    stop_namespace("n", start);
    ck_assert_int_eq(ask("n/new", start), VPA_PERMIT_NAMESPACE_PAUSED);
    vpa_proof_sweep(proof, nobody, NULL, start);
    ck_assert_int_eq(ask("n/new", start), VPA_PERMIT_FIRST);
    judge("n/new", VPA_PROOF_EVICTION, VPA_VERDICT_CRASHING, start);
    ck_assert_int_eq(ask("n/newer", start), VPA_PERMIT_NAMESPACE_PAUSED);
    ck_assert_uint_eq(paused_namespaces(), 1);
}

/* Also in a namespace that has others, and by a change where that is enough to count no more. */
TEST_TIMES(a_pause_ends_with_those_that_failed, 2) {
    static const enum vpa_verdict verdicts[] = {VPA_VERDICT_CRASHING, VPA_VERDICT_NOT_PATCHED};

    for (int i = 0; i < VPA_PROOF_ROW; i++) {
        vpa_auto_free char *vpa = vpa_xprintf("n/v%d", i);

        judge(vpa, VPA_PROOF_EVICTION, verdicts[_i], start);
        ck_assert(vpa_proof_reset(proof, vpa));
    }
    ck_assert_int_eq(ask("n/other", start), VPA_PERMIT_NAMESPACE_PAUSED);
    vpa_proof_sweep(proof, everybody, NULL, start);
    ck_assert_int_eq(ask("n/other", start),
                     _i == 0 ? VPA_PERMIT_NAMESPACE_PAUSED : VPA_PERMIT_FIRST);
    vpa_proof_sweep(proof, only_other, NULL, start);
    ck_assert_int_eq(ask("n/other", start), VPA_PERMIT_FIRST);
    ck_assert_uint_eq(paused_namespaces(), 0);
}

/* It has no VPA any more that could be helped. */
TEST(a_namespace_without_vpas_is_not_told) {
    const struct vpa_breaker *newest;

    stop_namespace("a", start);
    vpa_proof_sweep(proof, nobody, NULL, start);
    ck_assert_uint_eq(vpa_proof_namespaces(proof, &newest), 0);
    ck_assert_ptr_null(newest);
}

int main(void)
{
    return run_tests("proof_kept", setup, teardown);
}
