/*
 * Decoded as Go's decoder would: member names in any letter case, null as absent. The pod goes back
 * as a tree, so that members that nobody here knows survive.
 */
#include "query_object.h"

#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_decode.h"
#include "vpa/json/json_writer.h"

/* ---- request ---- */

static int check_identity(const struct vpa_json *root, struct vpa_error *err)
{
    const char *version = vpa_json_string(vpa_json_find(root, "apiVersion"));
    const char *kind = vpa_json_string(vpa_json_find(root, "kind"));

    if (!vpa_json_is_object(root))
        return vpa_json_wrong_type(root, "object", err);
    if (!version || strcmp(version, QUERY_API_VERSION) != 0)
        return vpa_fail(err, VPA_INVALID, "apiVersion must be " QUERY_API_VERSION);
    if (!kind || strcmp(kind, QUERY_KIND) != 0)
        return vpa_fail(err, VPA_INVALID, "kind must be " QUERY_KIND);
    return 0;
}

/* *out: the member, or NULL when it is absent or null. */
static int find_object(const struct vpa_json *parent, const char *name, const struct vpa_json **out,
                       struct vpa_error *err)
{
    const struct vpa_json *node = vpa_json_find(parent, name);

    if (!vpa_json_is_null(node) && !vpa_json_is_object(node)) {
        (void)vpa_json_wrong_type(node, "object", err);
        return vpa_wrap(err, "%s", name);
    }
    *out = vpa_json_is_null(node) ? NULL : node;
    return 0;
}

static int read_namespace(struct query_object *query, struct vpa_error *err)
{
    const struct vpa_json *node = vpa_json_find(query->metadata, "namespace");

    if (!vpa_json_is_null(node) && !vpa_json_string(node)) {
        (void)vpa_json_wrong_type(node, "string", err);
        return vpa_wrap(err, "metadata: namespace");
    }
    query->ns = vpa_or_empty(vpa_json_string(node));
    if (query->pod_meta.ns[0])
        query->ns = query->pod_meta.ns;
    if (!query->ns[0])
        query->ns = "default";
    return 0;
}

static int read_container(const struct vpa_json *node, const char **name, struct vpa_error *err)
{
    const struct vpa_json *text = vpa_json_find(node, "name");

    if (!vpa_json_is_object(node))
        return vpa_json_wrong_type(node, "object", err);
    if (!vpa_json_is_null(text) && !vpa_json_string(text))
        return vpa_json_wrong_type(text, "string", err);
    *name = vpa_or_empty(vpa_json_string(text));
    return 0;
}

static int read_containers(struct vpa_arena *arena, const struct vpa_json *spec,
                           struct query_object *query, struct vpa_error *err)
{
    const struct vpa_json *list = vpa_json_find(spec, "containers");
    size_t count = vpa_json_count(list);

    if (!vpa_json_is_null(list) && !vpa_json_is_array(list)) {
        (void)vpa_json_wrong_type(list, "array", err);
        return vpa_wrap(err, "containers");
    }
    if (count > VPA_JSON_LIST_MAX)
        return vpa_fail(err, VPA_LIMIT, "containers: %zu of them, at most %d are read", count,
                        VPA_JSON_LIST_MAX);

    const char **names = vpa_arena_alloc(arena, (count + 1) * sizeof(*names));
    size_t at = 0;
    vpa_json_foreach (node, list) {
        if (read_container(node, &names[at], err) < 0)
            return vpa_wrap(err, "containers: number %zu", at);
        at++;
    }
    query->containers = names;
    query->container_count = count;
    return 0;
}

static int read_pod(struct vpa_arena *arena, struct query_object *query, struct vpa_error *err)
{
    const struct vpa_json *metadata, *spec;

    if (find_object(query->pod, "metadata", &metadata, err) < 0 ||
        find_object(query->pod, "spec", &spec, err) < 0)
        return -1;
    if (vpa_meta_decode(arena, metadata, &query->pod_meta, err) < 0)
        return vpa_wrap(err, "metadata");
    if (read_containers(arena, spec, query, err) < 0)
        return vpa_wrap(err, "spec");
    return 0;
}

int query_object_decode(struct vpa_arena *arena, const char *body, size_t len,
                        struct query_object *out, struct vpa_error *err)
{
    struct query_object query = {0};
    const struct vpa_json *root, *spec;

