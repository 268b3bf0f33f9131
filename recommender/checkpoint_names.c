/*
 * A table of pairs (VPA and container), and the objects found on the API server with their owners,
 * both as hashes in an open table: 100,000 names would be megabytes. A name is settled when it is
 * first needed: one whose object has another owner gets a hash of the pair behind it, so that two
 * runs give the same names.
 */
#include "checkpoint_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_states.h"

#include "vpa/base/mem.h"

#define SEPARATOR '\x01'
#define SEPARATOR_TEXT "\x01"

static char *pair_key(const char *ns, const char *vpa, const char *container)
{
    return vpa_xprintf("%s" SEPARATOR_TEXT "%s" SEPARATOR_TEXT "%s", ns, vpa, container);
}

/* The three parts of a key, cut apart in a copy. */
struct parts {
    char *text;
    const char *ns;
    const char *vpa;
    const char *container;
};

static struct parts split_key(const char *key)
{
    struct parts p = {.text = vpa_xstrdup(key)};
    char *first = strchr(p.text, SEPARATOR);
    char *second = strchr(first + 1, SEPARATOR);

    *first = '\0';
    *second = '\0';
    p.ns = p.text;
    p.vpa = first + 1;
    p.container = second + 1;
    return p;
}

static void entry_free(struct checkpoint_entry *entry)
{
    free(entry->key);
    free(entry->other_name);
    free(entry->unreadable);
    free(entry);
}

void checkpoint_names_release(struct checkpoint_names *names)
{
    VPA_TABLE_RELEASE(&names->entries, entry_free);
    free(names->objects);
}

/* ---- objects ---- */

static uint64_t name_hash(const char *ns, const char *object)
{
    vpa_auto_free char *text = vpa_xprintf("%s" SEPARATOR_TEXT "%s", ns, object);

    return vpa_hash_bytes(text, strlen(text));
}

/* Slot of the name, or the free one where it belongs. */
static struct checkpoint_object *slot_of(const struct checkpoint_names *names, uint64_t name)
{
    size_t mask = names->object_capacity - 1;
    size_t i = (size_t)name & mask;

    while ((names->objects[i].name | names->objects[i].owner) != 0 &&
           names->objects[i].name != name)
        i = (i + 1) & mask;
    return &names->objects[i];
}

static void grow(struct checkpoint_names *names)
{
    struct checkpoint_names bigger = {.object_capacity =
                                          names->object_capacity ? names->object_capacity * 2 : 64};

    bigger.objects = vpa_xcalloc(bigger.object_capacity, sizeof *bigger.objects);
    for (size_t i = 0; i < names->object_capacity; i++)
        if ((names->objects[i].name | names->objects[i].owner) != 0)
            *slot_of(&bigger, names->objects[i].name) = names->objects[i];
    free(names->objects);
    names->objects = bigger.objects;
    names->object_capacity = bigger.object_capacity;
}

#define ANNOTATED ((uint64_t)1)

/* Its lowest bit is free. */
static uint64_t owner_hash(const char *key)
{
    return vpa_hash_bytes(key, strlen(key)) & ~ANNOTATED;
}

static void note_owner(struct checkpoint_names *names, const char *ns, const char *object,
                       const char *key, bool annotated)
{
    uint64_t name = name_hash(ns, object);

    if (names->object_count * 4 >= names->object_capacity * 3)
        grow(names);
    struct checkpoint_object *slot = slot_of(names, name);
    if ((slot->name | slot->owner) != 0)
        return;
    *slot = (struct checkpoint_object){name, owner_hash(key) | (annotated ? ANNOTATED : 0)};
    names->object_count++;
}

void checkpoint_names_found(struct checkpoint_names *names, const char *ns, const char *object,
                            const char *vpa, const char *container, bool annotated)
{
    vpa_auto_free char *key = pair_key(ns, vpa, container);

    note_owner(names, ns, object, key, annotated);
}

/* The object of that name, NULL when there is none. */
static const struct checkpoint_object *find_object(const struct checkpoint_names *names,
                                                   const char *ns, const char *object)
{
    if (names->object_capacity == 0)
        return NULL;
    const struct checkpoint_object *slot = slot_of(names, name_hash(ns, object));
    return (slot->name | slot->owner) != 0 ? slot : NULL;
}

/* Copies belong to a pair without names. */
void checkpoint_names_found_copy(struct checkpoint_names *names, const char *ns, const char *object)
{
    checkpoint_names_found(names, ns, object, "", "", true);
}

#define HASH_LENGTH 9 /* "-0123abcd" */

/* Its beginning, which ends as a name may end, and a hash of the whole. */
static char *short_name(const char *object)
{
    size_t most = CHECKPOINT_NAME_MAX - strlen(CHECKPOINT_UNREADABLE_SUFFIX) - HASH_LENGTH;
    size_t len = strlen(object) < most ? strlen(object) : most;

    while (len > 0 && !isalnum((unsigned char)object[len - 1]))
        len--;
    return vpa_xprintf("%.*s-%08" PRIx32 CHECKPOINT_UNREADABLE_SUFFIX, (int)len, object,
                       vpa_hash_stable(object));
}

