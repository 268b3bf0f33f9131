/* Owners: walk, selectors, scale look-ups with their memory, views from another thread, discovery.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/kube/owner.h"
#include "vpa/net/memory_transport.h"

static struct vpa_clock *clk;
static struct vpa_loop *loop;
static struct vpa_random rnd;
static struct vpa_transport *transport;
static struct vpa_kube_client *client;
static struct vpa_owners *owners;
static struct vpa_error err;

/* The server */
static const char *deployments = "", *replica_sets = "", *jobs = "", *daemon_sets = "";
static struct vpa_memory_stream *watch_of_deployments;
static int scale_gets, discovery_gets;
static const char *scale_body; /* of widgets/w; NULL: 404 */
static int scale_code;
static vpa_duration scale_delay;
static void (*on_scale_get)(void); /* NULL: nothing */
static bool group_known, every_widget;
static int widgets_version; /* preferred: 1 or 2 */

static void list(struct vpa_memory_reply *r, const char *items)
{
    vpa_auto_free char *text =
        vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}", items);

    vpa_memory_reply_json(r, 200, text);
}

static void serve_discovery(const char *path, struct vpa_memory_reply *r)
{
    discovery_gets++;
    if (strcmp(path, "/api/v1") == 0)
        vpa_memory_reply_json(
            r, 200,
            "{\"resources\":[{\"name\":\"pods\",\"kind\":\"Pod\",\"namespaced\":true},"
            "{\"name\":\"pods/resize\",\"kind\":\"Pod\",\"namespaced\":true}]}");
    else if (strcmp(path, "/apis/example.com") == 0 && group_known)
        vpa_memory_reply_json(
            r, 200,
            widgets_version == 3
                ? "{\"preferredVersion\":{\"version\":\"../../v9?x=\"},\"versions\":[{\"version\":"
                  "\"v1/x\"},{\"version\":\"\"},{\"version\":\"v1\"}]}"
            : widgets_version == 1
                ? "{\"preferredVersion\":{\"version\":\"v1\"},\"versions\":[{\"version\":"
                  "\"v2\"},{\"version\":\"v1\"}]}"
                : "{\"preferredVersion\":{\"version\":\"v2\"},\"versions\":[{\"version\":"
                  "\"v2\"},{\"version\":\"v1\"}]}");
    else if (vpa_str_starts_with(path, "/apis/example.com/v") && group_known)
        vpa_memory_reply_json(
            r, 200,
            "{\"resources\":[{\"name\":\"widgets\",\"kind\":\"Widget\",\"namespaced\":true},"
            "{\"name\":\"widgets/scale\",\"kind\":\"Scale\",\"namespaced\":true},{\"name\":7}]}");
    else
        vpa_memory_reply_status(r, 404, NULL, "the server could not find the requested resource");
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    const char *path = q->path;

    (void)ctx;
    if (q->watch) {
        struct vpa_memory_stream *s = vpa_memory_reply_stream(r, 200, NULL, NULL);
        if (vpa_str_ends_with(path, "/deployments"))
            watch_of_deployments = s;
    } else if (vpa_str_ends_with(path, "/scale")) {
        scale_gets++;
        vpa_memory_reply_delay(r, scale_delay);
        if (on_scale_get)
            on_scale_get();
        if (scale_code)
            vpa_memory_reply_status(r, scale_code, NULL, "boom");
        else if (scale_body && (every_widget || strstr(path, "/widgets/w/")))
            vpa_memory_reply_json(r, 200, scale_body);
        else
            vpa_memory_reply_status(r, 404, NULL, "widgets.example.com \"w\" not found");
    } else if (vpa_str_ends_with(path, "/deployments")) {
        list(r, deployments);
    } else if (vpa_str_ends_with(path, "/replicasets")) {
        list(r, replica_sets);
    } else if (vpa_str_ends_with(path, "/jobs")) {
        list(r, jobs);
    } else if (vpa_str_ends_with(path, "/daemonsets")) {
        list(r, daemon_sets);
    } else if (vpa_str_ends_with(path, "s") && !vpa_str_ends_with(path, "/apis")) {
        list(r, "");
    } else {
        serve_discovery(path, r);
    }
}

