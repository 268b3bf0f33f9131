/* Histories of VPAs: merging in a fixed order, loaded checkpoints, what is stored. */
#include <check.h>
#include <math.h>

#include "model_fixture.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

static struct vpa_aggregation global;
static struct vpa_arena arena;
static struct vpa_cluster *c;
static struct vpa_autoscaler *v;
static vpa_time now;

static void setup(void)
{
    struct vpa_cluster_options options = {.aggregation = &global};

    vpa_aggregation_init(&global);
    vpa_arena_init(&arena, 0);
    now = at("2026-01-15T14:00:00Z");
    c = vpa_cluster_new(&options);
    v = vpa_cluster_put_vpa(c, simple_vpa(&arena, "v"), selector_of(&arena, "app=web"), NULL, now);
}

static void teardown(void)
{
    vpa_cluster_free(c);
    vpa_aggregation_release(&global);
    vpa_arena_release(&arena);
}

static void put(const char *name, const char *labels, const char *container)
{
    struct vpa_labels decoded;
    struct vpa_error err;

    ck_assert_int_eq(vpa_labels_decode(&arena, json(&arena, labels), &decoded, &err), 0);
    vpa_cluster_put_bare_pod(c, "ns", name, &decoded, VPA_PHASE_RUNNING, now);
    ck_assert_int_eq(vpa_cluster_put_container(c, "ns", name, container, now, &err), 0);
}

static void use(const char *pod, const char *container, enum vpa_kind kind, const char *when,
                vpa_amount amount)
{
    struct vpa_error err;

    ck_assert_int_eq(
        add_sample(c, CONTAINER("ns", pod, container), kind, at(when), amount, now, &err), 0);
}

struct stored {
    int count;
    const char *name[8];
    const char *text[8];
    struct vpa_open_intervals open[8];
};

/* Through their texts, as a restart does. */
static struct vpa_open_intervals copy_intervals(const struct vpa_open_intervals *open)
{
    struct vpa_open_intervals copy;
    vpa_auto_buf text = {0};
    struct vpa_error err;

    vpa_buf_init(&text, VPA_OPEN_INTERVALS_TEXT_MAX);
    ck_assert_uint_eq(vpa_open_intervals_encode(&text, open), open->count);
    ck_assert_msg(vpa_open_intervals_decode(&arena, vpa_buf_text(&text), &copy, &err) == 0, "%s",
                  err.text);
    return copy;
}

static void keep(void *ctx, const char *container, const struct vpa_checkpoint_status *status,
                 const struct vpa_open_intervals *open)
{
    struct stored *stored = ctx;

    stored->open[stored->count] = copy_intervals(open);
    stored->name[stored->count] = vpa_arena_strdup(&arena, container);
    stored->text[stored->count++] = checkpoint_text(&arena, status);
}

START_TEST(names_in_order_and_single_sources_uncopied)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 0);
    vpa_histories_release(&h);
    put("p", "{\"app\":\"web\"}", "z");
    put("p", "{\"app\":\"web\"}", "a");
    put("p", "{\"app\":\"web\"}", "m");
    put("q", "{\"app\":\"web\",\"x\":\"1\"}", "m");
    put("r", "{\"app\":\"db\"}", "m");
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 3);
    ck_assert_uint_eq(h.merged_count, 1);
    ck_assert_str_eq(h.items[0].container, "a");
    ck_assert_str_eq(h.items[1].container, "m");
    ck_assert_str_eq(h.items[2].container, "z");
    ck_assert_ptr_eq(h.items[1].aggregate, h.merged);
    vpa_histories_release(&h);
}
END_TEST

/* '-' sorts before '=': the order is that of the texts "k=v", not that of the keys. */
START_TEST(groups_merge_by_the_text_of_their_labels)
{
    static const char *const times[] = {"2026-01-15T13:00:00Z", "2026-01-15T13:01:00Z",
                                        "2026-01-15T13:02:00Z"};
    struct vpa_histories h;
    struct vpa_aggregate by_hand[3], sum;
    static const char *const labels[] = {"{\"app\":\"web\",\"a\":\"1\"}",
                                         "{\"app\":\"web\",\"a-b\":\"1\"}",
                                         "{\"app\":\"web\",\"a\":\"0\"}"};
    static const int order[] = {1, 2, 0}; /* a-b=1 < a=0 < a=1 */

    vpa_aggregate_init(&sum, &global, now);
    for (int i = 0; i < 3; i++) {
        const char *name = vpa_arena_printf(&arena, "p%d", i);
        put(name, labels[i], "app");
        use(name, "app", VPA_KIND_CPU, times[i], 500);
        vpa_aggregate_init(&by_hand[i], &global, now);
        vpa_aggregate_add_cpu(&by_hand[i], at(times[i]), 500);
    }
    for (int i = 0; i < 3; i++)
        vpa_aggregate_merge(&sum, &by_hand[order[i]]);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert(h.items[0].aggregate->cpu.h.total == sum.cpu.h.total);
    ck_assert_int_eq(h.items[0].aggregate->sample_count, 3);
    vpa_histories_release(&h);
    vpa_aggregate_release(&sum);
    for (int i = 0; i < 3; i++)
        vpa_aggregate_release(&by_hand[i]);
}
END_TEST

