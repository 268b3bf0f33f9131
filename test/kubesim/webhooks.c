/*
 * Admission webhooks: which of the stored configurations fit a request, the AdmissionReview that is
 * sent, and every kind of answer. Webhooks are asked one after the other in the order of the names
 * of their configurations.
 *
 * When a mutating webhook changed the object, built-in admission and those webhooks before it that
 * asked for it (reinvocationPolicy) have a second round; there is no third.
 */
#include <string.h>
#include <time.h>

#include "outgoing.h"

static bool listed(const struct jv *list, const char *text)
{
    jv_each (m, list) {
        const char *t = jv_text(m->value);
        if (t && (!strcmp(t, "*") || !strcmp(t, text)))
            return true;
    }
    return false;
}

static bool resource_listed(struct ctx *c, const struct jv *list)
{
    const char *sub = c->sub;

    jv_each (m, list) {
        const char *t = jv_text(m->value) ? m->value->text : "";
        if (!strcmp(t, "*/*") || (!*sub && (!strcmp(t, "*") || !strcmp(t, c->type->plural))))
            return true;
        const char *slash = strchr(t, '/');
        if (!slash || !*sub)
            continue;
        size_t len = (size_t)(slash - t);
        bool resource =
            (len == 1 && *t == '*') || (!strncmp(t, c->type->plural, len) && !c->type->plural[len]);
        if (resource && (!strcmp(slash + 1, "*") || !strcmp(slash + 1, sub)))
            return true;
    }
    return !*sub && listed(list, c->type->plural);
}

static bool rules_fit(struct ctx *c, const struct jv *hook, const char *operation)
{
    jv_each (m, jv_get(hook, "rules")) {
        const struct jv *r = m->value;
        const char *scope = jv_text_at(r, "scope");
        bool namespaced = c->type->flags & T_NAMESPACED;
        if (!strcmp(scope, "Namespaced") ? !namespaced : !strcmp(scope, "Cluster") && namespaced)
            continue;
        if (listed(jv_get(r, "operations"), operation) &&
            listed(jv_get(r, "apiGroups"), c->type->group) &&
            listed(jv_get(r, "apiVersions"), c->type->version) &&
            resource_listed(c, jv_get(r, "resources")))
            return true;
    }
    return false;
}

static bool selectors_fit(struct ctx *c, const struct jv *hook, const struct jv *old,
                          const struct jv *object)
{
    const struct jv *by_ns = jv_get(hook, "namespaceSelector"),
                    *by_object = jv_get(hook, "objectSelector");
    const struct jv *labels = NULL;

    if (!strcmp(c->type->kind, "Namespace") && !*c->type->group) {
        labels = jv_at(object ? object : old, "metadata.labels");
        if (by_ns && !label_selector_matches(by_ns, labels))
            return false;
    } else if (c->type->flags & T_NAMESPACED && by_ns) {
        const struct version *v =
            store_find(types_find(&c->sim->types, "", "v1", "namespaces")->store, "", c->ns);
        if (!v || !label_selector_matches_version(by_ns, v))
            return false;
    }
    return !by_object ||
           (object && label_selector_matches(by_object, jv_at(object, "metadata.labels"))) ||
           (old && label_selector_matches(by_object, jv_at(old, "metadata.labels")));
}

/* ---- the review ---- */

/* What the endpoint takes: some subresources have a kind of their own. */
struct form {
    const char *sub, *group, *version, *kind;
};

static struct form form_of(const struct ctx *c)
{
    static const struct form own[] = {{"eviction", "policy", "v1", "Eviction"},
                                      {"binding", "", "v1", "Binding"},
                                      {"scale", "autoscaling", "v1", "Scale"}};

    for (size_t i = 0; i < VPA_COUNT(own); i++)
        if (!strcmp(own[i].sub, c->sub))
            return own[i];
    return (struct form){"", c->type->group, c->type->version, c->type->kind};
}

static struct jv *group_version(struct ctx *c, const char *group, const char *version,
                                const char *member, const char *value)
{
    struct jv *v = jv_obj(c->a);

    jv_set_str(c->a, v, "group", group);
    jv_set_str(c->a, v, "version", version);
    jv_set_str(c->a, v, member, value);
    return v;
}

