/* Small API objects: metadata, resources, pods, LimitRanges, controllers, scales, leases, events.
 */
#include "json_helper.h"

#include "vpa/api/controller.h"
#include "vpa/api/event.h"
#include "vpa/api/lease.h"
#include "vpa/api/limit_range.h"
#include "vpa/json/json_decode.h"
#include "vpa/api/pod.h"

static const char *quantity_text(const struct vpa_quantity *q)
{
    ck_assert_ptr_nonnull(q);
    return vpa_quantity_text(&arena, q);
}

/* ---- metadata ---- */

TEST(decodes_metadata) {
    struct vpa_meta meta;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_meta_decode(
            &arena,
            json_of("{\"name\":\"n\",\"namespace\":\"ns\",\"generateName\":\"g-\",\"uid\":\"u\","
                    "\"resourceVersion\":\"7\",\"generation\":3,"
                    "\"creationTimestamp\":\"1970-01-01T00:00:05Z\",\"labels\":{\"a\":\"b\"},"
                    "\"ownerReferences\":[{\"kind\":\"A\"},{\"kind\":\"B\",\"controller\":true},"
                    "{\"kind\":\"C\",\"controller\":true},{\"kind\":\"D\",\"controller\":false}]}"),
            &meta, &err),
        0);
    ck_assert_str_eq(meta.name, "n");
    ck_assert_str_eq(meta.ns, "ns");
    ck_assert_str_eq(meta.generate_name, "g-");
    ck_assert_str_eq(meta.uid, "u");
    ck_assert_str_eq(meta.resource_version, "7");
    ck_assert_int_eq(meta.generation, 3);
    ck_assert(meta.creation == vpa_time_from_unix(5, 0) && vpa_time_is_unset(meta.deletion));
    ck_assert_str_eq(vpa_labels_get(&meta.labels, "a"), "b");
    ck_assert(!meta.annotations.present);
    ck_assert_str_eq(vpa_meta_controller_first(&meta)->kind, "B");
    ck_assert_str_eq(vpa_meta_controller_last(&meta)->kind, "C");
    ck_assert_int_eq(vpa_meta_decode(&arena, NULL, &meta, &err), 0);
    ck_assert_str_eq(meta.name, "");
    ck_assert_ptr_null(vpa_meta_controller_first(&meta));
    ck_assert_ptr_null(vpa_meta_controller_last(&meta));
    ck_assert_int_lt(vpa_meta_decode(&arena, json_of("{\"name\":5}"), &meta, &err), 0);
    ck_assert_str_eq(err.text, "name: string expected, got number");
}

/* ---- resources ---- */

TEST(orders_resources) {
    struct vpa_resource_list list;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    ck_assert_int_eq(
        vpa_resource_list_decode(&arena,
                                 json_of("{\"zeta\":1,\"memory\":\"1Gi\",\"alpha\":null,"
                                         "\"cpu\":\" 1500m \",\"cpu\":\"2\"}"),
                                 &list, &err),
        0);
    ck_assert(list.present && list.count == 4);
    ck_assert_str_eq(list.items[0].name, "cpu");
    ck_assert_str_eq(list.items[1].name, "memory");
    ck_assert_str_eq(list.items[2].name, "alpha");
    ck_assert_str_eq(list.items[3].name, "zeta");
    ck_assert_str_eq(quantity_text(vpa_resource_find(&list, "cpu")), "2");
    ck_assert(vpa_quantity_is_zero(vpa_resource_find(&list, "alpha")));
    ck_assert_ptr_null(vpa_resource_find(&list, "beta"));
    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_resource_list_encode(&w, &list);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"alpha\":\"0\",\"cpu\":\"2\",\"memory\":\"1Gi\",\"zeta\":\"1\"}");
    vpa_buf_release(&buf);
}

