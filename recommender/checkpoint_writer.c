/*
 * Writing checkpoints.
 *
 * Upstream has n workers that take VPAs from a queue; each writes the containers of its VPA one
 * after the other and looks at the deadline before it takes the next VPA. Here a worker is a small
 * state machine with at most one call under way. Answers only mark their worker as ready; the pass,
 * which waits for them, takes the next step, so the model is touched by the pass alone.
 *
 *     idle -> take a VPA -> per container: [keep aside ->] patch [-> create] -> ... -> idle
 *
 * A container whose content is what was written last is skipped until it is due. The due times of
 * the entries are spread over --checkpoint-max-age by a hash of their names, so that an idle
 * cluster rewrites about the same number of checkpoints in every pass.
 */
#include "checkpoints_internal.h"
#include "failures.h"

#include <stdlib.h>
#include <string.h>

#include "metrics.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/model/object_status.h"

enum stage {
    STAGE_IDLE,
    STAGE_KEEP,        /* create the object that keeps the unreadable one */
    STAGE_KEEP_DELETE, /* one was there already */
    STAGE_KEEP_AGAIN,
    STAGE_PATCH,
    STAGE_CREATE,
};

struct job { /* one container */
    struct checkpoint_entry *entry;
    char *name;   /* of the object */
    char *status; /* JSON */
    uint64_t content;
    char *intervals; /* text of the annotation; NULL: none */
    uint64_t intervals_hash;
    bool without_annotations; /* tried again as if the object had none */
};

struct worker {
    struct writer *writer;
    struct vpa_autoscaler *vpa;
    vpa_time now;          /* when the VPA was taken */
    struct vpa_buf target; /* of its histories; empty: not written */
    uint64_t target_hash;  /* 0: not written */
    struct job *jobs;
    size_t job_count;
    size_t job_capacity;
    size_t next_job;
    enum stage stage;
    struct vpa_kube_request *request; /* under way */
    bool ready;                       /* the answer is there */
    bool failed;
    bool missing; /* the object, not the kind or the namespace */
    struct vpa_error err;
    bool took_one; /* has finished a VPA */
};

struct writer {
    struct checkpoints *c;
    vpa_time deadline;
    struct vpa_autoscaler **queue;
    size_t queue_count;
    size_t queue_next;
    struct worker *workers;
    size_t worker_count;
    struct failures unsaved;
    struct failures unkept;
};

/* ---- content ---- */

/* The status begins with lastUpdateTime, which is no content. */
static uint64_t content_hash(const char *status)
{
    const char *rest = strchr(status, ',');

    return vpa_hash_bytes(vpa_or_empty(rest), rest ? strlen(rest) : 0);
}

static int64_t next_due(const struct writer *w, const struct checkpoint_entry *entry, vpa_time now)
{
    const struct recommender_config *config = w->c->options.config;
    vpa_duration max_age = config->checkpoint_max_age;
    int64_t now_s = vpa_time_unix_nanos(now) / VPA_SECOND;

    /* A pass comes up to one interval late. */
    if (max_age > 2 * config->interval)
        max_age -= config->interval;
    int64_t period = max_age / VPA_SECOND;
    if (period <= 0)
        return now_s;
    int64_t phase = (int64_t)(vpa_hash_bytes(entry->key, strlen(entry->key)) % (uint64_t)period);
    return now_s + period - ((now_s - phase) % period + period) % period;
}

/* One whose container has left the pods is written when it changes, not to look young. */
static bool is_due(const struct worker *worker, const struct checkpoint_entry *entry)
{
    return vpa_time_unix_nanos(worker->now) / VPA_SECOND >= entry->due &&
           vpa_autoscaler_has_pod_with(worker->vpa, checkpoint_entry_container(entry));
}

static bool is_unchanged(const struct worker *worker, const struct job *job)
{
    const struct checkpoint_entry *entry = job->entry;

    return entry->written && !entry->unreadable && entry->content == job->content &&
           entry->intervals == job->intervals_hash && entry->target == worker->target_hash &&
           !is_due(worker, entry);
}

/* The API server takes no longer name, so asking is of no use. The history stays in memory and is
 * lost with the process; said once. */
