/* How a reflector lists and watches: pages, expiry, back-off, silence, broken streams. */
#include "reflector_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "captured_log.h"

TEST(lists_then_watches) {
    static const struct answer answers[] = {
        {.want = "/api/v1/pods?fieldSelector=status.phase%21%3DPending&limit=500&resourceVersion=0",
         .avoid = "watch",
         .status = 200,
         .json = LIST("10", OBJECT("a", "8") "," OBJECT("b", "9")),
         .chunk = 7},
        {.want = "watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=",
         .status = 200,
         .stream = true,
         .chunk = 5,
         .json = FRAME("ADDED", "c", "11") FRAME("MODIFIED", "a", "12") FRAME("DELETED", "b", "13")
             FRAME("BOOKMARK", "", "20")},
        {.want = "resourceVersion=20", .status = 200, .stream = true},
    };

    START(answers);
    ck_assert(!vpa_reflector_is_synced(reflector));
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert(vpa_reflector_is_synced(reflector));
    ck_assert(vpa_reflector_is_watching(reflector));
    ck_assert_str_eq(trace, "B La Lb E Ac Ma Db ");
    vpa_memory_stream_end(stream, VPA_TRANSPORT_OK); /* the server's time-out: at once again */
    vpa_loop_pump(loop, 0);
    ck_assert_uint_eq(requests, 3);
    ck_assert_uint_eq(vpa_reflector_stats(reflector).objects, 5);
}

TEST(fetches_pages) {
    static const struct answer answers[] = {
        {.want = "limit=500&resourceVersion=0",
         .status = 200,
         .json = PAGE("10", "t/1=", OBJECT("a", "1"))},
        {.want = "limit=500&continue=t%2F1%3D",
         .avoid = "resourceVersion",
         .status = 200,
         .json = PAGE("10", "t2", OBJECT("b", "2"))},
        {.want = "continue=t2", .status = 200, .json = LIST("10", OBJECT("c", "3"))},
        {.want = "watch=true", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, "B La Lb Lc E ");
}

TEST(endless_lists_are_given_up) {
    static const struct answer answers[] = {
        {.status = 200, .json = PAGE("10", "same", "")},
        {.want = "continue=same", .status = 200, .json = PAGE("10", "same", "")},
        {.avoid = "continue", .status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_str_eq(trace, "B B E ");
}

/* A version that fits into no path: the watch ends, and the last good one is used again. */
TEST(absurd_versions_are_refused) {
    char *digits = malloc(5001);
    memset(digits, '7', 5000);
    digits[5000] = '\0';
    vpa_auto_free char *long_list =
        vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[]}", digits);
    vpa_auto_free char *frame = vpa_xprintf(
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%s\"}}}", digits);
    const struct answer answers[] = {
        {.status = 200, .json = long_list},
        {.status = 200, .json = LIST("10", OBJECT("a", "1"))},
        {.want = "resourceVersion=10", .status = 200, .json = frame},
        {.want = "resourceVersion=10", .avoid = "watch", .status = 200, .json = LIST("11", "")},
        {.want = "resourceVersion=11", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 0);
    ck_assert(!vpa_reflector_is_synced(reflector));
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_str_eq(trace, "B B La E B E ");
    ck_assert(vpa_reflector_is_watching(reflector));
    free(digits);
}

TEST(starts_over_when_pages_expire) {
    static const struct answer answers[] = {
        {.status = 200, .json = PAGE("10", "t1", OBJECT("a", "1"))},
        {.want = "continue=t1", .status = 410},
        {.avoid = "limit", .status = 200, .json = LIST("30", OBJECT("z", "1"))},
        {.want = "resourceVersion=30", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 0);
    ck_assert_str_eq(trace, "B La B Lz E ");
}

TEST(lists_again_when_the_version_expired) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .stream = true, .json = FRAME("ADDED", "a", "11")},
        /* lower bound first, the newest after that was refused as well */
        {.want = "resourceVersion=11", .avoid = "watch", .status = 410},
        {.avoid = "resourceVersion",
         .want = "limit=500",
         .status = 200,
         .json = LIST("99", OBJECT("q", "98"))},
        {.want = "resourceVersion=99", .status = 200, .stream = true},
    };
    static const char error[] =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\","
        "\"message\":\"too old resource version\"}}\n";

    START(answers);
    vpa_loop_pump(loop, 0);
    vpa_memory_stream_push(stream, error, strlen(error));
    vpa_loop_pump(loop, 5 * VPA_SECOND);
    ck_assert_str_eq(trace, "B E Aa B B Lq E ");
    ck_assert_int_eq(closed, 1); /* our side hung up after the ERROR */
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors,
                      1); /* the list; a version may expire */
}

