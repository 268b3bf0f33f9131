/*
 * The algorithm is client-go's, kept step by step (leader-election-and-clients.md 1.4 to 1.7 of the
 * specification) because candidates of both kinds must be able to share a Lease:
 *
 *     attempt   leader with a valid record: PUT on the lease as last seen. Else, or when that
 *               fails: GET, judge, POST or PUT
 *     judge     a record that changed since the last GET restarts its clock: it is valid for its
 *               own duration from when *we* first saw it, measured monotonically. renewTime is
 *               never read
 *     acquire   attempts until one succeeds, pauses uniform in [retry, 2.2 retry]
 *     renew     rounds: attempts every retry period until one succeeds; a round longer than the
 *               renew deadline means the lease is lost
 *
 * What differs: whether the lease is ours is a question of the clock alone (vpa_elector_is_leader):
 * it lasts from when its renewal was sent, because an answer may be read long after it came, by a
 * process that was stopped in between. A candidate may let others go first (vpa_elector_yield): a
 * record that it has seen once only is valid for twice its duration then. And before blanking the
 * holder on release, the record just fetched is looked at, not the remembered one, so that a
 * successor is never disturbed.
 */
#include "vpa/kube/elector.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define LEASES "coordination.k8s.io/v1"
#define LEASE_MAX ((size_t)1 << 20)
#define ACQUIRE_JITTER 1.2

enum phase { IDLE, ACQUIRING, RENEWING, RELEASING, DONE };
enum step { FAST_PUT, GET, CREATE, PUT, RELEASE_GET, RELEASE_PUT };

struct vpa_elector {
    struct vpa_elector_options options; /* texts owned */
    struct vpa_loop *loop;
    enum phase phase;
    enum step step;
    struct vpa_kube_request *request;
    struct vpa_timer *pause;    /* until the next attempt or round */
    struct vpa_timer *deadline; /* of a renewal round, of a release */
    int64_t tick;               /* of the attempt in the round under way */

    struct vpa_arena cached_arena;
    struct vpa_lease cached; /* as last received */
    bool has_cached;
    char *observed_holder;
    int32_t observed_duration; /* seconds */
    vpa_time observed_acquire;
    int32_t observed_transitions;
    int64_t observed_at; /* monotonic */
    char *observed_raw;  /* record of the last GET */

    int64_t attempt_at; /* monotonic time of step 0 */
    vpa_time attempt_now;
    struct vpa_lease_spec record;  /* prepared by the attempt; its holder is ours */
    struct vpa_lease_spec written; /* record of the write under way; its holder is ours or "" */
    int64_t written_at;            /* monotonic time of that write */
    int64_t held_until;            /* monotonic; others may take the lease then */
    bool lost;
    bool yields;
    bool renewed; /* a second record was seen */
};

int vpa_elector_check(const struct vpa_elector_options *o, struct vpa_error *err)
{
    if (o->lease_duration <= o->renew_deadline)
        return vpa_fail(err, VPA_INVALID, "leaseDuration must be greater than renewDeadline");
    /* Go multiplies the duration by the factor in doubles and converts back. */
    if ((double)o->renew_deadline <= trunc(ACQUIRE_JITTER * (double)o->retry_period))
        return vpa_fail(err, VPA_INVALID,
                        "renewDeadline must be greater than retryPeriod*JitterFactor");
    if (o->lease_duration < 1)
        return vpa_fail(err, VPA_INVALID, "leaseDuration must be greater than zero");
    if (o->renew_deadline < 1)
        return vpa_fail(err, VPA_INVALID, "renewDeadline must be greater than zero");
    if (o->retry_period < 1)
        return vpa_fail(err, VPA_INVALID, "retryPeriod must be greater than zero");
    return 0;
}

