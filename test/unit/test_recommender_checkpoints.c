/*
 * Checkpoints of the whole recommender (decisions U4, U5, U16), and what its log says of failures.
 */

#include "recommender_fixture.h"
#include "captured_log.h"

/* ---- checkpoints ---- */

TEST(writes_unchanged_checkpoints_once_per_max_age) {
    size_t writes = 0;

    start("--checkpoint-max-age=10m");
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 1);
    for (int i = 0; i < 60; i++) {
        pass("{\"usage\":[]}");
        writes += count_writes("PATCH", "/web-app");
    }
    ck_assert_uint_ge(writes, 6);
    ck_assert_uint_le(writes, 8);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
}

/* A pass comes up to one interval late: nothing becomes older than the age, be it only some
 * passes. */
TEST(writes_within_an_age_of_few_passes) {
    start("--checkpoint-max-age=150s");
    pass(USAGE("100m", "100Mi"));
    for (int i = 0, missed = 0; i < 12; i++) {
        pass("{\"usage\":[]}");
        missed = count_writes("PATCH", "/web-app") ? 0 : missed + 1;
        ck_assert_int_lt(missed, 2);
    }
}

/* Passes come every minute, and up to one late: that one is taken off an age of more than two. */
static const struct {
    const char *flag;
    size_t writes; /* in twelve passes without news */
} ages[] = {{"--checkpoint-max-age=1m", 12},
            {"--checkpoint-max-age=2m", 6},
            {"--checkpoint-max-age=3m", 6},
            {"--checkpoint-max-age=4m", 4},
            {"--checkpoint-max-age=5m", 3}};

TEST_EACH(an_age_lasts_for_so_many_passes, ages) {
    size_t writes = 0;

    start(ages[_i].flag);
    pass(USAGE("100m", "100Mi"));
    for (int i = 0; i < 12; i++) {
        pass("{\"usage\":[]}");
        writes += count_writes("PATCH", "/web-app");
    }
    ck_assert_uint_eq(writes, ages[_i].writes);
}

TEST(writes_every_pass_without_max_age) {
    start("--checkpoint-max-age=0");
    pass(USAGE("100m", "100Mi"));
    for (int i = 0; i < 3; i++) {
        pass("{\"usage\":[]}");
        ck_assert_uint_eq(count_writes("PATCH", "/web-app"), 1);
    }
}

TEST(gives_the_second_of_two_equal_names_a_suffix) {
    size_t with_suffix = 0;

    change(VPA("a", "2026-01-15T10:00:00Z"));
    change(VPA("a-app", "2026-01-15T10:00:00Z"));
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-2\","
                 "\"namespace\":\"shop\","
                 "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"x\"},{"
                 "\"name\":\"app-x\"}]},"
                 "\"status\":{\"phase\":\"Running\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    /* "a" + "app-x" and "a-app" + "x" both ask for a-app-x. */
    const struct vpa_json *plain = stored("VerticalPodAutoscalerCheckpoint", "a-app-x");
    ck_assert_ptr_nonnull(plain);
    ck_assert_str_eq(fake_text_at(plain, "spec.vpaObjectName"), "a");
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(server, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(writes[i].method, "POST") == 0 && strstr(writes[i].body, "\"name\":\"a-app-x-"))
            with_suffix++;
    ck_assert_uint_eq(with_suffix, 1);
    /* Another process finds both by their specs. */
    stop();
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
}

#define NAMED(name, when, bucket)                                                                  \
    APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"                                    \
          "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"" name                     \
          "\",\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":"      \
          "\"app\"},\"status\":{\"lastUpdateTime\":\"" when                                        \
          "\",\"version\":\"v3\",\"cpuHistogram\":{"                                               \
          "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"" bucket           \
          "\":10000},\"totalWeight\":8.6},\"memoryHistogram\":{\"referenceTimestamp\":null},"      \
          "\"firstSampleStart\":\"2026-01-10T11:00:00Z\",\"lastSampleStart\":\"" when              \
          "\",\"totalSamplesCount\":62}}")

static const struct {
    const char *objects[2];
} doubles[] = {
    {{NAMED("web-app", "2026-01-15T11:59:00Z", "49"),
      NAMED("web-app-copy", "2026-01-12T11:00:00Z", "0")}},
    {{NAMED("a-copy", "2026-01-12T11:00:00Z", "0"),
      NAMED("web-app", "2026-01-15T11:59:00Z", "49")}},
};

