/*
 * What is sent: a patch of the status, the whole object where there is none, and an unreadable
 * object under another name, so that nothing is lost when it is written anew.
 */
#include "checkpoint_worker.h"

#include <string.h>

#include "checkpoint_identity.h"
#include "checkpoint_states.h"
#include "recommender.h"

#include "vpa/api/checkpoint.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_peek.h"

const struct checkpoint_job *checkpoint_job_of(const struct checkpoint_worker *worker)
{
    return &worker->jobs[worker->next_job];
}

static void on_answer(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    struct checkpoint_worker *worker = ctx;

    worker->request = NULL;
    worker->ready = true;
    worker->failed = err != NULL;
    if (err)
        worker->err = *err;
    worker->missing = err && err->code == VPA_NOT_FOUND &&
                      vpa_str_eq(result->status.name, checkpoint_job_of(worker)->name);
}

static void send_call(struct checkpoint_worker *worker, enum vpa_kube_verb verb, const char *name,
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
    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, "name", name);
}

struct annotation {
    const char *name;
    const char *text;
};
#define ANNOTATIONS_MAX 2

/* Those to be written: of a new object all, else what changed; when it is due, all again, should
 * somebody have changed them. */
static size_t list_annotations(const struct checkpoint_worker *worker,
                               const struct checkpoint_job *job, bool all,
                               struct annotation out[ANNOTATIONS_MAX])
{
    const struct checkpoint_entry *entry = job->entry;
    size_t count = 0;

    all = all || checkpoint_is_due(worker, entry);
    if (job->intervals && (all || entry->intervals != job->intervals_hash))
        out[count++] = (struct annotation){job->is_state ? CHECKPOINT_STATE_ANNOTATION
                                                         : VPA_OPEN_INTERVALS_ANNOTATION,
                                           job->intervals};
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
    vpa_auto_buf path = VPA_BUF(256);

    vpa_buf_puts(&path, "/metadata/annotations");
    vpa_json_pointer_add(&path, item->name);
    vpa_json_put_string(vpa_json_patch_op(patch, VPA_PATCH_ADD, vpa_buf_text(&path)), item->text);
    vpa_json_patch_end_op(patch);
}

/* A member can be added only to annotations that are there, and all of them only where there are
 * none: those of others stay. To the API server what is absent is null. */
static void patch_annotations(struct vpa_json_patch *patch, const struct checkpoint_worker *worker,
                              const struct checkpoint_job *job)
{
    struct annotation items[ANNOTATIONS_MAX];
    size_t count = list_annotations(worker, job, !job->entry->annotated, items);

    if (count > 0 && !job->entry->annotated) {
        vpa_json_put_null(vpa_json_patch_op(patch, VPA_PATCH_TEST, "/metadata/annotations"));
        vpa_json_patch_end_op(patch);
        put_annotations(vpa_json_patch_op(patch, VPA_PATCH_ADD, "/metadata/annotations"), items,
                        count);
        vpa_json_patch_end_op(patch);
        return;
    }
    for (size_t i = 0; i < count; i++)
        patch_annotation(patch, &items[i]);
}

bool checkpoint_patches_annotations(const struct checkpoint_worker *worker,
                                    const struct checkpoint_job *job)
{
    struct annotation items[ANNOTATIONS_MAX];

    return list_annotations(worker, job, !job->entry->annotated, items) > 0;
}

void checkpoint_send_patch(struct checkpoint_worker *worker)
{
    const struct checkpoint_job *job = checkpoint_job_of(worker);
    struct vpa_json_patch patch;
    vpa_auto_buf body = VPA_BUF(CHECKPOINT_BODY_MAX);

    vpa_json_patch_begin(&patch, &body);
    vpa_json_put_raw(vpa_json_patch_op(&patch, VPA_PATCH_REPLACE, "/status"), job->status,
                     strlen(job->status));
    vpa_json_patch_end_op(&patch);
    patch_annotations(&patch, worker, job);
    vpa_json_patch_end(&patch);
    worker->stage = STAGE_PATCH;
    send_call(worker, VPA_KUBE_PATCH_JSON, job->name, &body);
}

