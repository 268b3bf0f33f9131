/* OOM kills: transitions of container statuses, eviction events, each once. */
#include <check.h>
#include <stdio.h>

#include "arena_fixture.h"
#include "model_fixture.h"

/* ---- pod status ---- */

#define RUNNING "\"state\":{\"running\":{}}"
#define WAITING "\"state\":{\"waiting\":{}}"
#define KILLED(at) "\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"" at "\"}}"
#define ENDED                                                                                      \
    "\"state\":{\"terminated\":{\"reason\":\"Completed\",\"finishedAt\":\"2026-01-15T10:00:00Z\"}" \
    "}"
#define LAST_KILLED(at)                                                                            \
    ",\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"" at "\"}}"
#define LAST_ERROR                                                                                 \
    ",\"lastState\":{\"terminated\":{\"reason\":\"Error\",\"finishedAt\":\"2026-01-15T10:00:"      \
    "00Z\"}}"
#define T1 "2026-01-15T10:00:00Z"
#define T2 "2026-01-15T11:00:00Z"

/* A version of the pod: restarts and status; NULL text: without the status. */
static struct vpa_pod *version(int restarts, const char *status, const char *request,
                               const char *status_request)
{
    const char *statuses = "";

    if (status)
        statuses = vpa_arena_printf(&arena, "{\"name\":\"app\",\"restartCount\":%d,%s%s}", restarts,
                                    status, status_request);
    return pod_of(
        &arena,
        vpa_arena_printf(&arena,
                         "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"u\"},"
                         "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":"
                         "{%s}}}]},\"status\":{\"containerStatuses\":[%s]}}",
                         request, statuses));
}

#define REQUEST "\"memory\":\"100Mi\""
#define OLD_REQUEST "\"memory\":\"64Mi\""

static const struct {
    const char *name;
    int old_restarts;
    const char *old_status;
    int new_restarts;
    const char *new_status;
    vpa_amount memory; /* 0: no OOM */
    const char *when;
} transitions[] = {
    {"killed", 0, RUNNING, 0, KILLED(T1), 100 * MI, T1},
    {"killed while waiting", 0, WAITING, 0, KILLED(T1), 100 * MI, T1},
    {"killed again, restart seen", 0, KILLED(T1), 1, KILLED(T2), 100 * MI, T2},
    {"still killed", 0, KILLED(T1), 0, KILLED(T1), 0, NULL},
    {"ended normally", 0, RUNNING, 0, ENDED, 0, NULL},
    {"restarted between", 0, RUNNING, 1, RUNNING LAST_KILLED(T1), 64 * MI, T1},
    {"restarted for another reason", 0, RUNNING, 1, RUNNING LAST_ERROR, 0, NULL},
    {"restarted without a last state", 0, RUNNING, 1, RUNNING, 0, NULL},
    {"not restarted", 1, RUNNING, 1, RUNNING LAST_KILLED(T1), 0, NULL},
    {"crash loop to running", 0, WAITING, 1, RUNNING LAST_KILLED(T1), 0, NULL},
    {"running to crash loop", 0, RUNNING, 1, WAITING LAST_KILLED(T1), 0, NULL},
    {"fewer restarts", 3, RUNNING, 1, RUNNING LAST_KILLED(T1), 0, NULL},
    {"no status before", 0, NULL, 0, KILLED(T1), 0, NULL},
    {"no status now", 0, RUNNING, 0, NULL, 0, NULL},
};