static struct jv *kind_of_review(struct ctx *c)
{
    const struct form f = form_of(c);
    return group_version(c, f.group, f.version, "kind", f.kind);
}

static struct jv *resource_of_review(struct ctx *c)
{
    return group_version(c, c->type->group, c->type->version, "resource", c->type->plural);
}

static struct jv *with_kind(struct ctx *c, const struct jv *object)
{
    const struct form f = form_of(c);

    if (!object)
        return jv_null(c->a);
    struct jv *copy = jv_clone(c->a, object);
    if (!*f.sub)
        copy = view_of(c->a, c->type, copy);
    const char *api = *f.group ? vpa_arena_printf(c->a, "%s/%s", f.group, f.version) : f.version;
    jv_put_first(c->a, copy, "apiVersion", jv_str(c->a, api));
    jv_put_first(c->a, copy, "kind", jv_str(c->a, f.kind));
    return copy;
}

static struct jv *user_info(struct ctx *c)
{
    struct jv *u = jv_obj(c->a), *groups = jv_arr(c->a);

    jv_set_str(c->a, u, "username", c->user.name);
    if (*c->user.uid)
        jv_set_str(c->a, u, "uid", c->user.uid);
    for (size_t i = 0; i < c->user.group_count; i++)
        jv_push(c->a, groups, jv_str(c->a, c->user.groups[i]));
    jv_set(c->a, u, "groups", groups);
    return u;
}

static struct jv *request_options(struct ctx *c, const char *kind)
{
    struct jv *o = c->deletion ? jv_clone(c->a, c->deletion) : jv_obj(c->a), *all = jv_arr(c->a);

    jv_set_str(c->a, o, "kind", kind);
    jv_set_str(c->a, o, "apiVersion", "meta.k8s.io/v1");
    if (c->dry_run) {
        jv_push(c->a, all, jv_str(c->a, "All"));
        jv_set(c->a, o, "dryRun", all);
    }
    const char *manager = query_get(c, "fieldManager"),
               *validation = query_get(c, "fieldValidation");
    if (manager && *manager)
        jv_set_str(c->a, o, "fieldManager", manager);
    if (validation && *validation)
        jv_set_str(c->a, o, "fieldValidation", validation);
    return o;
}

static struct jv *make_review(struct ctx *c, const char *uid, const char *operation,
                              const struct jv *old, const struct jv *object,
                              const char *options_kind)
{
    struct vpa_arena *a = c->a;
    struct jv *review = jv_obj(a), *r = jv_obj(a);
    const char *name = *c->name ? c->name : jv_text_at(object, "metadata.name");

    jv_set_str(a, review, "kind", "AdmissionReview");
    jv_set_str(a, review, "apiVersion", "admission.k8s.io/v1");
    jv_set_str(a, r, "uid", uid);
    jv_set(a, r, "kind", kind_of_review(c));
    jv_set(a, r, "resource", resource_of_review(c));
    if (*c->sub)
        jv_set_str(a, r, "subResource", c->sub);
    jv_set(a, r, "requestKind", kind_of_review(c));
    jv_set(a, r, "requestResource", resource_of_review(c));
    if (*c->sub)
        jv_set_str(a, r, "requestSubResource", c->sub);
    if (*name)
        jv_set_str(a, r, "name", name);
    if (*c->ns)
        jv_set_str(a, r, "namespace", c->ns);
    jv_set_str(a, r, "operation", operation);
    jv_set(a, r, "userInfo", user_info(c));
    jv_set(a, r, "object", with_kind(c, object));
    jv_set(a, r, "oldObject", with_kind(c, old));
    jv_set_bool(a, r, "dryRun", c->dry_run);
    jv_set(a, r, "options", request_options(c, options_kind));
    jv_set(a, review, "request", r);
    return review;
}

/* ---- calling ---- */