void checkpoint_send_create(struct checkpoint_worker *worker)
{
    const struct checkpoint_job *job = checkpoint_job_of(worker);
    struct vpa_json_writer w;
    vpa_auto_buf body = VPA_BUF(CHECKPOINT_BODY_MAX);

    vpa_json_writer_init(&w, &body);
    put_head(&w, job->name);
    struct annotation items[ANNOTATIONS_MAX];
    size_t count = list_annotations(worker, job, true, items);
    if (count > 0) {
        vpa_json_key(&w, "annotations");
        put_annotations(&w, items, count);
    }
    vpa_json_close_object(&w);
    vpa_json_member_object(&w, "spec");
    vpa_json_member_string_opt(&w, "vpaObjectName", vpa_autoscaler_name(worker->vpa));
    vpa_json_member_string_opt(&w, "containerName", checkpoint_entry_container(job->entry));
    vpa_json_close_object(&w);
    vpa_json_member_raw(&w, "status", job->status, strlen(job->status));
    vpa_json_close_object(&w);
    worker->stage = STAGE_CREATE;
    send_call(worker, VPA_KUBE_CREATE, NULL, &body);
}

char *checkpoint_kept_name(const struct checkpoint_worker *worker)
{
    return checkpoint_names_of_copy(&worker->writer->c->names, vpa_autoscaler_ns(worker->vpa),
                                    checkpoint_job_of(worker)->name);
}

/* ---- the copy ---- */

/* A member of the unreadable object: it stays as it is written, whatever that is. What is no JSON
 * cannot be sent but as a text. */
struct source {
    struct vpa_slice text;
    bool is_json;
};

static struct source source_of(struct vpa_slice object, const char *member)
{
    struct source source = {.text = vpa_json_peek_source(object.ptr, object.len, member)};
    vpa_auto_arena arena = {0};
    const struct vpa_json *node;
    struct vpa_error err;

    source.is_json = source.text.ptr &&
                     (vpa_json_parse(&arena, source.text.ptr, source.text.len, &node, &err) == 0 ||
                      err.code == VPA_LIMIT); /* more than we read is JSON to the API server */
    return source;
}

static void put_as_text(struct vpa_json_writer *w, const char *annotation, struct source source)
{
    if (!source.text.ptr || source.is_json)
        return;
    vpa_auto_free char *text = vpa_xmalloc(source.text.len + 1);
    for (size_t i = 0; i < source.text.len; i++)
        text[i] = source.text.ptr[i] ? source.text.ptr[i] : '\xff'; /* which the writer replaces */
    text[source.text.len] = '\0';
    vpa_json_member_string(w, annotation, text);
}

static void put_source(struct vpa_json_writer *w, const char *member, struct source source)
{
    if (!source.is_json)
        return;
    vpa_json_member_raw(w, member, source.text.ptr, source.text.len);
}

/* The copy goes with the VPA that it names. */
static void put_names(struct vpa_json_writer *w, const struct checkpoint_identity *id)
{
    vpa_json_member_object(w, "spec");
    vpa_json_member_string(w, "vpaObjectName", id->vpa);
    vpa_json_member_string(w, "containerName", id->container);
    vpa_json_close_object(w);
}

static bool is_readable_history(const struct checkpoint_worker *worker,
                                const struct vpa_checkpoint_status *status)
{
    const char *container = checkpoint_entry_container(checkpoint_job_of(worker)->entry);
    struct vpa_aggregation aggregation;
    struct vpa_aggregate state;

    recommender_aggregation(worker->writer->c->options.config, &aggregation);
    aggregation.memory_interval = vpa_autoscaler_memory_interval(worker->vpa, container);
    vpa_aggregate_init(&state, &aggregation, worker->now);
    bool readable = vpa_aggregate_load(&state, status, NULL) == 0 &&
                    vpa_aggregate_check_stored(&aggregation, status, worker->now, NULL) == 0;
    vpa_aggregate_release(&state);
    vpa_aggregation_release(&aggregation);
    return readable;
}

/* Somebody has written it anew since. */
static bool is_readable(const struct checkpoint_worker *worker, const struct vpa_json *item)
{
    const struct checkpoints_options *o = &worker->writer->c->options;
    const struct vpa_json *annotations = vpa_json_at(item, "metadata.annotations");
    vpa_auto_arena arena = {0};
    struct vpa_checkpoint checkpoint;

    if (vpa_checkpoint_decode(&arena, item, &checkpoint, NULL) < 0)
        return false;
    if (!checkpoint_state_is(checkpoint.status.version))
        return is_readable_history(worker, &checkpoint.status);
    return checkpoint_state_is_readable(
        o->algorithms,
        &(struct checkpoint_state){
            .version = checkpoint.status.version,
            .text = vpa_json_string(vpa_json_find(annotations, CHECKPOINT_STATE_ANNOTATION))},
        worker->now);
}

