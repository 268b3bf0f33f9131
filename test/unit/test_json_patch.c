/* JSON Patch: written and applied. */
#include "json_helper.h"

#include "vpa/json/json_patch.h"

TEST(writes) {
    static const struct {
        enum vpa_patch_op op;
        const char *path, *value;
    } items[] = {
        {VPA_PATCH_ADD, "/a", "{\"x\":1}"},
        {VPA_PATCH_REPLACE, "/b~1c", "\"<\""},
        {VPA_PATCH_REMOVE, "/d", "null"},
        {VPA_PATCH_TEST, "/e", "true"},
    };
    struct vpa_json_patch patch;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 4096);
    vpa_json_patch_begin(&patch, &buf);
    for (size_t i = 0; i < VPA_COUNT(items); i++) {
        vpa_json_put_raw(vpa_json_patch_op(&patch, items[i].op, items[i].path), items[i].value,
                         strlen(items[i].value));
        vpa_json_patch_end_op(&patch);
    }
    vpa_json_patch_end(&patch);
    ck_assert_str_eq(vpa_buf_text(&buf), "[{\"op\":\"add\",\"path\":\"/a\",\"value\":{\"x\":1}},"
                                         "{\"op\":\"replace\",\"path\":\"/b~1c\",\"value\":\"<\"},"
                                         "{\"op\":\"remove\",\"path\":\"/d\",\"value\":null},"
                                         "{\"op\":\"test\",\"path\":\"/e\",\"value\":true}]");
    vpa_buf_clear(&buf);
    vpa_json_patch_begin(&patch, &buf);
    vpa_json_patch_end(&patch);
    ck_assert_str_eq(vpa_buf_text(&buf), "[]");
    vpa_buf_release(&buf);
}

TEST(writes_in_steps) {
    struct vpa_json_patch patch;
    struct vpa_buf buf, path;

    vpa_buf_init(&buf, 4096);
    vpa_buf_init(&path, 4096);
    vpa_json_pointer_add(&path, "metadata");
    vpa_json_pointer_add(&path, "a/b~c");
    ck_assert_str_eq(vpa_buf_text(&path), "/metadata/a~1b~0c");
    vpa_json_patch_begin(&patch, &buf);
    vpa_json_put_int(vpa_json_patch_op(&patch, VPA_PATCH_ADD, vpa_buf_text(&path)), 5);
    vpa_json_patch_end_op(&patch);
    ck_assert_uint_eq(patch.count, 1);
    vpa_json_patch_end(&patch);
    ck_assert_str_eq(vpa_buf_text(&buf),
                     "[{\"op\":\"add\",\"path\":\"/metadata/a~1b~0c\",\"value\":5}]");
    vpa_buf_release(&buf);
    vpa_buf_release(&path);
}

static const struct {
    const char *pointer, *value; /* NULL: nothing there */
} pointers[] = {
    {"", "{\"a\":[1,{\"b\":2}],\"\":3,\"x/y\":4,\"m~n\":5,\"00\":6}"},
    {"/a", "[1,{\"b\":2}]"},
    {"/a/0", "1"},
    {"/a/1/b", "2"},
    {"/a/2", NULL},
    {"/a/01", NULL},
    {"/a/-", NULL},
    {"/a/x", NULL},
    {"/a/", NULL},
    {"/a/1234567890", NULL},
    {"/a/0/b", NULL},
    {"/", "3"},
    {"/x~1y", "4"},
    {"/m~0n", "5"},
    {"/m~n", NULL},
    {"/m~", NULL},
    {"/00", "6"},
    {"/zz", NULL},
    {"a", NULL},
};

TEST_EACH(points, pointers) {
    const struct vpa_json *root = json_of(pointers[0].value);
    const struct vpa_json *found = vpa_json_pointer_find(root, pointers[_i].pointer);

    if (pointers[_i].value)
        ck_assert_str_eq(text_of(found), pointers[_i].value);
    else
        ck_assert_ptr_null(found);
}

