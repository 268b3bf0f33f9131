/*
 * /decisions.
 *
 * The listener's thread reads the ledger; the API server is asked on the loop. A caller who is not
 * local waits for two answers: who is it, and may he. The thread puts the token to the loop with a
 * posted call and waits; when that takes too long it says so, and the check is finished for nobody.
 */
#include "vpa/daemon/ledger_page.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/monotonic.h"

#define BEARER "Bearer "
#define TOKEN_MAX 16384
#define REVIEW_MAX ((size_t)256 << 10)
/* Less than what a probe waits for: the listener has one thread. */
#define CHECK_TIMEOUT (2 * VPA_SECOND)
/* That thread answers probes too. So whoever has no right gets at most a fifth of its time: a check
 * that ends without the right is followed by a pause of so many times what it took, in which there
 * is none. */
#define CHECK_PAUSE 4

enum access { ACCESS_OPEN, ACCESS_ALLOWED, ACCESS_UNKNOWN_TOKEN, ACCESS_FORBIDDEN, ACCESS_FAILED };

struct vpa_ledger_page {
    struct vpa_observe *observe;
    struct vpa_ledger *ledger;
    struct vpa_kube_client *client;
    struct vpa_loop *loop;
    bool trust_local;
    struct vpa_kube_request *request; /* on the loop */
    pthread_mutex_t lock;             /* of what follows */
    pthread_cond_t changed;
    char *token;        /* to be checked; the loop takes it */
    bool busy;          /* a check is under way, for somebody or nobody */
    int64_t next_check; /* real monotonic; none before */
    enum access answer; /* OPEN: none yet */
    bool stopping;
};

/* ---- on the loop ---- */

static void answered(struct vpa_ledger_page *p, enum access access)
{
    p->request = NULL;
    pthread_mutex_lock(&p->lock);
    p->answer = access;
    p->busy = false;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static void send_review(struct vpa_ledger_page *p, const char *group, const char *resource,
                        const struct vpa_buf *body, vpa_kube_done_fn done)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    if (vpa_buf_failed(body)) {
        answered(p, ACCESS_FAILED);
        return;
    }
    vpa_kube_path(&path, group, NULL, resource, NULL, NULL);
    p->request = vpa_kube_start(p->client,
                                &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                                        .path = vpa_buf_text(&path),
                                                        .body = body->data,
                                                        .body_len = body->len,
                                                        .timeout = CHECK_TIMEOUT,
                                                        .max_age = CHECK_TIMEOUT,
                                                        .only_asks = true,
                                                        .no_retry = true},
                                done, p);
}

static void begin_review(struct vpa_json_writer *w, struct vpa_buf *body, const char *version,
                         const char *kind)
{
    vpa_buf_init(body, REVIEW_MAX);
    vpa_json_writer_init(w, body);
    vpa_json_open_object(w);
    vpa_json_member_string(w, "apiVersion", version);
    vpa_json_member_string(w, "kind", kind);
    vpa_json_member_object(w, "spec");
}

static void on_access(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error ignored;
    bool allowed = false;

    if (err || vpa_json_parse(&arena, result->body, result->body_len, &root, &ignored) < 0) {
        answered(ctx, ACCESS_FAILED);
        return;
    }
    (void)vpa_json_bool(vpa_json_at(root, "status.allowed"), &allowed);
    answered(ctx, allowed ? ACCESS_ALLOWED : ACCESS_FORBIDDEN);
}

static void put_groups(struct vpa_json_writer *w, const struct vpa_json *groups)
{
    vpa_json_member_array(w, "groups");
    vpa_json_foreach (group, groups)
        vpa_json_put_string(w, vpa_or_empty(vpa_json_string(group)));
    vpa_json_close_array(w);
}

/* What authorizers may limit the owner's rights by, such as the scopes of a token. */
static void put_extra(struct vpa_json_writer *w, const struct vpa_json *extra)
{
    if (!vpa_json_is_object(extra))
        return;
    vpa_json_member_node(w, "extra", extra);
}

static void ask_access(struct vpa_ledger_page *p, const struct vpa_json *user)
{
    struct vpa_json_writer w;
    vpa_auto_buf body = {0};

    begin_review(&w, &body, "authorization.k8s.io/v1", "SubjectAccessReview");
    vpa_json_member_string(&w, "user", vpa_json_text(user, "username"));
    vpa_json_member_string(&w, "uid", vpa_json_text(user, "uid"));
    put_groups(&w, vpa_json_find(user, "groups"));
    put_extra(&w, vpa_json_find(user, "extra"));
    vpa_json_member_object(&w, "nonResourceAttributes");
    vpa_json_member_string(&w, "path", VPA_DECISIONS_PATH);
    vpa_json_member_string(&w, "verb", "get");
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    send_review(p, "authorization.k8s.io/v1", "subjectaccessreviews", &body, on_access);
}

static void on_token(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_ledger_page *p = ctx;
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error ignored;
    bool known = false;

    if (err || vpa_json_parse(&arena, result->body, result->body_len, &root, &ignored) < 0) {
        answered(p, ACCESS_FAILED);
        return;
    }
    (void)vpa_json_bool(vpa_json_at(root, "status.authenticated"), &known);
    if (known)
        ask_access(p, vpa_json_at(root, "status.user"));
    else
        answered(p, ACCESS_UNKNOWN_TOKEN);
}

static void on_asked(void *ctx)
{
    struct vpa_ledger_page *p = ctx;
    struct vpa_json_writer w;
    vpa_auto_buf body = {0};

    pthread_mutex_lock(&p->lock);
    char *token = VPA_STEAL(p->token);
    pthread_mutex_unlock(&p->lock);
    begin_review(&w, &body, "authentication.k8s.io/v1", "TokenReview");
    vpa_json_member_string(&w, "token", token);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_free_secret(token);
    send_review(p, "authentication.k8s.io/v1", "tokenreviews", &body, on_token);
    explicit_bzero(body.data, body.len);
}