int vpa_elector_check_lock_type(const char *lock_type, struct vpa_error *err)
{
    static const char *const removed[] = {"endpoints", "configmaps"};
    static const char *const multi[] = {"endpointsleases", "configmapsleases"};

    if (strcmp(lock_type, "leases") == 0)
        return 0;
    for (size_t i = 0; i < VPA_COUNT(removed); i++)
        if (strcmp(lock_type, removed[i]) == 0)
            return vpa_fail(err, VPA_INVALID, "%s lock is removed, migrate to leases", lock_type);
    for (size_t i = 0; i < VPA_COUNT(multi); i++)
        if (strcmp(lock_type, multi[i]) == 0)
            return vpa_fail(err, VPA_INVALID, "%s lock is removed, migrate to leases", lock_type);
    return vpa_fail(err, VPA_INVALID, "Invalid lock-type %s", lock_type);
}

char *vpa_elector_identity(struct vpa_random *random, struct vpa_error *err)
{
    char host[256], uuid[VPA_UUID_TEXT_MAX];

    if (gethostname(host, sizeof(host)) < 0 || !host[0]) {
        vpa_fail(err, VPA_INVALID, "gethostname: %s", strerror(errno));
        return NULL;
    }
    host[sizeof(host) - 1] = '\0';
    vpa_random_uuid(random, uuid);
    return vpa_xprintf("%s_%s", host, uuid);
}

/* Calls */

struct vpa_kube_call vpa_lease_call(struct vpa_arena *arena, enum vpa_kube_verb verb,
                                    const char *ns, const char *name, const struct vpa_lease *lease,
                                    vpa_duration timeout)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX), body = VPA_BUF(LEASE_MAX);
    struct vpa_kube_call call = {.verb = verb, .timeout = timeout};
    struct vpa_json_writer w;

    vpa_kube_path(&path, LEASES, ns, "leases", verb == VPA_KUBE_CREATE ? NULL : name, NULL);
    call.path = vpa_arena_strdup(arena, vpa_buf_text(&path));
    if (lease) {
        vpa_json_writer_init(&w, &body);
        vpa_lease_encode(&w, lease);
        call.body = vpa_arena_strndup(arena, vpa_buf_text(&body), body.len);
        call.body_len = body.len;
    }
    return call;
}

int vpa_lease_read(struct vpa_arena *arena, const struct vpa_kube_result *result,
                   struct vpa_lease *out, struct vpa_error *err)
{
    const struct vpa_json *root;

    if (vpa_json_parse(arena, result->body, result->body_len, &root, err) < 0 ||
        vpa_lease_decode(arena, root, out, err) < 0)
        return vpa_wrap(err, "lease");
    return 0;
}

/* What we know */

static bool holds(const struct vpa_elector *e, const char *holder)
{
    return holder && strcmp(holder, e->options.identity) == 0;
}

static bool record_is_valid(const struct vpa_elector *e, int64_t now)
{
    return e->observed_at + e->observed_duration * VPA_SECOND > now;
}

/* Of another one: who yields gives those time who have waited as long. */
static bool is_held(const struct vpa_elector *e, int64_t now)
{
    vpa_duration more = e->yields && !e->renewed ? e->observed_duration * VPA_SECOND : 0;

    return record_is_valid(e, now - more);
}

static void observe(struct vpa_elector *e, const struct vpa_lease_spec *spec)
{
    char *holder = vpa_xstrdup(vpa_or_empty(spec->holder));

    free(e->observed_holder);
    e->observed_holder = holder;
    e->observed_duration = spec->duration_seconds;
    e->observed_acquire = spec->acquire_time;
    e->observed_transitions = spec->transitions;
    e->observed_at = vpa_loop_monotonic(e->loop);
}

/* The lease of an answer becomes the one that the next PUT sends back. */
static int cache_answer(struct vpa_elector *e, const struct vpa_kube_result *result,
                        struct vpa_error *err)
{
    struct vpa_arena arena = {0};
    struct vpa_lease lease;

    if (vpa_lease_read(&arena, result, &lease, err) < 0) {
        vpa_arena_release(&arena);
        return -1;
    }
    vpa_arena_release(&e->cached_arena);
    e->cached_arena = arena;
    e->cached = lease;
    e->has_cached = true;
    return 0;
}

/* Steps */

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err);

static void call(struct vpa_elector *e, enum step step, enum vpa_kube_verb verb,
                 const struct vpa_lease *lease)
{
    vpa_auto_arena arena = {0};
    struct vpa_kube_call c = vpa_lease_call(&arena, verb, e->options.ns, e->options.name, lease,
                                            e->options.renew_deadline);

    c.repeatable = verb == VPA_KUBE_UPDATE; /* of one version */
    e->step = step;
    e->request = vpa_kube_start(e->options.client, &c, on_answer, e);
}

