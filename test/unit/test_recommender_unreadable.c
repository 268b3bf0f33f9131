/* Checkpoints that cannot be read (U16), or that a backup has left without a part. */
#include "allocated.h"
#include "recommender_fixture.h"
#include "captured_log.h"

TEST(keeps_what_it_cannot_read) {
    change(UNREADABLE_CHECKPOINT);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct vpa_json *kept = stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable");
    ck_assert_ptr_nonnull(kept);
    ck_assert_str_eq(fake_text_at(kept, "status.version"), "v9");
    ck_assert_str_eq(fake_text_at(kept, "spec.containerName"), "app");
    ck_assert_str_eq(
        fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"), "v3");
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count_writes("POST", "/events"), 1);

    /* The next process loads the new one, not the copy, and keeps nothing. */
    stop();
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(count_writes("POST", "/events"), 0);
}

/* Another replica leads, has kept it aside and written it anew; this one has only read it. What
 * it writes now is no longer what could not be read. */
TEST(what_somebody_has_written_anew_takes_no_place_of_a_copy) {
    change(UNREADABLE_CHECKPOINT);
    start(NULL);
    change(
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app-unreadable\","
              "\"namespace\":\"shop\",\"annotations\":{\"vpa.autoscaling.k8s.io/unreadable-since\":"
              "\"2026-01-15T11:59:00Z\"}},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"
              "\"app\"},\"status\":{\"version\":\"v9\"}}"));
    change(APPLY(
        "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
        "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app\",\"namespace\":"
        "\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{"
        "\"version\":\"v3\",\"totalSamplesCount\":1}}"));
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("DELETE", ""), 0);
    ck_assert_str_eq(fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"),
                                  "status.version"),
                     "v9");
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
}

#define RESTORED(status)                                                                           \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"                                                  \
          "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{"                       \
          "\"name\":\"web-app\",\"namespace\":\"shop\",\"annotations\":{\"team\":\"a\"}},"         \
          "\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"}" status "}")

static const char *const no_status[] = {RESTORED(""), RESTORED(",\"status\":null"),
                                        RESTORED(",\"status\":{\"version\":\"v3\"}")};

/* Velero leaves the status out of what it restores: there is nothing to keep, and nothing to warn
 * of. */
TEST_EACH(a_checkpoint_that_was_restored_without_its_status_is_written, no_status) {
    change(no_status[_i]);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct vpa_json *object = stored("VerticalPodAutoscalerCheckpoint", "web-app");
    ck_assert_str_eq(fake_text_at(object, "status.version"), "v3");
    ck_assert_str_eq(fake_text_at(object, "metadata.annotations.team"), "a");
    ck_assert_ptr_nonnull(vpa_json_at(object, "status.totalSamplesCount"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
    pass(USAGE("200m", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
}

/* The name for the copy is that of another container's checkpoint, or the other way round. */
TEST(a_copy_and_a_checkpoint_of_one_name_both_stay) {
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\","
                 "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
                 "\"name\":\"app\"},{\"name\":\"app-unreadable\"}]},\"status\":{\"phase\":"
                 "\"Running\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    stop();
    change(UNREADABLE_CHECKPOINT);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("DELETE", ""), 0);
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 1); /* the copy */
    ck_assert_str_eq(fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"),
                                  "spec.containerName"),
                     "app-unreadable");
}

TEST(replaces_an_older_copy) {
    change(UNREADABLE_CHECKPOINT);
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/"
                 "v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":"
                 "{\"name\":\"web-app-unreadable\",\"namespace\":\"shop\",\"annotations\":{"
                 "\"vpa.autoscaling.k8s.io/"
                 "unreadable-since\":\"2026-01-15T00:00:00Z\"}},\"spec\":{\"vpaObjectName\":"
                 "\"web\",\"containerName\":\"app\"},\"status\":{\"version\":\"v8\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("DELETE", "/web-app-unreadable"), 1);
    ck_assert_str_eq(fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"),
                                  "status.version"),
                     "v9");
}

static bool refuse_create(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "POST") != 0 || !vpa_str_ends_with(q->path, "checkpoints"))
        return false;
    vpa_memory_reply_status(r, 403, NULL, "no");
    return true;
}

TEST(does_not_overwrite_what_it_could_not_keep) {
    change(UNREADABLE_CHECKPOINT);
    start(NULL);
    hook = refuse_create;
    capture_log(0);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(logged("it is not overwritten"), 1);
    ck_assert_str_eq(
        fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"), "v9");
    hook = NULL;
    pass(USAGE("110m", "100Mi"));
    ck_assert_str_eq(
        fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"), "v3");
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
}

static bool find_create_invalid(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "POST") != 0 || !vpa_str_ends_with(q->path, "checkpoints"))
        return false;
    vpa_memory_reply_status(r, 422, "Invalid", "no such field");
    return true;
}

