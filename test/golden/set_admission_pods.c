/*
 * One HTTP request to the admission controller, answered by the daemon's own wiring: its flags are
 * parsed, its watches read the case's objects from an API server in memory, its snapshot answers.
 * Only the socket is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "admission_case.h"
#include "memory_cluster.h"
#include "vpa/api/resources.h"
#include "vpa/api/review.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"

#define NOW 1780000000
#define BODY_MAX ((size_t)8 << 20)

struct answer {
    int code;
    const char *content_type;
    const char *body; /* in the arena of the case */
};

/* ---- the daemon ---- */

static const char *request_text(const struct vpa_json *request, const char *name,
                                const char *preset)
{
    const char *text = vpa_json_string(vpa_json_find(request, name));

    return text ? text : preset;
}

/* The body as it was sent, or another review. */
static const char *request_body(struct golden_case *c, const struct vpa_json *request,
                                const struct vpa_json *review, size_t *len)
{
    const char *text = review ? NULL : vpa_json_string(vpa_json_find(request, "bodyText"));
    int64_t pad = 0;
    struct vpa_json_writer w;
    vpa_auto_buf buf = VPA_BUF(BODY_MAX);

    if (text) {
        vpa_buf_puts(&buf, text);
    } else {
        vpa_json_writer_init(&w, &buf);
        vpa_json_put_node(&w, review ? review : vpa_json_find(request, "review"));
    }
    (void)vpa_json_int64(vpa_json_find(request, "padTo"), &pad);
    while (buf.len < (size_t)pad)
        vpa_buf_putc(&buf, ' ');
    *len = buf.len;
    return vpa_arena_strndup(c->arena, vpa_buf_text(&buf), buf.len);
}

static void send_request(struct golden_case *c, struct server *server,
                         const struct vpa_json *review, struct answer *out)
{
    const struct vpa_json *node = GOLDEN_IN(c, "request");
    const char *target = request_text(node, "path", "/?timeout=30s");
    const char *query = strchr(target, '?');
    bool no_content_type = false;
    struct vpa_server_response response = {0};
    struct vpa_server_request request = {
        .method = request_text(node, "method", "POST"),
        .path = query ? vpa_arena_strndup(c->arena, target, (size_t)(query - target)) : target,
        .query = query ? query + 1 : "",
    };

    request.body = request_body(c, node, review, &request.body_len);
    if (request.body_len > VPA_SERVER_BODY_MAX) { /* what the listener does */
        request.body = "";
        request.body_len = 0;
        request.body_too_large = true;
    }
    (void)vpa_json_bool(vpa_json_find(node, "noContentType"), &no_content_type);
    server_answer(server, &request,
                  no_content_type ? NULL : request_text(node, "contentType", "application/json"),
                  &response);
    out->code = response.status;
    out->content_type = response.content_type ? response.content_type : "";
    out->body = vpa_arena_strndup(c->arena, response.body ? response.body : "", response.body_len);
    free(response.body);
}

/* review: instead of the case's own, NULL for that. extra: one more flag, or NULL. */
static bool ask_about(struct golden_case *c, const struct vpa_json *review, const char *extra,
                      struct answer *out)
{
    static const char *const no_registration[] = {"--register-webhook=false", NULL};
    struct admission_config config;
    struct memory_cluster cluster = {
        .objects = vpa_json_at(c->in, "cluster.objects"),
    };
    struct vpa_error err;

    if (admission_case_config(c, no_registration, extra, &config, &err) < 0) {
        golden_difference(c, "input", "flags", err.text);
        return false;
    }
    memory_cluster_start(&cluster, vpa_time_from_unix(NOW, 0));
    struct admission *admission = admission_new(&(struct admission_options){
        .config = &config,
        .loop = cluster.loop,
        .client = cluster.client,
        .ns = "kube-system",
        .host_name = "golden",
        .unbound = true,
    });
    bool ready = admission_sync(admission, &err) == 0 && admission_listen(admission, &err) == 0;
    if (ready)
        send_request(c, admission_server(admission), review, out);
    else
        golden_difference(c, "start", "running", err.text);
    admission_free(admission);
    memory_cluster_stop(&cluster);
    return ready;
}

static bool ask(struct golden_case *c, const char *extra, struct answer *out)
{
    return ask_about(c, NULL, extra, out);
}

/* ---- comparison ---- */