static bool has_usable_name(struct checkpoint_entry *entry, const char *ns, const char *name)
{
    if (strlen(name) <= CHECKPOINT_NAME_MAX)
        return true;
    if (!entry->refused)
        VPA_ERROR("Cannot save checkpoint: its name, made of VPA and container, is longer than 253 "
                  "characters; this history does not outlive a restart",
                  VPA_KV("namespace", ns), VPA_KV("checkpoint", name));
    entry->refused = true;
    return false;
}

/* The text of the annotation, heap; NULL when there is nothing to list, and no list to empty. */
static char *encode_intervals(const struct worker *worker, struct checkpoint_entry *entry,
                              const struct vpa_open_intervals *open)
{
    struct vpa_buf text;

    if (!worker->writer->c->options.config->checkpoint_open_intervals ||
        (open->count == 0 && entry->intervals == 0))
        return NULL;
    vpa_buf_init(&text, 2 * VPA_OPEN_INTERVALS_TEXT_MAX);
    size_t written = vpa_open_intervals_encode(&text, open);
    if (written < open->count && !entry->shortened) {
        VPA_WARN("A checkpoint has no room for the open memory peaks of all pods; those of the "
                 "others do not outlive a restart",
                 VPA_KV("namespace", vpa_autoscaler_ns(worker->vpa)),
                 VPA_KV("vpa", vpa_autoscaler_name(worker->vpa)),
                 VPA_KV("container", checkpoint_entry_container(entry)),
                 VPA_KV("pods", (int64_t)open->count), VPA_KV("written", (int64_t)written));
        entry->shortened = true;
    }
    return vpa_buf_take(&text);
}

static void job_release(struct job *job)
{
    free(job->name);
    free(job->status);
    free(job->intervals);
}

