/*
 * Callbacks only note that something is due: a new snapshot, files that changed, the registration.
 * The loop of serve() does it, because reading files and asking the API server may wait. Snapshots
 * are published once for all events that arrived together.
 */
#include "admission.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "file_watch.h"
#include "proof.h"
#include "scales.h"
#include "vpa/base/file.h"
#include "vpa/base/log.h"
#include "vpa/daemon/certificate_manager.h"
#include "vpa/daemon/panic.h"
#include "vpa/daemon/status_lease.h"
#include "vpa/net/http_client.h"
#include "vpa/net/tls.h"
#include "webhook.h"

#define EXIT_FATAL 255
#define RELOAD_PERIOD VPA_SECOND
/* What could not be reloaded is tried again after so many periods: no descriptor was free, or the
 * API server could not be reached. The files may not change again before the old ones expire. */
#define RELOAD_RETRY 5
/* How often owners that were not found may be asked for again. */
#define OWNER_PASS (10 * VPA_SECOND)
/* Every so many of these, freed memory goes back to the system. */
#define TRIM_PASSES 6
/* Every so many, the scales of all targets are kept, so that they are known when a pod comes. */
#define KEEP_PASSES 60
#define IDLE_WAIT VPA_HOUR
/* So long after it was told to stop reviews are answered: API servers send them until they have
 * heard that this replica goes. */
#define FAREWELL (2 * VPA_SECOND)

struct admission {
    struct admission_options options;
    const struct admission_config *config;
    bool synced;
    bool ready;   /* it was once */
    bool leaving; /* it was told to stop */

    struct snapshot_builder *builder;
    struct vpa_owners *owners;
    struct scales *scales;
    bool publish_posted;
    struct vpa_timer *owner_timer;
    unsigned owner_passes;

    struct adviser *adviser; /* NULL: nobody is asked */
    struct server *server;
    struct proof *proof; /* NULL: no listener yet, or none at all */
    struct vpa_status_writer *lease;

    struct vpa_timer *reload_timer;
    struct file_watch cert_watch;
    struct file_watch key_watch;
    struct file_watch ca_watch;
    bool reload_due;
    unsigned pair_retry; /* periods until the next try, 0: none is due */
    unsigned ca_retry;
    bool ca_waits; /* the file has one that is not put into the registration */

    struct vpa_certificate_manager *manager; /* with --manage-certificates, else NULL */
    bool pair_pending;                       /* its pair is not served yet */

    struct vpa_timer *register_timer;
    char
        *ca; /* for the registration: of the file, read when the listener opens, or the manager's */
    bool register_due;
};

/* ---- snapshots ---- */

static void publish(void *ctx)
{
    struct admission *a = ctx;

    a->publish_posted = false;
    snapshot_builder_publish(a->builder, vpa_owners_view(a->owners));
}

/* Many changes of one turn of the loop make one snapshot. */
static void publish_soon(void *ctx)
{
    struct admission *a = ctx;

    if (a->publish_posted)
        return;
    a->publish_posted = true;
    vpa_loop_post(a->options.loop, publish, a);
}

static void on_owner_pass(void *ctx)
{
    struct admission *a = ctx;

    vpa_owners_begin_pass(a->owners);
    if (a->owner_passes % TRIM_PASSES == 0)
        malloc_trim(0); /* lists leave behind a tenth of what we hold */
    if (++a->owner_passes % KEEP_PASSES == 0 && a->synced) /* before that there is no list */
        scales_begin_round(a->scales);
    vpa_timer_start(a->owner_timer, OWNER_PASS);
}

/* ---- timers: they only say what is due ---- */

static void on_reload_timer(void *ctx)
{
    struct admission *a = ctx;

    a->reload_due = true;
    vpa_timer_start(a->reload_timer, RELOAD_PERIOD);
}

static void on_register_timer(void *ctx)
{
    ((struct admission *)ctx)->register_due = true;
}