/* The answer with its patch decoded, or NULL when it is no review. */
static const char *decoded_review(struct golden_case *c, const char *body)
{
    const struct vpa_json *root;
    struct vpa_json_writer w;
    struct vpa_error err;
    vpa_auto_buf buf = VPA_BUF(BODY_MAX);

    if (vpa_json_parse(c->arena, body, strlen(body), &root, &err) < 0)
        return NULL;
    vpa_json_writer_init(&w, &buf);
    vpa_json_open_object(&w);
    vpa_json_foreach (top, root) {
        vpa_json_key(&w, vpa_json_name(top));
        if (strcmp(vpa_json_name(top), "response") != 0) {
            vpa_json_put_node(&w, top);
            continue;
        }
        vpa_json_open_object(&w);
        vpa_json_foreach (member, top) {
            vpa_auto_buf patch = VPA_BUF(BODY_MAX);
            vpa_json_key(&w, vpa_json_name(member));
            const char *text = vpa_json_string(member);
            if (strcmp(vpa_json_name(member), "patch") == 0 && text &&
                vpa_base64_decode(&patch, text, strlen(text), &err) == 0)
                vpa_json_put_raw(&w, vpa_buf_text(&patch), patch.len);
            else
                vpa_json_put_node(&w, member);
        }
        vpa_json_close_object(&w);
    }
    vpa_json_close_object(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&buf));
}

static void run(struct golden_case *c)
{
    static const char *const orders[] = {"observed", "normalised", NULL};
    const struct vpa_json *http = GOLDEN_OUT(c, "http");
    struct answer got;

    if (!ask(c, NULL, &got))
        return;
    if (http) {
        golden_int(c, "http.code", vpa_json_find(http, "code"), got.code);
        golden_text(c, "http.contentType", vpa_json_find(http, "contentType"), got.content_type);
        golden_text(c, "http.body", vpa_json_find(http, "body"), got.body);
        return;
    }
    golden_marker(c, "connectionClosed");
    if (GOLDEN_OUT(c, "order") || vpa_json_at(GOLDEN_OUT(c, "review"), "response.patch"))
        golden_one_of(c, "order", GOLDEN_OUT(c, "order"), orders);
    golden_json(c, "review", GOLDEN_OUT(c, "review"), decoded_review(c, got.body));
    if (GOLDEN_OUT(c, "body"))
        golden_text(c, "body", GOLDEN_OUT(c, "body"), got.body);
}

/* ---- what the decisions promise ---- */

static const struct vpa_json *parse_review(struct golden_case *c, const struct answer *answer)
{
    const char *text = decoded_review(c, answer->body);
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (!text || vpa_json_parse(c->arena, text, strlen(text), &root, &err) < 0)
        golden_unexpected(c, "review", answer->body);
    return vpa_json_find(root, "response");
}

/* The value that the patch sets at the path; NULL when it does not. */
static const char *patched(const struct vpa_json *response, const char *path)
{
    const char *value = NULL;

    vpa_json_foreach (op, vpa_json_find(response, "patch")) {
        if (strcmp(vpa_json_string(vpa_json_find(op, "path")), path) == 0)
            value = vpa_json_string(vpa_json_find(op, "value"));
    }
    return value;
}

static struct vpa_quantity read_quantity(struct golden_case *c, const char *text)
{
    struct vpa_quantity q = {0};
    struct vpa_error err;

    if (text && vpa_quantity_parse(c->arena, text, &q, &err) < 0)
        golden_unexpected(c, "quantity", text);
    return q;
}

/* S4: no cpu request is lower than it would be without the boost. */
static void check_not_lowered(struct golden_case *c, const struct vpa_json *with,
                              const struct vpa_json *without)
{
    const struct vpa_json *containers =
        vpa_json_at(GOLDEN_IN(c, "request"), "review.request.object.spec.containers");
    size_t i = 0;

    vpa_json_foreach (container, containers) {
        const char *path = golden_label(c, "/spec/containers/%zu/resources/requests/cpu", i++);
        const char *own = vpa_json_string(vpa_json_at(container, "resources.requests.cpu"));
        const char *plain = patched(without, path);
        const char *boosted = patched(with, path);
        if (!boosted && !plain)
            continue;
        struct vpa_quantity a = read_quantity(c, boosted ? boosted : own);
        struct vpa_quantity b = read_quantity(c, plain ? plain : own);
        if (vpa_quantity_cmp(&a, &b) < 0)
            golden_difference(c, path, plain ? plain : own, boosted ? boosted : own);
    }
}

