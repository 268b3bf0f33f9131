/* What a reflector makes of objects: which it leaves out, skips and tells of, and which of their
 * faults are no reason to stop. */
#include "reflector_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "captured_log.h"
#include "vpa/api/meta.h"

#define WHOLE(name, version)                                                                       \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version                          \
    "\",\"managedFields\":[{}]},\"env\":[{}]}"

/* The kubelet of the test cluster needs what the daemons leave out. */
TEST_TIMES(leaves_out_what_the_consumer_does_not_read, 2) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("1", WHOLE("a", "1"))},
        {.status = 200,
         .stream = true,
         .json = "{\"type\":\"ADDED\",\"object\":" WHOLE("b", "2") "}\n"},
    };

    left_out = _i ? vpa_pod_unread : NULL;
    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, _i ? "B La E Ab " : "B La+e E Ab+e ");
}

TEST(bad_objects_are_skipped) {
    static const struct answer answers[] = {
        {.status = 200,
         .json = LIST("10", OBJECT("a", "1") "," OBJECT("bad", "2") "," OBJECT("b", "3"))},
        {.status = 200,
         .stream = true,
         .json =
             FRAME("ADDED", "bad", "11") FRAME("NEWS", "x", "12") "\n\n" FRAME("ADDED", "c", "13")},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, "B La !L//bad Lb E !A//bad Ac ");
    ck_assert_uint_eq(vpa_reflector_stats(reflector).skipped, 2);
    ck_assert(vpa_metric_value(&vpa_unusable_objects, "pods") == 2);
    ck_assert(vpa_reflector_is_watching(reflector));
}

static double unknown(void)
{
    return vpa_metric_value(&vpa_unknown_objects, "pods");
}

#define DAMAGED(name) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":01}"

static void push(const char *frame)
{
    vpa_memory_stream_push(stream, frame, strlen(frame));
    vpa_loop_pump(loop, VPA_SECOND);
}

/* Each once, for as long as it is there and cannot be used. */
TEST(what_is_unknown_now_is_counted) {
    static const struct answer answers[] = {
        {.status = 200,
         .json = LIST("10", OBJECT("bad", "2") "," DAMAGED("a") "," DAMAGED("b") "," DAMAGED("c"))},
        {.status = 200, .stream = true},
        {.status = 200, .json = LIST("30", DAMAGED("c") "," OBJECT("good", "20"))},
        {.status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_double_eq(unknown(), 4);
    push(FRAME("DELETED", "bad", "11"));
    ck_assert_double_eq(unknown(), 3);
    push("{\"type\":\"MODIFIED\",\"object\":" DAMAGED("a") "}\n");
    ck_assert_double_eq(unknown(), 3);
    push(FRAME("MODIFIED", "a", "12"));
    ck_assert_double_eq(unknown(), 2);
    push("{\"type\":\"ADDED\",\"object\":" DAMAGED("good") "}\n");
    ck_assert_double_eq(unknown(), 3);
    push("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}"
         "\n");
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_double_eq(unknown(), 1);
    vpa_reflector_free(VPA_STEAL(reflector));
    ck_assert_double_eq(unknown(), 0);
}

/* Events are no state: what one of them says is over. */
TEST(what_is_only_watched_is_not_counted) {
    static const struct answer answers[] = {
        {.status = 200, .stream = true, .json = FRAME("ADDED", "bad", "11")},
    };

    start(answers, VPA_COUNT(answers), true, 0);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_eq(vpa_reflector_stats(reflector).skipped, 1);
    ck_assert_double_eq(unknown(), 0);
}

static int told;

static void tell(void *ctx, const char *api_version, const char *resource,
                 const struct vpa_unusable_object *what)
{
    (void)ctx;
    ck_assert_str_eq(api_version, "v1");
    ck_assert_str_eq(resource, "pods");
    ck_assert_str_eq(what->name, "bad");
    told++;
}

/* Who owns the object hears of it as long as it is there. */
TEST(what_has_gone_is_not_told) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", OBJECT("bad", "2"))},
        {.status = 200,
         .stream = true,
         .json = FRAME("MODIFIED", "bad", "11") FRAME("DELETED", "bad", "12")},
    };
    const struct vpa_kube_client_options options = {
        .loop = loop, .transport = transport, .random = &rnd, .qps = -1, .on_unusable = tell};

    told = 0;
    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, NULL);
    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, "B !L//bad E !M//bad !D//bad ");
    ck_assert_int_eq(told, 2);
}

/* Objects that are damaged inside, each in the middle of a list and of a watch. %DEEP% and %LONG%
 * stand for what is too much. */
