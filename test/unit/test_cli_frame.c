/* Words of the command line, help, completion, and lists against a server in memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lists.h"
#include "suite.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"

static struct cli cli;
static struct vpa_error err;
static bool help;

static int run_nothing(struct cli *c)
{
    (void)c;
    return CLI_OK;
}

static const struct cli_option options[] = {{"apply", 0, NULL, "x"}, {"format", 'f', "FORM", "x"}};
static const struct cli_command command = {.name = "try",
                                           .summary = "Try",
                                           .arguments = "[POD]",
                                           .max_args = 1,
                                           .example = "  kubectl vpa try",
                                           .options = options,
                                           .option_count = 2,
                                           .run = run_nothing};

static void setup(void)
{
    cli_init(&cli);
    cli.command = &command;
    help = false;
}

static void teardown(void)
{
    cli_release(&cli);
}

/* Words separated by blanks. */
static int parse(char *words)
{
    char *items[16];
    int count = 0;
    char *rest = words, *word;

    while ((word = strsep(&rest, " ")) != NULL)
        if (*word)
            items[count++] = word;
    return cli_parse(&cli, count, items, &help, &err);
}

static const struct {
    const char *words;
    const char *ns, *form, *arg;
    bool apply, all;
    enum cli_format format;
} good[] = {
    {"web-0 -n shop", "shop", NULL, "web-0", false, false, CLI_TABLE},
    {"-nshop --apply -f x web-0", "shop", "x", "web-0", true, false, CLI_TABLE},
    {"--namespace=shop -o=json --format=a=b", "shop", "a=b", NULL, false, false, CLI_JSON},
    {"-A --output wide -- --apply", NULL, NULL, "--apply", false, true, CLI_WIDE},
    {"-oyaml --format -n", NULL, "-n", NULL, false, false, CLI_YAML},
};

TEST_EACH(test_good_words, good) {
    vpa_auto_free char *words = vpa_xstrdup(good[_i].words);

    ck_assert_int_eq(parse(words), 0);
    ck_assert(vpa_str_eq(cli_option(&cli, "namespace"), good[_i].ns));
    ck_assert(vpa_str_eq(cli_option(&cli, "format"), good[_i].form));
    ck_assert(vpa_str_eq(cli.arg_count ? cli.args[0] : NULL, good[_i].arg));
    ck_assert_int_eq(cli_option(&cli, "apply") != NULL, good[_i].apply);
    ck_assert_int_eq(cli.all_namespaces, good[_i].all);
    ck_assert_int_eq(cli.format, good[_i].format);
}

static const struct {
    const char *words, *text;
} bad[] = {
    {"--nonsense", "unknown option --nonsense"},
    {"-x", "unknown option -x"},
    {"--apply=maybe", "option --apply takes no value"},
    {"--format", "option --format needs a value: FORM"},
    {"-o xml", "--output xml is not one of table, wide, json, yaml, csv"},
    {"a b", "\"try\" takes no further word: b"},
    {"-A -n x", "--namespace and --all-namespaces exclude each other"},
};

TEST_EACH(test_bad_words, bad) {
    vpa_auto_free char *words = vpa_xstrdup(bad[_i].words);

    ck_assert_int_eq(parse(words), -1);
    ck_assert_msg(vpa_str_starts_with(err.text, bad[_i].text), "%s", err.text);
}

TEST(test_every_command_has_help_and_an_example) {
    for (size_t i = 0; cli_commands[i]; i++) {
        vpa_auto_buf text = VPA_BUF(1 << 20);

        cli_help(cli_commands[i], &text);
        ck_assert_ptr_nonnull(strstr(vpa_buf_text(&text), "\nExample:\n  # "));
        ck_assert_ptr_nonnull(strstr(vpa_buf_text(&text), "kubectl vpa "));
        ck_assert_ptr_eq(cli_command_find(cli_commands[i]->name), cli_commands[i]);
        ck_assert_uint_le(cli_commands[i]->option_count + 7, CLI_OPTIONS_MAX);
    }
    ck_assert_ptr_null(cli_command_find("nonsense"));
}

static const char *const misuses[] = {
    "top -o json",
    "top --sort x",
    "top --by x",
    "show web -o csv",
    "show web -A",
    "diff deploy/web -o csv",
    "diff deploy/web -A",
    "diff pod/x",
    "diff deploy/web --format=xx",
    "why web -A",
    "dash --port abc",
    "dash --port 70000",
    "dash -o json",
    "create -o csv",
    "doctor -o csv",
    "completion bash -o csv",
    "create --mode x",
};

/* Before the cluster is asked for anything: there is none here. */
TEST_EACH(test_wrong_usage_is_told_at_once, misuses) {
    vpa_auto_free char *words = vpa_xprintf("kubectl-vpa %s --kubeconfig=/nowhere", misuses[_i]);
    char *items[16], *rest = words;
    int count = 0;

    while (count < 16 && (items[count] = strsep(&rest, " ")) != NULL)
        count++;
    ck_assert_int_eq(cli_main(count, items), CLI_USAGE);
}

/* ---- lists ---- */

