#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cluster_internal.h"

const char *fake_text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

static const struct fake_resource built_in[] = {
    {"", "v1", "pods", "Pod", true, false},
    {"", "v1", "namespaces", "Namespace", false, false},
    {"", "v1", "nodes", "Node", false, false},
    {"", "v1", "events", "Event", true, false},
    {"", "v1", "limitranges", "LimitRange", true, false},
    {"", "v1", "replicationcontrollers", "ReplicationController", true, true},
    {"apps", "v1", "daemonsets", "DaemonSet", true, false},
    {"apps", "v1", "deployments", "Deployment", true, true},
    {"apps", "v1", "replicasets", "ReplicaSet", true, true},
    {"apps", "v1", "statefulsets", "StatefulSet", true, true},
    {"batch", "v1", "jobs", "Job", true, false},
    {"batch", "v1", "cronjobs", "CronJob", true, false},
    {"autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler", true, false},
    {"autoscaling.k8s.io", "v1", "verticalpodautoscalercheckpoints",
     "VerticalPodAutoscalerCheckpoint", true, false},
};

/* ---- resources ---- */

static const struct fake_resource *resource_of_kind(const struct fake_cluster *f,
                                                    const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');
    size_t group_len = slash ? (size_t)(slash - api_version) : 0;

    for (size_t i = 0; i < f->resource_count; i++) {
        const struct fake_resource *r = &f->resources[i];

        if (strlen(r->group) == group_len && strncmp(r->group, api_version, group_len) == 0 &&
            strcmp(r->kind, kind) == 0)
            return r;
    }
    return NULL;
}

const struct fake_resource *fake_resource_of_plural(const struct fake_cluster *f, const char *group,
                                                    const char *version, const char *plural)
{
    for (size_t i = 0; i < f->resource_count; i++) {
        const struct fake_resource *r = &f->resources[i];

        if (strcmp(r->group, group) == 0 && strcmp(r->version, version) == 0 &&
            strcmp(r->plural, plural) == 0)
            return r;
    }
    return NULL;
}

static char *object_key(const struct fake_resource *r, const char *ns, const char *name)
{
    return vpa_xprintf("%s/%s\x01%s\x01%s", r->group, r->plural, ns, name);
}

/* ---- objects and watches ---- */

bool fake_is_selected(const struct fake_object *o)
{
    if (!o)
        return false;
    if (strcmp(o->resource->plural, "pods") == 0)
        return strcmp(fake_text_at(o->root, "status.phase"), "Pending") != 0;
    if (strcmp(o->resource->plural, "events") == 0)
        return strcmp(fake_text_at(o->root, "reason"), "Evicted") == 0;
    return true;
}

static void publish(struct fake_cluster *f, const struct fake_object *o, const char *type)
{
    if (f->log_count == FAKE_LOG_MAX) {
        for (size_t i = 0; i < FAKE_LOG_MAX / 2; i++) {
            free(f->log[i].ns);
            free(f->log[i].text);
        }
        memmove(f->log, f->log + FAKE_LOG_MAX / 2,
                (FAKE_LOG_MAX - FAKE_LOG_MAX / 2) * sizeof *f->log);
        f->log_count -= FAKE_LOG_MAX / 2;
    }
    VPA_GROW(f->log, f->log_count, f->log_capacity);
    f->log[f->log_count++] = (struct fake_log_entry){f->version, o->resource, vpa_xstrdup(o->ns),
                                                     type, vpa_xstrdup(o->text)};
    for (struct fake_watch *w = f->watches; w; w = w->next)
        if (w->resource == o->resource && (!*w->ns || strcmp(w->ns, o->ns) == 0))
            vpa_memory_stream_event(w->stream, type, o->text);
}

static void object_free(struct fake_object *o)
{
    if (!o)
        return;
    vpa_arena_release(&o->arena);
    free(o->text);
    free(o->key);
    free(o);
}

/* before may be NULL; after may be NULL. Frees before. */
void fake_replace(struct fake_cluster *f, struct fake_object *before, struct fake_object *after)
{
    bool old_selected = fake_is_selected(before);
    bool new_selected = fake_is_selected(after);

    if (after)
        vpa_table_put(&f->objects, after->key, after);
    else if (before)
        vpa_table_remove(&f->objects, before->key);
    if (new_selected)
        publish(f, after, old_selected ? "MODIFIED" : "ADDED");
    else if (old_selected)
        publish(f, after ? after : before, "DELETED");
    object_free(before);
}