#define NAMED(tail)                                                                                \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"namespace\":\"n\",\"resourceVersion\":"      \
    "\"12\"" tail "}"
static const struct {
    const char *object, *why;
} damaged[] = {
    {NAMED("},\"spec\":%DEEP%"), "nested too deeply"},
    {NAMED("},\"spec\":\"%LONG%\""), "longer than 4096 bytes"},
    {NAMED(",\"annotations\":{\"a\":\"%LONG%\"}}"), "longer than 4096 bytes"},
    {NAMED(",\"annotations\":{\"a\":\"\\q\"}}"), "unknown escape in a string"},
    {NAMED("},\"spec\":{\"a\":01}"), "leading zero in a number"},
    {NAMED("},\"spec\":{a:1}"), "member name expected"},
    {NAMED("},\"spec\":[1}"), "',' or ']' expected"},
};

static char *fill_in(const char *template)
{
    enum { DEEP = 1010, LONG = 5000 };
    const char *gap = strchr(template, '%');
    struct vpa_buf text;

    vpa_buf_init(&text, 1 << 16);
    vpa_buf_append(&text, template, gap ? (size_t)(gap - template) : strlen(template));
    for (int i = 0; gap && i < (gap[1] == 'D' ? DEEP : LONG); i++)
        vpa_buf_putc(&text, gap[1] == 'D' ? '[' : 'x');
    for (int i = 0; gap && gap[1] == 'D' && i < DEEP; i++)
        vpa_buf_putc(&text, ']');
    vpa_buf_puts(&text, gap ? gap + 6 : "");
    return vpa_buf_take(&text);
}

TEST_EACH(a_damaged_object_is_one_object, damaged) {
    vpa_auto_free char *bad = fill_in(damaged[_i].object);
    vpa_auto_free char *list =
        vpa_xprintf(LIST("10", OBJECT("a", "1") ",%s," OBJECT("b", "3")), bad);
    vpa_auto_free char *frames =
        vpa_xprintf(FRAME("ADDED", "c", "11") "{\"type\":\"MODIFIED\",\"object\":%s}", bad);
    vpa_auto_free char *rest = vpa_xprintf("{\"type\":\"DELETED\",\"object\":%s}", bad);
    const struct answer answers[] = {
        {.status = 200, .json = list, .chunk = 100},
        {.want = "resourceVersion=10", .status = 200, .json = frames, .chunk = 100},
        {.want = "resourceVersion=12", .status = 200, .json = rest},
        {.want = "watch", .status = 200, .stream = true},
    };

    object_max = 4096;
    START(answers);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert_str_eq(trace, "B La !LPod/n/x Lb E Ac !MPod/n/x !DPod/n/x ");
    ck_assert_msg(strstr(reason, damaged[_i].why), "%s", reason);
    ck_assert(vpa_reflector_is_watching(reflector));
    ck_assert_uint_eq(vpa_reflector_stats(reflector).errors, 0);
}

/* Legal JSON that anybody may store. */
TEST(nul_characters_are_read) {
    static const struct answer answers[] = {
        {.status = 200,
         .json = LIST("10",
                      "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"\\u0000\":\"\\u0000\"}}}")},
        {.status = 200,
         .stream = true,
         .json = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"},\"spec\":{\"env\":["
                 "\"\\u0000x"
                 "\"]}}}"},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, "B La E Ab ");
    ck_assert(vpa_reflector_is_watching(reflector));
}

/* Nobody could say what is missing: the list is not whole, the watch has lost its place. */
TEST(an_object_without_a_name_is_an_error) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", OBJECT("a", "1") ",{\"metadata\":{\"name\":1},x}")},
        {.avoid = "watch", .status = 200, .json = LIST("10", OBJECT("a", "1"))},
        {.want = "watch",
         .status = 200,
         .stream = true,
         .json = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{},x}}"},
        {.avoid = "watch", .status = 200, .json = LIST("12", OBJECT("c", "1"))},
        {.want = "resourceVersion=12", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 0);
    ck_assert(!vpa_reflector_is_synced(reflector));
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_str_eq(trace, "B La B La E B Lc E ");
    ck_assert(vpa_reflector_is_watching(reflector));
    ck_assert_uint_eq(vpa_reflector_stats(reflector).skipped, 0);
}

