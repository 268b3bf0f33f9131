/* What a VPA was like when its breaker opened: whatever changes may have been the reason. */
#ifndef UPDATER_BASIS_H
#define UPDATER_BASIS_H

#include "select.h"
#include "vpa/base/table.h"

/* Templates that are remembered. */
#define BASIS_TEMPLATES_MAX 8

/* It is kept until the VPA says nothing of a pause any more: so a condition without one is that of
 * an earlier process. */
struct basis {
    uint64_t uid; /* its hash */
    int64_t generation;
    bool knows_pods; /* there were some when it was made */
    int64_t sent_at; /* monotonic: a condition was sent, which the cache may not have yet */
    uint64_t templates[BASIS_TEMPLATES_MAX];
    size_t template_count;
    char key[];
};
/* VPAs of one name are told apart. */
uint64_t updater_basis_uid(const struct vpa_object *vpa);
/* pods: NULL when it is not known which they are; of none it is not known either what they are made
 * of. The basis, which the table has under `key`. */
struct basis *updater_basis_note(struct vpa_table *bases, const struct vpa_object *vpa,
                                 const char *key, const struct vpa_pod *const *pods, size_t count);
/* Pods that are not there any more had this template. */
void updater_basis_add(struct basis *b, uint64_t template);
/* Why the reason of a failure may be gone; NULL: all is as it was. s: NULL: its pods are not
 * known. */
const char *updater_basis_change(const struct basis *b, const struct vpa_object *vpa,
                                 const struct selected *s);

#endif
