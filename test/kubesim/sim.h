/*
 * The simulator's whole state and the life of one request.
 *
 * A request comes in as a struct request (from HTTP, http.c, or from a controller inside the
 * process), api_handle() fills a struct response. Handlers work in an arena that dies with the
 * request and report failure by writing a Status into the response and returning -1, so that a
 * chain of steps reads
 *
 *     if (decode_body(c, &object) < 0 || admit(c, object) < 0 || validate(c, object) < 0)
 *         return -1;
 */
#ifndef KUBESIM_SIM_H
#define KUBESIM_SIM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "jv.h"
#include "store.h"
#include "types.h"
#include "vpa/base/time.h"

struct options {
    unsigned port; /* 0: any free one */
    const char *tls_cert, *tls_key, *client_ca;
    const char *proxy_client_cert, *proxy_client_key, *requestheader_ca;
    const char *token_file;
    const char *authorization; /* none, rbac */
    const char *controllers;   /* comma separated, "*", "" */
    const char *service_map;   /* ns/name:port=host:port,... */
    const char *clock_file;
    double time_rate;
    const char *start_time;
    const char *generate;
    unsigned history;
    unsigned minor;        /* 34, 36: whose answers */
    bool resize;           /* pods/resize is served */
    bool service_accounts; /* admission plugin ServiceAccount */
    unsigned bookmark_seconds;
    bool bare; /* objects may be in any namespace, nobody owns fields, UIDs are numbers */
    const char *load[16];
    size_t load_count;
};

#define USER_GROUPS_MAX 8
struct user {
    const char *name;
    const char *uid;
    const char *groups[USER_GROUPS_MAX];
    size_t group_count;
};

struct request {
    const char *method;
    const char *path;  /* decoded */
    const char *query; /* raw, without ? */
    const char *accept;
    const char *content_type;
    const char *user_agent;
    const char *authorization;
    const char *client_cert_user;   /* from TLS: user name and groups, NULL without */
    const char *client_cert_groups; /* comma separated */
    const char *body;
    size_t body_len;
    const struct user *as; /* controllers: who asks; no authentication */
    bool stale;            /* fault: answer reads from an older version */
};

struct watch;
struct response {
    int status;
    const char *content_type;
    struct vpa_buf body;
    struct strings warnings;
    int retry_after; /* 0: none */
    bool vary_accept;
    struct watch *watch; /* the answer is a stream */
};

/* One field of a 422. */
struct field_error {
    const char *reason; /* FieldValueInvalid ... */
    const char *message;
    const char *field;
};
struct field_errors {
    struct field_error *items;
    size_t count;
    size_t capacity;
};

struct ctx {
    struct sim *sim;
    const struct request *req;
    struct response *res;
    struct vpa_arena *a;
    struct user user;
    /* what the path says */
    struct restype *type;
    const char *group, *version, *resource, *ns, *name, *sub;
    const char *verb;
    bool is_resource;
    /* options of the query */
    bool dry_run;
    const char *field_validation; /* Warn by default */
    const char *field_manager;
    struct jv *deletion; /* DeleteOptions as they came */
    bool ignored_change; /* the request changes what its endpoint ignores */
    bool leaves_trace;   /* apply stores null or {} among metadata, which no reader sees */
    bool looked_again;   /* a server that would write nothing looks whether such a trace is there */
    bool limits_emptied; /* a LimitRange came with an empty list, which is stored as null */
    bool locked;
};

struct faults;
struct counters;
struct controllers;
struct sim {
    struct options opt;
    struct store store;
    struct types types;
    struct faults *faults;
    struct counters *counters;
    struct controllers *controllers;
    struct clock_file *clock;
    vpa_time (*now)(void *ctx); /* the time, instead of the clock; watches last then */
    void *now_ctx;
    struct watch *watches; /* all that are open; by the lock of the store */
    unsigned jumps;        /* how often the clock was moved forward by hand; likewise */
    atomic_bool stopping;
    struct vpa_arena arena; /* lives as long as the simulator */
    unsigned port;          /* in use */
    uint64_t service_ip;
    unsigned generated_containers; /* per generated pod: metrics are served for them; 0 none */
};