#define LOADED                                                                                     \
    "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\","       \
    "\"bucketWeights\":{\"8\":10000},\"totalWeight\":3},\"firstSampleStart\":\"2026-01-10T00:00:"  \
    "00Z\","                                                                                       \
    "\"lastSampleStart\":\"2026-01-14T00:00:00Z\",\"totalSamplesCount\":30}"

#define STORED(cpu_reference, cpu_total, memory_total)                                             \
    "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":\"" cpu_reference                \
    "\",\"bucketWeights\":{\"8\":10000},\"totalWeight\":" cpu_total                                \
    "},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{"   \
    "\"9\":10000},\"totalWeight\":" memory_total "},\"totalSamplesCount\":30}"

static const struct {
    const char *status;
    const char *error; /* end of the text, NULL: loaded */
} stored_cases[] = {
    {STORED("2026-01-15T00:00:00Z", "3", "3"), NULL},
    {STORED("2026-01-15T00:00:00Z", "1e100", "1e100"), NULL},
    {STORED("2026-04-20T00:00:00Z", "3", "3"), NULL}, /* a clock that went wrong, yet harmless */
    {STORED("0001-01-01T00:00:01Z", "3", "3"), NULL}, /* decays to nothing */
    {STORED("2026-01-15T00:00:00Z", "1e101", "3"),
     "cpu histogram has an impossible total weight 1e+101"},
    {STORED("2026-01-15T00:00:00Z", "3", "1e308"),
     "memory histogram has an impossible total weight 1e+308"},
    {STORED("2026-01-15T00:00:00Z", "-3", "3"), "cannot load checkpoint with negative weight -3"},
    {STORED("2027-01-15T00:00:00Z", "3", "3"),
     "cpu histogram has an impossible reference time 2027-01-15T00:00:00Z"},
    {STORED("9999-12-31T23:59:59Z", "3", "3"),
     "cpu histogram has an impossible reference time 9999-12-31T23:59:59Z"},
};

/* Refused or not: what is measured afterwards counts, and nothing becomes infinite. */
START_TEST(hostile_checkpoints_spoil_nothing)
{
    const struct vpa_checkpoint_status *status = checkpoint_of(&arena, stored_cases[_i].status);
    struct vpa_histories h;
    struct vpa_error err;

    put("p", "{\"app\":\"web\"}", "app");
    int rc = vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err);
    ck_assert_int_eq(rc, stored_cases[_i].error ? -1 : 0);
    if (rc < 0)
        ck_assert_msg(vpa_str_ends_with(err.text, stored_cases[_i].error), "%s", err.text);
    use("p", "app", VPA_KIND_CPU, "2026-01-15T13:00:00Z", 500);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 1);
    const struct vpa_histogram *cpu = &h.items[0].aggregate->cpu.h;
    ck_assert(cpu->total > 0 && cpu->total < 1e200);
    ck_assert(vpa_histogram_percentile(cpu, 0.9) > 0 && vpa_histogram_percentile(cpu, 0.9) < 10);
    vpa_histories_release(&h);
}
END_TEST

/* Peaks are stamped with the end of their interval: one of a year is no damage, where the policy
 * says so. */
START_TEST(what_a_long_interval_stores_is_loaded)
{
    const struct vpa_checkpoint_status *status = checkpoint_of(
        &arena, "{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":"
                "\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"1\":10000},\"totalWeight\":1},"
                "\"memoryHistogram\":{\"referenceTimestamp\":\"2027-01-14T00:00:00Z\","
                "\"bucketWeights\":{\"1\":10000},\"totalWeight\":1}}");
    struct vpa_error err;

    global.per_vpa_config = true;
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err), -1);
    vpa_cluster_put_vpa(
        c,
        vpa_of(&arena, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{"
                       "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\","
                       "\"memoryAggregationInterval\":\"8760h\"}]}}}"),
        selector_of(&arena, "app=web"), NULL, now);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", status, now, &err), 0);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "other", status, now, &err), -1);
}
END_TEST

START_TEST(counts_of_stored_samples_do_not_overflow)
{
    struct vpa_checkpoint_status status =
        *checkpoint_of(&arena, STORED("2026-01-15T00:00:00Z", "3", "3"));
    struct vpa_aggregate a;
    struct vpa_error err;

    status.total_samples_count = INT64_MAX;
    vpa_aggregate_init(&a, &global, now);
    ck_assert_int_eq(vpa_aggregate_load(&a, &status, &err), 0);
    vpa_aggregate_add_cpu(&a, now, 500);
    ck_assert_int_eq(a.sample_count, INT64_MAX);
    vpa_aggregate_release(&a);
}
END_TEST

