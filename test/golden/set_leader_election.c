/*
 * Leases of the leader and of the webhook's status: the elector and the status lease against a
 * scripted server in memory, in virtual time.
 *
 * The leader's vectors were taken in real time from a real process, so what is compared is the
 * sequence of phases: consecutive requests of the same method, code and body count as one, and
 * their number may differ by two where it depends on the clock (by any where waiting is jittered).
 * The status lease is exact but for acquireTime and leaseTransitions, which upstream's has not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "lease_server.h"
#include "vpa/api/lease.h"
#include "vpa/base/str.h"
#include "vpa/kube/elector.h"
#include "vpa/daemon/status_lease.h"

/* Common */

/* The notation of the vectors: what depends on the run has a placeholder. */
static void put_normal(struct vpa_json_writer *out, const struct vpa_json *node, const char *name)
{
    const char *text = vpa_json_string(node);
    vpa_time time;

    if (vpa_json_is_object(node)) {
        vpa_json_open_object(out);
        vpa_json_foreach (member, node) {
            vpa_json_key(out, vpa_json_name(member));
            put_normal(out, member, vpa_json_name(member));
        }
        vpa_json_close_object(out);
    } else if (text && strcmp(text, IDENTITY) == 0) {
        vpa_json_put_string(out, "<hostname>_<uuid>");
    } else if (text && name && strcmp(name, "resourceVersion") == 0) {
        vpa_json_put_string(out, "<last seen>");
    } else if (text && name && strcmp(name, "uid") == 0) {
        vpa_json_put_string(out, "lease-uid");
    } else if (text && name && strcmp(name, "creationTimestamp") == 0) {
        vpa_json_put_string(out, "<as received>");
    } else if (text && strlen(text) == 27 && vpa_time_parse_micro(text, &time, NULL) == 0) {
        vpa_json_put_string(out, "<time>");
    } else {
        vpa_json_put_node(out, node);
    }
}

struct phase {
    const char *text; /* method, path, code, body, acquire */
    int count;
    bool waiting; /* GET 200: its number is jittered */
};

static size_t add_phase(struct phase *phases, size_t count, const char *text)
{
    if (count > 0 && strcmp(phases[count - 1].text, text) == 0) {
        phases[count - 1].count++;
        return count;
    }
    phases[count] = (struct phase){text, 1, strstr(text, "GET ") == text};
    return count + 1;
}

static const char *wanted_text(const struct vpa_json *r)
{
    struct vpa_json_writer out;
    vpa_auto_buf buf = VPA_BUF(1 << 16);
    int64_t code = 0;
    bool acquire = false;

    vpa_json_int64(vpa_json_find(r, "code"), &code);
    vpa_json_bool(vpa_json_find(r, "acquire_equals_renew"), &acquire);
    if (vpa_json_find(r, "body") && !vpa_json_find(r, "acquire_equals_renew"))
        vpa_buf_puts(&buf, "(no acquire_equals_renew) ");
    vpa_buf_printf(&buf, "%s %s %d %d ", vpa_json_string(vpa_json_find(r, "method")),
                   vpa_json_string(vpa_json_find(r, "path")), (int)code, acquire);
    if (vpa_json_find(r, "body")) {
        vpa_json_writer_init(&out, &buf);
        vpa_json_put_node(&out, vpa_json_find(r, "body"));
    }
    return vpa_arena_strdup(lease_world.c->arena, vpa_buf_text(&buf));
}

/* The members of metadata come in the server's order: compared as values, written in the wanted
 * order when equal. */
