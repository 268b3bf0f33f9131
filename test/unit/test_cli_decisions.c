/* The updater's ledger as `why` reads it: pages, what is no ledger, addresses, and the child that
 * forwards a port. */
#include "http_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "decisions.h"
#include "port_forward.h"
#include "vpa/base/file.h"

#define PAGE(next, more, entries)                                                                  \
    "{\"decisions\":[" entries "],\"next\":" next ",\"more\":" more "}"
#define ENTRY(seq, why)                                                                            \
    "{\"seq\":" seq ",\"time\":\"2026-03-02T06:03:41.000000Z\",\"namespace\":\"shop\",\"vpa\":"    \
    "\"web\",\"pod\":\"web-" seq "\",\"decision\":\"evict\",\"rule\":\"accepted\",\"why\":\"" why  \
    "\",\"inputs\":{\"now\":\"1\"}}"

static struct cli cli;
static struct cli_decisions found;
static const char *const pods[] = {"web-1", "other-2"};
static const struct cli_decisions_query of_web = {
    .ns = "shop", .vpa = "web", .pods = pods, .pod_count = VPA_COUNT(pods), .lease = ""};

static void set_up(void)
{
    setup();
    cli_init(&cli);
    cli.command = cli_command_find("why");
    cli.loop = loop;
    found = (struct cli_decisions){0};
}

static void tear_down(void)
{
    cli_release(&cli);
    teardown();
}

static int take(const char *page, int64_t *next, bool *more)
{
    return cli_decisions_take(&cli.arena, page, strlen(page), &of_web, &found, next, more, &err);
}

TEST(test_keeps_the_newest) {
    int64_t next = 0;
    bool more = true;

    ck_assert_int_eq(take(PAGE("7", "true", ENTRY("6", "a") "," ENTRY("7", "b")), &next, &more), 0);
    ck_assert(more && next == 7 && found.count == 2);
    ck_assert_str_eq(found.items[0].why, "b");
    ck_assert_str_eq(found.items[1].pod, "web-6");
    ck_assert_str_eq(found.items[0].rule, "accepted");
    ck_assert(found.items[0].at == vpa_time_from_unix(1772431421, 0));
    for (int i = 0; i < CLI_DECISIONS_MAX; i++)
        ck_assert_int_eq(take(PAGE("8", "false", ENTRY("8", "c")), &next, &more), 0);
    ck_assert_uint_eq(found.count, CLI_DECISIONS_MAX);
    ck_assert_uint_eq(found.left_out, 2);
    ck_assert_int_eq(found.items[CLI_DECISIONS_MAX - 1].seq, 8);
}

static const char *const not_pages[] = {
    "",
    "<html>",
    "[]",
    "{}",
    "{\"decisions\":{},\"next\":1,\"more\":false}",
    "{\"decisions\":[],\"more\":false}",
    "{\"decisions\":[],\"next\":1}",
    "{\"decisions\":[7],\"next\":1,\"more\":false}",
    "{\"decisions\":[{\"why\":\"x\"}],\"next\":1,\"more\":false}",
};

TEST_EACH(test_no_page, not_pages) {
    int64_t next = 0;
    bool more;

    ck_assert_int_eq(take(not_pages[_i], &next, &more), -1);
    ck_assert(*err.text);
}

TEST(test_odd_members_do_no_harm) {
    int64_t next = 0;
    bool more;

    ck_assert_int_eq(take("{\"decisions\":[{\"seq\":1,\"time\":\"soon\",\"why\":{},\"pod\":\"web-"
                          "1\",\"vpa\":7},{\"seq\":2,\"vpa\":\"other\"},{\"seq\":3,\"pod\":\"other-"
                          "2\"}],\"next\":1,"
                          "\"more\":false}",
                          &next, &more),
                     0);
    ck_assert_str_eq(found.items[0].pod, "other-2");
    ck_assert(vpa_time_is_unset(found.items[1].at));
    ck_assert_str_eq(found.items[1].why, "");
    ck_assert_str_eq(found.items[1].vpa, "");
    ck_assert_uint_eq(found.count, 2);
}