START_TEST(weights_that_are_no_numbers_are_refused)
{
    static const double weights[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.5};
    struct vpa_checkpoint_status status =
        *checkpoint_of(&arena, STORED("2026-01-15T00:00:00Z", "3", "3"));
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(weights); i++) {
        status.cpu.total_weight = weights[i];
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app", &status, now, &err), -1);
        ck_assert_int_eq(err.code, VPA_INVALID);
    }
}
END_TEST

START_TEST(loaded_histories_are_merged_in)
{
    struct vpa_histories h;
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "gone", checkpoint_of(&arena, LOADED), now, &err),
        0);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 2); /* also without pods */
    vpa_histories_release(&h);
    put("p", "{\"app\":\"web\"}", "app");
    use("p", "app", VPA_KIND_CPU, "2026-01-15T13:00:00Z", 500);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 2);
    ck_assert_int_eq(h.items[0].aggregate->sample_count, 31);
    ck_assert(h.items[0].aggregate->first_sample == at("2026-01-10T00:00:00Z"));
    ck_assert(h.items[0].aggregate->last_sample == at("2026-01-15T13:00:00Z"));
    ck_assert_int_eq(h.items[1].aggregate->sample_count, 30);
    vpa_histories_release(&h);
}
END_TEST

START_TEST(many_containers_can_be_loaded)
{
    struct vpa_histories h;
    struct vpa_error err;

    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v",
                                                     vpa_arena_printf(&arena, "c%d", i),
                                                     checkpoint_of(&arena, LOADED), now, &err),
                         0);
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.count, 9);
    ck_assert_str_eq(h.items[8].container, "c8");
    vpa_histories_release(&h);
}
END_TEST

#define MANY 100

static void load_many(const char *status)
{
    struct vpa_error err;

    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v",
                                                     vpa_arena_printf(&arena, "c%d", i),
                                                     checkpoint_of(&arena, status), now, &err),
                         0);
}

static size_t count_histories(void)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    size_t count = h.count;
    vpa_histories_release(&h);
    return count;
}

/* Found by their names, loaded again in their places, and gone when they are old. */
START_TEST(a_hundred_containers_are_each_there_once)
{
    load_many(LOADED);
    load_many(LOADED);
    ck_assert_uint_eq(count_histories(), MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert(!vpa_time_is_unset(
            vpa_autoscaler_history_age(v, vpa_arena_printf(&arena, "c%d", i)).loaded_from));
    ck_assert(vpa_time_is_unset(vpa_autoscaler_history_age(v, "c100").loaded_from));
    put("p", "{\"app\":\"web\"}", "c7");
    vpa_cluster_collect_garbage(c, vpa_time_add(now, 30 * 24 * VPA_HOUR), NULL, NULL);
    ck_assert_uint_eq(count_histories(), 1);
    ck_assert(!vpa_time_is_unset(vpa_autoscaler_history_age(v, "c7").loaded_from));
    ck_assert(vpa_time_is_unset(vpa_autoscaler_history_age(v, "c8").loaded_from));
    load_many(LOADED);
    ck_assert_uint_eq(count_histories(), MANY);
}
END_TEST

START_TEST(unreadable_checkpoints_are_reported)
{
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "w", "app", checkpoint_of(&arena, LOADED), now, &err),
        -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_str_eq(err.text, "cannot load checkpoint to missing VPA object ns/w");
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app",
                                                 checkpoint_of(&arena, "{\"version\":\"v1\"}"), now,
                                                 &err),
                     -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(
        err.text, "cannot load checkpoint for VPA ns/v. Reason: unsupported checkpoint version v1");
}
END_TEST

START_TEST(open_peaks_are_not_stored)
{
    struct stored stored = {0};

    put("p", "{\"app\":\"web\"}", "app");
    put("q", "{\"app\":\"web\"}", "app");
    put("q", "{\"app\":\"web\"}", "side");
    put("r", "{\"app\":\"web\"}", "app"); /* no samples: nothing open */
    use("p", "app", VPA_KIND_MEMORY, "2026-01-14T13:00:00Z", 100 * MI); /* closed at 13:00 */
    use("p", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 300 * MI); /* open */
    use("q", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 900 * MI); /* open */
    use("q", "side", VPA_KIND_MEMORY, "2026-01-15T13:31:00Z", 70 * MI); /* open */
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    ck_assert_uint_eq(stored.open[0].count, 2);
    ck_assert_int_eq(stored.open[0].items[0].usage, 300 * MI);
    ck_assert_int_eq(stored.open[0].items[1].usage, 900 * MI);
    ck_assert_uint_eq(stored.open[1].count, 1);
    ck_assert_int_eq(stored.open[1].items[0].usage, 70 * MI);
    ck_assert_int_eq(stored.count, 2);
    ck_assert_str_eq(stored.name[0], "app");
    ck_assert_str_eq(stored.name[1], "side");
    ck_assert_ptr_nonnull(strstr(stored.text[0],
                                 "\"memoryHistogram\":{\"referenceTimestamp\":"
                                 "\"2026-01-16T00:00:00Z\",\"bucketWeights\":{\"8\":"
                                 "10000},"));
    /* the live history keeps them */
    struct vpa_histories h;
    vpa_cluster_histories(c, v, now, &h);
    ck_assert_uint_eq(h.items[0].aggregate->memory.h.max, 35);
    vpa_histories_release(&h);
    /* when the interval is over they are stored */
    stored.count = 0;
    vpa_cluster_checkpoints(c, v, now + DAY, keep, &stored);
    ck_assert_ptr_nonnull(strstr(stored.text[0], "\"35\":"));
}
END_TEST