/* ---- api.c ---- */
void api_handle(struct sim *sim, const struct request *req, struct response *res,
                struct vpa_arena *a);
void response_init(struct response *res);
void response_release(struct response *res);
void sim_lock(struct ctx *c);
void sim_unlock(struct ctx *c);
/* In-process call for controllers: answers the HTTP status, *out (may be NULL) the parsed body. */
int api_call(struct sim *sim, struct vpa_arena *a, const char *who, const char *method,
             const char *path, const char *content_type, const struct jv *body, struct jv **out);
/* Values of the query; NULL when absent. */
const char *query_get(struct ctx *c, const char *name);
bool query_flag(struct ctx *c, const char *name); /* "true" or "1" */

/* ---- status.c ---- */
int fail(struct ctx *c, int code, const char *reason, const char *fmt, ...) VPA_PRINTF(4, 5);
/* details: {"name":..,"kind":..} of the request's object. */
int fail_object(struct ctx *c, int code, const char *reason, const char *fmt, ...) VPA_PRINTF(4, 5);
int fail_details(struct ctx *c, int code, const char *reason, struct jv *details,
                 const char *message);
int fail_not_found(struct ctx *c, const struct restype *t, const char *name);
int fail_conflict(struct ctx *c);
int fail_invalid(struct ctx *c, const char *group, const char *kind, const char *name,
                 const struct field_errors *errors);
int fail_type_invalid(struct ctx *c, const char *name, const struct field_errors *errors);
void field_error(struct ctx *c, struct field_errors *errors, const char *reason, const char *field,
                 const char *fmt, ...) VPA_PRINTF(5, 6);
void answer_json(struct ctx *c, int code, const struct jv *body);
void answer_success(struct ctx *c, int code, const char *name,
                    const char *uid); /* Status of success */
void answer_text(struct ctx *c, int code, const char *text);
int answer_404_text(struct ctx *c);

/* ---- clock.c ---- */
int clock_open(struct sim *sim, struct vpa_error *err);
void clock_close(struct sim *sim);
vpa_time sim_now(const struct sim *sim);
double sim_rate(const struct sim *sim);
/* A move forward is told to all watches, by a bookmark, and to the controllers. */
void clock_change(struct sim *sim, double rate, vpa_duration forward);
const char *sim_now_text(const struct sim *sim, struct vpa_arena *a);
const char *sim_now_micro(const struct sim *sim, struct vpa_arena *a);
int64_t real_millis(void); /* monotonic */
/* The same for what ends by itself; 0 where time is given from outside. */
int64_t sim_millis(const struct sim *sim);

/* ---- names.c ---- */
const char *new_uid(struct vpa_arena *a);
const char *generate_name(struct vpa_arena *a, const char *prefix);
const char *random_suffix(struct vpa_arena *a, size_t len);

/* ---- auth.c, rbac.c ---- */
int auth_load(struct sim *sim, struct vpa_error *err);
void auth_release(struct sim *sim);
int authenticate(struct ctx *c);
int authorize(struct ctx *c);
bool rbac_allows(struct ctx *c, const struct user *user, const char *verb, const char *group,
                 const char *resource, const char *sub, const char *ns, const char *name,
                 const char **reason);
int handle_review(struct ctx *c);

/* ---- selectors.c ---- */
struct selector; /* label and field selector of a request */
int selector_read(struct ctx *c, struct selector **out);
bool selector_matches(const struct selector *s, const struct version *v);
bool selector_is_empty(const struct selector *s);
const char *selector_exact_name(const struct selector *s); /* metadata.name=X, or NULL */
/* metav1.LabelSelector against labels as a JSON object; absent selects nothing, {} all. */
bool label_selector_matches(const struct jv *selector, const struct jv *labels);
bool label_selector_matches_version(const struct jv *selector, const struct version *v);
/* "app=d,x in (y)" of a LabelSelector. */
const char *label_selector_text(struct vpa_arena *a, const struct jv *selector);