TEST_EACH(transition_counts_or_not, transitions) {
    struct vpa_oom_memory m;
    vpa_time t = 0;
    vpa_amount memory = 0;

    vpa_oom_memory_init(&m);
    struct vpa_pod *old =
        version(transitions[_i].old_restarts, transitions[_i].old_status, OLD_REQUEST, "");
    struct vpa_pod *new =
        version(transitions[_i].new_restarts, transitions[_i].new_status, REQUEST, "");
    ck_assert(!vpa_oom_observe_container(&m, old, "app", true, &t, &memory));
    bool seen = vpa_oom_observe_container(&m, new, "app", false, &t, &memory);
    ck_assert_int_eq(seen, transitions[_i].memory != 0);
    ck_assert_int_eq(memory, transitions[_i].memory);
    if (seen)
        ck_assert(t == at(transitions[_i].when));
    /* the same version again */
    ck_assert(!vpa_oom_observe_container(&m, new, "app", false, &t, &memory));
}

TEST(repeated_versions_count_once) {
    struct vpa_oom_memory m;
    vpa_time t;
    vpa_amount memory;
    struct vpa_pod *running = version(0, RUNNING, REQUEST, "");
    struct vpa_pod *killed = version(0, KILLED(T1), REQUEST, "");
    struct vpa_pod *back = version(1, RUNNING LAST_KILLED(T1), REQUEST, "");
    struct vpa_pod *again = version(1, KILLED(T2), REQUEST, "");

    vpa_oom_memory_init(&m);
    ck_assert(!vpa_oom_observe_container(&m, running, "app", true, &t, &memory));
    ck_assert(vpa_oom_observe_container(&m, killed, "app", false, &t, &memory));
    /* a watch starts over */
    ck_assert(!vpa_oom_observe_container(&m, running, "app", false, &t, &memory));
    ck_assert(!vpa_oom_observe_container(&m, killed, "app", false, &t, &memory));
    ck_assert(!vpa_oom_observe_container(&m, running, "app", false, &t, &memory));
    ck_assert(!vpa_oom_observe_container(&m, back, "app", false, &t, &memory));
    ck_assert(vpa_oom_observe_container(&m, again, "app", false, &t, &memory));
    /* another pod of the same name, as a set makes it */
    ck_assert(!vpa_oom_observe_container(&m, running, "app", true, &t, &memory));
    ck_assert(vpa_oom_observe_container(&m, killed, "app", false, &t, &memory));
}

/* Times have seconds: two instances can end in the same one. */
TEST(two_kills_in_one_second_are_two) {
    struct vpa_oom_memory m;
    vpa_time t;
    vpa_amount memory;
    struct vpa_pod *versions[] = {
        version(0, RUNNING, REQUEST, ""), version(0, KILLED(T1), REQUEST, ""),
        version(1, RUNNING LAST_ERROR, REQUEST, ""), version(1, KILLED(T1), REQUEST, "")};

    vpa_oom_memory_init(&m);
    for (size_t i = 0; i < VPA_COUNT(versions); i++)
        ck_assert_int_eq(vpa_oom_observe_container(&m, versions[i], "app", i == 0, &t, &memory),
                         i % 2);
}

TEST(request_of_the_status_comes_first) {
    bool from_status;
    struct vpa_pod *pod =
        version(0, RUNNING, REQUEST, ",\"resources\":{\"requests\":{\"memory\":\"7\"}}");

    ck_assert_int_eq(vpa_oom_memory_request(pod, "app", &from_status), 7);
    ck_assert(from_status);
    pod = version(0, RUNNING, REQUEST, "");
    ck_assert_int_eq(vpa_oom_memory_request(pod, "app", &from_status), 100 * MI);
    ck_assert(!from_status);
    pod = version(0, NULL, "", "");
    ck_assert_int_eq(vpa_oom_memory_request(pod, "app", &from_status), 0);
    ck_assert(!from_status);
}

TEST(absurd_restart_counts) {
    struct vpa_oom_memory m;
    vpa_time t;
    vpa_amount memory;

    vpa_oom_memory_init(&m);
    vpa_oom_observe_container(&m, version(-5, RUNNING, "", ""), "app", true, &t, &memory);
    ck_assert_uint_eq(m.restart_count, 0);
    vpa_oom_observe_container(&m, version(INT32_MAX, RUNNING, "", ""), "app", false, &t, &memory);
    ck_assert_uint_eq(m.restart_count, (1u << 28) - 1);
}