/* Two objects say that they are of one container: the one that was written last counts. */
TEST_EACH(loads_the_newest_of_two, doubles) {
    change(doubles[_i].objects[0]);
    change(doubles[_i].objects[1]);
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_gt(target_cpu(), 1000);
}

/* It keeps the name that it has, also when the one that it once asked for is free by now. */
TEST(keeps_the_name_with_the_suffix) {
    const char *body = NULL;
    size_t count;

    change(VPA("web-x", "2026-01-15T10:00:00Z"));
    change(APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\","
                 "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
                 "\"name\":\"app\"},{\"name\":\"x-app\"}]},\"status\":{\"phase\":\"Running\"}}"));
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    const struct sim_asked *writes = fake_cluster_writes(server, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(writes[i].method, "POST") == 0 && strstr(writes[i].body, "\"web-x-app-"))
            body = vpa_arena_strdup(&arena, strstr(writes[i].body, "web-x-app-"));
    ck_assert_ptr_nonnull(body);
    stop();

    const char *name = vpa_arena_strndup(&arena, body, strcspn(body, "\""));
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscalerCheckpoint\",\"namespace\":\"shop\",\"name\":\"web-x-app\"}}");
    change("{\"delete\":{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
           "\"VerticalPodAutoscaler\",\"namespace\":\"shop\",\"name\":\"web\"}}");
    start(NULL);
    pass(USAGE("200m", "200Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
    ck_assert_ptr_null(stored("VerticalPodAutoscalerCheckpoint", "web-x-app"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", name));
}

/* Not found is something else that has the checkpoint's name in its message. */
static bool miss_the_namespace(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "PATCH") != 0 || !strstr(q->path, "checkpoints/"))
        return false;
    vpa_memory_reply_status(r, 404, NULL, "namespaces \"web-app\" not found");
    return true;
}

TEST(creates_only_what_is_missing_itself) {
    start(NULL);
    hook = miss_the_namespace;
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 0);
    hook = NULL;
    pass(USAGE("110m", "100Mi"));
    ck_assert_uint_eq(count_writes("POST", "checkpoints"), 1);
}

static bool list_for_ever(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") != 0 || !vpa_str_ends_with(q->path, "checkpoints") ||
        vpa_loop_now(loop) >= vpa_time_from_unix(1768478405, 0))
        return false;
    hook_calls++;
    vpa_memory_reply_json(r, 200, "{\"metadata\":{\"continue\":\"same\"},\"items\":[]}");
    return true;
}

TEST(gives_up_a_list_of_checkpoints_without_end) {
    hook = list_for_ever;
    start(NULL);
    ck_assert_uint_ge(hook_calls, 2);
    ck_assert_uint_le(hook_calls, 12); /* two pages, pauses of 0.8 s and more, for 5 s */
}

/* What was learned of a VPA before it came is loaded when it comes; while that cannot be had it
 * has no status, and that is told in each pass. */
static bool lists_fail;

static bool refuse_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!lists_fail || strcmp(q->method, "GET") != 0 || !vpa_str_ends_with(q->path, "checkpoints"))
        return false;
    vpa_memory_reply_status(r, 403, NULL, "forbidden: no right");
    return true;
}

static bool has_status(const char *vpa)
{
    return vpa_json_at(stored("VerticalPodAutoscaler", vpa), "status.recommendation") != NULL;
}

TEST(a_new_vpa_waits_for_its_checkpoints) {
    hook = refuse_lists;
    lists_fail = false;
    start(NULL);
    pass(USAGE("100m", "100Mi"));
    capture_log(0);
    change(VPA("early", "2026-01-15T10:00:00Z"));
    pass(USAGE("100m", "100Mi"));
    ck_assert(has_status("early"));
    ck_assert_uint_eq(logged("Cannot list VPA checkpoints"), 0);
    lists_fail = true;
    change(VPA("late", "2026-01-15T10:00:00Z"));
    for (size_t i = 1; i <= 2; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert(!has_status("late"));
        ck_assert_uint_eq(logged("VPAs that are new here get no status until then"), i);
    }
    lists_fail = false;
    pass(USAGE("100m", "100Mi"));
    ck_assert(has_status("late"));
    ck_assert_uint_eq(logged("Cannot list VPA checkpoints"), 2);
}

