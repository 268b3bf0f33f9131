/* What unknown objects keep a pass from doing. */
#include "unknown.h"

#include <stdlib.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

/* Unknown objects that stand under one key. */
struct tally {
    int64_t count;
    char key[];
};

/* Keys are "namespace/kind/name"; those that can be told of no object stand under "namespace//". */
struct unknown {
    struct vpa_table vpas;       /* by target */
    struct vpa_table namespaces; /* with an unknown VPA */
    struct vpa_table pods;       /* by owner */
};

static void count(struct vpa_table *table, const char *ns, const char *kind, const char *name)
{
    vpa_auto_free char *key = vpa_xprintf("%s/%s/%s", ns, kind, name);

    VPA_TABLE_MAKE(table, key, struct tally, key)->count++;
}

static int64_t counted(const struct vpa_table *table, const char *ns, const char *kind,
                       const char *name)
{
    if (table->count == 0)
        return 0;

    vpa_auto_free char *key = vpa_xprintf("%s/%s/%s", ns, kind, name);
    const struct tally *tally = vpa_table_find(table, key);

    return tally ? tally->count : 0;
}

void updater_unknown_add(struct unknown *u, const struct vpa_object *vpa)
{
    const struct vpa_target_ref *target = &vpa->target_ref;

    count(&u->vpas, vpa->meta.ns, target->present ? target->kind : "",
          target->present ? target->name : "");
    count(&u->namespaces, vpa->meta.ns, "", "");
}

static void count_vpas(struct unknown *u, struct store *store)
{
    size_t n;
    vpa_auto_free const struct vpa_object **vpas = updater_store_unknown_vpas(store, &n);

    for (size_t i = 0; i < n; i++)
        updater_unknown_add(u, vpas[i]);
}

/* Terminating ones have left their group, as those that are known. */
static void count_pods(struct unknown *u, struct store *store)
{
    size_t n;
    vpa_auto_free const struct vpa_pod **pods = updater_store_unknown_pods(store, &n);

    for (size_t i = 0; i < n; i++) {
        const struct vpa_meta *meta = &pods[i]->meta;
        const struct vpa_owner_reference *owner = vpa_meta_controller_first(meta);

        if (!vpa_time_is_unset(meta->deletion) || (meta->owner_count > 0 && !owner))
            continue;
        count(&u->pods, meta->ns, owner ? owner->kind : "", owner ? owner->name : "");
    }
}

struct unknown *updater_unknown_new(struct store *store)
{
    struct unknown *u = vpa_xcalloc(1, sizeof(*u));

    count_vpas(u, store);
    count_pods(u, store);
    return u;
}

void updater_unknown_free(struct unknown *u)
{
    if (!u)
        return;
    VPA_TABLE_RELEASE(&u->vpas, free);
    VPA_TABLE_RELEASE(&u->namespaces, free);
    VPA_TABLE_RELEASE(&u->pods, free);
    free(u);
}

bool updater_unknown_governs(const struct unknown *u, const char *ns,
                             const struct vpa_controller_key *top, bool doubtful)
{
    if (counted(&u->vpas, ns, "", "") > 0)
        return true;
    if (doubtful)
        return counted(&u->namespaces, ns, "", "") > 0;
    return top && counted(&u->vpas, top->ns, top->kind, top->name) > 0;
}

int64_t updater_unknown_pods(const struct unknown *u, const char *ns, const char *kind,
                             const char *name)
{
    return counted(&u->pods, ns, kind, name) + counted(&u->pods, ns, "", "");
}