static const struct vpa_json *pod_containers(struct golden_case *c)
{
    return vpa_json_at(GOLDEN_IN(c, "request"), "review.request.object.spec.containers");
}

/* The recommended target of the container by the only VPA of the case that recommends anything for
 * it. */
static const struct vpa_json *target_of(struct golden_case *c, const char *container)
{
    vpa_json_foreach (object, vpa_json_at(c->in, "cluster.objects"))
        vpa_json_foreach (r, vpa_json_at(object, "status.recommendation.containerRecommendations"))
            if (vpa_str_eq(vpa_json_string(vpa_json_find(r, "containerName")), container))
                return vpa_json_find(r, "target");
    return NULL;
}

/* Whether the patch of the response, if any, can be applied to the pod. */
static bool fits(struct golden_case *c, const struct vpa_json *response)
{
    const struct vpa_json *patch = vpa_json_find(response, "patch");
    struct vpa_error err;
    vpa_auto_buf out = VPA_BUF(BODY_MAX);

    return !patch ||
           vpa_json_patch_apply(vpa_json_at(GOLDEN_IN(c, "request"), "review.request.object"),
                                patch, &out, &err) == 0;
}

/* Whatever the decision, the answer is to this request, and its patch fits the pod. */
static void check_answer(struct golden_case *c, const struct answer *answer,
                         const struct vpa_json *response)
{
    const struct vpa_json *request = vpa_json_at(GOLDEN_IN(c, "request"), "review.request");
    const struct vpa_json *reference = vpa_json_at(GOLDEN_OUT(c, "review"), "response");
    bool allowed = false;

    if (answer->code != 200 || !vpa_json_bool(vpa_json_find(response, "allowed"), &allowed) ||
        !allowed)
        golden_unexpected(c, "response", answer->body);
    if (vpa_json_string(vpa_json_find(request, "uid")))
        golden_text(c, "response.uid", vpa_json_find(request, "uid"),
                    vpa_json_string(vpa_json_find(response, "uid")));
    if (!fits(c, response) && fits(c, reference)) /* the reference has patches that do not fit */
        golden_difference(c, "response.patch", "fits the pod", answer->body);
}

/* 11.5: nothing below zero but what the case itself holds, and no request for a resource that the
 * container's recommendation lacks. */
static void check_invented(struct golden_case *c, const struct vpa_json *response)
{
    static const char *const resources[] = {VPA_CPU, VPA_MEMORY};
    size_t i = 0;

    vpa_json_foreach (op, vpa_json_find(response, "patch")) {
        const char *value = vpa_json_string(vpa_json_find(op, "value"));
        if (value && value[0] == '-' && !strstr(c->line, "\"-"))
            golden_unexpected(c, vpa_json_string(vpa_json_find(op, "path")), value);
    }
    vpa_json_foreach (container, pod_containers(c)) {
        const struct vpa_json *target =
            target_of(c, vpa_or_empty(vpa_json_string(vpa_json_find(container, "name"))));
        for (size_t k = 0; target && k < VPA_COUNT(resources); k++) {
            const char *path =
                golden_label(c, "/spec/containers/%zu/resources/requests/%s", i, resources[k]);
            const char *value = patched(response, path);
            if (value && !vpa_json_find(target, resources[k]))
                golden_unexpected(c, path, value);
        }
        i++;
    }
}

/* S2 to S4 are about cpu: memory is what it would be without the boost. */
static void check_memory_same(struct golden_case *c, const struct vpa_json *with,
                              const struct vpa_json *without)
{
    static const char *const kinds[] = {"requests", "limits"};
    size_t count = vpa_json_count(pod_containers(c));

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < VPA_COUNT(kinds); k++) {
            const char *path =
                golden_label(c, "/spec/containers/%zu/resources/%s/memory", i, kinds[k]);
            const char *a = patched(without, path), *b = patched(with, path);
            if (!vpa_str_eq(a, b))
                golden_difference(c, path, a ? a : "absent", b ? b : "absent");
        }
}

/* S2, S3: a boost that says nothing usable is no boost; with one container that is the whole
 * answer. */
static void check_no_boost(struct golden_case *c, const struct answer *with,
                           const struct answer *without)
{
    if (vpa_json_count(pod_containers(c)) == 1 && strcmp(with->body, without->body) != 0)
        golden_difference(c, "review", decoded_review(c, without->body),
                          decoded_review(c, with->body));
}