static const char *got_text(const struct lease_request *q, const struct vpa_json *wanted)
{
    struct vpa_json_writer out;
    vpa_auto_buf buf = VPA_BUF(1 << 16), body = VPA_BUF(1 << 16);
    bool acquire = false;

    if (q->body) {
        const struct vpa_json *root = lease_world_parse(q->body);
        acquire = vpa_str_eq(vpa_json_string(vpa_json_at(root, "spec.acquireTime")),
                             vpa_json_string(vpa_json_at(root, "spec.renewTime")));
        vpa_json_writer_init(&out, &body);
        put_normal(&out, root, NULL);
    }
    vpa_buf_printf(&buf, "%s %s %d %d ", q->method, q->path, q->code, acquire);
    vpa_json_foreach (r, wanted) {
        const struct vpa_json *want = vpa_json_find(r, "body");
        if (q->body && want && vpa_json_equal(want, lease_world_parse(vpa_buf_text(&body)))) {
            vpa_json_writer_init(&out, &buf);
            vpa_json_put_node(&out, want);
            return vpa_arena_strdup(lease_world.c->arena, vpa_buf_text(&buf));
        }
    }
    vpa_buf_puts(&buf, vpa_buf_text(&body));
    return vpa_arena_strdup(lease_world.c->arena, vpa_buf_text(&buf));
}

/* What the vectors tell of a request besides: how the reference's client sent it, and about when.
 */
static void compare_remarks(struct golden_case *c, size_t i, const struct vpa_json *r,
                            int64_t run_ms, int64_t *last_ms)
{
    static const char *const types[] = {"application/vnd.kubernetes.protobuf", NULL};
    static const char *const accepts[] = {"application/vnd.kubernetes.protobuf,application/json",
                                          NULL};
    bool get = vpa_str_eq(vpa_json_string(vpa_json_find(r, "method")), "GET");
    int64_t at = -1;

    if (get)
        golden_text(c, golden_label(c, "requests[%zu].type", i), vpa_json_find(r, "type"), NULL);
    else
        golden_one_of(c, golden_label(c, "requests[%zu].type", i), vpa_json_find(r, "type"), types);
    golden_one_of(c, golden_label(c, "requests[%zu].accept", i), vpa_json_find(r, "accept"),
                  accepts);
    golden_compared(c, vpa_json_find(r, "t_ms"));
    if (!vpa_json_int64(vpa_json_find(r, "t_ms"), &at) || at % 100 != 0 || at < *last_ms ||
        at > run_ms + 1000)
        golden_difference(c, golden_label(c, "requests[%zu].t_ms", i), "a time in the run",
                          "another");
    *last_ms = at;
    golden_compared(c, vpa_json_find(r, "method")); /* the rest is in the phases */
    golden_compared(c, vpa_json_find(r, "path"));
    golden_compared(c, vpa_json_find(r, "code"));
    golden_compared(c, vpa_json_find(r, "body"));
    if (!get)
        golden_compared(c, vpa_json_find(r, "acquire_equals_renew"));
}

static void compare_phases(struct golden_case *c)
{
    const struct vpa_json *wanted = GOLDEN_OUT(c, "requests");
    struct phase *want = vpa_arena_zalloc(c->arena, (vpa_json_count(wanted) + 1) * sizeof(*want));
    struct phase *got = vpa_arena_zalloc(c->arena, (lease_world.count + 1) * sizeof(*got));
    size_t want_count = 0, got_count = 0, number = 0;
    int64_t last_ms = 0;
    vpa_auto_buf a = VPA_BUF(1 << 20), b = VPA_BUF(1 << 20);

    if (!vpa_json_is_array(wanted) || vpa_json_count(wanted) == 0)
        golden_count(c, "requests", wanted, 0);
    vpa_json_foreach (r, wanted) {
        compare_remarks(c, number++, r, golden_in_int(c, "run_ms"), &last_ms);
        want_count = add_phase(want, want_count, wanted_text(r));
    }
    for (size_t i = 0; i < lease_world.count; i++)
        got_count = add_phase(got, got_count, got_text(&lease_world.requests[i], wanted));
    size_t same = 0;
    while (same < want_count && same < got_count && strcmp(want[same].text, got[same].text) == 0)
        same++;
    for (size_t i = same; i < want_count; i++)
        vpa_buf_printf(&a, "%s\n", want[i].text);
    for (size_t i = same; i < got_count; i++)
        vpa_buf_printf(&b, "%s\n", got[i].text);
    if (same < want_count || same < got_count) /* U11: behind all of the reference's come ours */
        golden_difference(
            c,
            golden_label(c, "%s[%zu...]",
                         same < want_count && golden_tagged(c, "U11") ? "phases" : "requests",
                         same),
            vpa_buf_text(&a), vpa_buf_text(&b));
    for (size_t i = 0; i < same; i++)
        if (!want[i].waiting && abs(want[i].count - got[i].count) > 2)
            golden_difference(c, golden_label(c, "phase[%zu]", i),
                              vpa_arena_printf(c->arena, "%d times", want[i].count),
                              vpa_arena_printf(c->arena, "%d times", got[i].count));
}

