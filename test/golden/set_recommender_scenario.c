/*
 * The whole recommender against a cluster in memory: scenario.jsonl pass by pass, loop.jsonl
 * through the real ticker.
 */
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "recommender_compare.h"
#include "recommender_process.h"

#include "../../recommender/metrics.h"

#include "vpa/base/str.h"

/* ---- loop ---- */

struct health {
    struct loop_case *l;
    struct vpa_timer *timer;
    int64_t at_ms;
};
struct timed_step {
    struct loop_case *l;
    struct vpa_timer *timer;
    const struct vpa_json *json;
};
struct loop_case {
    struct world world;
    struct process process;
    struct vpa_timer *end;
    struct health health[64];
    size_t health_count;
    struct timed_step steps[64];
    size_t step_count;
    int64_t starts[4096];
    size_t start_count;
};

static int64_t ms_since_start(const struct loop_case *l)
{
    return vpa_time_sub(vpa_loop_now(l->world.loop), l->world.t0) / VPA_MILLISECOND;
}

static void on_end(void *ctx)
{
    vpa_loop_stop(((struct loop_case *)ctx)->world.loop);
}

static void on_pass(void *ctx)
{
    struct loop_case *l = ctx;

    if (l->start_count < VPA_COUNT(l->starts))
        l->starts[l->start_count++] = ms_since_start(l);
}

static void on_health(void *ctx)
{
    struct health *h = ctx;
    struct golden_case *c = h->l->world.c;
    struct vpa_server_request request = {
        .method = "GET", .path = "/health-check", .query = "", .body = ""};
    static const char *const no_types[] = {"", NULL};
    struct vpa_server_response response = {0};

    if (!h->l->process.observe)
        return;
    vpa_observe_answer(h->l->process.observe, &request, &response);
    vpa_json_foreach (want, GOLDEN_OUT(c, "health")) {
        int64_t at = -1;
        const char *prefix = golden_label(c, "health at %lld ms", (long long)h->at_ms);

        vpa_json_int64(vpa_json_find(want, "at_ms"), &at);
        if (at != h->at_ms)
            continue;
        golden_compared(c, vpa_json_find(want, "at_ms"));
        if (response.status == 200) /* left to the library */
            golden_one_of(c, golden_label(c, "%s content_type", prefix),
                          vpa_json_find(want, "content_type"), no_types);
        else
            golden_text(c, golden_label(c, "%s content_type", prefix),
                        vpa_json_find(want, "content_type"), response.content_type);
        golden_int(c, golden_label(c, "%s code", prefix), vpa_json_find(want, "code"),
                   response.status);
        golden_text(c, golden_label(c, "%s body", prefix), vpa_json_find(want, "body"),
                    response.body);
    }
    free(response.body);
}

static void on_step(void *ctx)
{
    struct timed_step *s = ctx;
    struct world *w = &s->l->world;

    fake_cluster_set_step(w->cluster, s->json);
    vpa_json_foreach (change, vpa_json_find(s->json, "changes"))
        fake_cluster_change(w->cluster, change);
}

static void schedule(struct loop_case *l)
{
    struct world *w = &l->world;
    const struct vpa_json *ticker = GOLDEN_IN(w->c, "ticker");
    int64_t begin = vpa_loop_monotonic(w->loop) -
                    vpa_time_sub(vpa_loop_now(w->loop), w->t0); /* monotonic time of T0 */
    int64_t until = 0;

    vpa_json_int64(vpa_json_find(ticker, "until_ms"), &until);
    l->end = vpa_timer_new(w->loop, on_end, l);
    vpa_timer_start_at(l->end, begin + until * VPA_MILLISECOND + VPA_MICROSECOND);
    vpa_json_foreach (at, vpa_json_find(ticker, "health_ms")) {
        struct health *h = &l->health[l->health_count++];

        h->l = l;
        vpa_json_int64(at, &h->at_ms);
        h->timer = vpa_timer_new(w->loop, on_health, h);
        vpa_timer_start_at(h->timer, begin + h->at_ms * VPA_MILLISECOND);
    }
    vpa_json_foreach (json, GOLDEN_IN(w->c, "steps")) {
        struct timed_step *s = &l->steps[l->step_count++];
        int64_t at_s = 0;

        *s = (struct timed_step){.l = l, .json = json};
        vpa_json_int64(vpa_json_find(json, "at_s"), &at_s);
        s->timer = vpa_timer_new(w->loop, on_step, s);
        vpa_timer_start_at(s->timer, begin + at_s * VPA_SECOND - VPA_SECOND / 2);
    }
}

static void unschedule(struct loop_case *l)
{
    vpa_timer_free(l->end);
    for (size_t i = 0; i < l->health_count; i++)
        vpa_timer_free(l->health[i].timer);
    for (size_t i = 0; i < l->step_count; i++)
        vpa_timer_free(l->steps[i].timer);
}

