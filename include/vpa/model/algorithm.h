/*
 * Algorithms: ways to learn from the usage of a container and to say how much it should request.
 *
 * A VPA names its algorithm in spec.recommenders; without a name it has VPA's own. Whoever replays
 * usage (the recommender, kubectl-vpa lab) talks to all of them through the functions below and
 * does not know which one it has. Four things:
 *
 *     algorithm   what there is: a name and a list of parameters; static
 *     parameters  a value for each of them, by key, as texts come from flags and annotations
 *     method      an algorithm with its parameters, checked; immutable, shared, reference counted
 *     knowledge   what a method has learned of one container name, over all its replicas
 *
 *     struct vpa_parameters p;
 *     vpa_parameters_init(&p, vpa_algorithm_find("crane"));
 *     if (vpa_parameters_set(&p, "cpu-request-percentile", "0.95", err) < 0) ...
 *     struct vpa_method *m = vpa_method_new(&p, err);
 *     struct vpa_knowledge *k = vpa_knowledge_new(m, now);
 *     vpa_knowledge_add(k, &(struct vpa_usage){VPA_USAGE_CPU, t, pod, 250});
 *     if (vpa_knowledge_estimate(k, &(struct vpa_question){now, 1}, &estimate)) ...
 *     vpa_knowledge_free(k);
 *     vpa_method_unref(m);
 *     vpa_parameters_release(&p);
 *
 * Where the numbers come from stands in each algorithm's file and in docs/algorithms.md. The clock
 * is an argument. Single-threaded; two threads may work
 * on knowledge of two methods.
 */
#ifndef VPA_MODEL_ALGORITHM_H
#define VPA_MODEL_ALGORITHM_H

#include "vpa/json/json_writer.h"
#include "vpa/model/estimator.h"

/* ---- algorithms ---- */

/* VPA's own: the one that has no name in spec.recommenders. */
#define VPA_ALGORITHM_VPA "vpa"

struct vpa_algorithm;
/* All, VPA's own first; static. */
const struct vpa_algorithm *const *vpa_algorithms(size_t *count);
const struct vpa_algorithm *vpa_algorithm_find(const char *name); /* NULL: no such algorithm */
const char *vpa_algorithm_name(const struct vpa_algorithm *a);

/* ---- parameters ---- */

enum vpa_parameter_type {
    VPA_PARAMETER_NUMBER,   /* a decimal number */
    VPA_PARAMETER_DURATION, /* 1h30m, or whole days: 7d */
    VPA_PARAMETER_BOOL,     /* true, false */
    VPA_PARAMETER_TEXT,     /* see choices and check */
};
struct vpa_parameter {
    const char *key; /* unique within the algorithm; small letters, digits, dashes */
    enum vpa_parameter_type type;
    const char *preset; /* the default, as text */
    double least;       /* numbers and durations (in seconds): inclusive bounds */
    double most;
    const char *choices; /* texts: "lean|middle|safe"; NULL: any that check takes */
    int (*check)(const char *text, struct vpa_error *err); /* texts; NULL: choices or anything */
    const char *help;                                      /* one sentence for the flags page */
};
/* Longest text of a value: annotations can be long, lists of specifications are. */
#define VPA_PARAMETER_TEXT_MAX 4096

const struct vpa_parameter *vpa_algorithm_parameters(const struct vpa_algorithm *a, size_t *count);

/* A value for each parameter of an algorithm. Owned texts. */
struct vpa_parameters {
    const struct vpa_algorithm *algorithm;
    struct vpa_parameter_value *values; /* by place of the parameter; private */
};
void vpa_parameters_init(struct vpa_parameters *p, const struct vpa_algorithm *a); /* presets */
void vpa_parameters_release(struct vpa_parameters *p);
void vpa_parameters_copy(struct vpa_parameters *p, const struct vpa_parameters *from);
/* One value. VPA_NOT_FOUND: no such key (the text lists those there are); VPA_INVALID: what is
 * wrong with the text and what would be right. Nothing has changed then. */
int vpa_parameters_set(struct vpa_parameters *p, const char *key, const char *text,
                       struct vpa_error *err) VPA_MUST_CHECK;
/*
 * The values that the annotations of a VPA set: "<algorithm>.vpa.autoscaling.k8s.io/<key>". The
 * first wrong one (by key) is told with its annotation, and so are unknown keys; all others are
 * set.
 */
#define VPA_PARAMETER_ANNOTATION_SUFFIX ".vpa.autoscaling.k8s.io/"
/* The key of a parameter of a in the name of an annotation; NULL: it is of something else. */
const char *vpa_parameter_of_annotation(const struct vpa_algorithm *a, const char *annotation);
int vpa_parameters_annotate(struct vpa_parameters *p, const struct vpa_labels *annotations,
                            struct vpa_error *err) VPA_MUST_CHECK;
/* The texts, presets included; equal texts are equal parameters. */
const char *vpa_parameters_text(const struct vpa_parameters *p, const char *key);
bool vpa_parameters_equal(const struct vpa_parameters *a, const struct vpa_parameters *b);

