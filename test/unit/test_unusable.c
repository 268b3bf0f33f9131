/* Warning events for objects that were skipped. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/daemon/unusable.h"
#include "vpa/kube/reflector.h"

static struct vpa_unusable *unusable;

static size_t count(void)
{
    size_t n;

    (void)sim_cluster_writes(sim, &n);
    return n;
}

static void begin(bool leading)
{
    unusable = vpa_unusable_new(&(struct vpa_unusable_options){
        .client = client, .component = "vpa-updater", .leading = leading});
}

static void setup(void)
{
    start_client(NULL, 1772366400, 3);
}

static void teardown(void)
{
    vpa_unusable_free(unusable);
    vpa_unusable_free(NULL);
    stop_client();
}

static void tell(const char *api_version, const char *resource, const char *ns, const char *name)
{
    vpa_unusable_tell(
        unusable, api_version, resource,
        &(struct vpa_unusable_object){.kind = "", .ns = ns, .name = name, .reason = "too deep"});
    vpa_loop_pump(loop, VPA_SECOND);
}

static const struct {
    const char *api_version, *resource, *ns;
    const char *kind; /* NULL: no event */
} objects[] = {
    {"v1", "pods", "shop", "Pod"},
    {"v1", "limitranges", "shop", "LimitRange"},
    {"autoscaling.k8s.io/v1", "verticalpodautoscalers", "shop", "VerticalPodAutoscaler"},
    {"apps/v1", "deployments", "shop", "Deployment"},
    {"v1", "namespaces", "", NULL},
    {"v1", "pods", "", NULL},
    {"v1", "events", "shop", NULL},
};

TEST_EACH(tells_the_namespace_of_the_object, objects) {
    begin(true);
    tell(objects[_i].api_version, objects[_i].resource, objects[_i].ns, "x");
    ck_assert_uint_eq(count(), objects[_i].kind ? 1 : 0);
    if (!objects[_i].kind)
        return;
    const struct sim_asked *event = sim_cluster_write(sim, "/events", 0);
    const char *parts[] = {"\"name\":\"x\"",
                           objects[_i].kind,
                           objects[_i].api_version,
                           "\"reason\":\"UnusableObject\"",
                           "vpa-updater cannot use this object, and does nothing that would rest "
                           "on it: too deep",
                           "\"type\":\"Warning\""};
    ck_assert_str_eq(event->path, "/api/v1/namespaces/shop/events");
    for (size_t i = 0; i < VPA_COUNT(parts); i++)
        ck_assert_msg(strstr(event->body, parts[i]) != NULL, "%s: %s", parts[i], event->body);
}

TEST(waits_until_it_leads) {
    begin(false);
    tell("v1", "pods", "shop", "old");
    vpa_loop_pump(loop, VPA_UNUSABLE_PATIENCE);
    for (int i = 0; i < VPA_UNUSABLE_PENDING + 1; i++) {
        vpa_auto_free char *name = vpa_xprintf("p%d", i);

        vpa_unusable_tell(
            unusable, "v1", "pods",
            &(struct vpa_unusable_object){.kind = "", .ns = "shop", .name = name, .reason = "bad"});
    }
    ck_assert_uint_eq(count(), 0);
    vpa_unusable_lead(unusable);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count(), VPA_UNUSABLE_PENDING);
    ck_assert_ptr_nonnull(strstr(sim_cluster_write(sim, "/events", 0)->body,
                                 "\"name\":\"p1\"")); /* the oldest gave way */
    tell("v1", "pods", "shop", "new");
    ck_assert_uint_eq(count(), VPA_UNUSABLE_PENDING + 1);
}

TEST(what_may_have_been_mended_is_not_told) {
    begin(false);
    tell("v1", "pods", "shop", "old");
    vpa_loop_pump(loop, VPA_UNUSABLE_PATIENCE);
    vpa_unusable_lead(unusable);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count(), 0);
}

int main(void)
{
    return run_tests("unusable", setup, teardown);
}
