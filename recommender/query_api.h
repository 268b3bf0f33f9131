/*
 * The aggregated API recommendation.autoscaling.k8s.io/v1alpha1: an HTTPS listener of its own, to
 * which API servers pass on what is asked of the group (APIService).
 *
 *     struct query_api *api = query_api_new(&options);
 *     if (query_api_start(api, &err) < 0) ...     // the certificate, the address
 *     query_api_free(api);                        // before the query
 *
 * Who asks is known from the proxy's certificate and headers (front_proxy.h), whether he may from
 * the API server (access.h). Discovery and schemas are constants: they are shown to anybody, as is
 * /healthz. What API servers trust the proxy by is read at the start and once a minute; until it is
 * known nobody is believed. The certificate that is served is read from its files again when they
 * have changed, or managed (query_certificate.h).
 *
 * Requests run on threads of the listener. A query is answered there from the snapshot; only the
 * question of access goes over the loop.
 */
#ifndef RECOMMENDER_QUERY_API_H
#define RECOMMENDER_QUERY_API_H

#include "query.h"

#include "vpa/daemon/certificate_store.h"
#include "vpa/kube/client.h"
#include "vpa/kube/events.h"

#define QUERY_API_LOOK VPA_MINUTE             /* at the cluster's settings */
#define QUERY_API_LOOK_FIRST (5 * VPA_SECOND) /* until they have been read */
#define QUERY_API_FILES_LOOK (10 * VPA_SECOND)
#define QUERY_API_PATIENCE VPA_CERTIFICATE_STORE_TIMEOUT

struct query_api_config { /* texts are borrowed */
    const char *address;  /* "": no such listener */
    const char *cert_file;
    const char *key_file;
    bool manage_certificates; /* instead of the files */
    const char *certificate_secret;
    vpa_duration certificate_lifetime;
    const char *service; /* in front of the listener */
};
/* VPA_INVALID: flags that do not go together. */
int query_api_check(const struct query_api_config *config, struct vpa_error *err) VPA_MUST_CHECK;

struct query_api_options { /* borrowed */
    struct vpa_loop *loop;
    const struct query_api_config *config;
    struct vpa_kube_client *client;
    struct query *query;
    /* With manage_certificates: the namespace of Secret and Service, and whether this replica
     * leads. */
    const char *ns;
    bool (*leads)(void *ctx);
    void *ctx;
    struct vpa_events *events; /* NULL: none */
};
struct query_api;
struct query_api *query_api_new(const struct query_api_options *options);
/* VPA_NOT_FOUND, VPA_INVALID: the files; VPA_RETRY: the port cannot be bound. With managed
 * certificates nothing fails: the port is opened by query_api_work() as soon as there is one. */
int query_api_start(struct query_api *api, struct vpa_error *err) VPA_MUST_CHECK;
int query_api_port(const struct query_api *api); /* 0: not open yet */
void query_api_free(struct query_api *api);      /* NULL is allowed */

/* With managed certificates: looks after them, and serves another one when it is time to. Pumps the
 * loop, for QUERY_API_PATIENCE when the server does not answer. */
bool query_api_is_due(const struct query_api *api);
void query_api_work(struct query_api *api);
/* Reads the files again; by itself every QUERY_API_FILES_LOOK. */
void query_api_look_at_files(struct query_api *api);

/* The namespace of ".../namespaces/NS/recommendationqueries" in the arena; NULL for any other
 * path. */
const char *query_api_namespace(struct vpa_arena *arena, const char *path);

#endif
