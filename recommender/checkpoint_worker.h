/*
 * The parts of writing checkpoints:
 *   checkpoint_writer.c  workers, what follows an answer, the step of a pass
 *   checkpoint_jobs.c    what there is to write for a VPA, and whether it is time
 *   checkpoint_calls.c   the objects and patches that are sent
 */
#ifndef RECOMMENDER_CHECKPOINT_WORKER_H
#define RECOMMENDER_CHECKPOINT_WORKER_H

#include "checkpoints_internal.h"
#include "failures.h"

#include "vpa/kube/list.h"

/* Until one that was refused as invalid is sent again. */
#define CHECKPOINT_RETRY (10 * VPA_MINUTE)

/* What is to be written is kept as text until it is: of all workers together so many bytes, and of
 * each so many in any case. Of a VPA with more those that have waited longest go first. */
#define CHECKPOINT_TEXTS_MAX ((size_t)16 << 20)
#define CHECKPOINT_TEXTS_OF_ONE ((size_t)1 << 20)

enum checkpoint_stage {
    STAGE_IDLE,
    STAGE_READ,        /* the unreadable object again */
    STAGE_KEEP,        /* create the object that keeps it */
    STAGE_KEEP_DELETE, /* one was there already */
    STAGE_KEEP_AGAIN,
    STAGE_PATCH,
    STAGE_CREATE,
};

struct checkpoint_job { /* one container */
    struct checkpoint_entry *entry;
    char *name;   /* of the object */
    char *status; /* JSON */
    uint64_t content;
    char *intervals; /* text of the annotation; NULL: none */
    uint64_t intervals_hash;
    bool is_state;    /* of another algorithm: the annotation is that state */
    bool turned_over; /* tried again as if the object had annotations, or had none */
};

struct checkpoint_worker {
    struct checkpoint_writer *writer;
    struct vpa_autoscaler *vpa;
    vpa_time now;          /* when the VPA was taken */
    int64_t began;         /* the same, monotonic */
    uint32_t stored;       /* of its turns, before */
    struct vpa_buf target; /* of its histories; empty: not written */
    uint64_t target_hash;  /* 0: not written */
    struct checkpoint_job *jobs;
    size_t job_count;
    size_t job_capacity;
    size_t next_job;
    size_t texts; /* bytes of the jobs */
    enum checkpoint_stage stage;
    struct vpa_kube_request *request; /* under way */
    struct vpa_listing *reading;      /* likewise */
    struct vpa_buf copy;              /* of the unreadable object, to be created; empty: none */
    bool ready;                       /* the answer is there */
    bool failed;
    bool missing; /* the object, not the kind or the namespace */
    struct vpa_error err;
    struct vpa_error refusal; /* of the first try, when there is a second one */
    bool took_one;            /* has finished a VPA */
};

struct checkpoint_writer {
    struct checkpoints *c;
    vpa_time deadline;
    bool by_turns;
    bool flushes; /* nothing is waited for beyond the deadline */
    struct vpa_autoscaler **queue;
    size_t queue_count;
    size_t queue_next;
    struct checkpoint_worker *workers;
    size_t worker_count;
    size_t texts; /* bytes of all jobs */
    struct failures unsaved;
    struct failures unkept;
};

/* checkpoint_jobs.c: callbacks of the model, whose context is the worker; they add jobs to it. */
void checkpoint_jobs_on_container(void *ctx, const char *container,
                                  const struct vpa_checkpoint_status *status,
                                  const struct vpa_open_intervals *open);
void checkpoint_jobs_on_known(void *ctx, const struct vpa_known *known);
/* Of its VPA no more is stored than was before. */
void checkpoint_jobs_not_stored(const struct checkpoint_worker *worker);
/* Of the jobs from the first on so many stay. */
void checkpoint_jobs_keep(struct checkpoint_worker *worker, size_t count);
/* By how long they have waited. */
void checkpoint_jobs_sort(struct checkpoint_worker *worker);
/* The next time of the entry in an endless row of periods, Unix seconds. */
int64_t checkpoint_next_time(const struct checkpoint_writer *w,
                             const struct checkpoint_entry *entry, vpa_duration at_most,
                             vpa_time now);

/* Written also when it has not changed. */
bool checkpoint_is_due(const struct checkpoint_worker *worker,
                       const struct checkpoint_entry *entry);

/* checkpoint_calls.c: each sends one call for the job in hand; the answer only marks the worker as
 * ready. */
const struct checkpoint_job *checkpoint_job_of(const struct checkpoint_worker *worker);
void checkpoint_send_patch(struct checkpoint_worker *worker);
void checkpoint_send_create(struct checkpoint_worker *worker);
/* The unreadable object, of which only the name is known: worker->copy is made of what is there, if
 * that is still unreadable. */
void checkpoint_send_read(struct checkpoint_worker *worker);
/* That object under another name: spec and status as they were. */
void checkpoint_send_keep(struct checkpoint_worker *worker, enum checkpoint_stage stage);
void checkpoint_send_keep_delete(struct checkpoint_worker *worker);
/* Of the object that keeps the unreadable one; heap. */
char *checkpoint_kept_name(const struct checkpoint_worker *worker);
bool checkpoint_patches_annotations(const struct checkpoint_worker *worker,
                                    const struct checkpoint_job *job);

#endif