static const struct {
    const char *url;
    const char *origin; /* NULL: refused */
} urls[] = {
    {"http://127.0.0.1:8943", "http://127.0.0.1:8943"},
    {"http://127.0.0.1:8943/decisions?x=y", "http://127.0.0.1:8943"},
    {"http://localhost", "http://localhost"},
    {"http://[::1]:1", "http://[::1]:1"},
    {"https://127.0.0.1:8943", NULL},
    {"http://127.0.0.1.evil.example", NULL},
    {"http://127.0.0.1:80@evil.example", NULL},
    {"http://localhost@evil.example/", NULL},
    {"http://10.0.0.1:8943", NULL},
    {"127.0.0.1:8943", NULL},
    {"", NULL},
};

TEST_EACH(test_only_loopback, urls) {
    const char *origin = NULL;
    int status = cli_decisions_origin(&cli.arena, urls[_i].url, &origin, &err);

    ck_assert_int_eq(status, urls[_i].origin ? 0 : -1);
    if (urls[_i].origin)
        ck_assert_str_eq(origin, urls[_i].origin);
}

/* ---- over HTTP ---- */

static struct {
    int status;
    bool endless;
    int asked;
} ledger;

static void serve_ledger(void *ctx, const struct vpa_server_request *q,
                         struct vpa_server_response *r)
{
    (void)ctx;
    ledger.asked++;
    if (ledger.status) {
        vpa_server_reply_text(r, ledger.status, "no\n");
        return;
    }
    ck_assert_str_eq(q->path, "/decisions");
    if (ledger.endless || strcmp(q->query, "namespace=a%26b") == 0)
        vpa_server_reply_text(r, 200, PAGE("3", "true", ENTRY("3", "first")));
    else if (strcmp(q->query, "namespace=a%26b&since=3") == 0)
        vpa_server_reply_text(r, 200, PAGE("5", "false", ENTRY("5", "second")));
    else
        vpa_server_reply_text(r, 500, "an unexpected question\n");
}

static int read_ledger(void)
{
    struct vpa_http_server *server =
        vpa_http_server_new(loop,
                            &(struct vpa_http_server_options){
                                .address = "127.0.0.1:0", .handler = serve_ledger, .body_max = 1},
                            &err);
    char origin[64];
    int status;

    ck_assert_ptr_nonnull(server);
    snprintf(origin, sizeof(origin), "http://127.0.0.1:%d", vpa_http_server_port(server));
    ledger.asked = 0;
    status = cli_decisions_read(
        &cli, origin, &(struct cli_decisions_query){.ns = "a&b", .vpa = "web", .lease = ""}, &found,
        &err);
    vpa_http_server_free(server);
    return status;
}

TEST(test_reads_page_by_page) {
    setenv("http_proxy", "http://127.0.0.1:1", 1); /* loopback is nothing for a proxy */
    ledger.status = 0;
    ledger.endless = false;
    ck_assert_msg(read_ledger() == 0, "%s", err.text);
    unsetenv("http_proxy");
    ck_assert_uint_eq(found.count, 2);
    ck_assert_str_eq(found.items[0].why, "second");
    ck_assert_int_eq(ledger.asked, 2);
}

TEST(test_pages_that_lead_nowhere) {
    ledger.status = 0;
    ledger.endless = true;
    ck_assert_int_eq(read_ledger(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "lead nowhere"));
    ck_assert_int_eq(ledger.asked, 2);
}

