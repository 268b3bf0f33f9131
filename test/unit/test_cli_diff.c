/* Whose values the command diff shows where several VPAs govern a workload. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"

static const char *vpas;    /* items of the list */
static const char *webhook; /* flags of the webhook's Deployment */
static const char *ranges;  /* items of the list of LimitRanges; NULL: it is refused */

#define WEB                                                                                        \
    "{\"kind\":\"Deployment\",\"metadata\":{\"namespace\":\"shop\",\"name\":\"web\"},\"spec\":{"   \
    "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{\"labels\":{"    \
    "\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{"  \
    "\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}}]}}}}"
#define VPA(NAME, MODE, CPU) VPA_WITH("", NAME, MODE, CPU)
#define VPA_WITH(SPEC, NAME, MODE, CPU)                                                            \
    "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"" NAME "\"},\"spec\":{" SPEC                 \
    "\"selector\":{"                                                                               \
    "\"matchLabels\":{\"app\":\"web\"}},\"updatePolicy\":{\"updateMode\":\"" MODE "\"}},"          \
    "\"status\":{\"recommendation\":{\"containerRecommendations\":[{\"containerName\":\"app\","    \
    "\"target\":{\"cpu\":\"" CPU "\"}}]}}}"

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *items = strstr(q->path, "verticalpodautoscalers") ? vpas
                        : strstr(q->path, "/deployments")         ? WEB
                        : strstr(q->path, "/limitranges")         ? vpa_or_empty(ranges)
                                                                  : "";
    vpa_auto_free char *list = vpa_xprintf("{\"items\":[%s]}", items);

    (void)ctx;
    if (strstr(q->path, "/deployments/vpa-admission-controller")) {
        vpa_auto_free char *deployment =
            vpa_xprintf("{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":"
                        "\"admission-controller\",\"args\":[%s]}]}}}}",
                        webhook);
        vpa_memory_reply_json(r, 200, deployment);
        return;
    }
    if (!ranges && strstr(q->path, "/limitranges")) {
        vpa_memory_reply_status(r, 403, NULL, "no");
        return;
    }
    vpa_memory_reply_json(r, 200, strstr(q->path, "/deployments/web") ? WEB : list);
}

static void setup(void)
{
    static const char *const args[] = {"deploy/web"};

    webhook = "";
    ranges = "";
    start_cli(serve, "diff");
    cli.transport = transport;
    cli.ns = "shop";
    cli.args = (const char **)(void *)args;
    cli.arg_count = VPA_COUNT(args);
}

static void teardown(void)
{
    cli.args = NULL;
    stop_cli();
}

static const struct {
    const char *vpas;
    const char *cpu;
    const char *note; /* NULL: there is none */
} cases[] = {
    {VPA("a", "Off", "2") "," VPA("b", "Initial", "3"), "3", NULL},
    {VPA("b", "Recreate", "3") "," VPA("a", "Off", "2") "," VPA("c", "Auto", "4"), "3", NULL},
    {VPA("b", "Off", "3") "," VPA("a", "Off", "2"), "2", "VPA a is Off"},
};

TEST_EACH(the_values_are_of_a_vpa_that_acts, cases) {
    vpa_auto_free char *line = vpa_xprintf("+ app.requests.cpu: %s\n", cases[_i].cpu);

    vpas = cases[_i].vpas;
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert_msg(strstr(vpa_buf_text(&cli.out), line) != NULL, "%s", vpa_buf_text(&cli.out));
    ck_assert_uint_eq(cli.note_count, cases[_i].note != NULL);
    if (cases[_i].note)
        ck_assert_msg(vpa_str_starts_with(cli.notes[0], cases[_i].note), "%s", cli.notes[0]);
}

#define OFF                                                                                        \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\",\"mode\":\"Off\"}]},"

/* The webhook leaves a container of mode Off as it is, where its gate is on. */
static const struct {
    const char *vpa, *webhook;
    bool given;
} off[] = {
    {VPA_WITH(OFF, "a", "Recreate", "2"), "", false},
    {VPA_WITH(OFF, "a", "InPlaceOrRecreate", "2"), "", false},
    {VPA_WITH(OFF, "a", "Recreate", "2"), "\"--feature-gates=CPUStartupBoost=false\"", true},
};
TEST_EACH(a_container_of_mode_off_is_left_as_the_webhook_leaves_it, off) {
    vpas = off[_i].vpa;
    webhook = off[_i].webhook;
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert((strstr(vpa_buf_text(&cli.out), "+ app.requests.cpu: 2\n") != NULL) == off[_i].given);
}

/* A patch that goes on into kubectl is not to be taken for whole. */
TEST(a_patch_without_limit_ranges_is_a_failure) {
    vpas = VPA("a", "Recreate", "2");
    ranges = NULL;
    ck_assert_int_eq(cli.command->run(&cli), CLI_FAILED);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&cli.out), "+ app.requests.cpu: 2\n"));
}

#define ONLY                                                                                       \
    "\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"app\","                       \
    "\"controlledValues\":\"RequestsOnly\"}]},"

/* Requests go down and the limit of 2 stays: the API server refuses a ratio above 4. */
TEST_TIMES(what_no_pod_could_have_is_not_recommended, 2) {
    FILE *before = stderr;
    char *said;
    size_t len;

    ranges = "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"r\"},\"spec\":{\"limits\":[{"
             "\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"4\"}}]}}";
    vpas = _i ? VPA_WITH(ONLY, "a", "Recreate", "400m") : VPA_WITH(ONLY, "a", "Recreate", "500m");
    stderr = open_memstream(&said, &len);
    ck_assert_int_eq(cli.command->run(&cli), _i ? CLI_FAILED : CLI_OK);
    fclose(stderr);
    stderr = before;
    ck_assert_msg((cli.out.len == 0) == (_i == 1), "%s", vpa_buf_text(&cli.out));
    ck_assert_msg((strstr(said, "cannot have what VPA a recommends") != NULL) == (_i == 1), "%s",
                  said);
    free(said);
}

int main(void)
{
    return run_tests("cli diff", setup, teardown);
}
