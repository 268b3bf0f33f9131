/*
 * RecommendationQuery, recommendation.autoscaling.k8s.io/v1alpha1 (api.md 12.1 of the
 * specification): a pod, existing or not, and what its containers are recommended.
 *
 *     struct query_object query;
 *     if (query_object_decode(&arena, body, len, &query, &err) < 0) ...   // 400
 *     query_object_encode(&buf, &query, recommendation, NULL);
 *
 * Anybody who reaches the listener writes one, so all that is read is bounded: the body by the
 * server, values by the JSON reader, containers by VPA_JSON_LIST_MAX. Of the pod only namespace,
 * names, labels, ownerReferences and the names of its containers are read; whatever else it holds
 * is given back as it came.
 */
#ifndef RECOMMENDER_QUERY_OBJECT_H
#define RECOMMENDER_QUERY_OBJECT_H

#include "vpa/api/vpa.h"

#define QUERY_GROUP "recommendation.autoscaling.k8s.io"
#define QUERY_VERSION "v1alpha1"
#define QUERY_RESOURCE "recommendationqueries"
#define QUERY_API_VERSION QUERY_GROUP "/" QUERY_VERSION
#define QUERY_KIND "RecommendationQuery"

struct query_object {
    const struct vpa_json *metadata; /* of the query, NULL when absent; given back */
    const struct vpa_json *pod;      /* given back */
    struct vpa_meta pod_meta;
    const char *ns; /* the pod's, else the query's, else "default" */
    const char *const *containers;
    size_t container_count;
};

/* Everything lives in the arena. VPA_INVALID: no JSON, another apiVersion or kind, no spec.pod, or
 * a member that is read and has the wrong type. VPA_LIMIT: more than is read. */
int query_object_decode(struct vpa_arena *arena, const char *body, size_t len,
                        struct query_object *out, struct vpa_error *err) VPA_MUST_CHECK;
/* It was asked in this namespace: VPA_INVALID when the query or its pod names another one. */
int query_object_place(struct query_object *query, const char *ns,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* "<namespace>/<name>"; without a name "<generateName>%". In the arena. */
const char *query_object_pod(struct vpa_arena *arena, const struct query_object *query);
/* Whether the recommendation is for any of the pod's containers. */
bool query_object_concerns(const struct query_object *query, const struct vpa_recommendation *rec);

/* The answer: with error NULL the recommendation, in the order of the pod's containers; else the
 * error. The buffer tells whether there was room. */
void query_object_encode(struct vpa_buf *out, const struct query_object *query,
                         const struct vpa_recommendation *rec, const char *error);
/* A metav1.Status for what is no query. reason: one of Kubernetes', "BadRequest". */
void query_object_encode_failure(struct vpa_buf *out, int code, const char *reason,
                                 const char *message);

#endif
