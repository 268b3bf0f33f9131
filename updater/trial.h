/*
 * One eviction or resize whose outcome is looked at: what was wanted, and what has come of it so
 * far. Looked at once per pass, by what the caches have.
 */
#ifndef UPDATER_TRIAL_H
#define UPDATER_TRIAL_H

#include "work.h"
#include "vpa/policy/proof.h"
#include "vpa/policy/replacement.h"

struct trial {
    struct vpa_proof_id id; /* owned texts */
    char *ns, *kind, *name; /* of the owner */
    char *api_version;
    char *pod, *uid;
    uint64_t vpa_uid;  /* the hash of it */
    uint64_t template; /* of the pod */
    vpa_time newest;   /* creation of the newest pod of the owner when it was sent */
    vpa_time sent;     /* this and the next three by a clock that nobody sets (env.h) */
    vpa_time gone;     /* the pod was seen to be gone; unset */
    vpa_time came;     /* a replacement was first seen, whichever it was; unset */
    vpa_time seen;     /* the oldest replacement was first seen; unset */
    uint64_t seen_uid; /* the hash of its UID */
    bool judged;       /* it has failed */
    bool first;        /* its group waits for it */
    bool waited;       /* for its kubelet, before it was sent */
    bool waits;        /* for its kubelet, which says nothing of the values: to be put aside */
    bool aside;        /* and was: nobody waits for it */
    /* Nothing has come, and the owner may have fewer pods. Those that it still has are left alone
     * until something comes or they are gone; nobody else waits for it. */
    bool alone;
    vpa_time asked; /* while it is: when it was, by the clock of `sent` */
    struct vpa_expected expected;
    /* Of this pass; NULL: none. Of the pods that the owner has got since, the newest says what pods
     * get, and the oldest how long they take. */
    const struct vpa_pod *newest_pod, *oldest_pod;
    bool helped;  /* of this pass: one of those is ready and has the values */
    int64_t live; /* pods of the owner, of this pass */
    /* Nothing has come, and whoever looks has to ask: for this VPA, in this pass; NULL: no. */
    const struct vpa_object *asks;
    int32_t wanted;           /* how many pods there are to be */
    bool may_be_fewer;        /* or nobody says so */
    enum vpa_verdict verdict; /* what came of it, WAIT: not known yet; and what was seen, heap */
    char *told;
    char *key;
};

struct trial *updater_trial_new(struct work *w, size_t pod, const struct vpa_proof_id *id,
                                const char *key, const struct vpa_recommendation *wanted);
void updater_trial_free(struct trial *t);
/* What a controller has made the pod of, as far as it says. */
uint64_t updater_template_of(const struct vpa_pod *pod);
void updater_trial_begin_pass(struct trial *t);
/* Each live pod of the owner but the one that was evicted. vpa: NULL when it is gone. */
void updater_trial_see(struct pass *pass, struct trial *t, const struct vpa_object *vpa,
                       const struct vpa_pod *pod);
/* The pods of this pass have been seen. seen: what was seen when it failed. Makes no
 * API call; sets t->asks where one is needed: in one pass of the trial's life unless that fails,
 * and every ten minutes while it is alone. */
enum vpa_verdict updater_trial_judge(struct pass *pass, struct trial *t,
                                     const struct vpa_object *vpa, struct vpa_buf *seen);
/* Asks for all of them, which are of one namespace, with one list: t->verdict and t->told, or
 * t->alone. Pumps the loop. */
void updater_trials_ask(struct pass *pass, struct trial *const *trials, size_t count);

#endif