/* ---- on the listener's thread ---- */

static enum access check_token(struct vpa_ledger_page *p, const char *token)
{
    const struct timespec until = vpa_monotonic_in(CHECK_TIMEOUT);
    int64_t now = vpa_monotonic_read();
    int rc = 0;

    pthread_mutex_lock(&p->lock);
    if (p->busy || p->stopping || now < p->next_check) {
        pthread_mutex_unlock(&p->lock);
        return ACCESS_FAILED;
    }
    p->busy = true;
    p->answer = ACCESS_OPEN;
    p->token = vpa_xstrdup(token);
    vpa_loop_post(p->loop, on_asked, p);
    while (p->answer == ACCESS_OPEN && !p->stopping && rc == 0)
        rc = pthread_cond_timedwait(&p->changed, &p->lock, &until);
    enum access access = p->answer == ACCESS_OPEN ? ACCESS_FAILED : p->answer;
    int64_t ended = vpa_monotonic_read();
    if (access != ACCESS_ALLOWED)
        p->next_check = ended + CHECK_PAUSE * (ended - now);
    pthread_mutex_unlock(&p->lock);
    return access;
}

static enum access access_of(struct vpa_ledger_page *p, const struct vpa_server_request *request)
{
    const char *header = vpa_server_header(request, "Authorization");

    if (p->trust_local && vpa_server_is_local(request))
        return ACCESS_ALLOWED;
    if (!header || !vpa_str_starts_with(header, BEARER) || strlen(header) > TOKEN_MAX)
        return ACCESS_UNKNOWN_TOKEN;
    return check_token(p, header + strlen(BEARER));
}

/* Heap, NULL when the parameter is not there. */
static char *parameter(const char *query, const char *name)
{
    const char *rest = query;
    struct vpa_slice piece;

    while (vpa_str_split(&rest, '&', &piece)) {
        size_t len = strlen(name);

        if (piece.len > len && memcmp(piece.ptr, name, len) == 0 && piece.ptr[len] == '=')
            return vpa_url_decode(piece.ptr + len + 1, piece.len - len - 1, true);
    }
    return NULL;
}

static void answer_decisions(struct vpa_ledger_page *p, const char *query,
                             struct vpa_server_response *response)
{
    vpa_auto_free char *ns = parameter(query, "namespace"), *vpa = parameter(query, "vpa");
    vpa_auto_free char *pod = parameter(query, "pod"), *since = parameter(query, "since");
    const struct vpa_ledger_query wanted = {.ns = ns, .vpa = vpa, .pod = pod, .since = since};
    vpa_auto_buf out = VPA_BUF(VPA_LEDGER_PAGE_MAX + VPA_LEDGER_LINE_MAX);
    struct vpa_error err;

    if (vpa_ledger_read(p->ledger, &wanted, &out, &err) < 0) {
        vpa_auto_free char *text = vpa_xprintf("%s\n", err.text);

        vpa_server_reply_text(response, 400, text);
        return;
    }
    response->status = 200;
    response->content_type = "application/json";
    response->body_len = out.len;
    response->body = vpa_buf_take(&out);
}

static void on_request(void *ctx, const struct vpa_server_request *request,
                       struct vpa_server_response *response)
{
    struct vpa_ledger_page *p = ctx;

    response->nosniff = true;
    if (!vpa_str_eq(request->method, "GET")) {
        vpa_server_reply_text(response, 405, "only GET\n");
        return;
    }
    switch (access_of(p, request)) {
    case ACCESS_ALLOWED:
        answer_decisions(p, request->query, response);
        return;
    case ACCESS_UNKNOWN_TOKEN:
        vpa_server_reply_text(response, 401, "a bearer token of the cluster is needed\n");
        return;
    case ACCESS_FORBIDDEN:
        vpa_server_reply_text(response, 403,
                              "the token's owner may not get the nonResourceURL /decisions\n");
        return;
    case ACCESS_OPEN:
    case ACCESS_FAILED:
        vpa_server_reply_text(response, 503, "the token could not be checked, try again\n");
    }
}

/* ---- life ---- */

struct vpa_ledger_page *vpa_ledger_page_new(struct vpa_observe *observe, struct vpa_ledger *ledger,
                                            struct vpa_kube_client *client, bool trust_local)
{
    struct vpa_ledger_page *p = vpa_xcalloc(1, sizeof(*p));

    p->observe = observe;
    p->ledger = ledger;
    p->client = client;
    p->trust_local = trust_local;
    p->loop = vpa_kube_client_loop(client);
    pthread_mutex_init(&p->lock, NULL);
    vpa_monotonic_cond_init(&p->changed);
    vpa_observe_serve(observe, VPA_DECISIONS_PATH, on_request, p);
    return p;
}

struct vpa_ledger_page *vpa_ledger_page_new_by_flags(const struct vpa_ledger_flags *flags,
                                                     struct vpa_observe *observe,
                                                     struct vpa_ledger *ledger,
                                                     struct vpa_kube_client *client)
{
    return flags->serve ? vpa_ledger_page_new(observe, ledger, client, flags->trust_local) : NULL;
}

void vpa_ledger_page_free(struct vpa_ledger_page *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    vpa_observe_serve(p->observe, VPA_DECISIONS_PATH, NULL, NULL);
    vpa_loop_unpost(p->loop, on_asked, p);
    if (p->request)
        vpa_kube_cancel(p->request);
    vpa_free_secret(p->token);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