static void write_lease(struct vpa_elector *e, enum step step, const struct vpa_lease_spec *spec)
{
    struct vpa_lease lease = {.meta = {.ns = e->options.ns, .name = e->options.name}};

    if (step != CREATE)
        lease = e->cached;
    lease.spec = *spec;
    e->written = *spec;
    e->written_at = vpa_loop_monotonic(e->loop);
    call(e, step, step == CREATE ? VPA_KUBE_CREATE : VPA_KUBE_UPDATE, &lease);
}

static struct vpa_lease_spec own_record(const struct vpa_elector *e)
{
    return (struct vpa_lease_spec){
        .has_holder = true,
        .holder = e->options.identity,
        .has_duration = true,
        .duration_seconds = (int32_t)(e->options.lease_duration / VPA_SECOND),
        .acquire_time = e->attempt_now,
        .renew_time = e->attempt_now,
        .has_transitions = true,
    };
}

static void attempt(struct vpa_elector *e)
{
    e->attempt_at = vpa_loop_monotonic(e->loop);
    e->attempt_now = vpa_loop_now(e->loop);
    e->record = own_record(e);
    if (e->has_cached && holds(e, e->observed_holder) && record_is_valid(e, e->attempt_at)) {
        /* Kept when the lease turns out to be deleted and is created again. */
        e->record.acquire_time = e->observed_acquire;
        e->record.transitions = e->observed_transitions;
        write_lease(e, FAST_PUT, &e->record);
        return;
    }
    call(e, GET, VPA_KUBE_GET, NULL);
}

/* Phases */

static void release(struct vpa_elector *e);

static void attempt_failed(struct vpa_elector *e)
{
    if (e->phase == ACQUIRING) {
        VPA_V(4, "Failed to acquire lease", VPA_KV("lock", e->options.name));
        vpa_timer_start(e->pause, vpa_random_jitter(vpa_kube_client_random(e->options.client),
                                                    e->options.retry_period, ACQUIRE_JITTER));
        return;
    }
    e->tick += e->options.retry_period;
    if (e->tick < vpa_loop_monotonic(e->loop)) /* an attempt took longer than a period */
        e->tick = vpa_loop_monotonic(e->loop);
    vpa_timer_start_at(e->pause, e->tick);
}

static void start_round(struct vpa_elector *e)
{
    e->tick = vpa_loop_monotonic(e->loop);
    vpa_timer_start(e->deadline, e->options.renew_deadline);
    attempt(e);
}

static void attempt_succeeded(struct vpa_elector *e)
{
    if (e->phase == ACQUIRING) {
        VPA_INFO("Successfully acquired lease", VPA_KV("namespace", e->options.ns),
                 VPA_KV("name", e->options.name));
        e->phase = RENEWING;
        if (e->options.on_started)
            e->options.on_started(e->options.ctx);
        if (e->phase == RENEWING)
            start_round(e);
        return;
    }
    vpa_timer_stop(e->deadline);
    vpa_timer_start(e->pause, e->options.retry_period);
}

static void on_pause(void *ctx)
{
    struct vpa_elector *e = ctx;

    if (e->phase == RENEWING && !vpa_timer_is_running(e->deadline))
        start_round(e);
    else
        attempt(e);
}

static void finish(struct vpa_elector *e)
{
    vpa_timer_stop(e->deadline);
    vpa_timer_stop(e->pause);
    e->phase = DONE;
    if (e->lost && e->options.on_lost)
        e->options.on_lost(e->options.ctx);
}

static void drop_request(struct vpa_elector *e)
{
    if (e->request)
        vpa_kube_cancel(VPA_STEAL(e->request));
}

static void on_deadline(void *ctx)
{
    struct vpa_elector *e = ctx;

    drop_request(e);
    if (e->phase == RELEASING) {
        VPA_WARN("Failed to release lease", VPA_KV("name", e->options.name),
                 VPA_KV("err", "timed out"));
        finish(e);
        return;
    }
    VPA_WARN("Failed to renew lease", VPA_KV("namespace", e->options.ns),
             VPA_KV("name", e->options.name));
    e->lost = true;
    release(e);
}