TEST(test_refusals) {
    ledger.status = 401;
    ck_assert_int_eq(read_ledger(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--decisions-local=false"));
    ledger.status = 404;
    ck_assert_int_eq(read_ledger(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no /decisions"));
}

TEST(test_nobody_there) {
    const struct cli_decisions_query query = {.ns = "shop", .vpa = "", .lease = ""};

    ck_assert_int_eq(cli_decisions_read(&cli, "http://127.0.0.1:1", &query, &found, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "http://127.0.0.1:1"));
}

/* ---- the child ---- */

TEST(test_port_of_a_line) {
    ck_assert_int_eq(cli_forward_port_of("Forwarding from 127.0.0.1:40001 -> 8943\n"), 40001);
    ck_assert_int_eq(cli_forward_port_of("Forwarding from [::1]:40001 -> 8943"), 0);
    ck_assert_int_eq(cli_forward_port_of("Forwarding from 127.0.0.1:70000 -> 8943"), 0);
    ck_assert_int_eq(cli_forward_port_of("Forwarding from 127.0.0.1: -> 8943"), 0);
    ck_assert_int_eq(cli_forward_port_of("error: x"), 0);
}

/* Made and removed by the process that forks the tests: it goes whatever becomes of them. */
static char folder[] = "/tmp/plumb-forward-XXXXXX";

static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
}

static void remove_folder(void)
{
    static const char *const names[] = {"kubectl", "pid", "words"};
    char path[128];

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    if (rmdir(folder) < 0)
        abort();
}

/* A kubectl of the test's own, alone on PATH, that writes its number and its words to files. */
static struct cli_forward *with_kubectl(const char *script)
{
    char path[128], *before = vpa_xstrdup(getenv("PATH"));
    struct cli_forward *forward;
    FILE *file;

    snprintf(path, sizeof(path), "%s/kubectl", folder);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\necho $$ > %s/pid\necho \"$@\" > %s/words\n%s\n", folder, folder,
            script);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
    setenv("PATH", folder, 1);
    forward = cli_forward_open(&cli, "kube-system", "deploy/x", 8943, &err);
    setenv("PATH", before, 1);
    free(before);
    return forward;
}

static char *content(const char *name)
{
    char path[128], *text;
    size_t len;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    ck_assert_int_eq(vpa_read_file(path, 4096, &text, &len, &err), 0);
    return text;
}

static bool child_lives(void)
{
    vpa_auto_free char *text = content("pid");

    return kill((pid_t)atoi(text), 0) == 0;
}

TEST(test_child_is_ended) {
    struct cli_forward *forward =
        with_kubectl("echo warning >&2\necho 'Forwarding from 127.0.0.1:40001 -> 8943'\n"
                     "trap '' TERM\nexec /bin/sleep 30");
    vpa_auto_free char *words = NULL;

    ck_assert_msg(forward != NULL, "%s", err.text);
    ck_assert_int_eq(cli_forward_port(forward), 40001);
    ck_assert(child_lives());
    words = content("words");
    ck_assert_str_eq(words, "port-forward --namespace=kube-system --address=127.0.0.1 -- deploy/x "
                            ":8943\n");
    cli_forward_close(forward); /* it does not listen to SIGTERM */
    ck_assert(!child_lives());
}

static const struct {
    const char *context; /* NULL: in a pod */
    const char *words;
} clusters[] = {
    {"prod", "port-forward --context=prod --namespace"},
    {NULL, "port-forward --kubeconfig=/dev/null --namespace"},
};

/* Where this command is: the current context may be another one by now. */
TEST_EACH(test_child_has_the_same_cluster, clusters) {
    vpa_auto_free char *words = NULL;
    vpa_auto_free char *config =
        vpa_xprintf("current-context: %s\ncontexts: [{name: prod, context: {cluster: k}}]\n"
                    "clusters: [{name: k, cluster: {server: 'http://h'}}]\n",
                    vpa_or_empty(clusters[_i].context));

    cli.config = clusters[_i].context ? vpa_kube_config_parse(config, strlen(config), folder, &err)
                                      : vpa_kube_config_plain("https://h");
    ck_assert_ptr_nonnull(cli.config);
    ck_assert_ptr_null(with_kubectl("exit 1"));
    vpa_kube_config_free(VPA_STEAL(cli.config));
    words = content("words");
    ck_assert_msg(vpa_str_starts_with(words, clusters[_i].words), "%s", words);
}

TEST(test_child_that_gives_up) {
    ck_assert_ptr_null(
        with_kubectl("echo 'warning: x'\necho 'error: pods is forbidden' >&2\nexit 1"));
    ck_assert_ptr_nonnull(strstr(err.text, "error: pods is forbidden"));
    ck_assert(!child_lives());
}

TEST(test_no_kubectl) {
    char *before = vpa_xstrdup(getenv("PATH"));

    setenv("PATH", "/nonexistent:relative:", 1);
    ck_assert_ptr_null(cli_forward_open(&cli, "a", "b", 1, &err));
    setenv("PATH", before, 1);
    free(before);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
}

int main(void)
{
    static const struct suite_options options = {
        .setup = set_up, .teardown = tear_down, .begin = make_folder, .end = remove_folder};

    return run_tests_with("cli_decisions", &options);
}
