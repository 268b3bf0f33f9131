/*
 * Who asks, as an aggregating API server tells it: the proxy shows a client certificate of an
 * authority of its own, and says in headers for whom it asks. Which authority, names and headers is
 * said by the cluster, in the ConfigMap kube-system/extension-apiserver-authentication.
 *
 *     struct front_proxy *front = front_proxy_new(config_map, &err);
 *     struct caller caller;
 *     if (front_proxy_identify(front, request, now, &arena, &caller, &err) < 0) ...   // 401
 *
 * Nothing else is believed: no header without the certificate, no certificate of another authority,
 * be it the cluster's own for users, no token.
 */
#ifndef RECOMMENDER_FRONT_PROXY_H
#define RECOMMENDER_FRONT_PROXY_H

#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/base/time.h"
#include "vpa/json/json.h"
#include "vpa/net/http_server.h"

#define FRONT_PROXY_PATH                                                                           \
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
/* Values of the headers for one request; the library that reads them takes 32 KiB of text. */
#define CALLER_VALUES_MAX 1024

struct caller_extra {
    const char *key; /* lower case */
    const char *value;
};

struct caller { /* texts live in the arena */
    const char *user;
    const char *uid; /* "" without */
    const char **groups;
    size_t group_count;
    struct caller_extra *extras; /* in the order of the headers */
    size_t extra_count;
};

/* Immutable, reference counted: threads share it. */
struct front_proxy;
/* config_map NULL, or without an authority: nobody is believed. VPA_INVALID: a member is not what
 * it should be. */
struct front_proxy *front_proxy_new(const struct vpa_json *config_map, struct vpa_error *err);
struct front_proxy *front_proxy_ref(struct front_proxy *front);
void front_proxy_unref(struct front_proxy *front); /* NULL is allowed */

/* VPA_DENIED: no certificate, one that does not do, or no user; VPA_LIMIT: more values than
 * CALLER_VALUES_MAX. `at` is the time by which the certificate is judged. */
int front_proxy_identify(const struct front_proxy *front, const struct vpa_server_request *request,
                         vpa_time at, struct vpa_arena *arena, struct caller *out,
                         struct vpa_error *err) VPA_MUST_CHECK;

/* The two halves of it, for tests: whether the chain (NULL: none) is the proxy's; and one header
 * after the other. False when there was no room. */
int front_proxy_check(const struct front_proxy *front, const char *chain_pem, vpa_time at,
                      struct vpa_error *err) VPA_MUST_CHECK;
void caller_init(struct vpa_arena *arena, struct caller *caller);
bool caller_take(const struct front_proxy *front, struct vpa_arena *arena, struct caller *caller,
                 const char *name, const char *value);

#endif