/* Faults stand between the server and the webhook: late, an error, or no answer at all. */
static int call_with_fault(struct ctx *c, struct outgoing *o, struct outgoing_answer *answer,
                           const struct fault_plan *fault)
{
    if (fault->delay_ms > 0) {
        long wait = fault->delay_ms < o->timeout_ms ? fault->delay_ms : o->timeout_ms;
        for (long i = 0; i < wait && !atomic_load(&c->sim->stopping); i += 20)
            nanosleep(&(struct timespec){0, 20 * 1000000L}, NULL);
        if (fault->delay_ms >= o->timeout_ms) {
            answer->error = "context deadline exceeded";
            return -1;
        }
        o->timeout_ms -= fault->delay_ms;
    }
    if (fault->reset) {
        answer->error = "EOF";
        return -1;
    }
    if (fault->status) {
        answer->status = fault->status;
        return 0;
    }
    return outgoing_call(c, o, answer);
}

/* The answer's "response" object, or why there is none. */
static int call_hook(struct ctx *c, const struct jv *hook, struct jv *review, struct jv **out,
                     const char **why)
{
    const struct jv *config = jv_get(hook, "clientConfig");
    const char *url = jv_text(jv_get(config, "url")), *bundle = jv_text_at(config, "caBundle");
    int64_t seconds = jv_int_at(hook, "timeoutSeconds", 10),
            port = jv_int_at(config, "service.port", 443);
    struct outgoing o = {.method = "POST", .timeout_ms = (long)seconds * 1000};
    struct outgoing_answer answer = {0};
    struct jv *body;
    struct vpa_error err;

    if (!url) {
        const char *ns = jv_text_at(config, "service.namespace"),
                   *name = jv_text_at(config, "service.name");
        const char *host = vpa_arena_printf(c->a, "%s.%s.svc", name, ns),
                   *path = jv_text_at(config, "service.path");
        o.address = service_address(c, ns, name, port);
        url = vpa_arena_printf(c->a, "https://%s:%lld%s%s", host, (long long)port,
                               *path == '/' ? "" : "/", path);
        if (!o.address) {
            *why = vpa_arena_printf(
                c->a, "failed to call webhook: Post \"%s?timeout=%llds\": service \"%s\" not found",
                url, (long long)seconds, name);
            return -1;
        }
        o.route = vpa_arena_printf(c->a, "%s:%lld:%s", host, (long long)port, o.address);
    } else {
        const char *host = strstr(url, "://") ? strstr(url, "://") + 3 : url;
        o.address = vpa_arena_strndup(c->a, host, strcspn(host, "/"));
    }
    o.url = vpa_arena_printf(c->a, "%s?timeout=%llds", url, (long long)seconds);
    unsigned char *ca = vpa_arena_alloc(c->a, strlen(bundle) + 1);
    o.ca_len = decode_base64(bundle, ca);
    o.ca = ca;
    o.body = jv_dump(c->a, review);
    o.body_len = strlen(o.body);
    strings_add(c->a, &o.headers, "Content-Type: application/json");
    strings_add(c->a, &o.headers, "Accept: application/json, */*");
    strings_add(c->a, &o.headers, "User-Agent: kube-apiserver-admission");
    strings_add(c->a, &o.headers, "Expect:");
    struct request as_request = {.method = "POST",
                                 .path =
                                     vpa_arena_printf(c->a, "webhook:%s", jv_text_at(hook, "name")),
                                 .query = ""};
    struct fault_plan fault;
    faults_plan(c->sim, &as_request, false, &fault);
    sim_unlock(c);
    int rc = call_with_fault(c, &o, &answer, &fault);
    sim_lock(c);
    if (rc < 0) {
        *why =
            vpa_arena_printf(c->a, "failed to call webhook: Post \"%s\": %s", o.url, answer.error);
    } else if (answer.status != 200) {
        *why = answer.status == 404
                   ? "failed to call webhook: the server could not find the requested resource"
                   : "failed to call webhook: an error on the server (\"unknown\") has prevented "
                     "the request from succeeding";
        rc = -1;
    } else if (jv_parse(c->a, vpa_buf_text(&answer.body), answer.body.len, &body, NULL, &err) < 0 ||
               body->type != JV_OBJ) {
        *why = "failed to call webhook: couldn't get version/kind; json parse error: json: cannot "
               "unmarshal string into Go value";
        rc = -1;
    } else if (strcmp(jv_text_at(body, "apiVersion"), "admission.k8s.io/v1") != 0) {
        *why = "failed to call webhook: converting (v1beta1.AdmissionReview) to "
               "(v1.AdmissionReview): unknown conversion";
        rc = -1;
    } else {
        *out = jv_get(body, "response");
        if (!jv_is(*out, JV_OBJ)) {
            *why = "received invalid webhook response: webhook response was absent";
            rc = -1;
        }
    }
    vpa_buf_release(&answer.body);
    return rc;
}

