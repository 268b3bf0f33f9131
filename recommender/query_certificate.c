#include "query_certificate.h"

#include <stdlib.h>
#include <string.h>

#include "api_meters.h"
#include "vpa/api/review.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ca_bundle.h"
#include "vpa/daemon/certificate_manager.h"
#include "vpa/json/json_writer.h"

#define BODY_MAX (2 * VPA_CA_BUNDLE_MAX)

struct query_certificate {
    struct query_certificate_options options;
    struct vpa_loop *loop;
    struct vpa_certificate_manager *manager;
    char *name; /* by which API servers call */
    struct vpa_timer *timer;
    bool due;
    bool away; /* the server did not answer: nothing is due before the next look */

    struct vpa_arena arena; /* of the APIService as it was read last */
    bool known;
    const char *version;
    const char *bundle;   /* PEM; "" without one and when it was not to be read */
    const char *injector; /* "" for nobody */
    char *written;        /* the bundle that was written last; NULL: none */
    int64_t written_at;   /* monotonic */
    char *said;           /* the failure that was logged last */
};

/* ---- telling ---- */

void query_certificate_warn(struct vpa_events *events, const char *reason,
                            const struct vpa_error *err)
{
    static const struct vpa_object_ref object = {
        .api_version = "apiregistration.k8s.io/v1", .kind = "APIService", .name = API_SERVICE_NAME};

    if (events && !err->told)
        vpa_events_record_warning(events, &object, reason, err->text);
}

static void complain(struct query_certificate *c, const struct vpa_error *err)
{
    if (vpa_loop_is_stopping(c->loop))
        return;
    vpa_metric_inc(&api_meter_failures, "registration");
    if (vpa_error_says(err, c->said))
        return;
    vpa_replace_text(&c->said, err->text);
    VPA_ERROR_UNLESS_TOLD(err, "The caBundle of the recommendation API is not as it should be",
                          VPA_KV("name", API_SERVICE_NAME), VPA_KERR(err));
    query_certificate_warn(c->options.events, "CABundleFaulty", err);
}

static void is_right(struct query_certificate *c)
{
    if (c->said)
        VPA_INFO("The caBundle of the recommendation API is right again",
                 VPA_KV("name", API_SERVICE_NAME));
    vpa_replace_text(&c->said, NULL);
}

/* ---- reading ---- */

static void forget(struct query_certificate *c)
{
    vpa_arena_release(&c->arena);
    c->known = false;
    c->bundle = "";
}

static void take(struct query_certificate *c, const struct vpa_json *object)
{
    const char *base64 = vpa_json_string(vpa_json_at(object, "spec.caBundle"));
    const char *version = vpa_json_string(vpa_json_at(object, "metadata.resourceVersion"));

    forget(c);
    c->known = true;
    c->injector = vpa_ca_bundle_injector(object);
    c->bundle = vpa_ca_bundle_decode(&c->arena, vpa_or_empty(base64));
    c->version = vpa_arena_strdup(&c->arena, vpa_or_empty(version));
}

static int call(struct query_certificate *c, enum vpa_kube_verb verb, const struct vpa_buf *body,
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

    if (vpa_kube_do(c->options.client, &request, &arena, &result, err) < 0 ||
        vpa_json_parse(&arena, result.body, result.body_len, &object, err) < 0)
        return -1;
    take(c, object);
    return 0;
}

static bool read_service(struct query_certificate *c)
{
    struct vpa_error err;

    if (call(c, VPA_KUBE_GET, &(struct vpa_buf){0}, &err) == 0)
        return true;
    forget(c);
    complain(c, &err);
    return err.code != VPA_RETRY;
}

/* ---- writing ---- */

static bool may_write(void *ctx)
{
    const struct query_certificate *c = ctx;

    return c->options.may_write(c->options.ctx);
}

static void encode(const struct query_certificate *c, const char *wanted, struct vpa_buf *body)
{
    vpa_auto_buf base64 = VPA_BUF(BODY_MAX);
    struct vpa_json_writer w;

    vpa_base64_encode(&base64, wanted, strlen(wanted));
    vpa_json_writer_init(&w, body);
    vpa_json_open_object(&w);
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "resourceVersion", c->version);
    vpa_json_close_object(&w);
    vpa_json_member_object(&w, "spec");
    vpa_json_member_string(&w, "caBundle", vpa_buf_text(&base64));
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

static int write_bundle(struct query_certificate *c, const char *wanted, struct vpa_error *err)
{
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    encode(c, wanted, &body);
    return call(c, VPA_KUBE_PATCH_MERGE, &body, err);
}

/* The same bundle again, and too soon. */
static bool is_repetition(const struct query_certificate *c, const char *wanted)
{
    return vpa_str_eq(c->written, wanted) &&
           vpa_loop_monotonic(c->loop) - c->written_at < API_SERVICE_PAUSE;
}

/* Another replica was faster, or somebody changed something else: what is there now is looked at
 * next time. */
