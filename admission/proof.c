/*
 * Three questions before each test, each with a step of its own: does the registration send us new
 * pods, does its caBundle vouch for what we serve under the name that the API server will use, and
 * will it do so for a while yet. The time is the loop's, as everywhere.
 */
#include "proof.h"

#include <stdlib.h>
#include <string.h>

#include "meters.h"
#include "vpa/net/tls.h"

static int registration_is_right(struct proof *p, struct vpa_error *err)
{
    const char *name = p->options.config->webhook_config_name;
    const char *fault = registration_view(p->registration)->fault;

    switch (registration_state(p->registration)) {
    case REGISTRATION_UNKNOWN:
        return vpa_fail(err, VPA_CANCELLED, "the registration %s has not been read", name);
    case REGISTRATION_ABSENT:
        /* Before we have written it that is how it should be. */
        return vpa_fail(err, p->registered ? VPA_NOT_FOUND : VPA_CANCELLED,
                        "MutatingWebhookConfiguration %s does not exist", name);
    case REGISTRATION_PRESENT:
        return *fault
                   ? vpa_fail(err, VPA_INVALID, "MutatingWebhookConfiguration %s: %s", name, fault)
                   : 0;
    case REGISTRATION_FORBIDDEN:
    case REGISTRATION_ELSEWHERE:
        break;
    }
    return 0;
}

static int trust(void *ctx, struct self_test_trust *trust, enum self_test_step *step,
                 struct vpa_error *err)
{
    struct proof *p = ctx;
    const struct registration_view *view = registration_view(p->registration);
    vpa_time now = vpa_loop_now(p->options.loop);

    *step = SELF_TEST_REGISTRATION;
    if (registration_is_right(p, err) < 0)
        return -1;
    if (registration_is_out_of_sight(p->registration))
        return 0;
    *step = SELF_TEST_CHAIN;
    if (vpa_tls_verify(p->facts.chain, view->ca, view->host, now, err) < 0)
        return vpa_wrap(err, "caBundle of the registration");
    *step = SELF_TEST_VALIDITY;
    if (vpa_tls_verify(p->facts.chain, view->ca, view->host, vpa_time_add(now, PROOF_MARGIN), err) <
        0)
        return vpa_wrap(err, "two minutes from now");
    *trust = (struct self_test_trust){.verify = true, .name = view->host, .ca_pem = view->ca};
    return 0;
}

bool proof_is_serving(const struct proof *p, const char *chain_pem)
{
    return strcmp(p->facts.chain, chain_pem) == 0;
}

int proof_would_take(struct proof *p, const char *chain_pem)
{
    const struct registration_view *view = registration_view(p->registration);

    if (registration_state(p->registration) != REGISTRATION_PRESENT)
        return -1;
    return vpa_tls_verify(chain_pem ? chain_pem : p->facts.chain, view->ca, view->host,
                          vpa_loop_now(p->options.loop), NULL);
}

bool proof_would_lose(struct proof *p, const char *ca_pem)
{
    return proof_would_take(p, NULL) == 0 &&
           vpa_tls_verify(p->facts.chain, ca_pem, registration_view(p->registration)->host,
                          vpa_loop_now(p->options.loop), NULL) < 0;
}

static void on_change(void *ctx)
{
    struct proof *p = ctx;

    self_test_now(p->test);
    keeper_look(p->keeper);
}

struct proof *proof_new(const struct proof_options *options)
{
    struct proof *p = vpa_xcalloc(1, sizeof(*p));

    p->options = *options;
    p->facts.chain = vpa_xstrdup("");
    p->registration = registration_new(
        &(struct registration_options){.client = options->client,
                                       .wanted = {.config = options->config, .ns = options->ns},
                                       .changed = on_change,
                                       .ctx = p});
    p->test = self_test_new(
        &(struct self_test_options){.loop = options->loop,
                                    .port = options->port,
                                    .interval = options->config->status_lease_update_interval,
                                    .trust = trust,
                                    .ctx = p});
    p->keeper = keeper_new(
        &(struct keeper_options){.client = options->client,
                                 .wanted = {.config = options->config, .ns = options->ns},
                                 .registration = p->registration,
                                 .facts = &p->facts});
    return p;
}

void proof_free(struct proof *p)
{
    if (!p)
        return;
    keeper_free(p->keeper);
    self_test_free(p->test);
    registration_free(p->registration);
    free(p->facts.chain);
    free(p->facts.ca);
    free(p);
}

void proof_start(struct proof *p)
{
    registration_start(p->registration);
    self_test_start(p->test);
}

void proof_registered(struct proof *p)
{
    p->registered = true;
    registration_refresh(p->registration);
    self_test_now(p->test);
    keeper_start(p->keeper);
}

void proof_wants_ca(struct proof *p, const char *ca_pem, bool exactly)
{
    vpa_replace_text(&p->facts.ca, ca_pem);
    p->facts.exact_ca = exactly;
    keeper_ca_is_new(p->keeper);
}

void proof_doubts_ca(struct proof *p, bool doubt)
{
    if (p->facts.doubts_ca && !doubt)
        keeper_look(p->keeper);
    p->facts.doubts_ca = doubt;
}

void proof_serves(struct proof *p, const char *chain_pem)
{
    struct vpa_tls_info info;

    vpa_replace_text(&p->facts.chain, chain_pem);
    if (vpa_tls_describe(chain_pem, &info, NULL) == 0) {
        vpa_time seconds = info.not_after / VPA_SECOND;

        vpa_metric_set(&meter_certificate, (double)seconds);
    }
    self_test_now(p->test);
    keeper_look(p->keeper);
}

/* What it said when it could be read last. */
bool proof_must_answer(const struct proof *p)
{
    return p->options.config->webhook_failure_policy_fail ||
           registration_view(p->registration)->refuses;
}
