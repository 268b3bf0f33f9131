/*
 * Requests to the API server: paths, patch types, authentication, the shared rate limit, repetition
 * on Retry-After, and the result as struct vpa_error plus the parsed metav1.Status
 * (leader-election-and-clients.md 4 of the specification).
 *
 *     struct vpa_kube_call call = {
 *         .verb = VPA_KUBE_PATCH_JSON, .path = path, .body = body, .body_len = n};
 *     vpa_kube_start(client, &call, on_done, ctx);       // many in flight
 *     if (vpa_kube_do(client, &call, &arena, &result, &err) < 0)
 *         ...                                            // pumps the loop until answered
 *
 * Errors carry what the caller can do: NOT_FOUND, CONFLICT (409 of either reason), GONE (410),
 * DENIED (401, 403), RETRY (429, 5xx, network), INVALID (the rest), LIMIT (answer too long),
 * CANCELLED (stopped, or not sent: too old, or fenced).
 *
 * When the server goes away, one line says so, and one when it answers again. Errors in between are
 * marked as told, those of watches that were open and ended as well: a caller reports with
 * VPA_WARN_UNLESS_TOLD or VPA_ERROR_UNLESS_TOLD.
 *
 * A write is fenced: may_write is asked when its connection is ready, right before its bytes go
 * out, after every wait. A daemon with a Lease says there whether it still leads, once for all
 * writes of the client. A POST that only asks is no write.
 */
#ifndef VPA_KUBE_CLIENT_H
#define VPA_KUBE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/base/metrics.h"
#include "vpa/json/json.h"
#include "vpa/kube/config.h"
#include "vpa/net/loop.h"
#include "vpa/base/random.h"
#include "vpa/net/transport.h"

#define VPA_KUBE_RETRIES_MAX 10              /* repeats of one request on Retry-After */
#define VPA_KUBE_PAUSES_MAX (2 * VPA_MINUTE) /* of one request, together */
#define VPA_KUBE_PATH_MAX ((size_t)8192)

enum vpa_kube_verb {
    VPA_KUBE_GET,
    VPA_KUBE_LIST,
    VPA_KUBE_WATCH,
    VPA_KUBE_CREATE,          /* POST */
    VPA_KUBE_UPDATE,          /* PUT */
    VPA_KUBE_PATCH_JSON,      /* application/json-patch+json */
    VPA_KUBE_PATCH_MERGE,     /* application/merge-patch+json */
    VPA_KUBE_PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
    VPA_KUBE_DELETE,
    VPA_KUBE_VERB_COUNT,
};

/*
 * /api/v1/... or /apis/GROUP/VERSION/...; ns NULL or "" for cluster scope or all namespaces; name
 * and subresource may be NULL. Segments are percent-escaped.
 *     vpa_kube_path(&buf, "apps/v1", "web", "deployments", "api", "scale");
 */
void vpa_kube_path(struct vpa_buf *buf, const char *group_version, const char *ns,
                   const char *resource, const char *name, const char *subresource);
/* Appends ?key=value or &key=value, escaped. */
void vpa_kube_query(struct vpa_buf *buf, const char *key, const char *value);

struct vpa_kube_cause {
    const char *reason; /* "FieldValueInvalid", "NodeCapacity", ... */
    const char *message;
    const char *field;
};
struct vpa_kube_status { /* of a failure; texts never NULL */
    int code;            /* HTTP */
    const char *reason;  /* "NotFound", "AlreadyExists", ... */
    const char *message; /* also the text of the error */
    const char *name;
    const char *group;
    const char *kind;
    const char *uid;
    const struct vpa_kube_cause *causes;
    size_t cause_count;
    int32_t retry_after_seconds;
    /* The answer had details, be they empty. A JSON Patch that does not fit the object (a `test`
     * that failed) is refused with 422 and empty ones, unlike an object that is not valid. */
    bool has_details;
};