static int check_response(struct ctx *c, const struct jv *r, const char *uid, bool mutate,
                          const char **why)
{
    const char *got = jv_text_at(r, "uid"), *patch = jv_text_at(r, "patch"),
               *type = jv_text_at(r, "patchType");

    if (strcmp(got, uid) != 0)
        *why = vpa_arena_printf(
            c->a, "received invalid webhook response: expected response.uid=\"%s\", got \"%s\"",
            uid, got);
    else if (*patch && !*type)
        *why = "received invalid webhook response: webhook returned response.patch but not "
               "response.patchType";
    else if (*type && !*patch)
        *why = "received invalid webhook response: webhook returned response.patchType but not "
               "response.patch";
    else if (*type && strcmp(type, "JSONPatch") != 0)
        *why = vpa_arena_printf(c->a,
                                "received invalid webhook response: webhook returned invalid "
                                "response.patchType of \"%s\"",
                                type);
    else if (*patch && !mutate)
        *why =
            "received invalid webhook response: validating webhook may not return response.patch";
    else
        return 0;
    return -1;
}

static int internal_error(struct ctx *c, const char *text)
{
    struct jv *d = jv_obj(c->a), *causes = jv_arr(c->a), *one = jv_obj(c->a);

    jv_set_str(c->a, one, "message", text);
    jv_push(c->a, causes, one);
    jv_set(c->a, d, "causes", causes);
    return fail_details(c, 500, "InternalError", d,
                        vpa_arena_printf(c->a, "Internal error occurred: %s", text));
}

static int deny(struct ctx *c, const char *name, const struct jv *r)
{
    const struct jv *status = jv_get(r, "status");
    const char *message = jv_text_at(status, "message"), *reason = jv_text_at(status, "reason");
    int64_t code = jv_int_at(status, "code", 400);
    struct jv *details = jv_get(status, "details");

    if (code < 400)
        code = 400;
    const char *text = vpa_arena_printf(c->a, "admission webhook \"%s\" denied the request", name);
    if (*message)
        text = vpa_arena_printf(c->a, "%s: %s", text, message);
    else if (*reason)
        text = vpa_arena_printf(c->a, "%s: %s", text, reason);
    else
        text = vpa_arena_printf(c->a, "%s without explanation", text);
    return fail_details(c, (int)code, *reason ? reason : NULL, details, text);
}

/* What the patch made of it, read as the endpoint reads a body. */
static int read_patched(struct ctx *c, struct jv *patched, struct jv **object)
{
    const struct form f = form_of(c);
    const struct schema *schema = *f.sub ? schema_builtin(f.kind) : c->type->schema;
    struct decode_notes notes = {0};

    schema_decode(c->a, schema, patched, !*f.sub && c->type->crd, &notes);
    if (notes.type_error)
        return internal_error(c, notes.type_error);
    if (*f.sub) {
        *object = patched;
        return 0;
    }
    jv_del(patched, "kind");
    jv_del(patched, "apiVersion");
    *object = stored_of(c->a, c->type, patched);
    defaults_apply(c, c->type, *object);
    return 0;
}

static int apply_answer(struct ctx *c, const struct jv *r, struct jv **object)
{
    const char *text = jv_text_at(r, "patch");
    struct jv *ops;
    struct vpa_error err;

    if (!*text)
        return 0;
    unsigned char *json = vpa_arena_alloc(c->a, strlen(text) + 1);
    size_t len = decode_base64(text, json);
    if (jv_parse(c->a, (const char *)json, len, &ops, NULL, &err) < 0)
        return internal_error(c, err.text);
    struct jv *patched = with_kind(c, *object);
    if (json_patch(c->a, &patched, ops, &err) < 0)
        return internal_error(c, err.text);
    return read_patched(c, patched, object);
}