static void on_started(void *ctx)
{
    (void)ctx;
    lease_world.started = true;
}

static void on_lost(void *ctx)
{
    (void)ctx;
    lease_world.lost = true;
    vpa_loop_stop(lease_world.loop);
}

struct flags {
    bool elect;
    const char *lock;
    struct vpa_elector_options options;
};

static void read_flags(struct golden_case *c, struct flags *f)
{
    bool updater = vpa_str_eq(vpa_json_string(GOLDEN_IN(c, "daemon")), "updater");

    *f = (struct flags){.lock = "leases",
                        .options = {.ns = "kube-system",
                                    .name = updater ? "vpa-updater" : "vpa-recommender-lease",
                                    .identity = IDENTITY,
                                    .lease_duration = 15 * VPA_SECOND,
                                    .renew_deadline = 10 * VPA_SECOND,
                                    .retry_period = 2 * VPA_SECOND,
                                    .on_started = on_started,
                                    .on_lost = on_lost}};
    vpa_json_foreach (node, GOLDEN_IN(c, "flags")) {
        const char *flag = vpa_json_string(node), *value = strchr(flag, '=') + 1;
        struct vpa_error err;
        vpa_duration d = 0;
        bool is_duration = vpa_duration_parse(value, &d, &err) == 0;

        if (vpa_str_starts_with(flag, "--leader-elect="))
            f->elect = strcmp(value, "true") == 0;
        else if (vpa_str_starts_with(flag, "--leader-elect-resource-name="))
            f->options.name = value;
        else if (vpa_str_starts_with(flag, "--leader-elect-resource-namespace="))
            f->options.ns = value;
        else if (vpa_str_starts_with(flag, "--leader-elect-resource-lock="))
            f->lock = value;
        else if (is_duration && vpa_str_starts_with(flag, "--leader-elect-lease-duration="))
            f->options.lease_duration = d;
        else if (is_duration && vpa_str_starts_with(flag, "--leader-elect-renew-deadline="))
            f->options.renew_deadline = d;
        else if (is_duration && vpa_str_starts_with(flag, "--leader-elect-retry-period="))
            f->options.retry_period = d;
        else
            golden_difference(c, "flag", "known", flag);
    }
}

/* Exit as the daemons have it: 1 for a lock type, 2 for durations, 255 for a lost lease, 0 after
 * SIGTERM. */
static void compare_exit(struct golden_case *c, int code, const char *text)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "exit");
    const struct vpa_json *log = vpa_json_first(GOLDEN_OUT(c, "log_excerpt"));
    int64_t after = -1;

    if (code < 0) {
        golden_compared(c, want);
        if (!want || !vpa_json_is_null(want))
            golden_difference(c, "exit", "an exit", "still running");
        return;
    }
    golden_int(c, "exit.code", vpa_json_find(want, "code"), code);
    if (!golden_tagged(c, "U11")) /* by a signal ends the reference at SIGTERM */
        golden_json(c, "exit.signal", vpa_json_find(want, "signal"), "null");
    else if (golden_int(c, "exit.signal", vpa_json_find(want, "signal"), SIGTERM))
        golden_json(c, "exit.code (by a signal)", vpa_json_find(want, "code"), "null");
    golden_compared(c, vpa_json_find(want, "after_ms"));
    if (!vpa_json_int64(vpa_json_find(want, "after_ms"), &after) || after < 0 ||
        after > golden_in_int(c, "run_ms") || after % 100 != 0)
        golden_difference(c, "exit.after_ms", "a time in the run", "another");
    golden_compared(c, log);
    if (text && !strstr(vpa_or_empty(vpa_json_string(log)), text))
        golden_difference(c, "log", vpa_or_empty(vpa_json_string(log)), text);
}

