/*
 * The proof that the webhook works, from the API server's side: its registration is followed, the
 * webhook is tested against it, and the status Lease rests on both (docs/compatibility.md, U13 and
 * U24).
 *
 *     struct proof *p = proof_new(&options);
 *     proof_serves(p, cert_pem);   // at start and with each new certificate
 *     proof_start(p);              // the port is open
 *     proof_registered(p);         // the registration has been written, or is not ours to write
 */
#ifndef ADMISSION_PROOF_H
#define ADMISSION_PROOF_H

#include "keeper.h"
#include "self_test.h"

/* A certificate that ends within this time is none any more: what the updater has begun because of
 * the last renewal must be admitted by it yet. */
#define PROOF_MARGIN (2 * VPA_MINUTE)

struct proof_options {
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    const struct admission_config *config;
    const char *ns; /* of the service */
    int port;       /* of the webhook */
};

struct proof {
    struct registration *registration;
    struct self_test *test; /* ask it how it is */
    struct keeper *keeper;  /* let it work where the loop may wait */

    struct proof_options options;
    struct keeper_facts facts; /* owned */
    bool registered;           /* it has been written, or is not ours to write */
};
struct proof *proof_new(const struct proof_options *options);
void proof_free(struct proof *proof); /* NULL is allowed */
void proof_start(struct proof *proof);
/* From here on it is a failure that there is no registration. */
void proof_registered(struct proof *proof);
/* What caBundle should be (PEM, copied; NULL: none). exactly: nothing else beside it, else a bundle
 * that vouches for what is served will do. */
void proof_wants_ca(struct proof *proof, const char *ca_pem, bool exactly);
/* Whether that may be out of date: then a bundle that is there is nobody's to judge. */
void proof_doubts_ca(struct proof *proof, bool doubt);
/* The chain (PEM, copied) that new connections get. */
void proof_serves(struct proof *proof, const char *chain_pem);
bool proof_is_serving(const struct proof *proof, const char *chain_pem);
/* Whether the API server, as far as its registration says, would take this chain now (NULL: the one
 * that is served): 0, or -1 also when that cannot be told. */
int proof_would_take(struct proof *proof, const char *chain_pem);
/* Whether it takes the one that is served, and would not with that CA (PEM) as its bundle. */
bool proof_would_lose(struct proof *proof, const char *ca_pem);

/* Whether pods are refused while nobody answers, as far as is known. */
bool proof_must_answer(const struct proof *proof);

#endif
