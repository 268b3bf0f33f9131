/* Discovery: when a group is read, how often, and what is made of it. */
#include "owner_fixture.h"

static void serve_late(const char *version)
{
    sim_cluster_serve_kind(sim, "late.io", version, "widgets", "Widget", false, true);
}

TEST(discovery_is_asked_again) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    ck_assert_int_eq(vpa_discovery_find(d, "late.io", "Widget", &m, &count, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    serve_late("v1beta1");
    serve_late("v1");
    ck_assert_int_eq(vpa_discovery_find(d, "late.io", "Widget", &m, &count, &err), -1);
    vpa_discovery_begin_pass(d);
    ck_assert_int_eq(vpa_discovery_find(d, "late.io", "Widget", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1); /* the same plural in two versions */
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_str_eq(m[0].resource, "widgets");
    int before = discovery_gets();
    ck_assert_int_eq(vpa_discovery_find(d, "late.io", "widget", &m, &count, &err), 0);
    ck_assert_int_eq(discovery_gets(), before);
    serve_late("v2");
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_int_eq(vpa_discovery_find(d, "late.io", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v2");
    ck_assert(vpa_discovery_has_subresource(d, "v1", "pods/resize"));
    ck_assert(!vpa_discovery_has_subresource(d, "v1", "pods/scale"));
    ck_assert(vpa_discovery_has_subresource(d, "late.io/v2", "widgets/scale"));
    ck_assert(!vpa_discovery_has_subresource(d, "nowhere.io/v2", "widgets/scale"));
}

static void answer(const char *path, const char *body)
{
    sim_cluster_answer(
        sim, &(struct sim_answer){
                 .method = "GET", .path = path, .how = SIM_PATH_IS, .code = 200, .body = body});
}

/* What a server calls a version goes into paths. */
TEST(odd_versions_are_left_out) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    answer("/apis/example.com",
           "{\"preferredVersion\":{\"version\":\"../../v9?x=\"},\"versions\":"
           "[{\"version\":\"v1/x\"},{\"version\":\"\"},{\"version\":\"v1\"}]}");
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_int_eq(discovery_gets(), 2);
}

TEST(discovery_is_read_once_for_all) {
    synced();
    put_widgets(8);
    follow_many(8);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets(), 8);
    ck_assert_int_eq(discovery_gets(), 3); /* the group and its two versions */
}

/* A version that the server names twice is asked once. */
TEST(versions_are_asked_once) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_int_eq(discovery_gets(), 3);
    ck_assert_str_eq(m[0].version, "v1");
}

/* A group that cannot be read is an error, a version of it is left out. */
TEST(broken_answers) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    answer("/apis/example.com", "{\"versions\":[");
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "discovery of group example.com: "));
    sim_cluster_unscript(sim);
    answer("/apis/example.com/v1", "{");
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(m[0].version, "v1beta1");
}

static int told[3];

static void on_read(void *ctx, const struct vpa_error *why)
{
    ck_assert_ptr_null(why);
    (*(int *)ctx)++;
}

/* Several wait for one reading; who does not wait any more is not told, wherever it stood. */
TEST(those_who_wait_are_told) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);

    for (size_t gone = 0; gone < 3; gone++) {
        struct vpa_discovery_wait waits[3];

        memset(told, 0, sizeof(told));
        for (size_t i = 0; i < 3; i++) {
            waits[i] = (struct vpa_discovery_wait){.fn = on_read, .ctx = &told[i]};
            vpa_discovery_read(d, "example.com", &waits[i]);
        }
        vpa_discovery_unwait(&waits[gone]);
        vpa_discovery_unwait(&waits[gone]); /* of no effect */
        vpa_loop_pump(loop, VPA_SECOND);
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(told[i], i != gone);
    }
}

/* A list of a kind is found by the kind. */
TEST(lists_are_known_by_their_kind) {
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgetList", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(m[0].kind, "Widget");
    ck_assert_str_eq(m[0].resource, "widgetlists");
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert(m[0].namespaced);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgetLis", &m, &count, &err), -1);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "WidgesList", &m, &count, &err), -1);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "List", &m, &count, &err), -1);
}

/* ---- a server of pages, with a log of what was asked ---- */

struct page {
    const char *path, *body;
    vpa_duration delay;
    int status; /* 0: 200 */
};
#define PAGES_MAX 200
static struct page pages[PAGES_MAX];
static size_t page_count;
static char asked[4096];
static struct vpa_discovery *disc;
static const struct vpa_rest_mapping *found;
static size_t found_count;