START_TEST(collected_aggregates_have_no_open_peaks)
{
    struct stored stored = {0};
    struct vpa_error err;

    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    put("p", "{\"app\":\"web\"}", "app");
    use("p", "app", VPA_KIND_CPU, "2026-01-01T00:00:00Z", 100);
    use("p", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 300 * MI);
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    ck_assert_int_eq(stored.count, 1);
    ck_assert_ptr_nonnull(
        strstr(stored.text[0], "\"memoryHistogram\":{\"referenceTimestamp\":null}"));
}
END_TEST

/* ---- open intervals ---- */

static void put_with_uid(struct vpa_cluster *cluster, const char *name, const char *labels,
                         const char *uid)
{
    struct vpa_container containers[] = {{.name = "app"}};
    struct vpa_pod pod = {.meta = {.ns = "ns", .name = name, .uid = uid},
                          .phase = "Running",
                          .containers = containers,
                          .container_count = 1};
    struct vpa_error err;

    ck_assert_int_eq(vpa_labels_decode(&arena, json(&arena, labels), &pod.meta.labels, &err), 0);
    vpa_cluster_put_pod(cluster, &pod, NULL, now);
}

static const char *const vpas[] = {"v", "w"};

/* The checkpoints of both VPAs are those of `stored`. */
static void load_stored(struct vpa_cluster *cluster, const struct stored *stored)
{
    for (size_t i = 0; i < VPA_COUNT(vpas); i++) {
        struct vpa_error err;

        ck_assert_int_eq(vpa_cluster_load_checkpoint(cluster, "ns", vpas[i], "app",
                                                     checkpoint_of(&arena, stored->text[0]), now,
                                                     &err),
                         0);
        ck_assert_int_eq(vpa_cluster_resume_intervals(cluster, "ns", vpas[i], "app",
                                                      &stored->open[0], now, &err),
                         0);
    }
}

/* A second process: the VPAs v and w select app=web. */
static struct vpa_cluster *restarted(const struct stored *stored)
{
    struct vpa_cluster_options options = {.aggregation = &global};
    struct vpa_cluster *again = vpa_cluster_new(&options);

    for (size_t i = 0; i < VPA_COUNT(vpas); i++)
        vpa_cluster_put_vpa(again, simple_vpa(&arena, vpas[i]), selector_of(&arena, "app=web"),
                            NULL, now);
    put_with_uid(again, "same", "{\"app\":\"web\"}", "u1");
    put_with_uid(again, "recreated", "{\"app\":\"web\"}", "u3");
    put_with_uid(again, "relabelled", "{\"app\":\"db\"}", "u4");
    load_stored(again, stored);
    return again;
}

/* Weight of memory samples of that size, in samples of now. */
static double memory_weight(struct vpa_cluster *cluster, const char *vpa, vpa_amount bytes)
{
    struct vpa_histories h;
    double weight = 0;

    vpa_cluster_histories(cluster, vpa_cluster_find_vpa(cluster, "ns", vpa), now, &h);
    const struct vpa_decay *memory = &h.items[0].aggregate->memory;
    uint32_t bucket = vpa_histogram_find_bucket(&global.memory_options, (double)bytes);
    if (!vpa_time_is_unset(memory->ref))
        weight = vpa_histogram_weight(&memory->h, bucket) *
                 exp2((double)(memory->ref - now) / (double)global.memory_half_life);
    vpa_histories_release(&h);
    return weight;
}

