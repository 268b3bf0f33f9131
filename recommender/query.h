/*
 * POST /recommendedPodResources on the plain listener: a RecommendationQuery (query_object.h) with
 * a pod, existing or not, is answered with what its containers are recommended now.
 *
 *     struct query *q = query_new(loop, owners);
 *     vpa_observe_serve(observe, QUERY_PATH, query_answer, q);
 *     // per pass, on the loop
 *     query_begin(q, count);
 *     query_add(q, vpa, selector, &recommendation);    // each VPA of this recommender
 *     query_add_foreign(q, vpa, selector);             // each of another one
 *     query_end(q);                                    // from here on this is answered
 *
 * The model changes in passes only, so what a pass computed, post-processors and container policies
 * included, is the live model until the next one. It is put in an immutable snapshot; queries are
 * answered from the newest on the listener's thread and neither wait for a pass nor hold one up.
 * Owners are looked up in a view that is renewed between passes as well, because a pod of a new
 * ReplicaSet comes seconds after it.
 *
 * Whose recommendation it is (api.md 12.1): with a controller, the VPA that controls the pod by
 * the rules of the webhook, whatever its mode and its recommender; without one, the strongest VPA
 * of this recommender whose selector matches. A VPA of another recommender, one whose newest
 * version cannot be read and one that awaits its history have no recommendation.
 *
 * The same is answered to the resource recommendationqueries of an aggregated API (query_api.h).
 *
 * Cost: two snapshots while one replaces the other, about 1 KiB per VPA and as much per container.
 * A query with a controller is a few look-ups; one without is linear in the VPAs of its namespace.
 */
#ifndef RECOMMENDER_QUERY_H
#define RECOMMENDER_QUERY_H

#include "vpa/api/vpa.h"
#include "vpa/kube/owner.h"
#include "vpa/net/http_server.h"
#include "vpa/net/loop.h"

#define QUERY_PATH "/recommendedPodResources"
/* A body of VPA_SERVER_BODY_MAX, of which every byte is escaped, and the recommendations. */
#define QUERY_ANSWER_MAX (6 * VPA_SERVER_BODY_MAX + ((size_t)16 << 20))

struct query;
/* owners: borrowed, tells of its changes to nobody else; NULL: pods have no known controllers. */
struct query *query_new(struct vpa_loop *loop, struct vpa_owners *owners);
/* Not while query_answer() may run. NULL is allowed. */
void query_free(struct query *q);

/* A new snapshot of at most so many VPAs. Everything added is copied. */
void query_begin(struct query *q, size_t capacity);
/* selector: NULL while the target is not known; rec: NULL or without containers: there is none. */
void query_add(struct query *q, const struct vpa_object *vpa, const struct vpa_selector *selector,
               const struct vpa_recommendation *rec);
void query_add_foreign(struct query *q, const struct vpa_object *vpa,
                       const struct vpa_selector *selector);
/* Becomes what is answered from. */
void query_end(struct query *q);
/* Is forgotten; what was answered from before stays. */
void query_drop(struct query *q);

/* A vpa_server_fn, ctx is the struct query; any thread. 503 until the first query_end(). */
void query_answer(void *ctx, const struct vpa_server_request *request,
                  struct vpa_server_response *response);
/* The same for a query that was created in a namespace, which is answered with 201. */
void query_answer_in(struct query *q, const char *ns, const struct vpa_server_request *request,
                     struct vpa_server_response *response);
/* A metav1.Status as the answer; returns the reason. */
const char *query_refuse(struct vpa_server_response *response, int status, const char *reason,
                         const char *message);

#endif
