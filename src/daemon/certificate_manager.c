/*
 * Read, decide, write; read again when somebody else was faster. The Secret is looked at once a
 * minute, with short lives more often: a replica must have heard of a change before the settling
 * time is over.
 */
#include "vpa/daemon/certificate_manager.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/certificate_store.h"

#define LOOK VPA_MINUTE
#define LOOKS_PER_SETTLING 4
#define LOOK_MIN VPA_SECOND
#define RETRY (5 * VPA_SECOND)
#define TRIES 5 /* in a row against other replicas */
#define NAMES_MAX 4

struct vpa_certificate_manager {
    struct vpa_certificate_manager_options options;
    struct vpa_loop *loop;
    struct vpa_timer *timer;
    bool due;
    bool current; /* at the last look the Secret had what is known here */
    struct vpa_certificate_store store;
    struct vpa_certificates set;
    struct vpa_certificate_terms terms;
    const char *names[NAMES_MAX];
    char *owned[NAMES_MAX]; /* the texts of names */
    char *bundle;
    char *said; /* the failure that was logged last */
};

static void on_timer(void *ctx)
{
    vpa_certificate_manager_look(ctx);
}

static void add_name(struct vpa_certificate_manager *m, char *name)
{
    size_t at = m->terms.name_count++;

    m->owned[at] = name;
    m->names[at] = name;
}

/* Those by which an API server may call, the one of the registration first. */
static void list_names(struct vpa_certificate_manager *m)
{
    const struct vpa_certificate_manager_options *o = &m->options;

    if (o->host)
        add_name(m, vpa_xstrdup(o->host));
    add_name(m, vpa_xprintf("%s.%s.svc", o->service, o->ns));
    add_name(m, vpa_xprintf("%s.%s", o->service, o->ns));
    add_name(m, vpa_xstrdup(o->service));
    m->terms.names = m->names;
    m->options.service = m->options.host = NULL; /* copied */
}

struct vpa_certificate_manager *
vpa_certificate_manager_new(const struct vpa_certificate_manager_options *options)
{
    struct vpa_certificate_manager *m = vpa_xcalloc(1, sizeof(*m));

    m->options = *options;
    m->loop = vpa_kube_client_loop(options->client);
    m->timer = vpa_timer_new(m->loop, on_timer, m);
    m->store = (struct vpa_certificate_store){
        .client = options->client, .ns = options->ns, .name = options->secret};
    m->terms.ca_name = options->ca_name;
    m->terms.lifetime = options->lifetime;
    m->bundle = vpa_xstrdup("");
    list_names(m);
    return m;
}

void vpa_certificate_manager_free(struct vpa_certificate_manager *m)
{
    if (!m)
        return;
    vpa_timer_free(m->timer);
    vpa_certificates_release(&m->set);
    vpa_certificate_store_release(&m->store);
    for (size_t i = 0; i < NAMES_MAX; i++)
        free(m->owned[i]);
    free(m->bundle);
    free(m->said);
    free(m);
}

const struct vpa_tls_pair *vpa_certificate_manager_served(const struct vpa_certificate_manager *m)
{
    return &m->set.served;
}

const char *vpa_certificate_manager_bundle(const struct vpa_certificate_manager *m)
{
    return m->bundle;
}

bool vpa_certificate_manager_is_due(const struct vpa_certificate_manager *m)
{
    return m->due;
}

bool vpa_certificate_manager_is_current(const struct vpa_certificate_manager *m)
{
    return m->current;
}

void vpa_certificate_manager_look(struct vpa_certificate_manager *m)
{
    m->due = true;
}

/* ---- a look ---- */

static bool may_write(const struct vpa_certificate_manager *m)
{
    return !m->options.may_write || m->options.may_write(m->options.ctx);
}

static bool is_trusted(const struct vpa_certificate_manager *m, const struct vpa_certificates *set)
{
    const char *live = m->options.live_bundle ? m->options.live_bundle(m->options.ctx) : "";

    return set->next_ca.cert_pem && strstr(live, set->next_ca.cert_pem) != NULL;
}