static void serve_pages(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    size_t len = strlen(asked);

    (void)ctx;
    snprintf(asked + len, sizeof(asked) - len, "%s ", q->path);
    for (size_t i = 0; i < page_count; i++) {
        if (strcmp(pages[i].path, q->path) != 0)
            continue;
        vpa_memory_reply_delay(r, pages[i].delay);
        if (pages[i].status)
            vpa_memory_reply_status(r, pages[i].status, NULL, pages[i].body);
        else
            vpa_memory_reply_json(r, 200, pages[i].body);
        return;
    }
    vpa_memory_reply_status(r, 404, NULL, "nothing here");
}

static void serve_from(const struct page *all, size_t count)
{
    ck_assert_uint_le(count, PAGES_MAX);
    for (size_t i = 0; i < count; i++)
        pages[i] = all[i];
    page_count = count;
    asked[0] = '\0';
}

static void setup_pages(void)
{
    start_client(serve_pages, 1772366400, 3);
    disc = vpa_discovery_new(client);
    serve_from(NULL, 0);
}

static void teardown_pages(void)
{
    vpa_discovery_free(disc);
    stop_client();
}

static int find(const char *group, const char *kind)
{
    asked[0] = '\0';
    found_count = 99;
    return vpa_discovery_find(disc, group, kind, &found, &found_count, &err);
}

#define VERSIONS(PREFERRED, OTHERS)                                                                \
    "{\"preferredVersion\":{\"version\":\"" PREFERRED "\"},\"versions\":[" OTHERS "]}"
#define V(NAME) "{\"version\":\"" NAME "\"}"
#define RESOURCES(ITEMS) "{\"resources\":[" ITEMS "]}"
#define R(NAME, KIND, NAMESPACED)                                                                  \
    "{\"name\":\"" NAME "\",\"kind\":\"" KIND "\",\"namespaced\":" NAMESPACED "}"

static const struct page shop[] = {
    {"/apis/shop.io", VERSIONS("v2", V("v1") "," V("v2") "," V("v1") "," V("v3")), 0, 0},
    {"/apis/shop.io/v1",
     RESOURCES(R("carts", "Cart", "true") "," R("wagons", "Cart", "false") "," R(
         "tills", "Till", "false") ",{\"name\":\"vaults\",\"kind\":\"Vault\"},{\"name\":\"half\"},{"
                                   "\"kind\":\"Half\"},{\"name\":7,\"kind\":\"Half\"}"),
     0, 0},
    {"/apis/shop.io/v2",
     RESOURCES(R("carts", "Cart", "true") "," R("carts/status", "Cart",
                                                "true") "," R("trolleys", "Cart", "true")),
     0, 0},
    {"/apis/shop.io/v3", "down", 0, 503},
    {"/api/v1", RESOURCES(R("pods", "Pod", "true") "," R("nodes", "Node", "false")), 0, 0},
};

static void assert_mapping(size_t i, const char *group, const char *version, const char *resource,
                           const char *kind, bool namespaced)
{
    ck_assert_uint_lt(i, found_count);
    ck_assert_str_eq(found[i].group, group);
    ck_assert_str_eq(found[i].version, version);
    ck_assert_str_eq(found[i].resource, resource);
    ck_assert_str_eq(found[i].kind, kind);
    ck_assert(found[i].namespaced == namespaced);
}

TEST_CASE(pages, setup_pages, teardown_pages);

/* The preferred version first; of each version the last plural, once in all. */
TEST(mappings_are_whole) {
    serve_from(shop, VPA_COUNT(shop));
    ck_assert_int_eq(find("shop.io", "Cart"), 0);
    ck_assert_str_eq(asked, "/apis/shop.io /apis/shop.io/v2 /apis/shop.io/v1 /apis/shop.io/v3 ");
    ck_assert_uint_eq(found_count, 2);
    assert_mapping(0, "shop.io", "v2", "trolleys", "Cart", true);
    assert_mapping(1, "shop.io", "v1", "wagons", "Cart", false);
    ck_assert_int_eq(find("shop.io", "till"), 0);
    ck_assert_uint_eq(found_count, 1);
    assert_mapping(0, "shop.io", "v1", "tills", "Till", false);
    ck_assert_int_eq(find("shop.io", "Vault"), 0); /* says nothing of namespaces */
    ck_assert_uint_eq(found_count, 1);
    assert_mapping(0, "shop.io", "v1", "vaults", "Vault", false);
    ck_assert_int_eq(find("", "Node"), 0);
    ck_assert_str_eq(asked, "/api/v1 ");
    assert_mapping(0, "", "v1", "nodes", "Node", false);
    ck_assert_int_eq(find("shop.io", "TillList"), 0);
    ck_assert_uint_eq(found_count, 1);
    assert_mapping(0, "shop.io", "v1", "tilllists", "Till", false);
}

