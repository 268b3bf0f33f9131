/*
 * A snapshot is one arena with copies of what matching and answering read of each VPA: an index by
 * target for pods with a controller, and an array by namespace and strength for those without. Two
 * things are shared with the listener's thread, both reference counted and swapped under one lock:
 * the snapshot and the view of the owners.
 */
#include "query.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metrics.h"
#include "query_object.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/policy/match.h"

struct answers {
    atomic_uint refs;
    struct vpa_arena arena;
    struct vpa_object *vpas;
    struct vpa_candidate *candidates;
    const struct vpa_candidate **own; /* by namespace, the strongest first */
    size_t count, own_count, capacity;
    struct vpa_match_index *index;
};

struct query {
    struct vpa_loop *loop;
    struct vpa_owners *owners;
    struct answers *growing; /* NULL: no pass is adding */
    bool view_posted;
    pthread_mutex_t lock; /* of what follows */
    struct answers *answers;
    struct vpa_owner_view *view;
};

/* ---- snapshot ---- */

static void answers_unref(struct answers *a)
{
    if (!a || atomic_fetch_sub(&a->refs, 1) != 1)
        return;
    vpa_match_index_free(a->index);
    vpa_arena_release(&a->arena);
    free(a);
}

void query_begin(struct query *q, size_t capacity)
{
    struct answers *a = vpa_xcalloc(1, sizeof(*a));

    query_drop(q);
    atomic_init(&a->refs, 1);
    a->capacity = capacity;
    a->vpas = vpa_arena_zalloc(&a->arena, (capacity + 1) * sizeof(*a->vpas));
    a->candidates = vpa_arena_zalloc(&a->arena, (capacity + 1) * sizeof(*a->candidates));
    a->own = vpa_arena_zalloc(&a->arena, (capacity + 1) * sizeof(*a->own));
    q->growing = a;
}

/* What matching reads of a VPA. */
static void copy_vpa(struct vpa_arena *arena, const struct vpa_object *from, struct vpa_object *to)
{
    to->meta.ns = vpa_arena_strdup(arena, from->meta.ns);
    to->meta.name = vpa_arena_strdup(arena, from->meta.name);
    to->meta.creation = from->meta.creation;
    to->has_selector = from->has_selector;
    to->target_ref.present = from->target_ref.present;
    to->target_ref.kind = vpa_arena_strdup(arena, vpa_or_empty(from->target_ref.kind));
    to->target_ref.name = vpa_arena_strdup(arena, vpa_or_empty(from->target_ref.name));
}

static const struct vpa_selector *copy_selector(struct vpa_arena *arena,
                                                const struct vpa_selector *selector)
{
    struct vpa_selector *copy;

    if (!selector)
        return NULL;
    copy = vpa_arena_alloc(arena, sizeof(*copy));
    *copy = vpa_selector_copy(arena, selector);
    return copy;
}

static struct vpa_candidate *add(struct answers *a, const struct vpa_object *vpa,
                                 const struct vpa_selector *selector)
{
    struct vpa_candidate *c = &a->candidates[a->count];

    assert(a->count < a->capacity);
    copy_vpa(&a->arena, vpa, &a->vpas[a->count]);
    c->vpa = &a->vpas[a->count++];
    c->selector = copy_selector(&a->arena, selector);
    return c;
}

void query_add(struct query *q, const struct vpa_object *vpa, const struct vpa_selector *selector,
               const struct vpa_recommendation *rec)
{
    struct answers *a = q->growing;

    if (rec)
        a->vpas[a->count].recommendation = vpa_recommendation_copy(&a->arena, rec);
    a->own[a->own_count++] = add(a, vpa, selector);
}

void query_add_foreign(struct query *q, const struct vpa_object *vpa,
                       const struct vpa_selector *selector)
{
    add(q->growing, vpa, selector);
}

static int compare_own(const void *pa, const void *pb)
{
    const struct vpa_object *a = (*(const struct vpa_candidate *const *)pa)->vpa;
    const struct vpa_object *b = (*(const struct vpa_candidate *const *)pb)->vpa;
    int order = strcmp(a->meta.ns, b->meta.ns);

    if (order)
        return order;
    return vpa_match_stronger(a, b) ? -1 : vpa_match_stronger(b, a) ? 1 : 0;
}

