/* What the command create says when there is nothing to create. */
#include <check.h>
#include <string.h>

#include "client_fixture.h"
#include "cli.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"

static struct cli cli;
static const char *deployments; /* items of the list */
static const char *forbidden;   /* part of the path of what may not be listed; NULL: all may */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (vpa_memory_query(q, "watch"))
        (void)vpa_memory_reply_stream(r, 200, NULL, NULL);
    else if (forbidden && vpa_memory_query(q, "limit") && strstr(q->path, forbidden))
        vpa_memory_reply_status(r, 403, NULL, "no");
    else if (strstr(q->path, "/deployments") && vpa_memory_query(q, "limit")) {
        vpa_auto_free char *list =
            vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}", deployments);

        vpa_memory_reply_json(r, 200, list);
    } else
        vpa_memory_reply_json(r, 200, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
}

static void setup(void)
{
    struct vpa_error err;

    start_client(serve, 1772366400, 3);
    cli_init(&cli);
    cli.command = cli_command_find("create");
    ck_assert_int_eq(cli_use_transport(&cli, clk, loop, transport, &err), 0);
    forbidden = NULL;
    deployments = "";
}

static void teardown(void)
{
    vpa_kube_client_free(cli.client);
    cli.client = NULL;
    cli.transport = NULL;
    cli_release(&cli);
    stop_client();
}

static bool noted(const char *text)
{
    for (size_t i = 0; i < cli.note_count; i++)
        if (strstr(cli.notes[i], text))
            return true;
    return false;
}

/* Workloads that may not be listed may well have none, and whoever calls from a script does not
 * read notes. */
static const char *const secrets[] = {NULL, "deployments", "pods"};
START_TEST(it_is_not_said_that_all_have_one_when_some_cannot_be_listed)
{
    vpa_auto_free char *note = vpa_xprintf("not allowed to list %s", vpa_or_empty(secrets[_i]));

    forbidden = secrets[_i];
    ck_assert_int_eq(cli.command->run(&cli), forbidden ? CLI_FAILED : CLI_OK);
    ck_assert(noted("every workload has a VPA already") == !forbidden);
    ck_assert(noted(note) == (forbidden != NULL));
}
END_TEST

#define DEPLOYMENT(NAME)                                                                           \
    "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" NAME "\"},\"spec\":{\"template\":{"     \
    "\"metadata\":{\"labels\":{\"app\":\"" NAME "\"}}}}}"

/* One document, which any reader of JSON takes. */
static const char *const workloads[] = {DEPLOYMENT("a") "," DEPLOYMENT("b"), DEPLOYMENT("a"), ""};
START_TEST(json_is_one_list)
{
    const struct vpa_json *root;
    struct vpa_error err;

    deployments = workloads[_i];
    cli.format = CLI_JSON;
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert_msg(vpa_json_parse(&cli.arena, cli.out.data, cli.out.len, &root, &err) == 0, "%s",
                  err.text);
    ck_assert_str_eq(vpa_json_text(root, "kind"), "List");
    ck_assert_uint_eq(vpa_json_count(vpa_json_find(root, "items")), 2 - (size_t)_i);
}
END_TEST

static const struct {
    const char *algorithm, *recommender;
    int status;
    const char *name; /* in spec.recommenders; NULL: there is none */
} names[] = {
    {NULL, NULL, CLI_OK, NULL},
    {"vpa", NULL, CLI_OK, NULL},
    {"crane", NULL, CLI_OK, "crane"},
    {"cranes", NULL, CLI_USAGE, NULL},
    {"", NULL, CLI_USAGE, NULL},
    {NULL, "cranes", CLI_OK, "cranes"},
    {"crane", "blue", CLI_OK, "blue/crane"},
    {"vpa", "blue", CLI_OK, "blue"},
    {"crane", "default", CLI_OK, "crane"},
    {"cranes", "blue", CLI_USAGE, NULL},
    {NULL, "", CLI_USAGE, NULL},
};

/* A VPA that names nobody who runs gets no recommendation, and nothing says so. */
START_TEST(a_misspelt_algorithm_is_refused)
{
    static const char *const options[] = {"--algorithm", "--recommender"};
    const char *const values[] = {names[_i].algorithm, names[_i].recommender};
    char *argv[4];
    int argc = 0;
    bool help;
    const struct vpa_json *root;
    struct vpa_error err;

    for (size_t i = 0; i < 2; i++) {
        if (!values[i])
            continue;
        argv[argc++] = vpa_arena_strdup(&cli.arena, options[i]);
        argv[argc++] = vpa_arena_strdup(&cli.arena, values[i]);
    }
    ck_assert_int_eq(cli_parse(&cli, argc, argv, &help, &err), 0);
    deployments = DEPLOYMENT("a");
    cli.format = CLI_JSON;
    ck_assert_int_eq(cli.command->run(&cli), names[_i].status);
    if (names[_i].status != CLI_OK)
        return;
    ck_assert_int_eq(vpa_json_parse(&cli.arena, cli.out.data, cli.out.len, &root, &err), 0);
    vpa_json_foreach (item, vpa_json_find(root, "items")) {
        const struct vpa_json *asked = vpa_json_at(item, "spec.recommenders");

        ck_assert_uint_eq(vpa_json_count(asked), names[_i].name ? 1U : 0U);
        vpa_json_foreach (one, asked)
            ck_assert_str_eq(vpa_json_text(one, "name"), names[_i].name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli create");
    TCase *tc = tcase_create("cli create");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, it_is_not_said_that_all_have_one_when_some_cannot_be_listed, 0,
                        (int)VPA_COUNT(secrets));
    tcase_add_loop_test(tc, json_is_one_list, 0, (int)VPA_COUNT(workloads));
    tcase_add_loop_test(tc, a_misspelt_algorithm_is_refused, 0, (int)VPA_COUNT(names));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