/* 9.1: an object without a namespace is answered as one with the namespace of the request. */
static void check_namespace(struct golden_case *c, const struct vpa_json *response)
{
    const struct vpa_json *request = vpa_json_at(GOLDEN_IN(c, "request"), "review.request");
    const char *ns = vpa_json_string(vpa_json_find(request, "namespace"));
    bool recommended = false;

    vpa_json_foreach (object, vpa_json_at(c->in, "cluster.objects"))
        recommended |= vpa_json_at(object, "status.recommendation.containerRecommendations") &&
                       vpa_str_eq(vpa_json_string(vpa_json_at(object, "metadata.namespace")), ns);
    if (recommended && !vpa_json_find(response, "patch"))
        golden_difference(c, "response.patch", "present", "absent");
}

/* ---- U15, which is not marked in the vectors ---- */

/* Whether an amount in the node is above what 64 bits of milli units hold. */
static bool is_beyond(struct golden_case *c, const struct vpa_json *amounts)
{
    const struct vpa_quantity most = vpa_quantity_milli(INT64_MAX);
    struct vpa_quantity q;
    struct vpa_error err;

    vpa_json_foreach (amount, amounts)
        if (vpa_quantity_decode(c->arena, amount, &q, &err) == 0 && vpa_quantity_cmp(&q, &most) > 0)
            return true;
    return false;
}

/* U27: a container's status has resources, which the reference believes. */
static bool has_status_resources(struct golden_case *c)
{
    const struct vpa_json *object = vpa_json_at(GOLDEN_IN(c, "request"), "review.request.object");

    vpa_json_foreach (status, vpa_json_at(object, "status.containerStatuses"))
        if (vpa_json_is_object(vpa_json_find(status, "resources")))
            return true;
    return false;
}

/* U27: the answer is the one to the same pod without a status. */
static void check_status_ignored(struct golden_case *c, const struct answer *with)
{
    static const char patch[] = "[{\"op\":\"remove\",\"path\":\"/request/object/status\"}]";
    const struct vpa_json *removal, *review;
    struct answer without;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(BODY_MAX);

    if (vpa_json_parse(c->arena, patch, strlen(patch), &removal, &err) < 0 ||
        vpa_json_patch_apply(vpa_json_at(GOLDEN_IN(c, "request"), "review"), removal, &text, &err) <
            0 ||
        vpa_json_parse(c->arena, vpa_buf_text(&text), text.len, &review, &err) < 0) {
        golden_difference(c, "review", "one without status", err.text);
        return;
    }
    if (ask_about(c, review, NULL, &without) && strcmp(with->body, without.body) != 0)
        golden_difference(c, "review", decoded_review(c, without.body),
                          decoded_review(c, with->body));
}

/* U41: a container may be left alone where a LimitRange binds what all of them have together. */
static bool may_leave_too_much(struct golden_case *c)
{
    bool bound = false, off = false;

    vpa_json_foreach (object, vpa_json_at(c->in, "cluster.objects")) {
        vpa_json_foreach (item, vpa_json_at(object, "spec.limits"))
            bound |= vpa_str_eq(vpa_json_string(vpa_json_find(item, "type")), "Pod");
        vpa_json_foreach (policy, vpa_json_at(object, "spec.resourcePolicy.containerPolicies"))
            off |= vpa_str_eq(vpa_json_string(vpa_json_find(policy, "mode")), "Off");
    }
    return bound && off;
}

static const char *touches(struct golden_case *c)
{
    if (has_status_resources(c))
        return "U27";
    vpa_json_foreach (container, pod_containers(c)) {
        const char *name = vpa_or_empty(vpa_json_string(vpa_json_find(container, "name")));
        if (is_beyond(c, target_of(c, name)) ||
            is_beyond(c, vpa_json_at(container, "resources.requests")) ||
            is_beyond(c, vpa_json_at(container, "resources.limits")))
            return "U15";
    }
    return may_leave_too_much(c) ? "U41" : NULL;
}

/* ---- what may differ in a patch ---- */

#define ANNOTATIONS "/metadata/annotations"
#define UPDATES ANNOTATIONS "/vpaUpdates"

/* The value that the patch sets at the path; NULL when it does not. */
static const struct vpa_json *value_at(const struct vpa_json *patch, const char *path)
{
    vpa_json_foreach (op, patch)
        if (vpa_str_eq(vpa_json_string(vpa_json_find(op, "path")), path))
            return vpa_json_find(op, "value");
    return NULL;
}