/* Metadata as the server completes it. */
static void put_metadata(struct fake_cluster *f, struct vpa_json_writer *w,
                         const struct vpa_json *given, const struct vpa_json *stored,
                         const char *ns)
{
    const struct vpa_json *creation = vpa_json_find(stored, "creationTimestamp");
    char version[32];
    char uid[40];

    if (!creation)
        creation = vpa_json_find(given, "creationTimestamp");
    snprintf(version, sizeof version, "%llu", (unsigned long long)f->version);
    snprintf(uid, sizeof uid, "uid-%llu", (unsigned long long)f->version);
    vpa_json_open_object(w);
    vpa_json_foreach (m, given) {
        const char *name = vpa_json_name(m);

        if (strcmp(name, "creationTimestamp") == 0 || strcmp(name, "resourceVersion") == 0 ||
            strcmp(name, "uid") == 0)
            continue;
        vpa_json_key(w, name);
        vpa_json_put_node(w, m);
    }
    if (ns && !vpa_json_find(given, "namespace"))
        vpa_json_member_string(w, "namespace", ns);
    vpa_json_key(w, "creationTimestamp");
    if (creation)
        vpa_json_put_node(w, creation);
    else
        vpa_json_put_time(w, vpa_loop_now(f->loop));
    vpa_json_member_string(w, "resourceVersion", version);
    const char *stored_uid = vpa_json_string(vpa_json_find(stored, "uid"));
    vpa_json_member_string(w, "uid", stored_uid ? stored_uid : uid);
    vpa_json_close_object(w);
}