#define OWNED(name, kind, owner, version, spec)                                                    \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name                                          \
    "\",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind                     \
    "\",\"name\":\"" owner "\",\"uid\":\"u\",\"controller\":true}]},\"spec\":" spec "}"
#define FREE(name, spec)                                                                           \
    "{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\"},\"spec\":" spec "}"
#define APP "{\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}"
#define SCALE(selector, replicas)                                                                  \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/"                                            \
    "v1\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"replicas\":" replicas      \
    "},\"status\":{\"replicas\":1,\"selector\":\"" selector "\"}}"

static void setup(void)
{
    struct vpa_kube_client_options options = {.qps = -1, .random = &rnd};

    clk = vpa_clock_new_manual(vpa_time_from_unix(1772366400, 0));
    loop = vpa_loop_new(clk);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    vpa_random_init(&rnd, 3);
    options.loop = loop;
    options.transport = transport;
    client = vpa_kube_client_new(&options, NULL);
    owners = vpa_owners_new(&(struct vpa_owners_options){.client = client});
    deployments =
        FREE("web", APP) "," OWNED("managed", "Widget", "w", "example.com/v1", APP) "," OWNED(
            "onnode", "Node", "node", "v1", APP) "," OWNED("odd", "Thing", "t", "a/b/c", APP);
    replica_sets = OWNED("web-1", "Deployment", "web", "apps/v1", APP) "," OWNED(
        "lost-1", "Deployment", "lost", "apps/v1",
        APP) "," OWNED("loop-1", "ReplicaSet", "loop-2", "apps/v1",
                       APP) "," OWNED("loop-2", "ReplicaSet", "loop-1", "apps/v1", APP);
    jobs = FREE("job", "{\"parallelism\":4,\"selector\":{\"matchLabels\":{\"j\":\"1\"}}}");
    daemon_sets = "{\"metadata\":{\"namespace\":\"n\",\"name\":\"ds\"},\"spec\":{\"selector\":{"
                  "\"matchExpressions\":"
                  "[{\"key\":\"a\",\"operator\":\"Has\"}]}},\"status\":{\"desiredNumberScheduled\":"
                  "6,\"numberReady\":5}}";
    scale_gets = discovery_gets = scale_code = 0;
    scale_delay = 0;
    on_scale_get = NULL;
    scale_body = SCALE("app=w", "7");
    group_known = true;
    every_widget = false;
    widgets_version = 1;
}

static void synced(void)
{
    vpa_owners_start(owners);
    ck_assert_msg(vpa_owners_wait(owners, VPA_MINUTE, &err) == 0, "%s", err.text);
    vpa_owners_begin_pass(owners);
}

