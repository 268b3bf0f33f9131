/*
 * At start the registration is deleted if it is there and created anew, as upstream does; a replica
 * that is faster is as good. A new CA changes only caBundle, by a patch that is left out when the
 * stored bundle is the same. Labels come as key:value pairs in one flag.
 */
#include "webhook.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/tls.h"

#define GROUP_VERSION "admissionregistration.k8s.io/v1"
#define BODY_MAX ((size_t)4 << 20)
#define NAMESPACE_KEY "kubernetes.io/metadata.name"
#define LABELS_MAX 64

char *webhook_read_ca(const char *path)
{
    struct vpa_error err;
    char *text;
    size_t len;

    if (vpa_read_file(path, VPA_PEM_MAX, &text, &len, &err) == 0)
        return text;
    VPA_ERROR("Error reading certificate file", VPA_KERR(&err), VPA_KV("file", path));
    return NULL;
}

/* ---- the object ---- */

struct webhook_label {
    struct vpa_slice key;
    struct vpa_slice value;
};

static struct vpa_slice trim_quotes(const char *text)
{
    struct vpa_slice s = {text, strlen(text)};

    while (s.len && s.ptr[0] == '"') {
        s.ptr++;
        s.len--;
    }
    while (s.len && s.ptr[s.len - 1] == '"')
        s.len--;
    return s;
}

/* One item "key:value" of the list. */
static bool parse_label(struct vpa_slice item, struct webhook_label *out)
{
    const char *colon = memchr(item.ptr, ':', item.len);

    if (!colon)
        return false;
    size_t before = (size_t)(colon - item.ptr);
    out->key = vpa_slice_trim((struct vpa_slice){item.ptr, before});
    out->value = vpa_slice_trim((struct vpa_slice){colon + 1, item.len - before - 1});
    return out->key.len > 0;
}

static bool slices_equal(struct vpa_slice a, struct vpa_slice b)
{
    return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* Number of labels, or -1 for a malformed list. Of a repeated key the last counts. */
static int parse_labels(struct vpa_slice rest, struct webhook_label labels[LABELS_MAX])
{
    int count = 0;

    for (bool more = true; more;) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        struct vpa_slice item = {rest.ptr, comma ? (size_t)(comma - rest.ptr) : rest.len};
        struct webhook_label label;
        int at = 0;

        if (!parse_label(item, &label))
            return -1;
        while (at < count && !slices_equal(labels[at].key, label.key))
            at++;
        if (at == LABELS_MAX)
            return -1;
        labels[at] = label;
        if (at == count)
            count++;
        more = comma != NULL;
        if (more) {
            rest.len -= item.len + 1;
            rest.ptr += item.len + 1;
        }
    }
    return count;
}

static void put_slice(struct vpa_json_writer *w, struct vpa_slice s)
{
    vpa_auto_free char *text = vpa_xstrndup(s.ptr, s.len);

    vpa_json_put_string(w, text);
}

static void put_labels(struct vpa_json_writer *w, const char *text)
{
    struct webhook_label labels[LABELS_MAX];
    struct vpa_error err;

    if (text[0] == '\0')
        return;
    struct vpa_slice list = trim_quotes(text);
    int count = parse_labels(list, labels);
    if (count < 0) {
        vpa_fail(&err, VPA_INVALID,
                 "labels '%.*s' are invalid, the format should be: 'key1:value1,key2:value2'",
                 (int)list.len, list.ptr);
        VPA_ERROR("Unable to parse webhook labels", VPA_KERR(&err));
        return;
    }
    vpa_json_key(w, "labels");
    vpa_json_open_object(w);
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *key = vpa_xstrndup(labels[i].key.ptr, labels[i].key.len);
        vpa_json_key(w, key);
        put_slice(w, labels[i].value);
    }
    vpa_json_close_object(w);
}

static void put_ca_bundle(struct vpa_json_writer *w, const char *ca)
{
    vpa_auto_buf base64 = {0};

    vpa_buf_init(&base64, BODY_MAX);
    vpa_base64_encode(&base64, ca, strlen(ca));
    vpa_json_member_string(w, "caBundle", vpa_buf_text(&base64));
}

