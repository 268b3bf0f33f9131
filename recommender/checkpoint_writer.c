/*
 * Writing checkpoints.
 *
 * Upstream has n workers that take VPAs from a queue; each writes the containers of its VPA one
 * after the other and looks at the deadline before it takes the next VPA. Here a worker is a small
 * state machine with at most one call under way. Answers only mark their worker as ready; the pass,
 * which waits for them, takes the next step, so the model is touched by the pass alone.
 *
 *     idle -> take a VPA -> per container: [read, keep aside ->] patch [-> create] -> ... -> idle
 */
#include "checkpoint_worker.h"

#include <stdlib.h>

#include "metrics.h"

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/object_status.h"

#define LATE_CONTAINERS_MAX 100 /* of one VPA, when the deadline has passed */

/* ---- answers ---- */

static void report(const struct checkpoint_worker *worker, const char *message)
{
    const struct checkpoint_job *job = checkpoint_job_of(worker);

    VPA_ERROR_UNLESS_TOLD(
        &worker->err, message, VPA_KV("namespace", vpa_autoscaler_ns(worker->vpa)),
        VPA_KV("checkpoint", job->name),
        VPA_KV("container", checkpoint_entry_container(job->entry)), VPA_KERR(&worker->err));
}

static void on_kept(struct checkpoint_worker *worker)
{
    struct checkpoint_entry *entry = checkpoint_job_of(worker)->entry;
    vpa_auto_free char *name = checkpoint_kept_name(worker);
    vpa_auto_free char *message =
        vpa_xprintf("Checkpoint %s could not be read; it was kept as %s and is written anew",
                    checkpoint_job_of(worker)->name, name);
    struct vpa_object_ref ref = {.api_version = VPA_GROUP_VERSION,
                                 .kind = "VerticalPodAutoscaler",
                                 .ns = vpa_autoscaler_ns(worker->vpa),
                                 .name = vpa_autoscaler_name(worker->vpa),
                                 .uid = vpa_autoscaler_object(worker->vpa)->meta.uid};

    vpa_events_record_warning(worker->writer->c->options.events, &ref, "UnreadableCheckpoint",
                              message);
    vpa_metric_inc(&metrics_unreadable_checkpoints, "kept");
    checkpoint_names_found_copy(&worker->writer->c->names, ref.ns, name);
    free(VPA_STEAL(entry->unreadable));
    vpa_buf_release(&worker->copy);
}

static void on_written(struct checkpoint_worker *worker)
{
    const struct recommender_config *config = worker->writer->c->options.config;
    const struct checkpoint_job *job = checkpoint_job_of(worker);

    job->entry->written = true;
    job->entry->content = job->content;
    job->entry->intervals = job->intervals_hash;
    job->entry->due =
        checkpoint_next_time(worker->writer, job->entry, config->checkpoint_max_age, worker->now);
    job->entry->turn =
        checkpoint_next_time(worker->writer, job->entry, config->checkpoint_interval, worker->now);
    job->entry->target = worker->target_hash;
    job->entry->annotated |= job->intervals || worker->target_hash;
    vpa_autoscaler_checkpoint_turns(worker->vpa)->last = worker->began;
    worker->stage = STAGE_IDLE;
}

/* A VPA whose write failed goes first in the next pass, as upstream's does, but not one that is
 * refused: its namespace's quota may be used up for good, and somebody can see to that. In the
 * flush one whose object is refused takes nobody's place either. */
static void note(struct failures *failures, const struct checkpoint_worker *worker)
{
    enum vpa_code code = worker->err.code;

    if (code == VPA_DENIED)
        vpa_autoscaler_checkpoint_turns(worker->vpa)->last = worker->began;
    else if (code != VPA_INVALID)
        checkpoint_jobs_not_stored(worker);
    failures_add(failures, vpa_autoscaler_ns(worker->vpa), checkpoint_job_of(worker)->name,
                 &worker->err);
}

static void on_patch_failed(struct checkpoint_worker *worker)
{
    if (worker->missing) {
        checkpoint_send_create(worker);
        return;
    }
    /* Perhaps somebody took the annotations away, or gave it the first ones. */
    struct checkpoint_job *job = &worker->jobs[worker->next_job];
    bool is_refused = worker->err.code == VPA_INVALID;
    bool again = is_refused && !job->turned_over && checkpoint_patches_annotations(worker, job);
    job->entry->annotated ^= again || job->turned_over;
    if (again) {
        job->turned_over = true;
        worker->refusal = worker->err;
        checkpoint_send_patch(worker);
        return;
    }
    /* One of the two says only that it had annotations, or none. */
    if (is_refused && job->turned_over) {
        struct vpa_error second = worker->err;

        (void)vpa_fail(&worker->err, VPA_INVALID, "%s; again: %s", worker->refusal.text,
                       second.text);
    }
    note(&worker->writer->unsaved, worker);
    worker->stage = STAGE_IDLE;
}