/* Waiting longer would not help: the history goes on, and the loss is told. */
TEST(overwrites_what_nobody_can_keep) {
    change(UNREADABLE_CHECKPOINT);
    start(NULL);
    hook = find_create_invalid;
    capture_log(0);
    for (int i = 0; i < 3; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(logged("Cannot keep an unreadable checkpoint aside; it is lost"), 1);
        ck_assert_str_eq(
            fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"),
            "v3");
    }
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-app-unreadable"));
}

/* Whoever may write checkpoints can nest what the schema lets through deeper than it is read: the
 * API server takes ten thousand levels. */
#define NESTED_LEVELS 1500
static const char *nested_of;   /* the VPA that it names */
static struct vpa_slice listed; /* what the server has */
static char *copied;            /* what was sent to be kept */

static struct vpa_slice in_arena(const struct vpa_buf *text)
{
    return (struct vpa_slice){vpa_arena_strndup(&arena, text->data, text->len), text->len};
}

static struct vpa_slice nested_list(void)
{
    vpa_auto_buf text = VPA_BUF(1 << 16);

    vpa_buf_printf(&text,
                   "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":"
                   "\"web-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"%s\","
                   "\"containerName\":\"app\"},\"status\":{\"precious\":true,\"cpuHistogram\":{"
                   "\"bucketWeights\":",
                   nested_of);
    for (int i = 0; i < NESTED_LEVELS; i++)
        vpa_buf_puts(&text, "{\"1\":");
    vpa_buf_puts(&text, "1");
    for (int i = 0; i < NESTED_LEVELS; i++)
        vpa_buf_putc(&text, '}');
    vpa_buf_puts(&text, "}}}]}");
    return in_arena(&text);
}

static bool serve_listed(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_ends_with(q->path, "checkpoints"))
        return false;
    if (strcmp(q->method, "GET") == 0) {
        vpa_memory_reply_bytes(r, 200, "application/json", listed.ptr, listed.len);
        return true;
    }
    copied = vpa_arena_strdup(&arena, q->body);
    vpa_memory_reply_json(r, 201, "{}");
    return true;
}

/* It holds up nobody, and is kept as it was before it is written anew. */
TEST(a_checkpoint_that_is_nested_too_deeply_stops_nobody) {
    copied = NULL;
    nested_of = "web";
    change(UNREADABLE_CHECKPOINT);
    listed = nested_list();
    hook = serve_listed;
    capture_log(0);
    start(NULL);
    ck_assert_uint_eq(logged("Cannot list VPA checkpoints"), 0);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 0);
    ck_assert_ptr_nonnull(copied);
    ck_assert_ptr_nonnull(strstr(copied, "\"name\":\"web-app-unreadable\""));
    ck_assert_ptr_nonnull(strstr(copied, "{\"vpaObjectName\":\"web\",\"containerName\":\"app\"}"));
    ck_assert_ptr_nonnull(strstr(copied, "{\"precious\":true,\"cpuHistogram\":{"
                                         "\"bucketWeights\":{\"1\":{\"1\":"));
    ck_assert_str_eq(
        fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"), "v3");
}

TEST(a_checkpoint_that_is_nested_too_deeply_goes_with_its_vpa) {
    size_t deleted = 0;

    nested_of = "gone";
    listed = nested_list();
    hook = serve_listed;
    start("--checkpoints-gc-interval=90s");
    for (int i = 0; i < 2; i++) {
        pass(USAGE("100m", "100Mi"));
        deleted += count_writes("DELETE", "/web-app");
    }
    ck_assert_uint_eq(deleted, 1);
}

/* After the start and a pass, with that list: the copy that was sent. */
static const struct vpa_json *copy_out_of(const struct vpa_buf *list)
{
    const struct vpa_json *root;
    struct vpa_error err;

    listed = in_arena(list);
    copied = NULL;
    change(UNREADABLE_CHECKPOINT);
    hook = serve_listed;
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(copied);
    ck_assert_msg(vpa_json_parse(&arena, copied, strlen(copied), &root, &err) == 0, "%s", err.text);
    return root;
}

static const char *kept_text(const struct vpa_json *copy, const char *annotation)
{
    return vpa_json_string(vpa_json_find(vpa_json_at(copy, "metadata.annotations"), annotation));
}

/* What no API server writes, but a proxy between may. It is kept as a text, for what is no JSON
 * cannot be sent. */
static const struct {
    const char *status;
    size_t len;
    const char *kept;
} no_json[] = {
#define NO_JSON(status, kept)                                                                      \
    {                                                                                              \
        status, sizeof(status) - 1, kept                                                           \
    }
    NO_JSON("{\"version\":\"v3\x01\"}", "{\"version\":\"v3\x01\"}"),
    NO_JSON("{\"version\":\"v3\0\",\"a\":1}", "{\"version\":\"v3\xef\xbf\xbd\",\"a\":1}"),
    NO_JSON("{\"totalSamplesCount\":01}", "{\"totalSamplesCount\":01}"),
    NO_JSON("tru", "tru"),
#undef NO_JSON
};