static bool is_one(const char *path, const char *const *patterns)
{
    for (; *patterns; patterns++)
        if (golden_is_like(*patterns, path))
            return true;
    return false;
}

/* Under each decision the answers may differ at these paths, where the others must be equal. */
static const struct {
    const char *decision;
    const char *paths[8];
} free_paths[] = {
    {"9.1", {"*"}}, /* the reference finds no VPA, so it has no patch */
    {"11.5", {"/spec/containers/*/resources/*", UPDATES}},
    {"S1",
     {"/spec/containers/*/cpu", "/spec/containers/*/resources", "/spec/containers/*/requests",
      "/spec/containers/*/limits", ANNOTATIONS "/vpaCpuStartupBoost~1*", UPDATES}},
    {"S2", {"/spec/containers/*/cpu", ANNOTATIONS "/vpaCpuStartupBoost~1*", UPDATES}},
    {"S3", {"/spec/containers/*/cpu", ANNOTATIONS "/vpaCpuStartupBoost~1*", UPDATES}},
    {"S4", {"/spec/containers/*/resources/*/cpu"}},
    {"U15", {"/spec/containers/*/resources/limits*", UPDATES}},
    {"U27", {"/spec/containers/*/resources*", UPDATES}},
};

static bool is_free(struct golden_case *c, const char *touched, const char *path)
{
    for (size_t i = 0; i < VPA_COUNT(free_paths); i++)
        if ((golden_tagged(c, free_paths[i].decision) ||
             vpa_str_eq(free_paths[i].decision, touched)) &&
            is_one(path, free_paths[i].paths))
            return true;
    return false;
}

static bool is_resource(struct golden_case *c, const char *name)
{
    return vpa_str_eq(name, VPA_CPU) || vpa_str_eq(name, VPA_MEMORY) ||
           strstr(c->line, golden_label(c, "\"%s\"", name));
}

/* "cpu request", "cpu capped to fit Max in ...", "cpu: limit NOT set ...": about a resource that
 * the case knows. */
static bool tells_of_resource(struct golden_case *c, const char *word)
{
    static const char *const patterns[] = {"* request", "* limit", "*: *", "* capped to *", NULL};

    return !*word || (is_one(word, patterns) &&
                      is_resource(c, golden_label(c, "%.*s", (int)strcspn(word, " :"), word)));
}

/* The words of the annotation that tells of the updates: what was set, and notes of a resource. */
static bool tells_of_updates(struct golden_case *c, const char *text)
{
    const char *rest = strstr(text, ": container ");

    if (!vpa_str_starts_with(text, "Pod resources updated by ") || !rest)
        return false;
    for (rest += 2; *rest;) {
        if (vpa_str_starts_with(rest, "container ")) {
            rest += strlen("container ");
            rest += strspn(rest, "0123456789");
            if (!vpa_str_starts_with(rest, ": "))
                return false;
            rest += 2;
        }
        const char *word = golden_label(c, "%.*s", (int)strcspn(rest, ",;"), rest);
        if (!tells_of_resource(c, word))
            return false;
        rest += strlen(word);
        rest += strspn(rest, ",; ");
    }
    return true;
}

static bool has_same_amounts(struct golden_case *c, const struct vpa_json *a,
                             const struct vpa_json *b)
{
    struct vpa_quantity x, y;
    struct vpa_error err;

    if (vpa_json_count(a) != vpa_json_count(b))
        return false;
    vpa_json_foreach (amount, a) {
        const struct vpa_json *other = vpa_json_find(b, vpa_json_name(amount));

        if (!other || vpa_quantity_decode(c->arena, amount, &x, &err) < 0 ||
            vpa_quantity_decode(c->arena, other, &y, &err) < 0 || vpa_quantity_cmp(&x, &y) != 0)
            return false;
    }
    return true;
}

/* A marker keeps the container's own resources. */
static bool is_marker(struct golden_case *c, const char *container, const char *text)
{
    static const char *const kinds[] = {"requests", "limits"};
    const struct vpa_json *marker;
    struct vpa_error err;

    if (!text || vpa_json_parse(c->arena, text, strlen(text), &marker, &err) < 0)
        return false;
    vpa_json_foreach (own, pod_containers(c)) {
        if (!vpa_str_eq(vpa_json_string(vpa_json_find(own, "name")), container))
            continue;
        for (size_t k = 0; k < VPA_COUNT(kinds); k++) {
            const struct vpa_json *kept = vpa_json_find(marker, kinds[k]);
            const struct vpa_json *had = vpa_json_find(vpa_json_find(own, "resources"), kinds[k]);

            if (!kept || !has_same_amounts(c, kept, had))
                return false;
        }
        return vpa_json_count(marker) == 2;
    }
    return false;
}