/* Everything is copied by start. */
struct vpa_kube_call {
    enum vpa_kube_verb verb;
    const char *path; /* with query */
    const char *body; /* JSON; NULL: none */
    size_t body_len;
    const char *accept; /* NULL: application/json */
    /* Of each attempt, as transports count it (real time over the network); 0: 1 minute, or for
     * streaming answers an idle limit of 1 minute and, from then on, 16 KiB a second on average. */
    vpa_duration timeout;
    /* How old the decision behind the call may grow (virtual time since start; 0: no limit). A call
     * that would wait beyond it, for the rate limit, or did, ends with VPA_CANCELLED and nothing of
     * it is sent; no pause of Retry-After lasts longer, and no attempt. */
    vpa_duration max_age;
    /* Asked besides may_write, with the context of the call: whether it is still wanted. false: it
     * ends with VPA_CANCELLED. It only looks. NULL: always. */
    bool (*wanted)(void *ctx);
    /* A write that changes nothing, as reviews of access are: neither fenced nor a dry run, and
     * repeated like a read. */
    bool only_asks;
    size_t response_max; /* 0: VPA_HTTP_RESPONSE_MAX */
    bool unlimited;      /* not counted by the rate limit (leases have their own, watches none) */
    bool no_retry;       /* no repetition inside */
    /* A write that may be sent again after a connection was lost, though it may have been carried
     * out: it names what it rests on (resourceVersion, UID, test operations) or says the same
     * however often. */
    bool repeatable;
    /* Streaming answers (LIST pages, WATCH): pieces of a 2xx body; -1 ends the call. NULL:
     * collected. A call that gave data is not repeated. */
    int (*on_data)(void *ctx, const char *bytes, size_t len);
    void (*on_open)(void *ctx); /* the 2xx head is there; may be NULL */
};

struct vpa_kube_result { /* borrowed for the callback, or in the arena of vpa_kube_do */
    int status_code;     /* HTTP, 0 without an answer */
    enum vpa_transport_failure failure;
    const char *body; /* of success, NUL-terminated */
    size_t body_len;
    struct vpa_kube_status status; /* of failure */
    int retry_after;               /* seconds, -1 without the header */
    /* Of a change that failed: it went out, in the last try or an earlier one, and nobody has said
     * what became of it. It may have been carried out. */
    bool unanswered;
};

struct vpa_unusable_object; /* reflector.h */

struct vpa_kube_client_options {
    struct vpa_loop *loop;
    struct vpa_transport *transport; /* borrowed */
    struct vpa_kube_config *config;  /* borrowed; NULL: no authentication */
    struct vpa_random *random;       /* borrowed */
    const char *user_agent;          /* "vpa-updater/0.1.0 (linux/amd64)" */
    double qps;                      /* as the flags: negative no limit, 0 the default of 5 */
    int64_t burst;
    /* Asked right before each call that is no read goes out; false: it ends with VPA_CANCELLED and
     * "no longer the leader". It only looks. NULL: always. */
    bool (*may_write)(void *ctx);
    void *may_write_ctx;
    /* Every write asks with dryRun=All: it is judged, and nothing is stored. No DELETE is sent. */
    bool dry_run;
    /* Told after each attempt whether the API server answered, whatever it said; NULL: nobody. */
    void (*on_attempt)(void *ctx, bool answered);
    void *attempt_ctx;
    /* Told of each object that a reflector over this client passed over and that exists; NULL:
     * nobody. */
    void (*on_unusable)(void *ctx, const char *api_version, const char *resource,
                        const struct vpa_unusable_object *what);
    void *unusable_ctx;
};
struct vpa_kube_client;
/* VPA_INVALID on an unusable qps/burst pair, with upstream's text. */
struct vpa_kube_client *vpa_kube_client_new(const struct vpa_kube_client_options *options,
                                            struct vpa_error *err);
