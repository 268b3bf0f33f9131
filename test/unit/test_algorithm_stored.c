/* Stored states of Autopilot's two and plumb: those that cannot be are refused or outgrown, and
 * none makes the recommender take much more room than it has. */
#include <check.h>

#include "allocated.h"
#include "method_fixture.h"

#define PLUMB(STATE) "{\"algorithm\":\"plumb\",\"version\":1,\"samples\":1,\"state\":" STATE "}"
#define PILOT(STATE) "{\"algorithm\":\"autopilot\",\"version\":1,\"samples\":1,\"state\":" STATE "}"
#define ML(STATE) "{\"algorithm\":\"autopilot-ml\",\"version\":1,\"samples\":1,\"state\":" STATE "}"
/* Of CPU: 28 models. */
#define SEVEN(X) X "," X "," X "," X "," X "," X "," X
#define MODELS SEVEN("1") "," SEVEN("1") "," SEVEN("1") "," SEVEN("1")
#define KNOWN(CLOSED, PASTS, PICKS, COSTS, LIMITS, BEST)                                           \
    ML("{\"cpu\":{\"closed\":" CLOSED ",\"lastWindow\":1772323200,\"first\":3,\"pasts\":[" PASTS   \
       "],\"picks\":[" PICKS "],\"costs\":[" COSTS "],\"limits\":[" LIMITS "],\"best\":" BEST      \
       ",\"limit\":4,\"held\":[[1772323200,0.5]]},\"window\":1772323500,\"born\":1772323200,"      \
       "\"last\":1772323500}")
#define PASTS4 "[1],[0.5,0.5],[0,1],[0.25,0.75]"
#define PAST "{\"ref\":1772323200,\"first\":3,\"weights\":[1,2]}"
static const struct {
    const char *algorithm, *text, *says;
} refused[] = {
    {"plumb", PLUMB("{\"cpu\":{\"recent\":{\"ref\":99999999999,\"first\":1,\"weights\":[1]}}}"),
     "cpu: recent: ref is no second of the past"},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":{\"ref\":5,\"first\":4000,\"weights\":[1]}}}"),
     "cpu: recent: first is out of range"},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":{\"ref\":5,\"first\":285,\"weights\":[1,1,1,1]}}}"),
     "there is no bucket"},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":{\"ref\":5,\"first\":1,\"weights\":[-1]}}}"),
     "bucket 1 has an impossible weight"},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":{\"ref\":5,\"first\":1,\"weights\":[1e300]}}}"),
     "bucket 1 has an impossible weight"},
    {"plumb", PLUMB("{\"cpu\":{}}"), "cpu: a histogram is missing"},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":" PAST ",\"steady\":" PAST ",\"target\":-1}}"),
     "target is out of range"},
    {"plumb", PLUMB("{\"memory\":{\"peaks\":[[1]]}}"), "peaks: expected pairs"},
    {"plumb", PLUMB("{\"memory\":{\"peaks\":[[1,\"x\"]]}}"), "peaks: expected pairs"},
    {"plumb", PLUMB("{\"memory\":{\"peaks\":[[99999999999,1]]}}"), "peaks: expected pairs"},
    {"plumb", PLUMB("{\"memory\":{\"days\":[[-1,1]]}}"), "days: expected pairs"},
    {"plumb", PLUMB("{\"memory\":{\"kills\":\"many\"}}"), "kills is not a number"},
    {"plumb", PLUMB("{\"last\":1.5}"), "last is no second of the past"},
    {"autopilot", PILOT("{\"cpu\":{\"top\":[7]}}"), "cpu: top: expected pairs"},
    {"autopilot", PILOT("{\"memory\":{\"average\":-1}}"), "memory: average is out of range"},
    {"autopilot", PILOT("{\"window\":99999999999}"), "window is no second of the past"},
    {"autopilot-ml", PILOT("{}"), "state of algorithm \"autopilot\", not of autopilot-ml"},
    {"autopilot-ml", KNOWN("-1", PASTS4, "3,3,3,3", MODELS, MODELS, "0"), "cpu: closed: expected"},
    {"autopilot-ml", KNOWN("0", PASTS4, "3,3,3,3", MODELS, MODELS, "0"), "a past without a window"},
    {"autopilot-ml", KNOWN("1", "[1],[1],[1]", "3,3,3,3", MODELS, MODELS, "0"),
     "pasts: expected 4"},
    {"autopilot-ml", KNOWN("1", "[1],[1],[1],[0.5]", "3,3,3,3", MODELS, MODELS, "0"),
     "pasts: the shares of one are 0.5 together"},
    {"autopilot-ml", KNOWN("1", "[1],[1],[1],[]", "3,3,3,3", MODELS, MODELS, "0"),
     "pasts: the shares of one are 0 together"},
    {"autopilot-ml", KNOWN("1", "[2,-1],[1],[1],[1]", "3,3,3,3", MODELS, MODELS, "0"),
     "pasts: bucket 3 has an impossible share"},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3", MODELS, MODELS, "0"), "picks: expected 4"},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3,5000", MODELS, MODELS, "0"),
     "picks: expected whole"},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3,3", "1", MODELS, "0"), "expected 28 of each"},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3,3", MODELS, MODELS ",1", "0"),
     "expected 28 of each"},
    {"autopilot-ml",
     KNOWN("1", PASTS4, "3,3,3,3", MODELS,
           SEVEN("1") "," SEVEN("1") "," SEVEN("1") "," SEVEN("999"), "0"),
     "limits: expected whole numbers from 0 to below 28"},
    {"autopilot-ml",
     KNOWN("1", PASTS4, "3,3,3,3", SEVEN("1") "," SEVEN("1") "," SEVEN("1") "," SEVEN("\"x\""),
           MODELS, "0"),
     "costs: expected numbers"},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3,3", MODELS, MODELS, "28"),
     "best: expected whole numbers from 0 to below 28"},
    {"autopilot-ml", ML("{\"memory\":{\"open\":[7]}}"), "memory: open: expected pairs"},
    {"autopilot-ml", ML("{\"memory\":{\"open\":[[400,1]]}}"), "open: expected whole numbers"},
    {"autopilot-ml", ML("{\"memory\":{\"open\":[[4,1.5]]}}"), "open: expected whole numbers"},
};
TEST_EACH(states_that_cannot_be_are_refused, refused) {
    m = method(refused[_i].algorithm, NULL, NULL);
    k = vpa_knowledge_load(m, json(&arena, refused[_i].text), t0 + DAY, &err);
    ck_assert_ptr_null(k);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_msg(strstr(err.text, refused[_i].says) != NULL, "%s", err.text);
}