/* ---- the log ---- */

static bool refuse_writes(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") == 0)
        return false;
    vpa_memory_reply_status(r, 403, NULL, "forbidden: no right");
    return true;
}

TEST(says_once_per_pass_that_writes_are_refused) {
    change(VPA("web-b", "2026-01-15T10:00:00Z"));
    change(VPA("web-c", "2026-01-15T10:00:00Z"));
    start(NULL);
    capture_log(4);
    hook = refuse_writes;
    for (int i = 0; i < 2; i++) {
        forget_log();
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(logged("Cannot update VPA"), 1);
        ck_assert_uint_eq(logged("Cannot save checkpoint for VPA"), 1);
        ck_assert_uint_eq(logged("failures=3"), 2);
        ck_assert_uint_eq(logged("first=\"shop/web\""), 1);
        ck_assert_uint_eq(logged("no right"), 2);
    }
    hook = NULL;
    forget_log();
    pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(logged("Cannot"), 0);
}

static const char *vpa_number(int number)
{
    static const char form[] = VPA("web-%d", "2026-01-15T10:00:00Z");

    return vpa_arena_printf(&arena, form, number);
}

static bool be_away(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)q;
    vpa_memory_reply_fail(r, VPA_TRANSPORT_REFUSED);
    return true;
}

/* With a log as most people have it: a line for each cause, however many VPAs there are. */
TEST(says_in_few_lines_that_the_server_is_away) {
    size_t lines[2];

    for (int k = 0; k < 40; k++)
        change(vpa_number(k));
    start("--checkpoints-gc-interval=30s");
    pass(USAGE("100m", "100Mi"));
    capture_log(4);
    hook = be_away;
    for (int i = 0; i < 2; i++) {
        forget_log();
        pass(USAGE("2", "1Gi"));
        ck_assert_uint_eq(logged("The API server does not answer"), i == 0);
        lines[i] = logged("err=");
    }
    ck_assert_uint_le(lines[0], 5);
    ck_assert_uint_le(lines[1], 5);
}

static bool count_checkpoint_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "GET") != 0 || !strstr(q->path, "checkpoints") ||
        vpa_loop_monotonic(loop) > 10 * VPA_MINUTE)
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 503, NULL, "later");
    return true;
}

/* Ten minutes away: 0.8 s, 1.6 s, ... and never more than half a minute between two attempts. */
TEST(asks_for_the_checkpoints_at_least_twice_a_minute) {
    hook = count_checkpoint_lists;
    start(NULL);
    ck_assert_uint_ge(hook_calls, 20);
    ck_assert_uint_le(hook_calls, 40);
}

/* The deadline of the step has passed when it begins: each worker still stores one VPA, so that all
 * have their turn. */
TEST(stores_something_however_late_it_is) {
    change(VPA("web-b", "2026-01-15T10:00:00Z"));
    change(VPA("web-c", "2026-01-15T10:00:00Z"));
    start(NULL);
    config.checkpoints_timeout = 0;
    config.update_workers = 1;
    for (int i = 0; i < 3; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(count_writes("POST", "checkpoints"), 1);
    }
}

/* A clock that was ahead for a while leaves no VPA behind the others. */
TEST(a_clock_set_back_keeps_the_turns) {
    static const char *const paths[] = {"/web-app", "/web-b-app", "/web-c-app"};
    size_t writes[VPA_COUNT(paths)] = {0};

    change(VPA("web-b", "2026-01-15T10:00:00Z"));
    change(VPA("web-c", "2026-01-15T10:00:00Z"));
    start(NULL);
    config.update_workers = 1;
    vpa_clock_set(virtual_clock, VPA_HOUR);
    pass("{\"usage\":[]}");
    vpa_clock_set(virtual_clock, -VPA_HOUR);
    config.checkpoints_timeout = 0;
    for (int i = 0; i < 3; i++) {
        pass(USAGE("200m", "200Mi"));
        for (size_t k = 0; k < VPA_COUNT(paths); k++)
            writes[k] += count_writes("PATCH", paths[k]);
    }
    for (size_t k = 0; k < VPA_COUNT(paths); k++)
        ck_assert_uint_eq(writes[k], 1);
}