/* Everything up to the comparison; the exit code (-1: still running) and a text of the log. */
static int drive_leader(struct golden_case *c, bool *started, const char **text)
{
    struct flags f;
    struct vpa_error err;
    int64_t run_ms = golden_in_int(c, "run_ms"), term_ms = 0;
    int exit_code = -1;

    lease_world_open(c, vpa_time_from_unix(1785585600, 123000), true,
                     vpa_json_at(c->in, "server.lease"));
    read_flags(c, &f);
    f.options.client = lease_world.client;
    if (!f.elect) {
        *started = true;
    } else if (vpa_elector_check_lock_type(f.lock, &err) < 0) {
        exit_code = 1;
        *text = vpa_arena_strdup(c->arena, err.text);
    } else if (vpa_elector_check(&f.options, &err) < 0) {
        exit_code = 2;
        *text = vpa_arena_strdup(c->arena, err.text);
    } else {
        struct vpa_elector *elector = vpa_elector_new(&f.options);
        bool term = vpa_json_int64(GOLDEN_IN(c, "sigterm_after_ms"), &term_ms);
        vpa_elector_start(elector);
        vpa_loop_pump(lease_world.loop, (term ? term_ms : run_ms) * VPA_MILLISECOND);
        *started = lease_world.started;
        if (lease_world.lost)
            exit_code = 255;
        if (term) {
            vpa_elector_release(elector, 3 * VPA_SECOND);
            exit_code = 0;
        }
        vpa_elector_free(elector);
    }
    lease_world_close();
    return exit_code;
}

static void run_leader(struct golden_case *c)
{
    const char *text = NULL;
    bool started = false;
    const struct vpa_json *first = GOLDEN_OUT(c, "first_other_request_ms");
    int64_t first_ms = -1;
    int exit_code = drive_leader(c, &started, &text);

    compare_phases(c);
    golden_bool(c, "main_loop_started", GOLDEN_OUT(c, "main_loop_started"), started);
    golden_compared(c, first);
    if (!first || started == vpa_json_is_null(first) ||
        (started && (!vpa_json_int64(first, &first_ms) || first_ms < 0 || first_ms % 100 != 0 ||
                     first_ms > golden_in_int(c, "run_ms"))))
        golden_difference(c, "first_other_request_ms", "a time in the run", "another");
    compare_exit(c, exit_code, text);
}

/* U11: whatever came before, the last request of a leader gives the lease back. */
static void check_released(struct golden_case *c)
{
    const char *text = NULL;
    bool started = false;

    drive_leader(c, &started, &text);
    const struct lease_request *last =
        lease_world.count ? &lease_world.requests[lease_world.count - 1] : NULL;
    if (!last || !last->body || strcmp(last->method, "PUT") != 0 ||
        !vpa_str_eq(
            vpa_json_string(vpa_json_at(lease_world_parse(last->body), "spec.holderIdentity")), ""))
        golden_difference(c, "released", "a PUT without holder", last ? last->method : "nothing");
}

/* U24: a status Lease that is there may say since when somebody has it and how often it changed
 * hands. The reference keeps both, we say what is so (follow_holding). */
static const char *const kept_members[] = {"acquireTime", "leaseTransitions"};

static const char *touches(struct golden_case *c)
{
    const struct vpa_json *spec = vpa_json_at(c->in, "lease.spec");

    for (size_t i = 0; i < VPA_COUNT(kept_members); i++)
        if (vpa_json_find(spec, kept_members[i]))
            return "U24";
    return NULL;
}

static void check_kept(struct golden_case *c)
{
    const struct vpa_json *given = vpa_json_at(c->in, "lease.spec");

    vpa_json_foreach (request, GOLDEN_OUT(c, "requests")) {
        const struct vpa_json *spec = vpa_json_at(request, "body.spec");

        for (size_t i = 0; spec && i < VPA_COUNT(kept_members); i++) {
            const struct vpa_json *a = vpa_json_find(given, kept_members[i]);
            const struct vpa_json *b = vpa_json_find(spec, kept_members[i]);

            if (!a != !b || (a && !vpa_json_equal(a, b)))
                golden_difference(c, golden_label(c, "kept %s", kept_members[i]), "as it was",
                                  "another");
        }
    }
}

