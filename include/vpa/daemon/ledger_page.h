/*
 * /decisions on the plain listener: the ledger as JSON, asked for by
 *
 *     GET /decisions?namespace=web&vpa=api&pod=api-0&since=7
 *
 * each parameter optional, paged by `since` (vpa/daemon/ledger.h). It shows all tenants, so it is
 * not for everybody who reaches the port: callers of loopback (kubectl port-forward) are answered
 * where that is wanted, others need a bearer token that the API server knows (TokenReview) and
 * whose owner may get the nonResourceURL /decisions (SubjectAccessReview). Nothing is remembered of
 * a token; one is checked at a time.
 *
 *     struct vpa_ledger_page *page = vpa_ledger_page_new(observe, ledger, client, true);
 *     vpa_ledger_page_free(page);     // before any of the three
 */
#ifndef VPA_DAEMON_LEDGER_PAGE_H
#define VPA_DAEMON_LEDGER_PAGE_H

#include "vpa/daemon/ledger.h"
#include "vpa/daemon/observe.h"
#include "vpa/kube/client.h"

#define VPA_DECISIONS_PATH "/decisions"

struct vpa_ledger_page;
/* trust_local: callers of loopback need no token. */
struct vpa_ledger_page *vpa_ledger_page_new(struct vpa_observe *observe, struct vpa_ledger *ledger,
                                            struct vpa_kube_client *client, bool trust_local);
/* NULL when it is switched off. */
struct vpa_ledger_page *vpa_ledger_page_new_by_flags(const struct vpa_ledger_flags *flags,
                                                     struct vpa_observe *observe,
                                                     struct vpa_ledger *ledger,
                                                     struct vpa_kube_client *client);
void vpa_ledger_page_free(struct vpa_ledger_page *page); /* NULL is allowed */

#endif