static bool is_due(void *ctx)
{
    const struct admission *a = ctx;

    return a->reload_due || a->register_due || (a->proof && keeper_is_due(a->proof->keeper)) ||
           (a->manager && vpa_certificate_manager_is_due(a->manager));
}

/* ---- health ---- */

static bool is_fresh(const struct admission *a, struct vpa_buf *why)
{
    const char *owners = "";
    int64_t now = vpa_loop_monotonic(a->options.loop);
    vpa_duration age = vpa_owners_age(a->owners, now, &owners);

    return vpa_observe_is_fresh("verticalpodautoscalers",
                                vpa_cache_age(snapshot_builder_vpas(a->builder), now), why) &&
           vpa_observe_is_fresh(
               "limitranges", vpa_cache_age(snapshot_builder_limit_ranges(a->builder), now), why) &&
           vpa_observe_is_fresh(owners, age, why);
}

/* Where pods are refused while nobody is ready, to be taken away for what is in doubt (a cache that
 * is behind, a registration that cannot be read) would stop the cluster: all replicas are in doubt
 * at once. Who answers and has been ready is better than nobody. */
static bool is_needed(const struct admission *a)
{
    vpa_auto_buf ignored = VPA_BUF(VPA_ERROR_TEXT_MAX);

    return a->ready && proof_must_answer(a->proof) && self_test_is_alive(a->proof->test, &ignored);
}

/* What is still to be done at the start, or NULL. The scales too: all pods come to a new replica as
 * soon as it is ready. */
static const char *undone(const struct admission *a)
{
    if (!a->synced)
        return "the caches are not filled yet";
    if (!scales_were_asked(a->scales))
        return "scales of targets are being asked for";
    return a->proof ? NULL : "the webhook's port is not open yet";
}

static bool is_ready(void *ctx, struct vpa_buf *why)
{
    struct admission *a = ctx;
    const char *first = a->leaving ? "the webhook is stopping" : undone(a);

    if (first) {
        vpa_buf_puts(why, first);
        return false;
    }
    bool ready = self_test_is_ready(a->proof->test, why) && is_fresh(a, why);

    a->ready = a->ready || ready;
    return ready || is_needed(a);
}

static bool is_alive(void *ctx, struct vpa_buf *why)
{
    struct admission *a = ctx;

    return !a->proof || self_test_is_alive(a->proof->test, why);
}

static void observe(struct admission *a, bool on)
{
    if (!a->options.observe)
        return;
    vpa_observe_on_ready(a->options.observe, on ? is_ready : NULL, a);
    vpa_observe_on_alive(a->options.observe, on ? is_alive : NULL, a);
}

static const char *live_bundle(void *ctx)
{
    struct admission *a = ctx;

    if (!a->proof)
        return "";
    struct registration *r = a->proof->registration;

    return registration_state(r) == REGISTRATION_PRESENT ? registration_view(r)->ca : "";
}

static struct vpa_certificate_manager *make_manager(struct admission *a)
{
    const struct admission_config *config = a->config;
    vpa_auto_arena arena = {0};

    return vpa_certificate_manager_new(&(struct vpa_certificate_manager_options){
        .client = a->options.client,
        .ns = a->options.ns,
        .secret = config->certificate_secret,
        .ca_name = "vpa-webhook-ca",
        .service = config->webhook_service,
        .host = config->register_by_url ? registration_view_host_of(&arena, config->webhook_address)
                                        : NULL,
        .lifetime = config->certificate_lifetime,
        .step_line = "Certificates of the webhook",
        .failure_line = "Cannot keep the certificates of the webhook",
        .live_bundle = live_bundle,
        .ctx = a});
}

struct admission *admission_new(const struct admission_options *options)
{
    struct admission *a = vpa_xcalloc(1, sizeof(*a));

