/*
 * An object of ours is compared with the one that would be registered now, member by member as far
 * as the API server looks at them when it decides whether to call us: clientConfig, rules, and the
 * three ways to leave a pod out. What the server fills in (scope "*", port 443) is no difference.
 * Nor are namespaces that others leave out beside ours: who runs the cluster adds such expressions
 * to every webhook and puts them back at once (AKS, GKE Autopilot). They stay in all that we write,
 * but for names where ours do not stand: among those ours of before cannot be told from theirs.
 * Somebody else's object is theirs to shape; it only has to send us new pods. Both have to send
 * reviews of the version that we answer.
 */
#include "registration_view.h"

#include <string.h>

#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/json/json_writer.h"
#include "webhook_object.h"

#define HTTPS_PORT 443

/* ---- whose it is ---- */

static const char *text_of(const struct vpa_json *object, const char *name)
{
    return vpa_or_empty(vpa_json_string(vpa_json_find(object, name)));
}

/* A label of ours may say Helm too: upstream's chart hands its labels to --webhook-labels. What
 * Helm itself makes carries the annotation as well. */
bool registration_view_is_helms(const struct vpa_json *object)
{
    return vpa_json_find(vpa_json_at(object, "metadata.annotations"), "meta.helm.sh/release-name");
}

/* ---- whether it sends us what it should ---- */

static bool has(const struct vpa_json *array, const char *text)
{
    vpa_json_foreach (item, array)
        if (vpa_str_eq(vpa_json_string(item), text) || vpa_str_eq(vpa_json_string(item), "*"))
            return true;
    return false;
}

static bool sends_new_pods(const struct vpa_json *hook)
{
    vpa_json_foreach (rule, vpa_json_find(hook, "rules")) {
        const struct vpa_json *resources = vpa_json_find(rule, "resources");
        if (has(vpa_json_find(rule, "operations"), "CREATE") &&
            has(vpa_json_find(rule, "apiGroups"), "") &&
            has(vpa_json_find(rule, "apiVersions"), "v1") &&
            (has(resources, "pods") || has(resources, "*/*")) &&
            !vpa_str_eq(text_of(rule, "scope"), "Cluster"))
            return true;
    }
    return false;
}

/* The server sends the first version of the list that it knows, and takes an answer of that version
 * only: ours are of v1. */
static bool sends_v1(const struct vpa_json *hook)
{
    vpa_json_foreach (version, vpa_json_find(hook, "admissionReviewVersions")) {
        if (vpa_str_eq(vpa_json_string(version), "v1"))
            return true;
        if (vpa_str_eq(vpa_json_string(version), "v1beta1"))
            return false;
    }
    return false;
}

static const char *fault_of_any(const struct vpa_json *hook)
{
    if (!sends_new_pods(hook))
        return "rules";
    return sends_v1(hook) ? "" : "admissionReviewVersions";
}

static bool same_rule(const struct vpa_json *live, const struct vpa_json *wanted)
{
    const char *scope = text_of(live, "scope");

    vpa_json_foreach (member, wanted)
        if (!vpa_json_equal(member, vpa_json_find(live, vpa_json_name(member))))
            return false;
    return !*scope || strcmp(scope, "*") == 0;
}

static bool same_rules(const struct vpa_json *live, const struct vpa_json *wanted)
{
    const struct vpa_json *rule = vpa_json_first(live);

    if (vpa_json_count(live) != vpa_json_count(wanted))
        return false;
    vpa_json_foreach (want, wanted) {
        if (!same_rule(rule, want))
            return false;
        rule = vpa_json_next(rule);
    }
    return true;
}

static bool is_empty(const struct vpa_json *node)
{
    if (vpa_json_is_object(node)) {
        vpa_json_foreach (member, node)
            if (!is_empty(member))
                return false;
        return true;
    }
    return vpa_json_is_null(node) || (vpa_json_is_array(node) && vpa_json_count(node) == 0);
}

static bool same_text(const struct vpa_json *live, const struct vpa_json *wanted, const char *name)
{
    return strcmp(text_of(live, name), text_of(wanted, name)) == 0;
}

static const struct vpa_json *expressions(const struct vpa_json *selector)
{
    return vpa_json_find(selector, "matchExpressions");
}

static bool has_equal(const struct vpa_json *all, const struct vpa_json *ours)
{
    vpa_json_foreach (expression, all)
        if (vpa_json_equal(expression, ours))
            return true;
    return false;
}

