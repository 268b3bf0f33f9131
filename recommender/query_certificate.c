#include "query_certificate.h"

#include <stdlib.h>
#include <string.h>

#include "api_meters.h"
#include "api_service.h"
#include "vpa/base/str.h"
#include "vpa/daemon/certificate_manager.h"

struct query_certificate {
    struct query_certificate_options options;
    struct vpa_loop *loop;
    struct vpa_certificate_manager *manager;
    struct api_service *service;
    char *name; /* by which API servers call */
    struct vpa_timer *timer;
    bool due;
    bool away; /* the server did not answer: nothing is due before the next look */
};

static void on_timer(void *ctx)
{
    ((struct query_certificate *)ctx)->due = true;
}

static const char *live_bundle(void *ctx)
{
    struct query_certificate *c = ctx;

    return api_service_bundle(c->service);
}

static bool may_write(void *ctx)
{
    const struct query_certificate *c = ctx;

    return c->options.may_write(c->options.ctx);
}

static void on_step(void *ctx, enum vpa_certificates_step step)
{
    (void)ctx;
    api_meter_step(vpa_certificates_step_name(step));
}

static void on_failure(void *ctx, const struct vpa_error *err, bool is_new)
{
    const struct query_certificate *c = ctx;

    api_meter_failed("secret");
    if (is_new)
        api_service_warn(c->options.events, "CertificatesNotKept", err);
}

struct query_certificate *query_certificate_new(const struct query_certificate_options *options)
{
    struct query_certificate *c = vpa_xcalloc(1, sizeof(*c));

    c->options = *options;
    c->loop = vpa_kube_client_loop(options->client);
    c->name = vpa_xprintf("%s.%s.svc", options->service, options->ns);
    c->service = api_service_new(&(struct api_service_options){
        .client = options->client, .may_write = may_write, .ctx = c, .events = options->events});
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
    api_service_free(c->service);
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
    return strcmp(api_service_bundle(c->service), vpa_certificate_manager_bundle(c->manager)) == 0;
}

/* The APIService first: a CA that it does not name yet signs nothing. And no write of it before the
 * Secret was read: another replica may have led, and gone on. */
void query_certificate_work(struct query_certificate *c)
{
    c->due = false;
    vpa_timer_start(c->timer, QUERY_CERTIFICATE_LOOK);
    c->away = !api_service_read(c->service);
    if (c->away)
        return;
    if (vpa_certificate_manager_is_due(c->manager) || !is_in_step(c))
        (void)vpa_certificate_manager_work(c->manager);
    if (*vpa_certificate_manager_bundle(c->manager))
        api_service_keep(c->service, vpa_certificate_manager_bundle(c->manager));
}

bool query_certificate_is_taken(const struct query_certificate *c, const char *chain_pem)
{
    const char *bundle = api_service_bundle(c->service);

    return chain_pem && *bundle &&
           vpa_tls_verify(chain_pem, bundle, c->name, vpa_loop_now(c->loop), NULL) == 0;
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