START_TEST(open_intervals_outlive_a_restart)
{
    static const struct {
        const char *pod, *uid;
        vpa_amount bytes;
    } pods[] = {{"same", "u1", 300 * MI},
                {"gone", "u2", 500 * MI},
                {"recreated", "u3 of old", 900 * MI},
                {"relabelled", "u4", 1500 * MI}};
    struct stored stored = {0};
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(pods); i++) {
        put_with_uid(c, pods[i].pod, "{\"app\":\"web\"}", pods[i].uid);
        use(pods[i].pod, "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", pods[i].bytes);
        use(pods[i].pod, "app", VPA_KIND_MEMORY, "2026-01-15T13:31:00Z", 50 * MI);
    }
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    ck_assert_uint_eq(stored.open[0].count, VPA_COUNT(pods));
    ck_assert_uint_eq(stored.open[0].items[0].pod_uid, vpa_hash_stable("u2")); /* by name: gone */

    struct vpa_cluster *again = restarted(&stored);
    for (size_t i = 0; i < VPA_COUNT(pods); i++) {
        ck_assert_double_eq_tol(memory_weight(again, "v", pods[i].bytes),
                                memory_weight(c, "v", pods[i].bytes), 1e-6);
        ck_assert_double_eq_tol(memory_weight(again, "w", pods[i].bytes),
                                memory_weight(c, "v", pods[i].bytes), 1e-6);
    }

    /* What is stored next is what was stored before: nothing is counted twice. */
    struct stored next = {0};
    vpa_cluster_checkpoints(again, vpa_cluster_find_vpa(again, "ns", "v"), now, keep, &next);
    ck_assert_uint_eq(next.open[0].count, 1);
    ck_assert_uint_eq(next.open[0].items[0].pod_uid, vpa_hash_stable("u1"));
    ck_assert_int_eq(next.open[0].items[0].usage, 300 * MI);
    ck_assert(next.open[0].items[0].end == at("2026-01-16T13:30:00Z"));

    /* The interval goes on: a lower value is nothing new, a higher one takes the peak's place. */
    ck_assert_int_eq(add_sample(again, CONTAINER("ns", "same", "app"), VPA_KIND_MEMORY,
                                at("2026-01-15T14:00:00Z"), 100 * MI, now, &err),
                     0);
    ck_assert_double_eq_tol(memory_weight(again, "v", 100 * MI), 0, 1e-9);
    ck_assert_int_eq(add_sample(again, CONTAINER("ns", "same", "app"), VPA_KIND_MEMORY,
                                at("2026-01-15T14:01:00Z"), 3000 * MI, now, &err),
                     0);
    ck_assert_double_eq_tol(memory_weight(again, "v", 300 * MI), 0, 1e-9);
    ck_assert_double_gt(memory_weight(again, "v", 3000 * MI), 0.5);
    vpa_cluster_free(again);
}
END_TEST

/* Each container has the peaks of all its pods, in whatever order these are. */
START_TEST(open_intervals_are_those_of_their_container)
{
    static const char *const pods[] = {"p1", "p2", "p3"};
    static const char *const containers[] = {"app", "log"};
    struct stored stored = {0};

    for (size_t i = 0; i < VPA_COUNT(pods); i++) {
        put_with_uid(c, pods[i], "{\"app\":\"web\"}", pods[i]);
        for (size_t k = 0; k < VPA_COUNT(containers); k++) {
            struct vpa_error err;

            ck_assert_int_eq(vpa_cluster_put_container(c, "ns", pods[i], containers[k], now, &err),
                             0);
            use(pods[i], containers[k], VPA_KIND_MEMORY, "2026-01-15T13:30:00Z",
                (vpa_amount)(100 * (k + 1) + i) * MI);
        }
    }
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    ck_assert_int_eq(stored.count, 2);
    for (size_t k = 0; k < VPA_COUNT(containers); k++) {
        ck_assert_str_eq(stored.name[k], containers[k]);
        ck_assert_uint_eq(stored.open[k].count, VPA_COUNT(pods));
        for (size_t i = 0; i < VPA_COUNT(pods); i++) {
            ck_assert_uint_eq(stored.open[k].items[i].pod_uid, vpa_hash_stable(pods[i]));
            ck_assert_int_eq(stored.open[k].items[i].usage, (vpa_amount)(100 * (k + 1) + i) * MI);
        }
    }
}
END_TEST

START_TEST(an_interval_that_ended_meanwhile_stays)
{
    struct stored stored = {0};

    put_with_uid(c, "same", "{\"app\":\"web\"}", "u1");
    use("same", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 300 * MI);
    vpa_cluster_checkpoints(c, v, now, keep, &stored);
    now += 2 * DAY;
    struct vpa_cluster *again = restarted(&stored);
    ck_assert_double_eq_tol(memory_weight(again, "v", 300 * MI), memory_weight(c, "v", 300 * MI),
                            1e-6);
    stored.count = 0;
    vpa_cluster_checkpoints(again, vpa_cluster_find_vpa(again, "ns", "v"), now, keep, &stored);
    ck_assert_int_eq(stored.count, 1);
    ck_assert_uint_eq(stored.open[0].count, 0);
    ck_assert_ptr_nonnull(strstr(stored.text[0], "\"19\":10000"));
    vpa_cluster_free(again);
}
END_TEST

/* A standby reads twice before it begins, and the leader has begun another interval meanwhile: what
 * the first text left open the second history has. */
START_TEST(an_interval_that_ended_between_two_loads_counts_once)
{
    struct stored first = {0}, second = {0};

    put_with_uid(c, "same", "{\"app\":\"web\"}", "u1");
    use("same", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 300 * MI);
    vpa_cluster_checkpoints(c, v, now, keep, &first);
    struct vpa_cluster *again = restarted(&first);
    now = at("2026-01-16T13:31:00Z");
    use("same", "app", VPA_KIND_MEMORY, "2026-01-16T13:30:00Z", 500 * MI);
    vpa_cluster_checkpoints(c, v, now, keep, &second);
    ck_assert_uint_eq(second.open[0].count, 1);
    load_stored(again, &second);
    for (size_t i = 0; i < VPA_COUNT(vpas); i++) {
        ck_assert_double_eq_tol(memory_weight(again, vpas[i], 300 * MI),
                                memory_weight(c, "v", 300 * MI), 1e-6);
        ck_assert_double_eq_tol(memory_weight(again, vpas[i], 500 * MI),
                                memory_weight(c, "v", 500 * MI), 1e-6);
    }
    vpa_cluster_free(again);
}
END_TEST