static const struct {
    const char *document, *patch, *result; /* result NULL: an error */
    enum vpa_code code;
} patches[] = {
    /* the examples of RFC 6902, appendix A */
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
     "{\"foo\":\"bar\",\"baz\":\"qux\"}", VPA_OK},
    {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
     "{\"foo\":[\"bar\",\"qux\",\"baz\"]}", VPA_OK},
    {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
     "{\"foo\":\"bar\"}", VPA_OK},
    {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
     "{\"foo\":[\"bar\",\"baz\"]}", VPA_OK},
    {"{\"baz\":\"qux\",\"foo\":\"bar\"}",
     "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
     "{\"baz\":\"boo\",\"foo\":\"bar\"}", VPA_OK},
    {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
     "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
     "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}", VPA_OK},
    {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
     "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
     "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}", VPA_OK},
    {"{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
     "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
     "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2.0}]",
     "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}", VPA_OK},
    {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", NULL,
     VPA_CONFLICT},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
     "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}", VPA_OK},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", NULL,
     VPA_NOT_FOUND},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
     "{\"/\":9,\"~1\":10}", VPA_OK},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]", NULL,
     VPA_CONFLICT},
    {"{\"foo\":[\"bar\"]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
     "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}", VPA_OK},
    /* more of each operation */
    {"{\"a\":1.50}", "[]", "{\"a\":1.50}", VPA_OK},
    {"{\"a\":1,\"b\":2}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":3}]", "{\"a\":3,\"b\":2}",
     VPA_OK},
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":[]}]", "[]", VPA_OK},
    {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":5}]", "5", VPA_OK},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":3}]", "[1,2,3]", VPA_OK},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/3\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/01\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"[1,2]", "[{\"op\":\"replace\",\"path\":\"/2\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"[1,2]", "[{\"op\":\"replace\",\"path\":\"/x\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"[[1]]", "[{\"op\":\"add\",\"path\":\"/x/0\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"[[1]]",
     "[{\"op\":\"add\",\"path\":\"/0/0\",\"value\":{\"k\":[]}},"
     "{\"op\":\"add\",\"path\":\"/0/0/k/-\",\"value\":0}]",
     "[[{\"k\":[0]},1]]", VPA_OK},
    {"{\"a\":5}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":3}]", NULL, VPA_NOT_FOUND},
    {"{\"a\":5}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL, VPA_INVALID},
    {"{\"a\":5}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL, VPA_NOT_FOUND},
    {"{\"a\":{\"b\":1}}",
     "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"},"
     "{\"op\":\"replace\",\"path\":\"/c/b\",\"value\":2}]",
     "{\"a\":{\"b\":1},\"c\":{\"b\":2}}", VPA_OK},
    {"{\"a\":{\"b\":1}}",
     "[{\"op\":\"add\",\"path\":\"/a/x\",\"value\":2},"
     "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"},"
     "{\"op\":\"remove\",\"path\":\"/a/x\"}]",
     "{\"a\":{\"b\":1},\"c\":{\"b\":1,\"x\":2}}", VPA_OK},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/c\"}]", NULL, VPA_NOT_FOUND},
    {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/c\"}]", NULL, VPA_NOT_FOUND},
    {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}", VPA_OK},
    {"{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", NULL, VPA_INVALID},
    {"{\"a\":{}}", "[{\"op\":\"move\",\"from\":\"\",\"path\":\"/a\"}]", NULL, VPA_INVALID},
    {"{\"a\":{},\"ab\":{}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/ab/c\"}]",
     "{\"ab\":{\"c\":{}}}", VPA_OK},
    {"{\"a\":{}}",
     "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":[1]},"
     "{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"b\":[1]}}]",
     "{\"a\":{\"b\":[1]}}", VPA_OK},
    {"{}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{}}]", "{}", VPA_OK},
    {"{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{}}]", NULL, VPA_NOT_FOUND},
    /* not patches */
    {"{}", "{}", NULL, VPA_INVALID},
    {"{}", "[5]", NULL, VPA_INVALID},
    {"{}", "[{\"path\":\"/a\"}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"add\",\"value\":1}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"add\",\"path\":\"/~2\",\"value\":1}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"move\",\"path\":\"/a\"}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"upsert\",\"path\":\"/a\",\"value\":1}]", NULL, VPA_INVALID},
    {"{}", "[{\"op\":\"test\",\"path\":\"~\",\"value\":1}]", NULL, VPA_INVALID},
};