TEST(edits_resources) {
    struct vpa_resource_list list = {0}, copy;

    vpa_resource_set(&arena, &list, "memory", vpa_quantity_units(1024, VPA_BINARY_SI));
    vpa_resource_set(&arena, &list, "gpu", vpa_quantity_milli(3000));
    vpa_resource_set(&arena, &list, "cpu", vpa_quantity_milli(100));
    vpa_resource_set(&arena, &list, "cpu", vpa_quantity_milli(250));
    ck_assert(list.present && list.count == 3);
    ck_assert_str_eq(list.items[0].name, "cpu");
    ck_assert_str_eq(quantity_text(&list.items[0].quantity), "250m");
    ck_assert_str_eq(list.items[2].name, "gpu");
    copy = vpa_resource_list_copy(&arena, &list);
    ck_assert(vpa_resource_list_equal(&list, &copy));
    vpa_resource_remove(&list, "beta");
    ck_assert_uint_eq(list.count, 3);
    vpa_resource_remove(&list, "memory");
    ck_assert_uint_eq(list.count, 2);
    ck_assert_ptr_null(vpa_resource_find(&list, "memory"));
    ck_assert(!vpa_resource_list_equal(&list, &copy));
    vpa_resource_remove(&copy, "gpu");
    ck_assert(!vpa_resource_list_equal(&list, &copy));
    vpa_resource_set(&arena, &copy, "cpu", vpa_quantity_milli(251));
    vpa_resource_remove(&copy, "memory");
    vpa_resource_remove(&list, "gpu");
    ck_assert(!vpa_resource_list_equal(&list, &copy));
    ck_assert_uint_eq(vpa_resource_list_copy(&arena, &(struct vpa_resource_list){0}).count, 0);
    ck_assert_int_lt(vpa_resource_name_cmp("cpu", "memory"), 0);
    ck_assert_int_lt(vpa_resource_name_cmp("memory", "a"), 0);
    ck_assert_int_gt(vpa_resource_name_cmp("b", "a"), 0);
    ck_assert_int_eq(vpa_resource_name_cmp("cpu", "cpu"), 0);
}

#define EXPRESSION                                                                                 \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

static const struct {
    const char *json, *text, *error;
} quantities[] = {
    {"\"1500m\"", "1500m", NULL},
    {"\"  2  \"", "2", NULL},
    {"5", "5", NULL},
    {"1e3", "1e3", NULL},
    {"0.5", "500m", NULL},
    {"12345678901234567890", "12345678901234567890", NULL},
    {"null", "0", NULL},
    {"true", NULL, EXPRESSION},
    {"[]", NULL, EXPRESSION},
    {"{\"a\":1}", NULL, EXPRESSION},
    {"\"\"", NULL, EXPRESSION},
    {"\"   \"", NULL, EXPRESSION},
    {"\"\\u0031\"", NULL, EXPRESSION},
    {"\"1Zz\"", NULL, EXPRESSION},
    {"\"1K\"", NULL, "unable to parse quantity's suffix"},
};

