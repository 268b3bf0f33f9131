/* Texts out of JSON that cannot be parsed: found through damage, never invented. */
#include "json_helper.h"

#include "vpa/json/json_peek.h"

static const struct {
    const char *text, *path, *found; /* NULL: nothing */
} cases[] = {
    {"{\"a\":\"x\"}", "a", "x"},
    {" \n{ \"a\" : \"x\" , \"b\" : \"y\" }", "b", "y"},
    {"{\"a\":{\"b\":{\"c\":\"x\"}}}", "a.b.c", "x"},
    {"{\"a\":\"1\",\"b\":{\"a\":\"2\"},\"c\":[{\"a\":\"3\"}]}", "a", "1"},
    {"{\"a\":\"1\",\"a\":\"2\"}", "a", "2"},
    {"{\"a\":1,\"b\":null,\"c\":true,\"d\":\"x\"}", "d", "x"},
    {"{\"s\":\"\\\"a\\\":\\\"y\\\"}\",\"a\":\"x\"}", "a", "x"},
    {"{\"a\":\"\\u0041\\n\"}", "a", "A\n"},
    /* damage before it, behind it and around it */
    {"{\"spec\":{\"x\":[1}},\"a\":\"x\"}", "a", "x"},
    {"{\"spec\":\"\\q\\u12\x01\",\"a\":\"x\"}", "a", "x"},
    {"{\"n\":0123abc,\"a\":\"x\"}", "a", "x"},
    {"{\"a\":\"x\",\"b\":", "a", "x"},
    {"{\"a\":\"x\",\"b\"", "a", "x"},
    {"{\"a\":\"x\",", "a", "x"},
    {"{\"a\":\"x\"", "a", "x"},
    {"{\"m\":{\"a\":\"x\",\"b\":[[[[\"", "m.a", "x"},
    /* nothing there */
    {"", "a", NULL},
    {"  ", "a", NULL},
    {"{", "a", NULL},
    {"{}", "a", NULL},
    {"{\"", "a", NULL},
    {"{\"a", "a", NULL},
    {"{\"a\"", "a", NULL},
    {"{\"a\":", "a", NULL},
    {"{\"a\":}", "a", NULL},
    {"{\"a\":\"x", "a", NULL},
    {"{\"a\":\"\\q\"}", "a", NULL},
    {"{\"a\":1}", "a", NULL},
    {"{\"a\":null}", "a", NULL},
    {"{\"a\":{\"b\":\"x\"}}", "a", NULL},
    {"{\"a\":[{\"b\":\"x\"}]}", "a.b", NULL},
    {"{\"a\":\"x\"}", "a.b", NULL},
    {"{\"ab\":\"x\",\"A\":\"y\",\"\":\"z\"}", "a", NULL},
    {"[\"a\"]", "a", NULL},
    {"\"a\"", "a", NULL},
    {"{\"b\":1 \"a\":\"x\"}", "a", NULL},
    {"{b:1,\"a\":\"x\"}", "a", NULL},
};

TEST_EACH(finds, cases) {
    size_t len = strlen(cases[_i].text);
    vpa_auto_free char *copy = vpa_xmalloc(len + (len == 0)); /* exact bounds for the sanitizer */

    memcpy(copy, cases[_i].text, len);
    const char *found = vpa_json_peek(&arena, copy, len, cases[_i].path);
    ck_assert_msg((found == NULL) == (cases[_i].found == NULL) &&
                      (!found || strcmp(found, cases[_i].found) == 0),
                  "%s: %s", cases[_i].text, found ? found : "nothing");
}

/* Deeper than any parser of ours goes. */
TEST(passes_any_depth) {
    enum { DEPTH = 100000 };
    static char text[2 * DEPTH + 32] = "{\"b\":";
    size_t at = strlen(text);

    memset(text + at, '[', DEPTH);
    memset(text + at + DEPTH, ']', DEPTH);
    memcpy(text + at + (size_t)2 * DEPTH, ",\"a\":\"x\"}", 9);
    ck_assert_str_eq(vpa_json_peek(&arena, text, strlen(text), "a"), "x");
}

static const struct {
    const char *path, *found;
} sources[] = {
    {"", "{\"a\":{\"b\": [1, {}] ,\"c\":-2e3},\"d\":\"x\"}"},
    {"a", "{\"b\": [1, {}] ,\"c\":-2e3}"},
    {"a.b", "[1, {}]"},
    {"a.c", "-2e3"},
    {"d", "\"x\""},
    {"a.d", NULL},
};

TEST_EACH(finds_the_source_of_any_value, sources) {
    struct vpa_slice found =
        vpa_json_peek_source(sources[0].found, strlen(sources[0].found), sources[_i].path);

    if (sources[_i].found)
        ck_assert(vpa_slice_eq(found, sources[_i].found));
    else
        ck_assert_ptr_null(found.ptr);
}

int main(void)
{
    return run_tests("json_peek", NULL, release_arena);
}
