/* Event recorder: bodies, counting, combining, spam filter, failures. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/kube/events.h"

static struct vpa_events *events;

/* The i-th write. */
static const struct sim_asked *seen(size_t i)
{
    return sim_cluster_write(sim, "/events", i);
}

static size_t count(void)
{
    size_t n;

    (void)sim_cluster_writes(sim, &n);
    return n;
}

/* From the write before it. */
static vpa_duration pause_before(size_t i)
{
    return vpa_time_sub(seen(i)->time, seen(i - 1)->time);
}

/* From now on writes are answered so. */
static void answer_writes(struct sim_answer answer)
{
    static const char *const methods[] = {"POST", "PATCH"};

    sim_cluster_unscript(sim);
    answer.path = "/events";
    answer.how = SIM_PATH_HOLDS;
    for (size_t i = 0; i < VPA_COUNT(methods); i++) {
        answer.method = methods[i];
        sim_cluster_answer(sim, &answer);
    }
}

static void fail_writes(unsigned times, int code, enum vpa_transport_failure failure)
{
    answer_writes((struct sim_answer){.times = times, .code = code, .failure = failure});
}

static void setup(void)
{
    start_client(NULL, 1772366400, 3); /* 2026-03-01T12:00:00Z */
    const struct vpa_events_options event_options = {client, "vpa-updater"};
    events = vpa_events_new(&event_options);
}

static void teardown(void)
{
    vpa_events_free(events);
    stop_client();
}

static const struct vpa_object_ref pod = {"v1", "Pod", "ns", "d-0", "uid-ns-d-0", NULL};
static const struct vpa_object_ref vpa = {
    "autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "ns", "v", "u", "7"};

TEST(writes_whole_events) {
    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    ck_assert_uint_eq(vpa_events_pending(events), 1);
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), 1);
    ck_assert_str_eq(seen(0)->path, "/api/v1/namespaces/ns/events");
    ck_assert_str_eq(
        seen(0)->body,
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"d-0.1898b5d9b3d68000\","
        "\"namespace\":\"ns\"},"
        "\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"d-0\",\"uid\":\"uid-"
        "ns-d-0\",\"apiVersion\":\"v1\"},"
        "\"reason\":\"EvictedByVPA\",\"message\":\"Pod was "
        "evicted.\",\"source\":{\"component\":\"vpa-updater\"},"
        "\"firstTimestamp\":\"2026-03-01T12:00:00Z\",\"lastTimestamp\":\"2026-03-01T12:00:00Z\","
        "\"count\":1,\"type\":\"Normal\","
        "\"eventTime\":null,\"reportingComponent\":\"vpa-updater\",\"reportingInstance\":\"\"}");
    vpa_events_record_warning(events, &vpa, "Unreadable", "x");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_ptr_nonnull(
        strstr(seen(1)->body, "\"resourceVersion\":\"7\"},\"reason\":\"Unreadable\""));
    ck_assert_ptr_nonnull(strstr(seen(1)->body, "\"type\":\"Warning\""));
}

TEST(counts_repetitions) {
    struct vpa_object_ref changed = pod;

    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_MINUTE);
    changed.resource_version = "99"; /* the version does not matter */
    vpa_events_record(events, &changed, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(count(), 2);
    ck_assert_str_eq(seen(1)->method, "PATCH");
    ck_assert_str_eq(seen(1)->type, "application/strategic-merge-patch+json");
    ck_assert_str_eq(seen(1)->path, "/api/v1/namespaces/ns/events/d-0.1898b5d9b3d68000");
    ck_assert_str_eq(seen(1)->body, "{\"count\":2,\"lastTimestamp\":\"2026-03-01T12:01:00Z\","
                                    "\"message\":\"Pod was evicted.\"}");
    /* the earlier object is gone: created anew under its name */
    fail_writes(1, 404, VPA_TRANSPORT_OK);
    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(count(), 4);
    ck_assert_str_eq(seen(3)->method, "POST");
    ck_assert_ptr_nonnull(strstr(seen(3)->body, "\"count\":3"));
    ck_assert_ptr_nonnull(strstr(seen(3)->body, "\"firstTimestamp\":\"2026-03-01T12:00:00Z\""));
}

/* It would take memory for each pod that ever was. */
TEST(what_did_not_happen_for_a_day_is_forgotten) {
    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_EVENTS_IDLE);
    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_EVENTS_IDLE + VPA_SECOND);
    vpa_events_record(events, &pod, "EvictedByVPA", "Pod was evicted.");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(count(), 3);
    ck_assert_str_eq(seen(1)->method, "PATCH");
    ck_assert_str_eq(seen(2)->method, "POST");
    ck_assert_ptr_nonnull(strstr(seen(2)->body, "\"count\":1"));
    ck_assert_ptr_nonnull(strstr(seen(2)->body, "\"firstTimestamp\":\"2026-03-03T12:00:01Z\""));
}

