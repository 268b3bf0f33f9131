/*
 * Role based access control: rules of Roles and ClusterRoles through their bindings, the few
 * built-in rights (discovery for all who are authenticated, health and version for everybody), and
 * the self reviews. Escalation is not checked: who may write roles may write any.
 */
#include "sim.h"

#include <stdio.h>
#include <string.h>

static bool listed(const struct jv *list, const char *text)
{
    jv_each (m, list) {
        const char *t = jv_text(m->value);
        if (t && (!strcmp(t, text) || !strcmp(t, "*")))
            return true;
    }
    return false;
}

struct question {
    const char *verb, *group, *resource, *name, *path; /* path: not a resource */
};

static bool path_listed(const struct jv *list, const char *path)
{
    jv_each (m, list) {
        const char *t = jv_text(m->value);
        size_t len = t ? strlen(t) : 0;
        if (t && (!strcmp(t, path) || (len && t[len - 1] == '*' && !strncmp(t, path, len - 1))))
            return true;
    }
    return false;
}

static bool resource_listed(const struct jv *list, const char *resource)
{
    const char *slash = strchr(resource, '/');

    jv_each (m, list) {
        const char *t = jv_text(m->value);
        if (!t)
            continue;
        if (!strcmp(t, "*") || !strcmp(t, resource) ||
            (slash && !strncmp(t, "*/", 2) && !strcmp(t + 1, slash)))
            return true;
    }
    return false;
}

static bool rules_allow(const struct jv *rules, const struct question *q)
{
    jv_each (m, rules) {
        const struct jv *r = m->value, *names = jv_get(r, "resourceNames");
        if (!listed(jv_get(r, "verbs"), q->verb))
            continue;
        if (q->path) {
            if (path_listed(jv_get(r, "nonResourceURLs"), q->path))
                return true;
            continue;
        }
        if (!listed(jv_get(r, "apiGroups"), q->group) ||
            !resource_listed(jv_get(r, "resources"), q->resource))
            continue;
        if (!jv_len(names))
            return true;
        jv_each (n, names)
            if (jv_text(n->value) && !strcmp(n->value->text, q->name))
                return true;
    }
    return false;
}

/* Who the subject is in the words of the answer ("Group \"devs\""), or NULL. */
static const char *subject_fits(struct ctx *c, const struct user *u, const struct jv *s,
                                const char *ns)
{
    const char *kind = jv_text_at(s, "kind"), *name = jv_text_at(s, "name");

    if (!strcmp(kind, "User") && !strcmp(u->name, name))
        return vpa_arena_printf(c->a, "User \"%s\"", name);
    if (!strcmp(kind, "Group"))
        for (size_t i = 0; i < u->group_count; i++)
            if (!strcmp(u->groups[i], name))
                return vpa_arena_printf(c->a, "Group \"%s\"", name);
    if (!strcmp(kind, "ServiceAccount")) {
        const char *in = *jv_text_at(s, "namespace") ? jv_text_at(s, "namespace") : ns;
        if (!strcmp(u->name, vpa_arena_printf(c->a, "system:serviceaccount:%s:%s", in, name)))
            return vpa_arena_printf(c->a, "ServiceAccount \"%s/%s\"", name, in);
    }
    return NULL;
}

static bool role_allows(struct ctx *c, const struct jv *ref, const char *ns,
                        const struct question *q)
{
    bool cluster = !strcmp(jv_text_at(ref, "kind"), "ClusterRole");
    const struct restype *t = types_find(&c->sim->types, "rbac.authorization.k8s.io", "v1",
                                         cluster ? "clusterroles" : "roles");
    const struct version *v = store_find(t->store, cluster ? "" : ns, jv_text_at(ref, "name"));

    return v && rules_allow(jv_get(version_parse(c->a, v), "rules"), q);
}