static void teardown(void)
{
    vpa_owners_free(owners);
    vpa_kube_client_free(client);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

static const struct {
    const char *kind, *name, *version;
    const char *top_kind, *top_name; /* NULL: none */
    const char *error;
} walks[] = {
    {"ReplicaSet", "web-1", "apps/v1", "Deployment", "web", NULL},
    {"Deployment", "web", "apps/v1", "Deployment", "web", NULL},
    {"Deployment", "managed", "apps/v1", "Widget", "w", NULL},
    {"Widget", "w", "example.com/v1", "Widget", "w", NULL},
    {"widget", "w", "example.com/v9", "widget", "w", NULL},
    {"Widget", "missing", "example.com/v1", NULL, NULL, NULL},
    {"ReplicaSet", "lost-1", "apps/v1", NULL, NULL, "Deployment n/lost does not exist"},
    {"ReplicaSet", "none", "apps/v1", NULL, NULL, "ReplicaSet n/none does not exist"},
    {"ReplicaSet", "loop-1", "apps/v1", NULL, NULL, "cycle detected in ownership chain"},
    {"Deployment", "onnode", "apps/v1", NULL, NULL,
     "unhandled targetRef v1 / Node / node, last error node is not a valid owner"},
    {"Deployment", "odd", "apps/v1", NULL, NULL, "unexpected GroupVersion string: a/b/c"},
    {"Gadget", "g", "example.com/v1", NULL, NULL,
     "unhandled targetRef example.com/v1 / Gadget / g, last error no matches for kind \"Gadget\" "
     "in group "
     "\"example.com\""},
};

static void compare_walk(int rc, bool found, const struct vpa_controller_key *top, int i)
{
    ck_assert_msg(rc == (walks[i].error ? -1 : 0), "%s", err.text);
    if (rc < 0) {
        ck_assert_str_eq(err.text, walks[i].error);
        return;
    }
    ck_assert_int_eq(found, walks[i].top_kind != NULL);
    if (found) {
        ck_assert_str_eq(top->kind, walks[i].top_kind);
        ck_assert_str_eq(top->name, walks[i].top_name);
        ck_assert_str_eq(top->ns, "n");
    }
}

START_TEST(walks_up)
{
    const struct vpa_controller_key key = {"n", walks[_i].kind, walks[_i].name, walks[_i].version};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = false;

    synced();
    int rc = vpa_owners_topmost(owners, &key, &arena, &found, &top, &err);
    compare_walk(rc, found, &top, _i);
    if (rc < 0)
        ck_assert_int_eq(vpa_owner_is_node_error(&err),
                         strstr(walks[_i].error, "valid owner") != NULL);
}
END_TEST

/* The same questions to a view, asked again until the background knows the answer. */
START_TEST(views_answer_alike)
{
    const struct vpa_controller_key key = {"n", walks[_i].kind, walks[_i].name, walks[_i].version};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = false;
    int rc = -1;

    synced();
    for (int round = 0; round < 5; round++) {
        struct vpa_owner_view *view = vpa_owners_view(owners);
        rc = vpa_owner_view_topmost(view, &key, &arena, &found, &top, &err);
        vpa_owner_view_unref(view);
        if (rc == 0 || err.code != VPA_RETRY)
            break;
        ck_assert_ptr_nonnull(strstr(err.text, "is not known yet"));
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    compare_walk(rc, found, &top, _i);
}
END_TEST

static const struct {
    const char *kind, *name, *version, *scale;
    const char *selector, *error;
} selectors[] = {
    {"Deployment", "web", "whatever", NULL, "app=x", NULL},
    {"Job", "job", "batch/v1", NULL, "j=1", NULL},
    {"Deployment", "nope", "apps/v1", NULL, NULL, "Deployment n/nope does not exist"},
    {"DaemonSet", "ds", "apps/v1", NULL, NULL, "\"Has\" is not a valid label selector operator"},
    {"Widget", "w", "example.com/v1", SCALE("a in (b,c),d", "1"), "a in (b,c),d", NULL},
    {"Widget", "w", "example.com/v1", SCALE("", "1"), NULL,
     "unhandled targetRef example.com/v1 / Widget / w, last error resource n/w has an empty "
     "selector for "
     "scale sub-resource"},
    {"Widget", "w", "example.com/v1", SCALE("a!=b", "1"), NULL,
     "unhandled targetRef example.com/v1 / Widget / w, last error received an object from a /scale "
     "endpoint "
     "which was not convertible to autoscaling Scale: failed to parse target selector: \"!=\" is "
     "not a valid "
     "label selector operator"},
    {"Widget", "x", "example.com/v1", NULL, NULL,
     "unhandled targetRef example.com/v1 / Widget / x, last error widgets.example.com \"w\" not "
     "found"},
    {"Widget", "w", "a/b/c", NULL, NULL, "unexpected GroupVersion string: a/b/c"},
    {"Foo", "w", "unknown.io/v1", NULL, NULL,
     "unhandled targetRef unknown.io/v1 / Foo / w, last error no matches for kind \"Foo\" in group "
     "\"unknown.io\""},
    {"Foo", "w", "BAD_group!/v1", NULL, NULL,
     "unhandled targetRef BAD_group!/v1 / Foo / w, last error no matches for kind \"Foo\" in group "
     "\"BAD_group!\""},
};

START_TEST(finds_selectors)
{
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, 4096);
    if (selectors[_i].scale)
        scale_body = selectors[_i].scale;
    synced();
    int rc = vpa_owners_selector(owners, "n", selectors[_i].version, selectors[_i].kind,
                                 selectors[_i].name, &arena, &selector, &err);
    ck_assert_msg(rc == (selectors[_i].error ? -1 : 0), "%s", err.text);
    if (rc < 0) {
        ck_assert_str_eq(err.text, selectors[_i].error);
    } else {
        vpa_selector_format(&selector, &text);
        ck_assert_str_eq(vpa_buf_text(&text), selectors[_i].selector);
    }
    /* The view says the same, once followed. */
    const struct vpa_selector *borrowed;
    vpa_owners_follow_target(owners, "n", selectors[_i].version, selectors[_i].kind,
                             selectors[_i].name);
    vpa_loop_pump(loop, VPA_MILLISECOND);
    struct vpa_owner_view *view = vpa_owners_view(owners);
    ck_assert_int_eq(vpa_owner_view_selector(view, "n", selectors[_i].version, selectors[_i].kind,
                                             selectors[_i].name, &borrowed, &err),
                     rc);
    if (rc < 0)
        ck_assert_str_eq(err.text, selectors[_i].error);
    vpa_owner_view_unref(view);
}
END_TEST

static int walk_widget(void)
{
    const struct vpa_controller_key key = {"n", "Widget", "w", "example.com/v1"};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = false;

    return vpa_owners_topmost(owners, &key, &arena, &found, &top, &err) < 0 ? -1 : found;
}

START_TEST(remembers_scales)
{
    synced();
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(walk_widget(), 1);
        vpa_owners_begin_pass(owners);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
    ck_assert_int_eq(scale_gets, 1);
    vpa_loop_pump(loop, 20 * VPA_MINUTE); /* refreshed after 10 to 20 minutes */
    ck_assert_int_ge(scale_gets, 2);
    int before = scale_gets;
    vpa_loop_pump(loop, 3 * VPA_HOUR); /* nobody reads it: forgotten after an hour */
    ck_assert_int_le(scale_gets, before + 6);
    before = scale_gets;
    vpa_loop_pump(loop, 10 * VPA_HOUR);
    ck_assert_int_eq(scale_gets, before);
    ck_assert_int_eq(walk_widget(), 1);
    ck_assert_int_eq(scale_gets, before + 1);
}
END_TEST

/* The walk asks nothing in a steady pass, the selector once. */
START_TEST(steady_passes_ask_for_selectors_alone)
{
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    synced();
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(vpa_owners_selector(owners, "n", "example.com/v1", "Widget", "w", &arena,
                                             &selector, &err),
                         0);
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(walk_widget(), 1);
        vpa_owners_begin_pass(owners);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    ck_assert_int_eq(scale_gets, 10);
    ck_assert_int_eq(discovery_gets, 3);
    scale_body = SCALE("app=other", "1");
    ck_assert_int_eq(
        vpa_owners_selector(owners, "n", "example.com/v1", "Widget", "w", &arena, &selector, &err),
        0);
    ck_assert_str_eq(selector.items[0].values[0], "other");
}
END_TEST

static void follow_many(int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        vpa_owners_follow_target(owners, "n", "example.com/v1", "Widget", name);
    }
}

