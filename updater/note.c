/* What is remembered of a VPA between passes. */
#include "note.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

struct vpa_note *updater_note_of(struct pass_env *env, const struct vpa_object *vpa)
{
    vpa_auto_free char *key = vpa_xjoin(vpa->meta.ns, '/', vpa->meta.name);

    return VPA_TABLE_MAKE(&env->notes, key, struct vpa_note, key);
}

struct vpa_note *updater_note_find(const struct pass_env *env, const struct vpa_object *vpa)
{
    vpa_auto_free char *key = vpa_xjoin(vpa->meta.ns, '/', vpa->meta.name);

    return vpa_table_find(&env->notes, key);
}

static void note_free(struct vpa_note *note)
{
    free(note->few.message);
    free(note);
}

/* It is there also while it is unknown. */
static bool is_there(const struct pass_env *env, const char *key)
{
    const char *slash = strchr(key, '/');
    vpa_auto_free char *ns = vpa_xstrndup(key, (size_t)(slash - key));

    return vpa_cache_has(env->store->vpas, ns, slash + 1);
}

void updater_notes_sweep(struct pass_env *env)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&env->notes, &i, &key, &value);) {
        if (is_there(env, key))
            continue;
        vpa_table_remove(&env->notes, key);
        note_free(value);
    }
}

void updater_notes_free(struct pass_env *env)
{
    VPA_TABLE_RELEASE(&env->notes, note_free);
}