static void take_view(struct query *q)
{
    struct vpa_owner_view *view = q->owners ? vpa_owners_view(q->owners) : NULL;

    pthread_mutex_lock(&q->lock);
    struct vpa_owner_view *old = q->view;
    q->view = view;
    pthread_mutex_unlock(&q->lock);
    vpa_owner_view_unref(old);
}

void query_end(struct query *q)
{
    struct answers *a = VPA_STEAL(q->growing);

    if (!a)
        return;
    qsort(a->own, a->own_count, sizeof(const struct vpa_candidate *), compare_own);
    a->index = vpa_match_index_new(a->candidates, a->count);
    take_view(q);
    pthread_mutex_lock(&q->lock);
    struct answers *old = q->answers;
    q->answers = a;
    pthread_mutex_unlock(&q->lock);
    answers_unref(old);
}

void query_drop(struct query *q)
{
    answers_unref(q->growing);
    q->growing = NULL;
}

/* ---- life ---- */

static void on_view_posted(void *ctx)
{
    struct query *q = ctx;

    q->view_posted = false;
    take_view(q);
}

/* Once for all events that arrived together. */
static void on_owners_changed(void *ctx)
{
    struct query *q = ctx;

    if (q->view_posted)
        return;
    q->view_posted = true;
    vpa_loop_post(q->loop, on_view_posted, q);
}

struct query *query_new(struct vpa_loop *loop, struct vpa_owners *owners)
{
    struct query *q = vpa_xcalloc(1, sizeof(*q));

    q->loop = loop;
    q->owners = owners;
    pthread_mutex_init(&q->lock, NULL);
    if (owners)
        vpa_owners_on_change(owners, on_owners_changed, q);
    return q;
}

void query_free(struct query *q)
{
    if (!q)
        return;
    if (q->owners)
        vpa_owners_on_change(q->owners, NULL, NULL);
    vpa_loop_unpost(q->loop, on_view_posted, q);
    query_drop(q);
    answers_unref(q->answers);
    vpa_owner_view_unref(q->view);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* ---- the answer, on the listener's thread ---- */

static struct answers *acquire(struct query *q, struct vpa_owner_view **view)
{
    pthread_mutex_lock(&q->lock);
    struct answers *a = q->answers;
    if (a)
        atomic_fetch_add(&a->refs, 1);
    *view = q->view ? vpa_owner_view_ref(q->view) : NULL;
    pthread_mutex_unlock(&q->lock);
    return a;
}

/* The first that is not before the namespace. */
static size_t first_of(const struct answers *a, const char *ns)
{
    return VPA_LOWER_BOUND(i, a->own_count, strcmp(a->own[i]->vpa->meta.ns, ns) < 0);
}

static const struct vpa_candidate *find_by_labels(const struct answers *a,
                                                  const struct query_object *query)
{
    for (size_t i = first_of(a, query->ns); i < a->own_count; i++) {
        if (strcmp(a->own[i]->vpa->meta.ns, query->ns) != 0)
            return NULL;
        if (vpa_match_selects(a->own[i], query->ns, &query->pod_meta.labels))
            return a->own[i];
    }
    return NULL;
}

/* NULL without an error: none. -1: the controller is not known yet. */
static int find_vpa(const struct answers *a, const struct vpa_owner_view *view,
                    struct vpa_arena *arena, const struct query_object *query,
                    const struct vpa_candidate **out)
{
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&query->pod_meta);
    struct vpa_controller_key top = {query->ns, "", "", ""};
    struct vpa_error err = {.code = VPA_OK};
    bool found = false;

    if (!owner) {
        *out = find_by_labels(a, query);
        return 0;
    }
    const struct vpa_controller_key key = vpa_controller_key_of_owner(query->ns, owner);
    if (view && vpa_owner_view_topmost(view, &key, arena, &found, &top, &err) < 0 &&
        err.code == VPA_RETRY)
        return -1;
    *out = vpa_match_find(a->index, VPA_MATCH_UPDATER, query->ns, found ? top.kind : "",
                          found ? top.name : "", &query->pod_meta.labels);
    return 0;
}

struct outcome {
    const char *result; /* for the metric */
    const struct vpa_recommendation *rec;
    const char *error; /* NULL: rec */
};

