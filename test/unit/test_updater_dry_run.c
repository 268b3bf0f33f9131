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

TEST_EACH(the_pod_that_is_tried, pods) {
    updater_dry_run_pod(objects_json(&arena, pods[_i].pod), &text);
    ck_assert_str_eq(vpa_buf_text(&text), pods[_i].tried);
}

int main(void)
{
    return run_tests("updater_dry_run", setup, teardown);
}