    a->options = *options;
    a->config = options->config;
    a->builder = snapshot_builder_new(
        &(struct snapshot_options){.client = a->options.client,
                                   .ns = a->config->common.vpa_object_namespace,
                                   .panic_ns = vpa_status_lease_namespace(a->options.ns)});
    a->owners = vpa_owners_new(&(struct vpa_owners_options){
        .client = a->options.client, .ns = a->config->common.vpa_object_namespace});
    snapshot_builder_on_change(a->builder, publish_soon, a);
    a->scales = scales_new(a->options.loop, a->owners, snapshot_builder_vpas(a->builder));
    snapshot_builder_on_vpa(a->builder, scales_follow, a->scales);
    vpa_owners_on_change(a->owners, publish_soon, a);
    a->owner_timer = vpa_timer_new(a->options.loop, on_owner_pass, a);
    a->reload_timer = vpa_timer_new(a->options.loop, on_reload_timer, a);
    a->register_timer = vpa_timer_new(a->options.loop, on_register_timer, a);
    if (a->config->manage_certificates && !a->options.unbound)
        a->manager = make_manager(a);
    observe(a, true);
    return a;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    observe(a, false);
    vpa_status_writer_free(a->lease);
    proof_free(a->proof);
    if (a->adviser)
        adviser_stop(a->adviser);
    server_free(a->server);
    adviser_free(a->adviser);
    vpa_timer_free(a->owner_timer);
    vpa_timer_free(a->reload_timer);
    vpa_timer_free(a->register_timer);
    vpa_loop_unpost(a->options.loop, publish, a);
    scales_free(a->scales);
    snapshot_builder_free(a->builder);
    vpa_owners_free(a->owners);
    vpa_certificate_manager_free(a->manager);
    free(a->ca);
    free(a);
}

struct server *admission_server(struct admission *admission)
{
    return admission->server;
}

struct snapshot_cell *admission_cell(struct admission *admission)
{
    return snapshot_builder_cell(admission->builder);
}

/* ---- start ---- */

int admission_sync(struct admission *a, struct vpa_error *err)
{
    struct vpa_reflector *const needed[] = {
        vpa_cache_reflector(snapshot_builder_vpas(a->builder)),
        vpa_cache_reflector(snapshot_builder_limit_ranges(a->builder))};
    struct vpa_reflector *panic = vpa_cache_reflector(snapshot_builder_panic(a->builder));

    snapshot_builder_start(a->builder);
    vpa_owners_start(a->owners);
    vpa_timer_start(a->owner_timer, OWNER_PASS);
    if (vpa_reflector_wait(needed, VPA_COUNT(needed), a->options.loop, 0, err) < 0 ||
        vpa_owners_wait(a->owners, 0, err) < 0)
        return -1;
    if (vpa_panic_wait(panic, a->options.loop, err) < 0)
        return -1;
    VPA_INFO("Initial VPA synced successfully",
             VPA_KV("vpas", (int64_t)vpa_cache_count(snapshot_builder_vpas(a->builder))));
    publish(a);
    scales_begin_round(a->scales);
    a->synced = true;
    return 0;
}

/* What to serve: the files of --tls-cert-file and --tls-private-key, or the manager's pair; both
 * heap strings. */
static int read_pair(const struct admission *a, struct vpa_tls_pair *pair, struct vpa_error *err)
{
    const struct admission_config *config = a->config;
    size_t len;

    *pair = (struct vpa_tls_pair){0};
    if (a->manager) {
        *pair = (struct vpa_tls_pair){
            .cert_pem = vpa_xstrdup(vpa_certificate_manager_served(a->manager)->cert_pem),
            .key_pem = vpa_xstrdup(vpa_certificate_manager_served(a->manager)->key_pem)};
        return 0;
    }
    if (vpa_read_file(config->tls_cert_file, VPA_PEM_MAX, &pair->cert_pem, &len, err) < 0 ||
        vpa_read_file(config->tls_private_key, VPA_PEM_MAX, &pair->key_pem, &len, err) < 0) {
        vpa_tls_pair_release(pair);
        return -1;
    }
    return 0;
}

