/*
 * The APIService by which API servers find the recommendation API: its caBundle, read and kept as
 * it should be.
 *
 *     struct api_service *s = api_service_new(&options);
 *     api_service_read(s);                      // each of these pumps the loop
 *     ... api_service_bundle(s)
 *     api_service_keep(s, wanted);
 *
 * The object is the user's, or Helm's: it is neither made nor changed but for spec.caBundle, and
 * that only when no injector of cert-manager fills it in. A write names the version that it rests
 * on. There is no fight: the same bundle is written once in API_SERVICE_PAUSE at most. Each new
 * reason why it is not right and stays so is said once, in the log and as a Warning event of the
 * APIService. No call takes longer than VPA_CERTIFICATE_STORE_TIMEOUT.
 */
#ifndef RECOMMENDER_API_SERVICE_H
#define RECOMMENDER_API_SERVICE_H

#include "query_object.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"

#define API_SERVICE_NAME "v1alpha1." QUERY_GROUP
#define API_SERVICE_PATH "/apis/apiregistration.k8s.io/v1/apiservices/" API_SERVICE_NAME
#define API_SERVICE_PAUSE VPA_MINUTE

struct api_service_options {
    struct vpa_kube_client *client; /* borrowed */
    /* Whether this replica may write: only one that leads. */
    bool (*may_write)(void *ctx);
    void *ctx;
    struct vpa_events *events; /* borrowed; NULL: none */
};
struct api_service;
struct api_service *api_service_new(const struct api_service_options *options);
void api_service_free(struct api_service *s); /* NULL is allowed */

/* False: no answer came, so that the next call would not be answered either. */
bool api_service_read(struct api_service *s);
/* The live caBundle (PEM), "" without one and when it was not to be read. Borrowed until the next
 * read or write. */
const char *api_service_bundle(const struct api_service *s);
/* Writes the wanted bundle (PEM) where the one read last differs. */
void api_service_keep(struct api_service *s, const char *wanted);

/* A Warning event of the APIService, about the certificate behind it. Not when another line has
 * said already what is behind it. events NULL: nothing. */
void api_service_warn(struct vpa_events *events, const char *reason, const struct vpa_error *err);

#endif