/* ---- read.c, watch.c ---- */
enum output { OUT_JSON, OUT_TABLE, OUT_METADATA };
struct output_choice {
    enum output form;
    const char *include; /* of Tables */
};
int choose_output(struct ctx *c, bool list, struct output_choice *out);
int handle_get(struct ctx *c);
int handle_list(struct ctx *c);
int handle_watch(struct ctx *c);
/* Text of one object for the given type: kind and apiVersion first. */
void write_object(struct vpa_buf *buf, struct vpa_arena *a, const struct restype *t,
                  const struct version *v, bool with_kind, uint64_t rv);
/* The same of PartialObjectMetadata. rv, here and in Tables: another version than its own, 0: its
 * own. */
void write_metadata(struct vpa_buf *buf, struct vpa_arena *a, const struct restype *t,
                    const struct version *v, uint64_t rv);
void answer_version(struct ctx *c, int code, const struct version *v);
void answer_object(struct ctx *c, int code, struct jv *object);
/* The object as the type's clients see it (events have two forms). */
struct jv *view_of(struct vpa_arena *a, const struct restype *t, struct jv *stored);
struct jv *stored_of(struct vpa_arena *a, const struct restype *t, struct jv *object);
/* Bytes for the stream, waiting for events; 0 at the end; on purpose broken off -1, reset -2. */
ssize_t watch_read(struct watch *w, char *out, size_t max, int fd);
/* Appends what there is, without waiting; false when the watch is at its end. */
bool watch_take(struct watch *w, struct vpa_buf *out);
void watch_free(struct watch *w);
/* Whether every watch has sent what there is; the lock is held. */
bool watches_are_quiet(const struct sim *sim);

/* ---- table.c ---- */
void table_begin(struct vpa_buf *buf, const struct sim *sim, const struct restype *t,
                 const char *rv, const char *cont, int64_t remaining, bool columns);
void table_row(struct vpa_buf *buf, struct sim *sim, struct vpa_arena *a, const struct restype *t,
               const struct version *v, uint64_t rv, const char *include);
void table_end(struct vpa_buf *buf);
/* Whether the kind has no printer of its own: its Table without rows says null. */
bool table_is_plain(const struct restype *t);
struct jv *json_path(struct vpa_arena *a, const struct jv *object, const char *path);

/* ---- write.c, delete.c ---- */
/* The conversion of DaemonSets leaves a counter of their templates in this annotation. */
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"
int handle_create(struct ctx *c);
int handle_update(struct ctx *c);
int handle_patch(struct ctx *c);
int handle_delete(struct ctx *c);
int handle_delete_collection(struct ctx *c);
/* The steps from a decoded object to the answer. */
#define WRITE_TRIES 5
#define WRITE_AGAIN 1 /* somebody was faster */
int create_object(struct ctx *c, struct jv *object, int code);
int update_object(struct ctx *c, struct version *v, struct jv *object);

/* ---- body.c ---- */
bool media_is(const struct ctx *c, const char *type);
int check_kind(struct ctx *c, const struct jv *object);
int check_place(struct ctx *c, struct jv *object);
int read_body(struct ctx *c, struct jv **out, struct strings *duplicates);
/* protobuf.c: the few kinds that kubectl posts so; false for others. */
bool protobuf_read(struct vpa_arena *a, const char *body, size_t len, struct jv **out);
int decode_object(struct ctx *c, const struct schema *schema, const char *kind, struct jv *object,
                  const struct strings *duplicates, bool patched);
void quote_warning(struct ctx *c, const char *text);
struct delete_options {
    int64_t grace; /* -1: not given */
    const char *propagation;
    const char *uid;
    const char *rv;
    bool dry_run;
    bool reviewed; /* webhooks are asked */
};
/* Deletes as the API does (grace, finalizers); *gone tells whether the object went at once. The
 * object as answered in *out. Lock held; WRITE_AGAIN when the object changed while webhooks were
 * asked. */
int delete_version(struct ctx *c, struct restype *t, struct version *v,
                   const struct delete_options *o, bool *gone, struct jv **out);
int read_delete_options(struct ctx *c, const struct jv *body, struct delete_options *o);
/* 409 when the options name another UID or version than the object has. */
int delete_preconditions(struct ctx *c, const struct restype *t, const struct version *v,
                         const struct delete_options *o);

