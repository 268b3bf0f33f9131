/*
 * One table maps the seven kinds to their API version and plural. A selector is decoded for its
 * use: one that cannot be used is kept as an error text beside the object, because an owner without
 * a usable selector is still an owner.
 */
#include "vpa/api/controller.h"

#include <string.h>

#include "decoders.h"

/* Longest selector text made of a map of labels. */
#define SELECTOR_TEXT_MAX (1 << 20)

static const struct {
    const char *kind;
    const char *api_version;
    const char *plural;
} kinds[VPA_KIND_COUNT] = {
    [VPA_KIND_DAEMON_SET] = {"DaemonSet", "apps/v1", "daemonsets"},
    [VPA_KIND_DEPLOYMENT] = {"Deployment", "apps/v1", "deployments"},
    [VPA_KIND_REPLICA_SET] = {"ReplicaSet", "apps/v1", "replicasets"},
    [VPA_KIND_STATEFUL_SET] = {"StatefulSet", "apps/v1", "statefulsets"},
    [VPA_KIND_REPLICATION_CONTROLLER] = {"ReplicationController", "v1", "replicationcontrollers"},
    [VPA_KIND_JOB] = {"Job", "batch/v1", "jobs"},
    [VPA_KIND_CRON_JOB] = {"CronJob", "batch/v1", "cronjobs"},
};

enum vpa_controller_kind vpa_controller_kind_parse(const char *kind)
{
    for (size_t i = 0; i < VPA_COUNT(kinds); i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            return (enum vpa_controller_kind)i;
    return VPA_KIND_OTHER;
}

const char *vpa_controller_kind_name(enum vpa_controller_kind kind)
{
    return kinds[kind].kind;
}

const char *vpa_controller_api_version(enum vpa_controller_kind kind)
{
    return kinds[kind].api_version;
}

const char *vpa_controller_plural(enum vpa_controller_kind kind)
{
    return kinds[kind].plural;
}

/* ---- workloads ---- */

static const struct vpa_json_field controller_fields[] = {
    VPA_JSON_META(struct vpa_controller, meta),
    VPA_JSON_PRESENT(struct vpa_controller, has_replicas, "spec.replicas"),
    VPA_JSON_INT32(struct vpa_controller, replicas, "spec.replicas", 0),
    VPA_JSON_INT32(struct vpa_controller, number_ready, "status.numberReady", 0),
    VPA_JSON_INT32(struct vpa_controller, desired, "status.desiredNumberScheduled", 0),
};
static const struct vpa_json_shape controller_shape =
    VPA_JSON_SHAPE(struct vpa_controller, controller_fields);

static const struct vpa_json_field job_fields[] = {
    VPA_JSON_META(struct vpa_controller, meta),
    VPA_JSON_PRESENT(struct vpa_controller, has_replicas, "spec.parallelism"),
    VPA_JSON_INT32(struct vpa_controller, replicas, "spec.parallelism", 0),
};
static const struct vpa_json_shape job_shape = VPA_JSON_SHAPE(struct vpa_controller, job_fields);

static int decode_map_selector(struct vpa_arena *arena, const struct vpa_json *map,
                               struct vpa_selector *out, struct vpa_error *err)
{
    struct vpa_labels labels;

    if (vpa_labels_decode(arena, map, &labels, err) < 0)
        return -1;
    return vpa_selector_from_labels(arena, &labels, out, err);
}

/* A selector that does not convert leaves the object usable: owners are still walked through it. */
static void decode_pod_selector(struct vpa_arena *arena, const struct vpa_json *object,
                                struct vpa_controller *controller)
{
    struct vpa_error err;
    int result;

    switch (controller->kind) {
    case VPA_KIND_CRON_JOB:
        result = decode_map_selector(
            arena, vpa_json_at(object, "spec.jobTemplate.spec.template.metadata.labels"),
            &controller->selector, &err);
        break;
    case VPA_KIND_REPLICATION_CONTROLLER:
        result = decode_map_selector(arena, vpa_json_at(object, "spec.selector"),
                                     &controller->selector, &err);
        break;
    default:
        result = vpa_selector_decode(arena, vpa_json_at(object, "spec.selector"),
                                     &controller->selector, &err);
        break;
    }
    if (result == 0)
        return;
    controller->selector = (struct vpa_selector){.nothing = true};
    controller->selector_error = vpa_arena_strdup(arena, err.text);
}

int vpa_controller_decode(struct vpa_arena *arena, const struct vpa_json *object,
                          enum vpa_controller_kind kind, struct vpa_controller *out,
                          struct vpa_error *err)
{
    bool is_job = kind == VPA_KIND_JOB || kind == VPA_KIND_CRON_JOB;
    struct vpa_controller controller = {.kind = kind};

    if (vpa_json_decode_object(arena, object, is_job ? &job_shape : &controller_shape, &controller,
                               err) < 0)
        return -1;
    decode_pod_selector(arena, object, &controller);
    *out = controller;
    return 0;
}

/* ---- scale ---- */

static const struct vpa_json_field scale_fields[] = {
    VPA_JSON_META(struct vpa_scale, meta),
    VPA_JSON_INT32(struct vpa_scale, spec_replicas, "spec.replicas", 0),
    VPA_JSON_INT32(struct vpa_scale, status_replicas, "status.replicas", 0),
    VPA_JSON_STRING(struct vpa_scale, selector_text, "status.targetSelector", 0),
};
static const struct vpa_json_shape scale_shape = VPA_JSON_SHAPE(struct vpa_scale, scale_fields);

/* autoscaling/v1 has a text; the older kinds have a map and, before it, the text targetSelector. */
static int decode_scale_selector(struct vpa_arena *arena, const struct vpa_json *node,
                                 struct vpa_scale *scale, struct vpa_error *err)
{
    struct vpa_labels labels;
    vpa_auto_buf text = VPA_BUF(SELECTOR_TEXT_MAX);

    if (*scale->selector_text)
        return 0;
    if (vpa_json_string(node)) {
        scale->selector_text = vpa_arena_strdup(arena, vpa_json_string(node));
        return 0;
    }
    if (vpa_labels_decode(arena, node, &labels, err) < 0)
        return vpa_wrap(err, "status.selector");
    vpa_labels_key(&labels, &text);
    scale->selector_text = vpa_arena_strdup(arena, vpa_buf_text(&text));
    return 0;
}

int vpa_scale_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_scale *out,
                     struct vpa_error *err)
{
    struct vpa_scale scale;

    if (vpa_json_decode_object(arena, object, &scale_shape, &scale, err) < 0 ||
        decode_scale_selector(arena, vpa_json_at(object, "status.selector"), &scale, err) < 0)
        return -1;
    *out = scale;
    return 0;
}
