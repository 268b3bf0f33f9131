/*
 * At start the registration is deleted if it is there and created anew, as upstream does, but for
 * one of which only settings or the CA differ: it is patched, and no pod passes meanwhile; only
 * where none is allowed it is deleted as well. Where there was none, a replica that is faster is
 * as good; what is there again after we have deleted it an older replica has put back, by its own
 * flags, and it is looked at again. A new CA of a file changes only caBundle, by a patch that is
 * left out when the stored bundle is the same.
 */
#include "webhook.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/net/tls.h"

/* An older replica waits longer before each repair than a round takes. */
#define ROUNDS 3

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

/* ---- calls ---- */

void webhook_path(struct vpa_buf *path, const char *name)
{
    vpa_buf_init(path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(path, WEBHOOK_GROUP_VERSION, NULL, "mutatingwebhookconfigurations", name, NULL);
}

static int call(struct vpa_kube_client *client, const struct vpa_kube_call *request,
                struct vpa_arena *arena, struct vpa_kube_result *result, struct vpa_error *err)
{
    if (vpa_kube_do(client, request, arena, result, err) == 0)
        return 0;
    /* A test operation that failed: see has_details of struct vpa_kube_status. */
    if (result->status_code == 422 && result->status.has_details && !result->status.cause_count &&
        err)
        err->code = VPA_CONFLICT;
    if (result->status_code == 401 && err) /* that says nothing of our rights */
        err->code = VPA_RETRY;
    if ((result->status_code == 405 || result->status_code == 415) && err)
        err->code = VPA_DENIED; /* a proxy lets no patch through */
    if (result->status_code != 0 && request->verb == VPA_KUBE_CREATE && err &&
        err->code == VPA_RETRY) /* it has answered, and upstream takes that as final */
        err->code = VPA_DENIED;
    return -1;
}

int webhook_call(struct vpa_kube_client *client, enum vpa_kube_verb verb, const char *name,
                 const struct vpa_buf *body, struct vpa_error *err)
{
    struct vpa_kube_result result = {0};
    vpa_auto_arena arena = {0};
    vpa_auto_buf path = {0};

    webhook_path(&path, name);
    const struct vpa_kube_call request = {
        .verb = verb, .path = vpa_buf_text(&path), .body = body->data, .body_len = body->len};
    return call(client, &request, &arena, &result, err);
}

static int read_object(struct vpa_kube_client *client, const char *name, struct vpa_arena *arena,
                       const struct vpa_json **object, struct vpa_error *err)
{
    struct vpa_kube_result result = {0};
    vpa_auto_buf path = {0};

    webhook_path(&path, name);
    const struct vpa_kube_call request = {.verb = VPA_KUBE_GET, .path = vpa_buf_text(&path)};
    if (call(client, &request, arena, &result, err) < 0)
        return -1;
    return vpa_json_parse(arena, result.body, result.body_len, object, err);
}

/* Whether what is there stays: it is Helm's, or just as it would be registered. */
static bool stays(const struct registration_view *view, const char *name, const char *ca)
{
    if (!view->object_is_ours) {
        VPA_WARN("The registration was made by Helm and stays as it is: --register-webhook=false "
                 "is what that wants",
                 VPA_KV("name", name));
        return true;
    }
    if (*view->fault || view->settings_differ ||
        (view->ca_is_ours && strcmp(view->ca, vpa_or_empty(ca)) != 0))
        return false;
    VPA_V(3, "The webhook is registered already", VPA_KV("name", name));
    return true;
}

void webhook_patch_begin(struct vpa_json_patch *patch, const struct registration_view *view,
                         struct vpa_buf *body)
{
    vpa_json_patch_begin(patch, body);
    vpa_json_put_string(vpa_json_patch_op(patch, VPA_PATCH_TEST, "/metadata/resourceVersion"),
                        view->resource_version);
    vpa_json_patch_end_op(patch);
}

static void patch_labels(struct vpa_json_patch *patch, const struct registration_view *view,
                         const struct vpa_json *labels)
{
    if (labels && !view->has_labels) {
        vpa_json_put_node(vpa_json_patch_op(patch, VPA_PATCH_ADD, "/metadata/labels"), labels);
        vpa_json_patch_end_op(patch);
        return;
    }
    vpa_json_foreach (label, labels) {
        vpa_auto_buf path = VPA_BUF(WEBHOOK_BODY_MAX);

        vpa_buf_puts(&path, "/metadata/labels");
        vpa_json_pointer_add(&path, vpa_json_name(label));
        vpa_json_put_node(vpa_json_patch_op(patch, VPA_PATCH_ADD, vpa_buf_text(&path)), label);
        vpa_json_patch_end_op(patch);
    }
}

int webhook_write_over(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                       const struct registration_view *view, const char *ca, struct vpa_error *err)
{
    const struct vpa_json *object;
    struct vpa_json_patch patch;
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX), body = VPA_BUF(WEBHOOK_BODY_MAX);
    vpa_auto_buf base64 = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_ca(ca, &base64);
    webhook_encode_bundle(wanted->config, wanted->ns, ca ? vpa_buf_text(&base64) : view->ca_base64,
                          view->selector, &text);
    if (vpa_json_parse(&arena, vpa_buf_text(&text), text.len, &object, err) < 0)
        return -1;
    webhook_patch_begin(&patch, view, &body);
    vpa_json_put_node(vpa_json_patch_op(&patch, VPA_PATCH_ADD, "/webhooks"),
                      vpa_json_find(object, "webhooks"));
    vpa_json_patch_end_op(&patch);
    patch_labels(&patch, view, vpa_json_at(object, "metadata.labels"));
    vpa_json_patch_end(&patch);
    return webhook_call(client, VPA_KUBE_PATCH_JSON, wanted->config->webhook_config_name, &body,
                        err);
}

