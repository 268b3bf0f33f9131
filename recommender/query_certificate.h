/*
 * --recommendation-api-manage-certificates: the certificate of the recommendation API is made,
 * shared and rotated by the replicas themselves (certificate_manager.h), and the caBundle of the
 * APIService follows (api_service.h). The replica that leads writes, the others take what it wrote.
 *
 *     struct query_certificate *c = query_certificate_new(&options);
 *     if (query_certificate_is_due(c)) {
 *         query_certificate_work(c);                                       // pumps the loop
 *         const struct vpa_tls_pair *pair = query_certificate_next(c, served_pem);
 *         if (pair) ...                                                    // serve it
 *     }
 */
#ifndef RECOMMENDER_QUERY_CERTIFICATE_H
#define RECOMMENDER_QUERY_CERTIFICATE_H

#include "vpa/daemon/certificate_store.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"
#include "vpa/net/tls.h"

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

#endif