/* The newest list comes from the store, in pages, whether the server has a cache or not. With a
 * limit the lists behind it would be of just the version that is known. */
TEST(pages_of_the_newest_list_say_nothing_about_a_cache) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 410},
        {.want = "resourceVersion=10", .status = 410},
        {.want = "limit=500",
         .avoid = "resourceVersion",
         .status = 200,
         .json = PAGE("20", "t", "")},
        {.want = "continue=t", .status = 200, .json = LIST("20", "")},
        {.want = "watch", .status = 500},
        {.want = "resourceVersion=20", .avoid = "limit", .status = 200, .json = LIST("21", "")},
        {.want = "resourceVersion=21", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 20 * VPA_SECOND);
    ck_assert(vpa_reflector_is_watching(reflector));
    ck_assert_uint_eq(requests, 8);
}

/* A server without a cache gives just the version that is asked for: such lists make no cache
 * young, for as long as watches fail. */
TEST(a_list_of_one_version_makes_no_cache_young) {
    static const struct answer answers[] = {
        {.want = "resourceVersion=0", .status = 200, .json = PAGE("10", "t", "")},
        {.want = "continue=t", .status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 500},
        {.want = "limit=500&resourceVersion=10", .status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 500},
        {.want = "limit=500&resourceVersion=10", .status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_uint_ge(requests, 4);
    ck_assert_int_ge(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 2 * VPA_SECOND);
    vpa_loop_pump(loop, 20 * VPA_SECOND); /* the watch stands: nothing is wrong with the version */
    ck_assert_uint_eq(requests, 7);
    ck_assert_int_lt(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 20 * VPA_SECOND);
}

TEST(watch_refused_with_410_lists_again) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 410},
        {.want = "resourceVersion=10", .status = 200, .json = LIST("12", OBJECT("x", "1"))},
        {.want = "resourceVersion=12", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_str_eq(trace, "B E B Lx E ");
}

static const struct {
    const char *name;
    struct answer broken; /* of the watch */
    const char *next;     /* what the request after it asks for */
} troubles[] = {
    {"throttled: watched again", {.status = 429}, "NotOlderThan"},
    {"refused connection: watched again", {.failure = VPA_TRANSPORT_REFUSED}, "NotOlderThan"},
    {"forbidden: listed again", {.status = 403}, "limit"},
    {"server error: listed again", {.status = 500}, "limit"},
    {"throttled in the stream, by its code: watched again",
     {.status = 200,
      .stream = true,
      .json = "{\"type\":\"ERROR\",\"object\":{\"code\":429,\"reason\":\"Slow\"}}"},
     "NotOlderThan"},
    {"throttled in the stream, by its reason: watched again",
     {.status = 200,
      .stream = true,
      .json = "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"reason\":\"TooManyRequests\"}}"},
     "NotOlderThan"},
    {"error in the stream: listed again",
     {.status = 200,
      .stream = true,
      .json = "{\"type\":\"ERROR\",\"object\":{\"code\":430,\"reason\":\"Slow\"}}"},
     "limit"},
    {"frame cut off", {.status = 200, .json = "{\"type\":\"ADDED\",\"obj"}, "limit"},
    {"no JSON", {.status = 200, .stream = true, .json = "<html>"}, "limit"},
    {"reset behind an event: watched again",
     {.status = 200, .failure = VPA_TRANSPORT_RESET, .json = FRAME("ADDED", "k", "7")},
     "NotOlderThan"},
    {"cut off within an event: watched again",
     {.status = 200,
      .failure = VPA_TRANSPORT_EOF,
      .json = FRAME("ADDED", "k", "7") "{\"type\":\"ADDED\",\"obj"},
     "NotOlderThan"},
    {"cut off at once: listed again",
     {.status = 200, .failure = VPA_TRANSPORT_EOF, .json = ""},
     "limit=500"},
};

TEST_EACH(recovers_from_trouble, troubles) {
    const struct answer answers[] = {
        {.status = 200, .json = PAGE("10", "", "")},
        troubles[_i].broken,
        {.want = troubles[_i].next, .status = 200, .json = LIST("11", OBJECT("n", "1"))},
        {.want = "watch=true", .status = 200, .stream = true},
    };

    /* the list must have come in pages for later lists to ask for pages */
    static const struct answer paged = {.status = 200, .json = PAGE("9", "t", "")};
    struct answer all[5];
    all[0] = paged;
    memcpy(all + 1, answers, sizeof(answers));
    START(all);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert_msg(requests >= 4, "%s: %zu requests", troubles[_i].name, requests);
    ck_assert_msg(vpa_reflector_is_watching(reflector), "%s", troubles[_i].name);
    ck_assert_msg(at[3] - at[2] >= 800 * VPA_MILLISECOND && at[3] - at[2] < 1600 * VPA_MILLISECOND,
                  "%s: pause %f", troubles[_i].name, (double)(at[3] - at[2]) / 1e9);
}

/* An API server that is rolled cuts all watches at once: nobody lists a large cluster for that. */
TEST_TIMES(a_watch_that_is_cut_goes_on_where_it_was, 2) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .stream = true, .json = FRAME("ADDED", "a", "11")},
        HAS("11"),
        {.want = "watch=true&allowWatchBookmarks=true&resourceVersion=11&",
         .status = 200,
         .stream = true},
        {.avoid = "NotOlderThan", .status = 200, .json = LIST("11", "")},
        {.want = "resourceVersion=11", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_MINUTE);
    vpa_memory_stream_end(stream, _i ? VPA_TRANSPORT_RESET : VPA_TRANSPORT_EOF);
    vpa_loop_pump(loop, 0);
    ck_assert(!vpa_reflector_is_watching(reflector));
    vpa_duration age = vpa_reflector_age(reflector, vpa_loop_monotonic(loop));
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_uint_eq(requests, 4);
    ck_assert_int_ge(at[2] - at[1], VPA_MINUTE + 800 * VPA_MILLISECOND);
    ck_assert_str_eq(trace, "B E Aa ");
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), age + 2 * VPA_SECOND);
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors, 0);
    /* The next one is cut before anything comes: what it brings may be what cuts it. */
    vpa_memory_stream_end(stream, _i ? VPA_TRANSPORT_RESET : VPA_TRANSPORT_EOF);
    vpa_loop_pump(loop, 4 * VPA_SECOND);
    ck_assert_uint_eq(requests, 6);
}

