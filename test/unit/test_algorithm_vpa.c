/* VPA's own algorithm by itself: its replicas and their open intervals. */
#include <check.h>

#include "model_fixture.h"
#include "vpa/model/algorithm.h"

static vpa_time t0;
static struct vpa_error err;
static struct vpa_arena arena;
static struct vpa_method *method;
static struct vpa_knowledge *known, *other;

static struct vpa_method *method_with(const char *key, const char *value, const char *key2,
                                      const char *value2)
{
    struct vpa_parameters p;

    vpa_parameters_init(&p, vpa_algorithm_find(VPA_ALGORITHM_VPA));
    if (key)
        ck_assert_msg(vpa_parameters_set(&p, key, value, &err) == 0, "%s", err.text);
    if (key2)
        ck_assert_msg(vpa_parameters_set(&p, key2, value2, &err) == 0, "%s", err.text);
    struct vpa_method *m = vpa_method_new(&p, &err);
    ck_assert_msg(m != NULL, "%s", err.text);
    vpa_parameters_release(&p);
    return m;
}

static void setup(void)
{
    t0 = at("2026-03-01T00:00:00Z");
    vpa_arena_init(&arena, 0);
    method = method_with(NULL, NULL, NULL, NULL);
    known = vpa_knowledge_new(method, t0);
    other = vpa_knowledge_new(method, t0);
}

static void teardown(void)
{
    vpa_knowledge_free(known);
    vpa_knowledge_free(other);
    vpa_method_unref(method);
    vpa_arena_release(&arena);
}

static bool add(struct vpa_knowledge *k, enum vpa_usage_type type, vpa_time t, uint64_t replica,
                vpa_amount amount)
{
    return vpa_knowledge_add(k, &(struct vpa_usage){type, t, replica, amount});
}

/* The stored open intervals of an hour after the last sample. */
static const struct vpa_json *open_of(const struct vpa_knowledge *k, vpa_time last)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(k, last + VPA_HOUR, &w);
    ck_assert(vpa_json_writer_done(&w));
    const char *copy = vpa_arena_strdup(&arena, vpa_buf_text(&text));
    return vpa_json_at(json(&arena, copy), "state.open");
}

/* A member of the interval of that replica; -1: it has none. */
static int64_t open_member(const struct vpa_json *open, int64_t replica, const char *member)
{
    for (const struct vpa_json *it = vpa_json_first(open); it; it = vpa_json_next(it)) {
        int64_t id, value;

        ck_assert(vpa_json_int64(vpa_json_find(it, "replica"), &id));
        ck_assert(vpa_json_int64(vpa_json_find(it, member), &value));
        if (id == replica)
            return value;
    }
    return -1;
}

/* Which was heard of last; when both were at the same time, that which takes the other in. */
static const struct {
    vpa_duration mine, theirs; /* last samples after t0 */
    bool takes_theirs;
} heard[] = {
    {VPA_HOUR, 2 * VPA_HOUR, true},
    {2 * VPA_HOUR, VPA_HOUR, false},
    {VPA_HOUR, VPA_HOUR, false},
    {VPA_HOUR, VPA_HOUR + 1, true},
};

TEST_EACH(of_two_states_of_a_replica_the_later_one_goes_on, heard) {
    ck_assert(add(known, VPA_USAGE_MEMORY, t0 + heard[_i].mine, 7, 300 * MI));
    ck_assert(add(other, VPA_USAGE_MEMORY, t0 + heard[_i].theirs, 7, 200 * MI));
    vpa_knowledge_merge(known, other);
    ck_assert_int_eq(open_member(open_of(known, t0 + 2 * VPA_HOUR), 7, "usage"),
                     (heard[_i].takes_theirs ? 200 : 300) * MI);
}

