/*
 * It begins with one GET, which tells whether we may read at all. Then the API server is asked
 * whether we may watch: a reflector that may not would list again and again and complain. From then
 * on either the reflector or a timer keeps the view.
 */
#include "registration.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"
#include "vpa/kube/reflector.h"
#include "webhook.h"

#define FORBIDDEN_POLL VPA_MINUTE
#define REVIEW_MAX ((size_t)4096)

struct registration {
    struct registration_options options;
    struct vpa_loop *loop;
    struct vpa_timer *timer;
    struct vpa_kube_request *request;
    struct vpa_reflector *reflector; /* NULL: read by the timer */
    bool asked;                      /* whether we may watch */
    bool seen;                       /* in the list under way */
    bool found;                      /* it has been there, so the name is right */
    enum registration_state state;
    int64_t heard; /* monotonic */
    struct registration_view view;
};

static void read_now(void *ctx);

/* ---- what was heard ---- */

static void tell_state(const struct registration *r)
{
    const char *name = r->options.wanted.config->webhook_config_name;

    if (r->state == REGISTRATION_FORBIDDEN)
        VPA_WARN("We may not read our registration: the status lease tells only that the webhook "
                 "answers",
                 VPA_KV("name", name));
    else if (r->state == REGISTRATION_ELSEWHERE)
        VPA_WARN("No registration has the default name, and --webhook-config-name names no other: "
                 "the status lease tells only that the webhook answers",
                 VPA_KV("name", name));
}

static void set_state(struct registration *r, enum registration_state state)
{
    bool changed = r->state != state;

    r->heard = vpa_loop_monotonic(r->loop);
    r->state = state;
    if (changed)
        tell_state(r);
    if (changed)
        r->options.changed(r->options.ctx);
}

static void is_absent(struct registration *r)
{
    bool known = r->found || admission_config_knows_registration(r->options.wanted.config);

    set_state(r, known ? REGISTRATION_ABSENT : REGISTRATION_ELSEWHERE);
}

static void take(struct registration *r, const struct vpa_json *object)
{
    const char *version = vpa_json_string(vpa_json_at(object, "metadata.resourceVersion"));

    if (r->state == REGISTRATION_PRESENT && version &&
        vpa_str_eq(r->view.resource_version, version)) {
        r->heard = vpa_loop_monotonic(r->loop);
        return;
    }
    r->found = true;
    registration_view_read(&r->view, object, &r->options.wanted);
    r->state = REGISTRATION_UNKNOWN; /* so that it is a change */
    set_state(r, REGISTRATION_PRESENT);
}

/* ---- watched ---- */

static void on_list(void *ctx)
{
    ((struct registration *)ctx)->seen = false;
}

static int on_object(void *ctx, enum vpa_reflector_event event, const struct vpa_json *object,
                     struct vpa_error *err)
{
    struct registration *r = ctx;

    (void)err;
    r->seen = true;
    if (event == VPA_REFLECTOR_DELETED)
        is_absent(r);
    else
        take(r, object);
    return 0;
}

static void on_listed(void *ctx)
{
    struct registration *r = ctx;

    if (!r->seen)
        is_absent(r);
}

static void watch(struct registration *r)
{
    vpa_auto_free char *selector =
        vpa_xprintf("metadata.name=%s", r->options.wanted.config->webhook_config_name);
    vpa_auto_buf path = {0};

    webhook_path(&path, NULL);
    r->reflector = vpa_reflector_new(&(struct vpa_reflector_options){
        .client = r->options.client,
        .name = "mutatingwebhookconfigurations",
        .path = vpa_buf_text(&path),
        .field_selector = selector,
        .handler = {.ctx = r, .begin = on_list, .object = on_object, .end = on_listed}});
    vpa_reflector_start(r->reflector);
}

/* ---- may we watch? ---- */

static void on_right(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct registration *r = ctx;
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    bool allowed = false;

    r->request = NULL;
    if (!err && vpa_json_parse(&arena, result->body, result->body_len, &root, NULL) == 0)
        (void)vpa_json_bool(vpa_json_at(root, "status.allowed"), &allowed);
    if (allowed)
        watch(r);
    else
        vpa_timer_start(r->timer, REGISTRATION_POLL);
}

