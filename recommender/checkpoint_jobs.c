/*
 * What there is to write: per container one job, with the content as it goes to the API server.
 *
 * A container whose content is what was written last is skipped until it is due. The due times of
 * the entries are spread over --checkpoint-max-age by a hash of their names, so that an idle
 * cluster rewrites about the same number of checkpoints in every pass. While a standby is in step,
 * what changed waits for its turn, once per --checkpoint-interval and spread in the same way; what
 * this process has never written does not wait.
 */
#include "checkpoint_worker.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint_states.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/model/object_status.h"

/* The status begins with lastUpdateTime, which is no content. */
static uint64_t content_hash(const char *status)
{
    const char *rest = strchr(status, ',');

    return vpa_hash_bytes(vpa_or_empty(rest), rest ? strlen(rest) : 0);
}

int64_t checkpoint_next_time(const struct checkpoint_writer *w,
                             const struct checkpoint_entry *entry, vpa_duration at_most,
                             vpa_time now)
{
    const struct recommender_config *config = w->c->options.config;
    int64_t now_s = vpa_time_unix_nanos(now) / VPA_SECOND;

    /* A pass comes up to one interval late. */
    if (at_most > 2 * config->interval)
        at_most -= config->interval;
    int64_t period = at_most / VPA_SECOND;
    if (period <= 0)
        return now_s;
    int64_t phase = (int64_t)(vpa_hash_bytes(entry->key, strlen(entry->key)) % (uint64_t)period);
    return now_s + period - ((now_s - phase) % period + period) % period;
}

/* A time that is more than a period ahead was made before the clock was set back. */
static bool has_come(const struct checkpoint_worker *worker, int64_t when, vpa_duration period)
{
    int64_t left = when - vpa_time_unix_nanos(worker->now) / VPA_SECOND;

    return left <= 0 || left > period / VPA_SECOND;
}

bool checkpoint_is_due(const struct checkpoint_worker *worker, const struct checkpoint_entry *entry)
{
    return has_come(worker, entry->due, worker->writer->c->options.config->checkpoint_max_age);
}

/* One whose container has left the pods is not written only to look young. That is asked once in
 * its time: there may be many of them, and as many pods. */
static void put_off(const struct checkpoint_worker *worker, struct checkpoint_entry *entry)
{
    const struct checkpoint_writer *w = worker->writer;
    vpa_auto_free char *container = checkpoint_state_plain(checkpoint_entry_container(entry));

    if (!vpa_autoscaler_has_pod_with(worker->vpa, container))
        entry->due =
            checkpoint_next_time(w, entry, w->c->options.config->checkpoint_max_age, worker->now);
}

static bool is_unchanged(const struct checkpoint_worker *worker, const struct checkpoint_job *job)
{
    const struct checkpoint_entry *entry = job->entry;

    return entry->written && !entry->unreadable && entry->content == job->content &&
           entry->intervals == job->intervals_hash && entry->target == worker->target_hash &&
           !checkpoint_is_due(worker, entry);
}

static bool has_its_turn(const struct checkpoint_worker *worker,
                         const struct checkpoint_entry *entry)
{
    return !worker->writer->by_turns || !entry->written || entry->unreadable ||
           has_come(worker, entry->turn, worker->writer->c->options.config->checkpoint_interval);
}

