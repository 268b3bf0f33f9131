/* Collections read once, page by page: what is given, and what ends the reading. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"

#include "vpa/base/str.h"
#include "vpa/kube/list.h"

static const char *const *pages; /* of the server, NULL behind the last; the last repeats */
static int asked, given;
static char token[64];    /* of the last request */
static vpa_duration late; /* each page */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *sent = vpa_memory_query(q, "continue");

    (void)ctx;
    strncpy(token, sent ? sent : "", sizeof(token) - 1);
    vpa_memory_reply_json(r, 200, *pages);
    vpa_memory_reply_delay(r, late);
    if (pages[1])
        pages++;
    asked++;
}

static void on_item(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    (void)ctx;
    ck_assert(vpa_json_is_object(item));
    ck_assert(text.ptr[0] == '{' && text.ptr[text.len - 1] == '}');
    given++;
}

static void setup(void)
{
    start_client(serve, 1768435200, 7);
    asked = given = 0;
    late = 0;
}

static int list(const char *const *texts, struct vpa_error *err)
{
    pages = texts;
    return vpa_list_each(
        client, &(struct vpa_list_request){.path = "/x", .paged = true, .timeout = VPA_MINUTE},
        on_item, NULL, err);
}

TEST(goes_on_until_the_last_page) {
    static const char *const texts[] = {
        "{\"metadata\":{\"continue\":\"t1\"},\"items\":[{\"a\":1},{\"a\":2}]}",
        "{\"metadata\":{\"continue\":\"\"},\"items\":[{\"a\":3}]}", NULL};
    struct vpa_error err;

    ck_assert_int_eq(list(texts, &err), 0);
    ck_assert_int_eq(asked, 2);
    ck_assert_int_eq(given, 3);
    ck_assert_str_eq(token, "t1");
}

static const char *const broken[][2] = {
    {"{\"metadata\":{\"continue\":tru},\"items\":[]}", NULL},      /* where the next page is */
    {"{\"items\":[{\"a\":1}],\"metadata\":{\"b\":01x}}", NULL},    /* behind the items */
    {"{\"metadata\":{},\"items\":[{\"a\":nul}]}", NULL},           /* an item */
    {"{\"metadata\":{},\"items\":[{\"a\":1}", NULL},               /* cut */
    {"{\"metadata\":{\"continue\":\"same\"},\"items\":[]}", NULL}, /* no end */
};

TEST_EACH(half_a_list_is_none, broken) {
    struct vpa_error err;

    ck_assert_int_eq(list(broken[_i], &err), -1);
    ck_assert_int_le(asked, 2);
}

static char unread[64];

static void on_any(void *ctx, const struct vpa_json *item, struct vpa_slice text)
{
    (void)ctx;
    given += item != NULL;
    if (!item)
        snprintf(unread, sizeof(unread), "%.*s", (int)text.len, text.ptr);
}

/* Where that is asked for, what cannot be read ends nothing. */
TEST(an_item_that_cannot_be_read_is_one_item) {
    struct vpa_list_request request = {
        .path = "/x", .timeout = VPA_MINUTE, .with_unreadable = true};
    static const char *const texts[] = {"{\"items\":[{\"a\":1},{\"a\":nul},{\"a\":3}]}", NULL};
    struct vpa_error err;

    pages = texts;
    ck_assert_int_eq(vpa_list_each(client, &request, on_any, NULL, &err), 0);
    ck_assert_int_eq(given, 2);
    ck_assert_str_eq(unread, "{\"a\":nul}");
}

/* The timeout is that of each page. */
static const struct {
    vpa_duration late;
    int result, asked;
    vpa_duration took;
} slow[] = {
    {VPA_MINUTE - VPA_SECOND, 0, 3, 3 * (VPA_MINUTE - VPA_SECOND)},
    {VPA_MINUTE + VPA_SECOND, -1, 1, VPA_MINUTE},
};

TEST_EACH(each_page_has_its_time, slow) {
    static const char *const texts[] = {
        "{\"metadata\":{\"continue\":\"t1\"},\"items\":[{\"a\":1}]}",
        "{\"metadata\":{\"continue\":\"t2\"},\"items\":[{\"a\":2}]}",
        "{\"metadata\":{},\"items\":[{\"a\":3}]}", NULL};
    int64_t begin = vpa_loop_monotonic(loop);
    struct vpa_error err;

    late = slow[_i].late;
    ck_assert_int_eq(list(texts, &err), slow[_i].result);
    ck_assert_int_eq(asked, slow[_i].asked);
    ck_assert_int_eq(vpa_loop_monotonic(loop) - begin, slow[_i].took);
}

static void stop_loop(void *ctx)
{
    (void)ctx;
    vpa_loop_stop(loop);
}

/* Nothing is given any more, and nothing is asked for. */
TEST_TIMES(a_stop_ends_the_reading, 2) {
    static const char *const texts[] = {
        "{\"metadata\":{\"continue\":\"t1\"},\"items\":[{\"a\":1}]}",
        "{\"metadata\":{},\"items\":[{\"a\":2}]}", NULL};
    struct vpa_timer *timer = vpa_timer_new(loop, stop_loop, NULL);
    struct vpa_error err;

    late = 40 * VPA_SECOND;
    vpa_timer_start(timer, (_i ? 60 : 20) * VPA_SECOND);
    ck_assert_int_eq(list(texts, &err), -1);
    ck_assert_int_eq(err.code, VPA_CANCELLED);
    ck_assert_int_eq(given, _i);
    ck_assert_uint_eq(vpa_kube_client_in_flight(client), 0);
    vpa_loop_resume(loop);
    vpa_loop_pump(loop, VPA_HOUR);
    ck_assert_int_eq(given, _i);
    ck_assert_int_eq(asked, 1 + _i);
    vpa_timer_free(timer);
}

int main(void)
{
    return run_tests("list", setup, stop_client);
}
