#include "basis.h"

#include <string.h>

#include "trial.h"
#include "vpa/base/str.h"

uint64_t updater_basis_uid(const struct vpa_object *vpa)
{
    const char *uid = vpa_or_empty(vpa->meta.uid);

    return vpa_hash_bytes(uid, strlen(uid));
}

static bool has_template(const struct basis *b, uint64_t template)
{
    for (size_t i = 0; i < b->template_count; i++) {
        if (b->templates[i] == template)
            return true;
    }
    return false;
}

struct basis *updater_basis_note(struct vpa_table *bases, const struct vpa_object *vpa,
                                 const char *key, const struct vpa_pod *const *pods, size_t count)
{
    struct basis *b = VPA_TABLE_MAKE(bases, key, struct basis, key);

    b->uid = updater_basis_uid(vpa);
    b->generation = vpa->meta.generation;
    b->knows_pods = count > 0;
    b->template_count = 0;
    for (size_t i = 0; pods && i < count && b->template_count < BASIS_TEMPLATES_MAX; i++) {
        uint64_t template = updater_template_of(pods[i]);

        if (!has_template(b, template))
            b->templates[b->template_count++] = template;
    }
    return b;
}

void updater_basis_add(struct basis *b, uint64_t template)
{
    b->knows_pods = true;
    b->templates[b->template_count++] = template;
}

const char *updater_basis_change(const struct basis *b, const struct vpa_object *vpa,
                                 const struct selected *s)
{
    if (b->uid != updater_basis_uid(vpa))
        return "the VPA was made anew";
    if (b->generation != vpa->meta.generation)
        return "the VPA was changed";
    if (!s || !b->knows_pods)
        return NULL;
    for (size_t i = 0; b->template_count < BASIS_TEMPLATES_MAX && i < s->pod_count; i++) {
        if (!has_template(b, updater_template_of(s->pods[i])))
            return "its pods have another template";
    }
    return NULL;
}
