/* Whether a replacement is what its predecessor was evicted for. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "objects.h"
#include "vpa/base/mem.h"
#include "vpa/policy/replacement.h"

static struct vpa_arena arena;
static struct vpa_buf seen;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_buf_init(&seen, VPA_SEEN_MAX);
}

static void teardown(void)
{
    vpa_buf_release(&seen);
    vpa_arena_release(&arena);
}

#define READY "'status':{'conditions':[{'type':'Ready','status':'True'}]}"
#define UNREADY "'status':{'conditions':[{'type':'Ready','status':'False'}]}"
#define ENDED                                                                                      \
    "'status':{'containerStatuses':[{'name':'c','lastState':{'terminated':{'reason':'Error',"      \
    "'exitCode':1}}}]}"
#define SECOND_ENDED                                                                               \
    "'status':{'containerStatuses':[{'name':'c'},{'name':'d','lastState':{'terminated':{"          \
    "'exitCode':1}}}]}"
#define POD(meta, requests, status)                                                                \
    "{'metadata':{'name':'p'" meta                                                                 \
    "},'spec':{'containers':[{'name':'c','resources':{'requests':" requests "}}]}," status "}"
#define REC(target, lower, upper)                                                                  \
    "{'status':{'recommendation':{'containerRecommendations':[{'containerName':'c','target'"       \
    ":" target ",'lowerBound':" lower ",'upperBound':" upper "}]}}}"
#define PATCHED ",'annotations':{'vpaObservedContainers':'c'}"
#define BOOSTED(container)                                                                         \
    ",'annotations':{'vpaObservedContainers':'c','vpaCpuStartupBoost/" container "':'{}'}"
#define MORE REC("{'cpu':'1238m'}", "{'cpu':'1100m'}", "{'cpu':'2'}")

static const struct {
    const char *pod, *vpa, *replacement, *vpa_now;
    enum vpa_verdict verdict;
    const char *seen;
} cases[] = {
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1238m'}", READY), NULL,
     VPA_VERDICT_GOOD, ""},
    /* as it was in the template */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'500m'}", READY), NULL,
     VPA_VERDICT_NOT_PATCHED, "pod p has cpu request 500m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'10m'}", UNREADY), NULL,
     VPA_VERDICT_NOT_PATCHED, "pod p has cpu request 10m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{}", READY), NULL, VPA_VERDICT_NOT_PATCHED,
     "pod p has cpu request none in container c, wanted 1238m"},
    /* the webhook did its part */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY), NULL,
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 500m in container c, wanted 1238m"},
    /* rounded by another webhook; rounded out of the bounds, which begins anew */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1500m'}", READY), NULL,
     VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1'}", READY), NULL,
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 1 in container c, wanted 1238m"},
    /* boosted for its start: three times what was wanted, and more than the upper bound */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(BOOSTED("c"), "{'cpu':'3714m'}", READY), NULL,
     VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(BOOSTED("d"), "{'cpu':'3714m'}", READY), NULL,
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 3714m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(BOOSTED("c"), "{'cpu':'500m'}", READY), NULL,
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 500m in container c, wanted 1238m"},
    /* the recommendation went on meanwhile */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'4'}", READY),
     REC("{'cpu':'4'}", "{'cpu':'3'}", "{'cpu':'5'}"), VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1600m'}", READY),
     REC("{'cpu':'1600m'}", "{'cpu':'1550m'}", "{'cpu':'5'}"), VPA_VERDICT_GOOD, ""},
    /* the recommendation came back to what was: whoever wrote it, nothing was learned */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'500m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_VOID, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'500m'}", UNREADY),
     REC("{'cpu':'520m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_VOID, ""},
    {POD("", "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'1238m','memory':'2Gi'}", "{'cpu':'1'}", "{'cpu':'2'}"),
     POD(PATCHED, "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'500m','memory':'1Gi'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_VOID, ""},
    /* half of the way, and a little more than that */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'869m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 500m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'868m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_VOID, ""},
    /* not as far; not for all of it; not at all; and the pod is outside the bounds by now */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'900m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 500m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'1238m','memory':'2Gi'}", "{'cpu':'1'}", "{'cpu':'2'}"),
     POD(PATCHED, "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'500m','memory':'2Gi'}", "{'cpu':'400m'}", "{'cpu':'2'}"),
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 500m in container c, wanted 1238m"},
    {POD("", "{'cpu':'1200m'}", READY), MORE, POD(PATCHED, "{'cpu':'1200m'}", READY), MORE,
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 1200m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'520m'}", "{'cpu':'510m'}", "{'cpu':'2'}"), VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 500m in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'memory':'1Gi'}", "{'memory':'1Gi'}", "{'memory':'1Gi'}"), VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 500m in container c, wanted 1238m"},
    /* inside the bounds, but nothing has moved */
    {POD("", "{'cpu':'1200m'}", READY), MORE, POD("", "{'cpu':'1200m'}", READY), NULL,
     VPA_VERDICT_NOT_PATCHED, "pod p has cpu request 1200m in container c, wanted 1238m"},
    /* it had no request, which any is nearer than; whatever it had, too little is too little */
    {POD("", "{}", READY), MORE, POD(PATCHED, "{'cpu':'1238m'}", READY), NULL, VPA_VERDICT_GOOD,
     ""},
    {POD("", "{}", READY), MORE, POD(PATCHED, "{'cpu':'9'}", READY), NULL, VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 9 in container c, wanted 1238m"},
    {POD("", "{}", READY), MORE, POD("", "{}", READY), NULL, VPA_VERDICT_NOT_PATCHED,
     "pod p has cpu request none in container c, wanted 1238m"},
    {POD("", "{}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY),
     REC("{'cpu':'500m'}", "{'cpu':'400m'}", "{'cpu':'2'}"), VPA_VERDICT_GOOD, ""},
    /* what came of it is outside the bounds of now as well, or there are none by now */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1'}", READY),
     REC("{'cpu':'1600m'}", "{'cpu':'1550m'}", "{'cpu':'5'}"), VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 1 in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'1'}", READY), "{}",
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 1 in container c, wanted 1238m"},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD(PATCHED, "{'cpu':'500m'}", READY), "{}",
     VPA_VERDICT_PATCHED_BACK, "pod p has cpu request 500m in container c, wanted 1238m"},
    /* of several resources the first that is as before is told */
    {POD("", "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'1238m','memory':'2Gi'}", "{'cpu':'1'}", "{'cpu':'2'}"),
     POD(PATCHED, "{'cpu':'1238m','memory':'1Gi'}", READY), NULL, VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'1238m','memory':'2Gi'}", "{'memory':'1500Mi'}", "{'memory':'3Gi'}"),
     POD(PATCHED, "{'cpu':'1238m','memory':'1Gi'}", READY), NULL, VPA_VERDICT_PATCHED_BACK,
     "pod p has memory request 1Gi in container c, wanted 2Gi"},
    {POD("", "{'cpu':'500m','memory':'1Gi'}", READY),
     REC("{'cpu':'1238m','memory':'2Gi'}", "{'memory':'1500Mi'}", "{'memory':'3Gi'}"),
     POD(PATCHED, "{'cpu':'500m','memory':'1Gi'}", READY), NULL, VPA_VERDICT_PATCHED_BACK,
     "pod p has cpu request 500m in container c, wanted 1238m"},
    /* nothing was to change */
    {POD("", "{'cpu':'1238m'}", READY), MORE, POD("", "{'cpu':'1238m'}", READY), NULL,
     VPA_VERDICT_GOOD, ""},
    /* as good as before */
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'1238m'}", UNREADY), NULL,
     VPA_VERDICT_WAIT, ""},
    {POD("", "{'cpu':'500m'}", UNREADY), MORE, POD("", "{'cpu':'1238m'}", UNREADY), NULL,
     VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'1238m'}", ENDED), NULL,
     VPA_VERDICT_CRASHING, "container c of pod p ended (Error), which it did not before"},
    {POD("", "{'cpu':'500m'}", ENDED), MORE, POD("", "{'cpu':'1238m'}", ENDED), NULL,
     VPA_VERDICT_GOOD, ""},
    {POD("", "{'cpu':'500m'}", READY), MORE, POD("", "{'cpu':'1238m'}", SECOND_ENDED), NULL,
     VPA_VERDICT_CRASHING, "container d of pod p ended (), which it did not before"},
};