START_TEST(refuses_intervals_that_would_spoil_the_history)
{
    struct vpa_open_interval intervals[] = {
        {.pod_uid = 1, .end = at("2026-01-15T15:00:00Z"), .usage = 300 * MI},
        {.pod_uid = 2, .end = at("2027-01-15T14:00:00Z"), .usage = 300 * MI}};
    struct vpa_open_intervals open = {.items = intervals, .count = VPA_COUNT(intervals)};
    struct vpa_error err;

    ck_assert_int_eq(vpa_cluster_resume_intervals(c, "ns", "v", "app", &open, now, &err), -1);
    ck_assert_str_eq(err.text, "no checkpoint of VPA ns/v, container app, is loaded");
    ck_assert_int_eq(vpa_cluster_resume_intervals(c, "ns", "x", "app", &open, now, &err), -1);
    ck_assert_str_eq(err.text, "no checkpoint of VPA ns/x, container app, is loaded");
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    ck_assert_int_eq(vpa_cluster_resume_intervals(c, "ns", "v", "app", &open, now, &err), -1);
    ck_assert_str_eq(err.text, "an open interval has an impossible end 2027-01-15T14:00:00Z");
    ck_assert_double_eq(memory_weight(c, "v", 300 * MI), 0); /* of none of them */
}
END_TEST

/* Two texts with one hash. */
#define TWIN_1 "uid-739192"
#define TWIN_2 "uid-522789"

START_TEST(pods_with_one_hash_are_told_apart_by_the_order_of_their_names)
{
    struct stored stored = {0};
    struct vpa_error err;

    ck_assert_uint_eq(vpa_hash_stable(TWIN_1), vpa_hash_stable(TWIN_2));
    put_with_uid(c, "b", "{\"app\":\"web\"}", TWIN_1);
    put_with_uid(c, "a", "{\"app\":\"web\"}", TWIN_2);
    use("b", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 900 * MI);
    use("a", "app", VPA_KIND_MEMORY, "2026-01-15T13:30:00Z", 300 * MI);
    vpa_cluster_checkpoints(c, v, now, keep, &stored);

    struct vpa_cluster_options options = {.aggregation = &global};
    struct vpa_cluster *again = vpa_cluster_new(&options);
    vpa_cluster_put_vpa(again, simple_vpa(&arena, "v"), selector_of(&arena, "app=web"), NULL, now);
    put_with_uid(again, "a", "{\"app\":\"web\"}", TWIN_2);
    put_with_uid(again, "b", "{\"app\":\"web\"}", TWIN_1);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(again, "ns", "v", "app",
                                                 checkpoint_of(&arena, stored.text[0]), now, &err),
                     0);
    ck_assert_int_eq(
        vpa_cluster_resume_intervals(again, "ns", "v", "app", &stored.open[0], now, &err), 0);

    struct stored next = {0};
    vpa_cluster_checkpoints(again, vpa_cluster_find_vpa(again, "ns", "v"), now, keep, &next);
    ck_assert_uint_eq(next.open[0].count, 2);
    ck_assert_int_eq(next.open[0].items[0].usage, 300 * MI);
    ck_assert_int_eq(next.open[0].items[1].usage, 900 * MI);
    vpa_cluster_free(again);
}
END_TEST

/* ---- loaded beside what is live ---- */

#define OLD_PEAKS                                                                                  \
    "{\"lastUpdateTime\":\"2026-01-14T12:00:00Z\",\"version\":\"v3\",\"cpuHistogram\":{"           \
    "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"8\":10000},"             \
    "\"totalWeight\":4},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-01-15T00:00:00Z\","     \
    "\"bucketWeights\":{\"19\":10000},\"totalWeight\":1.5},\"firstSampleStart\":"                  \
    "\"2026-01-10T00:00:00Z\",\"lastSampleStart\":\"2026-01-14T12:00:00Z\","                       \
    "\"totalSamplesCount\":4000}"

/* A VPA that was deleted and made again, or handed back: the peaks that are open are not in its
 * checkpoint, so they take nothing out of it. */
