/* Decode tables: defaults, types, paths in errors. */
#include "json_helper.h"

#include "vpa/json/json_decode.h"

struct part {
    const char *name;
    int32_t n;
};
struct whole {
    const char *inner;
    const char *text;
    const char *maybe;
    const char *borrowed;
    bool flag;
    int32_t i32;
    int64_t i64;
    double x;
    vpa_time time;
    vpa_time micro;
    struct {
        bool present;
        int32_t value;
    } opt;
    struct {
        bool present;
        int64_t value;
    } wide;
    bool there;
    struct part part;
    const struct part *parts;
    size_t part_count;
    const char *const *names;
    size_t name_count;
    int custom;
};

static int count_members(struct vpa_arena *a, const struct vpa_json *node, void *out,
                         struct vpa_error *err)
{
    (void)a;
    if (vpa_json_is_array(node))
        return vpa_fail(err, VPA_INVALID, "no arrays please");
    *(int *)out = node ? (int)vpa_json_count(node) : -1;
    return 0;
}

static const struct vpa_json_field part_fields[] = {
    VPA_JSON_STRING(struct part, name, "name", VPA_JSON_REQUIRED),
    VPA_JSON_INT32(struct part, n, "deep.n", 0),
};
static const struct vpa_json_shape part_shape = VPA_JSON_SHAPE(struct part, part_fields);
static const struct vpa_json_field optional_fields[] = {
    VPA_JSON_INT32(struct part, n, "n", 0),
};
static const struct vpa_json_shape optional_shape = VPA_JSON_SHAPE(struct part, optional_fields);

static const struct vpa_json_field inside_fields[] = {
    VPA_JSON_STRING(struct whole, inner, "inner", 0),
};
static const struct vpa_json_shape inside_shape = VPA_JSON_SHAPE(struct whole, inside_fields);

static const struct vpa_json_field whole_fields[] = {
    VPA_JSON_INSIDE("inside", &inside_shape),
    VPA_JSON_STRING(struct whole, text, "text", 0),
    VPA_JSON_STRING(struct whole, maybe, "maybe", VPA_JSON_NULLABLE),
    VPA_JSON_STRING(struct whole, borrowed, "borrowed", VPA_JSON_BORROW),
    VPA_JSON_FLAG(struct whole, flag, "flag", 0),
    VPA_JSON_INT32(struct whole, i32, "i32", 0),
    VPA_JSON_INT64(struct whole, i64, "i64", 0),
    VPA_JSON_DOUBLE(struct whole, x, "x", 0),
    VPA_JSON_TIME(struct whole, time, "time", 0),
    VPA_JSON_MICRO_TIME(struct whole, micro, "micro", 0),
    VPA_JSON_OPT_INT32(struct whole, opt, "opt"),
    VPA_JSON_OPT_INT64(struct whole, wide, "wide"),
    VPA_JSON_PRESENT(struct whole, there, "a.b"),
    VPA_JSON_NESTED(struct whole, part, "part", &optional_shape, 0),
    VPA_JSON_ARRAY_OF(struct whole, parts, part_count, "sub.parts", &part_shape, 0),
    VPA_JSON_STRINGS(struct whole, names, name_count, "names", 0),
    VPA_JSON_CUSTOM(struct whole, custom, "custom", count_members),
};
static const struct vpa_json_shape whole_shape = VPA_JSON_SHAPE(struct whole, whole_fields);

static struct whole decoded(const char *text)
{
    struct whole w;
    struct vpa_error err;

    memset(&w, 0x5a, sizeof(w));
    if (vpa_json_decode(&arena, text ? json_of(text) : NULL, &whole_shape, &w, &err) < 0)
        ck_abort_msg("%s", err.text);
    return w;
}

static const char *const empties[] = {
    NULL,
    "null",
    "{}",
    "{\"text\":null,\"maybe\":null,\"borrowed\":null,\"flag\":null,\"i32\":null,\"i64\":null,"
    "\"x\":null,\"time\":null,\"micro\":null,\"opt\":null,\"wide\":null,\"a\":{\"b\":null},"
    "\"part\":null,\"sub\":null,\"names\":null}",
};

TEST_EACH(absent_and_null_give_defaults, empties) {
    struct whole w = decoded(empties[_i]);

    ck_assert_str_eq(w.inner, "");
    ck_assert_str_eq(w.text, "");
    ck_assert_ptr_null(w.maybe);
    ck_assert_str_eq(w.borrowed, "");
    ck_assert(!w.flag);
    ck_assert_int_eq(w.i32, 0);
    ck_assert_int_eq(w.i64, 0);
    ck_assert(w.x == 0);
    ck_assert(vpa_time_is_unset(w.time) && vpa_time_is_unset(w.micro));
    ck_assert(!w.opt.present && w.opt.value == 0 && !w.wide.present && w.wide.value == 0);
    ck_assert(!w.there);
    ck_assert_int_eq(w.part.n, 0);
    ck_assert(w.parts == NULL && w.part_count == 0 && w.names == NULL && w.name_count == 0);
    ck_assert_int_eq(w.custom, -1);
}