/* given without status keeps the stored one for VPAs; status overrides both when not NULL. */
struct fake_object *fake_make_object(struct fake_cluster *f, const struct fake_resource *r,
                                     const struct vpa_json *given, const struct fake_object *before,
                                     const struct vpa_json *status, const char *ns)
{
    struct fake_object *o = vpa_xcalloc(1, sizeof *o);
    struct vpa_json_writer w;
    struct vpa_buf text;

    f->version++;
    vpa_buf_init(&text, FAKE_TEXT_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", r->kind);
    vpa_json_member_string(&w, "apiVersion",
                           *r->group ? vpa_arena_printf(&o->arena, "%s/%s", r->group, r->version)
                                     : r->version);
    vpa_json_key(&w, "metadata");
    put_metadata(f, &w, vpa_json_find(given, "metadata"),
                 before ? vpa_json_find(before->root, "metadata") : NULL, ns);
    vpa_json_foreach (m, given) {
        const char *name = vpa_json_name(m);

        if (strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0 ||
            strcmp(name, "metadata") == 0 || (status && strcmp(name, "status") == 0))
            continue;
        vpa_json_key(&w, name);
        vpa_json_put_node(&w, m);
    }
    if (!status && before && strcmp(r->kind, "VerticalPodAutoscaler") == 0 &&
        !vpa_json_find(given, "status"))
        status = vpa_json_find(before->root, "status");
    if (status) {
        vpa_json_key(&w, "status");
        vpa_json_put_node(&w, status);
    }
    vpa_json_close_object(&w);
    o->resource = r;
    o->text = vpa_buf_take(&text);
    if (vpa_json_parse(&o->arena, o->text, strlen(o->text), &o->root, NULL) < 0)
        abort();
    o->ns = fake_text_at(o->root, "metadata.namespace");
    o->name = fake_text_at(o->root, "metadata.name");
    o->key = object_key(r, o->ns, o->name);
    return o;
}

struct fake_object *fake_find_object(const struct fake_cluster *f, const struct fake_resource *r,
                                     const char *ns, const char *name)
{
    vpa_auto_free char *key = object_key(r, ns, name);

    return vpa_table_find(&f->objects, key);
}

static void apply(struct fake_cluster *f, const struct vpa_json *given)
{
    const struct fake_resource *r =
        resource_of_kind(f, fake_text_at(given, "apiVersion"), fake_text_at(given, "kind"));

    if (!r)
        return;
    struct fake_object *before = fake_find_object(f, r, fake_text_at(given, "metadata.namespace"),
                                                  fake_text_at(given, "metadata.name"));
    fake_replace(f, before, fake_make_object(f, r, given, before, NULL, NULL));
}

char *fake_scale_key(const char *group, const char *plural, const char *ns, const char *name)
{
    return vpa_xprintf("%s|%s|%s|%s", group, plural, ns, name);
}

static void change_scale(struct fake_cluster *f, const struct vpa_json *scale, bool there)
{
    vpa_auto_free char *key =
        fake_scale_key(fake_text_at(scale, "group"), fake_text_at(scale, "resource"),
                       fake_text_at(scale, "namespace"), fake_text_at(scale, "name"));

    if (there) {
        struct vpa_json_writer w;
        struct vpa_buf text;

        vpa_buf_init(&text, FAKE_TEXT_MAX);
        vpa_json_writer_init(&w, &text);
        vpa_json_put_node(&w, vpa_json_find(scale, "object"));
        vpa_table_put(&f->scales, vpa_arena_strdup(&f->arena, key),
                      vpa_arena_strdup(&f->arena, vpa_buf_text(&text)));
        vpa_buf_release(&text);
    } else {
        vpa_table_remove(&f->scales, key);
    }
}

static void close_watches(struct fake_cluster *f, const char *plural)
{
    for (struct fake_watch **link = &f->watches; *link;) {
        struct fake_watch *w = *link;

        if (strcmp(w->resource->plural, plural) != 0) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        vpa_memory_stream_end(w->stream, VPA_TRANSPORT_OK);
        free(w->ns);
        free(w);
    }
}

void fake_cluster_change(struct fake_cluster *f, const struct vpa_json *change)
{
    const struct vpa_json *what;

    if ((what = vpa_json_find(change, "apply"))) {
        apply(f, what);
    } else if ((what = vpa_json_find(change, "delete"))) {
        const struct fake_resource *r =
            resource_of_kind(f, fake_text_at(what, "apiVersion"), fake_text_at(what, "kind"));
        struct fake_object *o =
            r ? fake_find_object(f, r, fake_text_at(what, "namespace"), fake_text_at(what, "name"))
              : NULL;

        if (o) {
            f->version++;
            fake_replace(f, o, NULL);
        }
    } else if ((what = vpa_json_find(change, "scale"))) {
        change_scale(f, what, true);
    } else if ((what = vpa_json_find(change, "unscale"))) {
        change_scale(f, what, false);
    } else if ((what = vpa_json_find(change, "close_watch"))) {
        close_watches(f, vpa_or_empty(vpa_json_string(what)));
    }
}

/* ---- life ---- */

void fake_store_init(struct fake_cluster *f, const struct vpa_json *crds)
{
    size_t count = VPA_COUNT(built_in);

    f->resources = vpa_xcalloc(count + vpa_json_count(crds), sizeof *f->resources);
    memcpy(f->resources, built_in, sizeof built_in);
    vpa_json_foreach (crd, crds) {
        struct fake_resource *r = &f->resources[count++];

        *r = (struct fake_resource){.group = fake_text_at(crd, "group"),
                                    .version = fake_text_at(crd, "version"),
                                    .plural = fake_text_at(crd, "resource"),
                                    .kind = fake_text_at(crd, "kind"),
                                    .namespaced = true};
        vpa_json_bool(vpa_json_find(crd, "scale"), &r->scale);
    }
    f->resource_count = count;
    f->version = 1000;
}

void fake_store_release(struct fake_cluster *f)
{
    size_t i = 0;
    const char *key;
    void *value;

    while (f->watches) {
        struct fake_watch *w = f->watches;

        f->watches = w->next;
        free(w->ns);
        free(w);
    }
    while (vpa_table_next(&f->objects, &i, &key, &value))
        object_free(value);
    vpa_table_release(&f->objects);
    vpa_table_release(&f->scales);
    for (size_t k = 0; k < f->log_count; k++) {
        free(f->log[k].ns);
        free(f->log[k].text);
    }
    free(f->log);
    free(f->resources);
}
