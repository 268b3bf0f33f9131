/*
 * --recommendation-api-manage-certificates: the certificate of the recommendation API is made,
 * shared and rotated by the replicas themselves (certificate_manager.h), and the caBundle of the
 * APIService by which API servers find it follows. The replica that leads writes, the others take
 * what it wrote.
 *
 *     struct query_certificate *c = query_certificate_new(&options);
 *     if (query_certificate_is_due(c)) {
 *         query_certificate_work(c);                                       // pumps the loop
 *         const struct vpa_tls_pair *pair = query_certificate_next(c, served_pem);
 *         if (pair) ...                                                    // serve it
 *     }
 *
 * The APIService is the user's, or Helm's: it is neither made nor changed but for spec.caBundle,
 * and that only when no injector of cert-manager fills it in. A write names the version that it
 * rests on. There is no fight: the same bundle is written once in API_SERVICE_PAUSE at most. Each
 * new reason why it is not right and stays so is said once, in the log and as a Warning event of
 * the APIService.
 */
#ifndef RECOMMENDER_QUERY_CERTIFICATE_H
#define RECOMMENDER_QUERY_CERTIFICATE_H

#include "query_object.h"
#include "vpa/daemon/certificate_store.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"
#include "vpa/net/tls.h"

#define API_SERVICE_NAME "v1alpha1." QUERY_GROUP
#define API_SERVICE_PATH "/apis/apiregistration.k8s.io/v1/apiservices/" API_SERVICE_NAME
#define API_SERVICE_PAUSE VPA_MINUTE
#define QUERY_CERTIFICATE_LOOK (10 * VPA_SECOND) /* at the APIService */

struct query_certificate_options { /* borrowed */
    struct vpa_kube_client *client;
    const char *ns; /* of Secret and Service */
    const char *secret;
    const char *service;
    vpa_duration lifetime;
    bool (*may_write)(void *ctx); /* whether this replica leads */
    void *ctx;
    struct vpa_events *events; /* NULL: none */
};
struct query_certificate;
struct query_certificate *query_certificate_new(const struct query_certificate_options *options);
void query_certificate_free(struct query_certificate *c); /* NULL is allowed */

bool query_certificate_is_due(const struct query_certificate *c);
/* Looks at Secret and APIService and takes the steps that are due. What cannot be done is said, as
 * a Warning event too, counted and tried again. A server that does not answer holds it up for
 * VPA_CERTIFICATE_STORE_TIMEOUT. */
void query_certificate_work(struct query_certificate *c);
/* What to serve in the place of served_pem (the chain, NULL: nothing yet); NULL: nothing else. A
 * new pair waits until the API server would take it, as long as it takes the one before. Borrowed
 * until the next work. */
const struct vpa_tls_pair *query_certificate_next(const struct query_certificate *c,
                                                  const char *served_pem);
/* Whether API servers take what is served, by the caBundle that was read last. */
bool query_certificate_is_taken(const struct query_certificate *c, const char *served_pem);

/* A Warning event of the APIService, about the certificate behind it. Not when another line has
 * said already what is behind it. events NULL: nothing. */
void query_certificate_warn(struct vpa_events *events, const char *reason,
                            const struct vpa_error *err);

#endif
