/* Where the command learns how the daemons are set up. */
#include <check.h>
#include <string.h>

#include "cli_fixture.h"
#include "daemon_config.h"
#include "suite.h"

static const char *named, *kube_system, *anywhere; /* answers; NULL: 404, and 403 for a list */
static size_t requests;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    bool get = strstr(q->path, "/deployments/vpa-") != NULL;
    const char *answer = get                                           ? named
                         : strstr(q->path, "/namespaces/kube-system/") ? kube_system
                                                                       : anywhere;

    (void)ctx;
    requests++;
    if (answer)
        vpa_memory_reply_json(r, 200, answer);
    else
        vpa_memory_reply_status(r, get ? 404 : 403, NULL, "no");
}

static void setup(void)
{
    start_cli(serve, "why");
}

#define RUNS(NAME, IMAGE, REPLICAS)                                                                \
    "{\"metadata\":{\"name\":\"" NAME "\",\"namespace\":\"s\"},\"spec\":{\"template\":{\"spec\":{" \
    "\"containers\":[{\"name\":\"d\",\"image\":\"" IMAGE "\",\"args\":[\"--min-replicas=" REPLICAS \
    "\"]}]}}}}"
#define NONE "{\"items\":[]}"

static const struct {
    const char *named, *kube_system, *anywhere;
    int min_replicas;
    size_t notes;
    const char *name; /* of the Deployment */
} installations[] = {
    {RUNS("vpa-updater", "r/vpa-updater:1", "7"), LIST(RUNS("a", "r/vpa-updater:1", "8")), NONE, 7,
     0, "vpa-updater"},
    {NULL, LIST(RUNS("a", "r/vpa-recommender:1", "6") "," RUNS("x", "r/vpa-updater:1", "8")),
     LIST(RUNS("b", "r/vpa-updater:1", "9")), 8, 0, "x"},
    {NULL, NONE, LIST(RUNS("b", "r/vpa-updater@sha256:0", "9") "," RUNS("c", "vpa-updater", "3")),
     9, 0, "b"},
    {NULL, NONE, LIST(RUNS("s", "vpa-updater", "9\",\"--shadow") "," RUNS("b", "vpa-updater", "3")),
     3, 0, "b"},
    {RUNS("vpa-updater", "r/vpa-updater:1", "7\",\"--shadow"),
     LIST(RUNS("a", "r/vpa-updater:1", "8")), NONE, 8, 0, "a"},
    {RUNS("vpa-updater", "r/vpa-updater:1", "7\",\"--shadow"), NONE, NONE, 2, 1, "vpa-updater"},
    {RUNS("vpa-updater", "r/mine:1", "7"), NONE, NONE, 2, 1, "vpa-updater"},
    {NULL, NONE, NONE, 2, 1, "vpa-updater"},
    {NULL, NULL, NULL, 2, 3, "vpa-updater"},
};

TEST_EACH(flags_are_those_of_the_daemon_wherever_it_runs, installations) {
    struct cli_config config;
    struct cli_installed at;

    named = installations[_i].named;
    kube_system = installations[_i].kube_system;
    anywhere = installations[_i].anywhere;
    cli_config_read(&cli, CLI_UPDATER, &config, &at);
    ck_assert_int_eq(config.updater.min_replicas, installations[_i].min_replicas);
    ck_assert_str_eq(at.name, installations[_i].name);
    ck_assert_str_eq(at.ns, strlen(at.name) == 1 ? "s" : "kube-system");
    ck_assert_uint_eq(cli.note_count, installations[_i].notes);
}

/* Who gives the flags has not said where the updater runs. */
TEST_TIMES(given_flags_do_not_hide_where_it_runs, 3) {
    char flags[] = "--updater-flags=--min-replicas=4", pod[] = "p";
    char *const argv[] = {flags, pod};
    struct cli_config config;
    struct cli_installed at;
    struct vpa_error err;
    bool help;

    named = _i == 2 ? RUNS("vpa-updater", "r/vpa-updater:1", "7\",\"--of-another-release") : NULL;
    kube_system = NONE;
    anywhere = _i ? NONE : LIST(RUNS("b", "r/vpa-updater:1", "9"));
    ck_assert_int_eq(cli_parse(&cli, (int)VPA_COUNT(argv), argv, &help, &err), 0);
    cli_config_read(&cli, CLI_UPDATER, &config, &at);
    ck_assert_int_eq(config.updater.min_replicas, 4);
    ck_assert_str_eq(at.ns, _i ? "kube-system" : "s");
    ck_assert_uint_eq(cli.note_count, 0);
}

/* Who gives the flags and does not ask where the daemon runs needs no right to look for it. */
TEST(given_flags_need_no_deployment_where_its_place_is_not_asked) {
    char flags[] = "--recommender-flags=--recommendation-margin-fraction=0.2", vpa[] = "v";
    char *const argv[] = {flags, vpa};
    struct cli_config config;
    struct vpa_error err;
    bool help;

    cli.command = cli_command_find("show");
    named = kube_system = anywhere = NULL;
    requests = 0;
    ck_assert_int_eq(cli_parse(&cli, (int)VPA_COUNT(argv), argv, &help, &err), 0);
    cli_config_read(&cli, CLI_RECOMMENDER, &config, NULL);
    ck_assert_double_eq(config.recommender.estimator.margin, 0.2);
    ck_assert_uint_eq(requests, 0);
    ck_assert_uint_eq(cli.note_count, 0);
}

#define WEBHOOK(ARGS)                                                                              \
    "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"admission-controller\","       \
    "\"image\":\"r/mine:1\",\"args\":[" ARGS "]}]}}}}"

/* By the name of its container, in the manifests' own Deployment; a shadow's do not count. */
TEST_TIMES(a_webhook_of_another_image_has_its_flags, 2) {
    struct cli_config config;
    struct cli_installed at;

    kube_system = anywhere = NONE;
    named = _i ? WEBHOOK("\"--port=8001\",\"--shadow\"") : WEBHOOK("\"--port=8001\"");
    cli_config_read(&cli, CLI_ADMISSION_CONTROLLER, &config, &at);
    ck_assert_int_eq(config.admission.port, _i ? 8000 : 8001);
    ck_assert_uint_eq(cli.note_count, (size_t)_i);
}

int main(void)
{
    return run_tests("cli daemon config", setup, stop_cli);
}