static void put_client_config(struct vpa_json_writer *w, const struct admission_config *config,
                              const char *ns, const char *ca)
{
    vpa_json_key(w, "clientConfig");
    vpa_json_open_object(w);
    if (config->register_by_url) {
        vpa_auto_free char *url =
            vpa_xprintf("%s:%s", config->webhook_address, config->webhook_port);
        vpa_json_member_string(w, "url", url);
    } else {
        vpa_json_key(w, "service");
        vpa_json_open_object(w);
        vpa_json_member_string(w, "namespace", ns);
        vpa_json_member_string(w, "name", config->webhook_service);
        vpa_json_close_object(w);
    }
    if (ca && ca[0])
        put_ca_bundle(w, ca);
    vpa_json_close_object(w);
}

static void put_strings(struct vpa_json_writer *w, const char *name, const char *const *items,
                        size_t count)
{
    vpa_json_key(w, name);
    vpa_json_open_array(w);
    for (size_t i = 0; i < count; i++)
        vpa_json_put_string(w, items[i]);
    vpa_json_close_array(w);
}

static void put_rule(struct vpa_json_writer *w, bool update, const char *group, const char *version,
                     const char *resource)
{
    static const char *const operations[] = {"CREATE", "UPDATE"};

    vpa_json_open_object(w);
    put_strings(w, "operations", operations, update ? 2 : 1);
    put_strings(w, "apiGroups", &group, 1);
    put_strings(w, "apiVersions", &version, 1);
    put_strings(w, "resources", &resource, 1);
    vpa_json_close_object(w);
}

/* Upstream splits the flag at commas, which makes one empty namespace of an empty flag. The
 * selector so never says In, whatever --vpa-object-namespace is. */
static void put_namespace_selector(struct vpa_json_writer *w, const char *ignored)
{
    const char *rest = ignored;
    struct vpa_slice ns;

    vpa_json_key(w, "namespaceSelector");
    vpa_json_open_object(w);
    vpa_json_key(w, "matchExpressions");
    vpa_json_open_array(w);
    vpa_json_open_object(w);
    vpa_json_member_string(w, "key", NAMESPACE_KEY);
    vpa_json_member_string(w, "operator", "NotIn");
    vpa_json_key(w, "values");
    vpa_json_open_array(w);
    while (vpa_str_split(&rest, ',', &ns))
        put_slice(w, ns);
    vpa_json_close_array(w);
    vpa_json_close_object(w);
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

void webhook_encode(const struct admission_config *config, const char *ns, const char *ca,
                    struct vpa_buf *out)
{
    static const char *const review_versions[] = {"v1"};
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "MutatingWebhookConfiguration");
    vpa_json_member_string(&w, "apiVersion", GROUP_VERSION);
    vpa_json_key(&w, "metadata");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "name", WEBHOOK_CONFIG_NAME);
    put_labels(&w, config->webhook_labels);
    vpa_json_close_object(&w);
    vpa_json_key(&w, "webhooks");
    vpa_json_open_array(&w);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "name", WEBHOOK_NAME);
    put_client_config(&w, config, ns, ca);
    vpa_json_key(&w, "rules");
    vpa_json_open_array(&w);
    put_rule(&w, false, "", "v1", "pods");
    put_rule(&w, true, "autoscaling.k8s.io", "*", "verticalpodautoscalers");
    vpa_json_close_array(&w);
    vpa_json_member_string(&w, "failurePolicy",
                           config->webhook_failure_policy_fail ? "Fail" : "Ignore");
    put_namespace_selector(&w, config->common.ignored_vpa_object_namespaces);
    vpa_json_member_string(&w, "sideEffects", "None");
    /* Cut to 32 bits, as upstream does. */
    vpa_json_member_int(&w, "timeoutSeconds",
                        (int32_t)(uint32_t)(uint64_t)config->webhook_timeout_seconds);
    put_strings(&w, "admissionReviewVersions", review_versions, VPA_COUNT(review_versions));
    vpa_json_close_object(&w);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
}

/* ---- calls ---- */