/* Labels may be called so. What else is called so is passed over, whatever it holds. */
TEST(reads_pods_without_what_the_kubelet_needs) {
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"env\":\"prod\",\"ports\":\"two\"},"
        "\"annotations\":{\"volumes\":\"none\",\"lifecycle\":\"{}\"},\"managedFields\":[{}]},"
        "\"spec\":{\"affinity\":{\"containers\":1},\"volumes\":[{\"name\":\"v\"}],\"nodeName\":"
        "\"n\","
        "\"containers\":[{\"env\":[{\"resources\":5}],\"name\":\"app\",\"ports\":[{}],"
        "\"livenessProbe\":{\"name\":7},\"resources\":{\"requests\":{\"cpu\":\"250m\"}},"
        "\"securityContext\":{}},{\"name\":\"side\",\"args\":[\"--env\"],\"command\":[]}],"
        "\"initContainers\":[{\"name\":\"init\",\"volumeMounts\":[{\"name\":8}]}]},"
        "\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\"}]}}";
    const struct vpa_json *root;
    struct vpa_error err;
    struct vpa_pod pod;

    ck_assert_int_eq(
        vpa_json_parse_without(&arena, text, strlen(text), vpa_pod_unread, &root, &err), 0);
    for (const char *const *name = vpa_pod_unread; *name; name++) {
        ck_assert_msg(!vpa_json_find(vpa_json_at(root, "spec"), *name), "%s", *name);
        vpa_json_foreach (container, vpa_json_at(root, "spec.containers"))
            ck_assert_msg(!vpa_json_find(container, *name), "%s", *name);
    }
    ck_assert_int_eq(vpa_pod_decode(&arena, root, &pod, &err), 0);
    ck_assert_pstr_eq(vpa_labels_get(&pod.meta.labels, "env"), "prod");
    ck_assert_pstr_eq(vpa_labels_get(&pod.meta.labels, "ports"), "two");
    ck_assert_pstr_eq(vpa_labels_get(&pod.meta.annotations, "volumes"), "none");
    ck_assert_pstr_eq(vpa_labels_get(&pod.meta.annotations, "lifecycle"), "{}");
    ck_assert_uint_eq(pod.container_count, 2);
    ck_assert_uint_eq(pod.init_container_count, 1);
    ck_assert_uint_eq(pod.condition_count, 1);
    ck_assert_str_eq(pod.containers[0].name, "app");
    ck_assert_uint_eq(pod.containers[0].resources.requests.count, 1);
    ck_assert_str_eq(pod.containers[1].name, "side");
    ck_assert_str_eq(pod.node_name, "n");
}

TEST_EACH(decodes_quantities, quantities) {
    struct vpa_quantity q;
    struct vpa_error err;
    int result = vpa_quantity_decode(&arena, json_of(quantities[_i].json), &q, &err);

    if (quantities[_i].error) {
        ck_assert_int_lt(result, 0);
        ck_assert_str_eq(err.text, quantities[_i].error);
    } else {
        ck_assert_int_eq(result, 0);
        ck_assert_str_eq(quantity_text(&q), quantities[_i].text);
    }
}

TEST(refuses_resources) {
    struct vpa_resources resources;
    struct vpa_error err;

    ck_assert_int_lt(vpa_resources_decode(&arena, json_of("5"), &resources, &err), 0);
    ck_assert_int_lt(vpa_resources_decode(&arena, json_of("{\"requests\":[]}"), &resources, &err),
                     0);
    ck_assert_str_eq(err.text, "requests: object expected, got array");
    ck_assert_int_lt(
        vpa_resources_decode(&arena, json_of("{\"limits\":{\"cpu\":\"x\"}}"), &resources, &err), 0);
    ck_assert_int_eq(strncmp(err.text, "limits: ", 8), 0);
    ck_assert_int_eq(vpa_resources_decode(&arena, NULL, &resources, &err), 0);
    ck_assert(!resources.present && !resources.requests.present);
}

/* ---- pods ---- */

static const char pod_text[] =
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n1\",\"resources\":{\"limits\":{"
    "\"cpu\":1}},"
    "\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}},\"resizePolicy\":"
    "[{\"resourceName\":\"cpu\",\"restartPolicy\":\"NotRequired\"}]},{\"name\":\"b\"}],"
    "\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"}]},"
    "\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\",\"startTime\":"
    "\"1970-01-01T00:00:01Z\",\"observedGeneration\":4,\"resize\":\"Deferred\","
    "\"containerStatuses\":[{\"name\":\"a\",\"restartCount\":2,\"ready\":true,"
    "\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\","
    "\"exitCode\":137,\"startedAt\":\"1970-01-01T00:00:02Z\",\"finishedAt\":"
    "\"1970-01-01T00:00:03Z\"}},\"resources\":{\"requests\":{\"cpu\":\"3\"}},"
    "\"allocatedResources\":{\"cpu\":\"4\"}},{\"name\":\"b\",\"state\":{\"waiting\":{}}}],"
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
    "\"1970-01-01T00:00:04Z\",\"observedGeneration\":9}]}}";

