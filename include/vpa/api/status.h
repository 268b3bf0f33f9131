/*
 * metav1.Status: what API servers answer when something went wrong, and what a denial carries.
 */
#ifndef VPA_API_STATUS_H
#define VPA_API_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

struct vpa_status_cause {
    const char *reason;
    const char *message;
    const char *field;
};
struct vpa_status {     /* texts: "" when absent */
    const char *status; /* "Success", "Failure" */
    const char *message;
    const char *reason;
    int32_t code;
    bool has_details;
    const char *details_name;
    const char *details_group;
    const char *details_kind;
    const char *details_uid;
    int32_t retry_after_seconds;
    const struct vpa_status_cause *causes;
    size_t cause_count;
};

/* Fails unless kind is Status. Texts are copied to the arena. */
int vpa_status_decode(struct vpa_arena *arena, const struct vpa_json *object,
                      struct vpa_status *out, struct vpa_error *err) VPA_MUST_CHECK;
/* {"metadata":{},"status":..,"message":..,"reason":..,"details":{..},"code":..}: empty members left
 * out. */
void vpa_status_encode(struct vpa_json_writer *w, const struct vpa_status *status);

#endif