START_TEST(background_is_bounded)
{
    synced();
    every_widget = true;
    scale_delay = VPA_SECOND;
    follow_many(40);
    for (int i = 1; i <= 5; i++) {
        vpa_loop_pump(loop, VPA_SECOND - VPA_MILLISECOND);
        ck_assert_int_eq(scale_gets, i * VPA_OWNER_FETCHES_MAX);
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets, 40);
    scale_delay = 0;
    for (int i = 0; i < 4; i++) {
        follow_many(400);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    follow_many(400);
    int most = 0, total = 0;
    for (int i = 0; i < 9; i++) { /* nine sweeps: each target twice, a little less for the 40 */
        scale_gets = 0;
        vpa_loop_pump(loop, 7 * VPA_SECOND);
        most = scale_gets > most ? scale_gets : most;
        total += scale_gets;
    }
    ck_assert_int_le(most, VPA_OWNER_SWEEP_MAX);
    ck_assert_int_ge(most, 100);
    ck_assert_int_ge(total, 400); /* everybody had his turn */
}
END_TEST

static void free_owners(void *ctx)
{
    (void)ctx;
    vpa_owners_free(owners);
    owners = NULL;
}

/* Callbacks that pumped the loop would come back to what is gone here. */
START_TEST(owners_can_go_while_answers_are_awaited)
{
    struct vpa_timer *timer = vpa_timer_new(loop, free_owners, NULL);

    synced();
    every_widget = true;
    scale_delay = VPA_SECOND;
    if (_i > 0) /* known, and on their way to be refreshed */
        follow_many(20);
    if (_i > 0)
        vpa_loop_pump(loop, 36 * VPA_SECOND);
    follow_many(40);
    if (_i < 2) /* else: before the first step */
        vpa_loop_pump(loop, 500 * VPA_MILLISECOND);
    if (_i == 0)
        ck_assert_int_gt(scale_gets, 0);
    vpa_timer_start(timer, 0);
    int before = scale_gets;
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_ptr_null(owners);
    ck_assert_int_le(scale_gets - before, VPA_OWNER_FETCHES_MAX);
    vpa_timer_free(timer);
}
END_TEST

START_TEST(discovery_is_read_once_for_all)
{
    synced();
    every_widget = true;
    follow_many(8);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets, 8);
    ck_assert_int_eq(discovery_gets, 3); /* the group and its two versions */
}
END_TEST

