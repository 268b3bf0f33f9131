/* What the laboratory reads besides traces: recordings of kubectl top, and checkpoints from a file
 * and from a cluster. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "lab_folder.h"
#include "lab_top.h"
#include "suite.h"
#include "temp_folder.h"
#include "manual_clock.h"
#include "sim_cluster.h"
#include "vpa/base/str.h"
#include "vpa/daemon/clock.h"
#include "vpa/model/algorithm.h"

static const char *path; /* of the file that was put last */
static struct vpa_error err;
static struct cli cli;
static bool help;

static void setup(void)
{
    temp_folder_make();
    err = (struct vpa_error){0};
    cli_init(&cli);
    cli.command = &cli_lab;
}

static const char *put(const char *name, const char *text)
{
    return path = temp_put(name, text);
}

static void teardown(void)
{
    temp_folder_remove();
    cli_release(&cli);
}

/* Words separated by blanks. */
static void parse(char *words)
{
    char *items[16];
    int count = 0;

    for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word)
            items[count++] = word;
    ck_assert_msg(cli_parse(&cli, count, items, &help, &err) == 0, "%s", err.text);
}

/* Of an answer. */
static void assert_row(const char *answered, const char *row)
{
    ck_assert_msg(strstr(answered, row) != NULL, "%s", answered);
}

/* ---- recordings ---- */

#define HEADING "POD   NAME   CPU(cores)   MEMORY(bytes)\n"
#define RECORDING                                                                                  \
    "2026-03-01T00:00:00Z\n" HEADING "web-1   app   100m   300Mi\n"                                \
    "web-2   app   200m   310Mi\n\n"                                                               \
    "2026-03-01T01:01:00+01:00\r\n" HEADING "web-1 app 1 320Mi\r\n"                                \
    "db-0\tapp\t7m\t5Mi\n"                                                                         \
    "1772323500\n" /* five minutes after midnight */                                               \
    "web-2 app 0 1Gi"