static bool refuse_one_vpa(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!strstr(q->path, "checkpoints/web-a-") && !strstr(q->body, "\"web-a-"))
        return false;
    vpa_memory_reply_status(r, 403, "Forbidden", "exceeded quota");
    return true;
}

/* A VPA whose checkpoints are refused has its turn like all others, and does not go first in each
 * pass. */
TEST(what_is_refused_goes_behind_the_others) {
    change(VPA("web-a", "2026-01-15T10:00:00Z"));
    change(VPA("web-c", "2026-01-15T10:00:00Z"));
    start(NULL);
    config.checkpoints_timeout = 0;
    config.update_workers = 1;
    hook = refuse_one_vpa;
    for (int i = 0; i < 3; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-c-app"));
}

static bool refuse_a_name(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (strcmp(q->method, "POST") != 0 || !strstr(q->body, "\"web-NO_NAME\""))
        return false;
    hook_calls++;
    vpa_memory_reply_status(r, 422, "Invalid", "metadata.name: Invalid value");
    return true;
}

/* Whoever may write checkpoints says of which container they are: one that no pod can have makes an
 * object that no API server takes, and is not asked for in every pass. */
TEST(what_is_refused_as_invalid_is_not_sent_in_every_pass) {
    change(APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
                 "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"any\",\"namespace\":"
                 "\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"NO_NAME\"},"
                 "\"status\":{\"version\":\"v3\",\"lastSampleStart\":\"2026-01-15T11:58:00Z\","
                 "\"totalSamplesCount\":7}}"));
    start(NULL);
    hook = refuse_a_name;
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(hook_calls, 1);
    for (int i = 0; i < 10; i++)
        pass(USAGE("100m", "100Mi"));
    ck_assert_uint_eq(hook_calls, 2);
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
}

#define STORED_OF_ONE 400

static const char *stored_of_one(int number)
{
    static const char form[] = APPLY(
        "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
        "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-x%d\","
        "\"namespace\":\"shop\"},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"x%d\"},"
        "\"status\":{\"version\":\"v3\",\"lastUpdateTime\":\"2026-01-15T11:59:00Z\","
        "\"firstSampleStart\":\"2026-01-15T11:00:00Z\",\"lastSampleStart\":"
        "\"2026-01-15T11:58:00Z\",\"totalSamplesCount\":7}}");

    return vpa_arena_printf(&arena, form, number, number);
}

/* Whoever may write checkpoints gives a VPA as many containers as he likes; a new process writes
 * each of them, and no pass waits until all of them are. */
TEST(a_vpa_of_many_containers_holds_up_no_pass) {
    size_t written = 0;

    for (int i = 0; i < STORED_OF_ONE; i++)
        change(stored_of_one(i));
    start(NULL);
    for (int i = 0; i < 5; i++) {
        int64_t begin = vpa_loop_monotonic(loop);

        pass("{\"latency\":[{\"method\":\"PATCH\",\"path\":\"checkpoints/web-x\",\"ms\":1000}]}");
        ck_assert_int_le(vpa_loop_monotonic(loop) - begin, 4 * VPA_MINUTE);
        size_t count;
        const struct sim_asked *writes = fake_cluster_writes(server, &count);
        for (size_t k = 0; k < count; k++)
            written += strstr(writes[k].path, "checkpoints/web-x") != NULL;
    }
    ck_assert_uint_eq(written, STORED_OF_ONE);
}

#define LONG_STATES 150

