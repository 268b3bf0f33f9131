/*
 * Keeps the registration as it should be. What we own is repaired: an object that is gone is
 * registered again, a part that differs is put back, a caBundle that does not vouch for us gets our
 * CA. What somebody else owns is reported: a line, the gauge registration_right, a Warning event on
 * the status Lease (the registration itself has no namespace for one). Who owns what:
 * registration_view.h.
 *
 *     struct keeper *k = keeper_new(&options);
 *     keeper_start(k);                            // the first registration has been written
 *     if (keeper_is_due(k)) keeper_work(k);       // where the loop may wait
 *
 * Settings that a replica with other flags has written are left alone (the last one to start has
 * the last word) but for one look at the namespaces that are left out, after ten minutes: a replica
 * of an older version may have put its own ones back before it was gone.
 *
 * There is no fight: whoever keeps undoing a repair is answered after pauses that double from a
 * second to five minutes, and start over after ten quiet minutes.
 */
#ifndef ADMISSION_KEEPER_H
#define ADMISSION_KEEPER_H

#include "registration.h"

#define KEEPER_PAUSE_FIRST VPA_SECOND
#define KEEPER_PAUSE_MAX (5 * VPA_MINUTE)
#define KEEPER_QUIET (10 * VPA_MINUTE)

/* What the caBundle depends on. Tell the keeper of changes. */
struct keeper_facts {
    char *ca;       /* what it should be (PEM), NULL: none */
    bool exact_ca;  /* and nothing else, even if that vouches for us */
    bool doubts_ca; /* it may be another by now */
    char *chain;    /* that we serve, PEM */
};

struct keeper_options {
    struct vpa_kube_client *client;    /* borrowed */
    struct registration_wanted wanted; /* what it points to is borrowed */
    struct registration *registration; /* borrowed */
    const struct keeper_facts *facts;  /* borrowed */
};

struct keeper;
struct keeper *keeper_new(const struct keeper_options *options);
void keeper_free(struct keeper *keeper); /* NULL is allowed */
void keeper_start(struct keeper *keeper);
/* The registration, or what it should be, has changed. */
void keeper_look(struct keeper *keeper);
/* The same, because we want another caBundle now: to write that is no repair. */
void keeper_ca_is_new(struct keeper *keeper);
bool keeper_is_due(const struct keeper *keeper);
/* Looks, and repairs or reports. Pumps the loop. */
void keeper_work(struct keeper *keeper);

#endif
