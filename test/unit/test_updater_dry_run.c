/* The pod that is tried: what its controller would make of the template, to the letter. */
#include <check.h>
#include <stdlib.h>

#include "../../updater/dry_run.h"
#include "objects.h"
#include "suite.h"

static struct vpa_arena arena;
static struct vpa_buf text;

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    vpa_buf_init(&text, 1 << 16);
}

static void teardown(void)
{
    vpa_buf_release(&text);
    vpa_arena_release(&arena);
}

/* A pod, and the one that is tried for it. */
static const struct {
    const char *pod, *tried;
} pods[] = {
    {"{'metadata':{'name':'p-1','namespace':'n','uid':'u','resourceVersion':'7',"
     "'labels':{'a':'b'},'annotations':{'c':'d'},'ownerReferences':[{'apiVersion':'apps/v1',"
     "'kind':'ReplicaSet','name':'r','uid':'w','controller':true,'blockOwnerDeletion':true}]},"
     "'spec':{'nodeName':'x','containers':[{'name':'c','image':'i'}],'ephemeralContainers':[{"
     "'name':'e'}],'priority':5},'status':{'phase':'Running'}}",
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"p-1-\","
     "\"namespace\":\"n\","
     "\"labels\":{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"},\"ownerReferences\":[{\"apiVersion\":"
     "\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\",\"uid\":\"w\",\"controller\":true}]},"
     "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}],\"priority\":5}}"},
    {"{'metadata':{'name':'p-2','namespace':'n'},'spec':{'containers':[]}}",
     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"p-2-\","
     "\"namespace\":\"n\","
     "\"annotations\":{},\"ownerReferences\":[]},\"spec\":{\"containers\":[]}}"},
};

START_TEST(the_pod_that_is_tried)
{
    updater_dry_run_pod(objects_json(&arena, pods[_i].pod), &text);
    ck_assert_str_eq(vpa_buf_text(&text), pods[_i].tried);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_dry_run");
    TCase *c = tcase_create("dry_run");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, the_pod_that_is_tried, 0, (int)VPA_COUNT(pods));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
