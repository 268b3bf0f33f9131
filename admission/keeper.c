/*
 * What is wrong has a word, which is the label of the metric and what the lines say: "gone",
 * "service", "rules", "namespaceSelector", "objectSelector", "matchConditions",
 * "admissionReviewVersions", "webhooks", "caBundle". A repair of an object that is there is a JSON
 * Patch that names the version it rests on, so that what somebody else wrote in between is looked
 * at first. Settings are no fault: what is right else is right, also at the one look a while after
 * the start when the namespaces that it leaves out have to be ours: "namespaces".
 */
#include "keeper.h"

#include <stdlib.h>
#include <string.h>

#include "meters.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/status_lease.h"
#include "vpa/json/json_writer.h"
#include "vpa/kube/events.h"
#include "vpa/net/tls.h"
#include "webhook.h"

struct keeper {
    struct keeper_options options;
    struct vpa_loop *loop;
    struct vpa_timer *timer; /* of the next try */
    struct vpa_timer *late;  /* of the look at the namespaces */
    struct vpa_events *events;
    bool started;
    bool due;
    bool insists;         /* on our namespaces, until they were seen there, written or refused */
    bool ca_is_new;       /* we want another one than before, and it has not been seen there */
    char *selector;       /* that was told, with what others leave out; NULL: they leave nothing */
    const char *reported; /* what was said to be wrong and is not ours; NULL: nothing */
    vpa_duration pause;   /* before the next repair; 0: none yet */
    int64_t repaired;     /* monotonic, the last one */
};

static const char *name_of(const struct keeper *k)
{
    return k->options.wanted.config->webhook_config_name;
}

static void on_timer(void *ctx)
{
    keeper_look(ctx);
}

static void on_late(void *ctx)
{
    ((struct keeper *)ctx)->insists = true;
    keeper_look(ctx);
}

struct keeper *keeper_new(const struct keeper_options *options)
{
    struct keeper *k = vpa_xcalloc(1, sizeof(*k));

    k->options = *options;
    k->loop = vpa_kube_client_loop(options->client);
    k->timer = vpa_timer_new(k->loop, on_timer, k);
    k->late = vpa_timer_new(k->loop, on_late, k);
    k->events = vpa_events_new(&(struct vpa_events_options){
        .client = options->client, .component = "vpa-admission-controller"});
    return k;
}

void keeper_free(struct keeper *k)
{
    if (!k)
        return;
    vpa_timer_free(k->timer);
    vpa_timer_free(k->late);
    vpa_events_free(k->events);
    free(k->selector);
    free(k);
}

void keeper_start(struct keeper *k)
{
    k->started = true;
    vpa_timer_start(k->late, KEEPER_QUIET);
    keeper_look(k);
}

void keeper_look(struct keeper *k)
{
    k->due = k->started;
}

void keeper_ca_is_new(struct keeper *k)
{
    k->ca_is_new = true;
    keeper_look(k);
}

bool keeper_is_due(const struct keeper *k)
{
    return k->due;
}

/* ---- telling ---- */

static void tell(struct keeper *k, const char *reason, const char *what, const char *then)
{
    const struct admission_config *config = k->options.wanted.config;
    vpa_auto_free char *message = vpa_xprintf(
        "MutatingWebhookConfiguration %s: %s is not as it should be; %s", name_of(k), what, then);
    const struct vpa_object_ref lease = {
        .api_version = "coordination.k8s.io/v1",
        .kind = "Lease",
        .ns = vpa_status_lease_namespace(config->status_lease_namespace),
        .name = config->status_lease_name};

    vpa_events_record_warning(k->events, &lease, reason, message);
}

static void report(struct keeper *k, const char *what)
{
    if (vpa_str_eq(k->reported, what))
        return;
    k->reported = what;
    VPA_ERROR("The registration is not as it should be, and not ours to repair",
              VPA_KV("name", name_of(k)), VPA_KV("what", what));
    tell(k, "RegistrationFaulty", what, "not repaired, because others own it");
}

/* No recommendation comes to pods there, and nothing else tells. Beside namespaces of other flags
 * it cannot be told what others leave out. */
static void tell_left_out(struct keeper *k, const struct registration_view *view)
{
    const char *selector = view->others_leave_out ? view->selector : NULL;

    if (view->namespaces_differ || strcmp(vpa_or_empty(k->selector), vpa_or_empty(selector)) == 0)
        return;
    free(k->selector);
    k->selector = selector ? vpa_xstrdup(selector) : NULL;
    if (selector)
        VPA_INFO("Others leave out namespaces: their pods get no recommendation",
                 VPA_KV("name", name_of(k)), VPA_KV("namespaceSelector", selector));
    else
        VPA_INFO("Others leave out no namespaces any more", VPA_KV("name", name_of(k)));
}