/* Of a container whose name no pod can have, say: whoever writes a checkpoint says of which. */
static void on_create_failed(struct checkpoint_worker *worker)
{
    vpa_time again = vpa_time_add(worker->now, CHECKPOINT_RETRY);

    note(&worker->writer->unsaved, worker);
    if (worker->err.code == VPA_INVALID)
        checkpoint_job_of(worker)->entry->retry = vpa_time_unix_nanos(again) / VPA_SECOND;
    worker->stage = STAGE_IDLE;
}

/* One that is gone by now, or was written anew, needs no place aside. */
static void on_read(struct checkpoint_worker *worker)
{
    if (worker->failed) {
        note(&worker->writer->unkept, worker);
        worker->stage = STAGE_IDLE;
    } else if (worker->copy.len > 0) {
        checkpoint_send_keep(worker, STAGE_KEEP);
    } else {
        free(VPA_STEAL(worker->jobs[worker->next_job].entry->unreadable));
        checkpoint_send_patch(worker);
    }
}

/* What could not be kept aside is not overwritten, unless keeping it is impossible for good. */
static void on_keep_failed(struct checkpoint_worker *worker)
{
    if (worker->err.code == VPA_CONFLICT && worker->stage == STAGE_KEEP) {
        checkpoint_send_keep_delete(worker);
    } else if (worker->err.code == VPA_INVALID) {
        report(worker, "Cannot keep an unreadable checkpoint aside; it is lost");
        free(VPA_STEAL(worker->jobs[worker->next_job].entry->unreadable));
        checkpoint_send_patch(worker);
    } else {
        note(&worker->writer->unkept, worker);
        worker->stage = STAGE_IDLE;
    }
}

/* One answer; leaves the worker waiting for the next one, or idle with the job done. */
static void handle_answer(struct checkpoint_worker *worker)
{
    switch (worker->stage) {
    case STAGE_READ:
        on_read(worker);
        break;
    case STAGE_KEEP:
    case STAGE_KEEP_AGAIN:
        if (worker->failed) {
            on_keep_failed(worker);
        } else {
            on_kept(worker);
            checkpoint_send_patch(worker);
        }
        break;
    case STAGE_KEEP_DELETE:
        checkpoint_send_keep(worker, STAGE_KEEP_AGAIN);
        break;
    case STAGE_PATCH:
        if (worker->failed)
            on_patch_failed(worker);
        else
            on_written(worker);
        break;
    case STAGE_CREATE:
        if (worker->failed)
            on_create_failed(worker);
        else
            on_written(worker);
        break;
    case STAGE_IDLE:
        break;
    }
}

/* ---- workers ---- */

static void drop_jobs(struct checkpoint_worker *worker)
{
    checkpoint_jobs_keep(worker, 0);
    worker->next_job = 0;
}

static void set_target(struct checkpoint_worker *worker)
{
    vpa_buf_clear(&worker->target);
    worker->target_hash = 0;
    if (!worker->writer->c->options.config->checkpoint_open_intervals)
        return;
    vpa_object_target(vpa_autoscaler_object(worker->vpa), &worker->target);
    if (!vpa_buf_failed(&worker->target))
        worker->target_hash = vpa_hash_bytes(worker->target.data, worker->target.len);
}

/* Of more than may be written behind the deadline those go first that have waited longest. */
static void order_jobs(struct checkpoint_worker *worker)
{
    if (worker->job_count > LATE_CONTAINERS_MAX)
        checkpoint_jobs_sort(worker);
}

/* The next VPA from the queue; false when there is none for this worker. */
static bool take_vpa(struct checkpoint_worker *worker)
{
    struct checkpoint_writer *w = worker->writer;
    struct vpa_loop *loop = w->c->options.loop;

    drop_jobs(worker);
    if (worker->took_one && vpa_loop_now(loop) >= w->deadline)
        return false;
    if (w->queue_next == w->queue_count)
        return false;
    worker->vpa = w->queue[w->queue_next++];
    worker->now = vpa_loop_now(loop);
    worker->began = vpa_loop_monotonic(loop);
    worker->took_one = true;
    set_target(worker);
    worker->stored = vpa_autoscaler_checkpoint_turns(worker->vpa)->stored;
    vpa_autoscaler_checkpoint_turns(worker->vpa)->stored = w->c->rounds;
    vpa_cluster_checkpoints(w->c->options.cluster, worker->vpa, worker->now,
                            checkpoint_jobs_on_container, worker);
    vpa_autoscaler_visit_knowledge(worker->vpa, checkpoint_jobs_on_known, worker);
    order_jobs(worker);
    return true;
}