/* Whose it is cannot be told: ours by other flags, or somebody else's. */
static bool is_like(const struct vpa_json *expression, const struct vpa_json *ours)
{
    return same_text(expression, ours, "key") && same_text(expression, ours, "operator");
}

/* Some namespaces: each has a name. */
static bool leaves_some_out(const struct vpa_json *expression)
{
    const char *operation = text_of(expression, "operator");

    return strcmp(operation, "NotIn") == 0 ||
           (strcmp(operation, "DoesNotExist") == 0 &&
            strcmp(text_of(expression, "key"), WEBHOOK_NAMESPACE_KEY) != 0);
}

/* Which namespaces it leaves out is a setting. */
static bool same_selector(const struct vpa_json *live, const struct vpa_json *wanted)
{
    const struct vpa_json *ours = vpa_json_first(expressions(wanted));
    bool found = false;

    vpa_json_foreach (expression, expressions(live)) {
        if (!leaves_some_out(expression))
            return false;
        found = found || is_like(expression, ours);
    }
    return found && is_empty(vpa_json_find(live, "matchLabels"));
}

/* Whoever insists on what is like ours puts it back beside ours. */
static void merge_selector(struct registration_view *view, const struct vpa_json *live,
                           const struct vpa_json *ours)
{
    bool stands = has_equal(expressions(live), ours);
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_json_open_object(&w);
    vpa_json_member_array(&w, "matchExpressions");
    vpa_json_put_node(&w, ours);
    vpa_json_foreach (expression, expressions(live)) {
        bool is_ours = stands ? vpa_json_equal(expression, ours) : is_like(expression, ours);

        if (is_ours || !leaves_some_out(expression))
            continue;
        vpa_json_put_node(&w, expression);
        view->others_leave_out = true;
    }
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    view->selector = vpa_arena_strdup(&view->arena, vpa_buf_text(&text));
}

static bool same_destination(const struct vpa_json *live, const struct vpa_json *wanted)
{
    const struct vpa_json *service = vpa_json_find(live, "service");
    const struct vpa_json *ours = vpa_json_find(wanted, "service");
    const char *path = text_of(service, "path");
    int64_t port = HTTPS_PORT;

    if (!ours)
        return vpa_json_equal(vpa_json_find(live, "url"), vpa_json_find(wanted, "url"));
    (void)vpa_json_int64(vpa_json_find(service, "port"), &port);
    return same_text(service, ours, "name") && same_text(service, ours, "namespace") &&
           port == HTTPS_PORT && (!*path || strcmp(path, "/") == 0);
}

static bool same_part(const struct vpa_json *live, const struct vpa_json *wanted, const char *name,
                      bool (*same)(const struct vpa_json *live, const struct vpa_json *wanted))
{
    return same(vpa_json_find(live, name), vpa_json_find(wanted, name));
}

static void compare(struct registration_view *view, const struct vpa_json *live,
                    const struct vpa_json *wanted)
{
    const struct {
        const char *what;
        bool same;
    } parts[REGISTRATION_FAULTS_MAX] = {
        {"service", same_part(live, wanted, "clientConfig", same_destination)},
        {"rules", same_part(live, wanted, "rules", same_rules)},
        {"namespaceSelector", same_part(live, wanted, "namespaceSelector", same_selector)},
        {"objectSelector", is_empty(vpa_json_find(live, "objectSelector"))},
        {"matchConditions", is_empty(vpa_json_find(live, "matchConditions"))},
        {"admissionReviewVersions", sends_v1(live)},
    };

    view->fault_count = 0;
    for (size_t i = 0; i < VPA_COUNT(parts); i++)
        if (!parts[i].same)
            view->faults[view->fault_count++] = parts[i].what;
    view->fault = view->fault_count ? view->faults[0] : "";
}

/* ---- what it says ---- */

/* The object that would be registered, without a caBundle. */
static const struct vpa_json *wanted_object(struct vpa_arena *arena,
                                            const struct registration_wanted *wanted)
{
    const struct vpa_json *root = NULL;
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX);
    struct vpa_error err;

    webhook_encode(wanted->config, wanted->ns, NULL, &text);
    if (vpa_json_parse(arena, vpa_buf_text(&text), text.len, &root, &err) < 0)
        return NULL;
    return root;
}