static struct {
    int pages, gone_at, refused;
    int asked;
    struct vpa_clock *clock;
    struct vpa_loop *loop;
    char names[256];
} server;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *token = vpa_memory_query(q, "continue");
    int page = token ? atoi(token) : 0;

    (void)ctx;
    server.asked++;
    ck_assert_str_eq(vpa_memory_query(q, "limit"), "500");
    if (server.refused) {
        vpa_memory_reply_status(r, 403, "Forbidden", "no \033[2Jlists");
        return;
    }
    if (page > 0 && page == server.gone_at) {
        server.gone_at = 0;
        vpa_memory_reply_status(r, 410, "Expired", "the continue token is too old");
        return;
    }
    vpa_auto_free char *body = vpa_xprintf(
        "{\"metadata\":{\"continue\":\"%s%.0d\"},\"items\":[{\"metadata\":{\"name\":\"p%d\"}}]}",
        "", page + 1 < server.pages ? page + 1 : 0, page);
    vpa_memory_reply_json(r, 200, body);
}

static int on_object(void *ctx, const struct vpa_json *object, struct vpa_error *why)
{
    const char *name = vpa_json_string(vpa_json_at(object, "metadata.name"));

    (void)ctx;
    strncat(server.names, name, 8);
    strncat(server.names, " ", 2);
    return strcmp(name, "p1") == 0 ? vpa_fail(why, VPA_INVALID, "spec: bad") : 0;
}

static int list(void)
{
    server.clock = vpa_clock_new_manual(vpa_time_from_unix(0, 0));
    server.loop = vpa_loop_new(server.clock);
    ck_assert_int_eq(cli_use_transport(&cli, server.clock, server.loop,
                                       vpa_memory_transport_new(server.loop, serve, NULL), &err),
                     0);
    return cli_list(&cli, &cli_deployments, cli.ns, on_object, NULL, &err);
}

static void end_list(void)
{
    cli_release(&cli);
    cli_init(&cli);
    vpa_loop_free(server.loop);
    vpa_clock_free(server.clock);
}

TEST_CASE(lists, setup, teardown);

TEST(test_list_reads_pages_and_passes_over_what_is_unusable) {
    server.pages = 3;
    ck_assert_int_eq(list(), 0);
    ck_assert_str_eq(server.names, "p0 p1 p2 ");
    ck_assert_int_eq(server.asked, 3);
    ck_assert_uint_eq(cli.note_count, 1);
    ck_assert_str_eq(cli.notes[0], "deployments /p1 is passed over: spec: bad");
    ck_assert_str_eq(cli.ns, "default");
    end_list();
}

/* What strangers have written is no reason to keep silent about a list that failed. */
TEST(test_failed_lists_are_told_after_any_number_of_notes) {
    const struct cli_kind pods = {"v1", "pods", "pods", NULL, NULL};

    for (int i = 0; i < CLI_NOTES_MAX + 3; i++)
        cli_note(&cli, "note %d", i);
    cli_note(&cli, "note 1");
    ck_assert_int_eq(cli_status_of_answer(&cli), CLI_OK);
    vpa_error_set(&err, VPA_DENIED, "no");
    cli_note_list(&cli, &cli_deployments, "", &err);
    ck_assert_int_eq(cli_status_of_answer(&cli), CLI_OK);
    vpa_error_set(&err, VPA_NOT_FOUND, "none");
    cli_note_list(&cli, &pods, "", &err);
    ck_assert_int_eq(cli_status_of_answer(&cli), CLI_OK);
    vpa_error_set(&err, VPA_DENIED, "no");
    cli_note_list(&cli, &pods, "shop", &err);
    ck_assert_int_eq(cli_status_of_answer(&cli), CLI_FAILED);
    ck_assert_str_eq(cli_note_at(&cli, CLI_NOTES_MAX + 2),
                     "not allowed to list pods in shop: the answer lacks pods (no)");
    ck_assert_str_eq(cli_note_at(&cli, CLI_NOTES_MAX + 3), "3 further notes");
    ck_assert_ptr_null(cli_note_at(&cli, CLI_NOTES_MAX + 4));
    cli_notes_clear(&cli);
    ck_assert_ptr_null(cli_note_at(&cli, 0));
    ck_assert_int_eq(cli_status_of_answer(&cli), CLI_OK);
}

TEST(test_list_begins_anew_and_gives_nothing_twice) {
    server.pages = 4;
    server.gone_at = 2;
    ck_assert_int_eq(list(), 0);
    ck_assert_str_eq(server.names, "p0 p1 p2 p3 ");
    ck_assert_int_eq(server.asked, 7);
    end_list();
}

TEST(test_forbidden_narrows_and_says_so) {
    server.refused = true;
    ck_assert_int_eq(list(), -1);
    ck_assert_int_eq(err.code, VPA_DENIED);
    cli_note_list(&cli, &cli_deployments, cli.ns, &err);
    cli_note_list(&cli, &cli_deployments, cli.ns, &err);
    ck_assert_uint_eq(cli.note_count, 1);
    ck_assert_msg(vpa_str_starts_with(cli.notes[0], "not allowed to list deployments in default: "
                                                    "the answer lacks the installed daemons"),
                  "%s", cli.notes[0]);
    end_list();
}

int main(void)
{
    return run_tests("cli_frame", setup, teardown);
}