TEST(decodes_pods) {
    struct vpa_pod pod;
    struct vpa_error err;

    if (vpa_pod_decode(&arena, json_of(pod_text), &pod, &err) < 0)
        ck_abort_msg("%s", err.text);
    ck_assert_str_eq(pod.meta.name, "p");
    ck_assert_uint_eq(pod.container_count, 2);
    ck_assert_str_eq(pod.containers[0].resize_policy[0].resource_name, "cpu");
    ck_assert_str_eq(pod.init_containers[0].restart_policy, "Always");
    ck_assert_str_eq(pod.node_name, "n1");
    ck_assert_str_eq(pod.phase, "Running");
    ck_assert_str_eq(pod.qos_class, "Burstable");
    ck_assert_str_eq(pod.resize_status, "Deferred");
    ck_assert_int_eq(pod.observed_generation, 4);
    ck_assert(pod.resources.present && pod.start_time == vpa_time_from_unix(1, 0));

    const struct vpa_container_status *a = vpa_pod_status(&pod, "a"),
                                      *b = vpa_pod_status(&pod, "b");
    ck_assert(a->running && !a->waiting && a->ready && a->restart_count == 2);
    ck_assert(!a->terminated.present && a->last_terminated.present);
    ck_assert_str_eq(a->last_terminated.reason, "OOMKilled");
    ck_assert_int_eq(a->last_terminated.exit_code, 137);
    ck_assert(a->last_terminated.finished_at == vpa_time_from_unix(3, 0));
    ck_assert_str_eq(quantity_text(vpa_resource_find(&a->allocated, "cpu")), "4");
    ck_assert(b->waiting && !b->running && !b->resources.present && !b->allocated.present);
    ck_assert_ptr_null(vpa_pod_status(&pod, "c"));
    ck_assert_str_eq(vpa_pod_container(&pod, "b")->name, "b");
    ck_assert_ptr_null(vpa_pod_container(&pod, "c"));
    ck_assert_int_eq(vpa_pod_condition(&pod, "Ready")->observed_generation, 9);
    ck_assert_ptr_null(vpa_pod_condition(&pod, "PodScheduled"));

    struct vpa_resources of_a = vpa_pod_effective_resources(&pod, "a");
    ck_assert_str_eq(quantity_text(vpa_resource_find(&of_a.requests, "cpu")), "3");
    ck_assert(!vpa_pod_effective_resources(&pod, "b").requests.present);
    ck_assert(!vpa_pod_effective_resources(&pod, "c").present);
}

static const char *const bad_pods[] = {
    "null",
    "[]",
    "{\"metadata\":{\"labels\":{\"a\":1}}}",
    "{\"spec\":[]}",
    "{\"spec\":{\"containers\":[{\"name\":5}]}}",
    "{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"x\"}}}]}}",
    "{\"status\":{\"startTime\":\"yesterday\"}}",
    "{\"status\":{\"containerStatuses\":[{\"restartCount\":1.5}]}}",
};