/* The same of one that could be read but for that. */
TEST(a_whole_object_without_a_name_is_an_error) {
    static const struct answer answers[] = {
        {.status = 200,
         .json = LIST("10", OBJECT("a", "1") ",{\"metadata\":{\"namespace\":\"n\"}}")},
        {.status = 200, .json = LIST("12", OBJECT("c", "1"))},
        {.want = "resourceVersion=12", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_str_eq(trace, "B La B Lc E ");
    ck_assert_uint_eq(vpa_reflector_stats(reflector).skipped, 0);
}

/* Requests about them would go elsewhere: "..", for example, to the collection. */
static const struct {
    const char *ns, *name, *trace;
} places[] = {
    {"n", ".", "B La !LPod/n/. E "},     {"n", "..", "B La !LPod/n/.. E "},
    {"n", "x/y", "B La !LPod/n/x/y E "}, {"n", "x%2fy", "B La !LPod/n/x%2fy E "},
    {"..", "x", "B La !LPod/../x E "},   {"n/m", "x", "B La !LPod/n/m/x E "},
};

TEST_EACH(names_that_cannot_stand_in_a_path_are_skipped, places) {
    vpa_auto_free char *list =
        vpa_xprintf(LIST("10", OBJECT("a", "1") ",{\"kind\":\"Pod\",\"metadata\":{\"namespace\":"
                                                "\"%s\",\"name\":\"%s\"}}"),
                    places[_i].ns, places[_i].name);
    const struct answer answers[] = {
        {.status = 200, .json = list},
        {.want = "resourceVersion=10", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_str_eq(trace, places[_i].trace);
    ck_assert(vpa_reflector_is_watching(reflector));
}

/* Only events of objects have a name to be skipped by. */
TEST(a_damaged_bookmark_ends_the_watch) {
    static const struct answer answers[] = {
        {.status = 200, .json = LIST("10", "")},
        {.want = "watch",
         .status = 200,
         .stream = true,
         .json = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"name\":\"n\"},x}}"},
        {.avoid = "watch", .status = 200, .json = LIST("12", "")},
        {.want = "watch", .status = 200, .stream = true},
    };

    START(answers);
    vpa_loop_pump(loop, 10 * VPA_SECOND);
    ck_assert_str_eq(trace, "B E B E ");
}

TEST(bounds_objects) {
    static char huge[3000];
    struct answer answers[] = {{.status = 200, .json = huge},
                               {.status = 200, .json = LIST("1", "")},
                               {.status = 200, .stream = true}};

    memset(huge, 'x', sizeof(huge) - 1);
    memcpy(huge, "{\"items\":[{\"a\":\"", 16);
    START(answers);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert_str_eq(trace, "B B E ");
}

static const char *const broken_lists[] = {
    "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}",
    "",
    "[1,2]",
    "{\"items\":[1}",
    "null",
    "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{]}",
};

TEST_EACH(broken_lists_never_end_well, broken_lists) {
    struct answer answers[] = {{.status = 200, .json = broken_lists[_i]},
                               {.status = 200, .json = LIST("5", OBJECT("good", "1"))},
                               {.status = 200, .stream = true}};

    START(answers);
    vpa_loop_pump(loop, 0);
    ck_assert(!vpa_reflector_is_synced(reflector));
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert(vpa_reflector_is_synced(reflector));
    ck_assert(vpa_str_ends_with(trace, "B Lgood E "));
}

static const struct {
    const char *json;
    int rc;
    enum vpa_frame_type type;
    const char *version;
} frames[] = {
    {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}", 0,
     VPA_FRAME_ADDED, "7"},
    {"{\"type\":\"BOOKMARK\",\"object\":{}}", 0, VPA_FRAME_BOOKMARK, ""},
    {"{\"type\":\"added\",\"object\":{}}", 0, VPA_FRAME_UNKNOWN, ""},
    {"{\"object\":{}}", 0, VPA_FRAME_UNKNOWN, ""},
    {"{\"type\":\"ADDED\"}", -1, 0, ""},
    {"{\"type\":\"ADDED\",\"object\":[]}", -1, 0, ""},
    {"{\"type\":\"ADDED\",\"object\":{", -1, 0, ""},
    {"", -1, 0, ""},
};

TEST_EACH(decodes_frames, frames) {
    vpa_auto_arena arena = {0};
    struct vpa_watch_frame frame;
    struct vpa_error err;

    ck_assert_int_eq(vpa_watch_frame_decode(&arena, frames[_i].json, strlen(frames[_i].json),
                                            vpa_meta_unread, &frame, &err),
                     frames[_i].rc);
    if (frames[_i].rc == 0) {
        ck_assert_int_eq(frame.type, frames[_i].type);
        ck_assert_str_eq(frame.resource_version, frames[_i].version);
    }
}

int main(void)
{
    return run_tests("reflector_objects", setup, teardown);
}