TEST(backs_off) {
    static const struct answer answers[] = {{.failure = VPA_TRANSPORT_REFUSED}};
    double least = 0.8;

    START(answers);
    vpa_loop_pump(loop, 10 * VPA_MINUTE);
    ck_assert_uint_ge(requests, 15);
    for (size_t i = 1; i < 15; i++) {
        double pause = (double)(at[i] - at[i - 1]) / 1e9;
        ck_assert_msg(pause >= least && pause < 2 * least + 0.001, "pause %zu: %f", i, pause);
        least = least * 2 < 30 ? least * 2 : 30;
    }
    ck_assert_str_eq(vpa_reflector_stats(reflector).errors > 0 ? "errors" : "", "errors");
}

TEST(very_short_watches_back_off) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .json = ""},
        {.avoid = "watch", .status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 2 * VPA_SECOND);
    ck_assert_uint_eq(requests, 4);
    ck_assert_int_ge(at[2] - at[1], 800 * VPA_MILLISECOND);
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors, 1);
}

#define CLOSED(name, version)                                                                      \
    {                                                                                              \
        .want = "watch", .status = 200, .json = FRAME("ADDED", name, version)                      \
    }

/* A server that closes after each event: three in a row are opened again at once, then there is a
 * pause, and the watch goes on where it was. One that lasted begins the count anew. */
