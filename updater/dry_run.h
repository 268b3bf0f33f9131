/*
 * --prove-evictions=dry-run: what the API server would make of the replacement, before anything is
 * evicted. The pod itself is the template: it is read, freed of what belongs to it alone, and
 * created with dryRun=All, through the whole admission chain: quotas, the webhook, those of others.
 * Nothing is stored; what only shows later (no node, a crash) is not seen.
 *
 * The right to create pods cannot be limited to dry runs, so no default manifest grants it. Without
 * it that is said once, and evictions are proven by their replacements alone.
 */
#ifndef UPDATER_DRY_RUN_H
#define UPDATER_DRY_RUN_H

#include "work.h"
#include "vpa/policy/proof.h"

/* GOOD also when it cannot be told. seen: what was seen when it failed. Pumps the loop. */
enum vpa_verdict updater_dry_run(struct work *w, size_t pod, struct vpa_buf *seen);

/* The body of the request, of the pod as the API server has it; exposed for tests. */
void updater_dry_run_pod(const struct vpa_json *pod, struct vpa_buf *out);

#endif