/* ---- methods ---- */

struct vpa_method;
/* Copies the parameters. VPA_INVALID when they do not fit each other. NULL then. */
struct vpa_method *vpa_method_new(const struct vpa_parameters *p, struct vpa_error *err);
struct vpa_method *vpa_method_ref(struct vpa_method *m);
void vpa_method_unref(struct vpa_method *m); /* NULL is ignored */
const struct vpa_algorithm *vpa_method_algorithm(const struct vpa_method *m);
const struct vpa_parameters *vpa_method_parameters(const struct vpa_method *m);
/* How long ago a sample may be and still count: the history that is worth reading and keeping. */
vpa_duration vpa_method_memory(const struct vpa_method *m);

/* ---- knowledge ---- */

enum vpa_usage_type {
    VPA_USAGE_CPU,         /* millicores over the time before t; any number of samples */
    VPA_USAGE_MEMORY,      /* bytes at t */
    VPA_USAGE_MEMORY_PEAK, /* bytes: the most that was in use since the replica's sample before */
    VPA_USAGE_OOM,         /* killed at t for want of memory; bytes requested, or used if known */
};
struct vpa_usage {
    enum vpa_usage_type type;
    vpa_time t;
    uint64_t replica; /* whose it is: any number that tells the replicas of a container apart */
    vpa_amount amount;
};
/* Replicas of which an algorithm remembers something apart (an open interval, a last sample);
 * beyond that the one that was silent longest is forgotten. */
#define VPA_REPLICAS_MAX 1024

struct vpa_question {
    vpa_time now;
    size_t containers; /* of the pod that have a recommendation (>= 1): for minimums of pods */
};

struct vpa_knowledge;
struct vpa_knowledge *vpa_knowledge_new(struct vpa_method *m, vpa_time now); /* keeps a reference */
void vpa_knowledge_free(struct vpa_knowledge *k);                            /* NULL is ignored */
const struct vpa_method *vpa_knowledge_method(const struct vpa_knowledge *k);
/* Samples by time, those of one time in any order; one that is late counts as of the window that is
 * open where an algorithm has windows. An amount above VPA_AMOUNT_MAX counts as that. False when it
 * was refused (a negative amount; out of order, where the algorithm cares; an OOM kill that is no
 * later than the last sample of a loaded state, which has counted it): nothing has changed then. */
bool vpa_knowledge_add(struct vpa_knowledge *k, const struct vpa_usage *usage);
/* Adds what other knows of other replicas or other times; of equal algorithm and parameters. What
 * other answers stays the same, its form may change (references of decaying weights move). */
void vpa_knowledge_merge(struct vpa_knowledge *k, struct vpa_knowledge *other);
/* Adds what other knows and no history of usage can tell: OOM kills, where the algorithm keeps them
 * apart. Of equal algorithm. */
void vpa_knowledge_take_kills(struct vpa_knowledge *k, const struct vpa_knowledge *other);
/* Drops what is too old to count at now; for memory, estimates do so themselves. The cluster calls
 * it when it collects garbage, about once an hour. */
void vpa_knowledge_age(struct vpa_knowledge *k, vpa_time now);
/* False when nothing is known that an estimate could rest on: out is untouched. Bounds are in
 * order: lower <= target <= upper. */
bool vpa_knowledge_estimate(const struct vpa_knowledge *k, const struct vpa_question *question,
                            struct vpa_estimate *out);
/* No sample and no OOM has come, or all have aged. */
bool vpa_knowledge_is_empty(const struct vpa_knowledge *k);
/* The oldest and the newest sample of any kind that ever came; unset: none. */
vpa_time vpa_knowledge_first_sample(const struct vpa_knowledge *k);
vpa_time vpa_knowledge_last_sample(const struct vpa_knowledge *k);
/* CPU samples taken in so far; what has aged counts. */
int64_t vpa_knowledge_sample_count(const struct vpa_knowledge *k);

/*
 * The stored form, one JSON object:
 *
 *     {"algorithm":"crane","version":1,"firstSample":..,"lastSample":..,"samples":N,"state":{..}}
 *
 * The state is the algorithm's; its version counts its changes. A state that was saved with other
 * parameters can be loaded: an algorithm takes over what the two have in common.
 */
#define VPA_KNOWLEDGE_TEXT_MAX ((size_t)1 << 20)
void vpa_knowledge_save(const struct vpa_knowledge *k, vpa_time now, struct vpa_json_writer *w);
/* VPA_INVALID says what is wrong: not ours, another algorithm, a later version, numbers that cannot
 * be. NULL then. */
struct vpa_knowledge *vpa_knowledge_load(struct vpa_method *m, const struct vpa_json *stored,
                                         vpa_time now, struct vpa_error *err);
/* The same knowledge under other parameters of the same algorithm (saved and loaded). */
struct vpa_knowledge *vpa_knowledge_convert(const struct vpa_knowledge *k, struct vpa_method *m,
                                            vpa_time now);

#endif