static bool knows_widget(const char *name)
{
    const struct vpa_selector *selector;
    struct vpa_owner_view *view = vpa_owners_view(owners);
    bool known = vpa_owner_view_selector(view, "n", "example.com/v1", "Widget", name, &selector,
                                         &err) == 0 ||
                 err.code != VPA_RETRY;

    vpa_owner_view_unref(view);
    return known;
}

static void ask_for_other(void)
{
    on_scale_get = NULL;
    ck_assert(!knows_widget("other"));
}

START_TEST(keeps_targets_that_it_is_told_to_keep)
{
    synced();
    ck_assert(!knows_widget("w"));
    for (int i = 0; i < 12; i++) { /* four hours without a pod */
        vpa_owners_keep_target(owners, "n", "example.com/v1", "Widget", "w");
        vpa_loop_pump(loop, 20 * VPA_MINUTE);
    }
    ck_assert(knows_widget("w"));
    vpa_loop_pump(loop, 2 * VPA_HOUR);
    ck_assert(!knows_widget("w"));
}
END_TEST

/* A target that is asked for while the background work waits for the answer about another one. */
START_TEST(does_not_forget_what_is_wanted_while_it_is_busy)
{
    synced();
    ck_assert(!knows_widget("w"));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(knows_widget("w"));
    scale_delay = VPA_SECOND;
    on_scale_get = ask_for_other;
    vpa_loop_pump(loop, 30 * VPA_MINUTE); /* refreshed within 20 */
    ck_assert(on_scale_get == NULL);
    ck_assert(knows_widget("other"));
}
END_TEST

START_TEST(negative_answers_last_one_pass)
{
    scale_body = NULL;
    synced();
    ck_assert_int_eq(walk_widget(), 0);
    ck_assert_int_eq(walk_widget(), 0);
    ck_assert_int_eq(scale_gets, 1);
    scale_body = SCALE("a=b", "1");
    ck_assert_int_eq(walk_widget(), 0); /* the same pass */
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(walk_widget(), 1);
    scale_code = 500;
    vpa_loop_pump(loop, 25 * VPA_MINUTE);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(walk_widget(), -1);
    ck_assert_str_eq(err.text, "unhandled targetRef example.com/v1 / Widget / w, last error boom");
}
END_TEST