/* "/spec/containers/1/resources/limits/cpu" and what is above it. */
static bool is_resources_path(struct golden_case *c, const char *path)
{
    const char *rest = path + strlen("/spec/containers/");
    size_t digits = strspn(rest, "0123456789");
    const char *kind = rest + digits + strlen("/resources");

    if (digits == 0 || !vpa_str_starts_with(rest + digits, "/resources") ||
        strtoul(rest, NULL, 10) >= vpa_json_count(pod_containers(c)))
        return false;
    if (!*kind || vpa_str_eq(kind, "/requests") || vpa_str_eq(kind, "/limits"))
        return true;
    return (vpa_str_starts_with(kind, "/requests/") || vpa_str_starts_with(kind, "/limits/")) &&
           is_resource(c, strrchr(kind, '/') + 1);
}

/* What the reference sets where the decision makes it differ must still be of the kind. */
static bool is_plausible(struct golden_case *c, const char *path, const struct vpa_json *value)
{
    static const char marker[] = ANNOTATIONS "/vpaCpuStartupBoost~1";
    const char *text = vpa_json_string(value);
    struct vpa_quantity q;
    struct vpa_error err;

    if (vpa_str_eq(path, UPDATES))
        return text && tells_of_updates(c, text);
    if (vpa_str_starts_with(path, marker))
        return is_marker(c, path + strlen(marker), text);
    if (!vpa_str_starts_with(path, "/spec/containers/") || !is_resources_path(c, path))
        return false;
    return vpa_json_is_object(value) ? vpa_json_count(value) == 0
                                     : text && vpa_quantity_parse(c->arena, text, &q, &err) == 0;
}

/* Each operation of the reference sets something, and what no decision frees is ours too, in the
 * same order. */
static void compare_reference(struct golden_case *c, const char *touched,
                              const struct vpa_json *patch, const struct vpa_json *ours)
{
    const struct vpa_json *next = vpa_json_first(ours);

    vpa_json_foreach (op, patch) {
        const char *path = vpa_or_empty(vpa_json_string(vpa_json_find(op, "path")));
        const struct vpa_json *value = vpa_json_find(op, "value");
        const struct vpa_json *got = value_at(ours, path);

        if (vpa_json_count(op) != 3 || !value ||
            !vpa_str_eq(vpa_json_string(vpa_json_find(op, "op")), "add"))
            golden_difference(c, golden_label(c, "patch %s", path), "an add", "another operation");
        if (is_free(c, touched, path)) {
            if (!is_plausible(c, path, value))
                golden_unexpected(c, golden_label(c, "patch %s", path), "no such value");
            continue;
        }
        if (!got || !value || !vpa_json_equal(value, got))
            golden_difference(c, golden_label(c, "patch %s", path), "as ours", "another");
        while (next && !vpa_str_eq(vpa_json_string(vpa_json_find(next, "path")), path))
            next = vpa_json_next(next);
        if (got && !next)
            golden_difference(c, golden_label(c, "patch %s", path), "in its order", "elsewhere");
    }
}

/* A patch and its type come together. */
static void compare_patches(struct golden_case *c, const char *touched,
                            const struct vpa_json *response)
{
    const struct vpa_json *reference = vpa_json_at(GOLDEN_OUT(c, "review"), "response");
    const struct vpa_json *patch = vpa_json_find(reference, "patch");
    const struct vpa_json *ours = vpa_json_find(response, "patch");

    golden_text(c, "response.patchType", vpa_json_find(reference, "patchType"),
                patch ? "JSONPatch" : NULL);
    if (!patch) /* S2, S3 and 9.1: the reference fails */
        return;
    compare_reference(c, touched, patch, ours);
    vpa_json_foreach (op, ours) {
        const char *path = vpa_or_empty(vpa_json_string(vpa_json_find(op, "path")));

        if (!value_at(patch, path) && !is_free(c, touched, path))
            golden_unexpected(c, golden_label(c, "patch %s", path), "ours alone");
    }
}

