#include "api_service.h"

#include <stdlib.h>
#include <string.h>

#include "api_meters.h"

#include "vpa/api/review.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/daemon/certificate_store.h"
#include "vpa/json/json_writer.h"

#define BODY_MAX (2 * VPA_CA_BUNDLE_MAX)

struct api_service {
    struct api_service_options options;
    struct vpa_loop *loop;
    struct vpa_arena arena; /* of what was read last */
    bool known;
    const char *version;  /* of the object */
    const char *bundle;   /* PEM */
    const char *injector; /* "" for nobody */
    char *written;        /* the bundle that was written last; NULL: none */
    int64_t written_at;   /* monotonic */
    char *said;           /* the failure that was logged last */
};

struct api_service *api_service_new(const struct api_service_options *options)
{
    struct api_service *s = vpa_xcalloc(1, sizeof(*s));

    s->options = *options;
    s->loop = vpa_kube_client_loop(options->client);
    s->bundle = "";
    return s;
}

void api_service_free(struct api_service *s)
{
    if (!s)
        return;
    vpa_arena_release(&s->arena);
    free(s->written);
    free(s->said);
    free(s);
}

const char *api_service_bundle(const struct api_service *s)
{
    return s->bundle;
}

/* ---- telling ---- */

void api_service_warn(struct vpa_events *events, const char *reason, const struct vpa_error *err)
{
    static const struct vpa_object_ref object = {
        .api_version = "apiregistration.k8s.io/v1", .kind = "APIService", .name = API_SERVICE_NAME};

    if (events && !err->told)
        vpa_events_record_warning(events, &object, reason, err->text);
}

static void complain(struct api_service *s, const struct vpa_error *err)
{
    if (vpa_loop_is_stopping(s->loop))
        return;
    api_meter_failed("registration");
    if (vpa_error_says(err, s->said))
        return;
    free(s->said);
    s->said = vpa_xstrdup(err->text);
    VPA_ERROR_UNLESS_TOLD(err, "The caBundle of the recommendation API is not as it should be",
                          VPA_KV("name", API_SERVICE_NAME), VPA_KERR(err));
    api_service_warn(s->options.events, "CABundleFaulty", err);
}

static void is_right(struct api_service *s)
{
    if (s->said)
        VPA_INFO("The caBundle of the recommendation API is right again",
                 VPA_KV("name", API_SERVICE_NAME));
    free(s->said);
    s->said = NULL;
}

/* ---- reading ---- */

static void forget(struct api_service *s)
{
    vpa_arena_release(&s->arena);
    s->known = false;
    s->bundle = "";
}

static void take(struct api_service *s, const struct vpa_json *object)
{
    const char *base64 = vpa_json_string(vpa_json_at(object, "spec.caBundle"));
    const char *version = vpa_json_string(vpa_json_at(object, "metadata.resourceVersion"));

    forget(s);
    s->known = true;
    s->injector = vpa_ca_bundle_injector(object);
    s->bundle = vpa_ca_bundle_decode(&s->arena, vpa_or_empty(base64));
    s->version = vpa_arena_strdup(&s->arena, vpa_or_empty(version));
}

static int call(struct api_service *s, enum vpa_kube_verb verb, const struct vpa_buf *body,
                struct vpa_error *err)
{
    const struct vpa_kube_call request = {.verb = verb,
                                          .path = API_SERVICE_PATH,
                                          .body = body->data,
                                          .body_len = body->len,
                                          .timeout = VPA_CERTIFICATE_STORE_TIMEOUT,
                                          .no_retry = true,
                                          .unlimited = true,
                                          .repeatable = true};
    struct vpa_kube_result result = {0};
    const struct vpa_json *object;
    vpa_auto_arena arena = {0};

    if (vpa_kube_do(s->options.client, &request, &arena, &result, err) < 0 ||
        vpa_json_parse(&arena, result.body, result.body_len, &object, err) < 0)
        return -1;
    take(s, object);
    return 0;
}

bool api_service_read(struct api_service *s)
{
    struct vpa_error err;

    if (call(s, VPA_KUBE_GET, &(struct vpa_buf){0}, &err) == 0)
        return true;
    forget(s);
    complain(s, &err);
    return err.code != VPA_RETRY;
}

/* ---- writing ---- */

static void encode(const struct api_service *s, const char *wanted, struct vpa_buf *body)
{
    vpa_auto_buf base64 = VPA_BUF(BODY_MAX);
    struct vpa_json_writer w;

    vpa_base64_encode(&base64, wanted, strlen(wanted));
    vpa_json_writer_init(&w, body);
    vpa_json_open_object(&w);
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "resourceVersion", s->version);
    vpa_json_close_object(&w);
    vpa_json_member_object(&w, "spec");
    vpa_json_member_string(&w, "caBundle", vpa_buf_text(&base64));
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

static int write_bundle(struct api_service *s, const char *wanted, struct vpa_error *err)
{
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    encode(s, wanted, &body);
    return call(s, VPA_KUBE_PATCH_MERGE, &body, err);
}

/* The same bundle again, and too soon. */
static bool is_repetition(const struct api_service *s, const char *wanted)
{
    return vpa_str_eq(s->written, wanted) &&
           vpa_loop_monotonic(s->loop) - s->written_at < API_SERVICE_PAUSE;
}

/* Another replica was faster, or somebody changed something else: what is there now is looked at
 * next time. */
static bool is_overtaken(const struct vpa_error *err)
{
    return err->code == VPA_CONFLICT || err->code == VPA_CANCELLED;
}

static void repair(struct api_service *s, const char *wanted)
{
    struct vpa_error err;

    if (write_bundle(s, wanted, &err) < 0) {
        if (!is_overtaken(&err))
            complain(s, &err);
        return;
    }
    VPA_INFO("The recommendation API has our caBundle", VPA_KV("name", API_SERVICE_NAME));
    if (vpa_str_eq(s->written, wanted))
        api_meter_repaired();
    free(s->written);
    s->written = vpa_xstrdup(wanted);
    s->written_at = vpa_loop_monotonic(s->loop);
}

void api_service_keep(struct api_service *s, const char *wanted)
{
    struct vpa_error err;

    if (!s->known)
        return;
    if (strcmp(s->bundle, wanted) == 0) {
        is_right(s);
    } else if (*s->injector) {
        vpa_fail(&err, VPA_DENIED, "others own it (%s)", s->injector);
        complain(s, &err);
    } else if (s->options.may_write(s->options.ctx) && !is_repetition(s, wanted)) {
        repair(s, wanted);
    }
}
