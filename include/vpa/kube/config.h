/*
 * How to reach the API server and who we are: in-cluster service account or a kubeconfig file
 * (leader-election-and-clients.md 3 of the specification). Only what is given is read: neither
 * KUBECONFIG nor the home directory is consulted. (The command kubectl-vpa looks there itself, has
 * several files merged, and may choose another context than the current one.)
 *
 *     struct vpa_kube_config *config = vpa_kube_config_load(flags.kubeconfig, &err);
 *     struct vpa_transport *transport = vpa_kube_connect(loop, config, &err);
 *
 * Tokens from files are read again on the first request after 50 s; a failed re-read keeps the old
 * token. Exec plugins run bounded (60 s, 1 MiB of output) and are cached until their expiry or a
 * 401. They have no standard input, and one of interactiveMode Always is refused, unless
 * vpa_kube_config_use_terminal() says otherwise.
 */
#ifndef VPA_KUBE_CONFIG_H
#define VPA_KUBE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/net/http_client.h"
#include "vpa/net/loop.h"

#define VPA_KUBECONFIG_MAX ((size_t)4 << 20)
#define VPA_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct vpa_kube_config;

/* path NULL or "": in-cluster. Error texts are upstream's ("invalid configuration: ...", "unable to
 * load in-cluster configuration, ..."); the caller adds "Failed to build kubeconfig from file: " or
 * "Failed to create config: ". */
struct vpa_kube_config *vpa_kube_config_load(const char *path, struct vpa_error *err);
/* The same with that context of the file instead of its current one; NULL or "": that one. There is
 * none in a pod: a context that is named is never passed over. */
struct vpa_kube_config *vpa_kube_config_load_context(const char *path, const char *context,
                                                     struct vpa_error *err);
/* Several files as kubectl merges them: of contexts, clusters and users the first file that has the
 * name, the first current context that is not empty; file names are relative to the file that has
 * them. Files that are missing are passed over, any other one that cannot be read is an error that
 * names it. In-cluster only where no context is named and there is no entry at all. */
struct vpa_kube_config *vpa_kube_config_load_merged(const char *const *paths, size_t count,
                                                    const char *context, struct vpa_error *err);
/* The text of a kubeconfig; relative file names are resolved against dir. */
struct vpa_kube_config *vpa_kube_config_parse(const char *yaml, size_t len, const char *dir,
                                              struct vpa_error *err);
/* In-cluster with the two environment values and another directory (tests). */
struct vpa_kube_config *vpa_kube_config_in_cluster(const char *host, const char *port,
                                                   const char *dir, struct vpa_error *err);
/* A plain server URL without credentials (tests, simulator). */
struct vpa_kube_config *vpa_kube_config_plain(const char *server);
void vpa_kube_config_free(struct vpa_kube_config *config);

/* For commands that people type; no daemon calls it. Where standard input is a terminal, an exec
 * plugin takes as long as it takes, for a login say, and unless its interactiveMode is Never it
 * reads there. */
void vpa_kube_config_use_terminal(struct vpa_kube_config *config);
/* From now on the command needs the terminal itself, or nobody sits there: plugins have nothing to
 * read and 60 s, as in a daemon. */
void vpa_kube_config_leave_terminal(struct vpa_kube_config *config);

/* The namespace that the context names, "" when it names none. */
const char *vpa_kube_config_namespace(const struct vpa_kube_config *config);
/* The name of the context, "" in-cluster. */
const char *vpa_kube_config_context(const struct vpa_kube_config *config);
/* Where a client in a pod is when no context says it: POD_NAMESPACE, else the file beside the token
 * in dir (VPA_SERVICE_ACCOUNT_DIR). "" outside of pods; otherwise it lives in the arena. */
const char *vpa_kube_pod_namespace(struct vpa_arena *arena, const char *dir);
/* scheme://host[:port][/prefix] */
const char *vpa_kube_config_server(const struct vpa_kube_config *config);
/* What the HTTP client needs; borrowed from the config. */
void vpa_kube_config_client_options(const struct vpa_kube_config *config,
                                    struct vpa_http_client_options *out);
/* A transport to that server. The config must outlive it. */
struct vpa_transport *vpa_kube_connect(struct vpa_loop *loop, struct vpa_kube_config *config,
                                       struct vpa_error *err);

#define VPA_KUBE_AUTH_HEADERS_MAX 32
/* The headers of the next request: Authorization and impersonation; borrowed until the next call. A
 * token file that was never readable, or a failing exec plugin, is an error. monotonic: the real
 * clock. */
int vpa_kube_config_headers(struct vpa_kube_config *config, int64_t monotonic,
                            const struct vpa_header **headers, size_t *count,
                            struct vpa_error *err) VPA_MUST_CHECK;
/* The server answered 401: a token file is read and an exec credential is fetched anew for the next
 * request. */
void vpa_kube_config_unauthorized(struct vpa_kube_config *config);

#endif
