/* YAML as the Kubernetes tools read it. */
#include "json_helper.h"

#include "vpa/json/yaml.h"

static const struct {
    const char *yaml, *json;
} good[] = {
    {"", "null"},
    {"---\n", "null"},
    {"# only a comment\n", "null"},
    {"a: b", "{\"a\":\"b\"}"},
    {"a: 1\nb: 1.5\nc: true\nd: null\ne: ~\nf:\n", "{\"a\":1,\"b\":1.5,\"c\":true,\"d\":null,"
                                                   "\"e\":null,\"f\":null}"},
    {"a: \"1\"\nb: '1.5'\nc: \"true\"\nd: 'null'\ne: \"\"\n",
     "{\"a\":\"1\",\"b\":\"1.5\",\"c\":\"true\",\"d\":\"null\",\"e\":\"\"}"},
    {"[yes, No, ON, off, y, n, True, FALSE]", "[true,false,true,false,true,false,true,false]"},
    {"[yEs, tRue, oN, nul]", "[\"yEs\",\"tRue\",\"oN\",\"nul\"]"},
    {"[0, -1, +5, 010, 0o17, 0x1F, 0b101, 1_000, -0x10, 18446744073709551615]",
     "[0,-1,5,8,15,31,5,1000,-16,18446744073709551615]"},
    {"[18446744073709551616, -9223372036854775808, -9223372036854775809]",
     "[18446744073709552000,-9223372036854775808,-9223372036854776000]"},
    {"[089, 0x, 0xg, _1, 1_, +, -, 0b2, 0o8, '']",
     "[89,\"0x\",\"0xg\",\"_1\",1,\"+\",\"-\",\"0b2\",\"0o8\",\"\"]"},
    {"[1.0, .5, 1., 1e3, 1.5E-3, -2.5, 1e, 1.5.2, ., 1e+, 5m, 1.2.3.4]",
     "[1,0.5,1,1000,0.0015,-2.5,\"1e\",\"1.5.2\",\".\",\"1e+\",\"5m\",\"1.2.3.4\"]"},
    {"2026-08-20: 2026-08-20T10:00:00Z", "{\"2026-08-20\":\"2026-08-20T10:00:00Z\"}"},
    {"- a\n- b: 1\n  c:\n  - d\n-\n  - e\n", "[\"a\",{\"b\":1,\"c\":[\"d\"]},[\"e\"]]"},
    {"a: |\n  line 1\n  line 2\nb: >-\n  folded\n  text\n",
     "{\"a\":\"line 1\\nline 2\\n\",\"b\":\"folded text\"}"},
    {"1: a\ntrue: b\nnull: c\n", "{\"1\":\"a\",\"true\":\"b\",\"null\":\"c\"}"},
    {"a: 1\na: 2\n", "{\"a\":2}"},
    {"a: !!str 5", "{\"a\":\"5\"}"},
    {"\"<<\": 1", "{\"\\u003c\\u003c\":1}"},
    {"{a: {b: [1, 2]}, \"c d\": e}", "{\"a\":{\"b\":[1,2]},\"c d\":\"e\"}"},
    {"a: caf\xc3\xa9\n", "{\"a\":\"caf\xc3\xa9\"}"},
    {"a: &x 1\nb: *x\nc: &x two\nd: *x\n", "{\"a\":1,\"b\":1,\"c\":\"two\",\"d\":\"two\"}"},
    {"a: &x [1, &y {c: d}]\nb: [0, *x, *y]\n",
     "{\"a\":[1,{\"c\":\"d\"}],\"b\":[0,[1,{\"c\":\"d\"}],{\"c\":\"d\"}]}"},
    {"[&x , *x, &y '', *y, &x [], *x]", "[null,null,\"\",\"\",[],[]]"},
    {"&x {a: [&y 1, *y, 2]}", "{\"a\":[1,1,2]}"},
    {"{\"json\": [1, \"x\", null]}", "{\"json\":[1,\"x\",null]}"},
};

TEST_EACH(reads, good) {
    const struct vpa_json *root;
    struct vpa_error err;

    if (vpa_yaml_parse(&arena, good[_i].yaml, strlen(good[_i].yaml), &root, &err) < 0)
        ck_abort_msg("%s: %s", good[_i].yaml, err.text);
    ck_assert_str_eq(text_of(root), good[_i].json);
}