/* Fourteen full slots of Crane's: an eighth of a megabyte. */
static const char *long_state(int number)
{
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, (size_t)1 << 20);
    vpa_buf_printf(
        &text,
        APPLY("{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":"
              "\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-x%d\","
              "\"namespace\":\"shop\",\"annotations\":{"
              "\"vpa.autoscaling.k8s.io/algorithm-state\":\"STATE\"}},\"spec\":{"
              "\"vpaObjectName\":\"web\",\"containerName\":\"x%d.crane\"},\"status\":{"
              "\"version\":\"plumb-crane\",\"lastUpdateTime\":\"2026-01-15T11:59:00Z\"}}"),
        number, number);
    const char *form = vpa_arena_strdup(&arena, vpa_buf_text(&text));
    const char *hole = strstr(form, "STATE");

    vpa_buf_clear(&text);
    vpa_buf_append(&text, form, (size_t)(hole - form));
    vpa_buf_puts(&text, "{'algorithm':'crane','version':1,'lastSample':'2026-01-15T11:58:00Z',"
                        "'samples':9,'state':{'lastSample':'2026-01-15T11:58:00Z'");
    for (int kind = 0; kind < 2; kind++) {
        vpa_buf_printf(&text, ",'%s':{'bucketSize':%s,'slotSeconds':86400,'slots':[",
                       kind ? "memory" : "cpu", kind ? "104857600" : "0.1");
        for (int slot = 20462; slot <= 20468; slot++) {
            vpa_buf_printf(&text, "%s{'slot':%d,'first':0,'weights':[1", slot > 20462 ? "," : "",
                           slot);
            for (int i = 1; i < 1000; i++)
                vpa_buf_puts(&text, ",1.234567");
            vpa_buf_puts(&text, "]}");
        }
        vpa_buf_puts(&text, "]}");
    }
    vpa_buf_puts(&text, "}}");
    vpa_auto_buf escaped = {0};
    vpa_buf_init(&escaped, (size_t)1 << 20);
    for (const char *p = vpa_buf_text(&text); *p; p++)
        *p == '\'' ? vpa_buf_puts(&escaped, "\\\"") : vpa_buf_putc(&escaped, *p);
    return vpa_arena_printf(&arena, "%s%s", vpa_buf_text(&escaped), hole + strlen("STATE"));
}

/* Nor does it take as much memory as he likes: what has no room waits, and has its turn. */
TEST(a_vpa_of_long_states_is_written_in_parts) {
    size_t written[3] = {0};

    for (int i = 0; i < LONG_STATES; i++)
        change(long_state(i));
    start(NULL);
    for (int i = 0; i < 3; i++) {
        size_t count;

        pass(USAGE("100m", "100Mi"));
        const struct sim_asked *writes = fake_cluster_writes(server, &count);
        for (size_t k = 0; k < count; k++)
            written[i] += strstr(writes[k].path, "checkpoints/web-x") != NULL;
    }
    ck_assert_uint_gt(written[0], LONG_STATES / 3);
    ck_assert_uint_lt(written[0], LONG_STATES);
    ck_assert_uint_eq(written[0] + written[1], LONG_STATES);
    ck_assert_uint_eq(written[2], 0);
}

#define OF_ONE_POD 250

static void put_pod_of_many(void)
{
    char *text = vpa_arena_printf(&arena, "%s", "");

    for (int i = 0; i < OF_ONE_POD; i++)
        text = vpa_arena_printf(&arena, "%s%s{\"name\":\"c%03d\"}", text, i > 0 ? "," : "", i);
    change(vpa_arena_printf(
        &arena,
        APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-1\","
              "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":"
              "[%s]},\"status\":{\"phase\":\"Running\"}}"),
        text));
}

/* Each of them uses another amount in each pass. */
static const char *usage_of_many(int number)
{
    char *text = vpa_arena_printf(
        &arena, "{\"latency\":[{\"method\":\"PATCH\",\"path\":\"checkpoints/web-c\","
                "\"ms\":1000}],\"usage\":[{\"namespace\":\"shop\",\"pod\":\"web-1\","
                "\"containers\":[");

    for (int i = 0; i < OF_ONE_POD; i++)
        text = vpa_arena_printf(&arena, "%s%s{\"name\":\"c%03d\",\"cpu\":[\"%dm\"]}", text,
                                i > 0 ? "," : "", i, 100 + 50 * number);
    return vpa_arena_printf(&arena, "%s]}]}", text);
}

/* Where all of them change in each pass and there is never time for all, they take turns: no more
 * than three passes of a hundred lie between two writes of one. */
TEST(containers_that_change_all_the_time_take_turns) {
    int written[OF_ONE_POD] = {0};
    size_t count;

    put_pod_of_many();
    start(NULL);
    for (int i = 0; i < 9; i++) {
        pass(usage_of_many(i));
        const struct sim_asked *writes = fake_cluster_writes(server, &count);
        for (size_t k = 0; k < count; k++) {
            const char *name = strstr(writes[k].path, "checkpoints/web-c");
            if (name)
                written[atoi(name + strlen("checkpoints/web-c"))]++;
        }
    }
    for (int i = 0; i < OF_ONE_POD; i++)
        ck_assert_int_ge(written[i], 3);
}

