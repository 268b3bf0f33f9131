/* Splitting lists and watch streams: any chunking gives the same objects. */
#include "json_helper.h"

#include "vpa/json/json_stream.h"

struct sink {
    struct vpa_buf objects;
    struct vpa_buf head;
    int fail_at;
    int seen;
    bool skips_long;
};

static int on_object(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct sink *sink = ctx;

    if (++sink->seen == sink->fail_at)
        return vpa_fail(err, VPA_CANCELLED, "enough");
    vpa_buf_append(&sink->objects, json, len);
    vpa_buf_putc(&sink->objects, '|');
    return 0;
}

static int on_head(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct sink *sink = ctx;

    (void)err;
    vpa_buf_append(&sink->head, json, len);
    return 0;
}

/* The first part of a long one, in parentheses among the others. */
static int on_long(void *ctx, const char *json, size_t len, struct vpa_error *err)
{
    struct sink *sink = ctx;

    if (++sink->seen == sink->fail_at)
        return vpa_fail(err, VPA_CANCELLED, "enough");
    vpa_buf_putc(&sink->objects, '(');
    vpa_buf_append(&sink->objects, json, len);
    vpa_buf_putc(&sink->objects, ')');
    return 0;
}

static int feed_all(struct sink *sink, enum vpa_stream_kind kind, const char *text, size_t chunk,
                    size_t object_max, struct vpa_error *err)
{
    struct vpa_json_stream *s = vpa_json_stream_new(
        kind, object_max,
        &(struct vpa_json_stream_handler){.ctx = sink,
                                          .on_object = on_object,
                                          .on_head = on_head,
                                          .on_long = sink->skips_long ? on_long : NULL});
    size_t len = strlen(text);
    int result = 0;

    vpa_buf_init(&sink->objects, 1 << 20);
    vpa_buf_init(&sink->head, 1 << 20);
    for (size_t i = 0; i < len && result == 0; i += chunk) {
        size_t n = len - i < chunk ? len - i : chunk;
        vpa_auto_free char *copy = vpa_xstrndup(text + i, n); /* exact bounds for the sanitizer */
        result = vpa_json_stream_feed(s, copy, n, err);
    }
    if (result == 0)
        result = vpa_json_stream_finish(s, err);
    vpa_json_stream_free(s);
    return result;
}

static void release(struct sink *sink)
{
    vpa_buf_release(&sink->objects);
    vpa_buf_release(&sink->head);
}

static const struct {
    enum vpa_stream_kind kind;
    const char *text, *objects, *head;
} good[] = {
    {VPA_STREAM_VALUES, "", "", ""},
    {VPA_STREAM_VALUES, " \r\n\t", "", ""},
    {VPA_STREAM_VALUES, "{}", "{}|", ""},
    {VPA_STREAM_VALUES, "{\"a\":1}\n{\"b\":[1,{}]}{\"c\":\"}{\"}\n",
     "{\"a\":1}|{\"b\":[1,{}]}|{\"c\":\"}{\"}|", ""},
    {VPA_STREAM_VALUES, "{\"a\":\"\\\"}\\\\\"}{}", "{\"a\":\"\\\"}\\\\\"}|{}|", ""},
    {VPA_STREAM_LIST, "{\"kind\":\"L\",\"items\":[]}", "", "{\"kind\":\"L\",\"items\":[]}"},
    {VPA_STREAM_LIST, "{\"items\":null,\"x\":-1.5e3,\"y\":true}", "",
     "{\"items\":null,\"x\":-1.5e3,\"y\":true}"},
    {VPA_STREAM_LIST,
     " { \"kind\" : \"PodList\" , \"metadata\":{\"resourceVersion\":\"1\",\"items\":[{\"no\":1}]},"
     "\"items\" : [ {\"a\":{\"items\":[{}]}} , {\"b\":\"]\"} ] , \"z\" : 5 } ",
     "{\"a\":{\"items\":[{}]}}|{\"b\":\"]\"}|",
     "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\",\"items\":[{\"no\":1}]},"
     "\"items\":[],\"z\":5}"},
    {VPA_STREAM_LIST, "{\"kinds\":[1],\"items\":[{}]}", "{}|", "{\"kinds\":[1],\"items\":[]}"},
    {VPA_STREAM_LIST, "{\"itemsx\":[1],\"\\u0069tems\":[2],\"items\":[{}]}", "{}|",
     "{\"itemsx\":[1],\"\\u0069tems\":[2],\"items\":[]}"},
};

