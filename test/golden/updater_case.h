/*
 * What the four sets of the updater share: settings from a case's flags and gates, and its objects.
 */
#ifndef UPDATER_CASE_H
#define UPDATER_CASE_H

#include "../../updater/config.h"
#include "golden.h"
#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/policy/capping.h"
#include "vpa/policy/disruption.h"

/* Settings of the case, read by the product's own parser; gates that are not named are off. */
struct updater_config updater_case_config(struct golden_case *c);
vpa_time updater_case_time(struct golden_case *c, const struct vpa_json *node, const char *what);
vpa_duration updater_case_duration(struct golden_case *c, const struct vpa_json *node,
                                   const char *what);
struct vpa_object *updater_case_vpa(struct golden_case *c, const struct vpa_json *node);
struct vpa_pod *updater_case_pod(struct golden_case *c, const struct vpa_json *node);
struct vpa_namespace_limits updater_case_limits(struct golden_case *c,
                                                const struct vpa_json *nodes);
/* A recommendation in the form of status.recommendation. */
struct vpa_recommendation updater_case_recommendation(struct golden_case *c,
                                                      const struct vpa_json *node);
/* Whether both are quantities, and the same numerically. */
bool updater_case_same_quantity(struct golden_case *c, const struct vpa_json *a,
                                const struct vpa_json *b);
/* ["a","b"] as JSON text. */
struct text_list {
    const char **items;
    size_t count;
    size_t capacity;
};
void text_list_add(struct golden_case *c, struct text_list *list, const char *text);
const char *text_list_json(struct golden_case *c, const struct text_list *list);

/* What may differ under the decisions that the four sets are tagged with; sets of the updater share
 * it. */
extern const struct golden_licence updater_licences[];

/* Decisions that came after the tags: what the case that runs now met. The first one counts. */
void updater_case_begin(void);
void updater_case_begin_pass(size_t number);
void updater_case_met(const char *decision);
/* Whether that pass came before the one in which the decision was met. */
bool updater_case_is_before(size_t number);
const char *updater_case_touches(struct golden_case *c);
/* Notes U20 and U26 for a VPA with its live pods. */
void updater_case_look(const struct vpa_object *vpa, const struct vpa_pod *const *pods,
                       size_t count, const struct vpa_disruption_options *options);

/*
 * Decisions undone, for a second run of the case in which we act as the reference does. While
 * that is so, objects are changed before a pass looks at them, and groups after they were made.
 */
void updater_case_undone(struct golden_case *c, void (*run)(struct golden_case *c));
bool updater_case_is_undone(void);
/* S1, U20, updater.md 8.1 and 15.3. The pods and the VPA are the caches' own. */
void updater_case_undo_objects(struct golden_case *c, const struct vpa_object *vpa,
                               const struct vpa_pod *const *pods, size_t count);
/* U8, U26. */
void updater_case_undo_groups(struct golden_case *c, struct vpa_disruption *d, size_t pods);

/*
 * Checks the precondition of an eviction, or the `test` operations at the head of a patch, and
 * returns the body without them, as the reference writes it. pod: the object that was decided on;
 * the operations must name its UID, then exactly the resource values that the rest replaces. A
 * difference is recorded otherwise.
 */
const char *updater_case_unguarded(struct golden_case *c, const struct vpa_json *pod,
                                   const char *body);

#endif