static void invariant(struct golden_case *c)
{
    if (strcmp(c->file, "status_lease") == 0)
        check_kept(c);
    else
        check_released(c);
}

/* status_lease.jsonl */

/* Members that only tell when the webhook was away; upstream has none of them. */
static char *without_start(const char *body)
{
    static const char *const members[] = {"\"acquireTime\":", "\"leaseTransitions\":"};
    char *copy = body ? vpa_xstrdup(body) : NULL;

    for (size_t i = 0; copy && i < VPA_COUNT(members); i++) {
        char *at = strstr(copy, members[i]);
        char *end = at ? at + strcspn(at, ",}") : NULL;

        if (at && *end == ',')
            end++;
        else if (at && at > copy && at[-1] == ',')
            at--;
        if (at)
            memmove(at, end, strlen(end) + 1);
    }
    return copy;
}

/* What a holder says of when it took the Lease, and how often that was done: both change with the
 * write that takes it, also after a gap of more than two intervals, and stay from then on. */
struct holding {
    vpa_time since; /* unset: it is not held */
    int64_t at_ms;  /* of the last write that succeeded */
    int64_t taken;
};

static void follow_holding(struct golden_case *c, struct holding *h, vpa_time start,
                           const struct lease_request *q, const char *name)
{
    const struct vpa_json *spec = vpa_json_find(lease_world_parse(q->body), "spec");
    bool made = strcmp(q->method, "POST") == 0;
    bool takes = made || vpa_time_is_unset(h->since) ||
                 q->at_ms - h->at_ms > 2 * golden_in_int(c, "interval_ms");
    vpa_time now = start + q->at_ms * VPA_MILLISECOND, since = VPA_TIME_UNSET;
    int64_t taken = 0, want = made ? 0 : h->taken + takes;

    if (vpa_time_parse(vpa_or_empty(vpa_json_string(vpa_json_find(spec, "acquireTime"))), &since,
                       NULL) < 0 ||
        since != (takes ? now : h->since))
        golden_difference(c, name, "acquireTime of the write that took the Lease", q->body);
    (void)vpa_json_int64(vpa_json_find(spec, "leaseTransitions"), &taken);
    if (taken != want)
        golden_difference(c, name, golden_label(c, "leaseTransitions %" PRId64, want), q->body);
    if (q->code / 100 == 2 && !q->abandoned)
        *h = (struct holding){since, q->at_ms, taken};
}

static void compare_request(struct golden_case *c, size_t i, const struct vpa_json *want,
                            const struct lease_request *q)
{
    golden_int(c, golden_label(c, "requests[%zu].at_ms", i), vpa_json_find(want, "at_ms"),
               q->at_ms);
    golden_text(c, golden_label(c, "requests[%zu].method", i), vpa_json_find(want, "method"),
                q->method);
    golden_text(c, golden_label(c, "requests[%zu].path", i), vpa_json_find(want, "path"), q->path);
    golden_int(c, golden_label(c, "requests[%zu].code", i), vpa_json_find(want, "code"),
               q->abandoned ? 0 : q->code);

    vpa_auto_free char *body = without_start(q->body);

    golden_json(c, golden_label(c, "requests[%zu].body", i), vpa_json_find(want, "body"), body);
    golden_text(c, golden_label(c, "requests[%zu].type", i), vpa_json_find(want, "type"),
                q->body ? "application/json" : NULL);
}