/* Before the files are read: what changes meanwhile is seen as a change. */
static int start_reloading(struct admission *a, struct vpa_error *err)
{
    if (!a->config->reload_cert || a->manager)
        return 0;
    if (file_watch_init(&a->cert_watch, a->config->tls_cert_file, err) < 0 ||
        file_watch_init(&a->key_watch, a->config->tls_private_key, err) < 0)
        return -1;
    if (a->config->register_webhook &&
        file_watch_init(&a->ca_watch, a->config->client_ca_file, err) < 0)
        return -1;
    vpa_timer_start(a->reload_timer, RELOAD_PERIOD);
    return 0;
}

static void start_proof(struct admission *a, const char *chain_pem)
{
    a->proof = proof_new(&(struct proof_options){.loop = a->options.loop,
                                                 .client = a->options.client,
                                                 .config = a->config,
                                                 .ns = a->options.ns,
                                                 .port = server_port(a->server)});
    proof_serves(a->proof, chain_pem);
    proof_start(a->proof);
}

static int open_listener(struct admission *a, struct server_options *options, struct vpa_error *err)
{
    struct vpa_tls_pair pair;
    struct vpa_server_tls tls = {.ciphers = a->config->tls_ciphers};

    if (admission_config_tls_version(a->config, &tls.min_version, err) < 0 ||
        read_pair(a, &pair, err) < 0)
        return -1;
    tls.cert_pem = pair.cert_pem;
    tls.key_pem = pair.key_pem;
    options->tls = &tls;
    options->port = (int)a->config->port;
    a->server = server_new(options, err);
    if (a->server)
        start_proof(a, pair.cert_pem);
    vpa_tls_pair_release(&pair);
    if (!a->server)
        return -1;
    VPA_INFO("Serving the webhook", VPA_KV("port", server_port(a->server)));
    return 0;
}

static int start_adviser(struct admission *a, struct vpa_error *err)
{
    const struct vpa_http_client_options http = {.base_url = a->config->recommendation_query_url,
                                                 .connect_timeout =
                                                     a->config->recommendation_query_timeout};
    struct vpa_transport *transport;

    transport = vpa_http_client_new(a->options.loop, &http, err);
    if (!transport)
        return vpa_wrap(err, "--recommendation-query-url");
    a->adviser =
        adviser_new(&(struct adviser_options){.loop = a->options.loop,
                                              .transport = transport,
                                              .timeout = a->config->recommendation_query_timeout});
    return 0;
}

int admission_listen(struct admission *a, struct vpa_error *err)
{
    const struct vpa_gates *gates = &a->config->common.gates;

    if (*a->config->recommendation_query_url && start_adviser(a, err) < 0)
        return -1;
    struct server_options options = {
        .loop = a->options.loop,
        .cell = snapshot_builder_cell(a->builder),
        .ledger = a->options.ledger,
        .admit =
            {
                .startup_boost = gates->cpu_startup_boost,
                .max_cpu_boost = a->config->max_allowed_cpu_boost,
                .validate =
                    {
                        .in_place = gates->in_place,
                        .cpu_startup_boost = gates->cpu_startup_boost,
                        .per_vpa_config = gates->per_vpa_config,
                    },
                .adviser = a->adviser,
                .shadow = a->config->shadow,
            },
    };

    if (start_reloading(a, err) < 0)
        return -1;
    if (!a->options.unbound)
        return open_listener(a, &options, err);
    a->server = server_new_unbound(&options);
    return 0;
}

/* ---- work ---- */

