/* Which daemons the command version finds. */
#include <check.h>
#include <string.h>

#include "cli_fixture.h"
#include "suite.h"

static const char *kube_system, *everywhere; /* lists; NULL: 403 */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *list = strstr(q->path, "/namespaces/kube-system/") ? kube_system : everywhere;

    (void)ctx;
    if (strstr(q->path, "/version"))
        vpa_memory_reply_json(r, 200, "{\"gitVersion\":\"v1.35.0\"}");
    else if (list)
        vpa_memory_reply_json(r, 200, list);
    else
        vpa_memory_reply_status(r, 403, NULL, "no");
}

static void setup(void)
{
    start_cli(serve, "version");
}

#define RUNS(NS, IMAGE)                                                                            \
    "{\"metadata\":{\"name\":\"d\",\"namespace\":\"" NS "\"},\"spec\":{\"template\":{\"spec\":{"   \
    "\"containers\":[{\"name\":\"d\",\"image\":\"" IMAGE "\"}]}}}}"

static const struct {
    const char *kube_system, *everywhere;
    const char *rows; /* of daemons */
    size_t notes;
} installations[] = {
    {LIST(RUNS("kube-system", "vpa-updater:1")), NULL, "kube-system/d vpa-updater:1\n", 1},
    {LIST(RUNS("kube-system", "coredns:1")),
     LIST(RUNS("kube-system", "coredns:1") "," RUNS("vpa", "vpa-updater:2")),
     "vpa/d vpa-updater:2\n", 0},
    {LIST(RUNS("kube-system", "vpa-updater:1")),
     LIST(RUNS("kube-system", "vpa-updater:1") "," RUNS("vpa", "vpa-updater:2")),
     "kube-system/d vpa-updater:1\nvpa/d vpa-updater:2\n", 0},
    {NULL, LIST(RUNS("vpa", "vpa-updater:2")), "vpa/d vpa-updater:2\n", 0},
    {LIST(), LIST(), "", 0},
    {NULL, NULL, "", 2},
};

/* The rows behind that of the server, with one space between their cells. */
static const char *rows_of_daemons(void)
{
    const char *row = strchr(strstr(vpa_buf_text(&cli.out), "kubernetes"), '\n') + 1;
    char *text = vpa_arena_strdup(&cli.arena, row), *to = text;

    for (const char *p = row; *p; p++)
        if (*p != ' ' || (p[1] != ' ' && p[1] != '\n'))
            *to++ = *p;
    *to = '\0';
    return text;
}

TEST_EACH(daemons_are_found_wherever_they_run, installations) {
    kube_system = installations[_i].kube_system;
    everywhere = installations[_i].everywhere;
    ck_assert_int_eq(cli.command->run(&cli), CLI_OK);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&cli.out), "v1.35.0"));
    ck_assert_str_eq(rows_of_daemons(), installations[_i].rows);
    ck_assert_uint_eq(cli.note_count, installations[_i].notes);
}

int main(void)
{
    return run_tests("cli version", setup, stop_cli);
}
