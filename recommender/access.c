/*
 * An entry is a question, with its answer when there is one; the text of the question is its key.
 * Entries that somebody waits for, or that are asked about, stay; of the others there is a bound.
 * All of it is guarded by one lock; calls are started and end on the loop.
 */
#include "access.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "query_object.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/daemon/clock.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/monotonic.h"

#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define ANSWER_MAX ((size_t)1 << 20)

struct entry {
    struct access *access;
    struct vpa_kube_request *request; /* under way; the loop's alone */
    char *question;
    size_t waiting;
    bool asking; /* waits for the loop or for the API server */
    enum access_verdict verdict;
    int64_t until; /* monotonic, real */
};

struct access {
    struct vpa_loop *loop;
    struct vpa_kube_client *client;
    char *said; /* the failure that was logged last; the loop's alone */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vpa_table entries;
    bool stopping;
};

/* ---- the question ---- */

static void put_extras(struct vpa_json_writer *w, const struct caller *caller)
{
    vpa_json_member_object(w, "extra");
    for (size_t i = 0; i < caller->extra_count; i++) {
        bool first = true;

        for (size_t j = 0; j < i && first; j++)
            first = strcmp(caller->extras[j].key, caller->extras[i].key) != 0;
        if (!first)
            continue;
        vpa_json_member_array(w, caller->extras[i].key);
        for (size_t j = i; j < caller->extra_count; j++)
            if (strcmp(caller->extras[j].key, caller->extras[i].key) == 0)
                vpa_json_put_string(w, caller->extras[j].value);
        vpa_json_close_array(w);
    }
    vpa_json_close_object(w);
}

static void put_spec(struct vpa_json_writer *w, const struct caller *caller, const char *ns)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "user", caller->user);
    vpa_json_member_string_opt(w, "uid", caller->uid);
    vpa_json_member_array(w, "groups");
    for (size_t i = 0; i < caller->group_count; i++)
        vpa_json_put_string(w, caller->groups[i]);
    vpa_json_close_array(w);
    if (caller->extra_count > 0)
        put_extras(w, caller);
    vpa_json_member_object(w, "resourceAttributes");
    vpa_json_member_string(w, "namespace", ns);
    vpa_json_member_string(w, "verb", "create");
    vpa_json_member_string(w, "group", QUERY_GROUP);
    vpa_json_member_string(w, "version", QUERY_VERSION);
    vpa_json_member_string(w, "resource", QUERY_RESOURCE);
    vpa_json_close_object(w);
    vpa_json_close_object(w);
}

void access_encode(const struct caller *caller, const char *ns, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", "authorization.k8s.io/v1");
    vpa_json_member_string(&w, "kind", "SubjectAccessReview");
    vpa_json_key(&w, "spec");
    put_spec(&w, caller, ns);
    vpa_json_close_object(&w);
}

/* ---- entries ---- */

static void entry_free(struct entry *e)
{
    free(e->question);
    free(e);
}

static void forget(struct access *a)
{
    const char *key;
    void *value;

    for (size_t i = 0; vpa_table_next(&a->entries, &i, &key, &value);) {
        struct entry *e = value;

        if (e->waiting > 0 || e->asking)
            continue;
        vpa_table_remove(&a->entries, key);
        entry_free(e);
    }
}

static struct entry *find(struct access *a, const char *question)
{
    struct entry *e = vpa_table_find(&a->entries, question);

    if (e)
        return e;
    if (a->entries.count >= ACCESS_ANSWERS_MAX)
        forget(a);
    e = vpa_xcalloc(1, sizeof(*e));
    e->access = a;
    e->question = vpa_xstrdup(question);
    vpa_table_put(&a->entries, e->question, e);
    return e;
}

/* ---- on the loop ---- */

static enum access_verdict read_verdict(const struct vpa_kube_result *result)
{
    const struct vpa_json *root;
    vpa_auto_arena arena = {0};
    bool allowed = false, denied = false;