static const struct {
    const char *yaml, *error;
} bad[] = {
    {"&k a: 1\n", "line 1: anchors and tags are not supported"},
    {"a: *x\n", "line 1: alias without an anchor before it"},
    {"a: *x\nb: &x 1\n", "line 1: alias without an anchor before it"},
    {"a: &x\n- 1\n- *x\n", "line 3: alias without an anchor before it"}, /* within itself */
    {"a: &x 1\n*x : 2\n", "line 2: a key must be a scalar"},
    {"a: &x {b: 1}\nc:\n  <<: *x\n", "line 3: merge keys are not supported"},
    {"a:\n  <<: {b: 1}\n", "line 2: merge keys are not supported"},
    {"a: !!int \"5\"\n", "line 1: tags are not supported"},
    {"a: !custom [1]\n", "line 1: tags are not supported"},
    {"a: !custom {b: 1}\n", "line 1: tags are not supported"},
    {"!!str a: 1\n", "line 1: anchors and tags are not supported"},
    {"? [a]\n: 1\n", "line 1: a key must be a scalar"},
    {"a: .inf\n", "line 1: number that JSON cannot hold"},
    {"a: .NaN\n", "line 1: number that JSON cannot hold"},
    {"a: 1e999\n", "line 1: number that JSON cannot hold"},
    {"a: \"x\\0y\"\n", "line 1: NUL in a string"},
    {"\"x\\0y\": 1\n", "line 1: NUL in a string"},
    {"a: 1\n---\nb: 2\n", "one document expected, got 2"},
    {"a: [1\n", "line 2: did not find expected ',' or ']'"},
    {"a: {b: 1\n", "line 2: did not find expected ',' or '}'"},
    {"a: b: c\n", "line 1: mapping values are not allowed in this context"},
    {"\ta: 1\n", "line 1: found character that cannot start any token"},
    {"a: \"unclosed\n", "line 2: found unexpected end of stream"},
    {"a: 'x\n", "line 2: found unexpected end of stream"},
    {"- a\nb: 1\n", "line 2: did not find expected '-' indicator"},
    {"a: \xff\n", "line 1: invalid leading UTF-8 octet"},
    {"%YAML 9.9\n---\na: 1\n", "line 1: found incompatible YAML document"},
    {"a: 1\n]\n", "line 2: did not find expected key"},
};