START_TEST(discovery_is_asked_again)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    group_known = false;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    ck_assert_int_eq(err.code, VPA_NOT_FOUND);
    group_known = true;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), -1);
    vpa_discovery_begin_pass(d);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_uint_eq(count, 1); /* the same plural in two versions */
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_str_eq(m[0].resource, "widgets");
    int before = discovery_gets;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "widget", &m, &count, &err), 0);
    ck_assert_int_eq(discovery_gets, before);
    widgets_version = 2;
    vpa_loop_pump(loop, 5 * VPA_MINUTE);
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v2");
    ck_assert(vpa_discovery_has_subresource(d, "v1", "pods/resize"));
    ck_assert(!vpa_discovery_has_subresource(d, "v1", "pods/scale"));
    ck_assert(vpa_discovery_has_subresource(d, "example.com/v2", "widgets/scale"));
    ck_assert(!vpa_discovery_has_subresource(d, "nowhere.io/v2", "widgets/scale"));
}
END_TEST

START_TEST(knows_replicas)
{
    const struct {
        struct vpa_controller_key key;
        bool known;
        int32_t replicas;
    } cases[] = {
        {{"n", "Deployment", "web", "apps/v1"}, true, 3},
        {{"n", "Job", "job", "batch/v1"}, true, 4},
        {{"n", "DaemonSet", "ds", "apps/v1"}, true, 5},
        {{"n", "Deployment", "no", "apps/v1"}, false, 0},
        {{"n", "Widget", "w", "example.com/v1"}, true, 7},
        {{"n", "Widget", "x", "example.com/v1"}, false, 0},
        {{"n", "Node", "x", "v1"}, false, 0},
    };

    synced();
    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        int32_t replicas = 0;
        ck_assert_int_eq(vpa_owners_replicas(owners, &cases[i].key, &replicas), cases[i].known);
        ck_assert_int_eq(replicas, cases[i].replicas);
    }
}
END_TEST

/* What a server calls a version goes into paths. */
START_TEST(odd_versions_are_left_out)
{
    struct vpa_discovery *d = vpa_owners_discovery(owners);
    const struct vpa_rest_mapping *m;
    size_t count;

    widgets_version = 3;
    ck_assert_int_eq(vpa_discovery_find(d, "example.com", "Widget", &m, &count, &err), 0);
    ck_assert_str_eq(m[0].version, "v1");
    ck_assert_int_eq(discovery_gets, 2);
}
END_TEST

static int changes;

static void on_change(void *ctx)
{
    (void)ctx;
    changes++;
}

START_TEST(views_follow_changes)
{
    const struct vpa_selector *selector;

    vpa_owners_on_change(owners, on_change, NULL);
    synced();
    vpa_loop_poll(loop);
    struct vpa_owner_view *first = vpa_owners_view(owners), *same = vpa_owners_view(owners);
    ck_assert_ptr_eq(first, same);
    vpa_owner_view_unref(same);
    changes = 0;
    /* a change of what is not kept is none */
    vpa_memory_stream_event(watch_of_deployments, "MODIFIED", FREE("web", APP));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert_int_eq(changes, 0);
    vpa_memory_stream_event(watch_of_deployments, "ADDED",
                            FREE("new", "{\"selector\":{\"matchLabels\":{\"app\":\"y\"}}}"));
    vpa_memory_stream_event(watch_of_deployments, "DELETED", FREE("web", APP));
    vpa_memory_stream_event(watch_of_deployments, "MODIFIED", "{\"metadata\":7}");
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert_int_ge(changes, 1);
    struct vpa_owner_view *second = vpa_owners_view(owners);
    ck_assert_ptr_ne(first, second);
    ck_assert_int_eq(vpa_owner_view_selector(first, "n", "", "Deployment", "web", &selector, &err),
                     0);
    ck_assert_int_eq(vpa_owner_view_selector(first, "n", "", "Deployment", "new", &selector, &err),
                     -1);
    ck_assert_int_eq(vpa_owner_view_selector(second, "n", "", "Deployment", "web", &selector, &err),
                     -1);
    ck_assert_int_eq(vpa_owner_view_selector(second, "n", "", "Deployment", "new", &selector, &err),
                     0);
    vpa_owner_view_unref(second);
    /* the older one outlives the owners */
    vpa_owners_free(owners);
    owners = NULL;
    ck_assert_int_eq(vpa_owner_view_selector(first, "n", "", "Deployment", "web", &selector, &err),
                     0);
    ck_assert_int_eq(
        vpa_owner_view_selector(first, "n", "example.com/v1", "Widget", "w", &selector, &err), -1);
    vpa_owner_view_unref(first);
}
END_TEST