TEST_EACH(refuses_pods, bad_pods) {
    struct vpa_pod pod;
    struct vpa_error err;

    ck_assert_int_lt(vpa_pod_decode(&arena, json_of(bad_pods[_i]), &pod, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

/* ---- the others ---- */

TEST(decodes_limit_ranges) {
    struct vpa_limit_range range;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_limit_range_decode(
            &arena,
            json_of(
                "{\"metadata\":{\"namespace\":\"n\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
                "\"max\":{\"cpu\":\"2\"},\"default\":{\"cpu\":\"1\"}},{\"type\":\"Pod\","
                "\"min\":{\"memory\":\"1Mi\"},\"defaultRequest\":{}}]}}"),
            &range, &err),
        0);
    ck_assert_uint_eq(range.item_count, 2);
    ck_assert_str_eq(range.items[0].type, "Container");
    ck_assert_str_eq(quantity_text(vpa_resource_find(&range.items[0].default_limit, "cpu")), "1");
    ck_assert(range.items[1].min.present && range.items[1].default_request.present &&
              !range.items[1].max.present);
    ck_assert_int_lt(vpa_limit_range_decode(&arena, json_of("[]"), &range, &err), 0);
    ck_assert_int_lt(
        vpa_limit_range_decode(&arena, json_of("{\"spec\":{\"limits\":5}}"), &range, &err), 0);
}

static const struct {
    enum vpa_controller_kind kind;
    const char *name, *plural, *api_version, *text, *selector, *error;
    bool nothing;
    int32_t replicas;
} controllers[] = {
    {VPA_KIND_DAEMON_SET, "DaemonSet", "daemonsets", "apps/v1",
     "{\"spec\":{\"selector\":{}},\"status\":{\"numberReady\":3,\"desiredNumberScheduled\":4}}", "",
     NULL, false, 0},
    {VPA_KIND_DEPLOYMENT, "Deployment", "deployments", "apps/v1",
     "{\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}", "a=b", NULL, false,
     3},
    {VPA_KIND_REPLICA_SET, "ReplicaSet", "replicasets", "apps/v1", "{\"spec\":{}}", "", NULL, true,
     0},
    {VPA_KIND_STATEFUL_SET, "StatefulSet", "statefulsets", "apps/v1",
     "{\"spec\":{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Has\"}]}}}", "",
     "\"Has\" is not a valid label selector operator", true, 0},
    {VPA_KIND_REPLICATION_CONTROLLER, "ReplicationController", "replicationcontrollers", "v1",
     "{\"spec\":{\"replicas\":2,\"selector\":{\"x\":\"y\"}}}", "x=y", NULL, false, 2},
    {VPA_KIND_REPLICATION_CONTROLLER, "ReplicationController", "replicationcontrollers", "v1",
     "{\"spec\":{\"selector\":{\"x\":5}}}", "", "x: string expected, got number", true, 0},
    {VPA_KIND_JOB, "Job", "jobs", "batch/v1",
     "{\"spec\":{\"parallelism\":5,\"selector\":{\"matchLabels\":{\"j\":\"1\"}}}}", "j=1", NULL,
     false, 5},
    {VPA_KIND_CRON_JOB, "CronJob", "cronjobs", "batch/v1",
     "{\"spec\":{\"jobTemplate\":{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"c\":\"1\"}}}}"
     "}}}",
     "c=1", NULL, false, 0},
    {VPA_KIND_CRON_JOB, "CronJob", "cronjobs", "batch/v1", "{\"spec\":{\"jobTemplate\":{}}}", "",
     NULL, true, 0},
};

TEST_EACH(decodes_controllers, controllers) {
    struct vpa_controller c;
    struct vpa_error err;
    struct vpa_buf buf;

    ck_assert_int_eq(vpa_controller_kind_parse(controllers[_i].name), controllers[_i].kind);
    ck_assert_str_eq(vpa_controller_kind_name(controllers[_i].kind), controllers[_i].name);
    ck_assert_str_eq(vpa_controller_plural(controllers[_i].kind), controllers[_i].plural);
    ck_assert_str_eq(vpa_controller_api_version(controllers[_i].kind), controllers[_i].api_version);
    ck_assert_int_eq(vpa_controller_decode(&arena, json_of(controllers[_i].text),
                                           controllers[_i].kind, &c, &err),
                     0);
    vpa_buf_init(&buf, 1000);
    vpa_selector_format(&c.selector, &buf);
    ck_assert_str_eq(vpa_buf_text(&buf), controllers[_i].selector);
    ck_assert_int_eq(c.selector.nothing, controllers[_i].nothing);
    ck_assert_int_eq(c.replicas, controllers[_i].replicas);
    ck_assert_int_eq(c.has_replicas, controllers[_i].replicas != 0);
    if (controllers[_i].error)
        ck_assert_str_eq(c.selector_error, controllers[_i].error);
    else
        ck_assert_ptr_null(c.selector_error);
    if (controllers[_i].kind == VPA_KIND_DAEMON_SET)
        ck_assert(c.number_ready == 3 && c.desired == 4);
    vpa_buf_release(&buf);
}

TEST(refuses_controllers) {
    struct vpa_controller c;
    struct vpa_error err;

    ck_assert_int_eq(vpa_controller_kind_parse("deployment"), VPA_KIND_OTHER);
    ck_assert_int_lt(vpa_controller_decode(&arena, json_of("5"), VPA_KIND_JOB, &c, &err), 0);
    ck_assert_int_lt(vpa_controller_decode(&arena, json_of("{\"spec\":{\"replicas\":\"x\"}}"),
                                           VPA_KIND_DEPLOYMENT, &c, &err),
                     0);
}

static const struct {
    const char *text, *selector;
} scales[] = {
    {"{\"spec\":{\"replicas\":3},\"status\":{\"replicas\":2,\"selector\":\"a=b\"}}", "a=b"},
    {"{\"spec\":{\"replicas\":3},\"status\":{\"replicas\":2}}", ""},
    {"{\"spec\":{\"replicas\":3},\"status\":{\"replicas\":2,\"selector\":{\"b\":\"2\",\"a\":\"1\"}}"
     "}",
     "a=1,b=2"},
    {"{\"spec\":{\"replicas\":3},\"status\":{\"replicas\":2,\"selector\":{\"b\":\"2\"},"
     "\"targetSelector\":\"x in (y)\"}}",
     "x in (y)"},
};

TEST_EACH(decodes_scales, scales) {
    struct vpa_scale scale;
    struct vpa_error err;

    ck_assert_int_eq(vpa_scale_decode(&arena, json_of(scales[_i].text), &scale, &err), 0);
    ck_assert_str_eq(scale.selector_text, scales[_i].selector);
    ck_assert(scale.spec_replicas == 3 && scale.status_replicas == 2);
    ck_assert_int_lt(vpa_scale_decode(&arena, json_of("[]"), &scale, &err), 0);
    ck_assert_int_lt(
        vpa_scale_decode(&arena, json_of("{\"status\":{\"selector\":5}}"), &scale, &err), 0);
    ck_assert_str_eq(err.text, "status.selector: object expected, got number");
    ck_assert_int_lt(
        vpa_scale_decode(&arena, json_of("{\"spec\":{\"replicas\":[]}}"), &scale, &err), 0);
}

static const char *const leases[] = {
    ("{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"l\","
     "\"namespace\":\"n\",\"uid\":\"u\",\"x\":[1.50]},\"spec\":{\"holderIdentity\":\"me\","
     "\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-08-01T12:00:00.000123Z\",\"renewTime\":"
     "\"2026-08-01T12:00:01.000000Z\",\"leaseTransitions\":0,\"strategy\":\"s\","
     "\"preferredHolder\":\"\"}}"),
    ("{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{},\"spec\":{}}"),
    ("{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"l\"},"
     "\"spec\":{\"holderIdentity\":\"\"}}"),
};

TEST_EACH(leases_round_trip, leases) {
    struct vpa_lease lease;
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    ck_assert_int_eq(vpa_lease_decode(&arena, json_of(leases[_i]), &lease, &err), 0);
    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_lease_encode(&w, &lease);
    ck_assert_str_eq(vpa_buf_text(&buf), leases[_i]);
    vpa_buf_release(&buf);
}

TEST(writes_new_leases) {
    struct vpa_lease lease = {.meta = {.name = "l", .ns = "n"},
                              .spec = {.has_holder = true,
                                       .holder = "me",
                                       .acquire_time = VPA_TIME_UNSET,
                                       .renew_time = VPA_TIME_UNSET}};
    struct vpa_error err;
    struct vpa_json_writer w;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 4096);
    vpa_json_writer_init(&w, &buf);
    vpa_lease_encode(&w, &lease);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":"
                     "{\"name\":\"l\",\"namespace\":\"n\"},\"spec\":{\"holderIdentity\":\"me\"}}");
    vpa_buf_release(&buf);
    ck_assert_int_eq(vpa_lease_decode(&arena, json_of("{}"), &lease, &err), 0);
    ck_assert_ptr_null(lease.metadata_json);
    ck_assert(!lease.spec.has_holder && !lease.spec.has_duration && !lease.spec.has_transitions);
    ck_assert_int_lt(vpa_lease_decode(&arena, json_of("1"), &lease, &err), 0);
    ck_assert_int_lt(
        vpa_lease_decode(&arena, json_of("{\"spec\":{\"renewTime\":\"2026-08-01T12:00:00Z\"}}"),
                         &lease, &err),
        0);
}

