/*
 * The evaluation of a workload as Crane runs it (specification crane.md 1 to 8): configuration as
 * texts, history from whoever has it, the result as the texts that Crane stores. Its accidents are
 * kept (the first OOM record whose pod name begins with the workload's name; a completeness check
 * that only short histories pass). The algorithm `crane` has better intentions in these places:
 * docs/algorithms.md.
 *
 *     struct vpa_crane_recommender r;
 *     if (vpa_crane_recommender_init(&r, &config, &rule, err) < 0) ...
 *     if (vpa_crane_evaluate(&r, &workload, &source, &arena, &result, err) < 0) ...
 *     vpa_crane_recommender_release(&r);
 */
#ifndef TEST_CRANE_WORKLOAD_H
#define TEST_CRANE_WORKLOAD_H

#include "crane_oom.h"

struct vpa_crane_recommender {
    const struct vpa_labels *config; /* of the recommender, by key; borrowed */
    const struct vpa_labels *rule;   /* of the rule, which wins; borrowed */
    struct vpa_crane_sizes sizes;
    bool use_sizes;
    bool oom_protection;
    bool completion_check;
    double oom_ratio;
};
/* VPA_INVALID with the source's text: such a recommender cannot be made. Other keys are read when a
 * workload is evaluated. */
int vpa_crane_recommender_init(struct vpa_crane_recommender *r, const struct vpa_labels *config,
                               const struct vpa_labels *rule, struct vpa_error *err) VPA_MUST_CHECK;
void vpa_crane_recommender_release(struct vpa_crane_recommender *r);

struct vpa_crane_container {
    const char *name;
    struct vpa_quantity cpu; /* current requests; 0: none */
    struct vpa_quantity memory;
};
struct vpa_crane_workload {
    const char *kind;
    const char *name;
    const char *ns;
    const struct vpa_crane_container *containers;
    size_t container_count;
    vpa_time now; /* when it is evaluated */
};

/* Where history comes from. */
struct vpa_crane_source {
    void *ctx;
    /* Calls take with every sample of every series. */
    int (*history)(void *ctx, const char *query, const struct vpa_crane_window *window,
                   void (*take)(void *take_ctx, double value), void *take_ctx,
                   struct vpa_error *err);
    /* The records of OOM kills, in stored order. */
    int (*oom_records)(void *ctx, const struct vpa_crane_oom **items, size_t *count,
                       struct vpa_error *err);
};
struct vpa_crane_result {    /* in the arena */
    const char *value;       /* YAML */
    const char *recommended; /* JSON, and so is the next */
    const char *current;
    const char *action; /* Patch or None */
};
/* VPA_INVALID: "no enough metrics" and other texts of the source; errors of the history as they
 * are. One container without a value fails the workload. */
int vpa_crane_evaluate(const struct vpa_crane_recommender *r, const struct vpa_crane_workload *w,
                       const struct vpa_crane_source *source, struct vpa_arena *arena,
                       struct vpa_crane_result *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
