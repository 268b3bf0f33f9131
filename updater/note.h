/*
 * What is remembered of a VPA between passes: one note of each, made when there is something to
 * remember and forgotten when the VPA is gone. Each part is written by one file.
 *
 *     struct vpa_note *note = updater_note_of(env, vpa);
 *     note->refused = true;
 *     updater_notes_sweep(env);                   // a VPA has gone
 */
#ifndef UPDATER_NOTE_H
#define UPDATER_NOTE_H

#include "env.h"

/* What the ledger was told (told.c). */
struct told {
    uint32_t recent, older; /* rules, a bit each */
    uint32_t passes;        /* of the recent ones */
    uint64_t identity;      /* of the VPA as it was */
};

/* Whether its pods are too few to be changed (few.c). */
struct few {
    bool now;         /* too few in this pass */
    bool few;         /* what the streak is of */
    unsigned streak;  /* at most UPDATER_FEW_PASSES; 0: there is none, and no message */
    unsigned settled; /* passes with this message */
    char *message;    /* heap */
};

struct vpa_note {
    struct told told;
    struct few few;
    bool refused;       /* its last condition was refused (condition.c), */
    int64_t refused_at; /* monotonic */
    bool recovered; /* the memory has what an earlier process may have left under way (select.c) */
    uint64_t recovered_uid; /* of the VPA of which that is so, the hash of it */
    bool told_of_auto;      /* the log has named its deprecated mode (select.c) */
    char key[];
};

/* Its note, which is made when there is none; borrowed until the VPA is gone. */
struct vpa_note *updater_note_of(struct pass_env *env, const struct vpa_object *vpa);
/* NULL: nothing is remembered. */
struct vpa_note *updater_note_find(const struct pass_env *env, const struct vpa_object *vpa);
/* Forgets VPAs that are gone. */
void updater_notes_sweep(struct pass_env *env);
/* Forgets all. */
void updater_notes_free(struct pass_env *env);

#endif
