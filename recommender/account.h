/*
 * What the ledger records of recommendations: one entry when a VPA has its first, when a target is
 * a tenth or more away from the one written down last, when its containers or its conditions
 * change. Nothing while nothing changes.
 *
 *     account_tell(ledger, vpa_autoscaler_note(v), &facts, &rec, &status, now); // in each pass
 *
 * Memory beside the ledger's: 16 bytes per VPA and 16 per container.
 */
#ifndef RECOMMENDER_ACCOUNT_H
#define RECOMMENDER_ACCOUNT_H

#include "vpa/daemon/ledger.h"
#include "vpa/model/object_status.h"
#include "vpa/policy/recommendation_facts.h"

/* ledger NULL: nothing. *noted: what was written down of the VPA last, NULL at first; free() ends
 * it. */
void account_tell(struct vpa_ledger *ledger, void **noted,
                  const struct vpa_recommendation_facts *facts,
                  const struct vpa_recommendation *rec, const struct vpa_object_status *status,
                  vpa_time now);

#endif