TEST(combines_similar_events) {
    char message[64];

    for (int i = 0; i < 12; i++) {
        snprintf(message, sizeof(message), "VPA Updater evicted Pod d-%d.", i);
        vpa_events_record(events, &vpa, "EvictedPod", message);
        vpa_events_flush(events, VPA_MINUTE);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    ck_assert_uint_eq(count(), 12);
    ck_assert_ptr_nonnull(strstr(seen(8)->body, "\"message\":\"VPA Updater evicted Pod d-8.\""));
    ck_assert_str_eq(seen(9)->method, "POST");
    ck_assert_ptr_nonnull(
        strstr(seen(9)->body,
               "\"message\":\"(combined from similar events): VPA Updater evicted Pod d-9.\""));
    ck_assert_str_eq(seen(11)->method, "PATCH");
    ck_assert_ptr_nonnull(strstr(seen(11)->body, "{\"count\":3,"));
    /* after a gap of more than ten minutes the set starts anew */
    vpa_loop_pump(loop, 601 * VPA_SECOND);
    vpa_events_record(events, &vpa, "EvictedPod", "VPA Updater evicted Pod d-99.");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_ptr_nonnull(strstr(seen(12)->body, "\"message\":\"VPA Updater evicted Pod d-99.\""));
}

/* The same again is not similar: nine messages are written as they are however often each comes. */
TEST(repetitions_are_not_combined) {
    static const int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 4, 8, 0, 9};
    char message[64], want[128];

    for (size_t i = 0; i < VPA_COUNT(order); i++) {
        snprintf(message, sizeof(message), "VPA Updater evicted Pod d-%d.", order[i]);
        snprintf(want, sizeof(want), "\"message\":\"%s%s\"",
                 order[i] == 9 ? "(combined from similar events): " : "", message);
        vpa_events_record(events, &vpa, "EvictedPod", message);
        vpa_events_flush(events, VPA_MINUTE);
        vpa_loop_pump(loop, VPA_SECOND);
        ck_assert_uint_eq(count(), i + 1);
        ck_assert_msg(strstr(seen(i)->body, want) != NULL, "%s", seen(i)->body);
        ck_assert_str_eq(seen(i)->method, i < 9 || order[i] == 9 ? "POST" : "PATCH");
    }
    ck_assert_ptr_nonnull(strstr(seen(12)->body, "{\"count\":3,"));
}

/* The next one goes out when the one before it was answered. */
TEST(writes_one_after_the_other) {
    answer_writes((struct sim_answer){.delay = VPA_SECOND});
    for (int i = 0; i < 4; i++)
        vpa_events_record(events, &pod, "R", i % 2 ? "odd" : "even");
    for (size_t i = 1; i <= 4; i++) {
        vpa_loop_pump(loop, VPA_SECOND / 2);
        ck_assert_uint_eq(count(), i);
        ck_assert_uint_eq(vpa_memory_transport_open(transport), 1);
        ck_assert_uint_eq(vpa_events_pending(events), 5 - i);
        vpa_loop_pump(loop, VPA_SECOND / 2);
    }
    ck_assert_uint_eq(vpa_events_pending(events), 0);
    ck_assert_uint_eq(count(), 4);
    vpa_events_record(events, &pod, "R", "after the queue was empty");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), 5);
}

/* Events are the same when all of this is: a difference in any of it begins anew. */
TEST(what_makes_an_event) {
    const struct vpa_object_ref others[] = {
        {"v2", "Pod", "ns", "d-0", "uid-ns-d-0", NULL},
        {"v1", "Pot", "ns", "d-0", "uid-ns-d-0", NULL},
        {"v1", "Pod", "nt", "d-0", "uid-ns-d-0", NULL},
        {"v1", "Pod", "ns", "d-1", "uid-ns-d-0", NULL},
        {"v1", "Pod", "ns", "d-0", "uid-ns-d-1", NULL},
    };

    vpa_events_record(events, &pod, "R", "m");
    for (size_t i = 0; i < VPA_COUNT(others); i++)
        vpa_events_record(events, &others[i], "R", "m");
    vpa_events_record(events, &pod, "Q", "m");
    vpa_events_record(events, &pod, "R", "n");
    vpa_events_record_warning(events, &pod, "R", "m");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), 9);
    for (size_t i = 0; i < count(); i++)
        ck_assert_str_eq(seen(i)->method, "POST");
    vpa_events_record(events, &pod, "R", "m"); /* and again: the first one */
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_str_eq(seen(9)->method, "PATCH");
}

