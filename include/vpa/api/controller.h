/*
 * Workload controllers: what is read of the seven well-known kinds and of Scale objects.
 */
#ifndef VPA_API_CONTROLLER_H
#define VPA_API_CONTROLLER_H

#include "vpa/api/labels.h"
#include "vpa/api/meta.h"

enum vpa_controller_kind {
    VPA_KIND_DAEMON_SET,
    VPA_KIND_DEPLOYMENT,
    VPA_KIND_REPLICA_SET,
    VPA_KIND_STATEFUL_SET,
    VPA_KIND_REPLICATION_CONTROLLER,
    VPA_KIND_JOB,
    VPA_KIND_CRON_JOB,
    VPA_KIND_COUNT,
    VPA_KIND_OTHER = VPA_KIND_COUNT, /* not well-known */
};
/* By the kind's text alone, as upstream recognises them; VPA_KIND_OTHER otherwise. */
enum vpa_controller_kind vpa_controller_kind_parse(const char *kind);
/* "Deployment", "apps/v1", "deployments"; kind below VPA_KIND_COUNT. */
const char *vpa_controller_kind_name(enum vpa_controller_kind kind);
const char *vpa_controller_api_version(enum vpa_controller_kind kind);
const char *vpa_controller_plural(enum vpa_controller_kind kind);

struct vpa_controller {
    struct vpa_meta meta;
    enum vpa_controller_kind kind;
    /* Selector of the pods: spec.selector; for CronJobs the template's labels as equalities. */
    struct vpa_selector selector;
    /* Set when the selector cannot be converted: the text of the conversion error; the selector is
     * then "nothing". The object itself is still good for the owner walk. */
    const char *selector_error;
    bool has_replicas;
    int32_t replicas;     /* spec.replicas (Job: spec.parallelism) */
    int32_t number_ready; /* DaemonSet: status.numberReady */
    int32_t desired;      /* DaemonSet: status.desiredNumberScheduled */
};
/* kind: which list the object came from (items of lists carry no kind). */
int vpa_controller_decode(struct vpa_arena *arena, const struct vpa_json *object,
                          enum vpa_controller_kind kind, struct vpa_controller *out,
                          struct vpa_error *err) VPA_MUST_CHECK;

/* A Scale of autoscaling/v1, or of extensions/v1beta1, apps/v1beta1, apps/v1beta2. */
struct vpa_scale {
    struct vpa_meta meta;
    int32_t spec_replicas;
    int32_t status_replicas;
    const char *selector_text; /* status.selector, maps turned into text; "" when absent */
};
int vpa_scale_decode(struct vpa_arena *arena, const struct vpa_json *object, struct vpa_scale *out,
                     struct vpa_error *err) VPA_MUST_CHECK;

#endif