/* All steps that are due now, as a set of bits. */
static int advance(const struct vpa_certificate_manager *m, struct vpa_certificates *set,
                   unsigned *steps, struct vpa_error *err)
{
    enum vpa_certificates_step step;

    *steps = 0;
    if (!may_write(m))
        return 0;
    do {
        if (vpa_certificates_advance(set, &m->terms, vpa_loop_now(m->loop), is_trusted(m, set),
                                     &step, err) < 0)
            return -1;
        if (step != VPA_CERTIFICATES_KEPT)
            *steps |= 1u << step;
    } while (step != VPA_CERTIFICATES_KEPT);
    return 0;
}

static void tell_step(const struct vpa_certificate_manager *m, enum vpa_certificates_step step)
{
    VPA_INFO(m->options.step_line, VPA_KV("step", vpa_certificates_step_name(step)),
             VPA_KV("secret", m->store.name));
    if (m->options.on_step)
        m->options.on_step(m->options.ctx, step);
}

static void tell(const struct vpa_certificate_manager *m, unsigned steps)
{
    for (unsigned step = 0; steps >> step; step++)
        if (steps >> step & 1)
            tell_step(m, (enum vpa_certificates_step)step);
}

static int read_secret(struct vpa_certificate_manager *m, struct vpa_certificates *set,
                       struct vpa_error *err)
{
    m->current = false;
    if (vpa_certificate_store_read(&m->store, set, err) < 0)
        return -1;

    vpa_auto_free char *bundle = vpa_certificates_bundle(set);

    m->current = strcmp(bundle, m->bundle) == 0;
    return 0;
}

/* Reads, advances, writes. What is not stored is not used: another replica may have other keys. */
static int look(struct vpa_certificate_manager *m, struct vpa_error *err)
{
    struct vpa_certificates set = {0};
    unsigned steps = 0;
    int rc = -1;

    for (int i = 0; i < TRIES; i++) {
        rc = -1;
        if (read_secret(m, &set, err) < 0 || advance(m, &set, &steps, err) < 0)
            break;
        rc = steps ? vpa_certificate_store_write(&m->store, &set, err) : 0;
        if (rc == 0 || err->code != VPA_CONFLICT)
            break;
        VPA_INFO("Another replica has changed the certificates, reading theirs",
                 VPA_KV("secret", m->store.name));
    }
    if (rc == 0) {
        m->current = true;
        tell(m, steps);
        vpa_certificates_release(&m->set);
        m->set = set;
        set = (struct vpa_certificates){0};
    }
    vpa_certificates_release(&set);
    return rc;
}

static void complain(struct vpa_certificate_manager *m, const struct vpa_error *err)
{
    bool is_new = !vpa_error_says(err, m->said);

    if (vpa_loop_is_stopping(m->loop))
        return;
    if (m->options.on_failure)
        m->options.on_failure(m->options.ctx, err, is_new);
    if (!is_new)
        return;
    free(m->said);
    m->said = vpa_xstrdup(err->text);
    VPA_ERROR_UNLESS_TOLD(err, m->options.failure_line, VPA_KERR(err));
}

static vpa_duration pause(const struct vpa_certificate_manager *m)
{
    vpa_duration share = vpa_certificates_settling(&m->terms) / LOOKS_PER_SETTLING;

    if (!m->set.served.cert_pem)
        return RETRY;
    return share < LOOK_MIN ? LOOK_MIN : share < LOOK ? share : LOOK;
}

bool vpa_certificate_manager_work(struct vpa_certificate_manager *m)
{
    vpa_auto_free char *bundle = vpa_xstrdup(m->bundle);
    vpa_auto_free char *cert = vpa_xstrdup(vpa_or_empty(m->set.served.cert_pem));
    struct vpa_error err;

    m->due = false;
    int result = look(m, &err);
    vpa_timer_start(m->timer, pause(m));
    if (result < 0) {
        complain(m, &err);
        return false;
    }
    free(m->said);
    m->said = NULL;
    free(m->bundle);
    m->bundle = vpa_certificates_bundle(&m->set);
    return strcmp(bundle, m->bundle) != 0 ||
           strcmp(cert, vpa_or_empty(m->set.served.cert_pem)) != 0;
}

int vpa_certificate_manager_prepare(struct vpa_certificate_manager *m, struct vpa_error *err)
{
    while (!vpa_certificate_manager_work(m)) {
        vpa_loop_pump(m->loop, RETRY);
        if (vpa_loop_is_stopping(m->loop))
            return vpa_fail(err, VPA_CANCELLED, "stopped");
    }
    return 0;
}