static void release(struct vpa_elector *e)
{
    vpa_timer_stop(e->pause);
    e->phase = RELEASING;
    vpa_timer_start(e->deadline, e->options.renew_deadline);
    call(e, RELEASE_GET, VPA_KUBE_GET, NULL);
}

/* Answers */

static char *record_text(const struct vpa_lease_spec *spec)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;

    vpa_buf_init(&buf, LEASE_MAX);
    vpa_json_writer_init(&w, &buf);
    vpa_lease_spec_encode(&w, spec);
    return vpa_buf_take(&buf);
}

/* Steps 3 to 6: the lease that a GET brought. */
static void judge(struct vpa_elector *e)
{
    const struct vpa_lease_spec *fetched = &e->cached.spec;
    struct vpa_lease_spec record = own_record(e);
    char *raw = record_text(fetched);

    if (!e->observed_raw || strcmp(e->observed_raw, raw) != 0) {
        observe(e, fetched);
        e->renewed = e->observed_raw != NULL;
        free(e->observed_raw);
        e->observed_raw = raw;
    } else {
        free(raw);
    }
    const char *holder = vpa_or_empty(fetched->holder);
    if (*holder && is_held(e, e->attempt_at) && !holds(e, holder)) {
        VPA_V(4, "Lease is held by and has not yet expired", VPA_KV("lock", e->options.name),
              VPA_KV("holder", holder));
        attempt_failed(e);
        return;
    }
    if (holds(e, holder)) {
        record.acquire_time = fetched->acquire_time;
        record.transitions = fetched->transitions;
    } else {
        record.transitions =
            fetched->transitions < INT32_MAX ? fetched->transitions + 1 : fetched->transitions;
    }
    write_lease(e, PUT, &record);
}

static void written(struct vpa_elector *e, const struct vpa_kube_result *result)
{
    struct vpa_error err;

    /* An answer that cannot be read leaves nothing to send back: the next attempt begins with a
     * GET. */
    if (cache_answer(e, result, &err) < 0)
        e->has_cached = false;
    observe(e, &e->written);
    /* The seconds that others read, not a fraction more. */
    e->held_until = e->written_at + e->written.duration_seconds * VPA_SECOND;
    attempt_succeeded(e);
}

static void release_step(struct vpa_elector *e, enum step step,
                         const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_error why;

    if (step == RELEASE_PUT && err && err->code == VPA_CONFLICT) {
        call(e, RELEASE_GET, VPA_KUBE_GET, NULL);
        return;
    }
    if (!err && step == RELEASE_GET && cache_answer(e, result, &why) < 0)
        err = &why;
    if (err)
        VPA_ERROR("Failed to release lease", VPA_KV("name", e->options.name), VPA_KERR(err));
    if (err || step == RELEASE_PUT || !holds(e, e->cached.spec.holder)) {
        if (!err && step == RELEASE_PUT)
            observe(e, &e->written);
        finish(e);
        return;
    }
    vpa_time now = vpa_loop_now(e->loop);
    const struct vpa_lease_spec blank = {
        .has_holder = true,
        .holder = "",
        .has_duration = true,
        .duration_seconds = 1,
        .acquire_time = now,
        .renew_time = now,
        .has_transitions = true,
        .transitions = e->cached.spec.transitions,
    };
    write_lease(e, RELEASE_PUT, &blank);
}

