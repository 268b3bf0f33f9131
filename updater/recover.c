/* What an earlier process may have left under way. */
#include "recover.h"

#include <stdlib.h>

#include "work.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

/* VPAs of one name are told apart. */
static const char *key_of(const struct vpa_object *vpa)
{
    const char *uid = vpa_or_empty(vpa->meta.uid);

    return *uid ? uid : vpa->meta.name;
}

/* VPAs that are gone are forgotten once more are remembered than there are. */
static void sweep(struct pass_env *env, const struct vpa_object *const *vpas, size_t count)
{
    struct vpa_table known = {0};
    const char *key;
    void *value;

    if (env->recovered.count <= count)
        return;
    for (size_t i = 0; i < count; i++)
        vpa_table_put(&known, key_of(vpas[i]), &known);
    for (size_t i = 0; vpa_table_next(&env->recovered, &i, &key, &value);) {
        if (vpa_table_find(&known, key))
            continue;
        vpa_table_remove(&env->recovered, key);
        free(value);
    }
    vpa_table_release(&known);
}

static void recover(struct pass_env *env, const struct selected *s)
{
    char *key;

    if (vpa_table_find(&env->recovered, key_of(s->vpa)))
        return;
    key = vpa_xstrdup(key_of(s->vpa));
    vpa_table_put(&env->recovered, key, key);
    for (size_t k = 0; updater_work_boosts_of(env, s->vpa) && k < s->pod_count; k++) {
        if (vpa_unboost_presumed(s->pods[k]))
            vpa_update_memory_set_unboost(env->memory, s->pods[k]->meta.uid, true);
    }
}

void updater_recover(struct pass_env *env, const struct selection *selection,
                     const struct vpa_object *const *vpas, size_t count)
{
    for (size_t i = 0; i < selection->count; i++)
        recover(env, &selection->items[i]);
    sweep(env, vpas, count);
}

void updater_recover_forget(struct pass_env *env)
{
    VPA_TABLE_RELEASE(&env->recovered, free);
}