static struct outcome decide(const struct answers *a, const struct vpa_owner_view *view,
                             struct vpa_arena *arena, const struct query_object *query)
{
    const char *pod = query_object_pod(arena, query);
    const struct vpa_candidate *c = NULL;

    if (find_vpa(a, view, arena, query, &c) < 0)
        return (struct outcome){
            "UnknownController", NULL,
            vpa_arena_printf(arena, "the controller of pod %s is not known yet", pod)};
    if (!c)
        return (struct outcome){
            "NoVPA", NULL, vpa_arena_printf(arena, "no VerticalPodAutoscaler matches pod %s", pod)};
    if (!query_object_concerns(query, &c->vpa->recommendation))
        return (struct outcome){
            "NoRecommendation", NULL,
            vpa_arena_printf(arena, "no recommendation available for VerticalPodAutoscaler %s/%s",
                             c->vpa->meta.ns, c->vpa->meta.name)};
    return (struct outcome){"Recommendation", &c->vpa->recommendation, NULL};
}

static void reply(struct vpa_server_response *response, int status, struct vpa_buf *body)
{
    response->status = status;
    response->content_type = "application/json";
    response->nosniff = true;
    response->body_len = body->len;
    response->body = vpa_buf_take(body);
}

const char *query_refuse(struct vpa_server_response *response, int status, const char *reason,
                         const char *message)
{
    vpa_auto_buf body = VPA_BUF(QUERY_ANSWER_MAX);

    query_object_encode_failure(&body, status, reason, message);
    reply(response, status, &body);
    return reason;
}

/* "application/json", whatever its parameters. */
static bool is_json(const struct vpa_server_request *request)
{
    static const char type[] = "application/json";
    const char *header = vpa_or_empty(vpa_server_header(request, "Content-Type"));
    size_t len = strcspn(header, ";");

    while (len > 0 && (header[len - 1] == ' ' || header[len - 1] == '\t'))
        len--;
    return len == strlen(type) && strncasecmp(header, type, len) == 0;
}

/* ns: where the query was created, NULL: nowhere. */
static const char *answer_query(const struct answers *a, const struct vpa_owner_view *view,
                                const char *ns, const struct vpa_server_request *request,
                                struct vpa_server_response *response)
{
    vpa_auto_arena arena = {0};
    vpa_auto_buf body = VPA_BUF(QUERY_ANSWER_MAX);
    struct query_object query;
    struct vpa_error err;

    if (query_object_decode(&arena, request->body, request->body_len, &query, &err) < 0 ||
        (ns && query_object_place(&query, ns, &err) < 0))
        return query_refuse(response, 400, "BadRequest", err.text);
    if (!a)
        return query_refuse(response, 503, "ServiceUnavailable",
                            "no pass has been made since the start: history is not loaded yet");

    struct outcome outcome = decide(a, view, &arena, &query);
    query_object_encode(&body, &query, outcome.rec, outcome.error);
    if (vpa_buf_failed(&body))
        return query_refuse(response, 413, "RequestEntityTooLarge", "the answer would be too long");
    reply(response, ns ? 201 : 200, &body);
    return outcome.result;
}

static const char *answer(struct query *q, const char *ns, const struct vpa_server_request *request,
                          struct vpa_server_response *response)
{
    struct vpa_owner_view *view;

    if (!vpa_str_eq(request->method, "POST"))
        return query_refuse(response, 405, "MethodNotAllowed", "only POST");
    if (request->body_too_large)
        return query_refuse(response, 413, "RequestEntityTooLarge",
                            "the body is longer than 5 MiB");
    if (!is_json(request))
        return query_refuse(response, 415, "UnsupportedMediaType",
                            "the Content-Type must be application/json");

    struct answers *a = acquire(q, &view);
    const char *result = answer_query(a, view, ns, request, response);
    answers_unref(a);
    vpa_owner_view_unref(view);
    return result;
}

void query_answer(void *ctx, const struct vpa_server_request *request,
                  struct vpa_server_response *response)
{
    vpa_metric_inc(&metrics_queries, answer(ctx, NULL, request, response));
}

void query_answer_in(struct query *q, const char *ns, const struct vpa_server_request *request,
                     struct vpa_server_response *response)
{
    vpa_metric_inc(&metrics_queries, answer(q, ns, request, response));
}