/* Each event within ten minutes of the one before it belongs to the row; so do its repetitions. */
TEST(rows_of_similar_events_end) {
    char message[64];

    for (int i = 0; i < 10; i++) {
        snprintf(message, sizeof(message), "m%d", i);
        vpa_events_record(events, &vpa, "R", message);
        vpa_events_flush(events, VPA_MINUTE);
        vpa_loop_pump(loop, 600 * VPA_SECOND);
    }
    ck_assert_uint_eq(count(), 10);
    ck_assert_ptr_nonnull(strstr(seen(8)->body, "\"message\":\"m8\""));
    ck_assert_ptr_nonnull(
        strstr(seen(9)->body, "\"message\":\"(combined from similar events): m9\""));
    ck_assert_ptr_nonnull(strstr(seen(9)->body,
                                 "\"firstTimestamp\":\"2026-03-01T13:30:00Z\","
                                 "\"lastTimestamp\":\"2026-03-01T13:30:00Z\",\"count\":1,"));
    ck_assert_ptr_nonnull(strstr(seen(9)->body, "\"reportingComponent\":\"\","));
    vpa_events_record(events, &vpa, "R", "m3"); /* known, but the row is combined by now: no */
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_ptr_nonnull(strstr(seen(10)->body, "\"message\":\"m3\""));
    ck_assert_ptr_nonnull(strstr(seen(10)->body, "\"count\":2,"));
    vpa_loop_pump(loop, 600 * VPA_SECOND + 1);
    for (size_t i = 0; i < 9; i++) { /* a row of their own */
        snprintf(message, sizeof(message), "n%zu", i);
        vpa_events_record(events, &vpa, "R", message);
        vpa_events_flush(events, VPA_MINUTE);
        ck_assert_ptr_null(strstr(seen(11 + i)->body, "combined"));
    }
}

/* A write that cannot be sent is tried twelve times, the second after a part of ten seconds. */
TEST(tries_have_a_bound) {
    fail_writes(11, 0, VPA_TRANSPORT_RESET);
    vpa_events_record(events, &pod, "R", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 12); /* the last one was good */
    for (size_t i = 2; i < 12; i++)
        ck_assert(pause_before(i) == 10 * VPA_SECOND);
    ck_assert(pause_before(1) > 0);
    fail_writes(12, 0, VPA_TRANSPORT_RESET);
    vpa_events_record(events, &pod, "Q", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 24);
    fail_writes(11, 0, VPA_TRANSPORT_RESET); /* counted anew for the next */
    vpa_events_record(events, &pod, "P", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 36);
    ck_assert_uint_eq(vpa_events_pending(events), 0);
}

TEST(filters_spam) {
    for (int i = 0; i < 40; i++)
        vpa_events_record(events, &pod, "R", "same");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), 25);
    vpa_loop_pump(loop, 301 * VPA_SECOND);
    vpa_events_record(events, &pod, "R", "same");
    vpa_events_record(events, &pod, "R", "same");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), 26);
    ck_assert_ptr_nonnull(strstr(seen(25)->body, "\"count\":41,")); /* dropped ones were counted */
}

TEST(bounds_the_queue) {
    char name[16];

    for (int i = 0; i < 1500; i++) {
        struct vpa_object_ref o = pod;
        snprintf(name, sizeof(name), "p%d", i);
        o.name = name;
        vpa_events_record(events, &o, "R", "m");
    }
    ck_assert_uint_eq(vpa_events_pending(events), VPA_EVENTS_QUEUE);
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_uint_eq(count(), VPA_EVENTS_QUEUE);
}

TEST(tries_transport_failures_again) {
    fail_writes(3, 0, VPA_TRANSPORT_REFUSED);
    vpa_events_record(events, &pod, "R", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 4);
    ck_assert_int_lt(pause_before(1), 10 * VPA_SECOND);
    ck_assert_int_eq(pause_before(2), 10 * VPA_SECOND);
    fail_writes(1000, 0, VPA_TRANSPORT_REFUSED); /* given up after twelve */
    vpa_events_record(events, &vpa, "R", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 16);
    fail_writes(5, 500, VPA_TRANSPORT_OK); /* answers are final */
    vpa_events_record(events, &vpa, "Q", "m");
    vpa_events_flush(events, VPA_HOUR);
    ck_assert_uint_eq(count(), 17);
    ck_assert_uint_eq(vpa_events_pending(events), 0);
}

TEST(odd_objects) {
    const struct vpa_object_ref nameless = {NULL, "Pod", NULL, "UPPER_case", NULL, NULL};

    vpa_events_record(events, &nameless, "R", "m");
    vpa_events_flush(events, VPA_MINUTE);
    ck_assert_str_eq(seen(0)->path, "/api/v1/namespaces/default/events");
    ck_assert_ptr_null(strstr(seen(0)->body, "\"name\":\"UPPER_case."));
    vpa_events_record(events, &nameless, "R", "m"); /* freed while queued */
    vpa_events_record(events, &nameless, "R", "n");
}

int main(void)
{
    return run_tests("events", setup, teardown);
}