static int delete (struct vpa_kube_client *client, const char *name, struct vpa_error *err)
{
    vpa_auto_buf options = VPA_BUF(WEBHOOK_BODY_MAX);

    vpa_buf_puts(&options,
                 "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" WEBHOOK_GROUP_VERSION "\"}");
    if (webhook_call(client, VPA_KUBE_DELETE, name, &options, err) < 0)
        return vpa_wrap(err, "cannot delete MutatingWebhookConfiguration %s", name);
    return 0;
}

/* What is known of the registration after it was looked at. */
enum found {
    NOTHING,   /* nobody had one */
    FORBIDDEN, /* we may not read it */
    UNREAD,    /* it could not be read now */
    DELETED,   /* we have deleted it */
    OVERTAKEN, /* somebody has written it meanwhile */
    RIGHT,
};

static int fail_as(struct vpa_error *err, const struct vpa_error *failure)
{
    if (err)
        *err = *failure;
    return -1;
}

static int replace(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                   const struct registration_view *view, const char *ca, enum found *found,
                   struct vpa_error *err)
{
    const char *name = wanted->config->webhook_config_name;
    struct vpa_error failure;

    *found = RIGHT;
    if (stays(view, name, ca) ||
        (!*view->fault &&
         webhook_write_over(client, wanted, view, view->ca_is_ours ? vpa_or_empty(ca) : NULL,
                            &failure) == 0))
        return 0;
    *found = DELETED;
    if (*view->fault || failure.code == VPA_DENIED) /* it may not be patched */
        return delete (client, name, err);
    *found = OVERTAKEN;
    if (failure.code == VPA_CONFLICT || failure.code == VPA_NOT_FOUND)
        return 0;
    fail_as(err, &failure);
    return vpa_wrap(err, "cannot patch MutatingWebhookConfiguration %s", name);
}

/* Any failure to read it is taken as absence, as upstream does; creation will tell. Only who stops
 * creates nothing. */
static int clear_the_way(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                         const char *ca, struct registration_view *view, enum found *found,
                         struct vpa_error *err)
{
    const struct vpa_json *object;
    vpa_auto_arena arena = {0};
    struct vpa_error unread;

    if (read_object(client, wanted->config->webhook_config_name, &arena, &object, &unread) < 0) {
        *found = unread.code == VPA_NOT_FOUND ? NOTHING
                 : unread.code == VPA_RETRY   ? UNREAD
                                              : FORBIDDEN;
        return unread.code == VPA_CANCELLED ? fail_as(err, &unread) : 0;
    }
    registration_view_read(view, object, wanted);
    return replace(client, wanted, view, ca, found, err);
}

/* found: nothing is there, as far as we know; view: what was. */
static int create(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                  const char *ca, const struct registration_view *view, enum found *found,
                  struct vpa_error *err)
{
    struct vpa_error failure;
    vpa_auto_buf body = VPA_BUF(WEBHOOK_BODY_MAX), base64 = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_ca(ca, &base64);
    webhook_encode_bundle(wanted->config, wanted->ns, vpa_buf_text(&base64), view->selector, &body);
    if (webhook_call(client, VPA_KUBE_CREATE, NULL, &body, &failure) == 0) {
        VPA_V(3, "Self registration as MutatingWebhook succeeded.");
        *found = RIGHT;
        return 0;
    }
    if (failure.code != VPA_CONFLICT) {
        fail_as(err, &failure);
        return vpa_wrap(err, "cannot create MutatingWebhookConfiguration %s",
                        wanted->config->webhook_config_name);
    }
    if (*found == UNREAD)
        return vpa_fail(err, VPA_RETRY,
                        "MutatingWebhookConfiguration %s is there, but was not read",
                        wanted->config->webhook_config_name);
    if (*found == FORBIDDEN)
        VPA_WARN("There is a registration that cannot be read: it stays as it is",
                 VPA_KERR(&failure));
    else
        VPA_INFO("Another replica has registered the webhook", VPA_KERR(&failure));
    *found = *found == DELETED ? OVERTAKEN : RIGHT; /* by older flags; as ours would be */
    return 0;
}