static void ask_right(struct registration *r)
{
    struct vpa_json_writer w;
    vpa_auto_buf body = VPA_BUF(REVIEW_MAX);

    r->asked = true;
    vpa_json_writer_init(&w, &body);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", "authorization.k8s.io/v1");
    vpa_json_member_string(&w, "kind", "SelfSubjectAccessReview");
    vpa_json_member_object(&w, "spec");
    vpa_json_member_object(&w, "resourceAttributes");
    vpa_json_member_string(&w, "group", "admissionregistration.k8s.io");
    vpa_json_member_string(&w, "resource", "mutatingwebhookconfigurations");
    vpa_json_member_string(&w, "name", r->options.wanted.config->webhook_config_name);
    vpa_json_member_string(&w, "verb", "watch");
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    const struct vpa_kube_call call = {
        .verb = VPA_KUBE_CREATE,
        .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        .body = vpa_buf_text(&body),
        .body_len = body.len,
        .repeatable = true,
    };
    r->request = vpa_kube_start(r->options.client, &call, on_right, r);
}

/* ---- read ---- */

static void take_answer(struct registration *r, const struct vpa_kube_result *result,
                        const struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root = NULL;
    struct vpa_error why;

    if (err && err->code == VPA_NOT_FOUND)
        is_absent(r);
    else if (err && result->status_code == 403) /* a 401 says nothing of our rights */
        set_state(r, REGISTRATION_FORBIDDEN);
    else if (err)
        VPA_V(5, "Cannot read the registration", VPA_KERR(err));
    else if (vpa_json_parse(&arena, result->body, result->body_len, &root, &why) < 0)
        VPA_ERROR("Cannot read the registration", VPA_KERR(&why));
    else
        take(r, root);
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct registration *r = ctx;

    r->request = NULL;
    take_answer(r, result, err);
    if (r->state != REGISTRATION_UNKNOWN && r->state != REGISTRATION_FORBIDDEN && !r->asked) {
        ask_right(r);
        return;
    }
    vpa_timer_start(r->timer,
                    r->state == REGISTRATION_FORBIDDEN ? FORBIDDEN_POLL : REGISTRATION_POLL);
}

static void read_now(void *ctx)
{
    struct registration *r = ctx;
    vpa_auto_buf path = {0};

    if (r->request || r->reflector)
        return;
    vpa_timer_stop(r->timer);
    webhook_path(&path, r->options.wanted.config->webhook_config_name);
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = vpa_buf_text(&path)};
    r->request = vpa_kube_start(r->options.client, &call, on_answer, r);
}

/* ---- the whole ---- */

struct registration *registration_new(const struct registration_options *options)
{
    struct registration *r = vpa_xcalloc(1, sizeof(*r));

    r->options = *options;
    r->loop = vpa_kube_client_loop(options->client);
    r->timer = vpa_timer_new(r->loop, read_now, r);
    return r;
}

void registration_start(struct registration *r)
{
    read_now(r);
}

void registration_free(struct registration *r)
{
    if (!r)
        return;
    if (r->request)
        vpa_kube_cancel(r->request);
    vpa_reflector_free(r->reflector);
    vpa_timer_free(r->timer);
    registration_view_release(&r->view);
    free(r);
}

void registration_refresh(struct registration *r)
{
    read_now(r);
}

enum registration_state registration_state(const struct registration *r)
{
    int64_t now = vpa_loop_monotonic(r->loop);
    vpa_duration age = now - r->heard;

    if (r->reflector && vpa_reflector_age(r->reflector, now) < age)
        age = vpa_reflector_age(r->reflector, now);
    if (r->state == REGISTRATION_FORBIDDEN || r->state == REGISTRATION_ELSEWHERE)
        return r->state; /* the first is asked more seldom, and nothing rests on them */
    return age > REGISTRATION_AGE_MAX ? REGISTRATION_UNKNOWN : r->state;
}

bool registration_is_out_of_sight(const struct registration *r)
{
    enum registration_state state = registration_state(r);

    return state == REGISTRATION_FORBIDDEN || state == REGISTRATION_ELSEWHERE;
}

const struct registration_view *registration_view(const struct registration *r)
{
    return &r->view;
}
