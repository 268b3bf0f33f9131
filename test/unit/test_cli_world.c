/* The containers of a cluster as rows, read again and again by commands that go on. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli_fixture.h"
#include "dry_transport.h"
#include "report.h"
#include "suite.h"
#include "world.h"
#include "vpa/base/str.h"

static bool forbidden; /* to list pods */
static size_t pages;   /* of pods; beyond it the last token leads on */

#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},"      \
    "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}," \
    "\"status\":{\"phase\":\"Running\"}}"
#define VPA                                                                                        \
    "{\"metadata\":{\"name\":\"vpa\",\"namespace\":\"shop\"},\"spec\":{\"selector\":{"             \
    "\"matchLabels\":"                                                                             \
    "{\"app\":\"web\"}},\"updatePolicy\":{\"updateMode\":\"Recreate\"}},\"status\":{"              \
    "\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":"     \
    "{\"cpu\":\"2\"}}]}}}"

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool pods = vpa_str_starts_with(q->path, "/api/v1/") && strstr(q->path, "/pods");
    const char *item = strstr(q->path, "verticalpodautoscalers") ? VPA : pods ? POD : "";

    (void)ctx;
    if (forbidden && pods) {
        vpa_memory_reply_status(r, 403, NULL, "no");
        return;
    }

    vpa_auto_free char *body = vpa_xprintf("{\"metadata\":{\"continue\":\"%s\"},\"items\":[%s]}",
                                           pods && pages > 1 ? "on" : "", item);

    if (pods && pages > 1 && pages < 1000)
        pages--;
    vpa_memory_reply_json(r, 200, body);
}

static void setup(void)
{
    forbidden = false;
    start_cli(serve, "top");
    pages = 1;
}

static void read_once(void)
{
    struct cli_world world;
    struct cli_table table;
    struct vpa_error err;

    ck_assert_msg(cli_world_read(&cli, "shop", &world, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(world.count, 1);
    ck_assert_str_eq(world.rows[0]->vpa, "vpa");
    ck_assert_str_eq(world.rows[0]->mode, "Recreate");
    ck_assert_int_eq(world.rows[0]->target[CLI_CPU], 2000);
    cli_report_table(&cli, &world, &table);
    ck_assert_str_eq(table.cells[0].text, "shop");
    cli_table_release(&table);
    cli_world_release(&world);
}

/* As top and dash do, for as long as somebody looks. */
TEST(nothing_of_a_reading_is_kept) {
    read_once();
    size_t kept = cli.arena.used;

    for (int i = 0; i < 100; i++)
        read_once();
    ck_assert_uint_eq(cli.arena.used, kept);
}

TEST(a_list_that_leads_nowhere_ends) {
    struct cli_world world;
    struct vpa_error err;

    pages = 1000;
    ck_assert_int_eq(cli_world_read(&cli, "shop", &world, &err), -1);
    ck_assert_str_eq(err.text, "list: the list has no end");
}

static int refuse_write(void *ctx, const char *method, const char *target, const char *body,
                        const char **text)
{
    (void)ctx;
    (void)method;
    (void)target;
    (void)body;
    *text = "{}";
    return 405;
}

static int refusals;

static void note_refusal(void *ctx, const char *resource, int status, const char *message)
{
    (void)ctx;
    ck_assert_str_eq(resource, "pods");
    ck_assert_int_eq(status, 403);
    ck_assert_str_eq(message, "no");
    refusals++;
}

static struct cli_dry connect_dry(void)
{
    const struct cli_dry_handler handler = {.on_write = refuse_write, .on_refused = note_refusal};
    struct cli_dry dry;
    struct vpa_error err;

    cli.transport = transport;
    ck_assert_int_eq(cli_dry_connect(&cli, &handler, &dry, &err), 0);
    cli.transport = NULL;
    return dry;
}

/* What a pass would do is judged by the clock that pods are dated by. */
TEST(behind_a_dry_run_the_servers_time_is_known) {
    struct cli_dry dry = connect_dry();
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    vpa_memory_transport_set_ahead(transport, VPA_HOUR);
    ck_assert_int_eq(vpa_kube_get_json(dry.client, "/api/v1/namespaces/n", &arena, &root, &err), 0);
    ck_assert_int_eq(vpa_kube_client_ahead(dry.client), VPA_HOUR);
    cli_dry_release(&dry);
}

TEST(behind_a_dry_run_a_refused_list_is_empty_and_told) {
    struct cli_dry dry = connect_dry();
    vpa_auto_arena arena = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    forbidden = true;
    refusals = 0;
    ck_assert_int_eq(vpa_kube_get_json(dry.client, "/api/v1/namespaces/n/pods?limit=500&x=/y",
                                       &arena, &root, &err),
                     0);
    ck_assert_uint_eq(vpa_json_count(vpa_json_find(root, "items")), 0);
    ck_assert_int_eq(refusals, 1);
    cli_dry_release(&dry);
}

int main(void)
{
    return run_tests("cli world", setup, stop_cli);
}