static void compare_starts(struct loop_case *l)
{
    struct golden_case *c = l->world.c;
    const struct vpa_json *want = GOLDEN_OUT(c, "loop_starts_ms");
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_buf_putc(&text, '[');
    for (size_t i = 0; i < l->start_count; i++)
        vpa_buf_printf(&text, "%s%lld", i > 0 ? "," : "", (long long)l->starts[i]);
    vpa_buf_putc(&text, ']');
    golden_json(c, "loop_starts_ms", want, want || l->start_count > 0 ? vpa_buf_text(&text) : NULL);
}

static int text_cmp(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether the line tells of a write to that object: its path, or that of its collection. */
static bool is_about(const char *line, const char *path)
{
    const char *written = strrchr(line, ' ') + 1;
    size_t len = strlen(written);

    return strcmp(written, path) == 0 ||
           (strstr(line, " POST ") && strncmp(path, written, len) == 0 && path[len] == '/');
}

/* A checkpoint that the reference writes again: at the time of a pass, to a path that was written
 * before. */
static bool may_be_left_out(const struct loop_case *l, const char *line, const char *const *lines,
                            size_t count)
{
    const char *rest = strchr(line, ' ');
    int64_t at;
    bool in_pass = false, known = false;

    if (!rest || !vpa_str_starts_with(rest, " PATCH 200 ") || !strstr(rest, "checkpoints/"))
        return false;
    vpa_auto_free char *number = vpa_xstrndup(line, (size_t)(rest - line));
    if (vpa_parse_int64(number, &at, NULL) < 0)
        return false;
    for (size_t i = 0; i < l->start_count; i++)
        in_pass = in_pass || l->starts[i] == at;
    for (size_t i = 0; i < count; i++)
        known = known || is_about(lines[i], rest + strlen(" PATCH 200 "));
    return in_pass && known;
}

/* Both lists are sorted; checkpoint patches that upstream repeats unchanged may be missing. */
static void compare_write_times(struct loop_case *l)
{
    struct golden_case *c = l->world.c;
    size_t count;
    const struct sim_asked *writes = fake_cluster_writes(l->world.cluster, &count);
    const char **lines = vpa_arena_alloc(c->arena, (count + 1) * sizeof *lines);
    size_t i = 0;

    for (size_t k = 0; k < count; k++)
        lines[k] =
            golden_label(c, "%lld %s %d %s",
                         (long long)(vpa_time_sub(writes[k].time, l->world.t0) / VPA_MILLISECOND),
                         writes[k].method, writes[k].code, writes[k].path);
    qsort(lines, count, sizeof *lines, text_cmp);
    vpa_json_foreach (want, GOLDEN_OUT(c, "write_times")) {
        const char *line = vpa_or_empty(vpa_json_string(want));

        golden_compared(c, want);
        if (i < count && strcmp(line, lines[i]) == 0)
            i++;
        else if (may_be_left_out(l, line, lines, count))
            golden_exempt(c, 1); /* U5 */
        else
            golden_difference(c, golden_label(c, "write_times %s", line), line, "not written");
    }
    for (; i < count; i++)
        golden_unexpected(c, golden_label(c, "write_times %s", lines[i]), lines[i]);
}

static void run_loop(struct golden_case *c)
{
    struct loop_case *l = vpa_xcalloc(1, sizeof *l);
    struct vpa_error err;

    world_init(&l->world, c, false);
    schedule(l);
    if (process_start(&l->process, &l->world, 0, true, &err) < 0) {
        golden_text(c, "run_error", GOLDEN_OUT(c, "run_error"), err.text);
        golden_marker(c, "run_ended");
        golden_compared(c, GOLDEN_OUT(c, "health")); /* of a process that does not begin, here */
    } else {
        golden_text(c, "run_error", GOLDEN_OUT(c, "run_error"), NULL);
        recommender_run(l->process.recommender, on_pass, l);
        compare_starts(l);
        compare_write_times(l);
    }
    world_compare_requests(&l->world);
    golden_json(c, "passes", GOLDEN_OUT(c, "passes"), "[]");
    golden_count(c, "health", GOLDEN_OUT(c, "health"),
                 vpa_json_count(vpa_json_at(c->in, "ticker.health_ms")));
    unschedule(l);
    process_stop(&l->process);
    world_release(&l->world);
    free(l);
}

/* ---- the set ---- */

static void run_as(struct golden_case *c, bool invariant)
{
    recommender_metrics_reset();
    if (strcmp(c->file, "loop") == 0)
        run_loop(c);
    else
        world_run_case(c, invariant);
}

static void run(struct golden_case *c)
{
    run_as(c, false);
}

static void invariant(struct golden_case *c)
{
    run_as(c, true);
}

extern const struct golden_set golden_set_recommender_scenario;
const struct golden_set golden_set_recommender_scenario = {
    .name = "recommender_scenario", .run = run, .invariant = invariant};