static void on_container(void *ctx, const char *container,
                         const struct vpa_checkpoint_status *status,
                         const struct vpa_open_intervals *open)
{
    struct worker *worker = ctx;
    struct checkpoints *c = worker->writer->c;
    struct checkpoint_entry *entry = checkpoint_names_entry(
        &c->names, vpa_autoscaler_ns(worker->vpa), vpa_autoscaler_name(worker->vpa), container);
    struct vpa_json_writer w;
    struct vpa_buf text;

    vpa_buf_init(&text, CHECKPOINT_BODY_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_checkpoint_status_encode(&w, status);
    struct job job = {.entry = entry,
                      .status = vpa_buf_take(&text),
                      .intervals = encode_intervals(worker, entry, open)};
    job.content = content_hash(job.status);
    if (job.intervals)
        job.intervals_hash = vpa_hash_bytes(job.intervals, strlen(job.intervals));
    if (!is_unchanged(worker, &job))
        job.name = checkpoint_names_assign(&c->names, entry);
    if (!job.name || !has_usable_name(entry, vpa_autoscaler_ns(worker->vpa), job.name)) {
        vpa_autoscaler_set_checkpoint_written(worker->vpa, worker->now); /* others go first */
        job_release(&job);
        return;
    }
    VPA_GROW(worker->jobs, worker->job_count, worker->job_capacity);
    worker->jobs[worker->job_count++] = job;
}

/* ---- calls ---- */

static const struct job *job_of(const struct worker *worker)
{
    return &worker->jobs[worker->next_job];
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct worker *worker = ctx;

    worker->request = NULL;
    worker->ready = true;
    worker->failed = err != NULL;
    if (err)
        worker->err = *err;
    worker->missing =
        err && err->code == VPA_NOT_FOUND && vpa_str_eq(result->status.name, job_of(worker)->name);
}

static void send_call(struct worker *worker, enum vpa_kube_verb verb, const char *name,
                      const struct vpa_buf *body)
{
    vpa_auto_buf path = {0};

    checkpoint_path(&path, vpa_autoscaler_ns(worker->vpa), name);
    worker->ready = false;
    worker->request = vpa_kube_start(worker->writer->c->options.writer,
                                     &(struct vpa_kube_call){.verb = verb,
                                                             .path = vpa_buf_text(&path),
                                                             .body = vpa_buf_text(body),
                                                             .body_len = body->len,
                                                             .timeout = CHECKPOINT_TIMEOUT,
                                                             .repeatable = verb != VPA_KUBE_CREATE},
                                     on_answer, worker);
}

static void put_head(struct vpa_json_writer *w, const char *name)
{
    vpa_json_open_object(w);
    vpa_json_member_string(w, "kind", "VerticalPodAutoscalerCheckpoint");
    vpa_json_member_string(w, "apiVersion", VPA_GROUP_VERSION);
    vpa_json_key(w, "metadata");
    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", name);
}

struct annotation {
    const char *name;
    const char *text;
};
#define ANNOTATIONS_MAX 2

/* Those to be written: of a new object all, else what changed; when it is due, all again, should
 * somebody have changed them. */
static size_t list_annotations(const struct worker *worker, const struct job *job, bool all,
                               struct annotation out[ANNOTATIONS_MAX])
{
    const struct checkpoint_entry *entry = job->entry;
    size_t count = 0;

    all = all || is_due(worker, entry);
    if (job->intervals && (all || entry->intervals != job->intervals_hash))
        out[count++] = (struct annotation){VPA_OPEN_INTERVALS_ANNOTATION, job->intervals};
    if (worker->target_hash && (all || entry->target != worker->target_hash))
        out[count++] =
            (struct annotation){VPA_HISTORY_TARGET_ANNOTATION, vpa_buf_text(&worker->target)};
    return count;
}

static void put_annotations(struct vpa_json_writer *w, const struct annotation *items, size_t count)
{
    vpa_json_open_object(w);
    for (size_t i = 0; i < count; i++)
        vpa_json_member_string(w, items[i].name, items[i].text);
    vpa_json_close_object(w);
}

static void patch_annotation(struct vpa_json_patch *patch, const struct annotation *item)
{
    vpa_auto_buf path = {0};

    vpa_buf_init(&path, 256);
    vpa_buf_puts(&path, "/metadata/annotations");
    vpa_json_pointer_add(&path, item->name);
    vpa_json_put_string(vpa_json_patch_op(patch, VPA_PATCH_ADD, vpa_buf_text(&path)), item->text);
    vpa_json_patch_end_op(patch);
}

/* A member can be added only to annotations that are there. */
static void patch_annotations(struct vpa_json_patch *patch, const struct worker *worker,
                              const struct job *job)
{
    struct annotation items[ANNOTATIONS_MAX];
    size_t count = list_annotations(worker, job, !job->entry->annotated, items);

    if (count > 0 && !job->entry->annotated) {
        put_annotations(vpa_json_patch_op(patch, VPA_PATCH_ADD, "/metadata/annotations"), items,
                        count);
        vpa_json_patch_end_op(patch);
        return;
    }
    for (size_t i = 0; i < count; i++)
        patch_annotation(patch, &items[i]);
}

static bool patches_annotations(const struct worker *worker, const struct job *job)
{
    struct annotation items[ANNOTATIONS_MAX];

    return list_annotations(worker, job, !job->entry->annotated, items) > 0;
}

static void send_patch(struct worker *worker)
{
    const struct job *job = job_of(worker);
    struct vpa_json_patch patch;
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, CHECKPOINT_BODY_MAX);
    vpa_json_patch_begin(&patch, &body);
    vpa_json_put_raw(vpa_json_patch_op(&patch, VPA_PATCH_REPLACE, "/status"), job->status,
                     strlen(job->status));
    vpa_json_patch_end_op(&patch);
    patch_annotations(&patch, worker, job);
    vpa_json_patch_end(&patch);
    worker->stage = STAGE_PATCH;
    send_call(worker, VPA_KUBE_PATCH_JSON, job->name, &body);
}