TEST(a_row_of_short_watches_is_slowed_down) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        CLOSED("a", "11"),
        CLOSED("b", "12"),
        CLOSED("c", "13"),
        {.want = "watch", .status = 200, .stream = true},
        CLOSED("d", "14"),
        CLOSED("e", "15"),
        CLOSED("f", "16"),
        CLOSED("g", "17"),
        HAS("17"),
        {.want = "resourceVersion=17", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert_uint_eq(requests, 5);
    ck_assert_int_eq(at[4], at[1]);
    vpa_memory_stream_end(stream, VPA_TRANSPORT_OK);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert_uint_eq(requests, 11);
    ck_assert_int_eq(at[8], at[5]);
    ck_assert_int_ge(at[9] - at[8], 800 * VPA_MILLISECOND);
    ck_assert_str_eq(trace, "B E Aa Ab Ac Ad Ae Af Ag ");
}

/* Seconds since the cache was in step, as a scraper computes them. */
static double shown_age(void)
{
    return (double)vpa_time_unix_nanos(vpa_loop_now(loop)) / (double)VPA_SECOND -
           vpa_metric_value(&vpa_cache_in_step, "pods");
}

/* Frozen: the server goes on acknowledging bytes, but nothing comes. */
TEST(silent_watches_are_opened_anew) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "resourceVersion=10", .status = 200, .stream = true},
        HAS("20"),
        {.want = "watch=true&allowWatchBookmarks=true&resourceVersion=20",
         .status = 200,
         .stream = true,
         .json = FRAME("ADDED", "a", "21")},
        HAS("21"),
        {.want = "resourceVersion=21", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 60 * VPA_SECOND);
    ck_assert_uint_eq(requests, 2);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 60 * VPA_SECOND);
    vpa_memory_stream_push(stream, BOOKMARK("20"), strlen(BOOKMARK("20")));
    vpa_loop_pump(loop, 60 * VPA_SECOND);
    ck_assert_uint_eq(requests, 2);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 60 * VPA_SECOND);
    ck_assert(shown_age() == 60);
    vpa_loop_pump(loop, 16 * VPA_SECOND);
    ck_assert(shown_age() <= 1);
    ck_assert_uint_eq(requests, 4);
    ck_assert_int_eq(closed, 1);
    ck_assert_int_eq(at[2] - at[1], 60 * VPA_SECOND + VPA_REFLECTOR_SILENCE);
    ck_assert_int_le(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), VPA_SECOND);
    vpa_loop_pump(loop, VPA_REFLECTOR_SILENCE);
    ck_assert_uint_eq(requests, 6);
    ck_assert_str_eq(trace, "B E Aa "); /* watched on from the last version, no new list */
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors, 0);
}

#define TOO_LARGE "Timeout: Too large resource version: 50, current: 40"

/* etcd came back from a backup: the version that is watched from is still to come, and until then
 * the server is silent. What it has is listed, by any server's word on it. */
TEST_TIMES(a_store_that_went_back_is_listed_anew, 2) {
    const struct answer answers[] = {
        {.status = 200, .json = LIST("50", OBJECT("lost", "49"))},
        _i == 0 ? (struct answer){.want = "watch=true", .status = 200, .stream = true}
                : (struct answer){.want = "watch=true", .failure = VPA_TRANSPORT_REFUSED},
        {.want = "NotOlderThan", .status = 504, .message = TOO_LARGE},
        {.avoid = "resourceVersion", .status = 200, .json = LIST("40", OBJECT("kept", "30"))},
        {.want = "resourceVersion=40", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, _i == 0 ? VPA_REFLECTOR_SILENCE + VPA_SECOND : 3 * VPA_SECOND);
    ck_assert_uint_eq(requests, 5);
    ck_assert_str_eq(trace, "B Llost E B Lkept E ");
    ck_assert(vpa_reflector_is_watching(reflector));
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors, _i == 0 ? 1 : 2);
}

/* One that gives no answer about its version gives no watch either: the cache grows old. */
TEST(a_server_that_does_not_tell_its_version_makes_no_cache_young) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("50", "")},
        {.want = "watch=true", .status = 200, .stream = true},
        {.avoid = "watch=true", .status = 0, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_uint_ge(requests, 4);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 5 * VPA_MINUTE);
}