/* What two versions of a pod must share so that the second need not be looked at. */
static const struct {
    int before, after; /* restarts */
    const char *before_status, *after_status;
    bool differ;
} looked_at[] = {
    {0, 0, RUNNING, RUNNING, false},
    {1, 1, RUNNING LAST_KILLED(T1), RUNNING LAST_KILLED(T1), false},
    {0, 1, RUNNING, RUNNING, true},
    {0, 0, RUNNING, WAITING, true},
    {0, 0, RUNNING, NULL, true},
    {0, 0, WAITING, KILLED(T1), true},
    {0, 0, KILLED(T1), KILLED(T2), true},
    {0, 0, KILLED(T1), ENDED, true},
    {1, 1, RUNNING, RUNNING LAST_KILLED(T1), true},
    {1, 1, RUNNING LAST_KILLED(T1), RUNNING LAST_KILLED(T2), true},
    {1, 1, RUNNING LAST_KILLED(T1), RUNNING LAST_ERROR, true},
};

TEST_EACH(says_which_versions_to_look_at, looked_at) {
    struct vpa_pod *before =
        version(looked_at[_i].before, looked_at[_i].before_status, REQUEST, "");
    struct vpa_pod *after = version(looked_at[_i].after, looked_at[_i].after_status, REQUEST, "");

    ck_assert(vpa_oom_may_differ(before, after) == looked_at[_i].differ);
    ck_assert(vpa_oom_may_differ(after, before) == looked_at[_i].differ);
    if (after->status_count > 0 && !looked_at[_i].differ) {
        struct vpa_container_status *first = (struct vpa_container_status *)&after->statuses[0];

        first->name = "log";
        ck_assert(vpa_oom_may_differ(before, after));
        first->name = before->statuses[0].name;
        ck_assert(!vpa_oom_may_differ(before, after));
    }
    after->meta.uid = "another";
    ck_assert(vpa_oom_may_differ(before, after));
}

/* ---- events ---- */

static struct vpa_event *event_of(const char *uid, const char *fields)
{
    struct vpa_event *event = vpa_arena_zalloc(&arena, sizeof(*event));
    struct vpa_error err = {0};
    const struct vpa_json *root =
        json(&arena,
             vpa_arena_printf(&arena,
                              "{\"metadata\":{\"uid\":\"%s\",\"creationTimestamp\":\"" T1 "\",%s}",
                              uid, fields));

    ck_assert_msg(vpa_event_decode(&arena, root, event, &err) == 0, "%s", err.text);
    return event;
}

#define POD "\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"p\"}"
#define NOTES(containers, usages, resources)                                                       \
    "\"annotations\":{\"offending_containers\":\"" containers                                      \
    "\",\"offending_containers_usage\":\"" usages "\",\"starved_resource\":\"" resources "\"}},"