static bool is_overtaken(const struct vpa_error *err)
{
    return err->code == VPA_CONFLICT || err->code == VPA_CANCELLED;
}

static void repair(struct query_certificate *c, const char *wanted)
{
    struct vpa_error err;

    if (write_bundle(c, wanted, &err) < 0) {
        if (!is_overtaken(&err))
            complain(c, &err);
        return;
    }
    VPA_INFO("The recommendation API has our caBundle", VPA_KV("name", API_SERVICE_NAME));
    if (vpa_str_eq(c->written, wanted))
        vpa_metric_inc(&api_meter_repairs, "caBundle");
    vpa_replace_text(&c->written, wanted);
    c->written_at = vpa_loop_monotonic(c->loop);
}

static void keep_bundle(struct query_certificate *c, const char *wanted)
{
    struct vpa_error err;

    if (!c->known)
        return;
    if (strcmp(c->bundle, wanted) == 0) {
        is_right(c);
    } else if (*c->injector) {
        vpa_fail(&err, VPA_DENIED, "others own it (%s)", c->injector);
        complain(c, &err);
    } else if (may_write(c) && !is_repetition(c, wanted)) {
        repair(c, wanted);
    }
}

/* ---- the certificates ---- */

static void on_timer(void *ctx)
{
    ((struct query_certificate *)ctx)->due = true;
}

static const char *live_bundle(void *ctx)
{
    return ((const struct query_certificate *)ctx)->bundle;
}

static void on_step(void *ctx, enum vpa_certificates_step step)
{
    (void)ctx;
    vpa_metric_inc(&api_meter_steps, vpa_certificates_step_name(step));
}

static void on_failure(void *ctx, const struct vpa_error *err, bool is_new)
{
    const struct query_certificate *c = ctx;

    vpa_metric_inc(&api_meter_failures, "secret");
    if (is_new)
        query_certificate_warn(c->options.events, "CertificatesNotKept", err);
}

struct query_certificate *query_certificate_new(const struct query_certificate_options *options)
{
    struct query_certificate *c = vpa_xcalloc(1, sizeof(*c));

    c->options = *options;
    c->loop = vpa_kube_client_loop(options->client);
    c->name = vpa_xprintf("%s.%s.svc", options->service, options->ns);
    c->bundle = "";
    c->manager = vpa_certificate_manager_new(&(struct vpa_certificate_manager_options){
        .client = options->client,
        .ns = options->ns,
        .secret = options->secret,
        .ca_name = "vpa-recommendation-ca",
        .service = options->service,
        .lifetime = options->lifetime,
        .step_line = "Certificates of the recommendation API",
        .failure_line = "Cannot keep the certificates of the recommendation API",
        .live_bundle = live_bundle,
        .may_write = may_write,
        .on_step = on_step,
        .on_failure = on_failure,
        .ctx = c});
    c->timer = vpa_timer_new(c->loop, on_timer, c);
    c->due = true;
    vpa_certificate_manager_look(c->manager);
    return c;
}

void query_certificate_free(struct query_certificate *c)
{
    if (!c)
        return;
    vpa_timer_free(c->timer);
    vpa_certificate_manager_free(c->manager);
    vpa_arena_release(&c->arena);
    free(c->written);
    free(c->said);
    free(c->name);
    free(c);
}

bool query_certificate_is_due(const struct query_certificate *c)
{
    return c->due || (!c->away && vpa_certificate_manager_is_due(c->manager));
}

/* Whether the APIService says what we want; the wish may be an old one. */
static bool is_in_step(const struct query_certificate *c)
{
    return strcmp(c->bundle, vpa_certificate_manager_bundle(c->manager)) == 0;
}

/* The APIService first: a CA that it does not name yet signs nothing. And no write of it before the
 * Secret was read: another replica may have led, and gone on. */
void query_certificate_work(struct query_certificate *c)
{
    c->due = false;
    vpa_timer_start(c->timer, QUERY_CERTIFICATE_LOOK);
    c->away = !read_service(c);
    if (c->away)
        return;
    if (vpa_certificate_manager_is_due(c->manager) || !is_in_step(c))
        (void)vpa_certificate_manager_work(c->manager);
    if (*vpa_certificate_manager_bundle(c->manager))
        keep_bundle(c, vpa_certificate_manager_bundle(c->manager));
}

bool query_certificate_is_taken(const struct query_certificate *c, const char *chain_pem)
{
    return chain_pem && *c->bundle &&
           vpa_tls_verify(chain_pem, c->bundle, c->name, vpa_loop_now(c->loop), NULL) == 0;
}

const struct vpa_tls_pair *query_certificate_next(const struct query_certificate *c,
                                                  const char *served_pem)
{
    const struct vpa_tls_pair *pair = vpa_certificate_manager_served(c->manager);

    if (!pair->cert_pem || !pair->key_pem || vpa_str_eq(pair->cert_pem, served_pem))
        return NULL;
    return query_certificate_is_taken(c, pair->cert_pem) ||
                   !query_certificate_is_taken(c, served_pem)
               ? pair
               : NULL;
}