static void send_create(struct worker *worker)
{
    const struct job *job = job_of(worker);
    struct vpa_json_writer w;
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, CHECKPOINT_BODY_MAX);
    vpa_json_writer_init(&w, &body);
    put_head(&w, job->name);
    struct annotation items[ANNOTATIONS_MAX];
    size_t count = list_annotations(worker, job, true, items);
    if (count > 0) {
        vpa_json_key(&w, "annotations");
        put_annotations(&w, items, count);
    }
    vpa_json_close_object(&w);
    vpa_json_key(&w, "spec");
    vpa_json_open_object(&w);
    vpa_json_member_string_opt(&w, "vpaObjectName", vpa_autoscaler_name(worker->vpa));
    vpa_json_member_string_opt(&w, "containerName", checkpoint_entry_container(job->entry));
    vpa_json_close_object(&w);
    vpa_json_key(&w, "status");
    vpa_json_put_raw(&w, job->status, strlen(job->status));
    vpa_json_close_object(&w);
    worker->stage = STAGE_CREATE;
    send_call(worker, VPA_KUBE_CREATE, NULL, &body);
}

static char *kept_name(const struct job *job)
{
    return vpa_xprintf("%s" CHECKPOINT_UNREADABLE_SUFFIX, job->name);
}

/* The unreadable object under another name: spec and status as they were. */
static void send_keep(struct worker *worker, enum stage stage)
{
    const struct job *job = job_of(worker);
    vpa_auto_arena arena = {0};
    vpa_auto_free char *name = kept_name(job);
    const struct vpa_json *root = NULL;
    struct vpa_json_writer w;
    char since[VPA_TIME_TEXT_MAX];
    vpa_auto_buf body = {0};

    if (vpa_json_parse(&arena, job->entry->unreadable, strlen(job->entry->unreadable), &root,
                       NULL) < 0)
        root = NULL; /* it was parsed before; nothing is lost when it cannot be now */
    vpa_time_format(worker->now, since);
    vpa_buf_init(&body, strlen(job->entry->unreadable) * 2 + 4096);
    vpa_json_writer_init(&w, &body);
    put_head(&w, name);
    vpa_json_key(&w, "annotations");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, CHECKPOINT_UNREADABLE_ANNOTATION, since);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    static const char *const members[] = {"spec", "status"};
    for (size_t i = 0; i < VPA_COUNT(members); i++) {
        if (!vpa_json_find(root, members[i]))
            continue;
        vpa_json_key(&w, members[i]);
        vpa_json_put_node(&w, vpa_json_find(root, members[i]));
    }
    vpa_json_close_object(&w);
    worker->stage = stage;
    send_call(worker, VPA_KUBE_CREATE, NULL, &body);
}

static void send_keep_delete(struct worker *worker)
{
    vpa_auto_free char *name = kept_name(job_of(worker));
    vpa_auto_buf body = {0};

    vpa_buf_init(&body, 256);
    vpa_buf_puts(&body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" VPA_GROUP_VERSION "\"}");
    worker->stage = STAGE_KEEP_DELETE;
    send_call(worker, VPA_KUBE_DELETE, name, &body);
}

/* ---- answers ---- */

static void report(const struct worker *worker, const char *message)
{
    const struct job *job = job_of(worker);

    VPA_ERROR_UNLESS_TOLD(
        &worker->err, message, VPA_KV("namespace", vpa_autoscaler_ns(worker->vpa)),
        VPA_KV("checkpoint", job->name),
        VPA_KV("container", checkpoint_entry_container(job->entry)), VPA_KERR(&worker->err));
}

static void on_kept(struct worker *worker)
{
    struct checkpoint_entry *entry = job_of(worker)->entry;
    vpa_auto_free char *name = kept_name(job_of(worker));
    vpa_auto_free char *message =
        vpa_xprintf("Checkpoint %s could not be read; it was kept as %s and is written anew",
                    job_of(worker)->name, name);
    struct vpa_object_ref ref = {.api_version = VPA_GROUP_VERSION,
                                 .kind = "VerticalPodAutoscaler",
                                 .ns = vpa_autoscaler_ns(worker->vpa),
                                 .name = vpa_autoscaler_name(worker->vpa),
                                 .uid = vpa_autoscaler_object(worker->vpa)->meta.uid};

    vpa_events_record_warning(worker->writer->c->options.events, &ref, "UnreadableCheckpoint",
                              message);
    metrics_unreadable_checkpoint();
    free(VPA_STEAL(entry->unreadable));
}

