/*
 * What the ledger is told of recommendations: one entry when a VPA has its first, when a target is
 * a tenth or more away from the one written down last, when its containers or its conditions
 * change. Nothing while nothing changes.
 *
 *     account_begin(a);                                  // of a pass
 *     account_tell(a, &facts, &rec, &status, now);       // each VPA
 *     account_end(a);                                    // those not told of are forgotten
 *
 * Memory beside the ledger's: about 100 bytes per VPA and 16 per container.
 */
#ifndef RECOMMENDER_ACCOUNT_H
#define RECOMMENDER_ACCOUNT_H

#include "vpa/daemon/ledger.h"
#include "vpa/model/object_status.h"
#include "vpa/policy/recommendation_facts.h"

struct account;
struct account *account_new(struct vpa_ledger *ledger); /* borrowed; NULL gives NULL */
void account_free(struct account *a);                   /* NULL is allowed, also below */
void account_begin(struct account *a);
void account_tell(struct account *a, const struct vpa_recommendation_facts *facts,
                  const struct vpa_recommendation *rec, const struct vpa_object_status *status,
                  vpa_time now);
void account_end(struct account *a);

#endif