/* What is no object in the API server's eyes is none in the next pass either. */
static bool may_be_taken(const struct checkpoint_worker *worker,
                         const struct checkpoint_entry *entry)
{
    return has_come(worker, entry->retry, CHECKPOINT_RETRY);
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

/* The text of the annotation, heap; NULL: it is not wanted. An empty list tells which history it
 * stands beside, too. */
static char *encode_intervals(const struct checkpoint_worker *worker,
                              struct checkpoint_entry *entry, const struct vpa_open_intervals *open)
{
    struct vpa_buf text;

    if (!worker->writer->c->options.config->checkpoint_open_intervals)
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

static void job_release(struct checkpoint_job *job)
{
    free(job->name);
    free(job->status);
    free(job->intervals);
}

static size_t text_of(const struct checkpoint_job *job)
{
    return strlen(job->status) + (job->intervals ? strlen(job->intervals) : 0);
}

void checkpoint_jobs_not_stored(const struct checkpoint_worker *worker)
{
    uint32_t *stored = &vpa_autoscaler_checkpoint_turns(worker->vpa)->stored;

    *stored = worker->stored < *stored ? worker->stored : *stored;
}

void checkpoint_jobs_keep(struct checkpoint_worker *worker, size_t count)
{
    while (worker->job_count > count) {
        struct checkpoint_job *job = &worker->jobs[--worker->job_count];
        size_t text = text_of(job);

        if (worker->job_count >= worker->next_job) /* not done */
            checkpoint_jobs_not_stored(worker);
        worker->texts -= text;
        worker->writer->texts -= text;
        job_release(job);
    }
}

static int job_cmp(const void *a, const void *b)
{
    const struct checkpoint_job *x = a;
    const struct checkpoint_job *y = b;

    if (x->entry->tried != y->entry->tried)
        return x->entry->tried < y->entry->tried ? -1 : 1;
    return strcmp(x->name, y->name);
}

void checkpoint_jobs_sort(struct checkpoint_worker *worker)
{
    qsort(worker->jobs, worker->job_count, sizeof *worker->jobs, job_cmp);
}

/* Whoever may store checkpoints gives a VPA as many as he likes: what has no room is written in a
 * later pass. */
static void bound_texts(struct checkpoint_worker *worker)
{
    if (worker->writer->texts <= CHECKPOINT_TEXTS_MAX || worker->texts <= CHECKPOINT_TEXTS_OF_ONE)
        return;
    checkpoint_jobs_sort(worker);
    checkpoint_jobs_keep(worker, worker->job_count / 2);
}

static char *encode_status(const struct vpa_checkpoint_status *status)
{
    struct vpa_json_writer w;
    struct vpa_buf text;

    vpa_buf_init(&text, CHECKPOINT_BODY_MAX);
    vpa_json_writer_init(&w, &text);
    vpa_checkpoint_status_encode(&w, status);
    return vpa_buf_take(&text);
}

static struct checkpoint_entry *entry_of(struct checkpoint_worker *worker, const char *container)
{
    return checkpoint_names_entry(&worker->writer->c->names, vpa_autoscaler_ns(worker->vpa),
                                  vpa_autoscaler_name(worker->vpa), container);
}

/* What it has learned since then is not stored. */
static void note_waiting(const struct checkpoint_worker *worker,
                         const struct checkpoint_entry *entry)
{
    uint32_t *stored = &vpa_autoscaler_checkpoint_turns(worker->vpa)->stored;

    if (entry->tried < *stored)
        *stored = entry->tried;
}

/* Takes over the job; it stays out of the list when there is nothing to write. */
static void add_job(struct checkpoint_worker *worker, struct checkpoint_job job)
{
    struct checkpoints *c = worker->writer->c;

    job.content = content_hash(job.status);
    if (job.intervals)
        job.intervals_hash = vpa_hash_bytes(job.intervals, strlen(job.intervals));
    if (job.entry->written && checkpoint_is_due(worker, job.entry))
        put_off(worker, job.entry);
    if (!is_unchanged(worker, &job)) {
        if (!has_its_turn(worker, job.entry))
            note_waiting(worker, job.entry);
        else if (may_be_taken(worker, job.entry))
            job.name = checkpoint_names_assign(&c->names, job.entry);
    }
    if (!job.name || !has_usable_name(job.entry, vpa_autoscaler_ns(worker->vpa), job.name)) {
        vpa_autoscaler_checkpoint_turns(worker->vpa)->last = worker->began; /* others go first */
        job_release(&job);
        return;
    }
    VPA_GROW(worker->jobs, worker->job_count, worker->job_capacity);
    worker->jobs[worker->job_count++] = job;
    worker->texts += text_of(&job);
    worker->writer->texts += text_of(&job);
    bound_texts(worker);
}

void checkpoint_jobs_on_container(void *ctx, const char *container,
                                  const struct vpa_checkpoint_status *status,
                                  const struct vpa_open_intervals *open)
{
    struct checkpoint_worker *worker = ctx;
    struct checkpoint_entry *entry = entry_of(worker, container);

    add_job(worker, (struct checkpoint_job){.entry = entry,
                                            .status = encode_status(status),
                                            .intervals = encode_intervals(worker, entry, open)});
}

void checkpoint_jobs_on_known(void *ctx, const struct vpa_known *known)
{
    struct checkpoint_worker *worker = ctx;
    vpa_auto_arena arena = {0};
    vpa_auto_free char *container = checkpoint_state_container(known);
    struct checkpoint_entry *entry = entry_of(worker, container);
    char *text = checkpoint_state_text(known, worker->now);
    struct vpa_checkpoint_status status;

    if (!text) {
        if (!entry->shortened)
            VPA_ERROR("The state of an algorithm is too long to be stored; it does not outlive a "
                      "restart",
                      VPA_KV("namespace", vpa_autoscaler_ns(worker->vpa)),
                      VPA_KV("vpa", vpa_autoscaler_name(worker->vpa)),
                      VPA_KV("container", container));
        entry->shortened = true;
        return;
    }
    checkpoint_state_status(known, worker->now, &arena, &status);
    add_job(worker, (struct checkpoint_job){.entry = entry,
                                            .status = encode_status(&status),
                                            .intervals = text,
                                            .is_state = true});
}
