/* What is stored of a VPA's histories, and what outlives a restart: memory peaks of intervals that
 * are not over, too. */
#include <check.h>
#include <math.h>

#include "history_fixture.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

TEST(open_peaks_are_not_stored) {
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

TEST(collected_aggregates_have_no_open_peaks) {
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

TEST(open_intervals_outlive_a_restart) {
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

/* Each container has the peaks of all its pods, in whatever order these are. */
TEST(open_intervals_are_those_of_their_container) {
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

TEST(an_interval_that_ended_meanwhile_stays) {
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

/* A standby reads twice before it begins, and the leader has begun another interval meanwhile: what
 * the first text left open the second history has. */
TEST(an_interval_that_ended_between_two_loads_counts_once) {
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

TEST(refuses_intervals_that_would_spoil_the_history) {
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

/* Two texts with one hash. */
#define TWIN_1 "uid-739192"
#define TWIN_2 "uid-522789"

TEST(pods_with_one_hash_are_told_apart_by_the_order_of_their_names) {
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
TEST_TIMES(open_peaks_take_nothing_out_of_a_stored_history, 2) {
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

/* Save, load into another cluster, save again: weights stay within the documented 1/20000. */
TEST(restart_keeps_the_history) {
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

int main(void)
{
    return run_tests("cluster_intervals", setup_history, teardown);
}