/* A kind is its own spelling, or all of it in lower case; nothing else is. */
static const char *const no_kinds[] = {"CART", "cArt", "Car", "car", "Carts", "carts", "", "Half"};
TEST_EACH(other_spellings_are_unknown, no_kinds) {
    serve_from(shop, VPA_COUNT(shop));
    ck_assert_int_eq(find("shop.io", no_kinds[_i]), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    vpa_auto_free char *says =
        vpa_xprintf("no matches for kind \"%s\" in group \"shop.io\"", no_kinds[_i]);
    ck_assert_str_eq(err.text, says);
    ck_assert_int_eq(find("shop.io", no_kinds[_i]), -1);
    ck_assert_str_eq(asked, ""); /* known in this pass */
}

/* A group is asked for again when it is five minutes old, or lacks the kind in a new pass. */
TEST(groups_grow_old) {
    serve_from(shop, VPA_COUNT(shop));
    ck_assert_int_eq(find("", "Pod"), 0);
    vpa_loop_pump(loop, VPA_DISCOVERY_AGE - 1);
    ck_assert_int_eq(find("", "Pod"), 0);
    ck_assert_str_eq(asked, "");
    ck_assert_int_eq(vpa_discovery_peek(disc, "", "Pod", &found, &found_count, &err), 0);
    vpa_loop_pump(loop, 1);
    ck_assert_int_eq(vpa_discovery_peek(disc, "", "Pod", &found, &found_count, &err), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_str_eq(err.text, "group \"\" is not known yet");
    ck_assert_int_eq(find("", "Pod"), 0);
    ck_assert_str_eq(asked, "/api/v1 ");
    vpa_discovery_begin_pass(disc);
    ck_assert_int_eq(find("", "Pod"), 0); /* what is there is believed */
    ck_assert_str_eq(asked, "");
    ck_assert_int_eq(vpa_discovery_peek(disc, "", "Pot", &found, &found_count, &err), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_str_eq(err.text, "group \"\" is not known in this pass");
    ck_assert_int_eq(find("", "Pot"), -1);
    ck_assert_str_eq(asked, "/api/v1 ");
    ck_assert_int_eq(find("", "Pot"), -1);
    ck_assert_str_eq(asked, "");
}

TEST(unusable_groups_are_not_asked_for) {
    ck_assert_int_eq(find("a/b", "Cart"), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    ck_assert_str_eq(err.text, "no matches for kind \"Cart\" in group \"a/b\"");
    ck_assert(!vpa_discovery_has_subresource(disc, "../v1", "carts/scale"));
    ck_assert_str_eq(asked, "");
}

TEST(subresources_are_of_one_version) {
    serve_from(shop, VPA_COUNT(shop));
    ck_assert(vpa_discovery_has_subresource(disc, "shop.io/v2", "carts/status"));
    ck_assert(!vpa_discovery_has_subresource(disc, "shop.io/v1", "carts/status"));
    ck_assert(!vpa_discovery_has_subresource(disc, "shop.io/v2", "carts/scale"));
    ck_assert_str_eq(asked, "/apis/shop.io /apis/shop.io/v2 /apis/shop.io/v1 /apis/shop.io/v3 ");
    vpa_loop_pump(loop, VPA_DISCOVERY_AGE);
    asked[0] = '\0';
    ck_assert(vpa_discovery_has_subresource(disc, "v1", "pods"));
    ck_assert(vpa_discovery_has_subresource(disc, "shop.io/v1", "tills"));
    ck_assert_str_eq(asked, "/api/v1 /apis/shop.io /apis/shop.io/v2 /apis/shop.io/v1 "
                            "/apis/shop.io/v3 ");
}

/* A group that fails is told with the server's words; what was known before stays. */
TEST(failures_are_told) {
    static const struct page broken[] = {{"/apis/shop.io", "gone mad", 0, 500}};

    serve_from(shop, VPA_COUNT(shop));
    ck_assert_int_eq(find("shop.io", "Cart"), 0);
    serve_from(broken, 1);
    vpa_discovery_begin_pass(disc);
    ck_assert_int_eq(find("shop.io", "Basket"), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    ck_assert_str_eq(asked, "/apis/shop.io ");
    ck_assert_int_eq(find("shop.io", "Cart"), 0);
    ck_assert_str_eq(asked, "");
    vpa_loop_stop(loop);
    ck_assert_int_eq(find("other.io", "Cart"), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    ck_assert_ptr_nonnull(strstr(err.text, "discovery of group other.io: "));
}

/* Three readings at a time, ending in any order: each goes on, and is joined while it does. */
static const int orders[][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
TEST_EACH(readings_are_apart, orders) {
    struct page slow[] = {{"/apis/a.io", VERSIONS("v1", ""), orders[_i][0] * VPA_SECOND, 0},
                          {"/apis/b.io", VERSIONS("v1", ""), orders[_i][1] * VPA_SECOND, 0},
                          {"/apis/c.io", VERSIONS("v1", ""), orders[_i][2] * VPA_SECOND, 0}};
    static const char *const groups[] = {"a.io", "b.io", "c.io"};
    struct vpa_discovery_wait waits[3][4];

    memset(told, 0, sizeof(told));
    serve_from(slow, 3);
    for (int second = 0; second < 4; second++) {
        asked[0] = '\0';
        for (int i = 0; i < 3; i++) {
            waits[i][second] = (struct vpa_discovery_wait){.fn = on_read, .ctx = &told[i]};
            if (second < orders[_i][i])
                vpa_discovery_read(disc, groups[i], &waits[i][second]);
        }
        ck_assert_str_eq(asked, second ? "" : "/apis/a.io /apis/b.io /apis/c.io ");
        vpa_loop_pump(loop, VPA_SECOND / 2);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(told[i], second < orders[_i][i] ? 0 : orders[_i][i]);
        vpa_loop_pump(loop, VPA_SECOND / 2);
    }
}

/* Freed while readings are under way, with some who wait. */
TEST(freed_while_it_reads) {
    static const struct page slow[] = {{"/apis/a.io", VERSIONS("v1", ""), VPA_SECOND, 0},
                                       {"/apis/b.io", VERSIONS("v1", ""), VPA_SECOND, 0}};
    struct vpa_discovery_wait waits[3];

    serve_from(slow, 2);
    memset(told, 0, sizeof(told));
    for (int i = 0; i < 3; i++) {
        waits[i] = (struct vpa_discovery_wait){.fn = on_read, .ctx = &told[i]};
        vpa_discovery_read(disc, i ? "b.io" : "a.io", &waits[i]);
    }
    vpa_discovery_free(disc);
    disc = NULL;
    vpa_loop_pump(loop, VPA_MINUTE);
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(waits[i].link);
        ck_assert_int_eq(told[i], 0);
    }
    ck_assert_uint_eq(vpa_memory_transport_open(transport), 0);
}

/* As many groups as are kept, and one more: all but that one go, and are asked for again. */
TEST(groups_are_bounded) {
    char name[16];

    for (int i = 0; i < VPA_DISCOVERY_GROUPS_MAX; i++) {
        snprintf(name, sizeof(name), "g%d.io", i);
        ck_assert_int_eq(find(name, "Cart"), -1);
        ck_assert_str_ne(asked, "");
    }
    ck_assert_int_eq(find("g0.io", "Cart"), -1);
    ck_assert_str_eq(asked, "");
    vpa_discovery_begin_pass(disc);
    ck_assert_int_eq(find("g0.io", "Cart"), -1); /* read anew in its own place */
    ck_assert_str_eq(asked, "/apis/g0.io ");
    ck_assert_int_eq(vpa_discovery_peek(disc, "g1.io", "Cart", &found, &found_count, &err), -1);
    ck_assert_str_eq(err.text, "group \"g1.io\" is not known in this pass");
    ck_assert_int_eq(find("more.io", "Cart"), -1);
    ck_assert_int_eq(vpa_discovery_peek(disc, "g1.io", "Cart", &found, &found_count, &err), -1);
    ck_assert_str_eq(err.text, "group \"g1.io\" is not known yet");
    ck_assert_int_eq(find("more.io", "Cart"), -1);
    ck_assert_str_eq(asked, "");
}

/* 33 versions: 32 are asked for. */
TEST(versions_are_bounded) {
    vpa_auto_buf text = VPA_BUF(1 << 16);
    struct page many = {.path = "/apis/many.io"};

    for (int i = 1; i <= 33; i++)
        vpa_buf_printf(&text, "%s{\"version\":\"v%d\"}", i > 1 ? "," : "{\"versions\":[", i);
    vpa_buf_puts(&text, "]}");
    many.body = vpa_buf_text(&text);
    serve_from(&many, 1);
    ck_assert_int_eq(find("many.io", "Cart"), -1);
    ck_assert_ptr_nonnull(strstr(asked, "/v32 "));
    ck_assert_ptr_null(strstr(asked, "/v33 "));
}

int main(void)
{
    return run_tests_within(60, "discovery", setup, teardown);
}