TEST(values_are_stored) {
    struct whole w = decoded(
        "{\"inside\":{\"inner\":\"i\"},\"text\":\"t\",\"maybe\":\"\",\"borrowed\":\"b\",\"flag\":"
        "true,\"i32\":-5,"
        "\"i64\":9223372036854775807,\"x\":1.5,\"time\":\"1970-01-01T00:00:01Z\","
        "\"micro\":\"1970-01-01T00:00:00.000001Z\",\"opt\":0,\"wide\":7,\"a\":{\"b\":[]},"
        "\"part\":{\"n\":3},\"sub\":{\"parts\":[{\"name\":\"p\",\"deep\":{\"n\":4}},"
        "{\"name\":\"q\"}]},\"names\":[\"x\",null,\"z\"],\"custom\":{\"k\":1},\"unknown\":[]}");

    ck_assert_str_eq(w.inner, "i");
    ck_assert_str_eq(w.text, "t");
    ck_assert_str_eq(w.maybe, "");
    ck_assert_str_eq(w.borrowed, "b");
    ck_assert(w.flag && w.i32 == -5 && w.i64 == INT64_MAX && w.x == 1.5);
    ck_assert(w.time == vpa_time_from_unix(1, 0) && w.micro == vpa_time_from_unix(0, 1000));
    ck_assert(w.opt.present && w.opt.value == 0 && w.wide.present && w.wide.value == 7);
    ck_assert(w.there && w.part.n == 3 && w.part_count == 2 && w.name_count == 3);
    ck_assert_str_eq(w.parts[0].name, "p");
    ck_assert_int_eq(w.parts[0].n, 4);
    ck_assert_str_eq(w.parts[1].name, "q");
    ck_assert_str_eq(w.names[1], "");
    ck_assert_str_eq(w.names[2], "z");
    ck_assert_int_eq(w.custom, 1);
}

static const struct {
    const char *text, *error;
} bad[] = {
    {"[]", "object expected, got array"},
    {"{\"inside\":5}", "inside: object expected, got number"},
    {"{\"inside\":{\"inner\":5}}", "inside.inner: string expected, got number"},
    {"{\"text\":5}", "text: string expected, got number"},
    {"{\"maybe\":true}", "maybe: string expected, got boolean (in YAML, quote it: \"On\")"},
    {"{\"names\":[\"a\",false]}",
     "names[1]: string expected, got boolean (in YAML, quote it: \"Off\")"},
    {"{\"flag\":5}", "flag: boolean expected, got number"},
    {"{\"flag\":\"true\"}", "flag: boolean expected, got string"},
    {"{\"i32\":2147483648}", "i32: number 2147483648 does not fit"},
    {"{\"i32\":1.5}", "i32: number 1.5 does not fit"},
    {"{\"i32\":\"1\"}", "i32: integer expected, got string"},
    {"{\"i64\":9223372036854775808}", "i64: number 9223372036854775808 does not fit"},
    {"{\"i64\":{}}", "i64: integer expected, got object"},
    {"{\"x\":1e999}", "x: number 1e999 does not fit"},
    {"{\"x\":[]}", "x: number expected, got array"},
    {"{\"time\":5}", "time: time expected, got number"},
    {"{\"opt\":\"\"}", "opt: integer expected, got string"},
    {"{\"a\":5}", "a.b: object expected, got number"},
    {"{\"part\":5}", "part: object expected, got number"},
    {"{\"part\":{\"n\":\"\"}}", "part.n: integer expected, got string"},
    {"{\"sub\":[]}", "sub.parts: object expected, got array"},
    {"{\"sub\":{\"parts\":{}}}", "sub.parts: array expected, got object"},
    {"{\"sub\":{\"parts\":[5]}}", "sub.parts[0]: object expected, got number"},
    {"{\"sub\":{\"parts\":[{\"name\":\"a\"},{}]}}", "sub.parts[1].name: required, but absent"},
    {"{\"sub\":{\"parts\":[null]}}", "sub.parts[0].name: required, but absent"},
    {"{\"sub\":{\"parts\":[{\"name\":null}]}}", "sub.parts[0].name: required, but null"},
    {"{\"sub\":{\"parts\":[{\"name\":1}]}}", "sub.parts[0].name: string expected, got number"},
    {"{\"sub\":{\"parts\":[{\"name\":\"\",\"deep\":1}]}}",
     "sub.parts[0].deep.n: object expected, got number"},
    {"{\"names\":{}}", "names: array expected, got object"},
    {"{\"names\":[\"a\",1]}", "names[1]: string expected, got number"},
    {"{\"custom\":[]}", "custom: no arrays please"},
};

TEST_EACH(wrong_types_name_the_path, bad) {
    struct vpa_error err;
    struct whole w;

    ck_assert_int_lt(vpa_json_decode(&arena, json_of(bad[_i].text), &whole_shape, &w, &err), 0);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_str_eq(err.text, bad[_i].error);
    ck_assert_int_lt(vpa_json_decode(&arena, json_of(bad[_i].text), &whole_shape, &w, NULL), 0);
}

TEST(bad_times_are_errors) {
    struct vpa_error err;
    struct whole w;

    ck_assert_int_lt(vpa_json_decode(&arena, json_of("{\"time\":\"x\"}"), &whole_shape, &w, &err),
                     0);
    ck_assert_int_eq(strncmp(err.text, "time: ", 6), 0);
    ck_assert_int_lt(vpa_json_decode(&arena, json_of("{\"micro\":\"1970-01-01T00:00:01Z\"}"),
                                     &whole_shape, &w, &err),
                     0);
    ck_assert_int_eq(strncmp(err.text, "micro: ", 7), 0);
}

int main(void)
{
    return run_tests("json_decode", NULL, release_arena);
}