static void on_written(struct worker *worker)
{
    const struct job *job = job_of(worker);

    job->entry->written = true;
    job->entry->content = job->content;
    job->entry->intervals = job->intervals_hash;
    job->entry->due = next_due(worker->writer, job->entry, worker->now);
    job->entry->target = worker->target_hash;
    job->entry->annotated |= job->intervals || worker->target_hash;
    vpa_autoscaler_set_checkpoint_written(worker->vpa, worker->now);
    worker->stage = STAGE_IDLE;
}

/* The same failure for many: one line per pass. */
static void note(struct failures *failures, const struct worker *worker)
{
    failures_add(failures, vpa_autoscaler_ns(worker->vpa), job_of(worker)->name, &worker->err);
}

static void on_patch_failed(struct worker *worker)
{
    if (worker->missing) {
        send_create(worker);
        return;
    }
    /* Perhaps somebody took the annotations away. If not, they are not to be replaced. */
    struct job *job = &worker->jobs[worker->next_job];
    if (worker->err.code == VPA_INVALID && job->entry->annotated &&
        patches_annotations(worker, job)) {
        job->entry->annotated = false;
        job->without_annotations = true;
        send_patch(worker);
        return;
    }
    job->entry->annotated |= job->without_annotations;
    note(&worker->writer->unsaved, worker);
    worker->stage = STAGE_IDLE;
}

/* What could not be kept aside is not overwritten, unless keeping it is impossible for good. */
static void on_keep_failed(struct worker *worker)
{
    if (worker->err.code == VPA_CONFLICT && worker->stage == STAGE_KEEP) {
        send_keep_delete(worker);
    } else if (worker->err.code == VPA_INVALID) {
        report(worker, "Cannot keep an unreadable checkpoint aside; it is lost");
        free(VPA_STEAL(worker->jobs[worker->next_job].entry->unreadable));
        send_patch(worker);
    } else {
        note(&worker->writer->unkept, worker);
        worker->stage = STAGE_IDLE;
    }
}

/* One answer; leaves the worker waiting for the next one, or idle with the job done. */
static void handle_answer(struct worker *worker)
{
    switch (worker->stage) {
    case STAGE_KEEP:
    case STAGE_KEEP_AGAIN:
        if (worker->failed) {
            on_keep_failed(worker);
        } else {
            on_kept(worker);
            send_patch(worker);
        }
        break;
    case STAGE_KEEP_DELETE:
        send_keep(worker, STAGE_KEEP_AGAIN);
        break;
    case STAGE_PATCH:
        if (worker->failed)
            on_patch_failed(worker);
        else
            on_written(worker);
        break;
    case STAGE_CREATE:
        if (worker->failed) {
            note(&worker->writer->unsaved, worker);
            worker->stage = STAGE_IDLE;
        } else {
            on_written(worker);
        }
        break;
    case STAGE_IDLE:
        break;
    }
}

/* ---- workers ---- */

static void drop_jobs(struct worker *worker)
{
    for (size_t i = 0; i < worker->job_count; i++)
        job_release(&worker->jobs[i]);
    worker->job_count = 0;
    worker->next_job = 0;
}

static void set_target(struct worker *worker)
{
    vpa_buf_clear(&worker->target);
    worker->target_hash = 0;
    if (!worker->writer->c->options.config->checkpoint_open_intervals)
        return;
    vpa_autoscaler_target(worker->vpa, &worker->target);
    if (!vpa_buf_failed(&worker->target))
        worker->target_hash = vpa_hash_bytes(worker->target.data, worker->target.len);
}

/* The next VPA from the queue; false when there is none for this worker. */
static bool take_vpa(struct worker *worker)
{
    struct writer *w = worker->writer;
    struct vpa_loop *loop = w->c->options.loop;

    drop_jobs(worker);
    if (worker->took_one && vpa_loop_now(loop) >= w->deadline)
        return false;
    if (w->queue_next == w->queue_count)
        return false;
    worker->vpa = w->queue[w->queue_next++];
    worker->now = vpa_loop_now(loop);
    worker->took_one = true;
    set_target(worker);
    vpa_cluster_checkpoints(w->c->options.cluster, worker->vpa, worker->now, on_container, worker);
    return true;
}