#define LONG_NAME /* 250 characters */                                                             \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789"   \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789v123456789"   \
    "v123456789v123456789v123456789v123456789v123456789v123456789v123456789"

TEST(says_once_that_a_checkpoint_name_is_too_long) {
    ck_assert_uint_eq(strlen(LONG_NAME), 250);
    change(VPA(LONG_NAME, "2026-01-15T10:00:00Z"));
    start(NULL);
    capture_log(4);
    for (int i = 0; i < 3; i++) {
        pass(USAGE("100m", "100Mi"));
        ck_assert_uint_eq(logged("is longer than 253 characters"), 1);
        ck_assert_uint_eq(count_writes("PATCH", LONG_NAME "-app"), 0);
        ck_assert_uint_eq(logged("Cannot save checkpoint for VPA"), 0);
    }
    ck_assert_ptr_nonnull(stored("VerticalPodAutoscalerCheckpoint", "web-app"));
    ck_assert_ptr_nonnull(
        vpa_json_first(vpa_json_at(stored("VerticalPodAutoscaler", LONG_NAME),
                                   "status.recommendation.containerRecommendations")));
}

static bool answer_external(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_starts_with(q->path, "/apis/external.metrics.k8s.io/"))
        return false;
    hook_calls++;
    vpa_memory_reply_json(r, 200, "{\"items\":[]}");
    return true;
}

TEST(says_once_that_pods_cannot_be_asked_for) {
    change(POD("web-"
               "1234567890123456789012345678901234567890123456789012345678901234567890"));
    start(NULL);
    config.use_external_metrics = true;
    config.external_cpu_metric = "cpu";
    config.external_memory_metric = "";
    capture_log(0);
    hook = answer_external;
    for (int i = 0; i < 3; i++)
        pass("{\"usage\":[]}");
    ck_assert_uint_eq(hook_calls, 3); /* web-1 only */
    ck_assert_uint_eq(logged("Cannot ask for external metrics"), 1);
}

#define PEAKS 7400 /* of 27 or 28 bytes each */

/* The open peaks of all pods are longer than an annotation may be. */
TEST(says_once_that_peaks_do_not_fit) {
    vpa_auto_buf usage = VPA_BUF(1 << 20);

    for (int i = 0; i < PEAKS; i++) {
        vpa_auto_free char *name = vpa_xprintf("web-%d", i);
        vpa_auto_free char *pod = vpa_xprintf(
            APPLY("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                  "\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":"
                  "[{\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\"}}"),
            name);

        change(pod);
        vpa_buf_printf(&usage,
                       "%s{\"namespace\":\"shop\",\"pod\":\"%s\",\"containers\":[{\"name\":"
                       "\"app\",\"cpu\":[\"1\"],\"memory\":[\"90Ti\"]}]}",
                       i ? "," : "{\"usage\":[", name);
    }
    vpa_buf_puts(&usage, "]}");
    start("--checkpoint-max-age=0");
    capture_log(0);
    for (int i = 0; i < 3; i++) {
        pass(vpa_buf_text(&usage));
        ck_assert_uint_eq(count_writes(i ? "PATCH" : "POST", i ? "/web-app" : "checkpoints"), 1);
        ck_assert_uint_eq(logged("A checkpoint has no room for the open memory peaks"), 1);
    }
}

static bool fail_lists(const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    if (!vpa_str_ends_with(q->path, "checkpoints") || strcmp(q->method, "GET") != 0 ||
        hook_calls >= 3)
        return false;
    if (hook_calls++ == 1) {
        vpa_memory_reply_bytes(r, 200, "application/json", "{\"items\":[{\"metad", 17);
        return true;
    }
    vpa_memory_reply_status(r, 503, NULL, "down");
    return true;
}

TEST(waits_until_checkpoints_can_be_read) {
    start(NULL);
    for (int i = 0; i < 30; i++)
        pass(USAGE("1", "1Gi"));
    int64_t before = target_cpu();
    stop();
    hook = fail_lists;
    start(NULL);
    ck_assert_uint_eq(hook_calls, 3);
    pass(USAGE("100m", "100Mi"));
    ck_assert_int_ge(target_cpu(), before * 95 / 100);
}

int main(void)
{
    return run_tests_within(60, "recommender_checkpoints", setup, teardown);
}
