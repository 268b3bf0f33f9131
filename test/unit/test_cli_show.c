/* What the command show makes of the checkpoints of a VPA. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"

static const char *checkpoints; /* a list */

#define BOUNDS(CPU, MEMORY) "{\"cpu\":\"" CPU "\",\"memory\":\"" MEMORY "\"}"
static const char vpa[] =
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\"},\"spec\":{\"targetRef\":{\"kind\":"
    "\"Deployment\",\"name\":\"web\"}},\"status\":{\"recommendation\":{"
    "\"containerRecommendations\":[{\"containerName\":\"app\",\"target\":" BOUNDS(
        "500m", "640Mi") ","
                         "\"lowerBound\":" BOUNDS("400m", "512Mi") ",\"upperBound\":" BOUNDS(
                             "600m", "1Gi") "}]}}}";

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (strstr(q->path, "/verticalpodautoscalers/"))
        vpa_memory_reply_json(r, 200, vpa);
    else
        vpa_memory_reply_json(r, 200, checkpoints);
}

static void setup(void)
{
    start_cli(serve, "show");
    cli.ns = "default";
}

/* The command's answer to "web --recommender-flags=FLAGS -o FORM". */
static int run(const char *flags, const char *form)
{
    vpa_auto_free char *option = vpa_xprintf("--recommender-flags=%s", flags);
    vpa_auto_free char *output = vpa_xprintf("-o%s", form);
    char name[] = "web";
    char *const argv[] = {name, option, output};
    struct vpa_error err;
    bool help;

    ck_assert_int_eq(cli_parse(&cli, (int)VPA_COUNT(argv), argv, &help, &err), 0);
    return cli.command->run(&cli);
}

#define STORED(META, VERSION, BUCKET) STORED_WITH("", META, VERSION, BUCKET)
#define STORED_WITH(MORE, META, VERSION, BUCKET)                                                   \
    "{\"kind\":\"VerticalPodAutoscalerCheckpoint\",\"metadata\":{\"name\":\"" BUCKET "\"" META     \
    "},"                                                                                           \
    "\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{"                  \
    "\"version\":\"" VERSION "\",\"firstSampleStart\":\"2026-03-01T00:00:00Z\","                   \
    "\"lastSampleStart\":\"2026-03-02T00:00:00Z\",\"totalSamplesCount\":1440,"                     \
    "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-03-02T00:00:00Z\",\"totalWeight\":144,"       \
    "\"bucketWeights\":{\"" BUCKET "\":10000}}" MORE "}}"
#define BROKEN ",\"memoryHistogram\":{\"totalWeight\":1,\"bucketWeights\":{\"9999\":10000}}"
#define ASIDE                                                                                      \
    ",\"annotations\":{\"vpa.autoscaling.k8s.io/unreadable-since\":\"2026-03-01T00:00:00Z\"}"

static size_t count_of(const char *word)
{
    size_t count = 0;

    for (const char *p = vpa_buf_text(&cli.out); (p = strstr(p, word)) != NULL; p++)
        count++;
    return count;
}

static const struct {
    const char *checkpoints;
    size_t pictures, notes;
} stored[] = {
    {LIST(STORED("", "v3", "21")), 1, 0},
    {LIST(STORED("", "v3", "21") "," STORED(ASIDE, "v3", "40")), 1, 0},
    {LIST(STORED("", "v9", "40") "," STORED("", "v3", "21")), 1, 1},
    {LIST(STORED_WITH(BROKEN, "", "v3", "21")), 1, 1}, /* the half that can be read */
};

TEST_EACH(pictures_are_of_what_a_recommender_would_load, stored) {
    checkpoints = stored[_i].checkpoints;
    ck_assert_int_eq(run("", "table"), CLI_OK);
    ck_assert_uint_eq(count_of("Container app, cpu"), stored[_i].pictures);
    ck_assert_uint_eq(cli.note_count, stored[_i].notes);
}

/* The memory of an interval that was not over is in the annotation alone. */
TEST(a_running_interval_is_in_the_picture) {
    checkpoints = LIST(
        "{\"metadata\":{\"name\":\"web-app\",\"annotations\":{"
        "\"vpa.autoscaling.k8s.io/open-memory-intervals\":\"{\\\"history\\\":\\\"e4f410af\\\","
        "\\\"end\\\":\\\"2026-02-01T00:00:00Z\\\",\\\"peaks\\\":[[7,4294967296]]}\"}},"
        "\"spec\":{\"vpaObjectName\":\"web\",\"containerName\":\"app\"},\"status\":{\"version\":"
        "\"v3\","
        "\"lastUpdateTime\":\"2026-01-31T00:40:00Z\",\"memoryHistogram\":{\"referenceTimestamp\":"
        "\"2026-01-31T00:00:00Z\",\"bucketWeights\":{\"26\":10000},\"totalWeight\":1}}}");
    ck_assert_int_eq(run("", "table"), CLI_OK);
    ck_assert_msg(strstr(vpa_buf_text(&cli.out), "p90 4139.8Mi") != NULL, "%s",
                  vpa_buf_text(&cli.out));
}

/* One key for each percentile, and what the status has made of them. */
TEST(json_has_what_the_picture_says) {
    checkpoints = LIST(STORED("", "v3", "21"));
    ck_assert_int_eq(run("--recommendation-upper-bound-cpu-percentile=0.9", "json"), CLI_OK);
    ck_assert_uint_eq(count_of("\"p90\""), 1);
    ck_assert_uint_eq(count_of("\"p50\""), 1);
    ck_assert_uint_eq(count_of("\"target\":\"500m\""), 1);
    ck_assert_uint_eq(count_of("\"lower_bound\":\"400m\""), 1);
    ck_assert_uint_eq(count_of("\"upper_bound\":\"600m\""), 1);
}

/* A state is no histogram, and no sign that nothing was learned; nor is what cannot be read. */
static const struct {
    const char *checkpoints, *says;
} none[] = {
    {LIST(), "has no checkpoint yet"},
    {LIST(STORED("", "plumb-crane", "21")), "the algorithm crane"},
    {LIST(STORED("", "v9", "21")), "unsupported checkpoint version v9"},
    {LIST(STORED_WITH(BROKEN, "", "v3", "9999")), "9999"},
};
TEST_EACH(why_there_is_no_picture_is_told, none) {
    FILE *before = stderr;
    char *said;
    size_t len;

    checkpoints = none[_i].checkpoints;
    stderr = open_memstream(&said, &len);
    ck_assert_int_eq(run("", "table"), CLI_FAILED);
    fclose(stderr);
    stderr = before;
    ck_assert_msg(strstr(said, none[_i].says) != NULL, "%s", said);
    free(said);
}

int main(void)
{
    return run_tests("cli show", setup, stop_cli);
}
