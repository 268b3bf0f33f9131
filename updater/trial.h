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
    vpa_time sent;     /* this and the next two by a clock that nobody sets (env.h) */
    vpa_time gone;     /* the pod was seen to be gone; unset */
    vpa_time seen;     /* a replacement was first seen; unset */
    bool judged;       /* it has failed */
    struct vpa_expected expected;
    const struct vpa_pod *replacement; /* of this pass */
    int64_t live;                      /* pods of the owner, of this pass */
    /* Nothing has come, and whoever looks has to ask: for this VPA, in this pass; NULL: no. */
    const struct vpa_object *asks;
    int32_t wanted;           /* how many pods there are to be */
    enum vpa_verdict verdict; /* what came of it, WAIT: not known yet; and what was seen, heap */
    char *told;
    char key[];
};

struct trial *updater_trial_new(struct work *w, size_t pod, const struct vpa_proof_id *id,
                                const char *key);
void updater_trial_free(struct trial *t);
/* What a controller has made the pod of, as far as it says. */
uint64_t updater_template_of(const struct vpa_pod *pod);
/* t->replacement and t->live are those of this pass. seen: what was seen when it failed. Makes no
 * API call; sets t->asks where one is needed, in one pass of the trial's life unless it fails. */
enum vpa_verdict updater_trial_judge(struct pass *pass, struct trial *t,
                                     const struct vpa_object *vpa, struct vpa_buf *seen);
/* Asks for all of them, which are of one namespace, with one list: t->verdict and t->told. Pumps
 * the loop. */
void updater_trials_ask(struct pass *pass, struct trial *const *trials, size_t count);

#endif
