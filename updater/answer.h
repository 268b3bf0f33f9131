/*
 * Requests about pods that are under way, and what their answers change. An answer comes in on the
 * loop and is only noted there; the pass deals with it when it gets to it, in the order in which
 * they came.
 *
 *     updater_action_sent(a);                     // the request goes out
 *     updater_action_answered(a, ACT_OK);         // in the callback: the answer is noted
 *     updater_pass_settle(pass);                  // deals with it, and frees the action
 *
 * What is dealt with: budget, memory, metrics, the choice between "evict instead" and "leave it",
 * and what the cluster hears of a changed pod: one log line, an event on the pod, one on its VPA,
 * each with old and new values and the reason (vpa/policy/reason.h). An event begins with
 * upstream's text, ours follows after a colon (U28). The ledger gets each change with what the
 * decision rested on (vpa/policy/decision.h), and each refusal.
 */
#ifndef UPDATER_ANSWER_H
#define UPDATER_ANSWER_H

#include "work.h"

/* One change to one pod (act.h); heap. */
struct action {
    struct action *next, *previous;   /* in a list of the pass */
    struct vpa_kube_request *request; /* under way */
    struct work *work;
    const struct vpa_pod *pod;
    struct vpa_replica_group *group;
    enum {
        ACTION_EVICT,
        ACTION_RESIZE,
        ACTION_UNBOOST,
        ACTION_ANNOTATE, /* its annotations alone change, also where its resources are sent again */
    } kind;
    size_t index;      /* of the pod in work->pods */
    size_t candidate;  /* in work->list, SIZE_MAX without */
    bool takes_back;   /* a boost ends with it */
    bool behind_end;   /* the end of a boost, not carried out when it was sent, outlasts it */
    char *keeping;     /* containers that keep the cpu of a boost that ends (U52); heap or NULL */
    bool unmarked;     /* its annotations were patched, or may have been */
    bool changes;      /* the spec changes */
    bool restarts;     /* the kubelet restarts a container for it */
    char *why;         /* old and new values and the reason; heap, "" when nothing is known */
    char *inputs;      /* of the decision, for the ledger; heap or NULL */
    char *annotations; /* second request of a resize, heap */
    size_t annotations_len;
    uint64_t patch; /* hash of the patch of its resources */
    enum act_result result;
    int status_code;
    char *refusal;          /* what the server said of a resize that failed; heap or NULL */
    bool refused_by_budget; /* a PodDisruptionBudget lets it not be evicted */
    bool resized;           /* only the annotations are missing, whatever the VPA says by now */
    bool unanswered;        /* it may have been carried out all the same */
};
void updater_action_sent(struct action *a);
void updater_action_answered(struct action *a, enum act_result result);

/* Takes a token, waiting for it when the deadline allows that. A limiter that gives up does so for
 * the rest of the pass: its next token comes behind the deadline. */
enum pass_token {
    PASS_TOKEN_REFUSED,
    PASS_TOKEN_TAKEN,
    PASS_TOKEN_TAKEN_LATE, /* after a wait: the loop was pumped, answers were dealt with */
};
enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate);
/* Deals with the answers that came in. */
void updater_pass_settle(struct pass *pass);
/* Waits until nothing is under way; when the pass is stopped, not for long. */
void updater_pass_drain(struct pass *pass);
/* Waits until an answer came in and deals with it, or until the pass is stopped. */
void updater_pass_wait(struct pass *pass);

#endif