/* The events that a watch begins with after an outage are those of the outage. */
TEST_TIMES(what_is_caught_up_with_makes_no_cache_young, 3) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch", .status = 429},
        {.status = 429},
        {.status = 429},
        {.status = 429},
        {.status = 429},
        {.status = 429},
        {.status = 429},
        {.status = 429},
        HAS("10"),
        {.want = "watch", .status = 200, .stream = true, .json = FRAME("ADDED", "a", "11")},
    };

    START(answers);
    while (requests < VPA_COUNT(answers))
        vpa_loop_pump(loop, VPA_SECOND);
    int64_t began = vpa_loop_monotonic(loop);
    ck_assert_int_gt(at[VPA_COUNT(answers) - 1] - at[0], VPA_REFLECTOR_SILENCE);
    for (int i = 0; i < 5; i++) { /* an event every two seconds */
        vpa_memory_stream_push(stream, FRAME("ADDED", "b", "12"),
                               strlen(FRAME("ADDED", "b", "12")));
        vpa_loop_pump(loop, 2 * VPA_SECOND);
        ck_assert_int_gt(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), VPA_MINUTE);
    }
    if (_i == 0) {
        vpa_memory_stream_push(stream, BOOKMARK("20"), strlen(BOOKMARK("20")));
        vpa_loop_pump(loop, 0);
        ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 0);
    } else if (_i == 1) { /* silence */
        vpa_loop_pump(loop, 2 * VPA_SECOND);
        ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 4 * VPA_SECOND);
    } else {
        while (vpa_loop_monotonic(loop) - began < 18 * VPA_SECOND) {
            vpa_memory_stream_push(stream, FRAME("ADDED", "b", "12"),
                                   strlen(FRAME("ADDED", "b", "12")));
            vpa_loop_pump(loop, 2 * VPA_SECOND);
        }
        ck_assert_int_le(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 2 * VPA_SECOND);
    }
    vpa_memory_stream_push(stream, FRAME("ADDED", "c", "21"), strlen(FRAME("ADDED", "c", "21")));
    vpa_loop_pump(loop, 0);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 0);
}

TEST(watches_without_an_answer_grow_old) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "resourceVersion=10", .status = 0, .stream = true},
    };

    START(answers);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), INT64_MAX);
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_uint_ge(requests, 4);
    ck_assert(!vpa_reflector_is_watching(reflector));
    ck_assert_uint_ge(vpa_reflector_stats(reflector).errors, 2);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), 5 * VPA_MINUTE);
}

#define REFUSAL(code)                                                                              \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code                           \
    ",\"message\":\"scripted\"}}\n"

/* A server away for half an hour, which then has lost the version, or has no time for watches: the
 * 200 before the ERROR says nothing, and the cache is as old as it was. */
TEST_TIMES(a_watch_that_is_refused_in_its_first_frame_makes_no_cache_young, 2) {
    const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "resourceVersion=10", .failure = VPA_TRANSPORT_REFUSED},
        HAS("10"),
        {.want = "watch=true",
         .status = 200,
         .stream = true,
         .json = _i ? REFUSAL("410") : REFUSAL("429")},
        {.avoid = "watch", .status = _i ? 503 : 429},
    };

    start(answers, 2, false, 0);
    vpa_loop_pump(loop, VPA_HOUR / 2);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)), VPA_HOUR / 2);
    requests = 2;
    script_count = VPA_COUNT(answers);
    capture_log(0);
    vpa_loop_pump(loop, 2 * VPA_MINUTE);
    ck_assert_uint_ge(requests, 4);
    ck_assert_int_eq(vpa_reflector_age(reflector, vpa_loop_monotonic(loop)),
                     VPA_HOUR / 2 + 2 * VPA_MINUTE);
    ck_assert(shown_age() == 1920);
    ck_assert_uint_eq(logged(_i ? "Failed to list" : "Watch ended with error"), 1);
}

TEST(watch_only_reopens_after_a_pause) {
    static const struct answer answers[] = {
        {.want = "watch=true",
         .avoid = "resourceVersion",
         .status = 200,
         .json = FRAME("ADDED", "e", "5")},
        {.want = "watch=true", .avoid = "resourceVersion", .status = 500},
        {.want = "watch=true", .avoid = "resourceVersion", .status = 200, .stream = true},
    };

    start(answers, 3, true, 0);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(requests, 3);
    for (int i = 1; i < 3; i++) {
        ck_assert_int_ge(at[i] - at[i - 1], 10 * VPA_SECOND);
        ck_assert_int_le(at[i] - at[i - 1], 15 * VPA_SECOND);
    }
    ck_assert_str_eq(trace, "Ae ");
    ck_assert(vpa_reflector_is_synced(reflector)); /* there is no list to wait for */
    /* An age would grow with the silence, and call somebody (VPACacheStale). */
    ck_assert_double_eq(vpa_metric_value(&vpa_cache_in_step, "pods"), 0);
}