static void is_right(struct keeper *k)
{
    vpa_metric_set(&meter_registration, 1);
    if (k->reported)
        VPA_INFO("The registration is right again", VPA_KV("name", name_of(k)));
    k->reported = NULL;
    k->ca_is_new = false;
}

/* ---- repairing ---- */

/* Whose certificates are trusted stays to the byte. */
static void put_client_config(struct vpa_json_writer *w, const struct vpa_json *wanted,
                              const struct registration_view *view)
{
    vpa_json_open_object(w);
    vpa_json_foreach (member, wanted) {
        vpa_json_member_node(w, vpa_json_name(member), member);
    }
    vpa_json_member_string_opt(w, "caBundle", view->ca_base64);
    vpa_json_close_object(w);
}

/* That part alone: what is not compared may have been changed by hand, and stays. */
static void put_part(struct vpa_json_patch *patch, const struct registration_view *view,
                     const struct vpa_json *hook, const char *what)
{
    bool is_service = strcmp(what, "service") == 0;
    const char *name = is_service ? "clientConfig" : what;
    const struct vpa_json *wanted = vpa_json_find(hook, name);
    vpa_auto_free char *path = vpa_xprintf("/webhooks/%zu/%s", view->index, name);
    struct vpa_json_writer *w =
        vpa_json_patch_op(patch, wanted ? VPA_PATCH_ADD : VPA_PATCH_REMOVE, path);

    if (!wanted)
        vpa_json_put_null(w);
    else if (is_service)
        put_client_config(w, wanted, view);
    else
        vpa_json_put_node(w, wanted);
    vpa_json_patch_end_op(patch);
}

static void put_ca(struct keeper *k, struct vpa_json_patch *patch,
                   const struct registration_view *view)
{
    vpa_auto_free char *path = vpa_xprintf("/webhooks/%zu/clientConfig/caBundle", view->index);
    vpa_auto_buf base64 = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_ca(k->options.facts->ca, &base64);
    vpa_json_put_string(vpa_json_patch_op(patch, VPA_PATCH_ADD, path), vpa_buf_text(&base64));
    vpa_json_patch_end_op(patch);
}

/* A certificate that has ended is none that another CA would repair. */
static bool ca_is_wrong(const struct keeper *k, const struct registration_view *view)
{
    const struct keeper_facts *f = k->options.facts;
    vpa_time now = vpa_loop_now(k->loop);

    if (f->doubts_ca || strcmp(vpa_or_empty(f->ca), view->ca) == 0)
        return false;
    if (f->exact_ca)
        return true;
    return vpa_tls_verify(f->chain, view->ca, view->host, now, NULL) < 0 &&
           vpa_tls_verify(f->chain, f->ca, view->host, now, NULL) == 0;
}

static bool must_put_ca(const struct keeper *k, const struct registration_view *view)
{
    return view->ca_is_ours && ca_is_wrong(k, view);
}

static int put_parts(struct keeper *k, const struct registration_view *view, const char *what,
                     struct vpa_error *err)
{
    const struct registration_wanted *wanted = &k->options.wanted;
    const struct vpa_json *object, *hook;
    struct vpa_json_patch patch;
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(WEBHOOK_BODY_MAX), body = VPA_BUF(WEBHOOK_BODY_MAX);

    webhook_encode_bundle(wanted->config, wanted->ns, "", view->selector, &text);
    if (vpa_json_parse(&arena, vpa_buf_text(&text), text.len, &object, NULL) < 0)
        return vpa_fail(err, VPA_LIMIT, "the flags make it longer than %zu bytes",
                        (size_t)WEBHOOK_BODY_MAX);
    hook = vpa_json_first(vpa_json_find(object, "webhooks"));
    webhook_patch_begin(&patch, view, &body);
    for (size_t i = 0; i < view->fault_count; i++)
        put_part(&patch, view, hook, view->faults[i]);
    if (strcmp(what, "namespaces") == 0)
        put_part(&patch, view, hook, "namespaceSelector");
    if (must_put_ca(k, view))
        put_ca(k, &patch, view);
    vpa_json_patch_end(&patch);
    return webhook_call(k->options.client, VPA_KUBE_PATCH_JSON, name_of(k), &body, err);
}