static void object_path(struct vpa_buf *path, const char *name)
{
    vpa_buf_init(path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(path, GROUP_VERSION, NULL, "mutatingwebhookconfigurations", name, NULL);
}

static int call(struct vpa_kube_client *client, enum vpa_kube_verb verb, const char *name,
                const char *body, size_t len, struct vpa_error *err)
{
    vpa_auto_buf path = {0};

    object_path(&path, name);
    const struct vpa_kube_call request = {
        .verb = verb, .path = vpa_buf_text(&path), .body = body, .body_len = len};
    return vpa_kube_do(client, &request, NULL, NULL, err);
}

int webhook_register(struct vpa_kube_client *client, const struct admission_config *config,
                     const char *ns, const char *ca, struct vpa_error *err)
{
    static const char delete_options[] =
        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" GROUP_VERSION "\"}";
    struct vpa_error failure;
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, BODY_MAX);
    /* Any failure to read it is taken as absence, as upstream does; creation will tell. */
    if (call(client, VPA_KUBE_GET, WEBHOOK_CONFIG_NAME, NULL, 0, &failure) == 0 &&
        call(client, VPA_KUBE_DELETE, WEBHOOK_CONFIG_NAME, delete_options,
             sizeof(delete_options) - 1, err) < 0)
        return vpa_wrap(err, "cannot delete MutatingWebhookConfiguration %s", WEBHOOK_CONFIG_NAME);

    webhook_encode(config, ns, ca, &body);
    if (call(client, VPA_KUBE_CREATE, NULL, body.data, body.len, &failure) < 0) {
        if (failure.code != VPA_CONFLICT) {
            if (err)
                *err = failure;
            return vpa_wrap(err, "cannot create MutatingWebhookConfiguration %s",
                            WEBHOOK_CONFIG_NAME);
        }
        VPA_INFO("Another replica has registered the webhook", VPA_KERR(&failure));
        return 0;
    }
    VPA_V(3, "Self registration as MutatingWebhook succeeded.");
    return 0;
}

/* Whether the first webhook of the object has this bundle. */
static int same_bundle(const struct vpa_json *object, const char *ca, size_t len, bool *same,
                       struct vpa_error *err)
{
    const struct vpa_json *first = vpa_json_first(vpa_json_find(object, "webhooks"));
    const char *bundle = vpa_json_string(vpa_json_at(first, "clientConfig.caBundle"));
    vpa_auto_buf decoded = {0};

    if (!first)
        return vpa_fail(err, VPA_INVALID, "webhook configuration has no webhooks");
    vpa_buf_init(&decoded, BODY_MAX);
    *same = bundle && vpa_base64_decode(&decoded, bundle, strlen(bundle), err) == 0 &&
            decoded.len == len && memcmp(decoded.data, ca, len) == 0;
    return 0;
}

static int patch_ca(struct vpa_kube_client *client, const char *ca, struct vpa_error *err)
{
    struct vpa_json_writer w;
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, BODY_MAX);
    vpa_json_writer_init(&w, &body);
    vpa_json_open_object(&w);
    vpa_json_key(&w, "webhooks");
    vpa_json_open_array(&w);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "name", WEBHOOK_NAME);
    vpa_json_key(&w, "clientConfig");
    vpa_json_open_object(&w);
    put_ca_bundle(&w, ca);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    return call(client, VPA_KUBE_PATCH_STRATEGIC, WEBHOOK_CONFIG_NAME, body.data, body.len, err);
}

static int reload_ca(struct vpa_kube_client *client, const char *ca, size_t len,
                     struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *object;
    vpa_auto_buf path = {0};
    bool same;

    object_path(&path, WEBHOOK_CONFIG_NAME);
    if (vpa_kube_get_json(client, vpa_buf_text(&path), &arena, &object, err) < 0 ||
        same_bundle(object, ca, len, &same, err) < 0)
        return -1;
    if (same) {
        VPA_V(2, "Client CA did not change, skipping patch");
        return 0;
    }
    VPA_V(2, "New client CA found, reloading and patching webhook");
    if (patch_ca(client, ca, err) < 0)
        return -1;
    VPA_V(2, "Successfully patched webhook with new client CA");
    return 0;
}

int webhook_reload_ca(struct vpa_kube_client *client, const char *path)
{
    vpa_auto_free char *ca = NULL;
    struct vpa_error err;
    size_t len = 0;

    if (vpa_read_file(path, VPA_PEM_MAX, &ca, &len, &err) < 0 || len == 0) {
        VPA_V(2, "Client CA file is empty, skipping reload");
        return 0;
    }
    if (reload_ca(client, ca, len, &err) == 0)
        return 0;
    VPA_ERROR("Failed to reload client CA", VPA_KERR(&err));
    return -1;
}