/* ---- patch.c, strategic.c, apply.c ---- */
int json_patch(struct vpa_arena *a, struct jv **doc, const struct jv *ops, struct vpa_error *err);
struct jv *merge_patch(struct vpa_arena *a, struct jv *target, const struct jv *patch);
int strategic_patch(struct vpa_arena *a, const struct schema *s, struct jv *target,
                    const struct jv *patch, struct vpa_error *err);
/* What is applied. */
struct apply_config {
    struct jv *object;     /* as Go's types read it */
    const struct jv *text; /* as it came */
    const char *fault;     /* why they do not, NULL: they do */
    bool force;
};
int apply_patch(struct ctx *c, struct jv *live, const struct apply_config *config, struct jv **out);
/* Whether the endpoint puts back what is written there: a member, or one of metadata. */
bool apply_resets(const struct ctx *c, const char *member, const char *of_meta);
int fail_typed(struct ctx *c, const char *what, const char *name, const char *why);
/* managedFields after a plain write. */
void track_fields(struct ctx *c, const struct jv *old, struct jv *now, const char *sub);
bool track_scale(struct ctx *c, struct jv *object, const struct jv *path, bool changed, bool zero);

/* ---- defaults.c, validate*.c ---- */
void defaults_apply(struct ctx *c, const struct restype *t, struct jv *object);
/* Before 1.35 a container has no restart policy of its own, but for sidecars. Webhooks that change
 * objects still see it. */
void drop_own_policies(struct ctx *c, struct jv *object);
void defaults_status(struct ctx *c, const struct restype *t, struct jv *object);
void defaults_pod_spec(struct vpa_arena *a, struct jv *spec);
const char *pod_qos(const struct jv *spec);
/* Sum of what the containers request or are limited to ("requests", "limits"), as the scheduler
 * counts it. */
struct jv *pod_containers_sum(struct vpa_arena *a, const struct jv *spec, const char *list);
void validate_meta(struct ctx *c, const struct restype *t, const struct jv *object,
                   struct field_errors *errors);
void validate_meta_update(struct ctx *c, const struct jv *old, const struct jv *object,
                          struct field_errors *errors);
/* Finalizers of a custom resource that may be somebody else's; old NULL: it is new. */
void warn_finalizers(struct ctx *c, const struct jv *old, const struct jv *object);
void validate_create(struct ctx *c, const struct restype *t, struct jv *object,
                     struct field_errors *errors);
void validate_update(struct ctx *c, const struct restype *t, const struct jv *old,
                     struct jv *object, const char *sub, struct field_errors *errors);
void validate_label_key(struct ctx *c, const char *key, const char *field,
                        struct field_errors *errors);
void validate_label_value(struct ctx *c, const char *value, const char *field,
                          struct field_errors *errors);
void validate_labels(struct ctx *c, const struct jv *labels, const char *field,
                     struct field_errors *errors);
void validate_annotations(struct ctx *c, const struct jv *annotations, const char *field,
                          struct field_errors *errors);
/* A metav1.LabelSelector. */
void validate_selector(struct ctx *c, const struct jv *selector, const char *at,
                       struct field_errors *errors);
void validate_workload(struct ctx *c, const struct jv *object, const char *kind,
                       struct field_errors *errors);
/* What is looked at when it is created, and never again. */
void validate_new_workload(struct ctx *c, const struct jv *object, const char *kind,
                           struct field_errors *errors);
/* What may not change, and what the server looks at once more. */
void validate_workload_change(struct ctx *c, const struct jv *old, const struct jv *object,
                              const char *kind, struct field_errors *errors);
/* Of anything; of a container. */
void check_known_resource_name(struct ctx *c, const char *name, const char *path,
                               struct field_errors *errors);
void check_resource_name(struct ctx *c, const char *name, const char *path,
                         struct field_errors *errors);
void validate_pod_spec(struct ctx *c, const struct jv *spec, const char *path,
                       struct field_errors *errors);