/* One request on its way through the webhooks. */
struct passage {
    const char *operation, *options_kind;
    const struct jv *old;
    struct jv **object;
    bool mutate;
    bool again;                 /* the second round */
    bool changed;               /* a webhook changed the object */
    struct strings reinvocable; /* were asked and want to be asked again */
    struct strings due;         /* and have to be */
};

static int ask(struct ctx *c, const struct jv *hook, struct passage *p)
{
    const char *name = jv_text_at(hook, "name"), *uid = new_uid(c->a), *why = NULL;
    bool ignore = !strcmp(jv_text_at(hook, "failurePolicy"), "Ignore");
    struct jv *response = NULL;

    if (call_hook(c, hook, make_review(c, uid, p->operation, p->old, *p->object, p->options_kind),
                  &response, &why) < 0 ||
        check_response(c, response, uid, p->mutate, &why) < 0) {
        if (ignore)
            return 0;
        return internal_error(
            c, vpa_arena_printf(c->a, "failed calling webhook \"%s\": %s", name, why));
    }
    jv_each (m, jv_get(response, "warnings"))
        if (jv_text(m->value))
            quote_warning(c, m->value->text);
    if (!jv_bool_at(response, "allowed", false))
        return deny(c, name, response);
    return p->mutate && *p->object ? apply_answer(c, response, p->object) : 0;
}

static const struct collection *configurations(struct ctx *c, bool mutate)
{
    const char *plural =
        mutate ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";

    return types_find(&c->sim->types, "admissionregistration.k8s.io", "v1", plural)->store;
}

bool admit_has_webhooks(struct ctx *c)
{
    return configurations(c, true)->count > 0;
}

/* All of those that were asked and want it are asked again. */
static void require_again(struct ctx *c, struct passage *p)
{
    for (size_t i = 0; i < p->reinvocable.count; i++)
        strings_add(c->a, &p->due, p->reinvocable.items[i]);
    p->reinvocable.count = 0;
}

static int pass(struct ctx *c, struct passage *p)
{
    const struct collection *s = configurations(c, p->mutate);
    struct jv *hooks = jv_arr(c->a); /* a copy: the lock is dropped while they are asked */
    struct strings ids = {0};

    if (!strcmp(c->type->group, "admissionregistration.k8s.io"))
        return 0;
    for (size_t i = 0; i < s->count; i++)
        jv_each (m, jv_get(version_parse(c->a, s->items[i]), "webhooks")) {
            jv_push(c->a, hooks, m->value);
            strings_addf(c->a, &ids, "%s/%s", s->items[i]->name, jv_text_at(m->value, "name"));
        }
    int rc = 0; /* those that only judge are asked side by side: all of them */
    for (size_t i = 0; i < hooks->count && (rc == 0 || !p->mutate); i++) {
        const struct jv *hook = hooks->items[i].value, *before = *p->object;
        if (!rules_fit(c, hook, p->operation) || !selectors_fit(c, hook, p->old, *p->object) ||
            (p->again && !strings_has(&p->due, ids.items[i])))
            continue;
        if (ask(c, hook, p) < 0)
            rc = -1;
        if (*p->object != before && !jv_equal(*p->object, before)) {
            require_again(c, p);
            p->changed = true;
        }
        if (!strcmp(jv_text_at(hook, "reinvocationPolicy"), "IfNeeded"))
            strings_add(c->a, &p->reinvocable, ids.items[i]);
    }
    return rc;
}

int admit_mutating(struct ctx *c, const char *operation, const struct jv *old, struct jv **object,
                   const char *options_kind)
{
    struct passage p = {.operation = operation,
                        .options_kind = options_kind,
                        .old = old,
                        .object = object,
                        .mutate = true};

    if (admit_builtin(c, operation, old, *object) < 0 || pass(c, &p) < 0)
        return -1;
    if (!p.changed)
        return 0;
    const struct jv *after = jv_clone(c->a, *object);
    if (admit_builtin(c, operation, old, *object) < 0)
        return -1;
    if (!jv_equal(after, *object))
        require_again(c, &p);
    p.again = true;
    return pass(c, &p);
}

int admit_validating(struct ctx *c, const char *operation, const struct jv *old, struct jv *object,
                     const char *options_kind)
{
    struct passage p = {
        .operation = operation, .options_kind = options_kind, .old = old, .object = &object};
    return pass(c, &p);
}