static void check(struct golden_case *c, size_t i, int64_t at, const struct vpa_json *want)
{
    struct vpa_status_view view = {.ns = golden_in_text(c, "namespace"),
                                   .name = golden_in_text(c, "name"),
                                   .timeout = golden_in_int(c, "timeout_ms") * VPA_MILLISECOND};
    struct vpa_error err;
    bool valid = false;
    int rc = vpa_status_lease_check(lease_world.client, &view, &valid, &err);

    golden_int(c, golden_label(c, "checks[%zu].at_ms", i), vpa_json_find(want, "at_ms"), at);
    golden_bool(c, golden_label(c, "checks[%zu].valid", i), vpa_json_find(want, "valid"), valid);
    golden_text(c, golden_label(c, "checks[%zu].error", i), vpa_json_find(want, "error"),
                rc < 0 ? err.text : NULL);
    golden_int(c, golden_label(c, "checks[%zu].end_ms", i), vpa_json_find(want, "end_ms"),
               vpa_loop_monotonic(lease_world.loop) / VPA_MILLISECOND);
}

static void pump_until(int64_t ms)
{
    int64_t left = ms * VPA_MILLISECOND - vpa_loop_monotonic(lease_world.loop);

    if (left > 0)
        vpa_loop_pump(lease_world.loop, left);
}

static void run_status(struct golden_case *c)
{
    const struct vpa_json *want = vpa_json_first(GOLDEN_OUT(c, "checks"));
    int64_t interval = golden_in_int(c, "interval_ms"), at;
    struct vpa_status_writer *writer = NULL;
    struct holding holding = {.since = VPA_TIME_UNSET};
    vpa_time start = 0;
    size_t i = 0;

    if (!golden_read_time(GOLDEN_IN(c, "start"), &start) &&
        vpa_time_parse(golden_in_text(c, "start"), &start, NULL) < 0)
        return;
    lease_world_open(c, start, false, GOLDEN_IN(c, "lease"));
    golden_count(c, "checks", GOLDEN_OUT(c, "checks"), vpa_json_count(GOLDEN_IN(c, "check_ms")));
    const struct vpa_status_writer_options options = {.client = lease_world.client,
                                                      .ns = golden_in_text(c, "namespace"),
                                                      .name = golden_in_text(c, "name"),
                                                      .holder = golden_in_text(c, "holder"),
                                                      .interval = interval * VPA_MILLISECOND};
    if (interval > 0) {
        writer = vpa_status_writer_new(&options);
        vpa_status_writer_start(writer);
    }
    vpa_json_foreach (node, GOLDEN_IN(c, "check_ms")) {
        vpa_json_int64(node, &at);
        pump_until(at);
        check(c, i++, at, want);
        want = want ? vpa_json_next(want) : NULL;
    }
    pump_until(golden_in_int(c, "run_ms"));
    vpa_status_writer_free(writer);
    vpa_json_int64(vpa_json_at(GOLDEN_IN(c, "lease"), "spec.leaseTransitions"), &holding.taken);
    for (i = 0; i < lease_world.count; i++) {
        if (lease_world.requests[i].body)
            follow_holding(c, &holding, start, &lease_world.requests[i],
                           golden_label(c, "requests[%zu].body", i));
    }
    i = 0;
    vpa_json_foreach (request, GOLDEN_OUT(c, "requests")) {
        if (i < lease_world.count)
            compare_request(c, i, request, &lease_world.requests[i]);
        i++;
    }
    golden_count(c, "requests", GOLDEN_OUT(c, "requests"), lease_world.count);
    lease_world_close();
}

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "leader_election") == 0)
        run_leader(c);
    else
        run_status(c);
}

/* U11: the release and what it takes, and how the process ends. */
static const struct golden_licence licences[] = {
    {"U11", {"requests[*...]", "exit.code"}},
    {"U24", {"requests[*].body.spec.acquireTime", "requests[*].body.spec.leaseTransitions"}},
    {NULL, {NULL}},
};

/* Lines of the reference's log behind the first, and the answers of a daemon that waits, which the
 * scenarios ask. */
static const char *const information[] = {"log_excerpt", "log_excerpt[*", "health.*", NULL};

const struct golden_set golden_set_leader_election = {.name = "leader_election",
                                                      .run = run,
                                                      .invariant = invariant,
                                                      .touches = touches,
                                                      .licences = licences,
                                                      .information = information};