#define ESCAPE_MAX 6 /* bytes that stand for one in a string */

static int on_unreadable(struct checkpoint_worker *worker, struct vpa_slice text)
{
    vpa_auto_arena arena = {0};
    const struct checkpoint_identity id = checkpoint_identity(&arena, NULL, text);
    struct vpa_json_writer w;
    char since[VPA_TIME_TEXT_MAX];

    if (!vpa_str_eq(id.name, checkpoint_job_of(worker)->entry->unreadable))
        return 0;
    struct source spec = source_of(text, "spec"), status = source_of(text, "status");
    vpa_auto_free char *name = checkpoint_kept_name(worker);
    vpa_time_format(worker->now, since);
    vpa_buf_release(&worker->copy);
    vpa_buf_init(&worker->copy, text.len * ESCAPE_MAX + 4096);
    vpa_json_writer_init(&w, &worker->copy);
    put_head(&w, name);
    vpa_json_member_object(&w, "annotations");
    vpa_json_member_string(&w, CHECKPOINT_UNREADABLE_ANNOTATION, since);
    vpa_json_member_string_opt(
        &w, CHECKPOINT_STATE_ANNOTATION,
        vpa_json_string(vpa_json_find(id.annotations, CHECKPOINT_STATE_ANNOTATION)));
    put_as_text(&w, CHECKPOINT_UNREADABLE_SPEC_ANNOTATION, spec);
    put_as_text(&w, CHECKPOINT_UNREADABLE_STATUS_ANNOTATION, status);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    if (spec.is_json)
        put_source(&w, "spec", spec);
    else
        put_names(&w, &id);
    put_source(&w, "status", status);
    vpa_json_close_object(&w);
    return 0;
}

static int on_read(void *ctx, const struct vpa_json *item, struct vpa_slice text,
                   struct vpa_error *err)
{
    (void)err;
    return is_readable(ctx, item) ? 0 : on_unreadable(ctx, text);
}

static int on_read_unparsed(void *ctx, struct vpa_slice text, const struct vpa_error *why,
                            struct vpa_error *err)
{
    (void)why;
    (void)err;
    return on_unreadable(ctx, text);
}

static void on_read_end(void *ctx, const struct vpa_list_end *how)
{
    struct checkpoint_worker *worker = ctx;

    worker->reading = NULL;
    worker->ready = true;
    worker->failed = how->err != NULL;
    if (how->err)
        worker->err = *how->err;
}

/* As a list of one: there is no right to get a checkpoint. */
void checkpoint_send_read(struct checkpoint_worker *worker)
{
    vpa_auto_free char *selector =
        vpa_xprintf("metadata.name=%s", checkpoint_job_of(worker)->entry->unreadable);
    vpa_auto_buf path = {0};

    checkpoint_path(&path, vpa_autoscaler_ns(worker->vpa), NULL);
    vpa_kube_query(&path, "fieldSelector", selector);
    vpa_buf_release(&worker->copy);
    worker->stage = STAGE_READ;
    worker->ready = false;
    worker->reading = vpa_listing_start(
        worker->writer->c->options.reader,
        &(struct vpa_list_request){.path = vpa_buf_text(&path), .timeout = CHECKPOINT_TIMEOUT},
        &(struct vpa_list_handler){
            .ctx = worker, .item = on_read, .unreadable = on_read_unparsed, .done = on_read_end});
}

void checkpoint_send_keep(struct checkpoint_worker *worker, enum checkpoint_stage stage)
{
    worker->stage = stage;
    send_call(worker, VPA_KUBE_CREATE, NULL, &worker->copy);
}

void checkpoint_send_keep_delete(struct checkpoint_worker *worker)
{
    vpa_auto_free char *name = checkpoint_kept_name(worker);
    vpa_auto_buf body = VPA_BUF(256);

    vpa_buf_puts(&body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"" VPA_GROUP_VERSION "\"}");
    worker->stage = STAGE_KEEP_DELETE;
    send_call(worker, VPA_KUBE_DELETE, name, &body);
}