START_TEST(open_peaks_take_nothing_out_of_a_stored_history)
{
    struct stored stored = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app",
                                                 checkpoint_of(&arena, OLD_PEAKS), now, &err),
                     0);
    put_with_uid(c, "same", "{\"app\":\"web\"}", "u1");
    use("same", "app", VPA_KIND_CPU, "2026-01-14T13:00:00Z", 100);
    if (_i == 1) /* an interval that is over, and stored */
        use("same", "app", VPA_KIND_MEMORY, "2026-01-14T13:30:00Z", 300 * MI);
    use("same", "app", VPA_KIND_CPU, "2026-01-15T13:40:00Z", 100);
    use("same", "app", VPA_KIND_MEMORY, "2026-01-15T13:40:00Z", 300 * MI);
    double before = memory_weight(c, "v", 300 * MI);
    vpa_cluster_checkpoints(c, v, now, keep, &stored);

    ck_assert(vpa_cluster_remove_vpa(c, "ns", "v"));
    v = vpa_cluster_put_vpa(c, simple_vpa(&arena, "v"), selector_of(&arena, "app=web"), NULL, now);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(c, "ns", "v", "app",
                                                 checkpoint_of(&arena, stored.text[0]), now, &err),
                     0);
    ck_assert_int_eq(vpa_cluster_resume_intervals(c, "ns", "v", "app", &stored.open[0], now, &err),
                     0);
    ck_assert_double_eq_tol(memory_weight(c, "v", 300 * MI), before, 1e-3);
}
END_TEST

/* Save, load into another cluster, save again: weights stay within the documented 1/20000. */
START_TEST(restart_keeps_the_history)
{
    struct vpa_cluster_options options = {.aggregation = &global};
    struct vpa_cluster *again = vpa_cluster_new(&options);
    struct stored first = {0};
    struct stored second = {0};
    struct vpa_error err;

    put("p", "{\"app\":\"web\"}", "app");
    for (int i = 0; i < 200; i++) {
        vpa_time t = at("2026-01-14T00:00:00Z") + i * 5 * (vpa_time)VPA_MINUTE;
        ck_assert_int_eq(add_sample(c, CONTAINER("ns", "p", "app"), VPA_KIND_CPU, t,
                                    100 + (i * 37) % 900, now, &err),
                         0);
    }
    vpa_cluster_checkpoints(c, v, now, keep, &first);
    struct vpa_autoscaler *w = vpa_cluster_put_vpa(again, simple_vpa(&arena, "v"), NULL, NULL, now);
    struct vpa_checkpoint_status *status = checkpoint_of(&arena, first.text[0]);
    ck_assert_int_eq(vpa_cluster_load_checkpoint(again, "ns", "v", "app", status, now, &err), 0);
    vpa_cluster_checkpoints(again, w, now, keep, &second);
    struct vpa_checkpoint_status *stored = checkpoint_of(&arena, second.text[0]);
    ck_assert(stored->cpu.total_weight == status->cpu.total_weight);
    ck_assert_uint_eq(stored->cpu.bucket_count, status->cpu.bucket_count);
    for (size_t i = 0; i < status->cpu.bucket_count; i++) {
        ck_assert_int_eq(stored->cpu.buckets[i].bucket, status->cpu.buckets[i].bucket);
        ck_assert_uint_eq(stored->cpu.buckets[i].weight, status->cpu.buckets[i].weight);
    }
    vpa_cluster_free(again);
}
END_TEST

/* ---- age ---- */

static size_t known_containers(void)
{
    struct vpa_histories h;

    vpa_cluster_histories(c, v, now, &h);
    size_t count = h.count;
    vpa_histories_release(&h);
    return count;
}

/* Who keeps a loaded history that is older than the eight days: a pod with the container, or live
 * samples of one that has gone. */
START_TEST(a_loaded_history_goes_by_age_when_nothing_has_its_container)
{
    static const vpa_duration week = 7 * 24 * VPA_HOUR;
    struct vpa_error err;

    if (_i > 0)
        put("p", "{\"app\":\"web\"}", "app");
    if (_i == 2) {
        use("p", "app", VPA_KIND_CPU, "2026-01-15T14:00:00Z", 100);
        vpa_cluster_remove_pod(c, "ns", "p");
    }
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    now = vpa_time_add(now, week);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), _i == 0 ? 0 : 1);
    ck_assert_int_eq(vpa_autoscaler_has_outlived(v, "app", vpa_time_add(now, -2 * week), now),
                     _i == 0);
    ck_assert(!vpa_autoscaler_has_outlived(v, "app", vpa_time_add(now, -week), now));
    now = vpa_time_add(now, 2 * week);
    vpa_cluster_collect_garbage(c, now, NULL, NULL); /* also aggregates that nobody fed so long */
    ck_assert_uint_eq(known_containers(), _i == 1 ? 1 : 0);
}
END_TEST

/* An age that no history can have, because it is negative or beyond all numbers, is none. */
static const struct {
    const char *interval; /* eight of them */
    bool goes;
} ages[] = {
    {"\"memoryAggregationIntervalSeconds\":3600", true},
    {"\"memoryAggregationIntervalSeconds\":-3600", false},
    {"\"memoryAggregationInterval\":\"2305843009500ms\"", false}, /* 2^64 ns and 2.3 s */
    {"\"memoryAggregationInterval\":\"2562047h\"", false},        /* 2^66 ns less 6 h: negative */
};