TEST_EACH(carries_what_was_wanted_and_is_no_worse, cases) {
    const struct vpa_pod *pod = objects_pod(&arena, cases[_i].pod);
    const struct vpa_object *vpa = objects_vpa(&arena, cases[_i].vpa);
    const struct vpa_object *now =
        cases[_i].vpa_now ? objects_vpa(&arena, cases[_i].vpa_now) : NULL;
    struct vpa_expected expected;
    enum vpa_verdict verdict;

    vpa_expected_init(&expected, pod, &vpa->recommendation);
    verdict = vpa_expected_judge(&expected, objects_pod(&arena, cases[_i].replacement),
                                 now ? &now->recommendation : NULL, &seen);
    ck_assert_int_eq(verdict, cases[_i].verdict);
    ck_assert_str_eq(vpa_buf_text(&seen), cases[_i].seen);
    vpa_expected_release(&expected);
}

TEST(a_replacement_gets_annotations_of_its_own) {
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1024);

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_replacement_annotations(
        &w, objects_json(&arena, "{'a':'1','vpaUpdates':'x','vpaObservedContainers':'c',"
                                 "'vpaInPlaceUpdated':'true','vpaCpuStartupBoost/c':'{}',"
                                 "'vpaUpdatesToo':'y'}"));
    vpa_json_close_object(&w);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "{\"annotations\":{\"a\":\"1\",\"vpaUpdatesToo\":\"y\"}}");
}

int main(void)
{
    return run_tests("replacement", setup, teardown);
}
