/* What a forecast and the preview of a new pod say wherever the daemons run. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli_fixture.h"
#include "decisions.h"
#include "forecast.h"
#include "preview.h"
#include "suite.h"
#include "vpa/base/str.h"

static const char *deployments; /* items of the lists */
static const char *panic;       /* the namespace where the button is pressed; NULL: none */
static const char *lease_at;    /* the namespace of the only Lease */
static const char *leader;      /* the Lease of the updater; NULL: there is none */
static const char *vpas, *pods; /* items of the lists */
static const char *ranges;      /* the list of LimitRanges; NULL: there are none */

#define RUNS(NS, NAME, IMAGE, ARGS)                                                                \
    "{\"metadata\":{\"namespace\":\"" NS "\",\"name\":\"" NAME "\"},\"spec\":{\"template\":{"      \
    "\"spec\":{\"containers\":[{\"name\":\"d\",\"image\":\"" IMAGE "\",\"args\":[" ARGS "]}]}}}}"
#define STATUS(...)                                                                                \
    "{\"metadata\":{\"namespace\":\"vpa\",\"name\":\"u\"},\"status\":{" __VA_ARGS__ "},\"spec\":{" \
    "\"template\":{\"spec\":{\"containers\":[{\"image\":\"r/vpa-updater:1\"}]}}}}"
#define LEASE "{\"kind\":\"Lease\",\"spec\":{\"renewTime\":\"2026-03-01T11:59:50.000000Z\"}}"

#define POD                                                                                        \
    "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"shop\",\"labels\":{\"app\":\"web\"}},"      \
    "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}"