    if (vpa_json_parse(&arena, result->body, result->body_len, &root, NULL) < 0 ||
        !vpa_json_bool(vpa_json_at(root, "status.allowed"), &allowed))
        return ACCESS_UNKNOWN;
    vpa_json_bool(vpa_json_at(root, "status.denied"), &denied);
    return allowed && !denied ? ACCESS_ALLOWED : ACCESS_DENIED;
}

static void complain(struct access *a, const struct vpa_error *err)
{
    if (vpa_error_says(err, a->said))
        return;
    vpa_replace_text(&a->said, err->text);
    VPA_ERROR_UNLESS_TOLD(err, "Cannot ask whether a recommendation query is allowed",
                          VPA_KERR(err));
}

static void on_reviewed(void *ctx, const struct vpa_kube_result *result,
                        const struct vpa_error *err)
{
    struct entry *e = ctx;
    struct access *a = e->access;
    enum access_verdict verdict = err ? ACCESS_UNKNOWN : read_verdict(result);

    if (err)
        complain(a, err);
    pthread_mutex_lock(&a->lock);
    e->request = NULL;
    e->asking = false;
    e->verdict = verdict;
    e->until = vpa_monotonic_read() + (verdict == ACCESS_UNKNOWN ? 0 : ACCESS_REMEMBERED);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* Its own limit is that of the listener's threads, each of which waits for its question. */
static void ask_server(void *ctx)
{
    struct entry *e = ctx;
    const struct vpa_kube_call call = {.verb = VPA_KUBE_CREATE,
                                       .path = REVIEWS_PATH,
                                       .body = e->question,
                                       .body_len = strlen(e->question),
                                       .timeout = ACCESS_PATIENCE,
                                       .response_max = ANSWER_MAX,
                                       .unlimited = true,
                                       .no_retry = true,
                                       .only_asks = true};

    e->request = vpa_kube_start(e->access->client, &call, on_reviewed, e);
}

/* ---- any thread ---- */

static enum access_verdict wait_for(struct access *a, const char *question)
{
    const struct timespec until = vpa_monotonic_in(ACCESS_PATIENCE);
    enum access_verdict verdict = ACCESS_UNKNOWN;
    int rc = 0;

    pthread_mutex_lock(&a->lock);
    struct entry *e = find(a, question);
    if (!e->asking && vpa_monotonic_read() >= e->until) {
        e->asking = true;
        vpa_loop_post(a->loop, ask_server, e);
    }
    e->waiting++;
    while (e->asking && !a->stopping && rc == 0)
        rc = pthread_cond_timedwait(&a->changed, &a->lock, &until);
    e->waiting--;
    if (!e->asking)
        verdict = e->verdict;
    pthread_mutex_unlock(&a->lock);
    return verdict;
}

enum access_verdict access_ask(struct access *a, const struct caller *caller, const char *ns)
{
    vpa_auto_buf question = VPA_BUF(ACCESS_QUESTION_MAX);

    access_encode(caller, ns, &question);
    if (vpa_buf_failed(&question))
        return ACCESS_UNKNOWN;
    return wait_for(a, vpa_buf_text(&question));
}

/* ---- life ---- */

struct access *access_new(struct vpa_loop *loop, struct vpa_kube_client *client)
{
    struct access *a = vpa_xcalloc(1, sizeof(*a));

    a->loop = loop;
    a->client = client;
    pthread_mutex_init(&a->lock, NULL);
    vpa_monotonic_cond_init(&a->changed);
    return a;
}

void access_stop(struct access *a)
{
    pthread_mutex_lock(&a->lock);
    a->stopping = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void access_free(struct access *a)
{
    const char *key;
    void *value;

    if (!a)
        return;
    for (size_t i = 0; vpa_table_next(&a->entries, &i, &key, &value);) {
        struct entry *e = value;

        vpa_loop_unpost(a->loop, ask_server, e);
        if (e->request)
            vpa_kube_cancel(e->request);
        entry_free(e);
    }
    vpa_table_release(&a->entries);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a->said);
    free(a);
}