static bool bindings_allow(struct ctx *c, const struct user *u, const char *plural, const char *ns,
                           const struct question *q, const char **reason)
{
    const struct restype *t = types_find(&c->sim->types, "rbac.authorization.k8s.io", "v1", plural);
    size_t i = store_lower(t->store, ns, "");

    for (; i < t->store->count && !strcmp(t->store->items[i]->ns, ns); i++) {
        const struct version *v = t->store->items[i];
        const struct jv *b = version_parse(c->a, v);
        jv_each (s, jv_get(b, "subjects")) {
            const char *who = subject_fits(c, u, s->value, ns);
            const struct jv *ref = jv_get(b, "roleRef");
            if (!who || !role_allows(c, ref, ns, q))
                continue;
            *reason = vpa_arena_printf(c->a, "RBAC: allowed by %s \"%s%s%s\" of %s \"%s\" to %s",
                                       *ns ? "RoleBinding" : "ClusterRoleBinding", v->name,
                                       *ns ? "/" : "", ns, jv_text_at(ref, "kind"),
                                       jv_text_at(ref, "name"), who);
            return true;
        }
    }
    return false;
}

static bool is_master(const struct user *u)
{
    for (size_t i = 0; i < u->group_count; i++)
        if (!strcmp(u->groups[i], "system:masters"))
            return true;
    return false;
}

/* The lock is held. */
static bool allowed(struct ctx *c, const struct user *u, const struct question *q, const char *ns,
                    const char **reason)
{
    *reason = "";
    if (is_master(u))
        return true;
    if (bindings_allow(c, u, "clusterrolebindings", "", q, reason))
        return true;
    return !q->path && *ns && bindings_allow(c, u, "rolebindings", ns, q, reason);
}

bool rbac_allows(struct ctx *c, const struct user *user, const char *verb, const char *group,
                 const char *resource, const char *sub, const char *ns, const char *name,
                 const char **reason)
{
    struct question q = {
        verb, group, *sub ? vpa_arena_printf(c->a, "%s/%s", resource, sub) : resource, name, NULL};
    return allowed(c, user, &q, ns, reason);
}

static bool open_path(const struct user *u, const char *path)
{
    static const char *const everybody[] = {"/healthz", "/livez", "/readyz", "/version"};
    static const char *const known[] = {"/api", "/apis", "/openapi"};

    for (size_t i = 0; i < VPA_COUNT(everybody); i++)
        if (!strncmp(path, everybody[i], strlen(everybody[i])))
            return true;
    if (!strcmp(u->name, "system:anonymous"))
        return false;
    for (size_t i = 0; i < VPA_COUNT(known); i++)
        if (!strcmp(path, known[i]) ||
            (!strncmp(path, known[i], strlen(known[i])) && path[strlen(known[i])] == '/'))
            return true;
    return false;
}

static int forbidden_resource(struct ctx *c)
{
    const char *resource =
        *c->sub ? vpa_arena_printf(c->a, "%s/%s", c->resource, c->sub) : c->resource;
    const char *qualified =
        *c->group ? vpa_arena_printf(c->a, "%s.%s", c->resource, c->group) : c->resource;
    const char *scope =
        *c->ns ? vpa_arena_printf(c->a, "in the namespace \"%s\"", c->ns) : "at the cluster scope";
    struct jv *d = jv_obj(c->a);

    if (*c->name)
        jv_set_str(c->a, d, "name", c->name);
    if (*c->group)
        jv_set_str(c->a, d, "group", c->group);
    jv_set_str(c->a, d, "kind", c->resource);
    const char *object =
        *c->name ? vpa_arena_printf(c->a, "%s \"%s\"", qualified, c->name) : qualified;
    return fail_details(
        c, 403, "Forbidden", d,
        vpa_arena_printf(c->a,
                         "%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group "
                         "\"%s\" %s",
                         object, c->user.name, c->verb, resource, c->group, scope));
}

/* A list or a watch of one name counts as a request for it. */
static const char *name_asked_for(struct ctx *c)
{
    static const char by_name[] = "metadata.name=";
    const char *fields = query_get(c, "fieldSelector");

    if (*c->name || !fields || strncmp(fields, by_name, strlen(by_name)) != 0 ||
        strchr(fields, ','))
        return c->name;
    return fields + strlen(by_name);
}

