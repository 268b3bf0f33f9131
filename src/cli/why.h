/*
 * What `why` finds out about a pod, a VPA or a workload, before it is printed as a text or as JSON.
 * A VPA or workload is its pods: each has a row, the first stands for all where rules and the new
 * pod are shown.
 */
#ifndef CLI_WHY_H
#define CLI_WHY_H

#include "decisions.h"
#include "forecast.h"
#include "preview.h"
#include "vpa/api/event.h"
#include "vpa/policy/capping.h"

/* A VPA that could control the pod, by its target and its selector. */
struct why_rival {
    const struct vpa_object *vpa;
    const char *loses; /* why it is not the one; NULL: it is */
};
/* Which VPA changes a running pod and which one a new pod of its kind: the updater knows only those
 * whose mode changes running pods, or that boost; the webhook all whose mode is not Off. */
struct why_control {
    const struct vpa_object *vpa; /* of the running pod: the updater's; without one the webhook's,
                                         else the oldest; NULL: none */
    const struct vpa_object *new_pod; /* the webhook's; NULL: none */
    const char *controller;           /* "Deployment web", or "" */
    struct why_rival *rivals;
    size_t rival_count;
    size_t governing; /* rivals whose selector takes the pod */
};
/* One rule and the values behind it. */
struct why_step {
    const char *rule;
    struct vpa_resource_list values;
    const char *note;
};
struct why_container {
    const char *name;
    struct why_step *steps;
    size_t step_count;
};
struct why_event {
    const char *reason, *message, *about;
    vpa_time at;
};
/* One of the pods, in the next pass. */
struct why_row {
    const struct vpa_pod *pod;
    const struct vpa_object *vpa;
    const struct cli_verdict *verdict; /* NULL: it takes no part in passes */
    const char *action, *rule, *text;
};
/* Pods that were asked for. Rows are borrowed, as are their pods. */
struct why_subject {
    const char *kind, *ns, *name; /* "Pod", "VPA", "Deployment" */
    const struct vpa_object *vpa; /* of kind "VPA"; NULL otherwise */
    struct why_row *rows;
    size_t count;
};
#define WHY_CONDITIONS 4
struct why {
    struct why_subject subject;
    const struct vpa_pod *pod; /* the first; NULL: there is none */
    const char *idle;          /* why the VPA has no pod, where there is none */
    const struct vpa_condition *conditions[WHY_CONDITIONS]; /* true ones that say more of it */
    size_t condition_count;
    struct why_control control;
    struct why_container *containers;
    size_t container_count;
    struct cli_preview preview;
    bool has_preview;
    struct why_event *events; /* newest first */
    size_t event_count, events_left_out;
    struct cli_decisions decisions;
};

/* Everything in the arena of the command, or borrowed from the forecast. The subject has at least a
 * pod or a VPA. */
int why_examine(struct cli *cli, struct cli_forecast *forecast, const struct why_subject *subject,
                struct why *out, struct vpa_error *err) VPA_MUST_CHECK;
/* Who controls a pod, and what becomes of it. */
void why_find_control(struct cli *cli, struct cli_forecast *forecast, const struct vpa_pod *pod,
                      struct why_control *out);
void why_make_row(struct cli *cli, struct cli_forecast *forecast, const struct vpa_pod *pod,
                  const struct vpa_object *vpa, struct why_row *out);
/* What happened lately, to out->events (why_events.c). */
void why_read_events(struct cli *cli, struct why *out);

/* A table of rows, also of pods that have nothing in common. */
void why_print_rows(struct cli *cli, const struct why_row *rows, size_t count);
void why_print(struct cli *cli, struct cli_forecast *forecast, const struct why *why);
void why_print_json(struct cli *cli, struct cli_forecast *forecast, const struct why *why);
/* Resources as one text: "cpu 250m, memory 256Mi"; "-" for none. */
const char *why_resources(struct vpa_arena *arena, const struct vpa_resource_list *list);

#endif