TEST_EACH(splits, good) {
    struct vpa_error err;

    for (size_t chunk = 1; chunk < 40; chunk += chunk < 8 ? 1 : 13) {
        struct sink sink = {0};
        ck_assert_int_eq(feed_all(&sink, good[_i].kind, good[_i].text, chunk, 1000, &err), 0);
        ck_assert_str_eq(vpa_buf_text(&sink.objects), good[_i].objects);
        ck_assert_str_eq(vpa_buf_text(&sink.head), good[_i].head);
        release(&sink);
    }
}

static const struct {
    enum vpa_stream_kind kind;
    const char *text;
    enum vpa_code code;
    const char *error;
} bad[] = {
    {VPA_STREAM_VALUES, "[]", VPA_INVALID, "'[' where an object was expected"},
    {VPA_STREAM_VALUES, "{} 1", VPA_INVALID, "'1' where an object was expected"},
    {VPA_STREAM_VALUES, "{}\x01", VPA_INVALID, "byte 0x01 where an object was expected"},
    {VPA_STREAM_VALUES, "{}\xc3", VPA_INVALID, "byte 0xc3 where an object was expected"},
    {VPA_STREAM_VALUES, "{\"a\":1", VPA_INVALID, "the text ends too early"},
    {VPA_STREAM_VALUES, "{\"a", VPA_INVALID, "the text ends too early"},
    {VPA_STREAM_LIST, "", VPA_INVALID, "the text ends too early"},
    {VPA_STREAM_LIST, "[]", VPA_INVALID, "'[' where a list object was expected"},
    {VPA_STREAM_LIST, "{}", VPA_INVALID, "no list: it has no items"},
    {VPA_STREAM_LIST, "{\"kind\":\"Status\"}", VPA_INVALID, "no list: it has no items"},
    {VPA_STREAM_LIST, "{\"items\":{\"a\":[]}}", VPA_INVALID,
     "'{' where an array of items was expected"},
    {VPA_STREAM_LIST, "{1:2}", VPA_INVALID, "'1' where a member name was expected"},
    {VPA_STREAM_LIST, "{\"a\" 1}", VPA_INVALID, "'1' where ':' was expected"},
    {VPA_STREAM_LIST, "{\"a\":}", VPA_INVALID, "'}' where a value was expected"},
    {VPA_STREAM_LIST, "{\"a\":,", VPA_INVALID, "',' where a value was expected"},
    {VPA_STREAM_LIST, "{\"a\"::", VPA_INVALID, "':' where a value was expected"},
    {VPA_STREAM_LIST, "{\"a\":]", VPA_INVALID, "']' where a value was expected"},
    {VPA_STREAM_LIST, "{\"a\":\"b\" \"c\"", VPA_INVALID, "'\"' where ',' or '}' was expected"},
    {VPA_STREAM_LIST, "{\"items\":[1]}", VPA_INVALID, "'1' where an item was expected"},
    {VPA_STREAM_LIST, "{\"items\":[{},]}", VPA_INVALID, "']' where an item was expected"},
    {VPA_STREAM_LIST, "{\"items\":[{} {}]}", VPA_INVALID, "'{' where ',' or ']' was expected"},
    {VPA_STREAM_LIST, "{\"items\":[{}],\"items\":[{}]}", VPA_INVALID, "items occurs twice"},
    {VPA_STREAM_LIST, "{\"items\":[{}]} x", VPA_INVALID, "'x' where the end was expected"},
    {VPA_STREAM_LIST, "{\"items\":[{}]", VPA_INVALID, "the text ends too early"},
    {VPA_STREAM_LIST, "{\"items\":[{\"a\":\"0123456789012345678901234567890123456789\"}]}",
     VPA_LIMIT, "an object is longer than 32 bytes"},
    {VPA_STREAM_LIST, "{\"head\":\"0123456789012345678901234567890123456789\"}", VPA_LIMIT,
     "an object is longer than 32 bytes"},
    {VPA_STREAM_LIST, "{\"head\":123456789012345678901234567890123456789}", VPA_LIMIT,
     "an object is longer than 32 bytes"},
    {VPA_STREAM_LIST, "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6}", VPA_LIMIT,
     "an object is longer than 32 bytes"},
};