int authorize(struct ctx *c)
{
    const char *reason;

    if (c->req->as || strcmp(c->sim->opt.authorization, "rbac") != 0)
        return 0;
    sim_lock(c);
    struct question q = {c->verb, c->group, c->resource, name_asked_for(c), NULL};
    if (*c->sub)
        q.resource = vpa_arena_printf(c->a, "%s/%s", c->resource, c->sub);
    if (!c->is_resource)
        q = (struct question){.verb = c->verb, .path = c->req->path};
    bool yes = (!c->is_resource && open_path(&c->user, c->req->path)) ||
               allowed(c, &c->user, &q, c->ns, &reason);
    bool own_review = c->is_resource && strcmp(c->user.name, "system:anonymous") != 0 &&
                      (!strcmp(c->resource, "selfsubjectaccessreviews") ||
                       !strcmp(c->resource, "selfsubjectreviews"));
    sim_unlock(c);
    if (yes || own_review)
        return 0;
    if (c->is_resource)
        return forbidden_resource(c);
    return fail_details(c, 403, "Forbidden", jv_obj(c->a),
                        vpa_arena_printf(c->a, "forbidden: User \"%s\" cannot %s path \"%s\"",
                                         c->user.name, c->verb, c->req->path));
}

/* ---- reviews ---- */

static void read_user(struct ctx *c, const struct jv *spec, struct user *u)
{
    *u = (struct user){.name = jv_text_at(spec, "user"), .uid = jv_text_at(spec, "uid")};
    jv_each (m, jv_get(spec, "groups"))
        if (jv_text(m->value) && u->group_count < USER_GROUPS_MAX)
            u->groups[u->group_count++] = m->value->text;
    (void)c;
}

static void review_access(struct ctx *c, struct jv *body, const struct user *u)
{
    const struct jv *r = jv_at(body, "spec.resourceAttributes"),
                    *n = jv_at(body, "spec.nonResourceAttributes");
    const char *reason = "";
    struct jv *status = jv_obj(c->a);
    bool yes = true;

    if (!strcmp(c->sim->opt.authorization, "rbac")) {
        struct question q = {.verb = jv_text_at(n, "verb"), .path = jv_text_at(n, "path")};
        yes = r ? rbac_allows(c, u, jv_text_at(r, "verb"), jv_text_at(r, "group"),
                              jv_text_at(r, "resource"), jv_text_at(r, "subresource"),
                              jv_text_at(r, "namespace"), jv_text_at(r, "name"), &reason)
                : allowed(c, u, &q, "", &reason);
    }
    jv_set_bool(c->a, status, "allowed", yes);
    if (*reason)
        jv_set_str(c->a, status, "reason", reason);
    jv_set(c->a, body, "status", status);
}

static struct jv *user_info(struct ctx *c, const struct user *u)
{
    struct jv *info = jv_obj(c->a), *groups = jv_arr(c->a);

    jv_set_str(c->a, info, "username", u->name);
    if (*u->uid)
        jv_set_str(c->a, info, "uid", u->uid);
    for (size_t i = 0; i < u->group_count; i++)
        jv_push(c->a, groups, jv_str(c->a, u->groups[i]));
    jv_set(c->a, info, "groups", groups);
    return info;
}

int handle_review(struct ctx *c)
{
    struct jv *body;
    struct user u = c->user;

    if (read_body(c, &body, NULL) < 0)
        return -1;
    if (body->type != JV_OBJ)
        return fail(c, 400, "BadRequest", "an object is expected");
    if (!strcmp(c->type->kind, "SelfSubjectReview")) {
        struct jv *status = jv_obj(c->a);
        jv_set(c->a, status, "userInfo", user_info(c, &u));
        jv_set(c->a, body, "status", status);
    } else if (!strcmp(c->type->kind, "TokenReview")) {
        struct jv *status = jv_obj(c->a);
        jv_set_bool(c->a, status, "authenticated", false);
        jv_set(c->a, body, "status", status);
    } else {
        if (!strcmp(c->type->kind, "SubjectAccessReview"))
            read_user(c, jv_get(body, "spec"), &u);
        review_access(c, body, &u);
    }
    struct jv *meta = jv_ensure(c->a, body, "metadata");
    (void)meta;
    answer_object(c, 201, body);
    return 0;
}