TEST_EACH(applies, patches) {
    struct vpa_error err = {0};
    struct vpa_buf buf;
    int result;

    vpa_buf_init(&buf, 4096);
    vpa_buf_puts(&buf, "#");
    result =
        vpa_json_patch_apply(json_of(patches[_i].document), json_of(patches[_i].patch), &buf, &err);
    if (patches[_i].result) {
        ck_assert_msg(result == 0, "%s", err.text);
        ck_assert_str_eq(vpa_buf_text(&buf) + 1, patches[_i].result);
    } else {
        ck_assert_int_lt(result, 0);
        ck_assert_int_eq(err.code, patches[_i].code);
        ck_assert_str_eq(vpa_buf_text(&buf), "#");
    }
    vpa_buf_release(&buf);
}

/* A patch that doubles the document with each operation ends at a bound. */
TEST_TIMES(growth_is_bounded, 3) {
    struct vpa_error err;
    struct vpa_buf patch, out;

    vpa_buf_init(&patch, 1 << 20);
    vpa_buf_init(&out, 1000);
    vpa_buf_putc(&patch, '[');
    for (int i = 0; i < 200; i++) {
        vpa_buf_puts(&patch, i ? "," : "");
        if (_i == 1)
            vpa_buf_puts(&patch, "{\"op\":\"copy\",\"from\":\"\",\"path\":\"/x\"}");
        else if (_i == 0)
            vpa_buf_printf(&patch, "{\"op\":\"copy\",\"from\":\"\",\"path\":\"/x%d\"}", i);
        else
            vpa_buf_printf(&patch, "{\"op\":\"add\",\"path\":\"/b%d\",\"value\":\"0123456789\"}",
                           i);
    }
    vpa_buf_putc(&patch, ']');
    ck_assert_int_lt(vpa_json_patch_apply(json_of("{}"), json_of(vpa_buf_text(&patch)), &out, &err),
                     0);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    vpa_buf_release(&patch);
    vpa_buf_release(&out);
}

TEST(operations_are_bounded) {
    struct vpa_error err;
    struct vpa_buf patch, out;

    vpa_buf_init(&patch, 1 << 20);
    vpa_buf_init(&out, 1000);
    vpa_buf_putc(&patch, '[');
    for (int i = 0; i < 10001; i++)
        vpa_buf_printf(&patch, "%s{\"op\":\"test\",\"path\":\"\",\"value\":1}", i ? "," : "");
    vpa_buf_putc(&patch, ']');
    ck_assert_int_lt(vpa_json_patch_apply(json_of("1"), json_of(vpa_buf_text(&patch)), &out, &err),
                     0);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    vpa_buf_release(&patch);
    vpa_buf_release(&out);
}

/* Nesting deeper than any reader takes is not produced, neither as the result nor inside a test. */
TEST_TIMES(depth_is_bounded, 3) {
    struct vpa_error err;
    struct vpa_buf patch, out, path;

    vpa_buf_init(&patch, 4 << 20);
    vpa_buf_init(&path, 1 << 20);
    vpa_buf_init(&out, 1 << 20);
    vpa_buf_putc(&patch, '[');
    for (int i = 0; i < VPA_JSON_DEPTH_MAX + 12; i++) {
        vpa_buf_puts(&path, "/0");
        vpa_buf_printf(&patch, "%s{\"op\":\"add\",\"path\":\"%s\",\"value\":[]}", i ? "," : "",
                       vpa_buf_text(&path));
    }
    if (_i == 1)
        vpa_buf_puts(&patch, ",{\"op\":\"test\",\"path\":\"\",\"value\":[]}");
    if (_i == 2)
        vpa_buf_puts(&patch, ",{\"op\":\"copy\",\"from\":\"/0\",\"path\":\"/1\"}");
    vpa_buf_putc(&patch, ']');
    ck_assert_int_lt(vpa_json_patch_apply(json_of("[]"), json_of(vpa_buf_text(&patch)), &out, &err),
                     0);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    vpa_buf_release(&patch);
    vpa_buf_release(&path);
    vpa_buf_release(&out);
}

int main(void)
{
    return run_tests("json_patch", NULL, release_arena);
}