const char *dns_label_fault(const char *text);
/* What is accepted and will not do, of a pod or of what makes pods. */
void warn_pods(struct ctx *c, const struct restype *t, const struct jv *object);
/* Of a ReplicationController the server looks at the one before. */
void warn_changed_pods(struct ctx *c, const struct jv *old, const struct jv *object);
/* Structural schema and CEL rules of a custom resource; old (may be NULL) for ratcheting. */
void validate_custom(struct ctx *c, const struct restype *t, const struct jv *old,
                     const struct jv *object, struct field_errors *errors);
bool is_label_key(const char *text, const char **why);
bool is_label_value(const char *text);

/* ---- admission.c, webhooks.c ---- */
int admit_builtin(struct ctx *c, const char *operation, const struct jv *old, struct jv *object);
/* The built-in plugins and webhooks that may change *object, NULL for a deletion; then the webhooks
 * that only judge. Both may drop the lock while they wait. The object is what the endpoint takes:
 * an Eviction, a Binding or a Scale for these subresources. */
int admit_mutating(struct ctx *c, const char *operation, const struct jv *old, struct jv **object,
                   const char *options_kind);
bool admit_has_webhooks(struct ctx *c); /* whether there are any that may change something */
int admit_validating(struct ctx *c, const char *operation, const struct jv *old, struct jv *object,
                     const char *options_kind);
int admit_overhead(struct ctx *c, const struct jv *pod);
/* Fills in what LimitRanges preset, as on creation; not for a pod that is going. */
void admit_limit_defaults(struct ctx *c, const struct jv *old, struct jv *pod);
bool admit_has_limits(struct ctx *c);            /* whether there is a LimitRange */
int admit_limits(struct ctx *c, struct jv *pod); /* LimitRange checks, also on resize */

/* ---- subresources ---- */
int handle_eviction(struct ctx *c);
int handle_binding(struct ctx *c);
int handle_scale(struct ctx *c);
int handle_log(struct ctx *c);
int handle_token_request(struct ctx *c);
/* Rules of pods/resize: keeps what may change, checks the rest. */
int resize_prepare(struct ctx *c, const struct jv *old, struct jv *object,
                   struct field_errors *errors);
int resize_admit(struct ctx *c, const struct jv *old, const struct jv *object);

/* ---- custom resource definitions ---- */
int crd_prepare(struct ctx *c, struct jv *object, struct field_errors *errors);
void crd_changed(struct ctx *c, const struct jv *object);
void crd_deleted(struct ctx *c, const char *name);

/* ---- discovery.c, openapi.c, proxy.c, control.c ---- */
int handle_nonresource(struct ctx *c);
int handle_openapi(struct ctx *c);
int handle_discovery(struct ctx *c);
/* Requests of a group that an APIService points elsewhere; 1 when it was one (answered). */
int handle_proxy(struct ctx *c);
/* The same for a path that does not name the group itself. */
int proxy_group(struct ctx *c, const char *group, const char *version);
int handle_control(struct ctx *c);

/* ---- faults.c ---- */
struct fault_plan {
    int delay_ms;
    int status; /* answer this instead */
    int retry_after;
    long cut_after; /* bytes, -1: never */
    bool reset;     /* reset instead of a clean end */
    bool duplicate; /* events twice */
    bool gone;      /* in-stream 410 */
    bool stale;     /* read an older version */
};
void faults_init(struct sim *sim);
void faults_release(struct sim *sim);
void faults_plan(struct sim *sim, const struct request *req, bool watch, struct fault_plan *plan);
int fail_injected(struct ctx *c, const struct fault_plan *plan); /* answers plan->status */
int handle_faults(struct ctx *c);
void count_request(struct sim *sim, const char *verb, const char *resource, const char *agent,
                   int status, size_t bytes_in, size_t bytes_out);
int handle_requests(struct ctx *c);

/* ---- controllers.c ---- */
void controllers_start(struct sim *sim);
void controllers_stop(struct sim *sim);

/* ---- bootstrap.c, generate.c ---- */
int bootstrap(struct sim *sim, struct vpa_error *err);
int generate(struct sim *sim, const char *spec, struct vpa_error *err);
int handle_generated_metrics(struct ctx *c);

/* ---- http.c ---- */
struct http;
struct http *http_start(struct sim *sim, struct vpa_error *err);
void http_stop(struct http *h);

#endif