/* Strange, but possible: nothing breaks, and usage puts it right. */
static const struct {
    const char *algorithm, *text;
} odd[] = {
    {"plumb", PLUMB("{}")},
    {"plumb", PLUMB("{\"memory\":{}}")},
    {"plumb",
     PLUMB("{\"cpu\":{\"recent\":" PAST ",\"steady\":" PAST ",\"born\":1772323200,\"window\":0}}")},
    {"plumb", PLUMB("{\"memory\":{\"kills\":77,\"bump\":5,\"days\":[[5,1],[30,2]]}}")},
    {"autopilot", PILOT("{}")},
    {"autopilot", PILOT("{\"cpu\":{\"known\":true,\"openCount\":1e9},\"window\":300}")},
    {"autopilot-ml", ML("{}")},
    {"autopilot-ml", KNOWN("1e9", PASTS4, "0,282,3,3", MODELS, MODELS, "27")},
    {"autopilot-ml", ML("{\"cpu\":{\"open\":[[1,999999],[2,999999],[2,1]]},\"window\":300}")},
};
TEST_EACH(odd_states_are_lived_with, odd) {
    m = method(odd[_i].algorithm, NULL, NULL);
    k = vpa_knowledge_load(m, json(&arena, odd[_i].text), t0, &err);
    struct vpa_estimate e;

    ck_assert_msg(k != NULL, "%s", err.text);
    vpa_time now = live(k);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &e));
    ck_assert_int_le(e.bound[VPA_LOWER_BOUND].value[0], e.bound[VPA_TARGET].value[0]);
    ck_assert_int_le(e.bound[VPA_TARGET].value[0], e.bound[VPA_UPPER_BOUND].value[0]);
}

