/* The page and the sums of the report, with names that nobody would give but an attacker. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "suite.h"
#include "manual_clock.h"
#include "vpa/daemon/clock.h"
#include "vpa/net/loop.h"

#define EVIL "</script><script>alert(1)</script><img src=x onerror=\"x\">"

static struct cli cli;
static struct vpa_clock *stopped;
static struct cli_row rows[4];
static struct cli_row *row_list[4];
static struct cli_world world;

static void setup(void)
{
    cli_init(&cli);
    stopped = vpa_clock_new_manual(vpa_time_from_unix(0, 0));
    cli.loop = vpa_loop_new(stopped);
    for (size_t i = 0; i < 4; i++) {
        rows[i] = (struct cli_row){.ns = i < 3 ? "a" : "b",
                                   .kind = "Deployment",
                                   .workload = i < 2 ? "web" : EVIL,
                                   .container = i == 0 ? "app" : EVIL,
                                   .vpa = EVIL,
                                   .mode = "Recreate",
                                   .pods = 2,
                                   .request = {100, 1 << 20},
                                   .target = {50, 2 << 20},
                                   .saves = {50, 0},
                                   .lacks = {0, 1 << 20},
                                   .recommended = true,
                                   .below = i == 2};
        row_list[i] = &rows[i];
    }
    world = (struct cli_world){.rows = row_list, .count = 4};
}

static void teardown(void)
{
    vpa_loop_free(cli.loop);
    vpa_clock_free(stopped);
    cli_release(&cli);
}

static size_t count_text(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

START_TEST(test_page_holds_no_text_of_strangers_as_markup)
{
    vpa_auto_buf page = VPA_BUF(1 << 20);

    cli_note(&cli, "%s", EVIL);
    cli_report_page(&cli, &world, false, &page);
    ck_assert(!vpa_buf_failed(&page));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "alert(1)</script>"));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "<img"));
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "<script"), 2);
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "<tr data-risk"), 4);
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "http://"));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "https://"));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "connect-src"));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&page), "1970-01-01T00:00:00Z"));
}
END_TEST

START_TEST(test_live_page_asks_only_itself)
{
    vpa_auto_buf page = VPA_BUF(1 << 20);

    cli_report_page(&cli, &world, true, &page);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&page), "data-live=\"15\""));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&page), "connect-src 'self'"));
}
END_TEST

START_TEST(test_pictures_of_the_past)
{
    double usage[] = {0, 50, 1e300, 0};
    vpa_auto_buf page = VPA_BUF(1 << 20);

    cli_report_page(&cli, &world, false, &page);
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "<polyline"));
    world.past_from = vpa_time_from_unix(0, 0);
    world.past_points = VPA_COUNT(usage);
    rows[0].past[CLI_CPU] = usage;
    rows[1].past[CLI_MEMORY] = usage;
    rows[1].request[CLI_MEMORY] = 0;
    rows[1].recommended = false;
    rows[1].algorithm = "plumb";
    vpa_buf_clear(&page);
    cli_report_page(&cli, &world, false, &page);
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "<polyline"), 2);
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "(by plumb)"), 1);
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "<img"));
    ck_assert_ptr_null(strstr(vpa_buf_text(&page), "nan"));
}
END_TEST

/* A live page takes over the notes of the next one, also when those are the first, or none. */
START_TEST(test_notes_have_a_place_also_without_any)
{
    vpa_auto_buf page = VPA_BUF(1 << 20);

    if (_i)
        cli_note(&cli, "n");
    cli_report_page(&cli, &world, true, &page);
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "<div id=\"notes\""), 1);
    ck_assert_uint_eq(count_text(vpa_buf_text(&page), "<li>n</li>"), (size_t)_i);
}
END_TEST

START_TEST(test_sums)
{
    struct cli_world sums;

    rows[1].pods = 3; /* one of them has no container "app" */
    cli_world_group(&world, CLI_BY_NAMESPACE, &sums);
    ck_assert_uint_eq(sums.count, 2);
    ck_assert_int_eq(sums.rows[0]->pods, 5);
    ck_assert_int_eq(sums.rows[1]->pods, 2);
    ck_assert_int_eq(sums.rows[0]->request[CLI_CPU], 300);
    ck_assert_int_eq(sums.rows[0]->lacks[CLI_MEMORY], 3 << 20);
    ck_assert(sums.rows[0]->below && !sums.rows[1]->below);
    cli_world_release(&sums);
    cli_world_group(&world, CLI_BY_WORKLOAD, &sums);
    ck_assert_uint_eq(sums.count, 3);
    ck_assert_str_eq(sums.rows[0]->container, "");
    ck_assert_int_eq(sums.rows[0]->pods, 3);
    cli_world_sort(&sums, CLI_ORDER_RISK);
    ck_assert(sums.rows[0]->below);
    cli_world_release(&sums);
}
END_TEST

/* Anybody can make a pod that asks for everything, and two of them ask for no less. */
START_TEST(test_sums_do_not_turn_round)
{
    struct cli_world sums;

    for (size_t i = 0; i < 4; i++)
        rows[i].request[CLI_MEMORY] = rows[i].saves[CLI_MEMORY] = INT64_MAX / 3 * 2;
    cli_world_group(&world, CLI_BY_NAMESPACE, &sums);
    ck_assert_int_eq(sums.rows[0]->request[CLI_MEMORY], INT64_MAX);
    ck_assert_int_eq(sums.rows[0]->saves[CLI_MEMORY], INT64_MAX);
    ck_assert_int_eq(sums.rows[0]->request[CLI_CPU], 300);
    cli_world_release(&sums);
}
END_TEST

static const struct {
    int resource;
    int64_t amount;
    const char *text;
} amounts[] = {
    {CLI_CPU, 0, "0"},
    {CLI_CPU, 250, "250m"},
    {CLI_CPU, 2000, "2"},
    {CLI_CPU, 12500, "12.5"},
    {CLI_MEMORY, 0, "0"},
    {CLI_MEMORY, 1 << 20, "1Mi"},
    {CLI_MEMORY, 3 << 19, "1.5Mi"},
    {CLI_MEMORY, 100 << 20, "100Mi"},
};

START_TEST(test_amounts)
{
    vpa_auto_buf text = VPA_BUF(64);

    cli_put_amount(&text, amounts[_i].resource, amounts[_i].amount);
    ck_assert_str_eq(vpa_buf_text(&text), amounts[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli_page");
    TCase *tcase = tcase_create("page");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_page_holds_no_text_of_strangers_as_markup);
    tcase_add_test(tcase, test_live_page_asks_only_itself);
    tcase_add_test(tcase, test_pictures_of_the_past);
    tcase_add_loop_test(tcase, test_notes_have_a_place_also_without_any, 0, 2);
    tcase_add_test(tcase, test_sums);
    tcase_add_test(tcase, test_sums_do_not_turn_round);
    tcase_add_loop_test(tcase, test_amounts, 0, (int)VPA_COUNT(amounts));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
