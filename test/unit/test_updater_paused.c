/* Conditions that say why nothing happens: what an earlier process is understood to have said, and
 * how much of what was seen is told. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../updater/paused.h"
#include "objects.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define NOW vpa_time_from_unix(1772366400, 0) /* 2026-03-01T12:00:00Z */

static struct vpa_arena arena;
static struct vpa_proof *proof;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    proof = vpa_proof_new(VPA_MINUTE);
}

static void teardown(void)
{
    vpa_proof_free(proof);
    vpa_arena_release(&arena);
}

/* ---- what is understood ---- */

#define CONDITION(type, status, more) "{'type':'" type "','status':'" status "'" more "}"
#define AT ",'lastTransitionTime':'2026-03-01T11:50:00Z'"
#define EVICTIONS(more) CONDITION("EvictionsPaused", "True", more)

static const struct {
    const char *conditions;
    enum vpa_proof_way way; /* of the breaker that is open */
    bool open;
    enum vpa_verdict verdict;
    const char *seen;
    vpa_duration opened, retry; /* from now */
} told[] = {
    {EVICTIONS(",'reason':'Crashing','message':'it ended; tried again with one pod at "
               "2026-03-01T12:25:00Z'" AT),
     VPA_PROOF_EVICTION, true, VPA_VERDICT_CRASHING, "it ended", -10 * VPA_MINUTE, 25 * VPA_MINUTE},
    {CONDITION("ResizesPaused", "True",
               ",'reason':'NotResized','message':'x; tried again with one pod at "
               "2026-03-01T12:01:00Z'" AT),
     VPA_PROOF_RESIZE, true, VPA_VERDICT_NOT_RESIZED, "x", -10 * VPA_MINUTE, VPA_MINUTE},
    /* of what has no end, or none that can be read, the first pause begins */
    {EVICTIONS(",'reason':'NotReady','message':'so it is'" AT), VPA_PROOF_EVICTION, true,
     VPA_VERDICT_NOT_READY, "so it is", -10 * VPA_MINUTE, VPA_PAUSE_FIRST},
    {EVICTIONS(",'reason':'NotReady','message':'a; tried again with one pod at noon'" AT),
     VPA_PROOF_EVICTION, true, VPA_VERDICT_NOT_READY, "a", -10 * VPA_MINUTE, VPA_PAUSE_FIRST},
    /* no time, a reason that is none of ours, no message */
    {EVICTIONS(",'reason':'Moon'"), VPA_PROOF_EVICTION, true, VPA_VERDICT_NOT_PATCHED, "", 0,
     VPA_PAUSE_FIRST},
    {EVICTIONS(",'reason':'Good'"), VPA_PROOF_EVICTION, true, VPA_VERDICT_NOT_PATCHED, "", 0,
     VPA_PAUSE_FIRST},
    {CONDITION("EvictionsPaused", "False", AT), VPA_PROOF_EVICTION, false, VPA_VERDICT_GOOD, "", 0,
     0},
    {CONDITION("Other", "True", AT), VPA_PROOF_EVICTION, false, VPA_VERDICT_GOOD, "", 0, 0},
    /* of two the last one counts, as with the API server */
    {EVICTIONS(",'reason':'Crashing'") "," EVICTIONS(",'reason':'NotReady'"), VPA_PROOF_EVICTION,
     true, VPA_VERDICT_NOT_READY, "", 0, VPA_PAUSE_FIRST},
};

TEST_EACH(conditions_are_understood, told) {
    const struct vpa_object *vpa =
        objects_vpa(&arena, vpa_arena_printf(&arena,
                                             "{'metadata':{'name':'v','namespace':'n'},'status':{"
                                             "'conditions':[%s]}}",
                                             told[_i].conditions));
    enum vpa_proof_way other =
        told[_i].way == VPA_PROOF_EVICTION ? VPA_PROOF_RESIZE : VPA_PROOF_EVICTION;

    updater_paused_restore(proof, vpa, "n/v", NOW);
    const struct vpa_breaker *b = vpa_proof_breaker(proof, "n/v", told[_i].way);
    ck_assert_ptr_null(vpa_proof_breaker(proof, "n/v", other));
    ck_assert_int_eq(b != NULL, told[_i].open);
    if (!b)
        return;
    ck_assert_int_eq(b->verdict, told[_i].verdict);
    ck_assert_str_eq(b->seen, told[_i].seen);
    ck_assert_int_eq(vpa_time_sub(b->opened, NOW), told[_i].opened);
    ck_assert_int_eq(vpa_time_sub(b->retry_at, NOW), told[_i].retry);
}

/* ---- what is told ---- */

static char *message_of(const char *seen)
{
    vpa_auto_free char *own = seen ? vpa_xstrdup(seen) : NULL;
    const struct vpa_breaker b = {.seen = own, .retry_at = NOW};

    return updater_paused_message(&b);
}

#define AGAIN "; tried again with one pod at 2026-03-01T12:00:00Z"

TEST(what_was_seen_is_told) {
    vpa_auto_free char *text = message_of("pod p has none");
    vpa_auto_free char *none = message_of(NULL);

    ck_assert_str_eq(text, "pod p has none" AGAIN);
    ck_assert_str_eq(none, AGAIN);
}

/* What is no letter is left out, and nothing beside it. */
TEST(only_letters_are_told) {
    vpa_auto_free char *within = message_of("a\xff"
                                            "b"),
                       *behind = message_of("a\xc3");

    ck_assert_str_eq(within, "ab" AGAIN);
    ck_assert_str_eq(behind, "a" AGAIN);
}

/* Nine hundred bytes of it, in whole letters; what is none does not count as one. */
static const struct {
    const char *first, *letter;
    size_t kept;
} long_texts[] = {
    {"", "x", 900},
    {"", "\xc3\xa9", 900},
    {"x", "\xc3\xa9", 899},
    {"xx", "\xe2\x82\xac", 899},
};

TEST_EACH(no_more_is_told_than_fits, long_texts) {
    vpa_auto_buf seen = VPA_BUF(4096);

    vpa_buf_puts(&seen, long_texts[_i].first);
    while (seen.len < 1000)
        vpa_buf_puts(&seen, long_texts[_i].letter);
    vpa_auto_free char *text = message_of(vpa_buf_text(&seen));
    ck_assert_uint_eq(strlen(text), long_texts[_i].kept + strlen(AGAIN));
    ck_assert_int_eq(strncmp(text, vpa_buf_text(&seen), long_texts[_i].kept), 0);
    ck_assert_str_eq(text + long_texts[_i].kept, AGAIN);
}

int main(void)
{
    return run_tests("updater_paused", setup, teardown);
}