TEST(lease_metadata_is_bounded) {
    vpa_auto_free char *long_value = vpa_xcalloc(1, (1 << 20) + 1);
    struct vpa_lease lease;
    struct vpa_error err;

    memset(long_value, 'x', 1 << 20);
    ck_assert_int_lt(
        vpa_lease_decode(
            &arena, json_of(vpa_arena_printf(&arena, "{\"metadata\":{\"x\":\"%s\"}}", long_value)),
            &lease, &err),
        0);
    ck_assert_int_eq(err.code, VPA_LIMIT);
}

TEST(decodes_events) {
    struct vpa_event event;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_event_decode(
            &arena,
            json_of(
                "{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"starved_resource\":\"memory\"}},"
                "\"reason\":\"Evicted\",\"type\":\"Warning\",\"message\":\"m\",\"involvedObject\":"
                "{\"kind\":\"Pod\",\"namespace\":\"n\",\"name\":\"p\",\"uid\":\"pu\"}}"),
            &event, &err),
        0);
    ck_assert_str_eq(event.reason, "Evicted");
    ck_assert_str_eq(event.involved_kind, "Pod");
    ck_assert_str_eq(event.involved_ns, "n");
    ck_assert_str_eq(event.involved_name, "p");
    ck_assert_str_eq(event.involved_uid, "pu");
    ck_assert_str_eq(vpa_labels_get(&event.meta.annotations, "starved_resource"), "memory");
    ck_assert_int_lt(vpa_event_decode(&arena, json_of("[]"), &event, &err), 0);
    ck_assert_int_lt(vpa_event_decode(&arena, json_of("{\"reason\":1}"), &event, &err), 0);
}