/* The server ends a watch itself, when it was told to; who hangs up before it is rude. Of Events,
 * which are read whole for each watch, one is opened in half an hour at most. */
TEST(the_server_has_time_to_end_a_watch) {
    static const struct answer answers[] = {
        {.want = "watch=true", .status = 200, .stream = true},
        {.want = "watch=true", .status = 200, .stream = true},
    };

    start(answers, 2, true, 0);
    vpa_loop_pump(loop, 2 * VPA_HOUR);
    ck_assert_uint_ge(requests, 2);
    vpa_duration asked = timeouts[0] * VPA_SECOND;
    ck_assert_int_ge(timeouts[0], 1800);
    ck_assert_int_le(timeouts[0], 3600);
    ck_assert_int_ge(at[1] - at[0], asked + 30 * VPA_SECOND);
    ck_assert_int_le(at[1] - at[0], asked + VPA_MINUTE); /* and a pause */
}

/* What goes on from its version may be opened often. */
TEST(a_watch_of_a_cache_ends_in_ten_minutes) {
    static const struct answer answers[] = {{.status = 200, .json = LIST("10", "")},
                                            {.want = "watch=true", .status = 200, .stream = true}};

    START(answers);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_uint_eq(requests, 2);
    ck_assert_int_ge(timeouts[1], 300);
    ck_assert_int_le(timeouts[1], 600);
}

TEST(resyncs) {
    static const struct answer answers[] = {{.status = 200, .json = LIST("1", "")},
                                            {.status = 200, .stream = true}};

    start(answers, 2, false, VPA_HOUR);
    vpa_loop_pump(loop, 3 * VPA_HOUR + VPA_MINUTE);
    ck_assert_str_eq(trace, "B E R R R ");
}

TEST(waiting_names_what_is_missing) {
    static const struct answer answers[] = {{.status = 404}};
    struct vpa_error err;

    START(answers);
    ck_assert_int_eq(vpa_reflector_wait(&reflector, 1, loop, 5 * VPA_SECOND, &err), -1);
    ck_assert_str_eq(err.text, "pods not in step: scripted: timed out");
}

/* What has no version says nothing of the place in the history. */
TEST(an_event_without_a_version_moves_nothing) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "resourceVersion=10",
         .status = 200,
         .stream = true,
         .json = FRAME("ADDED", "a", "")},
        {.want = "watch=true&allowWatchBookmarks=true&resourceVersion=10&",
         .status = 200,
         .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_MINUTE);
    vpa_memory_stream_end(stream, VPA_TRANSPORT_OK);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, "B E Aa ");
    ck_assert_uint_eq(requests, 3);
}

/* Whoever watches for a rise needs to know that nothing has happened yet. */
TEST(unusable_objects_are_counted_from_zero) {
    static const struct answer answers[] = {{.status = 200, .json = LIST("1", "")},
                                            {.want = "watch", .status = 200, .stream = true}};
    static struct vpa_metric *const table[] = {&vpa_unusable_objects};
    struct vpa_metrics metrics = {.table = table, .count = 1};
    vpa_auto_buf page = VPA_BUF(1 << 16);

    vpa_metrics_release(&metrics);
    START(answers);
    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    ck_assert_ptr_nonnull(
        strstr(vpa_buf_text(&page), "\nvpa_unusable_objects_total{resource=\"pods\"} 0\n"));
}

TEST(freeing_hangs_up) {
    static const struct answer answers[] = {{.status = 200, .json = LIST("1", "")},
                                            {.want = "watch", .status = 200, .stream = true}};

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    vpa_reflector_free(VPA_STEAL(reflector));
    ck_assert_int_eq(closed, 1);
    ck_assert_uint_eq(vpa_memory_transport_open(transport), 0);
}

int main(void)
{
    return run_tests("reflector", setup, teardown);
}