TEST_EACH(refuses, bad) {
    struct vpa_error err;

    for (size_t chunk = 1; chunk < 100; chunk += 16) {
        struct sink sink = {0};
        ck_assert_int_lt(feed_all(&sink, bad[_i].kind, bad[_i].text, chunk, 32, &err), 0);
        ck_assert_int_eq(err.code, bad[_i].code);
        ck_assert_str_eq(err.text, bad[_i].error);
        release(&sink);
    }
}

static const struct {
    enum vpa_stream_kind kind;
    const char *text, *objects;
} long_ones[] = {
    {VPA_STREAM_VALUES, "{\"a\":1}{\"b\":\"56789012345678901}{\\\"4\"}{\"c\":2}",
     "{\"a\":1}|({\"b\":\"56789012345){\"c\":2}|"},
    {VPA_STREAM_VALUES, "{\"b\":{\"56789012345678901\":[]}}{}", "({\"b\":{\"5678901234){}|"},
    {VPA_STREAM_VALUES, "{\"16 bytes\":1234}", "{\"16 bytes\":1234}|"},
    {VPA_STREAM_VALUES, "{\"17 bytes\":12345}", "({\"17 bytes\":12345)"},
    {VPA_STREAM_LIST,
     "{\"items\":[{\"a\":1},{\"b\":[\"7890123456789\"]},{\"b\":[\"7890123456789\"]} ,{}]}",
     "{\"a\":1}|({\"b\":[\"7890123456)({\"b\":[\"7890123456){}|"},
    /* what is between the brackets is nobody's business here */
    {VPA_STREAM_LIST, "{\"items\":[{1],{[}],{}]}", "{1]|{[}]|{}|"},
    {VPA_STREAM_LIST, "{\"items\":[{1},{\"\x01\"},{}]}", "{1}|{\"\x01\"}|{}|"},
};

TEST_EACH(passes_over_long_objects, long_ones) {
    struct vpa_error err;

    for (size_t chunk = 1; chunk < 70; chunk += chunk < 20 ? 1 : 7) {
        struct sink sink = {.skips_long = true};
        ck_assert_int_eq(feed_all(&sink, long_ones[_i].kind, long_ones[_i].text, chunk, 17, &err),
                         0);
        ck_assert_str_eq(vpa_buf_text(&sink.objects), long_ones[_i].objects);
        release(&sink);
    }
}

TEST(a_long_object_can_stop) {
    struct sink sink = {.skips_long = true, .fail_at = 1};
    struct vpa_error err;

    ck_assert_int_lt(feed_all(&sink, VPA_STREAM_VALUES, "{\"a\":\"bcdef\"}{}", 3, 8, &err), 0);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    release(&sink);
}

TEST(a_callback_can_stop) {
    struct vpa_error err;

    for (size_t chunk = 1; chunk < 10; chunk += 4) {
        struct sink sink = {.fail_at = 2};
        ck_assert_int_lt(feed_all(&sink, VPA_STREAM_VALUES, "{}{\"a\":1}{}", chunk, 32, &err), 0);
        ck_assert_int_eq(err.code, VPA_CANCELLED);
        ck_assert_int_eq(sink.seen, 2);
        release(&sink);
    }
}

TEST(lists_work_without_head) {
    struct sink sink = {0};
    struct vpa_json_stream *s = vpa_json_stream_new(
        VPA_STREAM_LIST, 100,
        &(struct vpa_json_stream_handler){.ctx = &sink, .on_object = on_object});
    struct vpa_error err;

    vpa_buf_init(&sink.objects, 100);
    ck_assert_int_eq(vpa_json_stream_feed(s, "{\"items\":[{}]}", 14, &err), 0);
    ck_assert_int_eq(vpa_json_stream_finish(s, &err), 0);
    ck_assert_str_eq(vpa_buf_text(&sink.objects), "{}|");
    vpa_json_stream_free(s);
    vpa_json_stream_free(NULL);
    vpa_buf_release(&sink.objects);
}

int main(void)
{
    return run_tests("json_stream", NULL, release_arena);
}