char *checkpoint_names_of_copy(const struct checkpoint_names *names, const char *ns,
                               const char *object)
{
    vpa_auto_free char *name = vpa_xprintf("%s" CHECKPOINT_UNREADABLE_SUFFIX, object);
    vpa_auto_free char *nobody = pair_key(ns, "", "");
    const struct checkpoint_object *there = find_object(names, ns, name);

    if (strlen(name) > CHECKPOINT_NAME_MAX)
        return short_name(object);
    if (!there || (there->owner & ~ANNOTATED) == owner_hash(nobody))
        return VPA_STEAL(name);
    if (strlen(name) + HASH_LENGTH > CHECKPOINT_NAME_MAX)
        return short_name(object);
    return vpa_xprintf("%s-%08" PRIx32, name, vpa_hash_stable(name));
}

/* ---- entries ---- */

struct checkpoint_entry *checkpoint_names_entry(struct checkpoint_names *names, const char *ns,
                                                const char *vpa, const char *container)
{
    vpa_auto_free char *key = pair_key(ns, vpa, container);
    struct checkpoint_entry *entry = vpa_table_find(&names->entries, key);

    if (!entry) {
        entry = vpa_xcalloc(1, sizeof *entry);
        entry->key = VPA_STEAL(key);
        vpa_table_put(&names->entries, entry->key, entry);
    }
    return entry;
}

const char *checkpoint_entry_container(const struct checkpoint_entry *entry)
{
    return strrchr(entry->key, SEPARATOR) + 1;
}

static bool is_ours(const struct checkpoint_object *object, const struct checkpoint_entry *entry)
{
    return object && (object->owner & ~ANNOTATED) == owner_hash(entry->key);
}

/* Decides on the name that the entry asks for. Once with a hash, always with it: a second object
 * would leave the first one behind, with the same owner. */
static void settle_name(struct checkpoint_names *names, struct checkpoint_entry *entry,
                        const char *ns, const char *name)
{
    vpa_auto_free char *other = vpa_xprintf("%s-%08" PRIx32, name, vpa_hash_stable(entry->key));
    const struct checkpoint_object *object = find_object(names, ns, name);
    const struct checkpoint_object *hashed = find_object(names, ns, other);

    if (!is_ours(object, entry) && (object || is_ours(hashed, entry))) {
        entry->other_name = VPA_STEAL(other);
        object = hashed;
    }
    entry->annotated = object && (object->owner & ANNOTATED);
    /* The object will exist soon: a second pair that asks for it finds it taken. */
    note_owner(names, ns, entry->other_name ? entry->other_name : name, entry->key,
               entry->annotated);
    entry->named = true;
}

char *checkpoint_names_assign(struct checkpoint_names *names, struct checkpoint_entry *entry)
{
    struct parts p = split_key(entry->key);
    char *name = vpa_xprintf("%s-%s", p.vpa, p.container);

    if (!entry->named)
        settle_name(names, entry, p.ns, name);
    if (entry->other_name)
        vpa_replace_text(&name, entry->other_name);
    free(p.text);
    return name;
}

/* ---- a new list ---- */

/* It was read while the object was not created yet, or could not be. The name stays its own, unless
 * the list says that somebody else has the object: what was written there was lost. */
static void reserve(struct checkpoint_names *names, struct checkpoint_entry *entry)
{
    vpa_auto_free char *name = checkpoint_names_assign(names, entry);
    struct parts p = split_key(entry->key);
    const struct checkpoint_object *object = find_object(names, p.ns, name);

    if (!object) {
        note_owner(names, p.ns, name, entry->key, entry->annotated);
    } else if (!is_ours(object, entry)) {
        free(VPA_STEAL(entry->other_name));
        entry->named = false;
        entry->written = false;
    }
    free(p.text);
}

void checkpoint_names_take_objects(struct checkpoint_names *names, struct checkpoint_names *from)
{
    void *value;

    free(names->objects);
    names->objects = VPA_STEAL(from->objects);
    names->object_count = from->object_count;
    names->object_capacity = from->object_capacity;
    from->object_count = 0;
    from->object_capacity = 0;
    for (size_t i = 0; vpa_table_next(&names->entries, &i, NULL, &value);) {
        struct checkpoint_entry *entry = value;

        if (entry->named)
            reserve(names, entry);
    }
}

/* Whether anything is stored for it, or will be. */
static bool is_of_use(const struct checkpoint_entry *entry, const struct vpa_autoscaler *v,
                      vpa_time now)
{
    const char *container = checkpoint_entry_container(entry);
    vpa_auto_free char *plain = checkpoint_state_plain(container);

    return entry->unreadable || !vpa_autoscaler_has_outlived(v, plain, VPA_TIME_UNSET, now) ||
           checkpoint_state_is_learned(v, container);
}

void checkpoint_names_prune(struct checkpoint_names *names, const struct vpa_cluster *cluster,
                            vpa_time now)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&names->entries, &i, &key, &value);) {
        struct checkpoint_entry *entry = value;
        struct parts p = split_key(key);
        const struct vpa_autoscaler *v = vpa_cluster_find_vpa(cluster, p.ns, p.vpa);

        free(p.text);
        if (v && !vpa_autoscaler_awaits_history(v) && is_of_use(entry, v, now))
            continue;
        vpa_table_remove(&names->entries, key);
        entry_free(entry);
    }
}