TEST_EACH(refuses, bad) {
    const struct vpa_json *root, *const *all;
    struct vpa_error err;
    size_t count;

    ck_assert_int_lt(vpa_yaml_parse(&arena, bad[_i].yaml, strlen(bad[_i].yaml), &root, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, bad[_i].error);
    if (!strstr(bad[_i].yaml, "\n---\nb"))
        ck_assert_int_lt(
            vpa_yaml_parse_all(&arena, bad[_i].yaml, strlen(bad[_i].yaml), &all, &count, &err), 0);
}

TEST(splits_documents) {
    const char *text = "---\n---\na: 1\n---\n# nothing\n---\n[b]\n...\n";
    const struct vpa_json *const *all;
    struct vpa_error err;
    size_t count;

    ck_assert_int_eq(vpa_yaml_parse_all(&arena, text, strlen(text), &all, &count, &err), 0);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(text_of(all[0]), "{\"a\":1}");
    ck_assert_str_eq(text_of(all[1]), "[\"b\"]");
    ck_assert_int_eq(vpa_yaml_parse_all(&arena, "", 0, &all, &count, &err), 0);
    ck_assert_uint_eq(count, 0);
}

TEST(splits_many_documents) {
    const char *text = "a\n---\nb\n---\nc\n---\nd\n---\ne\n";
    const struct vpa_json *const *all;
    struct vpa_error err;
    size_t count;

    ck_assert_int_eq(vpa_yaml_parse_all(&arena, text, strlen(text), &all, &count, &err), 0);
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(text_of(all[4]), "\"e\"");
}

TEST(bounds_depth) {
    enum { DEPTH = VPA_JSON_DEPTH_MAX + 1 };
    char text[2 * DEPTH];
    const struct vpa_json *root;
    struct vpa_error err;

    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    ck_assert_int_lt(vpa_yaml_parse(&arena, text, sizeof(text), &root, &err), 0);
    ck_assert_str_eq(err.text, "line 1: nested too deeply");
    ck_assert_int_eq(vpa_yaml_parse(&arena, text + 1, sizeof(text) - 2, &root, &err), 0);
}

/* Each line stands for nine of the line before: the tenth for 3 GB. */
TEST(bounds_what_aliases_repeat) {
    const struct vpa_json *root;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(10000);

    vpa_buf_puts(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 10; i++) {
        vpa_buf_printf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            vpa_buf_printf(&text, "%s*a%d", k ? ", " : "", i - 1);
        vpa_buf_puts(&text, "]\n");
    }
    ck_assert_int_lt(vpa_yaml_parse(&arena, vpa_buf_text(&text), text.len, &root, &err), 0);
    ck_assert_str_eq(err.text, "line 7: aliases repeat too much");
}

/* A thousand documents of half as much as there may be are no way around it. */
TEST(bounds_what_aliases_repeat_in_all_documents) {
    const struct vpa_json *const *all;
    const struct vpa_json *root;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(1 << 20);
    size_t count;

    for (int i = 0; i < 3; i++) {
        vpa_buf_printf(&text, "---\n- &a '%0*d'\n", 1022, 0);
        for (size_t k = 0; k < VPA_YAML_REPEATED_MAX / 2048; k++)
            vpa_buf_puts(&text, "- *a\n");
    }
    ck_assert_int_lt(vpa_yaml_parse_all(&arena, vpa_buf_text(&text), text.len, &all, &count, &err),
                     0);
    ck_assert_msg(strstr(err.text, "aliases repeat too much") != NULL, "%s", err.text);
    ck_assert_int_lt(vpa_yaml_parse(&arena, vpa_buf_text(&text), text.len, &root, &err), 0);
}

/* "[x...]" and as many aliases of 1024 bytes as there may be, then one more. */
TEST(bounds_what_aliases_repeat_exactly) {
    enum { LEN = 1024, MOST = VPA_YAML_REPEATED_MAX / LEN };
    const struct vpa_json *root;
    struct vpa_error err;

    for (int count = MOST; count <= MOST + 1; count++) {
        vpa_auto_buf text = VPA_BUF(100000);

        vpa_buf_printf(&text, "- &a '%0*d'\n", LEN - 2, 0);
        for (int i = 0; i < count; i++)
            vpa_buf_puts(&text, "- *a\n");
        ck_assert_int_eq(vpa_yaml_parse(&arena, vpa_buf_text(&text), text.len, &root, &err),
                         count == MOST ? 0 : -1);
    }
    ck_assert_str_eq(err.text, "line 1026: aliases repeat too much");
}

/* What an alias brings counts for the depth as if it were written there. */
TEST(bounds_depth_of_aliases) {
    vpa_auto_buf text = VPA_BUF(10000);
    const struct vpa_json *root;
    struct vpa_error err;

    vpa_buf_puts(&text, "- &a0 [x]\n");
    for (int i = 1; i <= VPA_JSON_DEPTH_MAX / 10; i++)
        vpa_buf_printf(&text, "- &a%d [[[[[[[[[[*a%d]]]]]]]]]]\n", i, i - 1);
    ck_assert_int_lt(vpa_yaml_parse(&arena, vpa_buf_text(&text), text.len, &root, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "nested too deeply"));
}

/* A name means nothing in the next document. */
TEST(anchors_end_with_their_document) {
    const char *text = "a: &x 1\n---\nb: *x\n";
    const struct vpa_json *const *all;
    struct vpa_error err;
    size_t count;

    ck_assert_int_lt(vpa_yaml_parse_all(&arena, text, strlen(text), &all, &count, &err), 0);
    ck_assert_str_eq(err.text, "line 3: alias without an anchor before it");
}

TEST(bounds_length) {
    vpa_auto_free char *text = vpa_xcalloc(1, VPA_YAML_MAX + 2);
    const struct vpa_json *root;
    struct vpa_error err;

    memset(text, ' ', VPA_YAML_MAX + 1);
    ck_assert_int_lt(vpa_yaml_parse(&arena, text, VPA_YAML_MAX + 1, &root, &err), 0);
    ck_assert_int_eq(err.code, VPA_LIMIT);
}

int main(void)
{
    return run_tests("yaml", NULL, release_arena);
}