START_TEST(a_history_of_an_impossible_age_stays)
{
    const char *object = vpa_arena_printf(
        &arena,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"v\"},\"spec\":{\"resourcePolicy\":{"
        "\"containerPolicies\":[{\"containerName\":\"*\",%s}]}}}",
        ages[_i].interval);
    struct vpa_error err;

    vpa_cluster_put_vpa(c, vpa_of(&arena, object), selector_of(&arena, "app=web"), NULL, now);
    ck_assert_int_eq(
        vpa_cluster_load_checkpoint(c, "ns", "v", "app", checkpoint_of(&arena, LOADED), now, &err),
        0);
    now += 30 * (vpa_time)DAY;
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), ages[_i].goes ? 0 : 1);
}
END_TEST

#define AHEAD(update, first, last, count)                                                          \
    "{\"version\":\"v3\",\"lastUpdateTime\":" update ",\"cpuHistogram\":{"                         \
    "\"referenceTimestamp\":\"2026-01-15T00:00:00Z\",\"bucketWeights\":{\"8\":10000},"             \
    "\"totalWeight\":3},\"firstSampleStart\":" first ",\"lastSampleStart\":" last                  \
    ",\"totalSamplesCount\":" count "}"

/* It is 14:00 of January 15. */
static const struct {
    const char *status;
    vpa_duration goes; /* from now on */
} dated[] = {
    {AHEAD("\"2026-01-14T14:00:00Z\"", "\"2026-01-10T00:00:00Z\"", "\"2126-01-10T00:00:00Z\"",
           "30"),
     7 * DAY},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "\"2126-01-10T00:00:00Z\"", "\"2126-01-11T00:00:00Z\"",
           "30"),
     7 * DAY},
    {AHEAD("\"2126-01-14T14:00:00Z\"", "\"2026-01-10T00:00:00Z\"", "\"2126-01-10T00:00:00Z\"",
           "30"),
     8 * DAY},
    {AHEAD("null", "null", "\"2026-01-15T15:00:01Z\"", "30"), 8 * DAY},
    {AHEAD("null", "null", "\"2026-01-15T15:00:00Z\"", "30"), 8 * DAY + VPA_HOUR},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "null", "null", "30"), 7 * DAY},
    {AHEAD("\"2026-01-14T14:00:00Z\"", "null", "null", "0"), 7 * DAY},
};

/* A last sample that is ahead of the clock, or absent, is of when it was stored. */
START_TEST(every_loaded_history_ages)
{
    struct vpa_error err;
    vpa_time loaded = now;

    ck_assert_int_eq(vpa_cluster_load_checkpoint(
                         c, "ns", "v", "app", checkpoint_of(&arena, dated[_i].status), now, &err),
                     0);
    now = vpa_time_add(loaded, dated[_i].goes - VPA_SECOND);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), 1);
    now = vpa_time_add(now, VPA_HOUR);
    vpa_cluster_collect_garbage(c, now, NULL, NULL);
    ck_assert_uint_eq(known_containers(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster_history");
    TCase *tc = tcase_create("cluster_history");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_in_order_and_single_sources_uncopied);
    tcase_add_test(tc, groups_merge_by_the_text_of_their_labels);
    tcase_add_loop_test(tc, hostile_checkpoints_spoil_nothing, 0, (int)VPA_COUNT(stored_cases));
    tcase_add_test(tc, weights_that_are_no_numbers_are_refused);
    tcase_add_test(tc, what_a_long_interval_stores_is_loaded);
    tcase_add_test(tc, counts_of_stored_samples_do_not_overflow);
    tcase_add_test(tc, loaded_histories_are_merged_in);
    tcase_add_test(tc, many_containers_can_be_loaded);
    tcase_add_test(tc, a_hundred_containers_are_each_there_once);
    tcase_add_test(tc, unreadable_checkpoints_are_reported);
    tcase_add_test(tc, open_peaks_are_not_stored);
    tcase_add_test(tc, collected_aggregates_have_no_open_peaks);
    tcase_add_test(tc, open_intervals_outlive_a_restart);
    tcase_add_test(tc, pods_with_one_hash_are_told_apart_by_the_order_of_their_names);
    tcase_add_test(tc, open_intervals_are_those_of_their_container);
    tcase_add_test(tc, an_interval_that_ended_meanwhile_stays);
    tcase_add_test(tc, an_interval_that_ended_between_two_loads_counts_once);
    tcase_add_test(tc, refuses_intervals_that_would_spoil_the_history);
    tcase_add_loop_test(tc, a_loaded_history_goes_by_age_when_nothing_has_its_container, 0, 3);
    tcase_add_loop_test(tc, every_loaded_history_ages, 0, (int)VPA_COUNT(dated));
    tcase_add_loop_test(tc, a_history_of_an_impossible_age_stays, 0, (int)VPA_COUNT(ages));
    tcase_add_loop_test(tc, open_peaks_take_nothing_out_of_a_stored_history, 0, 2);
    tcase_add_test(tc, restart_keeps_the_history);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
