/*
 * The object as upstream writes it. Labels come as key:value pairs in one flag.
 */
#include "webhook_object.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define LABELS_MAX 64

struct webhook_label {
    struct vpa_slice key;
    struct vpa_slice value;
};

/* A heap string. */
static char *trim_quotes(const char *text)
{
    size_t len;

    text += strspn(text, "\"");
    len = strlen(text);
    while (len && text[len - 1] == '"')
        len--;
    return vpa_xstrndup(text, len);
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
static int parse_labels(const char *list, struct webhook_label labels[LABELS_MAX])
{
    const char *rest = list;
    struct vpa_slice item;
    int count = 0;

    while (vpa_str_split(&rest, ',', &item)) {
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
    vpa_auto_free char *list = trim_quotes(text);
    int count = parse_labels(list, labels);
    if (count < 0) {
        vpa_fail(&err, VPA_INVALID,
                 "labels '%s' are invalid, the format should be: 'key1:value1,key2:value2'", list);
        VPA_ERROR("Unable to parse webhook labels", VPA_KERR(&err));
        return;
    }
    vpa_json_member_object(w, "labels");
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *key = vpa_xstrndup(labels[i].key.ptr, labels[i].key.len);
        vpa_json_key(w, key);
        put_slice(w, labels[i].value);
    }
    vpa_json_close_object(w);
}

void webhook_encode_ca(const char *ca, struct vpa_buf *out)
{
    vpa_base64_encode(out, vpa_or_empty(ca), strlen(vpa_or_empty(ca)));
}

static void put_client_config(struct vpa_json_writer *w, const struct admission_config *config,
                              const char *ns, const char *bundle)
{
    vpa_json_member_object(w, "clientConfig");
    if (config->register_by_url) {
        vpa_auto_free char *url =
            vpa_xprintf("%s:%s", config->webhook_address, config->webhook_port);
        vpa_json_member_string(w, "url", url);
    } else {
        vpa_json_member_object(w, "service");
        vpa_json_member_string(w, "namespace", ns);
        vpa_json_member_string(w, "name", config->webhook_service);
        vpa_json_close_object(w);
    }
    vpa_json_member_string_opt(w, "caBundle", bundle);
    vpa_json_close_object(w);
}

static void put_strings(struct vpa_json_writer *w, const char *name, const char *const *items,
                        size_t count)
{
    vpa_json_member_array(w, name);
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

    vpa_json_member_object(w, "namespaceSelector");
    vpa_json_member_array(w, "matchExpressions");
    vpa_json_open_object(w);
    vpa_json_member_string(w, "key", WEBHOOK_NAMESPACE_KEY);
    vpa_json_member_string(w, "operator", "NotIn");
    vpa_json_member_array(w, "values");
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
    vpa_auto_buf base64 = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_ca(ca, &base64);
    webhook_encode_bundle(config, ns, vpa_buf_text(&base64), NULL, out);
}

void webhook_encode_bundle(const struct admission_config *config, const char *ns,
                           const char *bundle, const char *selector, struct vpa_buf *out)
{
    static const char *const review_versions[] = {"v1"};
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "kind", "MutatingWebhookConfiguration");
    vpa_json_member_string(&w, "apiVersion", WEBHOOK_GROUP_VERSION);
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "name", config->webhook_config_name);
    put_labels(&w, config->webhook_labels);
    vpa_json_close_object(&w);
    vpa_json_member_array(&w, "webhooks");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "name", WEBHOOK_NAME);
    put_client_config(&w, config, ns, bundle);
    vpa_json_member_array(&w, "rules");
    put_rule(&w, false, "", "v1", "pods");
    put_rule(&w, true, "autoscaling.k8s.io", "*", "verticalpodautoscalers");
    vpa_json_close_array(&w);
    vpa_json_member_string(&w, "failurePolicy",
                           config->webhook_failure_policy_fail ? "Fail" : "Ignore");
    if (selector)
        vpa_json_member_raw(&w, "namespaceSelector", selector, strlen(selector));
    else
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