static const struct {
    const char *path;
    const char *before; /* the list */
    const char *after;
} long_lists[] = {
    {"spec.containers", "{\"spec\":{\"containers\":[", "]}}"},
    {"spec.initContainers", "{\"spec\":{\"initContainers\":[", "]}}"},
    {"status.containerStatuses", "{\"status\":{\"containerStatuses\":[", "]}}"},
    {"status.conditions", "{\"status\":{\"conditions\":[", "]}}"},
    {"spec.limits", "{\"spec\":{\"limits\":[", "]}}"},
};

static const struct vpa_json *with_list(size_t row, size_t count)
{
    vpa_auto_buf buf = VPA_BUF(1 << 20);

    vpa_buf_puts(&buf, long_lists[row].before);
    for (size_t i = 0; i < count; i++)
        vpa_buf_puts(&buf, i ? ",{}" : "{}");
    vpa_buf_puts(&buf, long_lists[row].after);
    return json_of(vpa_buf_text(&buf));
}

TEST_EACH(bounds_lists, long_lists) {
    bool range = strcmp(long_lists[_i].path, "spec.limits") == 0;
    struct vpa_pod pod;
    struct vpa_limit_range limits;
    struct vpa_error err;

    for (size_t n = VPA_JSON_LIST_MAX; n <= VPA_JSON_LIST_MAX + 1; n++) {
        const struct vpa_json *object = with_list((size_t)_i, n);
        int result = range ? vpa_limit_range_decode(&arena, object, &limits, &err)
                           : vpa_pod_decode(&arena, object, &pod, &err);
        ck_assert_int_eq(result, n > VPA_JSON_LIST_MAX ? -1 : 0);
    }
    ck_assert_str_eq(err.text, vpa_arena_printf(&arena, "%s: 4097 elements, at most 4096 are read",
                                                long_lists[_i].path));
}

int main(void)
{
    return run_tests("api_objects", NULL, release_arena);
}
