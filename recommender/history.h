/*
 * The history that a recommender started with --storage=prometheus begins with: samples of every
 * container and the last labels of every pod, collected from three answers and then fed to the
 * model once.
 *
 *     struct history history;
 *     history_init(&history, plan);
 *     struct history_adding adding = {&history, kind};            // for each kind
 *     if (prom_parse_answer(kind, status, body, len, history_add, &adding, &err) < 0)
 *         ...                                                     // all of it is dropped
 *     history_finish(&history);
 *     history_pods(&history), history_containers(pod)
 *
 * Memory: 16 bytes per sample, until released; of answers that are read as they come nothing else
 * but the series in hand.
 */
#ifndef RECOMMENDER_HISTORY_H
#define RECOMMENDER_HISTORY_H

#include "prometheus.h"

#include "vpa/base/table.h"
#include "vpa/model/cluster.h"

/* Longest answer that is read: 8 days of 20,000 containers at one hour are about 150 MB. */
#define HISTORY_ANSWER_MAX ((size_t)512 << 20)

struct history_sample {
    int64_t millis; /* Unix time */
    int64_t amount; /* vpa_amount; INT64_MIN for a NaN, which the model refuses */
};
struct history_list {
    struct history_sample *items;
    size_t count;
    size_t capacity;
};
struct history_container {
    const char *name;
    struct history_list cpu;
    struct history_list memory;
};
struct history_pod {
    const char *ns;
    const char *name;
    struct vpa_labels labels;
    vpa_time last_seen; /* unset without labels */
    struct vpa_table containers;
};
struct history {
    const struct prom_plan *plan; /* borrowed */
    struct vpa_arena arena;       /* texts, pods, containers */
    struct vpa_table pods;
    const char *warning; /* the first that came with an answer; NULL: none */
};

void history_init(struct history *history, const struct prom_plan *plan);
void history_release(struct history *history);
/* A prom_series_fn that takes the series of one answer in; ctx is a struct history_adding. Answers
 * come in the order of enum prom_kind. VPA_INVALID: the history is of no use. */
struct history_adding {
    struct history *history;
    enum prom_kind kind;
};
int history_add(void *adding, const struct prom_series *series,
                struct vpa_error *err) VPA_MUST_CHECK;
/* Puts every list in order of time; equal times stay in the order of the answer. */
void history_finish(struct history *history);
/* Pods by namespace and name, containers by name; heap arrays of table->count that the caller
 * frees. */
struct history_pod **history_pods(const struct history *history);
struct history_container **history_containers(const struct history_pod *pod);

struct history_size {
    size_t containers;
    size_t cpu, memory; /* samples */
    vpa_time oldest;    /* unset: there is none */
};
struct history_size history_size(const struct history *history);

/* Puts pods, containers and samples into the model, and marks the pods as deleted: those that are
 * still alive come back with the list of pods. */
void history_feed(const struct history *history, struct vpa_cluster *cluster, vpa_time now);
/* The same when the model has newer samples already: they stay, and so do the pods. */
void history_feed_late(const struct history *history, struct vpa_cluster *cluster, vpa_time now);

#endif