/* A write after which the lease may be ours, whatever becomes of its answer. */
static bool is_claim(enum step step)
{
    return step == FAST_PUT || step == CREATE || step == PUT;
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct vpa_elector *e = ctx;
    enum step step = e->step;
    struct vpa_error why;

    e->request = NULL;
    if (e->phase == RELEASING) {
        if (is_claim(step)) /* the release waited for it */
            call(e, RELEASE_GET, VPA_KUBE_GET, NULL);
        else
            release_step(e, step, result, err);
        return;
    }
    if (step == FAST_PUT && err) {
        VPA_V(2, "Failed to update lease optimistically, falling back to slow path",
              VPA_KV("lock", e->options.name), VPA_KERR(err));
        call(e, GET, VPA_KUBE_GET, NULL);
        return;
    }
    if (step == GET && err && err->code == VPA_NOT_FOUND) {
        write_lease(e, CREATE, &e->record);
        return;
    }
    if (!err && step == GET) {
        if (cache_answer(e, result, &why) == 0) {
            judge(e);
            return;
        }
        err = &why;
    }
    if (!err) {
        written(e, result);
        return;
    }
    VPA_ERROR_UNLESS_TOLD(err,
                          step == GET      ? "Error retrieving lease"
                          : step == CREATE ? "Error initially creating lease"
                                           : "Failed to update lease",
                          VPA_KV("lock", e->options.name), VPA_KERR(err));
    attempt_failed(e);
}

/* Life */

struct vpa_elector *vpa_elector_new(const struct vpa_elector_options *options)
{
    struct vpa_elector *e = vpa_xcalloc(1, sizeof(*e));

    e->options = *options;
    e->options.ns = vpa_xstrdup(options->ns);
    e->options.name = vpa_xstrdup(options->name);
    e->options.identity = vpa_xstrdup(options->identity);
    e->loop = vpa_kube_client_loop(options->client);
    e->pause = vpa_timer_new(e->loop, on_pause, e);
    e->deadline = vpa_timer_new(e->loop, on_deadline, e);
    return e;
}

void vpa_elector_start(struct vpa_elector *e)
{
    if (e->phase != IDLE)
        return;
    VPA_INFO("Attempting to acquire leader lease...", VPA_KV("namespace", e->options.ns),
             VPA_KV("name", e->options.name));
    e->phase = ACQUIRING;
    attempt(e);
}

void vpa_elector_yield(struct vpa_elector *e, bool yield)
{
    e->yields = yield;
}

bool vpa_elector_yields(const struct vpa_elector *e)
{
    return e->yields;
}

bool vpa_elector_is_leader(const struct vpa_elector *e)
{
    return e->phase == RENEWING && holds(e, e->observed_holder) &&
           vpa_loop_monotonic(e->loop) < e->held_until;
}

const char *vpa_elector_own_identity(const struct vpa_elector *e)
{
    return e->options.identity;
}

static bool is_renewing(void *ctx)
{
    return ((struct vpa_elector *)ctx)->phase == RENEWING;
}

int vpa_elector_campaign(struct vpa_elector *e)
{
    vpa_elector_start(e);
    /* A candidate waits as long as another one leads. */
    return vpa_loop_wait(e->loop, is_renewing, e, INT64_MAX, NULL);
}

static bool is_done(void *ctx)
{
    return ((struct vpa_elector *)ctx)->phase == DONE;
}

void vpa_elector_release(struct vpa_elector *e, vpa_duration timeout)
{
    bool over = e->phase == RELEASING || e->phase == DONE;
    bool claiming = e->request && is_claim(e->step);
    bool stopping = vpa_loop_is_stopping(e->loop);

    e->options.on_lost = NULL;
    e->options.on_started = NULL;
    if (over || !claiming)
        drop_request(e);
    if (over || (!claiming && !holds(e, e->observed_holder))) {
        finish(e);
        return;
    }
    vpa_loop_resume(e->loop);
    if (claiming) { /* given up now, it could still be carried out after all reads of ours */
        vpa_timer_stop(e->pause);
        e->phase = RELEASING;
    } else {
        release(e);
    }
    vpa_timer_start(e->deadline, timeout);
    vpa_loop_wait(e->loop, is_done, e, INT64_MAX, NULL);
    if (stopping)
        vpa_loop_stop(e->loop);
}

void vpa_elector_free(struct vpa_elector *e)
{
    if (!e)
        return;
    drop_request(e);
    vpa_timer_free(e->pause);
    vpa_timer_free(e->deadline);
    vpa_arena_release(&e->cached_arena);
    free(e->observed_holder);
    free(e->observed_raw);
    free((char *)(uintptr_t)e->options.ns);
    free((char *)(uintptr_t)e->options.name);
    free((char *)(uintptr_t)e->options.identity);
    free(e);
}