    if (vpa_json_parse_folded(arena, body, len, &root, err) < 0 || check_identity(root, err) < 0 ||
        find_object(root, "metadata", &query.metadata, err) < 0 ||
        find_object(root, "spec", &spec, err) < 0)
        return -1;
    if (find_object(spec, "pod", &query.pod, err) < 0)
        return vpa_wrap(err, "spec");
    if (!query.pod)
        return vpa_fail(err, VPA_INVALID, "spec.pod is missing");
    if (read_pod(arena, &query, err) < 0)
        return vpa_wrap(err, "spec.pod");
    if (read_namespace(&query, err) < 0)
        return -1;
    *out = query;
    return 0;
}

int query_object_place(struct query_object *query, const char *ns, struct vpa_error *err)
{
    const char *named = vpa_json_text(query->metadata, "namespace");

    if ((*named && strcmp(named, ns) != 0) ||
        (*query->pod_meta.ns && strcmp(query->pod_meta.ns, ns) != 0))
        return vpa_fail(err, VPA_INVALID,
                        "the namespace of the provided object does not match the namespace sent "
                        "on the request");
    query->ns = ns;
    return 0;
}

const char *query_object_pod(struct vpa_arena *arena, const struct query_object *query)
{
    const struct vpa_meta *meta = &query->pod_meta;

    if (meta->name[0])
        return vpa_arena_printf(arena, "%s/%s", query->ns, meta->name);
    return vpa_arena_printf(arena, "%s/%s%%", query->ns, meta->generate_name);
}

bool query_object_concerns(const struct query_object *query, const struct vpa_recommendation *rec)
{
    for (size_t i = 0; i < query->container_count; i++)
        if (vpa_recommendation_find(rec, query->containers[i]))
            return true;
    return false;
}

/* ---- answer ---- */

static void put_requests(struct vpa_json_writer *w, const char *name,
                         const struct vpa_resource_list *requests)
{
    vpa_json_member_object(w, name);
    vpa_json_key(w, "requests");
    vpa_resource_list_encode(w, requests);
    vpa_json_close_object(w);
}

static void put_container(struct vpa_json_writer *w, const struct vpa_container_recommendation *c)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", c->container_name);
    put_requests(w, "target", &c->target);
    if (c->lower_bound.count > 0)
        put_requests(w, "minRecommended", &c->lower_bound);
    if (c->upper_bound.count > 0)
        put_requests(w, "maxRecommended", &c->upper_bound);
    vpa_json_close_object(w);
}

static void put_recommendation(struct vpa_json_writer *w, const struct query_object *query,
                               const struct vpa_recommendation *rec)
{
    vpa_json_member_object(w, "recommendation");
    vpa_json_member_array(w, "containerRecommendations");
    for (size_t i = 0; i < query->container_count; i++) {
        const struct vpa_container_recommendation *c =
            vpa_recommendation_find(rec, query->containers[i]);

        if (c)
            put_container(w, c);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void put_question(struct vpa_json_writer *w, const struct query_object *query)
{
    vpa_json_member_string(w, "apiVersion", QUERY_API_VERSION);
    vpa_json_member_string(w, "kind", QUERY_KIND);
    if (query->metadata) {
        vpa_json_member_node(w, "metadata", query->metadata);
    }
    vpa_json_member_object(w, "spec");
    vpa_json_member_node(w, "pod", query->pod);
    vpa_json_close_object(w);
}

void query_object_encode(struct vpa_buf *out, const struct query_object *query,
                         const struct vpa_recommendation *rec, const char *error)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    put_question(&w, query);
    vpa_json_member_object(&w, "status");
    if (error)
        vpa_json_member_string(&w, "error", error);
    else
        put_recommendation(&w, query, rec);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

void query_object_encode_failure(struct vpa_buf *out, int code, const char *reason,
                                 const char *message)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "Status");
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_object(&w, "metadata");
    vpa_json_close_object(&w);
    vpa_json_member_string(&w, "status", "Failure");
    vpa_json_member_string(&w, "message", message);
    vpa_json_member_string(&w, "reason", reason);
    vpa_json_member_int(&w, "code", code);
    vpa_json_close_object(&w);
}