static int reload_pair(struct admission *a)
{
    struct vpa_tls_pair pair;
    struct vpa_error err;

    VPA_V(2, "New certificate found, reloading");
    int result = read_pair(a, &pair, &err);
    if (result == 0 && !a->options.unbound)
        result = server_reload(a->server, pair.cert_pem, pair.key_pem, &err);
    if (result == 0 && a->proof)
        proof_serves(a->proof, pair.cert_pem);
    if (result < 0)
        VPA_ERROR("Failed to reload certificate", VPA_KERR(&err));
    vpa_tls_pair_release(&pair);
    return result;
}

static void read_ca(struct admission *a)
{
    free(a->ca);
    a->ca = a->manager ? vpa_xstrdup(vpa_certificate_manager_bundle(a->manager))
                       : webhook_read_ca(a->config->client_ca_file);
    if (a->proof)
        proof_wants_ca(a->proof, a->ca, a->manager != NULL);
}

/* Files are written one after the other, and some piece by piece: what the API server takes now it
 * is not to lose for a CA that has come before its pair, or is half there. */
static bool comes_too_early(struct admission *a)
{
    vpa_auto_free char *ca = NULL;
    size_t len = 0;

    if (!a->proof || vpa_read_file(a->config->client_ca_file, VPA_PEM_MAX, &ca, &len, NULL) < 0 ||
        len == 0)
        return false;
    return proof_would_lose(a->proof, ca);
}

static int reload_ca(struct admission *a)
{
    bool waited = a->ca_waits;

    a->ca_waits = comes_too_early(a);
    if (a->ca_waits && !waited)
        VPA_WARN("The new client CA does not vouch for the certificate that is served: it waits "
                 "for one that it does",
                 VPA_KV("file", a->config->client_ca_file));
    if (a->ca_waits)
        return -1;
    if (webhook_reload_ca(a->options.client, a->config) < 0)
        return -1;
    if (a->proof)
        read_ca(a);
    return 0;
}

/* Whether to load now: the file has changed, or the last try has failed a while ago. */
static bool load_now(bool changed, unsigned *retry)
{
    if (*retry > 0)
        --*retry;
    else if (!changed)
        return false;
    return changed || *retry == 0;
}

static void reload(struct admission *a)
{
    bool cert_changed = file_watch_changed(&a->cert_watch);
    bool key_changed = file_watch_changed(&a->key_watch);

    a->reload_due = false;
    if (load_now(cert_changed || key_changed, &a->pair_retry))
        a->pair_retry = reload_pair(a) < 0 ? RELOAD_RETRY : 0;
    if (a->config->register_webhook && load_now(file_watch_changed(&a->ca_watch), &a->ca_retry))
        a->ca_retry = reload_ca(a) < 0 ? RELOAD_RETRY : 0;
}

/* ---- managed certificates ---- */

/* A new pair is served when the API server would take it; before that the old one, unless that does
 * not do either. */
static void serve_managed_pair(struct admission *a)
{
    const struct vpa_tls_pair *pair = vpa_certificate_manager_served(a->manager);
    if (!a->pair_pending ||
        (proof_would_take(a->proof, pair->cert_pem) < 0 && proof_would_take(a->proof, NULL) == 0))
        return;
    a->pair_pending = reload_pair(a) < 0;
}

static void manage(struct admission *a)
{
    bool changed = vpa_certificate_manager_work(a->manager);

    proof_doubts_ca(a->proof, !vpa_certificate_manager_is_current(a->manager));
    if (!changed)
        return;
    a->pair_pending =
        !proof_is_serving(a->proof, vpa_certificate_manager_served(a->manager)->cert_pem);
    read_ca(a);
}

static void prove(struct admission *a)
{
    bool proof_due = keeper_is_due(a->proof->keeper);

    /* Before the registration is changed: another replica may have changed the certificates. */
    if (a->manager && (proof_due || vpa_certificate_manager_is_due(a->manager)))
        manage(a);
    if (keeper_is_due(a->proof->keeper))
        keeper_work(a->proof->keeper);
    if (a->manager)
        serve_managed_pair(a);
}

