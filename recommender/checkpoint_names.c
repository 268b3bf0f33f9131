#include "checkpoint_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

#define SEPARATOR "\x01"

static char *pair_key(const char *ns, const char *vpa, const char *container)
{
    return vpa_xprintf("%s" SEPARATOR "%s" SEPARATOR "%s", ns, vpa, container);
}

static void entry_free(struct checkpoint_entry *entry)
{
    free(entry->key);
    free((char *)entry->ns);
    free(entry->name);
    free(entry->unreadable);
    free(entry);
}

void checkpoint_names_clear_objects(struct checkpoint_names *names)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&names->objects, &i, &key, &value)) {
        free((char *)key);
        free(value);
    }
    vpa_table_clear(&names->objects);
}

void checkpoint_names_release(struct checkpoint_names *names)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&names->entries, &i, &key, &value))
        entry_free(value);
    vpa_table_release(&names->entries);
    checkpoint_names_clear_objects(names);
    vpa_table_release(&names->objects);
}

void checkpoint_names_found(struct checkpoint_names *names, const char *ns, const char *object,
                            const char *vpa, const char *container)
{
    vpa_auto_free char *key = vpa_xprintf("%s" SEPARATOR "%s", ns, object);

    if (vpa_table_find(&names->objects, key))
        return; /* an object has one owner: the first that was seen */
    vpa_table_put(&names->objects, VPA_STEAL(key), pair_key(ns, vpa, container));
}

/* One block holds the three texts; ns points at its start. */
static void set_texts(struct checkpoint_entry *entry, const char *ns, const char *vpa,
                      const char *container)
{
    size_t ns_size = strlen(ns) + 1;
    size_t vpa_size = strlen(vpa) + 1;
    size_t container_size = strlen(container) + 1;
    char *texts = vpa_xmalloc(ns_size + vpa_size + container_size);

    entry->ns = memcpy(texts, ns, ns_size);
    entry->vpa = memcpy(texts + ns_size, vpa, vpa_size);
    entry->container = memcpy(texts + ns_size + vpa_size, container, container_size);
}

struct checkpoint_entry *checkpoint_names_entry(struct checkpoint_names *names, const char *ns,
                                                const char *vpa, const char *container)
{
    vpa_auto_free char *key = pair_key(ns, vpa, container);
    struct checkpoint_entry *entry = vpa_table_find(&names->entries, key);

    if (!entry) {
        entry = vpa_xcalloc(1, sizeof *entry);
        entry->key = VPA_STEAL(key);
        entry->due = VPA_TIME_UNSET;
        set_texts(entry, ns, vpa, container);
        vpa_table_put(&names->entries, entry->key, entry);
    }
    return entry;
}

/* FNV-1a: the suffix has to be the same in every process. */
static uint32_t name_hash(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

void checkpoint_names_assign(struct checkpoint_names *names, struct checkpoint_entry *entry)
{
    if (entry->name)
        return;
    char *name = vpa_xprintf("%s-%s", entry->vpa, entry->container);
    vpa_auto_free char *key = vpa_xprintf("%s" SEPARATOR "%s", entry->ns, name);
    const char *owner = vpa_table_find(&names->objects, key);
    if (owner && strcmp(owner, entry->key) != 0) {
        free(name);
        name = vpa_xprintf("%s-%s-%08" PRIx32, entry->vpa, entry->container, name_hash(entry->key));
    }
    entry->name = name;
    checkpoint_names_found(names, entry->ns, name, entry->vpa, entry->container);
}

void checkpoint_names_prune(struct checkpoint_names *names, const struct vpa_cluster *cluster)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (vpa_table_next(&names->entries, &i, &key, &value)) {
        struct checkpoint_entry *entry = value;

        if (vpa_cluster_find_vpa(cluster, entry->ns, entry->vpa))
            continue;
        vpa_table_remove(&names->entries, key);
        entry_free(entry);
    }
}