/* A sample of either kind is a sign of life. */
TEST_TIMES(cpu_and_memory_both_say_when_a_replica_was_heard_of, 2) {
    bool cpu_first = _i == 1;

    ck_assert(add(known, VPA_USAGE_MEMORY, t0 + VPA_HOUR, 7, 300 * MI));
    if (!cpu_first)
        ck_assert(add(known, VPA_USAGE_CPU, t0 + 3 * VPA_HOUR, 7, 100));
    ck_assert(add(other, VPA_USAGE_MEMORY, t0 + 2 * VPA_HOUR, 7, 200 * MI));
    if (cpu_first)
        ck_assert(add(other, VPA_USAGE_CPU, t0 + VPA_MINUTE, 7, 100));
    vpa_knowledge_merge(known, other);
    ck_assert_int_eq(open_member(open_of(known, t0 + 3 * VPA_HOUR), 7, "usage"),
                     (cpu_first ? 200 : 300) * MI);
}

TEST(replicas_of_both_sides_are_kept) {
    for (uint64_t id = 1; id <= 5; id++)
        ck_assert(add(id % 2 ? known : other, VPA_USAGE_MEMORY, t0, id, (vpa_amount)id * MI));
    vpa_knowledge_merge(known, other);
    const struct vpa_json *open = open_of(known, t0);
    ck_assert_uint_eq(vpa_json_count(open), 5);
    for (int64_t id = 1; id <= 5; id++)
        ck_assert_int_eq(open_member(open, id, "usage"), id * MI);
}

/* Numbers in no order; each is found again when its next sample comes. */
TEST(a_replica_is_known_again) {
    static const uint64_t ids[] = {50, 10, 90, 30, 70, UINT64_MAX, 0};

    for (int round = 1; round <= 2; round++) {
        for (size_t i = 0; i < VPA_COUNT(ids); i++)
            ck_assert(add(known, VPA_USAGE_MEMORY, t0 + round * VPA_HOUR, ids[i],
                          (vpa_amount)(i + 1) * round * MI));
    }
    const struct vpa_json *open = open_of(known, t0 + 2 * VPA_HOUR);
    ck_assert_uint_eq(vpa_json_count(open), VPA_COUNT(ids));
    for (size_t i = 0; i < VPA_COUNT(ids); i++)
        ck_assert_int_eq(open_member(open, (int64_t)ids[i], "usage"), (vpa_amount)(i + 1) * 2 * MI);
}

/* Of as many as are kept the one that was silent longest makes room, wherever it stands. */
TEST_TIMES(the_most_silent_replica_makes_room, 3) {
    static const int64_t silent[] = {0, VPA_REPLICAS_MAX / 2, VPA_REPLICAS_MAX - 1};
    vpa_time last = t0 + VPA_HOUR;

    for (int64_t id = 0; id < VPA_REPLICAS_MAX; id++)
        ck_assert(add(known, VPA_USAGE_MEMORY, id == silent[_i] ? last - 1 : last,
                      (uint64_t)(2 * id), MI));
    ck_assert_uint_eq(vpa_json_count(open_of(known, last)), VPA_REPLICAS_MAX);
    ck_assert(add(known, VPA_USAGE_MEMORY, last, VPA_REPLICAS_MAX + 1, 2 * MI));
    const struct vpa_json *open = open_of(known, last);
    ck_assert_uint_eq(vpa_json_count(open), VPA_REPLICAS_MAX);
    ck_assert_int_eq(open_member(open, 2 * silent[_i], "usage"), -1);
    ck_assert_int_eq(open_member(open, VPA_REPLICAS_MAX + 1, "usage"), 2 * MI);
    int64_t next = 0, id; /* in order, and nobody else is missing */
    for (const struct vpa_json *it = vpa_json_first(open); it; it = vpa_json_next(it), next++) {
        ck_assert(vpa_json_int64(vpa_json_find(it, "replica"), &id));
        if (id == VPA_REPLICAS_MAX + 1)
            next--;
        else if (next == silent[_i])
            ck_assert_int_eq(id, 2 * ++next);
        else
            ck_assert_int_eq(id, 2 * next);
    }
}

TEST(kills_are_stored_with_the_interval) {
    ck_assert(add(known, VPA_USAGE_MEMORY, t0, 1, 100 * MI));
    ck_assert(add(known, VPA_USAGE_OOM, t0 + VPA_MINUTE, 1, 1000 * MI));
    const struct vpa_json *open = open_of(known, t0);
    ck_assert_int_eq(open_member(open, 1, "usage"), 100 * MI);
    ck_assert_int_eq(open_member(open, 1, "oom"), 1200 * MI);
}