/* Behind the deadline a worker goes on with its VPA, but not for as long as whoever may write
 * checkpoints likes: the others are written in the next pass. */
static bool has_written_enough(const struct checkpoint_worker *worker)
{
    const struct checkpoint_writer *w = worker->writer;

    return worker->next_job >= LATE_CONTAINERS_MAX &&
           vpa_loop_now(w->c->options.loop) >= w->deadline;
}

/* Goes on until a call is under way or nothing is left. */
static void step(struct checkpoint_worker *worker)
{
    worker->ready = false;
    if (worker->stage != STAGE_IDLE) {
        handle_answer(worker);
        if (worker->stage != STAGE_IDLE)
            return;
        worker->next_job++;
    }
    while (worker->next_job == worker->job_count || has_written_enough(worker))
        if (!take_vpa(worker))
            return;
    checkpoint_job_of(worker)->entry->tried = worker->writer->c->rounds;
    if (checkpoint_job_of(worker)->entry->unreadable)
        checkpoint_send_read(worker);
    else
        checkpoint_send_patch(worker);
}

static bool any_ready(void *ctx)
{
    const struct checkpoint_writer *w = ctx;

    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].ready)
            return true;
    return false;
}

static bool any_under_way(const struct checkpoint_writer *w)
{
    for (size_t i = 0; i < w->worker_count; i++)
        if (w->workers[i].stage != STAGE_IDLE)
            return true;
    return false;
}

static vpa_duration patience_of(const struct checkpoint_writer *w)
{
    vpa_duration left = vpa_time_sub(w->deadline, vpa_loop_now(w->c->options.loop));

    if (!w->flushes)
        return VPA_HOUR; /* calls have a limit of their own */
    return left > 0 ? left : 0;
}

static void run_workers(struct checkpoint_writer *w)
{
    struct vpa_loop *loop = w->c->options.loop;

    for (size_t i = 0; i < w->worker_count; i++)
        step(&w->workers[i]);
    while (any_under_way(w)) {
        if (vpa_loop_wait(loop, any_ready, w, patience_of(w), NULL) < 0 &&
            (w->flushes || vpa_loop_is_stopping(loop)))
            return;
        for (size_t i = 0; i < w->worker_count; i++)
            if (w->workers[i].ready)
                step(&w->workers[i]);
    }
}

/* ---- the step of a pass ---- */

struct candidate {
    struct vpa_autoscaler *vpa;
    int64_t since; /* the longer ago, the earlier */
    size_t order;
};

static int candidate_cmp(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void fill_queue(struct checkpoint_writer *w)
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
        const struct vpa_checkpoint_turns *turns = vpa_autoscaler_checkpoint_turns(vpas[i]);
        candidates[n++] = (struct candidate){vpas[i], w->flushes ? turns->stored : turns->last, i};
    }
    qsort(candidates, n, sizeof *candidates, candidate_cmp);
    w->queue = vpa_xcalloc(n + 1, sizeof *w->queue);
    for (size_t i = 0; i < n; i++)
        w->queue[w->queue_count++] = candidates[i].vpa;
}

static void write_all(struct checkpoints *c, vpa_time deadline, bool by_turns, bool flushes)
{
    struct checkpoint_writer w = {
        .c = c,
        .deadline = deadline,
        .by_turns = by_turns,
        .flushes = flushes,
        .unsaved = {.message = "Cannot save checkpoint for VPA"},
        .unkept = {.message = "Cannot keep an unreadable checkpoint aside; it is not overwritten"}};
    int64_t wanted = c->options.config->update_workers;

    if (wanted <= 0)
        return;
    c->rounds++;
    fill_queue(&w);
    w.worker_count = (uint64_t)wanted < w.queue_count ? (size_t)wanted : w.queue_count;
    w.workers = vpa_xcalloc(w.worker_count + 1, sizeof *w.workers);
    for (size_t i = 0; i < w.worker_count; i++) {
        w.workers[i].writer = &w;
        vpa_buf_init(&w.workers[i].target, VPA_OBJECT_TARGET_MAX);
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
        vpa_listing_cancel(w.workers[i].reading);
        drop_jobs(&w.workers[i]);
        vpa_buf_release(&w.workers[i].target);
        vpa_buf_release(&w.workers[i].copy);
        free(w.workers[i].jobs);
    }
    free(w.workers);
    free(w.queue);
}

void checkpoints_write(struct checkpoints *c, vpa_time deadline, bool by_turns)
{
    write_all(c, deadline, by_turns, false);
}

void checkpoints_flush(struct checkpoints *c, vpa_time deadline)
{
    write_all(c, deadline, false, true);
}