#define ANOTHER                                                                                    \
    "{\"metadata\":{\"name\":\"web-old\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":"     \
    "\"web\","                                                                                     \
    "\"containerName\":\"old\"},\"status\":{\"version\":\"v9\"}}"
#define OF_NO_JSON                                                                                 \
    "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":\"web-app\","    \
    "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},"      \
    "\"status\":"

TEST_EACH(a_checkpoint_that_is_no_json_is_kept_as_a_text, no_json) {
    vpa_auto_buf text = VPA_BUF(1 << 16);

    vpa_buf_puts(&text, OF_NO_JSON);
    vpa_buf_append(&text, no_json[_i].status, no_json[_i].len);
    vpa_buf_puts(&text, "}," ANOTHER "]}"); /* a server that does not select by name */
    const struct vpa_json *kept = copy_out_of(&text);
    ck_assert_str_eq(fake_text_at(kept, "metadata.name"), "web-app-unreadable");
    ck_assert_str_eq(fake_text_at(kept, "spec.containerName"), "app");
    ck_assert_ptr_null(vpa_json_at(kept, "status"));
    ck_assert_str_eq(kept_text(kept, "vpa.autoscaling.k8s.io/unreadable-status"), no_json[_i].kept);
    ck_assert_str_eq(
        fake_text_at(stored("VerticalPodAutoscalerCheckpoint", "web-app"), "status.version"), "v3");
}

/* The copy goes with its VPA, whose name is all that can be read of what names it. */
TEST(a_copy_names_its_vpa_whatever_else_is_said_there) {
    vpa_auto_buf text = VPA_BUF(1 << 16);

    vpa_buf_puts(&text,
                 "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":"
                 "\"web-app\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\","
                 "\"containerName\":\"app\",\"odd\":\"\x02\"},\"status\":{\"precious\":true}}]}");
    const struct vpa_json *kept = copy_out_of(&text);
    ck_assert_str_eq(fake_text_at(kept, "spec.vpaObjectName"), "web");
    ck_assert_str_eq(fake_text_at(kept, "spec.containerName"), "app");
    ck_assert_ptr_nonnull(vpa_json_at(kept, "status.precious"));
    ck_assert_str_eq(kept_text(kept, "vpa.autoscaling.k8s.io/unreadable-spec"),
                     "{\"vpaObjectName\":\"web\",\"containerName\":\"app\",\"odd\":\"\x02\"}");
}

#define HEAVY 40
#define HEAVY_BYTES 100000

static const char *heavy_checkpoint(int number)
{
    vpa_auto_buf weights = VPA_BUF(HEAVY_BYTES + 64);

    for (int i = 0; weights.len < HEAVY_BYTES; i++)
        vpa_buf_printf(&weights, "%s\"x%d\":1", i ? "," : "", i);
    return vpa_arena_printf(&arena,
                            APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
                                  "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":"
                                  "\"web-x%d\",\"namespace\":\"shop\"},\"spec\":{"
                                  "\"vpaObjectName\":\"web\",\"containerName\":\"x%d\"},"
                                  "\"status\":{\"version\":\"v3\",\"cpuHistogram\":{"
                                  "\"bucketWeights\":{%s}}}}"),
                            number, number, vpa_buf_text(&weights));
}

/* What cannot be read is not held until somebody has a container of that name. */
TEST(what_cannot_be_read_takes_no_room) {
    for (int i = 0; i < HEAVY; i++)
        change(heavy_checkpoint(i));
    construct(NULL);
    struct vpa_error err;
    ck_assert_int_eq(recommender_start(recommender, &err), 0);
    capture_log(0);
    size_t before = allocated();
    ck_assert_int_eq(recommender_load_history(recommender, &err), 0);
    ck_assert_uint_eq(logged("it will be kept aside"), HEAVY);
    ck_assert_uint_lt(allocated(), before + (size_t)HEAVY * HEAVY_BYTES / 4);
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\","
                 "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
                 "\"name\":\"x7\"}]},\"status\":{\"phase\":\"Running\"}}"));
    pass("{\"usage\":[]}");
    const struct vpa_json *kept = stored("VerticalPodAutoscalerCheckpoint", "web-x7-unreadable");
    ck_assert_str_eq(fake_text_at(kept, "spec.containerName"), "x7");
    ck_assert_ptr_nonnull(vpa_json_at(kept, "status.cpuHistogram.bucketWeights.x77"));
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-x8-unreadable"));
}

int main(void)
{
    return run_tests_within(60, "recommender_unreadable", setup, teardown);
}