/* Cancels what is under way, without callbacks. NULL is allowed. */
void vpa_kube_client_free(struct vpa_kube_client *client);
struct vpa_loop *vpa_kube_client_loop(const struct vpa_kube_client *client);
struct vpa_random *vpa_kube_client_random(const struct vpa_kube_client *client);

/* For reflectors: calls on_unusable. path: of the collection. */
void vpa_kube_client_tell_unusable(const struct vpa_kube_client *client, const char *path,
                                   const char *resource, const struct vpa_unusable_object *what);

/* err is NULL on success. Runs on the loop, never inside start. */
typedef void (*vpa_kube_done_fn)(void *ctx, const struct vpa_kube_result *result,
                                 const struct vpa_error *err);
struct vpa_kube_request; /* under way; gone after its callback */
struct vpa_kube_request *vpa_kube_start(struct vpa_kube_client *client,
                                        const struct vpa_kube_call *call, vpa_kube_done_fn done,
                                        void *ctx);
/* No callback comes any more. */
void vpa_kube_cancel(struct vpa_kube_request *request);
/* Waits, pumping the loop. result may be NULL; its texts are copied to the arena (NULL arena: no
 * texts but the error). Ends with VPA_CANCELLED when the loop is stopped. */
int vpa_kube_do(struct vpa_kube_client *client, const struct vpa_kube_call *call,
                struct vpa_arena *arena, struct vpa_kube_result *result, struct vpa_error *err);
/* vpa_kube_do with verb GET and the answer parsed. */
int vpa_kube_get_json(struct vpa_kube_client *client, const char *path, struct vpa_arena *arena,
                      const struct vpa_json **root, struct vpa_error *err);

/* Predicates of 4.4. */
bool vpa_kube_is_already_exists(const struct vpa_kube_status *status);
bool vpa_kube_is_expired(const struct vpa_kube_status *status); /* Expired, Gone or code 410 */
/* The answer to a precondition that does not hold any more: a UID or version is another one, or a
 * `test` failed. What was refused for its values, by the schema or a policy, has details. */
bool vpa_kube_is_stale(const struct vpa_kube_result *result);
bool vpa_kube_has_cause(const struct vpa_kube_status *status, const char *reason);
/* Worth trying again at once by callers with three tries (2.2): InternalError, Timeout,
 * ServerTimeout, TooManyRequests, a suggested delay, network time-out, EOF, reset. */
bool vpa_kube_is_retryable(const struct vpa_kube_result *result);
/* Whether the answer of one try leaves that open: it was lost, between a proxy and the API server
 * too, or etcd did not confirm it, of which the API server tells with an error that has no reason
 * ("etcdserver: request timed out"). An error from 500 on that is no Status is of a proxy, or of a
 * server in the middle of it. */
bool vpa_kube_leaves_open(const struct vpa_kube_result *result);
/* For more than the callback: its texts are copied to the arena, without one there are none. */
void vpa_kube_result_keep(struct vpa_arena *arena, const struct vpa_kube_result *in,
                          struct vpa_kube_result *out);
/* Fills a Status from the text of a failure answer (truncated and foreign texts give the generic
 * one). */
void vpa_kube_status_decode(struct vpa_arena *arena, enum vpa_kube_verb verb, const char *path,
                            int code, const char *body, size_t len, struct vpa_kube_status *out);
enum vpa_code vpa_kube_error_code(int http_code, const char *reason);

/* rest_client_requests_total: of all clients of the process, attempts one by one. Listed by the
 * frame of the daemons. */
extern struct vpa_metric vpa_kube_requests;
/* How far our time of day is ahead of the server's, as its newest answer has dated itself and the
 * monotonic clock goes on; 0: it told none. */
vpa_duration vpa_kube_client_ahead(const struct vpa_kube_client *client);
/* Calls started and not yet answered. */
size_t vpa_kube_client_in_flight(const struct vpa_kube_client *client);

#endif