static int register_now(struct vpa_kube_client *client, const struct registration_wanted *wanted,
                        const char *ca, struct registration_view *view, struct vpa_error *err)
{
    enum found found = OVERTAKEN;

    for (int round = 0; round < ROUNDS && found == OVERTAKEN; round++) {
        if (clear_the_way(client, wanted, ca, view, &found, err) < 0)
            return -1;
        if (found != RIGHT && found != OVERTAKEN &&
            create(client, wanted, ca, view, &found, err) < 0)
            return -1;
    }
    if (found == RIGHT)
        return 0;
    return vpa_fail(err, VPA_RETRY,
                    "MutatingWebhookConfiguration %s: somebody else keeps writing it",
                    wanted->config->webhook_config_name);
}

int webhook_register(struct vpa_kube_client *client, const struct admission_config *config,
                     const char *ns, const char *ca, struct vpa_error *err)
{
    const struct registration_wanted wanted = {.config = config, .ns = ns};
    struct registration_view view = {0};
    int result = register_now(client, &wanted, ca, &view, err);

    registration_view_release(&view);
    return result;
}

/* Whether the first webhook of the object has this bundle. */
static int same_bundle(const struct vpa_json *object, const char *ca, size_t len, bool *same,
                       struct vpa_error *err)
{
    const struct vpa_json *first = vpa_json_first(vpa_json_find(object, "webhooks"));
    const char *bundle = vpa_json_string(vpa_json_at(first, "clientConfig.caBundle"));
    vpa_auto_buf decoded = VPA_BUF(WEBHOOK_BODY_MAX);

    if (!first)
        return vpa_fail(err, VPA_INVALID, "webhook configuration has no webhooks");
    *same = bundle && vpa_base64_decode(&decoded, bundle, strlen(bundle), err) == 0 &&
            decoded.len == len && memcmp(decoded.data, ca, len) == 0;
    return 0;
}

static int patch_ca(struct vpa_kube_client *client, const char *name, const char *ca,
                    struct vpa_error *err)
{
    struct vpa_json_writer w;
    vpa_auto_buf body = VPA_BUF(WEBHOOK_BODY_MAX), base64 = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_ca(ca, &base64);
    vpa_json_writer_init(&w, &body);
    vpa_json_open_object(&w);
    vpa_json_member_array(&w, "webhooks");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "name", WEBHOOK_NAME);
    vpa_json_member_object(&w, "clientConfig");
    vpa_json_member_string(&w, "caBundle", vpa_buf_text(&base64));
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_array(&w);
    vpa_json_close_object(&w);
    return webhook_call(client, VPA_KUBE_PATCH_STRATEGIC, name, &body, err);
}

static int reload_ca(struct vpa_kube_client *client, const char *name, const char *ca, size_t len,
                     struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *object;
    bool same;

    if (read_object(client, name, &arena, &object, err) < 0)
        return -1;
    if (*vpa_ca_bundle_injector(object) || registration_view_is_helms(object)) {
        VPA_V(2, "The caBundle of the registration is not ours, skipping patch");
        return 0;
    }
    if (same_bundle(object, ca, len, &same, err) < 0)
        return -1;
    if (same) {
        VPA_V(2, "Client CA did not change, skipping patch");
        return 0;
    }
    VPA_V(2, "New client CA found, reloading and patching webhook");
    if (patch_ca(client, name, ca, err) < 0)
        return -1;
    VPA_V(2, "Successfully patched webhook with new client CA");
    return 0;
}

int webhook_reload_ca(struct vpa_kube_client *client, const struct admission_config *config)
{
    vpa_auto_free char *ca = NULL;
    struct vpa_error err;
    size_t len = 0;

    if (vpa_read_file(config->client_ca_file, VPA_PEM_MAX, &ca, &len, &err) < 0 || len == 0) {
        VPA_V(2, "Client CA file is empty, skipping reload");
        return 0;
    }
    if (reload_ca(client, config->webhook_config_name, ca, len, &err) == 0)
        return 0;
    VPA_ERROR("Failed to reload client CA", VPA_KERR(&err));
    return -1;
}