static int repair(struct keeper *k, const char *what, struct vpa_error *err)
{
    const struct registration_wanted *wanted = &k->options.wanted;
    const struct registration_view *view = registration_view(k->options.registration);
    const char *ca = k->options.facts->ca;
    vpa_auto_buf body = VPA_BUF(WEBHOOK_BODY_MAX);

    if (strcmp(what, "webhooks") == 0)
        return webhook_write_over(k->options.client, wanted, view,
                                  must_put_ca(k, view) ? vpa_or_empty(ca) : NULL, err);
    if (strcmp(what, "gone") != 0)
        return put_parts(k, view, what, err);
    webhook_encode(wanted->config, wanted->ns, ca, &body);
    return webhook_call(k->options.client, VPA_KUBE_CREATE, NULL, &body, err);
}

/* Another replica was faster, or somebody wrote in between: what is there now will be looked at. */
static bool is_overtaken(const struct vpa_error *err)
{
    return err->code == VPA_CONFLICT || err->code == VPA_NOT_FOUND;
}

static void is_repaired(struct keeper *k, const char *what)
{
    if (k->ca_is_new && strcmp(what, "caBundle") == 0) {
        VPA_INFO("The registration has our new caBundle", VPA_KV("name", name_of(k)));
        return;
    }
    if (strcmp(what, "namespaces") == 0) {
        VPA_INFO("The registration leaves out our namespaces again", VPA_KV("name", name_of(k)));
        k->insists = false;
        return;
    }
    vpa_metric_inc(&meter_repairs, what);
    VPA_WARN("The registration was not as it should be and is repaired", VPA_KV("name", name_of(k)),
             VPA_KV("what", what));
    tell(k, "RegistrationRepaired", what, "repaired");
}

static vpa_duration next_pause(vpa_duration last)
{
    if (last == 0)
        return KEEPER_PAUSE_FIRST;
    return last * 2 < KEEPER_PAUSE_MAX ? last * 2 : KEEPER_PAUSE_MAX;
}

static void repair_and_tell(struct keeper *k, const char *what)
{
    struct vpa_error err;

    if (repair(k, what, &err) == 0) {
        is_repaired(k, what);
    } else if (!is_overtaken(&err) && !vpa_loop_is_stopping(k->loop)) {
        k->insists = k->insists && err.code == VPA_RETRY;
        VPA_ERROR_UNLESS_TOLD(&err, "Cannot repair the registration", VPA_KV("name", name_of(k)),
                              VPA_KV("what", what), VPA_KERR(&err));
    }
    k->repaired = vpa_loop_monotonic(k->loop);
    k->pause = next_pause(k->pause);
    vpa_timer_start(k->timer, k->pause);
    registration_refresh(k->options.registration);
}

/* ---- looking ---- */

/* What is wrong, NULL for nothing that can be told, and whether it is ours. */
static const char *fault(struct keeper *k, bool *ours)
{
    const struct registration_view *view = registration_view(k->options.registration);
    enum registration_state state = registration_state(k->options.registration);

    *ours = k->options.wanted.config->register_webhook;
    if (state == REGISTRATION_ABSENT)
        return "gone";
    if (state != REGISTRATION_PRESENT)
        return NULL;
    *ours = view->object_is_ours;
    if (*view->fault)
        return view->fault;
    *ours = view->ca_is_ours;
    return ca_is_wrong(k, view) ? "caBundle" : NULL;
}

static void tell_right(struct keeper *k)
{
    const struct registration *r = k->options.registration;

    if (registration_state(r) == REGISTRATION_PRESENT) {
        is_right(k);
        tell_left_out(k, registration_view(r));
    } else if (registration_is_out_of_sight(r)) {
        vpa_metric_set(&meter_registration, 1);
    }
}

/* Of a registration without a fault. */
static bool wants_namespaces(struct keeper *k)
{
    if (registration_state(k->options.registration) != REGISTRATION_PRESENT)
        return false;
    k->insists = k->insists && registration_view(k->options.registration)->namespaces_differ;
    return k->insists;
}

static void repair_in_time(struct keeper *k, const char *what)
{
    vpa_duration since = vpa_loop_monotonic(k->loop) - k->repaired;

    if (since > KEEPER_QUIET)
        k->pause = 0;
    if (since < k->pause && !k->ca_is_new)
        vpa_timer_start(k->timer, k->pause - since);
    else
        repair_and_tell(k, what);
}

void keeper_work(struct keeper *k)
{
    bool ours;
    const char *what = fault(k, &ours);

    k->due = false;
    if (what)
        vpa_metric_set(&meter_registration, 0);
    if (what && ours)
        repair_in_time(k, what);
    else if (what)
        report(k, what);
    else
        tell_right(k);
    if (!what && wants_namespaces(k))
        repair_in_time(k, "namespaces");
}