/* Goes on until a call is under way or nothing is left. */
static void step(struct worker *worker)
{
    worker->ready = false;
    if (worker->stage != STAGE_IDLE) {
        handle_answer(worker);
        if (worker->stage != STAGE_IDLE)
            return;
        worker->next_job++;
    }
    while (worker->next_job == worker->job_count)
        if (!take_vpa(worker))
            return;
    if (job_of(worker)->entry->unreadable)
        send_keep(worker, STAGE_KEEP);
    else
        send_patch(worker);
}

static bool any_ready(void *ctx)
{
    const struct writer *w = ctx;

    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].ready)
            return true;
    return false;
}

static bool any_under_way(const struct writer *w)
{
    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].stage != STAGE_IDLE)
            return true;
    return false;
}

static void run_workers(struct writer *w)
{
    struct vpa_loop *loop = w->c->options.loop;

    for (size_t i = 0; i < w->worker_count; i++)
        step(&w->workers[i]);
    while (any_under_way(w)) {
        if (vpa_loop_wait(loop, any_ready, w, VPA_HOUR, NULL) < 0 && vpa_loop_is_stopping(loop))
            return;
        for (size_t i = 0; i < w->worker_count; i++)
            if (w->workers[i].ready)
                step(&w->workers[i]);
    }
}

/* ---- the step of a pass ---- */

struct candidate {
    struct vpa_autoscaler *vpa;
    vpa_time written;
    size_t order;
};

static int candidate_cmp(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    if (x->written != y->written)
        return x->written < y->written ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void fill_queue(struct writer *w)
{
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(w->c->options.cluster, &count);
    vpa_auto_free struct candidate *candidates = vpa_xcalloc(count + 1, sizeof *candidates);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct vpa_object *object = vpa_autoscaler_object(vpas[i]);

        if (vpa_autoscaler_awaits_history(vpas[i]) ||
            vpa_condition_true(object->conditions, object->condition_count,
                               VPA_CONDITION_FETCHING_HISTORY))
            continue;
        candidates[n++] =
            (struct candidate){vpas[i], vpa_autoscaler_checkpoint_written(vpas[i]), i};
    }
    qsort(candidates, n, sizeof *candidates, candidate_cmp);
    w->queue = vpa_xcalloc(n + 1, sizeof *w->queue);
    for (size_t i = 0; i < n; i++)
        w->queue[w->queue_count++] = candidates[i].vpa;
}

void checkpoints_write(struct checkpoints *c, vpa_time deadline)
{
    struct writer w = {
        .c = c,
        .deadline = deadline,
        .unsaved = {.message = "Cannot save checkpoint for VPA"},
        .unkept = {.message = "Cannot keep an unreadable checkpoint aside; it is not overwritten"}};
    int64_t wanted = c->options.config->update_workers;

    if (wanted <= 0)
        return;
    fill_queue(&w);
    w.worker_count = (uint64_t)wanted < w.queue_count ? (size_t)wanted : w.queue_count;
    w.workers = vpa_xcalloc(w.worker_count + 1, sizeof *w.workers);
    for (size_t i = 0; i < w.worker_count; i++) {
        w.workers[i].writer = &w;
        vpa_buf_init(&w.workers[i].target, VPA_AUTOSCALER_TARGET_MAX);
    }

    run_workers(&w);
    failures_report(&w.unsaved);
    failures_report(&w.unkept);
    if (w.queue_count > 0 && vpa_loop_now(c->options.loop) >= deadline)
        VPA_V(0, "Failed to store all checkpoints within the configured `checkpoints-timeout`",
              VPA_KV("err", "context deadline exceeded"));
    for (size_t i = 0; i < w.worker_count; i++) {
        if (w.workers[i].request)
            vpa_kube_cancel(w.workers[i].request);
        drop_jobs(&w.workers[i]);
        vpa_buf_release(&w.workers[i].target);
        free(w.workers[i].jobs);
    }
    free(w.workers);
    free(w.queue);
}