#define VPA                                                                                        \
    "{\"metadata\":{\"name\":\"vpa\",\"namespace\":\"shop\"},\"spec\":{\"selector\":{"             \
    "\"matchLabels\":{\"app\":\"web\"}},\"updatePolicy\":{\"updateMode\":\"Recreate\"},"           \
    "\"startupBoost\":{\"cpu\":{\"type\":\"Factor\",\"factor\":3}}},\"status\":{"                  \
    "\"recommendation\":{"                                                                         \
    "\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":{\"cpu\":\"2\"}}]}}}"

#define OWNED(NS, NAME)                                                                            \
    "{\"metadata\":{\"name\":\"" NAME "\",\"namespace\":\"" NS "\",\"labels\":{\"app\":\"web\"},"  \
    "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web\","   \
    "\"controller\":true}]},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"app\","       \
    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\","           \
    "\"startTime\":\"2026-02-01T00:00:00Z\",\"containerStatuses\":[{\"name\":\"app\",\"state\":{"  \
    "\"running\":{\"startedAt\":\"2026-02-01T00:00:00Z\"}}}]}}"
#define REPLICA_SET                                                                                \
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{\"replicas\":2,"            \
    "\"selector\":{"                                                                               \
    "\"matchLabels\":{\"app\":\"web\"}}}}"
#define PAUSED(NS, NAME, STATUS)                                                                   \
    "{\"metadata\":{\"name\":\"" NAME "\",\"namespace\":\"" NS "\"},\"spec\":{\"selector\":{"      \
    "\"matchLabels\":{\"app\":\"x\"}}},\"status\":{\"conditions\":[{\"type\":\"EvictionsPaused\"," \
    "\"status\":\"" STATUS "\"}]}}"

static bool is_in(const struct vpa_memory_request *q, const char *ns, const char *resource)
{
    vpa_auto_free char *part = vpa_xprintf("/namespaces/%s/%s", ns ? ns : "", resource);

    return strstr(q->path, part) != NULL;
}

static const char *list_of(const char *items)
{
    return vpa_arena_printf(&cli.arena, "{\"items\":[%s]}", items);
}

static const char *answer_to(const struct vpa_memory_request *q)
{
    if (strstr(q->path, "/configmaps/vpa-panic"))
        return is_in(q, panic, "configmaps") ? "{}" : NULL;
    if (strstr(q->path, "/leases/vpa-updater"))
        return leader;
    if (strstr(q->path, "/leases/"))
        return is_in(q, lease_at, "leases") ? LEASE : NULL;
    if (strstr(q->path, "/deployments/"))
        return NULL;
    if (strstr(q->path, "/limitranges") && ranges)
        return ranges;
    if (strstr(q->path, "/verticalpodautoscalers"))
        return list_of(vpas);
    if (strstr(q->path, "/replicasets"))
        return list_of(REPLICA_SET);
    if (strstr(q->path, "/pods"))
        return list_of(pods);
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
    start_cli(serve, "why");
    cli.transport = transport;
    deployments = RUNS("vpa", "x-updater", "r/vpa-updater:1", "");
    panic = NULL;
    lease_at = "vpa";
    leader = ranges = NULL;
    vpas = VPA;
    pods = "";
    setenv("NAMESPACE", "of-the-user", 1);
}

static void teardown(void)
{
    unsetenv("NAMESPACE");
    stop_cli();
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

TEST_EACH(what_stops_the_updater_is_looked_for_where_it_runs, installations) {
    struct cli_forecast *forecast;
    struct vpa_error err;
    const char *standstill, *wanted = installations[_i].standstill;

    deployments = installations[_i].deployments;
    panic = installations[_i].panic;
    lease_at = installations[_i].lease_at;
    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    standstill = forecast->standstill;
    ck_assert_msg((standstill != NULL) == (wanted != NULL), "%s", standstill);
    if (wanted)
        ck_assert_msg(strstr(standstill, wanted) != NULL, "%s", standstill);
    cli_forecast_free(forecast);
}

#define LED RUNS("vpa", "u", "r/vpa-updater:1", "\"--leader-elect\"")
#define LEADER(HOLDER, RENEWED)                                                                    \
    "{\"spec\":{\"holderIdentity\":\"" HOLDER "\",\"leaseDurationSeconds\":15,\"renewTime\":"      \
    "\"2026-03-01T" RENEWED ".000000Z\"}}"

static const struct {
    const char *deployments, *leader;
    const char *standstill; /* a part of it; NULL: there is none */
    size_t notes;
} updaters[] = {
    {LED, LEADER("a", "11:59:50"), NULL, 0},
    {LED, LEADER("a", "11:58:00"),
     "no updater leads: the Lease kube-system/vpa-updater was renewed 120", 0},
    {LED, LEADER("", "11:59:59"), "nobody holds the Lease kube-system/vpa-updater", 0},
    {LED, NULL, "the Lease kube-system/vpa-updater does not exist", 0},
    {STATUS(""), NULL, "no pod of Deployment vpa/u is ready", 0},
    {STATUS("\"readyReplicas\":1"), NULL, NULL, 0},
    {"", NULL, NULL, 2}, /* its flags; whether it runs */
};

TEST_EACH(nothing_is_done_where_no_updater_is_at_work, updaters) {
    const char *wanted = updaters[_i].standstill;
    struct cli_forecast *forecast;
    struct vpa_error err;

    deployments = updaters[_i].deployments;
    leader = updaters[_i].leader;
    if (!*deployments)
        lease_at = "kube-system";
    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    ck_assert_msg((forecast->standstill != NULL) == (wanted != NULL), "%s", forecast->standstill);
    if (wanted)
        ck_assert_msg(strstr(forecast->standstill, wanted) != NULL, "%s", forecast->standstill);
    ck_assert_uint_eq(cli.note_count, updaters[_i].notes);
    cli_forecast_free(forecast);
}

static const struct {
    const char *ns, *vpas;
    const char *begins; /* why */
} pauses[] = {
    {"shop", VPA "," PAUSED("shop", "a", "True") "," PAUSED("shop", "b", "True"), "requests and"},
    {"shop",
     VPA "," PAUSED("shop", "a", "True") "," PAUSED("shop", "b", "True") "," PAUSED("shop", "c",
                                                                                    "True"),
     "perhaps: its namespace may be paused, where 3 VPAs"},
    {"shop",
     VPA "," PAUSED("shop", "a", "True") "," PAUSED("shop", "b", "True") "," PAUSED("shop", "c",
                                                                                    "False"),
     "requests and"},
    {"", VPA "," PAUSED("a", "a", "True") "," PAUSED("b", "b", "True") "," PAUSED("c", "c", "True"),
     "perhaps: the cluster may be paused, where VPAs of 3 namespaces"},
};

TEST_EACH(an_eviction_that_may_be_paused_is_doubted, pauses) {
    size_t evicted = 0;
    struct cli_forecast *forecast;
    struct vpa_error err;

    vpas = pauses[_i].vpas;
    pods = OWNED("shop", "web-1") "," OWNED("shop", "web-2");
    forecast = cli_forecast_new(&cli, pauses[_i].ns, &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    for (size_t i = 0; i < forecast->pod_count; i++) {
        const struct cli_verdict *v =
            cli_forecast_find(forecast, "shop", forecast->pods[i]->meta.name);

        ck_assert_ptr_nonnull(v);
        if (v->action != CLI_ACTION_EVICT)
            continue;
        evicted++;
        ck_assert_msg(vpa_str_starts_with(v->why, pauses[_i].begins), "%s", v->why);
    }
    ck_assert_uint_eq(evicted, 1);
    cli_forecast_free(forecast);
}

/* Of all namespaces those are left out that the updater leaves out. */
TEST_TIMES(an_updater_of_one_namespace_does_not_stand_still_for_all, 3) {
    static const struct {
        const char *ns;
        bool stands;
        size_t notes;
    } asked[] = {{"", false, 1}, {"shop", false, 0}, {"other", true, 0}};
    struct cli_forecast *forecast;
    struct vpa_error err;

    deployments = RUNS("vpa", "x-updater", "r/vpa-updater:1", "\"--vpa-object-namespace=shop\"");
    forecast = cli_forecast_new(&cli, asked[_i].ns, &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    ck_assert((forecast->standstill != NULL) == asked[_i].stands);
    ck_assert_uint_eq(cli.note_count, asked[_i].notes);
    cli_forecast_free(forecast);
}

TEST(the_ledger_is_that_of_the_updater_wherever_it_runs) {
    struct cli_forecast *forecast;
    struct cli_decisions found;
    struct vpa_error err;

    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    cli_decisions_about(&cli,
                        &(struct cli_decisions_query){
                            .ns = "shop", .vpa = "", .updater = forecast->at, .lease = ""},
                        &found);
    ck_assert_str_eq(found.missing, "there is no vpa/x-updater");
    cli_forecast_free(forecast);
}

#define NEVER(NAME, SPEC, STATUS)                                                                  \
    "{\"metadata\":{\"name\":\"" NAME "\",\"namespace\":\"shop\"},\"spec\":{" SPEC                 \
    "},\"status\":{" STATUS "}}"
#define BY_LABELS "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}"
#define CONDITION(TYPE, STATUS)                                                                    \
    "\"conditions\":[{\"type\":\"" TYPE "\",\"status\":\"" STATUS "\",\"message\":\"it says "      \
    "so\"}]"

static const struct {
    const char *vpas, *says; /* of the VPA z */
} idle[] = {
    {VPA "," NEVER("z", BY_LABELS, ""), "no live pod: another VPA of the same pods is older (or "
                                        "comes first by name): vpa (pod web-1)"},
    {NEVER("z", "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"x\"}",
           ""),
     "no live pod: its target cannot be resolved: Deployment shop/x does not exist"},
    {NEVER("z", "\"selector\":{\"matchLabels\":{\"app\":\"x\"}}", ""),
     "no live pod: none has the labels that it selects"},
    {NEVER("z", "\"selector\":{\"matchLabels\":{\"app\":\"x\"}}",
           CONDITION("NoPodsMatched", "True")),
     "condition NoPodsMatched: it says so"},
};

TEST_EACH(a_vpa_without_pods_is_told_why, idle) {
    char name[] = "vpa/z", none[] = "--decisions-from=none";
    char *const argv[] = {name, none};
    struct vpa_error err;
    bool help;

    vpas = idle[_i].vpas;
    pods = OWNED("shop", "web-1");
    cli.ns = "shop";
    ck_assert_int_eq(cli_parse(&cli, 2, argv, &help, &err), 0);
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert_msg(strstr(vpa_buf_text(&cli.out), idle[_i].says) != NULL, "%s",
                  vpa_buf_text(&cli.out));
    vpa_buf_clear(&cli.out);
    cli.format = CLI_JSON;
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&cli.out), "\"why_no_pods\""));
}

#define WEBHOOK(ARGS)                                                                              \
    RUNS("ops", "x-updater", "r/vpa-updater:1", "")                                                \
    "," RUNS("vpa", "x-admission", "r/vpa-admission-controller:1", ARGS)

static const struct {
    const char *deployments, *panic;
    const char *patch;   /* a part of it; NULL: there is none */
    const char *why_not; /* a part of it */
} webhooks[] = {
    {WEBHOOK(""), NULL, "\"6\"", ""},
    {WEBHOOK("\"--max-allowed-cpu-boost=5\""), NULL, "\"5\"", ""},
    {WEBHOOK("\"--feature-gates=CPUStartupBoost=false\""), NULL, "\"2\"", ""},
    {WEBHOOK("\"--vpa-object-namespace=shop\""), NULL, "\"6\"", ""},
    {WEBHOOK("\"--vpa-object-namespace=other\""), NULL, NULL, "leaves the namespace shop out"},
    {WEBHOOK("\"--ignored-vpa-object-namespaces=a,shop\""), NULL, NULL, "leaves the namespace"},
    {WEBHOOK(""), "vpa", NULL, "ConfigMap vpa/vpa-panic"},
    {WEBHOOK(""), "shop", "\"6\"", ""},
    {"", NULL, "\"6\"", ""},
};

TEST_EACH(a_new_pod_gets_what_the_installed_webhook_gives, webhooks) {
    const char *patch = webhooks[_i].patch;
    struct cli_forecast *forecast;
    const struct vpa_json *pod;
    struct cli_preview preview;
    struct vpa_error err;

    deployments = webhooks[_i].deployments;
    panic = webhooks[_i].panic;
    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    ck_assert_int_eq(vpa_json_parse(&cli.arena, POD, strlen(POD), &pod, &err), 0);
    ck_assert_msg(cli_preview(&cli, forecast, "shop", pod, &preview, &err) == 0, "%s", err.text);
    ck_assert_msg((preview.patch != NULL) == (patch != NULL), "%s", preview.why_not);
    if (patch)
        ck_assert_msg(strstr(preview.patch, patch) != NULL, "%s", preview.patch);
    ck_assert_ptr_nonnull(preview.after);
    ck_assert_msg(strstr(preview.why_not, webhooks[_i].why_not) != NULL, "%s", preview.why_not);
    cli_forecast_free(forecast);
}

/* What the webhook would log is what is wrong. */
TEST(a_new_pod_that_no_namespace_takes_is_told_why) {
    struct cli_forecast *forecast;
    const struct vpa_json *pod;
    struct cli_preview preview;
    struct vpa_error err;

    deployments = WEBHOOK("");
    ranges = "{\"items\":[{\"metadata\":{\"namespace\":\"shop\",\"name\":\"r\"},\"spec\":{"
             "\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"x\"}}]}}]}";
    forecast = cli_forecast_new(&cli, "shop", &err);
    ck_assert_msg(forecast != NULL, "%s", err.text);
    ck_assert_int_eq(vpa_json_parse(&cli.arena, POD, strlen(POD), &pod, &err), 0);
    ck_assert_msg(cli_preview(&cli, forecast, "shop", pod, &preview, &err) == 0, "%s", err.text);
    ck_assert_ptr_null(preview.patch);
    ck_assert_msg(strstr(preview.why_not, "failed to calculate resource patch for pod shop/") !=
                      NULL,
                  "%s", preview.why_not);
    cli_forecast_free(forecast);
}

int main(void)
{
    return run_tests("cli forecast", setup, teardown);
}
