/* A connection configuration, shared by the parser, the credential sources and the exec plugin
 * runner. */
#ifndef VPA_KUBE_CONFIG_INTERNAL_H
#define VPA_KUBE_CONFIG_INTERNAL_H

#include "vpa/base/mem.h"
#include "vpa/base/time.h"
#include "vpa/kube/config.h"

#define EXEC_TIMEOUT (60 * VPA_SECOND) /* where nobody sits at a terminal */
/* Between two runs: while one takes its time the loop stands still, and a server that refuses every
 * credential would have it run for every request. */
#define EXEC_PAUSE (10 * VPA_SECOND)
#define EXEC_OUTPUT_MAX ((size_t)1 << 20)
#define TOKEN_MAX ((size_t)64 << 10)
#define NAMESPACE_MAX ((size_t)4 << 10)
#define TOKEN_REREAD (50 * VPA_SECOND) /* client-go: 60 s minus 10 s of leeway */
#define TOKEN_RETRY VPA_SECOND         /* after a file that could not be read, or was refused */

enum exec_interactive { EXEC_IF_AVAILABLE, EXEC_NEVER, EXEC_ALWAYS };
/* Of a daemon; of a command that a person may have typed; of one that plugins ask no more. */
enum terminal { TERMINAL_NONE, TERMINAL_USED, TERMINAL_LEFT };

struct exec_plugin {
    const char *api_version;
    const char *command;
    const char *const *args;
    size_t arg_count;
    const struct vpa_header *env; /* name, value */
    size_t env_count;
    const char *install_hint;
    bool provide_cluster_info;
    enum exec_interactive interactive;
};

struct vpa_kube_config {
    struct vpa_arena arena;              /* all texts below */
    struct vpa_http_client_options http; /* as the file has it: TLS also for plain HTTP */
    const char *context;                 /* its name; NULL: in-cluster, or a plain server */
    const char *ns;                      /* of the context; NULL: none */
    bool plain_http;
    const char *ca_base64;
    const char *token_file;
    const char *basic; /* value of an Authorization header */
    const struct vpa_header *impersonation;
    size_t impersonation_count;
    const struct exec_plugin *exec; /* NULL: none */
    enum terminal terminal;

    char *token;                     /* current; heap */
    int64_t token_read, token_tried; /* monotonic */
    bool token_known;
    bool token_failed;  /* when it was tried last; the log has it */
    bool token_refused; /* by the server, since it was read */
    bool exec_valid;
    bool exec_ran;
    bool exec_failed;
    int64_t exec_ran_at; /* its end, monotonic */
    struct vpa_error exec_error;
    bool exec_expires;
    vpa_time exec_expiry;
    struct vpa_transport *transport; /* gets certificates of the plugin; borrowed */
    char *bearer;                    /* header value of the last request; heap */
    struct vpa_header headers[VPA_KUBE_AUTH_HEADERS_MAX];
};

struct exec_credential { /* heap texts, NULL when absent */
    char *token;
    char *cert_pem;
    char *key_pem;
    bool expires;
    vpa_time expiry;
};
void exec_credential_release(struct exec_credential *credential);
/* Runs the plugin; blocks the loop for at most EXEC_TIMEOUT, at a terminal as long as it takes. */
int exec_plugin_run(const struct vpa_kube_config *config, struct exec_credential *out,
                    struct vpa_error *err);
/* The plugin's answer; exposed for tests. */
int exec_credential_parse(const char *text, size_t len, const char *api_version,
                          struct exec_credential *out, struct vpa_error *err);

/* scheme://host[:port][/prefix] of a server entry, in the arena. */
int normalize_server(struct vpa_arena *arena, const char *text, const char **out, bool *plain_http,
                     struct vpa_error *err);

#endif
