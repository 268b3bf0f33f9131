#include "pod_inbox.h"

#include <stdlib.h>
#include <string.h>

#include "slim.h"

#include "vpa/base/log.h"
#include "vpa/base/mem.h"

struct pod_version {
    struct vpa_arena arena;
    struct vpa_pod pod;
};

struct pod_entry {
    char *ns; /* the key, cut apart */
    const char *name;
    struct pod_version *versions; /* oldest first; none: nothing new is known */
    size_t count;
    size_t capacity;
    uint64_t list; /* that was the newest when it was seen last */
    bool gone;
    char key[];
};

void pod_inbox_init(struct pod_inbox *inbox)
{
    *inbox = (struct pod_inbox){0};
    vpa_buf_init(&inbox->names, POD_INBOX_NAMES_MAX);
    vpa_buf_init(&inbox->listed, POD_INBOX_NAMES_MAX);
}

static void entry_free(struct pod_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++)
        vpa_arena_release(&entry->versions[i].arena);
    free(entry->versions);
    free(entry->ns);
    free(entry);
}

static void drop_entries(struct pod_inbox *inbox)
{
    size_t i = 0;
    void *entry;

    while (vpa_table_next(&inbox->entries, &i, NULL, &entry))
        entry_free(entry);
    vpa_table_release(&inbox->entries);
}

void pod_inbox_release(struct pod_inbox *inbox)
{
    drop_entries(inbox);
    vpa_buf_release(&inbox->names);
    vpa_buf_release(&inbox->listed);
}

/* ---- events ---- */

static struct pod_entry *entry_new(const char *key, const char *ns)
{
    size_t length = strlen(key);
    size_t ns_length = strlen(ns);
    struct pod_entry *entry = vpa_xcalloc(1, sizeof *entry + length + 1);

    memcpy(entry->key, key, length + 1);
    entry->ns = vpa_xstrndup(ns, ns_length);
    entry->name = entry->key + ns_length + 1;
    return entry;
}

bool pod_inbox_has(const struct pod_inbox *inbox, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, SLIM_KEY_SEPARATOR, name);

    return vpa_table_find(&inbox->entries, key) != NULL;
}

/* The entry of that pod, which was seen just now. */
static struct pod_entry *touch(struct pod_inbox *inbox, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, SLIM_KEY_SEPARATOR, name);
    struct pod_entry *entry = vpa_table_find(&inbox->entries, key);

    if (!entry) {
        entry = entry_new(key, ns);
        vpa_table_put(&inbox->entries, entry->key, entry);
    }
    entry->list = inbox->list;
    entry->gone = false;
    return entry;
}

void pod_inbox_begin_list(struct pod_inbox *inbox)
{
    inbox->list++;
    vpa_buf_clear(&inbox->names);
}

void pod_inbox_listed(struct pod_inbox *inbox, const char *ns, const char *name)
{
    vpa_buf_append(&inbox->names, ns, strlen(ns) + 1);
    vpa_buf_append(&inbox->names, name, strlen(name) + 1);
}

void pod_inbox_end_list(struct pod_inbox *inbox)
{
    size_t i = 0;
    void *value;

    if (vpa_buf_failed(&inbox->names)) {
        VPA_ERROR(
            "Too many pods to compare with the list; pods that are gone stay until the next one");
        return;
    }
    while (vpa_table_next(&inbox->entries, &i, NULL, &value)) {
        struct pod_entry *entry = value;

        if (entry->list < inbox->list)
            entry->gone = true;
    }
    vpa_buf_release(&inbox->listed);
    inbox->listed = inbox->names;
    inbox->has_list = true;
    vpa_buf_init(&inbox->names, POD_INBOX_NAMES_MAX);
}

/* The version that is as good as the new one, or nothing but room for it. */
static struct pod_version *slot_for(struct pod_entry *entry, const struct vpa_pod *pod)
{
    if (entry->count > 0 && (entry->count == POD_INBOX_VERSIONS_MAX ||
                             !vpa_oom_may_differ(&entry->versions[entry->count - 1].pod, pod))) {
        vpa_arena_release(&entry->versions[entry->count - 1].arena);
        return &entry->versions[entry->count - 1];
    }
    VPA_GROW(entry->versions, entry->count, entry->capacity);
    return &entry->versions[entry->count++];
}

int pod_inbox_put(struct pod_inbox *inbox, const struct vpa_json *source, size_t size,
                  struct vpa_error *err)
{
    struct pod_version version = {0};

    vpa_arena_init(&version.arena, size);
    if (vpa_pod_decode(&version.arena, source, &version.pod, err) < 0) {
        vpa_arena_release(&version.arena);
        return -1;
    }
    struct pod_entry *entry = touch(inbox, version.pod.meta.ns, version.pod.meta.name);
    *slot_for(entry, &version.pod) = version;
    return 0;
}

void pod_inbox_keep(struct pod_inbox *inbox, const char *ns, const char *name)
{
    touch(inbox, ns, name);
}

void pod_inbox_delete(struct pod_inbox *inbox, const char *ns, const char *name)
{
    touch(inbox, ns, name)->gone = true;
}

/* ---- into the model ---- */

static void apply_list(const struct vpa_buf *names, struct vpa_cluster *cluster)
{
    const char *end = names->data + names->len;

    vpa_cluster_mark_all_pods_deleted(cluster);
    for (const char *ns = names->data; ns && ns < end;) {
        const char *name = ns + strlen(ns) + 1;

        vpa_cluster_keep_pod(cluster, ns, name);
        ns = name + strlen(name) + 1;
    }
}

static void apply_entry(const struct pod_entry *entry, struct vpa_cluster *cluster,
                        struct vpa_oom_queue *ooms, vpa_time now)
{
    if (entry->gone)
        vpa_cluster_mark_pod_deleted(cluster, entry->ns, entry->name);
    else if (entry->count == 0)
        vpa_cluster_keep_pod(cluster, entry->ns, entry->name);
    else
        vpa_cluster_place_pod(cluster, &entry->versions[entry->count - 1].pod, now);
    for (size_t i = 0; i < entry->count; i++)
        vpa_cluster_observe_pod(cluster, &entry->versions[i].pod, ooms);
}

void pod_inbox_apply(struct pod_inbox *inbox, struct vpa_cluster *cluster,
                     struct vpa_oom_queue *ooms, vpa_time now)
{
    size_t count = inbox->entries.count;
    vpa_auto_free struct pod_entry **sorted =
        (struct pod_entry **)vpa_table_sorted(&inbox->entries);

    if (inbox->has_list)
        apply_list(&inbox->listed, cluster);
    inbox->has_list = false;
    vpa_buf_release(&inbox->listed);
    for (size_t i = 0; i < count; i++)
        apply_entry(sorted[i], cluster, ooms, now);
    drop_entries(inbox);
}
