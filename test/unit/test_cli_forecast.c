/* What a forecast says of an installation wherever its daemons run. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "decisions.h"
#include "forecast.h"
#include "suite.h"
#include "vpa/base/str.h"

static struct cli cli;
static const char *deployments; /* items of the lists */
static const char *panic;       /* the namespace where the button is pressed; NULL: none */
static const char *lease_at;    /* the namespace of the only Lease */

#define RUNS(NS, NAME, IMAGE, ARGS)                                                                \
    "{\"metadata\":{\"namespace\":\"" NS "\",\"name\":\"" NAME "\"},\"spec\":{\"template\":{"      \
    "\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"" IMAGE "\",\"args\":[" ARGS "]}]}}}}"
#define LEASE "{\"kind\":\"Lease\",\"spec\":{\"renewTime\":\"2026-03-01T11:59:50.000000Z\"}}"

static bool is_in(const struct vpa_memory_request *q, const char *ns, const char *resource)
{
    vpa_auto_free char *part = vpa_xprintf("/namespaces/%s/%s", ns ? ns : "", resource);

    return strstr(q->path, part) != NULL;
}

static const char *answer_to(const struct vpa_memory_request *q)
{
    if (strstr(q->path, "/configmaps/vpa-panic"))
        return is_in(q, panic, "configmaps") ? "{}" : NULL;
    if (strstr(q->path, "/leases/"))
        return is_in(q, lease_at, "leases") ? LEASE : NULL;
    if (strstr(q->path, "/deployments/"))
        return NULL;
    return "{\"items\":[]}";
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *answer = answer_to(q);

    (void)ctx;
    if (vpa_str_starts_with(q->path, "/apis/apps/v1/deployments")) {
        vpa_auto_free char *list = vpa_xprintf("{\"items\":[%s]}", deployments);

        vpa_memory_reply_json(r, 200, list);
    } else if (answer) {
        vpa_memory_reply_json(r, 200, answer);
    } else {
        vpa_memory_reply_status(r, 404, NULL,
                                is_in(q, "vpa", "deployments/x-updater")
                                    ? "there is no vpa/x-updater"
                                    : "there is none");
    }
}

static void setup(void)
{
    cli_init(&cli);
    cli.command = cli_command_find("why");
    start_client(serve, 1772366400, 3); /* 2026-03-01T12:00:00Z */
    cli.loop = loop;
    cli.client = client;
    cli.transport = transport;
    deployments = RUNS("vpa", "x-updater", "r/vpa-updater:1", "");
    panic = NULL;
    lease_at = "vpa";
    setenv("NAMESPACE", "of-the-user", 1);
}

static void teardown(void)
{
    unsetenv("NAMESPACE");
    stop_client();
    cli.client = NULL;
    cli.transport = NULL;
    cli_release(&cli);
}

static const struct {
    const char *deployments, *panic, *lease_at;
    const char *standstill; /* a part of it; NULL: there is none */
} installations[] = {
    {RUNS("vpa", "x-updater", "r/vpa-updater:1", ""), NULL, "vpa", NULL},
    {RUNS("vpa", "x-updater", "r/vpa-updater:1", ""), "of-the-user", "vpa", NULL},
    {RUNS("vpa", "x-updater", "r/vpa-updater:1", ""), "vpa", "vpa", "ConfigMap vpa/vpa-panic"},
    {RUNS("vpa", "x-updater", "r/vpa-updater:1", ""), NULL, "kube-system", "Lease of the webhook"},
    {RUNS("vpa", "x-updater", "r/vpa-updater:1",
          "\"--admission-controller-status-lease-namespace=ns\""),
     NULL, "ns", NULL},
    {"", NULL, "kube-system", NULL},
    {"", "kube-system", "kube-system", "ConfigMap kube-system/vpa-panic"},
};

START_TEST(what_stops_the_updater_is_looked_for_where_it_runs)
{
    struct cli_forecast *forecast;
    struct vpa_error err;
    const char *standstill, *wanted = installations[_i].standstill;

    deployments = installations[_i].deployments;
    panic = installations[_i].panic;
    lease_at = installations[_i].lease_at;
    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    standstill = cli_forecast_standstill(forecast);
    ck_assert_msg((standstill != NULL) == (wanted != NULL), "%s", standstill);
    if (wanted)
        ck_assert_msg(strstr(standstill, wanted) != NULL, "%s", standstill);
    cli_forecast_free(forecast);
}
END_TEST

START_TEST(the_ledger_is_that_of_the_updater_wherever_it_runs)
{
    struct cli_forecast *forecast;
    struct cli_decisions found;
    struct vpa_error err;

    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    cli_decisions_about(
        &cli,
        &(struct cli_decisions_query){
            .ns = "shop", .vpa = "", .updater = *cli_forecast_updater(forecast), .lease = ""},
        &found);
    ck_assert_str_eq(found.missing, "there is no vpa/x-updater");
    cli_forecast_free(forecast);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cli forecast");
    TCase *tc = tcase_create("cli forecast");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, what_stops_the_updater_is_looked_for_where_it_runs, 0,
                        (int)VPA_COUNT(installations));
    tcase_add_test(tc, the_ledger_is_that_of_the_updater_wherever_it_runs);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
