/*
 * What a kind of policy implements, and their configurations; for lab_policy*.c.
 *
 * Calls come window by window: cpu for each sample, memory at most once, close, then answer for the
 * window that begins next.
 *
 * Policies that learn CPU and memory apart, each from the windows of one resource, implement that
 * one resource only, as a learner; lab_learners_ops is the policy around two of them.
 */
#ifndef CLI_LAB_POLICY_OPS_H
#define CLI_LAB_POLICY_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "vpa/model/estimator.h"
#include "vpa/model/plumb.h"

struct lab_policy;
struct lab_allocation {
    double cpu;    /* cores; NaN while unknown */
    double memory; /* bytes; the same */
};

struct lab_policy_ops {
    void *(*create)(const struct lab_policy *policy);
    void (*destroy)(void *state);
    void (*cpu)(void *state, int64_t window, double cores);
    /* oom: there was a kill at a limit of `peak` bytes; more than that was wanted. */
    void (*memory)(void *state, int64_t window, double peak, bool oom);
    void (*close)(void *state, int64_t window);
    void (*answer)(void *state, int64_t second, struct lab_allocation *out);
};

struct lab_learner_ops {
    void *(*create)(const void *config, enum vpa_kind kind);
    void (*destroy)(void *learner);
    void (*add)(void *learner, int64_t window, double value);
    /* Memory only, instead of add: a kill at this limit. */
    void (*kill)(void *learner, int64_t window, double limit);
    void (*close)(void *learner, int64_t window);
    /* For the window that begins at this second; NaN while unknown. */
    double (*limit)(void *learner, int64_t second);
};
extern const struct lab_policy_ops lab_learners_ops;

struct lab_policy {
    const char *name;
    const struct lab_policy_ops *ops;
    const struct lab_learner_ops *learner; /* of lab_learners_ops; NULL with others */
    const void *config;
};

extern const struct lab_policy_ops lab_vpa_ops;
/* Percentiles and minimums of struct vpa_estimator that differ from upstream's default. */
struct lab_vpa_config {
    double percentile;
    bool no_minimum;
};
void lab_vpa_estimator(const struct lab_vpa_config *c, struct vpa_estimator *out);

extern const struct lab_learner_ops lab_window_learner;
struct lab_window_config {
    bool average; /* of CPU */
    double percentile[VPA_KINDS];
    double max_share[VPA_KINDS];
};

extern const struct lab_policy_ops lab_knowledge_ops;
struct lab_knowledge_config {
    const char *algorithm; /* of model/algorithm.h */
    const char *key;       /* a parameter that is not as preset; NULL: none */
    const char *value;
};

extern const struct lab_learner_ops lab_argmin_learner;
struct lab_argmin_config {
    bool distances;
};

extern const struct lab_learner_ops lab_plumb_learner;
struct lab_plumb_config {
    enum vpa_plumb_risk risk;
};

#endif