/* Members of an interval that ends in an hour; NULL: it is taken. */
#define NO_NUMBERS "open: replica, usage and oom are to be whole numbers"
static const struct {
    const char *members, *error;
} intervals[] = {
    {"\"replica\":1,\"usage\":5,\"oom\":7", NULL},
    {"\"replica\":-1,\"usage\":0,\"oom\":1", NULL},
    {"\"replica\":1,\"usage\":1,\"oom\":0", NULL},
    {"\"usage\":5,\"oom\":7", NO_NUMBERS},
    {"\"replica\":1,\"oom\":7", NO_NUMBERS},
    {"\"replica\":1,\"usage\":5", NO_NUMBERS},
    {"\"replica\":1.5,\"usage\":5,\"oom\":7", NO_NUMBERS},
    {"\"replica\":1,\"usage\":-1,\"oom\":7", NO_NUMBERS},
    {"\"replica\":1,\"usage\":5,\"oom\":-1", NO_NUMBERS},
};

TEST_EACH(stored_intervals_go_on, intervals) {
    const char *text =
        vpa_arena_printf(&arena,
                         "{\"algorithm\":\"vpa\",\"version\":1,\"state\":{\"status\":{"
                         "\"version\":\"v3\"},\"open\":[{\"end\":\"2026-03-01T01:00:00Z\",%s}]}}",
                         intervals[_i].members);
    struct vpa_knowledge *k = vpa_knowledge_load(method, json(&arena, text), t0, &err);
    int64_t id, usage, oom;

    if (intervals[_i].error) {
        ck_assert_ptr_null(k);
        ck_assert_str_eq(err.text, intervals[_i].error);
        return;
    }
    ck_assert_msg(k != NULL, "%s", err.text);
    const struct vpa_json *stored =
        json(&arena, vpa_arena_printf(&arena, "{%s}", intervals[_i].members));
    const struct vpa_json *open = open_of(k, t0 - VPA_HOUR);
    ck_assert(vpa_json_int64(vpa_json_find(stored, "replica"), &id));
    ck_assert(vpa_json_int64(vpa_json_find(stored, "usage"), &usage));
    ck_assert(vpa_json_int64(vpa_json_find(stored, "oom"), &oom));
    ck_assert_int_eq(open_member(open, id, "usage"), usage);
    ck_assert_int_eq(open_member(open, id, "oom"), oom);
    vpa_knowledge_free(k);
}

static const struct {
    const char *interval, *count;
    vpa_duration memory;
} memories[] = {
    {"24h", "8", 192 * VPA_HOUR},
    {"1h", "3", 3 * VPA_HOUR},
    {"8760h", "1000", INT64_MAX}, /* a thousand years are more than there are nanoseconds */
    {"8760h", "292", 292 * 8760 * VPA_HOUR},
};

TEST_EACH(it_remembers_so_many_intervals, memories) {
    struct vpa_method *m = method_with("memory-aggregation-interval", memories[_i].interval,
                                       "memory-aggregation-interval-count", memories[_i].count);

    ck_assert_int_eq(vpa_method_memory(m), memories[_i].memory);
    vpa_method_unref(m);
}

TEST(nothing_is_known_before_the_first_sample) {
    struct vpa_estimate e;
    const struct vpa_question question = {t0, 1};

    ck_assert(vpa_knowledge_is_empty(known));
    ck_assert(!vpa_knowledge_estimate(known, &question, &e));
    ck_assert(add(known, VPA_USAGE_MEMORY, t0, 1, MI));
    ck_assert(!vpa_knowledge_is_empty(known));
    ck_assert(vpa_knowledge_estimate(known, &question, &e));
    ck_assert(add(other, VPA_USAGE_CPU, t0, 1, 10));
    ck_assert(!vpa_knowledge_is_empty(other));
}

int main(void)
{
    return run_tests_within(60, "algorithm_vpa", setup, teardown);
}
