#include "policy_fixtures.h"

#include "vpa/json/json_decode.h"
#include "vpa/policy/boost_marker.h"

TEST(round_trip) {
    vpa_auto_arena arena = {0};
    struct vpa_pod pod = fixture_pod(
        &arena, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','resources':"
                "{'requests':{'cpu':'100m','memory':'64Mi','x/y':'1'}}}]}}");
    struct vpa_resources got;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(4096);

    vpa_boost_marker_format(&pod.containers[0], &text);
    ck_assert_str_eq(vpa_buf_text(&text),
                     "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"},\"limits\":{}}");
    ck_assert_int_eq(vpa_boost_marker_parse(&arena, vpa_buf_text(&text), &got, &err), 0);
    ck_assert_str_eq(fixture_list_text(&arena, &got.requests), "cpu=100m memory=64Mi");
    ck_assert_uint_eq(got.limits.count, 0);
}

static const struct marker_row {
    const char *text;
    const char *requests; /* NULL: unusable */
} markers[] = {
    {"{}", ""},
    {"null", ""},
    {"{'requests':null,'other':5}", ""},
    {"{'REQUESTS':{'cpu':'1'}}", "cpu=1"},
    {"{'requests':{'cpu':1}}", "cpu=1"},
    {"{'requests':{'cpu':'1'},'requests':{'memory':'1Gi'}}", "cpu=1 memory=1Gi"},
    {"{'requests':{'memory':'1','cpu':'1'},'Requests':{'cpu':'3','a':'4'},'requests':{'cpu':'2'}}",
     "cpu=2 memory=1 a=4"},
    {"{'requests':{'z':'1','b':'2','memory':'3','a':'4'},'limits':{'cpu':'5'}}",
     "memory=3 a=4 b=2 z=1"},
    {"{'requests':{'nvidia.com/gpu':'1'}}", "nvidia.com/gpu=1"},
    {"", NULL},
    {"{} x", NULL},
    {"[]", NULL},
    {"{'requests':[]}", NULL},
    {"{'limits':5}", NULL},
    {"{'requests':{'cpu':'1Zz'}}", NULL},
    {"{'requests':{'cpu':'1'},'REQUESTS':{'cpu':'1Zz'}}", NULL},
};

TEST_EACH(tolerance, markers) {
    vpa_auto_arena arena = {0};
    struct vpa_resources got;
    struct vpa_error err;
    int result = vpa_boost_marker_parse(&arena, fixture_json(&arena, markers[_i].text), &got, &err);

    ck_assert_msg((result == 0) == (markers[_i].requests != NULL), "%s", markers[_i].text);
    if (result == 0)
        ck_assert_str_eq(fixture_list_text(&arena, &got.requests), markers[_i].requests);
}

TEST(keys) {
    static const struct vpa_label items[] = {{"a", "b"}, {"vpaCpuStartupBoost/app", "{}"}};
    const struct vpa_labels marked = {items, 2, true};
    const struct vpa_labels plain = {items, 1, true};

    ck_assert(vpa_boost_marked(&marked));
    ck_assert(!vpa_boost_marked(&plain));
    ck_assert_str_eq(vpa_boost_marker_container("vpaCpuStartupBoost/app"), "app");
    ck_assert_ptr_null(vpa_boost_marker_container("vpaCpuStartupBoost"));
}

TEST(finds_by_container) {
    static const struct vpa_label items[] = {
        {"a", "no"},
        {"vpaCpuStartupBoost/", "empty"},
        {"vpaCpuStartupBoost/app-2", "of app-2"},
        {"vpaCpuStartupBoost/app", "of app"},
        {"vpaCpuStartupBoost0", "no"},
        {"vpaCpuStartupBoost", "no"},
        {"z", "no"},
    };
    static const char *const others[] = {"ap", "app-", "app-3", "a", "z", "0"};
    const struct vpa_labels annotations = {items, VPA_COUNT(items), true};

    ck_assert_str_eq(vpa_boost_marker_find(&annotations, "app"), "of app");
    ck_assert_str_eq(vpa_boost_marker_find(&annotations, "app-2"), "of app-2");
    ck_assert_str_eq(vpa_boost_marker_find(&annotations, ""), "empty");
    for (size_t i = 0; i < VPA_COUNT(others); i++)
        ck_assert_msg(!vpa_boost_marker_find(&annotations, others[i]), "%s", others[i]);
    ck_assert_ptr_null(vpa_boost_marker_find(&(struct vpa_labels){.count = 0}, "app"));
}

/* Requests with so many resources, half of them under another spelling of the name. */
static int parse_long(struct vpa_arena *arena, size_t count, struct vpa_resources *got,
                      struct vpa_error *err)
{
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, (size_t)1 << 20);
    vpa_buf_puts(&text, "{\"requests\":{");
    for (size_t i = 0; i < count; i++)
        vpa_buf_printf(&text, "%s\"r%zu\":%zu",
                       i == count / 2 ? "},\"Requests\":{"
                       : i            ? ","
                                      : "",
                       i, i);
    vpa_buf_puts(&text, "}}");
    return vpa_boost_marker_parse(arena, vpa_buf_text(&text), got, err);
}

TEST(length) {
    vpa_auto_arena arena = {0};
    struct vpa_resources got;
    struct vpa_error err;

    ck_assert_int_eq(parse_long(&arena, VPA_JSON_LIST_MAX, &got, &err), 0);
    ck_assert_uint_eq(got.requests.count, VPA_JSON_LIST_MAX);
    ck_assert_int_eq(parse_long(&arena, VPA_JSON_LIST_MAX + 1, &got, &err), -1);
    ck_assert_str_eq(err.text, "boost marker: requests: 4097 resources, at most 4096 are read");
    ck_assert_int_eq(err.code, VPA_INVALID);
}

int main(void)
{
    return run_tests("boost_marker", NULL, NULL);
}
