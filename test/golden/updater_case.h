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

#endif