/* U15: a limit that differs from the reference's is the largest amount; the note says so. */
static void check_saturated(struct golden_case *c, const struct vpa_json *response)
{
    const struct vpa_json *reference = vpa_json_at(GOLDEN_OUT(c, "review"), "response");
    const struct vpa_quantity most = vpa_quantity_milli(INT64_MAX);

    vpa_json_foreach (op, vpa_json_find(response, "patch")) {
        const char *path = vpa_json_string(vpa_json_find(op, "path"));
        const char *got = vpa_json_string(vpa_json_find(op, "value")),
                   *want = patched(reference, path);
        if (!strstr(path, "/limits/") || vpa_str_eq(want, got))
            continue;
        struct vpa_quantity q = read_quantity(c, got);
        if (vpa_quantity_cmp(&q, &most) < 0)
            golden_difference(c, path, want ? want : "absent", got ? got : "absent");
    }
}

/* S4: where the requests differ, ours is the higher one. */
static void check_higher(struct golden_case *c, const struct vpa_json *response)
{
    const struct vpa_json *reference = vpa_json_at(GOLDEN_OUT(c, "review"), "response");

    vpa_json_foreach (op, vpa_json_find(reference, "patch")) {
        const char *path = vpa_or_empty(vpa_json_string(vpa_json_find(op, "path")));
        const char *want = vpa_json_string(vpa_json_find(op, "value"));
        const char *got = patched(response, path);

        if (!want || !got || !vpa_str_ends_with(path, "/requests/cpu"))
            continue;
        struct vpa_quantity a = read_quantity(c, got), b = read_quantity(c, want);
        if (vpa_quantity_cmp(&a, &b) < 0)
            golden_difference(c, path, want, got);
    }
}

static void invariant(struct golden_case *c)
{
    bool s2 = golden_tagged(c, "S2") || golden_tagged(c, "S3"), s4 = golden_tagged(c, "S4");
    struct answer with, without;

    if (!ask(c, NULL, &with) || !ask(c, "--feature-gates=CPUStartupBoost=false", &without))
        return;
    const struct vpa_json *response = parse_review(c, &with);
    if (golden_tagged(c, "depth")) {
        if (!strstr(with.body, "\"uid\":\"u\",\"allowed\":true}}"))
            golden_unexpected(c, "review", with.body);
        if (GOLDEN_OUT(c, "review")) /* it has not read the request */
            golden_text(c, "uid", vpa_json_at(GOLDEN_OUT(c, "review"), "response.uid"), "");
        return;
    }
    check_answer(c, &with, response);
    const struct vpa_json *plain = parse_review(c, &without);
    if ((s2 || s4) && !golden_tagged(c, "S1")) {
        check_not_lowered(c, response, plain);
        check_memory_same(c, response, plain);
    }
    if (s2 && !s4)
        check_no_boost(c, &with, &without);
    if (s4)
        check_higher(c, response);
    if (golden_tagged(c, "11.5"))
        check_invented(c, response);
    if (golden_tagged(c, "9.1"))
        check_namespace(c, response);
    if (has_status_resources(c))
        check_status_ignored(c, &with);
    else if (!c->differs)
        check_saturated(c, response);
    if (vpa_str_eq(touches(c), "U41") && !vpa_json_find(response, "patch"))
        return; /* admitted as it is */
    if (GOLDEN_OUT(c, "review"))
        compare_patches(c, touches(c), response);
}

#define PATCH                                                                                      \
    "review.response.patch", "review.response.patch[*", "review.response.patchType",               \
        "body.response.patch", "body.response.patchType"

static const struct golden_licence licences[] = {
    {"11.5", {PATCH}},
    {"9.1", {PATCH}},
    {"S1", {PATCH}},
    {"S2", {PATCH, "review"}}, /* some make the reference drop the connection */
    {"S3", {PATCH}},
    {"S4", {PATCH}},
    {"U1", {"review", "body"}},
    {"U15", {PATCH}},
    {"U27", {PATCH}},
    {"U41", {PATCH, "review"}},
    {"depth", {"review", "review.response.uid", "body", "body.response.uid"}},
    {NULL, {NULL}},
};

const struct golden_set golden_set_admission_pods = {.name = "admission_pods",
                                                     .run = run,
                                                     .invariant = invariant,
                                                     .licences = licences,
                                                     .touches = touches,
                                                     .begin = memory_cluster_quiet};
