/*
 * Items are decoded where they stand in the document. Amounts go through quantities, not doubles,
 * and are rounded up once.
 */
#include "vpa/api/metrics_api.h"

#include <string.h>

#include "vpa/api/resources.h"
#include "vpa/json/json_decode.h"

/* ---- metrics.k8s.io ---- */

static int decode_window(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                         struct vpa_error *err)
{
    vpa_duration *window = out;
    const char *text = vpa_json_string(node);

    (void)arena;
    *window = 0;
    if (vpa_json_type(node) == VPA_JSON_ABSENT)
        return 0;
    if (!text)
        return vpa_json_wrong_type(node, "duration", err); /* null too, as upstream */
    return vpa_duration_parse(text, window, err);
}

static int decode_usage(struct vpa_arena *arena, const struct vpa_json *usage,
                        struct vpa_container_metrics *out, struct vpa_error *err)
{
    struct vpa_quantity quantity;

    if (!vpa_json_is_null(usage) && !vpa_json_is_object(usage))
        return vpa_json_wrong_type(usage, "object", err);
    vpa_json_foreach (member, usage) {
        const char *name = vpa_json_name(member);

        if (vpa_quantity_decode(arena, member, &quantity, err) < 0)
            return vpa_wrap(err, "%s", name);
        if (strcmp(name, VPA_CPU) == 0)
            out->cpu_millis = vpa_quantity_milli_value(&quantity);
        else if (strcmp(name, VPA_MEMORY) == 0)
            out->memory_bytes = vpa_quantity_value(&quantity);
    }
    return 0;
}

static int decode_container(struct vpa_arena *arena, const struct vpa_json *node,
                            struct vpa_container_metrics *out, struct vpa_error *err)
{
    const struct vpa_json *name = vpa_json_find(node, "name");

    *out = (struct vpa_container_metrics){.name = ""};
    if (!vpa_json_is_null(node) && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (vpa_json_string(name))
        out->name = vpa_json_string(name);
    else if (!vpa_json_is_null(name))
        return vpa_json_wrong_type(name, "string", err);
    return decode_usage(arena, vpa_json_find(node, "usage"), out, err);
}

static const struct vpa_json_field pod_fields[] = {
    VPA_JSON_STRING(struct vpa_pod_metrics, ns, "metadata.namespace", VPA_JSON_BORROW),
    VPA_JSON_STRING(struct vpa_pod_metrics, name, "metadata.name", VPA_JSON_BORROW),
    VPA_JSON_TIME(struct vpa_pod_metrics, timestamp, "timestamp", 0),
    VPA_JSON_CUSTOM(struct vpa_pod_metrics, window, "window", decode_window),
};
static const struct vpa_json_shape pod_shape = VPA_JSON_SHAPE(struct vpa_pod_metrics, pod_fields);

int vpa_pod_metrics_decode(struct vpa_arena *arena, const struct vpa_json *item,
                           struct vpa_pod_metrics *out, struct vpa_error *err)
{
    const struct vpa_json *containers = vpa_json_find(item, "containers");
    struct vpa_pod_metrics metrics;
    struct vpa_container_metrics *all = NULL;
    size_t count = vpa_json_count(containers), i = 0;

    if (vpa_json_decode_object(arena, item, &pod_shape, &metrics, err) < 0)
        return -1;
    if (!vpa_json_is_null(containers) && !vpa_json_is_array(containers)) {
        vpa_json_wrong_type(containers, "array", err);
        return vpa_wrap(err, "containers");
    }
    if (count)
        all = vpa_arena_alloc(arena, count * sizeof(*all));
    vpa_json_foreach (node, containers) {
        if (decode_container(arena, node, &all[i], err) < 0)
            return vpa_wrap(err, "containers[%zu]", i);
        i++;
    }
    metrics.containers = all;
    metrics.container_count = count;
    *out = metrics;
    return 0;
}

/* ---- external.metrics.k8s.io ---- */

static int keep_labels(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                       struct vpa_error *err)
{
    const struct vpa_json **labels = out;

    (void)arena;
    if (!vpa_json_is_null(node) && !vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    *labels = node;
    return 0;
}

VPA_JSON_DECODER(decode_value, vpa_quantity_decode)

static int decode_seconds(struct vpa_arena *arena, const struct vpa_json *node, void *out,
                          struct vpa_error *err)
{
    vpa_duration *window = out;
    int64_t seconds = 0;

    (void)arena;
    if (!vpa_json_is_null(node) && !vpa_json_int64(node, &seconds))
        return vpa_json_wrong_type(node, "integer", err);
    if (__builtin_mul_overflow(seconds, VPA_SECOND, window))
        *window = seconds < 0 ? INT64_MIN : INT64_MAX;
    return 0;
}

static const struct vpa_json_field external_fields[] = {
    VPA_JSON_STRING(struct vpa_external_metric, metric_name, "metricName", VPA_JSON_BORROW),
    VPA_JSON_CUSTOM(struct vpa_external_metric, labels, "metricLabels", keep_labels),
    VPA_JSON_TIME(struct vpa_external_metric, timestamp, "timestamp", 0),
    VPA_JSON_PRESENT(struct vpa_external_metric, has_window, "window"),
    VPA_JSON_CUSTOM(struct vpa_external_metric, window, "window", decode_seconds),
    VPA_JSON_CUSTOM(struct vpa_external_metric, value, "value", decode_value),
};
static const struct vpa_json_shape external_shape =
    VPA_JSON_SHAPE(struct vpa_external_metric, external_fields);

int vpa_external_metrics_decode(struct vpa_arena *arena, const struct vpa_json *list,
                                const struct vpa_external_metric **items, size_t *count,
                                struct vpa_error *err)
{
    const void *all;

    if (!vpa_json_is_object(list))
        return vpa_json_wrong_type(list, "object", err);
    if (vpa_json_decode_array(arena, vpa_json_find(list, "items"), &external_shape, &all, count,
                              err) < 0)
        return vpa_wrap(err, "items");
    *items = all;
    return 0;
}
