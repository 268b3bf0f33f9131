/*
 * The simulator (test/kubesim) behind a transport in memory: the API server of tests that drive
 * whole daemons in virtual time. It answers as kubesim does over HTTP, watches included, which get
 * what happened at once; its time is the loop's, nothing runs beside, and watches last.
 *
 *     struct sim_cluster *s = sim_cluster_new(loop);
 *     struct vpa_transport *t = vpa_memory_transport_new(loop, sim_cluster_serve, s);
 *     sim_cluster_put(s, object);
 *     sim_cluster_answer(s, &(struct sim_answer){.method = "PATCH", .path = "/web", .times = 1,
 *                                                .code = 503, .message = "outage"});
 *
 * VPAs and checkpoints are there, with a schema that takes anything: what a case puts may be what a
 * real server would refuse.
 */
#ifndef TEST_SIM_CLUSTER_H
#define TEST_SIM_CLUSTER_H

#include "memory_transport.h"
#include "vpa/json/json.h"

struct sim_cluster;

struct sim_cluster *sim_cluster_new(struct vpa_loop *loop);
void sim_cluster_free(struct sim_cluster *s);
/* Pass it to vpa_memory_transport_new. */
void sim_cluster_serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r);
/* Asked before the simulator: the status it has answered with, 0 when it has not. */
typedef int (*sim_hook_fn)(void *ctx, const struct vpa_memory_request *q,
                           struct vpa_memory_reply *r);
void sim_cluster_hook(struct sim_cluster *s, sim_hook_fn hook, void *ctx);

/* The parts of /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME, and of paths of the core group,
 * which is ""; missing ones are "". */
struct sim_place {
    const char *group, *ns, *resource, *name;
};
struct sim_place sim_place_of(struct vpa_arena *arena, const char *path);
/* Answers 404, which it returns, as for an object that is not there. */
int sim_not_found(const char *path, struct vpa_memory_reply *r);

/* ---- objects ---- */

/* One more kind of objects in namespaces, or version of one; scale: with that subresource, whose
 * selector is the text status.selector. "" is the core group. */
void sim_cluster_serve_kind(struct sim_cluster *s, const char *group, const char *version,
                            const char *plural, const char *kind, bool status, bool scale);
/* False: there is no pods/resize, as before Kubernetes 1.33. */
void sim_cluster_serve_resizes(struct sim_cluster *s, bool served);
/* Whether a kind with that subresource is served there. */
bool sim_cluster_has_scale(const struct sim_cluster *s, const char *group, const char *plural);
/* Creates or replaces past all checks; only the version is the server's. False: no such kind is
 * served. */
bool sim_cluster_put(struct sim_cluster *s, const struct vpa_json *object);
/* The same of JSON text. The test ends when it is none, or of no kind that is served. */
void sim_cluster_put_text(struct sim_cluster *s, const char *object);
/*
 * The same with what a server fills in: the UID is the given, the stored or a new one, the time of
 * creation the stored, the given or now; a custom resource without a status keeps the stored one.
 */
bool sim_cluster_apply(struct sim_cluster *s, const struct vpa_json *object);
/* False: there is none. */
bool sim_cluster_delete(struct sim_cluster *s, const char *api_version, const char *kind,
                        const char *ns, const char *name);
/* As it is stored, without apiVersion and kind; NULL when there is none. */
const struct vpa_json *sim_cluster_find(const struct sim_cluster *s, struct vpa_arena *arena,
                                        const char *api_version, const char *kind, const char *ns,
                                        const char *name);
/* Ends the watches of these objects; expired: with an error 410 at last. */
void sim_cluster_end_watches(struct sim_cluster *s, const char *plural, bool expired);
/* Sends them an event about which the simulator knows nothing: what no server says. */
void sim_cluster_tell(struct sim_cluster *s, const char *plural, const char *type,
                      const char *json);

/* ---- answers out of a script ---- */

enum sim_path { SIM_PATH_ENDS, SIM_PATH_HOLDS, SIM_PATH_IS };
struct sim_answer {
    const char *method;                 /* texts are borrowed */
    const char *path;                   /* of the request, without its query */
    enum sim_path how;                  /* what is asked of it */
    unsigned times;                     /* the first so many requests; 0: all */
    int code;                           /* 0: the answer is the simulator's own */
    const char *body;                   /* NULL: a Status with this message */
    const char *message;                /* NULL with 404: of the object that the path names */
    vpa_duration delay;                 /* the answer, whosever, comes later */
    enum vpa_transport_failure failure; /* instead of an answer */
    bool retry;                         /* with Retry-After */
    int retry_after;                    /* in seconds */
};
/* Of the answers that fit a request the first counts; and of the delays the first. */
void sim_cluster_answer(struct sim_cluster *s, const struct sim_answer *answer);
/* Those with a code, or those with a delay, given so far are forgotten. */
void sim_cluster_unscript(struct sim_cluster *s);

/* ---- what was asked ---- */

struct sim_asked {
    const char *method;
    const char *path; /* with the query */
    const char *type; /* Content-Type */
    const char *body;
    int code;
    enum vpa_transport_failure failure; /* as scripted */
    int64_t at_ms;                      /* since the record began */
    vpa_time time;
};
/* Starts a new record. */
void sim_cluster_begin_record(struct sim_cluster *s);
/* In the order of the requests, watches left out; they hold until the next record. */
const struct sim_asked *sim_cluster_writes(const struct sim_cluster *s, size_t *count);
const struct sim_asked *sim_cluster_reads(const struct sim_cluster *s, size_t *count);
/* The n-th write, from 0, to a path that holds that; NULL: there is none. */
#define SIM_LAST SIZE_MAX
const struct sim_asked *sim_cluster_write(const struct sim_cluster *s, const char *path, size_t n);
/* How many of them by that method, and with a path (query included) that ends so. */
size_t sim_cluster_asked(const struct sim_cluster *s, const char *method, const char *path_end);

#endif