TEST(rows_are_series_of_containers) {
    struct lab_top t;

    ck_assert_msg(lab_top_parse(RECORDING, strlen(RECORDING), &t, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(t.count, 3);
    ck_assert_str_eq(t.items[0]->pod, "web-1");
    ck_assert_str_eq(t.items[0]->container, "app");
    ck_assert_str_eq(t.items[0]->ns, "");
    ck_assert_uint_eq(t.items[0]->samples.count, 2);
    ck_assert_int_eq(t.items[0]->samples.second[0], 1772323200);
    ck_assert_int_eq(t.items[0]->samples.second[1], 1772323260);
    ck_assert_double_eq_tol(t.items[0]->samples.cpu[0], 0.1, 1e-12);
    ck_assert_double_eq_tol(t.items[0]->samples.cpu[1], 1.0, 1e-12);
    ck_assert_double_eq_tol(t.items[1]->samples.memory[1], 1073741824.0, 0.5);
    ck_assert_str_eq(t.items[2]->pod, "db-0");
    lab_top_release(&t);
}

#define STAMP "2026-03-01T00:00:00Z\n"
static const struct {
    const char *text, *says;
} broken[] = {
    {"", "no rows"},
    {STAMP HEADING, "no rows"},
    {"web-1 app 1m 1Mi\n", "line 1: a row before the first time stamp"},
    {STAMP "web-1 app 1m\n", "line 2: expected a time stamp"},
    {STAMP "a b c 1m 1Mi x\n", "line 2: expected a time stamp"},
    {STAMP "error: Metrics API not available\n", "line 2: CPU"},
    {STAMP "No resources found in shop namespace.\n", "line 2: expected a time stamp"},
    {STAMP "POD NAME CPU(cores)\n", "line 2: expected a time stamp"},
    {STAMP "yesterday\n", "line 2: expected a time stamp"},
    {STAMP "web-1 app 1m 1Mi\n" STAMP, "line 3: time stamp 2026-03-01T00:00:00Z is not after"},
    {STAMP "2026-02-28T23:59:59Z\n", "line 2: time stamp"},
    {"-5\n", "line 1: -5 is not a time"},
    {"99999999999999\n", "line 1: 99999999999999 is not a time"},
    {STAMP "web-1 app 1x 1Mi\n", "line 2: CPU: "},
    {STAMP "web-1 app <unknown> 1Mi\n", "line 2: CPU: "},
    {STAMP "web-1 app 1m -1Mi\n", "line 2: MEMORY: -1Mi is not a usage"},
    {STAMP "web-1 app 1m 1Mi\n\nweb-1 app 1m 1Mi\n",
     "line 4: container app of pod web-1 is there twice"},
};
TEST_EACH(what_is_no_recording_is_told, broken) {
    const struct lab_top_choice any = {NULL, NULL};
    struct lab_trace t;

    put("shop.top", broken[_i].text);
    ck_assert_int_eq(lab_top_read(path, &any, &t, &err), -1);
    ck_assert_msg(strstr(err.text, broken[_i].says) != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "shop.top: "));
}

TEST(long_lines_and_zeros_are_told) {
    struct lab_top t;
    char text[LAB_TOP_LINE_MAX + 1];

    memset(text, 'x', sizeof(text));
    ck_assert_int_eq(lab_top_parse(text, sizeof(text), &t, &err), -1);
    ck_assert_msg(strstr(err.text, "line 1 is longer than 1023 bytes") != NULL, "%s", err.text);
    ck_assert_int_eq(lab_top_parse("5\na\0b c 1 1\n", 12, &t, &err), -1);
    ck_assert_str_eq(err.text, "line 2: a byte of zero");
}

/* Replicas are one history: all samples of CPU, the largest of memory. */
TEST(replicas_are_one_trace) {
    const struct lab_top_choice web = {"app", "web-"};
    struct lab_trace t;

    put("shop.top", RECORDING);
    ck_assert_msg(lab_top_read(path, &web, &t, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(t.windows, 2);
    ck_assert_uint_eq(t.cpu_from[1], 3);
    ck_assert_uint_eq(t.cpu_from[2], 4);
    ck_assert_double_eq_tol(t.cpu[0] + t.cpu[1] + t.cpu[2], 1.3, 1e-12);
    ck_assert(t.memory[0] == 320.0 * 1048576 && t.memory[1] == 1073741824.0);
    ck_assert_int_eq(t.interval_seconds, 60); /* not that of two replicas */
    ck_assert_str_eq(t.id, "app");
    lab_trace_release(&t);
}

static const struct {
    const char *text, *container, *pods, *says;
} choices[] = {
    {STAMP "web-1 app 1m 1Mi\nweb-1 proxy 1m 1Mi\n", NULL, NULL,
     "containers app and proxy are in it: choose with --container"},
    {STAMP "a web-1 app 1m 1Mi\nb web-1 app 1m 1Mi\n", "app", NULL,
     "pods web-1 of namespace a and web-1 of b are in it"},
    {STAMP "web-1 app 1m 1Mi\n", "main", NULL,
     "no container \"main\" of pods \"...\"; the first is "
     "app of web-1"},
    {STAMP "web-1 app 1m 1Mi\n", NULL, "db-", "no container \"*\" of pods \"db-...\""},
};
TEST_EACH(a_choice_that_is_none_is_told, choices) {
    const struct lab_top_choice choice = {choices[_i].container, choices[_i].pods};
    struct lab_trace t;

    put("shop.top", choices[_i].text);
    ck_assert_int_eq(lab_top_read(path, &choice, &t, &err), -1);
    ck_assert_msg(strstr(err.text, choices[_i].says) != NULL, "%s", err.text);
}

/* The policy of the recorded container bounds it, not that of the first in the object. */
TEST(a_recording_names_its_container) {
    char words[128];

    put("c.yaml",
        "{kind: VerticalPodAutoscaler, apiVersion: autoscaling.k8s.io/v1, metadata: {name: v}, "
        "spec: {targetRef: {kind: Deployment, apiVersion: apps/v1, name: web}, resourcePolicy: "
        "{containerPolicies: [{containerName: proxy, maxAllowed: {cpu: 30m}}, {containerName: app, "
        "maxAllowed: {cpu: 70m}}]}}}");
    snprintf(words, sizeof(words), "replay shop.top --config %s", path);
    parse(words);
    put("shop.top", "300\nweb-1 app 500m 300Mi\n600\nweb-1 app 500m 300Mi\n");
    cli.format = CLI_CSV;
    ck_assert_msg(lab_replay_config(&cli, path, &err) == 0, "%s", err.text);
    assert_row(vpa_buf_text(&cli.out), "started,70m,");
}

/* In a folder each container of each pod is a trace, beside those of CSV. */
TEST(folders_hold_recordings) {
    struct lab_traces t;

    put("t.csv", "timestamp_seconds,cpu_cores,memory_bytes\n0,1,\n");
    put("shop.top", STAMP "NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\nshop web-1 app 1m 1Mi\n"
                          "shop web-2 app 1m 1Mi\n");
    ck_assert_msg(lab_traces_read(temp_folder(), &t, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(t.count, 3);
    ck_assert_str_eq(t.items[0].id, "shop/web-1/app");
    ck_assert_str_eq(t.items[0].group, "shop");
    ck_assert_str_eq(t.items[1].id, "shop/web-2/app");
    ck_assert_str_eq(t.items[2].id, "t");
    lab_traces_release(&t);
}

/* ---- checkpoints ---- */

/*
 * CPU: 60 % in bucket 0, 30 % in 21, 10 % in 40; their ends are 10, 385 and 1278 millicores (0.01 x
 * (1.05^(n+1) - 1) / 0.05), with 15 % 11, 442 and 1469. Memory: all in bucket 30, whose end is 1e7
 * x (1.05^31 - 1) / 0.05 = 707.6e6, with 15 % 776.1 MiB. A day of history.
 */
#define CHECKPOINT(NAME, NS, VPA, CONTAINER)                                                       \
    "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscalerCheckpoint\","      \
    "\"metadata\":{\"name\":\"" NAME "\",\"namespace\":\"" NS "\"},"                               \
    "\"spec\":{\"vpaObjectName\":\"" VPA "\",\"containerName\":\"" CONTAINER "\"},"                \
    "\"status\":{\"version\":\"v3\",\"lastUpdateTime\":\"2026-03-02T00:00:00Z\","                  \
    "\"firstSampleStart\":\"2026-03-01T00:00:00Z\",\"lastSampleStart\":\"2026-03-02T00:00:00Z\","  \
    "\"totalSamplesCount\":1440,"                                                                  \
    "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-03-02T00:00:00Z\",\"totalWeight\":144,"       \
    "\"bucketWeights\":{\"0\":6000,\"21\":3000,\"40\":1000}},"                                     \
    "\"memoryHistogram\":{\"referenceTimestamp\":\"2026-03-03T00:00:00Z\",\"totalWeight\":1,"      \
    "\"bucketWeights\":{\"30\":10000}}}}"
#define LIST(ITEMS) "{\"kind\":\"List\",\"items\":[" ITEMS "]}"
#define TITLES                                                                                     \
    "namespace,vpa,container,policy,cpu,lower,upper,memory,lower memory,upper memory,samples"

static const char *answer(void)
{
    cli.format = CLI_CSV;
    ck_assert_msg(lab_checkpoint(&cli, path, &err) == 0, "%s", err.text);
    return vpa_buf_text(&cli.out);
}

TEST_CASE(checkpoints, setup, teardown);

TEST(policies_and_percentiles_by_hand) {
    char words[] = "checkpoint c.yaml --percentile 0.5,0.6,0.61,1";

    parse(words);
    put("c.yaml", CHECKPOINT("web-app", "shop", "web", "app"));
    const char *text = answer();
    assert_row(text, "shop,web,app,vpa,442m,");
    assert_row(text, "shop,web,app,vpa-p95,1469m,");
    assert_row(text, "shop,web,app,vpa-p99,1469m,");
    assert_row(text, "shop,web,app,vpa-no-minimum,442m,");
    assert_row(text, "shop,web,app,p50,25m,"); /* 11, and the minimum of a pod */
    assert_row(text, "shop,web,app,p60,25m,");
    assert_row(text, "shop,web,app,p61,442m,");
    assert_row(text, "shop,web,app,p100,1469m,");
    assert_row(text, ",776.1Mi,");
    assert_row(text, ",1440\r\n");
    ck_assert_ptr_null(strstr(text, "plumb"));
    ck_assert_uint_eq(cli.note_count, 0);
}

/* Two containers share the minimum: 12 of 25 millicores each. */
TEST(containers_of_a_vpa_share_the_minimum) {
    char words[] = "checkpoint c.yaml --policy vpa --percentile 0.5 -n shop";

    parse(words);
    put("c.yaml",
        LIST(CHECKPOINT("web-app", "shop", "web", "app") "," CHECKPOINT(
            "web-proxy", "shop", "web", "proxy") "," CHECKPOINT("x", "else", "web", "x")));
    const char *text = answer();
    assert_row(text, "shop,web,app,p50,12m,");
    assert_row(text, "shop,web,proxy,p50,12m,");
    ck_assert_ptr_null(strstr(text, "else"));
    ck_assert_ptr_null(strstr(text, "vpa-p95"));
}

/* A container is chosen from the answer for all of them. */
TEST(a_chosen_container_has_the_numbers_that_it_has_among_all) {
    char words[] = "checkpoint c.yaml --policy vpa --percentile 0.5 --container app";

    parse(words);
    put("c.yaml", LIST(CHECKPOINT("web-app", "shop", "web",
                                  "app") "," CHECKPOINT("web-proxy", "shop", "web", "proxy")));
    assert_row(answer(), "shop,web,app,p50,12m,");
    ck_assert_ptr_null(strstr(vpa_buf_text(&cli.out), "proxy"));
}

/* What a recommender could not read is kept under another name, beside what it has learned since.
 */
TEST(what_is_kept_aside_is_no_checkpoint) {
    char words[] = "checkpoint c.yaml --policy vpa --percentile 0.5";

    parse(words);
    put("c.yaml",
        LIST(CHECKPOINT("web-app", "shop", "web", "app") "," CHECKPOINT(
            "web-app-unreadable\",\"annotations\":{\"vpa.autoscaling.k8s.io/unreadable-since\":"
            "\"2026-03-01T00:00:00Z\"},\"x\":\"",
            "shop", "web", "app")));
    assert_row(answer(), "shop,web,app,p50,25m,");
    ck_assert_uint_eq(cli.note_count, 0);
}

/* The state of another algorithm answers for it, as of the time at which it was stored. */
TEST(states_answer_for_their_algorithm) {
    char words[] = "checkpoint c.yaml";
    struct vpa_parameters p;
    struct vpa_json_writer w;
    vpa_auto_buf state = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX), text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);
    vpa_time t = vpa_time_from_unix(1772323200, 0);

    vpa_parameters_init(&p, vpa_algorithm_find("autopilot"));
    struct vpa_method *m = vpa_method_new(&p, &err);
    struct vpa_knowledge *k = vpa_knowledge_new(m, t);
    for (int i = 0; i < 288; i++, t += 5 * VPA_MINUTE) {
        vpa_knowledge_add(k, &(struct vpa_usage){VPA_USAGE_CPU, t, 1, 100});
        vpa_knowledge_add(k, &(struct vpa_usage){VPA_USAGE_MEMORY, t, 1, 100 << 20});
    }
    vpa_json_writer_init(&w, &state);
    vpa_knowledge_save(k, t, &w);
    vpa_buf_puts(&text,
                 "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"w\","
                 "\"annotations\":{\"vpa.autoscaling.k8s.io/algorithm-state\":");
    vpa_json_escape(&text, vpa_buf_text(&state));
    vpa_buf_puts(&text,
                 "}},\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app.autopilot\"},"
                 "\"status\":{\"version\":\"plumb-autopilot\","
                 "\"lastUpdateTime\":\"2026-03-02T00:00:00Z\"}}");
    parse(words);
    put("c.yaml", vpa_buf_text(&text));
    /* 100 millicores are in the bucket that ends at 103.04, and 15 % more are 119. */
    assert_row(answer(), ",web,app,autopilot,119m,");
    vpa_knowledge_free(k);
    vpa_method_unref(m);
    vpa_parameters_release(&p);
}

static const struct {
    const char *words, *text, *says;
} wrong[] = {
    {"checkpoint c.yaml --policy plumb", "", "policy plumb learns from samples"},
    {"checkpoint c.yaml --policy none", "", "no policy \"none\""},
    {"checkpoint c.yaml --percentile 90", "", "--percentile: \"90\" is not a number above 0"},
    {"checkpoint c.yaml --percentile nan", "", "--percentile: \"nan\" is not"},
    {"checkpoint c.yaml", "{\"kind\":\"Pod\"}", "an object of kind \"Pod\""},
    {"checkpoint c.yaml", "[1]", "an object of kind \"\""},
    {"checkpoint c.yaml", "a: b: c", "c.yaml: "},
    {"checkpoint c.yaml", "", "no checkpoint of any VPA here"},
    {"checkpoint c.yaml --container db", CHECKPOINT("web-app", "shop", "web", "app"),
     "no checkpoint of any VPA here"},
    {"checkpoint c.yaml --vpa db", CHECKPOINT("web-app", "shop", "web", "app"),
     "no checkpoint of VPA db here"},
};
TEST_EACH(what_is_no_checkpoint_is_told, wrong) {
    char words[80];

    snprintf(words, sizeof(words), "%s", wrong[_i].words);
    parse(words);
    put("c.yaml", wrong[_i].text);
    ck_assert_int_eq(lab_checkpoint(&cli, path, &err), -1);
    ck_assert_msg(strstr(err.text, wrong[_i].says) != NULL, "%s", err.text);
}

#define RUNNING(HASH)                                                                              \
    "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"web-app\","            \
    "\"namespace\":"                                                                               \
    "\"shop\",\"annotations\":{\"vpa.autoscaling.k8s.io/open-memory-intervals\":"                  \
    "\"{\\\"history\\\":\\\"" HASH "\\\",\\\"end\\\":\\\"2026-02-01T00:00:00Z\\\","                \
    "\\\"peaks\\\":[[12345,4294967296]]}\"}},\"spec\":{\"vpaObjectName\":\"web\","                 \
    "\"containerName\":"                                                                           \
    "\"app\"},\"status\":{\"lastUpdateTime\":\"2026-01-31T00:40:00Z\",\"version\":\"v3\","         \
    "\"cpuHistogram\":{},\"memoryHistogram\":{\"referenceTimestamp\":\"2026-01-31T00:00:00Z\","    \
    "\"bucketWeights\":{\"26\":10000},\"totalWeight\":1},\"totalSamplesCount\":2000}}"

/* A day of 512 MiB, and 4 GiB in the one that was not over: the recommender knows both. */
TEST_TIMES(memory_of_running_intervals_counts, 2) {
    char words[] = "checkpoint c.yaml --policy vpa";

    parse(words);
    put("c.yaml", _i ? RUNNING("00000000") : RUNNING("e4f410af"));
    const char *text = answer();
    ck_assert_msg(strstr(text, _i ? ",599.6Mi," : ",4760.8Mi,") != NULL, "%s", text);
    ck_assert_uint_eq(cli.note_count, (size_t)_i);
    if (_i)
        ck_assert_ptr_nonnull(
            strstr(cli.notes[0], "the memory of the running interval is missing"));
}

/* One that cannot be used does not hide the others, and is named. */
TEST(a_bad_checkpoint_is_noted) {
    char words[] = "checkpoint c.yaml --policy vpa";

    parse(words);
    put("c.yaml",
        LIST("{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"odd\"},"
             "\"spec\":{\"vpaObjectName\":\"v\",\"containerName\":\"c\"},"
             "\"status\":{\"version\":\"v9\"}}," CHECKPOINT("web-app", "shop", "web", "app")));
    assert_row(answer(), "shop,web,app,vpa,442m,");
    ck_assert_uint_eq(cli.note_count, 1);
    ck_assert(vpa_str_starts_with(cli.notes[0], "checkpoint odd cannot be used: "));
}

TEST(the_cluster_is_asked_without_a_file) {
    char words[] = "checkpoint --vpa web --policy vpa";
    struct vpa_clock *clock = vpa_clock_new_manual(vpa_time_from_unix(0, 0));
    struct vpa_loop *loop = vpa_loop_new(clock);
    struct sim_cluster *sim = sim_cluster_new(loop);
    size_t asked;

    sim_cluster_put_text(sim, CHECKPOINT("web-app", "default", "web", "app"));
    sim_cluster_put_text(sim, CHECKPOINT("db-app", "default", "db", "app"));
    parse(words);
    cli.format = CLI_CSV;
    ck_assert_int_eq(cli_use_transport(&cli, clock, loop,
                                       vpa_memory_transport_new(loop, sim_cluster_serve, sim),
                                       &err),
                     0);
    ck_assert_msg(lab_checkpoint(&cli, NULL, &err) == 0, "%s", err.text);
    assert_row(vpa_buf_text(&cli.out), "default,web,app,vpa,442m,");
    ck_assert_ptr_null(strstr(vpa_buf_text(&cli.out), "db"));
    const struct sim_asked *reads = sim_cluster_reads(sim, &asked);
    ck_assert_uint_eq(asked, 1);
    ck_assert_ptr_nonnull(strstr(reads[0].path, "limit=500"));
    cli_release(&cli);
    cli_init(&cli);
    sim_cluster_free(sim);
    vpa_loop_free(loop);
    vpa_clock_free(clock);
}

int main(void)
{
    return run_tests("cli_lab_inputs", setup, teardown);
}
