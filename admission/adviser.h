/*
 * Asks the recommender what a pod is recommended now (POST /recommendedPodResources, api.md 12.1 of
 * the specification), for --recommendation-query-url.
 *
 *     struct adviser *a = adviser_new(&options);                        // loop thread
 *     if (adviser_ask(a, &arena, "ns", pod, &recommendation)) ...       // any other thread
 *     adviser_free(a);
 *
 * An answer is worth a short wait and no more: whoever gets none goes on with what the VPA has
 * stored. The exchange itself runs on the loop; the asking thread waits for it, timeout at most,
 * and gives it up then.
 *
 * The breaker: when an answer does not come (no connection, no answer in time, 5xx), it opens, and
 * nobody waits. After ADVISER_PAUSE, twice as long after each further failure up to
 * ADVISER_PAUSE_MAX, one pod's question is sent and not waited for; its answer closes the breaker.
 * So a recommender that is away costs those that ask at that very moment one timeout, and after
 * them nobody. Each opening and closing is logged once.
 */
#ifndef ADMISSION_ADVISER_H
#define ADMISSION_ADVISER_H

#include "vpa/api/vpa.h"
#include "vpa/net/loop.h"
#include "vpa/net/transport.h"

#define ADVISER_PATH "/recommendedPodResources"
#define ADVISER_PAUSE VPA_SECOND
#define ADVISER_PAUSE_MAX VPA_MINUTE
#define ADVISER_ASKED_MAX 16 /* questions under way; further ones are not asked */
/* A pod is echoed: of a question and of an answer. */
#define ADVISER_BODY_MAX ((size_t)4 << 20)

struct adviser_options {
    struct vpa_loop *loop;           /* borrowed */
    struct vpa_transport *transport; /* to the recommender; owned from here on */
    vpa_duration timeout;            /* of a question, real time */
    int64_t (*monotonic)(void);      /* for the pauses; NULL: CLOCK_MONOTONIC */
};
struct adviser;
struct adviser *adviser_new(const struct adviser_options *options);
/* From here on nobody waits and nothing is asked; on the loop. */
void adviser_stop(struct adviser *a);
/* On the loop; not while adviser_ask() may run. NULL is allowed. */
void adviser_free(struct adviser *a);

/* True: *out is the recommendation for the pod, in the arena. False: there is none, or nobody
 * answers; counted by reason. pod: its JSON; ns: its namespace where it names none. Any thread but
 * the loop's. */
bool adviser_ask(struct adviser *a, struct vpa_arena *arena, const char *ns,
                 const struct vpa_json *pod, struct vpa_recommendation *out);

#endif
