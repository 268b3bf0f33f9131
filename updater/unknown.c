/* What unknown objects keep a pass from doing. */
#include "unknown.h"

#include <stdlib.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

/* Unknown objects that stand under one key. */
struct tally {
    int64_t count;
};

/* Keys are "namespace/kind/name"; those that can be told of no object stand under "namespace//". */
struct unknown {
    struct vpa_table vpas;       /* by target */
    struct vpa_table namespaces; /* with an unknown VPA */
    struct vpa_table pods;       /* by owner */
    struct vpa_arena arena;
};

static void count(struct unknown *u, struct vpa_table *table, const char *ns, const char *kind,
                  const char *name)
{
    char *key = vpa_arena_printf(&u->arena, "%s/%s/%s", ns, kind, name);
    struct tally *tally = vpa_table_find(table, key);

    if (!tally) {
        tally = vpa_arena_zalloc(&u->arena, sizeof(*tally));
        vpa_table_put(table, key, tally);
    }
    tally->count++;
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

    count(u, &u->vpas, vpa->meta.ns, target->present ? target->kind : "",
          target->present ? target->name : "");
    count(u, &u->namespaces, vpa->meta.ns, "", "");
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
        count(u, &u->pods, meta->ns, owner ? owner->kind : "", owner ? owner->name : "");
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
    vpa_table_release(&u->vpas);
    vpa_table_release(&u->namespaces);
    vpa_table_release(&u->pods);
    vpa_arena_release(&u->arena);
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