static struct vpa_owner_view *shared;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static bool asking;

static void *ask(void *ctx)
{
    int *answers = ctx;
    struct vpa_error why;

    for (int i = 0; i < 3000; i++) {
        const struct vpa_controller_key key = {"n", i % 2 ? "ReplicaSet" : "Widget",
                                               i % 2 ? "web-1" : "w",
                                               i % 2 ? "apps/v1" : "example.com/v1"};
        struct vpa_controller_key top;
        vpa_auto_arena arena = {0};
        bool found = false;

        pthread_mutex_lock(&shared_lock);
        struct vpa_owner_view *view = vpa_owner_view_ref(shared);
        pthread_mutex_unlock(&shared_lock);
        if (vpa_owner_view_topmost(view, &key, &arena, &found, &top, &why) == 0 && found)
            ++*answers;
        vpa_owner_view_unref(view);
    }
    pthread_mutex_lock(&shared_lock);
    asking = false;
    pthread_mutex_unlock(&shared_lock);
    return NULL;
}

START_TEST(views_are_shared_with_threads)
{
    pthread_t thread;
    int answers = 0;
    bool going = true;

    synced();
    shared = vpa_owners_view(owners);
    asking = true;
    pthread_create(&thread, NULL, ask, &answers);
    for (int i = 0; going; i++) {
        vpa_auto_free char *object = vpa_xprintf(
            "{\"metadata\":{\"namespace\":\"n\",\"name\":\"d%d\"},\"spec\":" APP "}", i % 50);
        vpa_memory_stream_event(watch_of_deployments, i % 3 ? "ADDED" : "DELETED", object);
        vpa_loop_pump(loop, VPA_MILLISECOND);
        struct vpa_owner_view *fresh = vpa_owners_view(owners);
        pthread_mutex_lock(&shared_lock);
        struct vpa_owner_view *old = shared;
        shared = fresh;
        going = asking;
        pthread_mutex_unlock(&shared_lock);
        vpa_owner_view_unref(old);
    }
    pthread_join(thread, NULL);
    vpa_owner_view_unref(shared);
    ck_assert_int_ge(answers, 1500);
}
END_TEST

START_TEST(says_which_cache_is_missing)
{
    vpa_owners_free(owners);
    owners = vpa_owners_new(&(struct vpa_owners_options){.client = client, .ns = "only"});
    deployments = "]"; /* never a list */
    vpa_owners_start(owners);
    ck_assert(!vpa_owners_is_synced(owners));
    ck_assert_int_eq(vpa_owners_wait(owners, 10 * VPA_SECOND, &err), -1);
    ck_assert_msg(vpa_str_starts_with(err.text, "deployments not in step: list: "), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owner");
    TCase *c = tcase_create("owner");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, walks_up, 0, VPA_COUNT(walks));
    tcase_add_loop_test(c, views_answer_alike, 0, VPA_COUNT(walks));
    tcase_add_loop_test(c, finds_selectors, 0, VPA_COUNT(selectors));
    tcase_add_test(c, remembers_scales);
    tcase_add_test(c, steady_passes_ask_for_selectors_alone);
    tcase_add_test(c, background_is_bounded);
    tcase_add_loop_test(c, owners_can_go_while_answers_are_awaited, 0, 3);
    tcase_add_test(c, discovery_is_read_once_for_all);
    tcase_add_test(c, keeps_targets_that_it_is_told_to_keep);
    tcase_add_test(c, does_not_forget_what_is_wanted_while_it_is_busy);
    tcase_add_test(c, negative_answers_last_one_pass);
    tcase_add_test(c, discovery_is_asked_again);
    tcase_add_test(c, odd_versions_are_left_out);
    tcase_add_test(c, knows_replicas);
    tcase_add_test(c, views_follow_changes);
    tcase_add_test(c, views_are_shared_with_threads);
    tcase_add_test(c, says_which_cache_is_missing);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