/* What else flags set and no proof rests on. */
static bool same_settings(const struct vpa_json *object, const struct vpa_json *hook,
                          const struct vpa_json *wanted, const struct vpa_json *first)
{
    static const char *const settings[] = {"failurePolicy", "timeoutSeconds", "sideEffects"};
    const struct vpa_json *labels = vpa_json_at(object, "metadata.labels");

    for (size_t i = 0; i < VPA_COUNT(settings); i++)
        if (!vpa_json_equal(vpa_json_at(hook, settings[i]), vpa_json_at(first, settings[i])))
            return false;
    vpa_json_foreach (label, vpa_json_at(wanted, "metadata.labels"))
        if (!vpa_json_equal(label, vpa_json_find(labels, vpa_json_name(label))))
            return false;
    return true;
}

/* The webhook of our name, else the first. */
static const struct vpa_json *our_hook(const struct vpa_json *object, size_t *index)
{
    const struct vpa_json *hooks = vpa_json_find(object, "webhooks");
    size_t i = 0;

    *index = 0;
    vpa_json_foreach (hook, hooks) {
        if (strcmp(text_of(hook, "name"), WEBHOOK_NAME) == 0) {
            *index = i;
            return hook;
        }
        i++;
    }
    return vpa_json_first(hooks);
}

const char *registration_view_host_of(struct vpa_arena *arena, const char *url)
{
    const char *at = strstr(url, "://");

    at = at ? at + 3 : url;
    if (*at == '[')
        return vpa_arena_strndup(arena, at + 1, strcspn(at + 1, "]"));
    return vpa_arena_strndup(arena, at, strcspn(at, ":/"));
}

static const char *called_as(struct vpa_arena *arena, const struct vpa_json *client_config)
{
    const struct vpa_json *service = vpa_json_find(client_config, "service");

    if (!service)
        return registration_view_host_of(arena, text_of(client_config, "url"));
    return vpa_arena_printf(arena, "%s.%s.svc", text_of(service, "name"),
                            text_of(service, "namespace"));
}

static void read_hook(struct registration_view *view, const struct vpa_json *object,
                      const struct vpa_json *hook, const struct registration_wanted *wanted)
{
    const struct vpa_json *client_config = vpa_json_find(hook, "clientConfig");
    struct vpa_arena *arena = &view->arena;

    view->host = called_as(arena, client_config);
    view->ca_base64 = vpa_arena_strdup(arena, text_of(client_config, "caBundle"));
    view->ca = vpa_ca_bundle_decode(arena, view->ca_base64);
    view->refuses = strcmp(text_of(hook, "failurePolicy"), "Fail") == 0;
    view->fault = fault_of_any(hook);
    if (!view->object_is_ours)
        return;
    const struct vpa_json *ours = wanted_object(arena, wanted);
    const struct vpa_json *first = vpa_json_first(vpa_json_find(ours, "webhooks"));
    const struct vpa_json *live = vpa_json_find(hook, "namespaceSelector");
    const struct vpa_json *selector =
        vpa_json_first(expressions(vpa_json_find(first, "namespaceSelector")));
    compare(view, hook, first);
    if (strcmp(text_of(hook, "name"), WEBHOOK_NAME) == 0)
        merge_selector(view, live, selector);
    else if (*view->fault)
        view->fault = "webhooks"; /* somebody else's, not to be mended piece by piece */
    view->namespaces_differ = !has_equal(expressions(live), selector);
    view->settings_differ = view->namespaces_differ || !same_settings(object, hook, ours, first);
}

void registration_view_read(struct registration_view *view, const struct vpa_json *object,
                            const struct registration_wanted *wanted)
{
    registration_view_release(view);
    view->resource_version = vpa_arena_strdup(
        &view->arena, text_of(vpa_json_find(object, "metadata"), "resourceVersion"));
    view->has_labels = vpa_json_is_object(vpa_json_at(object, "metadata.labels"));
    view->ca_owner = vpa_ca_bundle_injector(object);
    view->object_is_ours = wanted->config->register_webhook && !registration_view_is_helms(object);
    view->ca_is_ours =
        !view->ca_owner[0] && (view->object_is_ours || wanted->config->manage_certificates);
    view->host = view->ca = view->ca_base64 = "";
    const struct vpa_json *hook = our_hook(object, &view->index);
    if (hook)
        read_hook(view, object, hook, wanted);
    else
        view->fault = "webhooks";
}

void registration_view_release(struct registration_view *view)
{
    vpa_arena_release(&view->arena);
    *view = (struct registration_view){0};
}