static const struct {
    const char *name, *fields;
    size_t queued;
    const char *error;
} events[] = {
    {"one container", NOTES("app", "1Gi", "memory") "\"reason\":\"Evicted\"," POD, 1, NULL},
    {"two containers", NOTES("app,b", "1Gi,2Gi", "memory,memory") "\"reason\":\"Evicted\"," POD, 2,
     NULL},
    {"only memory counts", NOTES("app,b", "1Gi,2Gi", "memory,disk") "\"reason\":\"Evicted\"," POD,
     1, NULL},
    {"one resource for two containers",
     NOTES("app,b", "1Gi,2Gi", "memory") "\"reason\":\"Evicted\"," POD, 0, NULL},
    {"usages missing", NOTES("app,b", "1Gi", "memory,memory") "\"reason\":\"Evicted\"," POD, 0,
     NULL},
    {"another reason", NOTES("app", "1Gi", "memory") "\"reason\":\"Killed\"," POD, 0, NULL},
    {"another object",
     NOTES("app", "1Gi", "memory") "\"reason\":\"Evicted\",\"involvedObject\":{\"kind\":\"Node\"}",
     0, NULL},
    {"no annotations", "\"annotations\":{}},\"reason\":\"Evicted\"," POD, 0, NULL},
    {"containers missing",
     "\"annotations\":{\"offending_containers_usage\":\"1Gi\",\"starved_resource\":\"memory\"}},"
     "\"reason\":\"Evicted\"," POD,
     0, NULL},
    {"no quantity", NOTES("app,b", "much,2Gi", "memory,memory") "\"reason\":\"Evicted\"," POD, 1,
     "eviction of pod ns/p: usage of container app: quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
};

TEST_EACH(event_is_queued_once, events) {
    struct vpa_oom_queue q;
    struct vpa_error err = {0};
    struct vpa_event *event = event_of("u1", events[_i].fields);

    vpa_oom_queue_init(&q);
    ck_assert_uint_eq(vpa_oom_observe_event(&q, event, &err), events[_i].queued);
    ck_assert_uint_eq(q.count, events[_i].queued);
    ck_assert_str_eq(err.text, events[_i].error ? events[_i].error : "");
    ck_assert_uint_eq(vpa_oom_observe_event(&q, event, &err), 0);
    vpa_oom_queue_clear(&q);
    ck_assert_uint_eq(q.count, 0);
    ck_assert_uint_eq(vpa_oom_observe_event(&q, event, &err), 0);
    vpa_oom_queue_release(&q);
}

TEST(entry_names_the_container) {
    struct vpa_oom_queue q;
    struct vpa_error err;

    vpa_oom_queue_init(&q);
    vpa_oom_observe_event(&q, event_of("", events[1].fields), &err);
    vpa_oom_observe_event(&q, event_of("", events[1].fields), &err); /* no UID: cannot be known */
    ck_assert_uint_eq(q.count, 4);
    ck_assert_str_eq(q.items[1].ns, "ns");
    ck_assert_str_eq(q.items[1].pod, "p");
    ck_assert_str_eq(q.items[1].container, "b");
    ck_assert_int_eq(q.items[1].memory, 2048 * MI);
    ck_assert(q.items[1].time == at(T1));
    vpa_oom_queue_release(&q);
}

TEST(queue_is_bounded) {
    struct vpa_oom_queue q;

    vpa_oom_queue_init(&q);
    for (int i = 0; i < VPA_OOM_QUEUE_MAX + 3; i++)
        vpa_oom_queue_push(&q, 0, 1, "ns", "p", "c");
    ck_assert_uint_eq(q.count, VPA_OOM_QUEUE_MAX);
    ck_assert_uint_eq(q.dropped, 3);
    vpa_oom_queue_release(&q);
}

/* Whoever may write events in his namespace pushes out no kill of another one. */
TEST(no_namespace_has_the_queue_for_itself) {
    struct vpa_oom_queue q;

    vpa_oom_queue_init(&q);
    for (int i = 0; i < 3 * VPA_OOM_QUEUE_MAX; i++)
        vpa_oom_queue_push(&q, 0, i, "flood", "p", "c");
    for (int i = 0; i < 10; i++)
        vpa_oom_queue_push(&q, 0, i, "shop", "web", "app");
    for (int i = 0; i < 3 * VPA_OOM_QUEUE_MAX; i++)
        vpa_oom_queue_push(&q, 0, i, "flood", "p", "c");
    ck_assert_uint_eq(q.count, VPA_OOM_QUEUE_MAX);
    ck_assert_uint_eq(q.dropped, 5 * VPA_OOM_QUEUE_MAX + 10);
    for (size_t i = 0; i < q.count; i++) {
        bool flood = i < VPA_OOM_QUEUE_MAX - 10;
        ck_assert_str_eq(q.items[i].ns, flood ? "flood" : "shop");
        ck_assert_int_eq(q.items[i].memory,
                         flood ? (int64_t)i : (int64_t)i - (VPA_OOM_QUEUE_MAX - 10));
    }
    vpa_oom_queue_clear(&q);
    vpa_oom_queue_push(&q, 0, 1, "flood", "p", "c");
    ck_assert_uint_eq(q.count, 1);
    vpa_oom_queue_release(&q);
}

/* In a full queue nothing is gained by taking from who would then have one less than the taker. */
TEST(room_is_taken_from_who_has_two_more) {
    struct vpa_oom_queue q;
    int half = VPA_OOM_QUEUE_MAX / 2;

    vpa_oom_queue_init(&q);
    for (int i = 0; i < half; i++)
        vpa_oom_queue_push(&q, 0, 1, "a", "p", "c");
    for (int i = 0; i < half - 2; i++)
        vpa_oom_queue_push(&q, 0, 2, "b", "p", "c");
    vpa_oom_queue_push(&q, 0, 3, "c", "p", "c");
    vpa_oom_queue_push(&q, 0, 3, "c", "p", "c");
    ck_assert_uint_eq(q.count, VPA_OOM_QUEUE_MAX);
    vpa_oom_queue_push(&q, 0, 4, "b", "p", "c"); /* from a, which has two more */
    ck_assert_str_eq(q.items[q.count - 1].ns, "b");
    ck_assert_str_eq(q.items[half - 1].ns, "b");
    vpa_oom_queue_push(&q, 0, 5, "b", "p", "c"); /* both have as many now */
    ck_assert_int_eq(q.items[q.count - 1].memory, 4);
    vpa_oom_queue_push(&q, 0, 6, "c", "p", "c");
    ck_assert_int_eq(q.items[q.count - 1].memory, 6);
    vpa_oom_queue_push(&q, 0, 7, "a", "p", "c"); /* one of them has one less */
    vpa_oom_queue_push(&q, 0, 7, "b", "p", "c");
    ck_assert_int_eq(q.items[q.count - 1].memory, 6);
    ck_assert_uint_eq(q.count, VPA_OOM_QUEUE_MAX);
    ck_assert_uint_eq(q.dropped, 5);
    vpa_oom_queue_release(&q);
}

/* Of three the one that has most, whichever comes first. */
TEST_TIMES(room_is_taken_from_who_has_most, 6) {
    static const char *const names[][3] = {{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"},
                                           {"b", "c", "a"}, {"c", "a", "b"}, {"c", "b", "a"}};
    const char *const *ns = names[_i];
    struct vpa_oom_queue q;
    int counts[3] = {0};

    vpa_oom_queue_init(&q);
    for (int i = 0; i < VPA_OOM_QUEUE_MAX / 4; i++) {
        vpa_oom_queue_push(&q, 0, 1, ns[0], "p", "c");
        vpa_oom_queue_push(&q, 0, 1, ns[1], "p", "c");
        vpa_oom_queue_push(&q, 0, 1, ns[2], "p", "c");
        vpa_oom_queue_push(&q, 0, 1, ns[2], "p", "c");
    }
    ck_assert_uint_eq(q.count, VPA_OOM_QUEUE_MAX);
    for (int i = 0; i < 5; i++)
        vpa_oom_queue_push(&q, 0, 2, "new", "p", "c");
    for (size_t i = 0; i < q.count; i++)
        for (int k = 0; k < 3; k++)
            counts[k] += strcmp(q.items[i].ns, ns[k]) == 0;
    ck_assert_int_eq(counts[0], VPA_OOM_QUEUE_MAX / 4);
    ck_assert_int_eq(counts[1], VPA_OOM_QUEUE_MAX / 4);
    ck_assert_int_eq(counts[2], VPA_OOM_QUEUE_MAX / 2 - 5);
    vpa_oom_queue_release(&q);
}

TEST(memory_of_events_is_bounded) {
    struct vpa_oom_queue q;
    struct vpa_event event = *event_of("first", events[0].fields);
    char uid[32];

    vpa_oom_queue_init(&q);
    event.meta.uid = "first";
    ck_assert_uint_eq(vpa_oom_observe_event(&q, &event, NULL), 1);
    for (int i = 0; i < VPA_SEEN_EVENTS_MAX; i++) {
        snprintf(uid, sizeof(uid), "uid-%d", i);
        event.meta.uid = uid;
        vpa_oom_observe_event(&q, &event, NULL);
    }
    ck_assert_uint_eq(q.seen.uids.count, VPA_SEEN_EVENTS_MAX);
    event.meta.uid = "uid-9999";
    ck_assert_uint_eq(vpa_oom_observe_event(&q, &event, NULL), 0);
    vpa_oom_queue_clear(&q);
    event.meta.uid = "first"; /* forgotten */
    ck_assert_uint_eq(vpa_oom_observe_event(&q, &event, NULL), 1);
    vpa_oom_queue_release(&q);
}

static size_t observe(struct vpa_oom_queue *q, const char *ns, const char *name, int number)
{
    struct vpa_event event = *event_of("eviction", events[0].fields);
    vpa_auto_free char *uid = vpa_xprintf("%s-%s-%d", ns, name, number);

    event.involved_ns = ns;
    event.meta.uid = uid;
    return vpa_oom_observe_event(q, &event, NULL);
}

/* What is told again counts once, whatever others do in their namespaces meanwhile. */
TEST(a_flood_of_events_displaces_itself) {
    struct vpa_oom_queue q;

    vpa_oom_queue_init(&q);
    ck_assert_uint_eq(observe(&q, "shop", "kill", 0), 1);
    for (int i = 0; i < VPA_SEEN_EVENTS_MAX + 10; i++)
        observe(&q, "flood", "kill", i);
    ck_assert_uint_eq(observe(&q, "bank", "kill", 0), 1); /* room that the flood has had */
    for (int i = 0; i < VPA_SEEN_EVENTS_MAX; i++)
        observe(&q, "flood", "more", i);
    vpa_oom_queue_clear(&q);
    ck_assert_uint_eq(observe(&q, "shop", "kill", 0), 0);
    ck_assert_uint_eq(observe(&q, "bank", "kill", 0), 0);
    ck_assert_uint_eq(observe(&q, "flood", "more", VPA_SEEN_EVENTS_MAX - 1), 0);
    ck_assert_uint_eq(observe(&q, "flood", "more", 2), 0);
    ck_assert_uint_eq(observe(&q, "flood", "more", 1), 1); /* its oldest went */
    ck_assert_uint_eq(q.seen.uids.count, VPA_SEEN_EVENTS_MAX);
    vpa_oom_queue_release(&q);
}

/* Of several the one that has most, also when that has become another one. */
TEST(who_has_most_events_makes_room) {
    struct vpa_oom_queue q;
    int most = VPA_SEEN_EVENTS_MAX / 2 + 1;

    vpa_oom_queue_init(&q);
    for (int i = 0; i < most; i++)
        observe(&q, "a", "kill", i);
    for (int i = 0; i < VPA_SEEN_EVENTS_MAX - most; i++)
        observe(&q, "b", "kill", i);
    for (int i = 0; i < 4; i++) /* from a, a and whichever has as many */
        observe(&q, "c", "kill", i);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(observe(&q, "c", "kill", i), 0);
    ck_assert_uint_eq(observe(&q, "a", "kill", 3), 0);
    ck_assert_uint_eq(observe(&q, "b", "kill", 2), 0);
    ck_assert_uint_eq(q.seen.uids.count, VPA_SEEN_EVENTS_MAX);
    ck_assert_uint_eq(q.seen.shares.count, 3);
    vpa_oom_queue_release(&q);
}

int main(void)
{
    return run_tests("oom", setup, teardown);
}