/* What no samples can have made has no more say than samples, and is outgrown as they are. */
static const struct {
    const char *algorithm, *key, *value, *text;
} outgrown[] = {
    {"autopilot", "class", "batch",
     PILOT("{\"cpu\":{\"known\":true,\"openSum\":1e17,\"openCount\":1e9},\"window\":1772323200}")},
    {"autopilot", "class", "batch",
     PILOT("{\"cpu\":{\"known\":true,\"openSum\":1e17,\"openCount\":0},\"window\":1772323200}")},
    {"autopilot", "class", "batch",
     PILOT("{\"cpu\":{\"known\":true,\"openSum\":1e17,\"openPeak\":1,\"openCount\":1},\"window\":"
           "1772323200}")},
    {"autopilot", "class", "batch",
     PILOT("{\"cpu\":{\"known\":true,\"openSum\":3,\"openPeak\":1,\"openCount\":4.5},\"window\":"
           "1772323200}")},
    {"autopilot", "class", "batch",
     PILOT("{\"cpu\":{\"known\":true,\"average\":9,\"averageWeight\":1e18,\"averageWindow\":"
           "1772323200},\"window\":1772323200}")},
    {"autopilot", "cpu-half-life", "1h",
     PILOT("{\"cpu\":{\"known\":true,\"histogram\":{\"ref\":1772323200,\"first\":190,\"weights\":["
           "1e99]}},\"window\":1772323200}")},
};
TEST_EACH(what_cannot_be_is_outgrown, outgrown) {
    m = method(outgrown[_i].algorithm, outgrown[_i].key, outgrown[_i].value);
    k = vpa_knowledge_load(m, json(&arena, outgrown[_i].text), t0, &err);
    struct vpa_knowledge *fresh = vpa_knowledge_new(m, t0);
    struct vpa_estimate got, want;

    ck_assert_msg(k != NULL, "%s", err.text);
    vpa_time now = live(k);
    live(fresh);
    ck_assert(vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &got));
    ck_assert(vpa_knowledge_estimate(fresh, &(struct vpa_question){now, 1}, &want));
    ck_assert_int_eq(got.bound[VPA_TARGET].value[VPA_KIND_CPU],
                     want.bound[VPA_TARGET].value[VPA_KIND_CPU]);
    vpa_knowledge_free(fresh);
}

/* Whoever may store states makes the recommender use no more than some times as much. */
static const struct {
    const char *algorithm, *text;
} small[] = {
    {"plumb", PLUMB("{}")},
    {"plumb", PLUMB("{\"cpu\":{\"recent\":" PAST ",\"steady\":" PAST ",\"born\":1772323200,"
                    "\"window\":0}}")},
    {"autopilot", PILOT("{}")},
    {"autopilot-ml", ML("{}")},
    {"autopilot-ml", ML("{\"cpu\":{\"open\":[[0,1],[284,1]]},\"memory\":{\"open\":[[0,1],[280,1]]},"
                        "\"window\":300}")},
    {"autopilot-ml", KNOWN("1", PASTS4, "3,3,3,3", MODELS, MODELS, "0")},
};
TEST_EACH(a_small_state_takes_little_room, small) {
    m = method(small[_i].algorithm, NULL, NULL);
    const struct vpa_json *stored = json(&arena, small[_i].text);
    size_t before = allocated();
    k = vpa_knowledge_load(m, stored, t0 + DAY, &err);

    ck_assert_msg(k != NULL, "%s", err.text);
    ck_assert_uint_le(allocated() - before, 4096);
    vpa_knowledge_age(k, t0 + DAY);
    vpa_knowledge_age(k, t0 + DAY + VPA_HOUR);
    ck_assert_uint_le(allocated() - before, 4096);
}

/* Of a bucket that is named twice the last number counts. */
TEST(a_bucket_is_counted_once) {
    m = method("autopilot-ml", NULL, NULL);
    struct vpa_knowledge *twice = vpa_knowledge_load(
        m, json(&arena, ML("{\"cpu\":{\"open\":[[9,400],[9,3],[20,1]]},\"window\":1772323200}")),
        t0, &err);
    struct vpa_knowledge *once = vpa_knowledge_load(
        m, json(&arena, ML("{\"cpu\":{\"open\":[[9,3],[20,1]]},\"window\":1772323200}")), t0, &err);

    ck_assert(twice && once);
    vpa_time now = live(twice);
    live(once);
    ck_assert(strcmp(stored_text(twice, now), stored_text(once, now)) == 0);
    vpa_knowledge_free(twice);
    vpa_knowledge_free(once);
}

int main(void)
{
    return run_tests("algorithm_stored", setup, teardown);
}
