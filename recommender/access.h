/*
 * Whether a caller may ask for recommendations in a namespace: the API server knows
 * (SubjectAccessReview, the verb `create` on recommendationqueries), and its answer is remembered
 * for a moment.
 *
 *     struct access *access = access_new(loop, client);
 *     enum access_verdict v = access_ask(access, &caller, "web", &arena);   // any thread
 *     access_stop(access);     // who waits gets UNKNOWN; then the threads can be joined
 *     access_free(access);
 *
 * A question comes on a thread of the listener and is put to the loop, whose client asks. Threads
 * with the same question wait for one answer. While the API server does not answer nobody is
 * allowed.
 */
#ifndef RECOMMENDER_ACCESS_H
#define RECOMMENDER_ACCESS_H

#include "front_proxy.h"
#include "vpa/base/buf.h"
#include "vpa/kube/client.h"

#define ACCESS_REMEMBERED (10 * VPA_SECOND) /* real time; as Kubernetes' own extension servers do */
#define ACCESS_PATIENCE (5 * VPA_SECOND)    /* real time */
#define ACCESS_ANSWERS_MAX 1024             /* remembered; then all are forgotten */
#define ACCESS_QUESTION_MAX ((size_t)256 << 10)

enum access_verdict { ACCESS_UNKNOWN, ACCESS_ALLOWED, ACCESS_DENIED };

struct access;
struct access *access_new(struct vpa_loop *loop, struct vpa_kube_client *client);
void access_stop(struct access *access);
/* On the loop, when no thread asks any more. NULL is allowed. */
void access_free(struct access *access);

enum access_verdict access_ask(struct access *access, const struct caller *caller, const char *ns);

/* The SubjectAccessReview; for tests. */
void access_encode(const struct caller *caller, const char *ns, struct vpa_buf *out);

#endif