static void start_lease(struct admission *a)
{
    if (a->proof)
        proof_registered(a->proof);
    a->lease = vpa_status_writer_new(&(struct vpa_status_writer_options){
        .client = a->options.client,
        .ns = vpa_status_lease_namespace(a->config->status_lease_namespace),
        .name = a->config->status_lease_name,
        .holder = a->options.host_name,
        .interval = a->config->status_lease_update_interval,
        .healthy = a->proof ? self_test_is_healthy : NULL,
        .ctx = a->proof ? a->proof->test : NULL,
    });
    vpa_status_writer_start(a->lease);
}

static int register_now(struct admission *a)
{
    struct vpa_error err;

    a->register_due = false;
    if (webhook_register(a->options.client, a->config, a->options.ns, a->ca, &err) < 0) {
        if (err.code == VPA_CANCELLED && vpa_loop_is_stopping(a->options.loop))
            return 0;
        VPA_ERROR_UNLESS_TOLD(&err, "Cannot register the webhook", VPA_KERR(&err));
        if (err.code != VPA_RETRY)
            return EXIT_FATAL;
        vpa_timer_start(a->register_timer, WEBHOOK_REGISTRATION_DELAY);
        return 0;
    }
    start_lease(a);
    return 0;
}

/* Whoever says it twice does not want to wait. */
static void answer_to_the_last(struct admission *a)
{
    if (!a->proof)
        return;
    a->leaving = true;
    server_farewell(a->server);
    vpa_loop_resume(a->options.loop);
    if (a->lease)
        vpa_status_writer_farewell(a->lease);
    vpa_loop_pump(a->options.loop, FAREWELL);
    vpa_loop_stop(a->options.loop);
}

static int serve(struct admission *a)
{
    if (a->config->register_webhook || a->manager)
        read_ca(a);
    if (a->config->register_webhook) {
        vpa_timer_start(a->register_timer, WEBHOOK_REGISTRATION_DELAY);
    } else {
        start_lease(a);
    }
    while (!vpa_loop_is_stopping(a->options.loop)) {
        int status = 0;
        (void)vpa_loop_wait(a->options.loop, is_due, a, IDLE_WAIT, NULL);
        if (a->reload_due)
            reload(a);
        if (a->register_due)
            status = register_now(a);
        if (a->proof)
            prove(a);
        if (status)
            return status;
    }
    answer_to_the_last(a);
    return 0;
}

/* What cannot work is said at once, not after the API server has answered. */
static int check_certificate(struct admission *a, struct vpa_error *err)
{
    enum vpa_tls_version version;
    struct vpa_tls_pair pair;

    if (a->options.unbound)
        return 0;
    if (admission_config_tls_version(a->config, &version, err) < 0)
        return -1;
    if (a->manager)
        return 0;
    if (read_pair(a, &pair, err) < 0)
        return -1;
    int result = vpa_tls_check_pair(pair.cert_pem, pair.key_pem, NULL, err);
    vpa_tls_pair_release(&pair);
    return result < 0
               ? vpa_wrap(err, "%s, %s", a->config->tls_cert_file, a->config->tls_private_key)
               : 0;
}

int admission_run(struct admission *a)
{
    struct vpa_error err;

    if (check_certificate(a, &err) < 0) {
        VPA_ERROR("Cannot serve TLS", VPA_KERR(&err));
        return EXIT_FATAL;
    }
    if (admission_sync(a, &err) < 0)
        return 0; /* only a stop keeps it from that */
    if (a->manager && vpa_certificate_manager_prepare(a->manager, &err) < 0)
        return 0;
    if (admission_listen(a, &err) < 0) {
        VPA_ERROR("Failed to start HTTPS server", VPA_KERR(&err));
        return err.code == VPA_RETRY ? 1 : EXIT_FATAL;
    }
    return serve(a);
}
