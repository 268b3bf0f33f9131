/* Owners: walks, selectors, replicas, and views of them from another thread. */
#include <pthread.h>

#include "owner_fixture.h"
#include "vpa/base/str.h"

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
        /* Not found is what may still come: a controller that the caches lack. */
        ck_assert_int_eq(err.code == VPA_NOT_FOUND, vpa_str_ends_with(err.text, "does not exist"));
        return;
    }
    ck_assert_int_eq(found, walks[i].top_kind != NULL);
    if (found) {
        ck_assert_str_eq(top->kind, walks[i].top_kind);
        ck_assert_str_eq(top->name, walks[i].top_name);
        ck_assert_str_eq(top->ns, "n");
    }
}

static struct vpa_arena names;

TEST_EACH(walks_up, walks) {
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

/* The same questions to a view, asked again until the background knows the answer. */
TEST_EACH(views_answer_alike, walks) {
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

static const struct {
    const char *kind, *name, *version;
    const char *labels; /* that the widget says; NULL: the usual */
    const char *selector, *error;
} selectors[] = {
    {"Deployment", "web", "whatever", NULL, "app=x", NULL},
    {"Job", "job", "batch/v1", NULL, "j=1", NULL},
    {"Deployment", "nope", "apps/v1", NULL, NULL, "Deployment n/nope does not exist"},
    {"DaemonSet", "ds", "apps/v1", NULL, NULL, "\"Has\" is not a valid label selector operator"},
    {"Widget", "w", "example.com/v1", "a in (b,c),d", "a in (b,c),d", NULL},
    {"Widget", "w", "example.com/v1", "", NULL,
     "unhandled targetRef example.com/v1 / Widget / w, last error resource n/w has an empty "
     "selector for "
     "scale sub-resource"},
    {"Widget", "w", "example.com/v1", "a!=b", NULL,
     "unhandled targetRef example.com/v1 / Widget / w, last error received an object from a /scale "
     "endpoint "
     "which was not convertible to autoscaling Scale: failed to parse target selector: \"!=\" is "
     "not a valid "
     "label selector operator"},
    {"Widget", "x", "example.com/v1", NULL, NULL,
     "unhandled targetRef example.com/v1 / Widget / x, last error widgets.example.com \"x\" not "
     "found"},
    {"Widget", "w", "a/b/c", NULL, NULL, "unexpected GroupVersion string: a/b/c"},
    {"Foo", "w", "unknown.io/v1", NULL, NULL,
     "unhandled targetRef unknown.io/v1 / Foo / w, last error no matches for kind \"Foo\" in group "
     "\"unknown.io\""},
    {"Foo", "w", "BAD_group!/v1", NULL, NULL,
     "unhandled targetRef BAD_group!/v1 / Foo / w, last error no matches for kind \"Foo\" in group "
     "\"BAD_group!\""},
};

/* However many scales there are, each is found, and none between them. */
TEST_RANGE(every_scale_is_found, 1, 10) {
    const int count = _i;
    const struct vpa_selector *selector;

    synced();
    put_widgets(count);
    follow_many(count);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets(), count);
    struct vpa_owner_view *view = vpa_owners_view(owners);
    for (int i = 0; i <= count; i++) {
        char name[16], between[16];
        snprintf(name, sizeof(name), "w%d", i);
        snprintf(between, sizeof(between), "w%d.", i);
        ck_assert_int_eq(vpa_owner_view_selector(view, WIDGET(name), &selector, &err),
                         i < count ? 0 : -1);
        if (i == count)
            ck_assert_str_eq(err.text, vpa_arena_printf(&names,
                                                        "scale of Widget n/%s is not "
                                                        "known yet",
                                                        name));
        ck_assert_int_eq(vpa_owner_view_selector(view, WIDGET(between), &selector, &err), -1);
        ck_assert_int_eq(err.code, VPA_RETRY);
    }
    vpa_owner_view_unref(view);
    vpa_arena_release(&names);
}

TEST_EACH(finds_selectors, selectors) {
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};
    vpa_auto_buf text = VPA_BUF(4096);

    if (selectors[_i].labels)
        put_widget("w", selectors[_i].labels, 1);
    synced();
    int rc = vpa_owners_selector(owners,
                                 KEY(selectors[_i].kind, selectors[_i].name, selectors[_i].version),
                                 &arena, &selector, &err);
    ck_assert_msg(rc == (selectors[_i].error ? -1 : 0), "%s", err.text);
    if (rc < 0) {
        ck_assert_str_eq(err.text, selectors[_i].error);
    } else {
        vpa_selector_format(&selector, &text);
        ck_assert_str_eq(vpa_buf_text(&text), selectors[_i].selector);
    }
    /* The view says the same, once followed. */
    const struct vpa_selector *borrowed;
    vpa_owners_follow_target(owners,
                             KEY(selectors[_i].kind, selectors[_i].name, selectors[_i].version));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    struct vpa_owner_view *view = vpa_owners_view(owners);
    ck_assert_int_eq(vpa_owner_view_selector(
                         view, KEY(selectors[_i].kind, selectors[_i].name, selectors[_i].version),
                         &borrowed, &err),
                     rc);
    if (rc < 0)
        ck_assert_str_eq(err.text, selectors[_i].error);
    vpa_owner_view_unref(view);
}

TEST(knows_replicas) {
    const struct {
        struct vpa_controller_key key;
        bool known;
        int32_t replicas, wanted;
    } cases[] = {
        {{"n", "Deployment", "web", "apps/v1"}, true, 3, 3},
        {{"n", "Job", "job", "batch/v1"}, true, 4, 4},
        {{"n", "DaemonSet", "ds", "apps/v1"}, true, 5, 6},
        {{"n", "Deployment", "no", "apps/v1"}, false, 0, 0},
        {{"n", "Widget", "w", "example.com/v1"}, true, 7, 7},
        {{"n", "Widget", "x", "example.com/v1"}, false, 0, 0},
    };
    static const struct vpa_controller_key unasked[] = {{"n", "Node", "x", "v1"},
                                                        {"n", "Thing", "t", "a/b/c"}};

    synced();
    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        int32_t replicas = 0, wanted = 0;
        ck_assert_int_eq(vpa_owners_replicas(owners, &cases[i].key, &replicas), cases[i].known);
        ck_assert_int_eq(replicas, cases[i].replicas);
        ck_assert_int_eq(vpa_owners_wanted(owners, &cases[i].key, &wanted), cases[i].known);
        ck_assert_int_eq(wanted, cases[i].wanted);
    }
    int asked = scale_gets() + discovery_gets();
    for (size_t i = 0; i < VPA_COUNT(unasked); i++) {
        int32_t replicas = 0;
        ck_assert(!vpa_owners_replicas(owners, &unasked[i], &replicas));
    }
    ck_assert_int_eq(scale_gets() + discovery_gets(), asked);
}

static int changes;

static void on_change(void *ctx)
{
    (void)ctx;
    changes++;
}

/* Nobody knows any more what it selects and who owns it; nor does a view. */
TEST(an_owner_that_no_longer_decodes_is_unknown) {
    const struct vpa_selector *selector;
    const struct vpa_controller_key web = {"n", "Deployment", "web", "apps/v1"};
    int32_t replicas;

    synced();
    ck_assert(vpa_owners_replicas(owners, &web, &replicas));
    sim_cluster_put_text(sim, DEPLOYMENT("web", "", "7"));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert(!vpa_owners_replicas(owners, &web, &replicas));
    struct vpa_owner_view *view = vpa_owners_view(owners);
    ck_assert_int_eq(vpa_owner_view_selector(view, KEY("Deployment", "web", ""), &selector, &err),
                     -1);
    vpa_owner_view_unref(view);
    sim_cluster_put_text(sim, DEPLOYMENT("web", "", APP));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert(vpa_owners_replicas(owners, &web, &replicas));
}

#define OTHER "\"selector\":{\"matchLabels\":{\"app\":\"other\"}}}"

/* Whatever of it is kept. */
TEST(each_change_of_an_owner_is_told) {
    static const char *const versions[] = {
        DEPLOYMENT("web", "", "{\"replicas\":3," OTHER),
        DEPLOYMENT("web", "", "{\"replicas\":4," OTHER),
        DEPLOYMENT("web", "", "{" OTHER),
        DEPLOYMENT("web", OWNER("example.com/v1", "Widget", "w"), "{" OTHER),
        DEPLOYMENT("web", OWNER("example.com/v2", "Widget", "w"), "{" OTHER),
    };

    vpa_owners_on_change(owners, on_change, NULL);
    synced();
    vpa_loop_poll(loop);
    for (size_t i = 0; i < VPA_COUNT(versions); i++) {
        changes = 0;
        sim_cluster_put_text(sim, versions[i]);
        vpa_loop_pump(loop, VPA_MILLISECOND);
        ck_assert_msg(changes == 1, "%s", versions[i]);
    }
}

TEST(views_follow_changes) {
    const struct vpa_selector *selector;

    vpa_owners_on_change(owners, on_change, NULL);
    synced();
    vpa_loop_poll(loop);
    struct vpa_owner_view *first = vpa_owners_view(owners), *same = vpa_owners_view(owners);
    ck_assert_ptr_eq(first, same);
    vpa_owner_view_unref(same);
    changes = 0;
    /* a change of what is not kept is none */
    sim_cluster_put_text(sim, DEPLOYMENT("web", "", APP));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert_int_eq(changes, 0);
    sim_cluster_put_text(sim,
                         DEPLOYMENT("new", "", "{\"selector\":{\"matchLabels\":{\"app\":\"y\"}}}"));
    ck_assert(sim_cluster_delete(sim, "apps/v1", "Deployment", "n", "web"));
    sim_cluster_tell(sim, "deployments", "MODIFIED", "{\"metadata\":7}");
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert_int_eq(changes, 1); /* once for what came together */
    struct vpa_owner_view *second = vpa_owners_view(owners);
    ck_assert_ptr_ne(first, second);
    ck_assert_int_eq(vpa_owner_view_selector(first, KEY("Deployment", "web", ""), &selector, &err),
                     0);
    ck_assert_int_eq(vpa_owner_view_selector(first, KEY("Deployment", "new", ""), &selector, &err),
                     -1);
    ck_assert_int_eq(vpa_owner_view_selector(second, KEY("Deployment", "web", ""), &selector, &err),
                     -1);
    ck_assert_int_eq(vpa_owner_view_selector(second, KEY("Deployment", "new", ""), &selector, &err),
                     0);
    vpa_owner_view_unref(second);
    /* the older one outlives the owners */
    vpa_owners_free(owners);
    owners = NULL;
    ck_assert_int_eq(vpa_owner_view_selector(first, KEY("Deployment", "web", ""), &selector, &err),
                     0);
    ck_assert_int_eq(vpa_owner_view_selector(first, WIDGET("w"), &selector, &err), -1);
    vpa_owner_view_unref(first);
}

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

TEST(views_are_shared_with_threads) {
    pthread_t thread;
    int answers = 0;
    bool going = true;

    synced();
    shared = vpa_owners_view(owners);
    asking = true;
    pthread_create(&thread, NULL, ask, &answers);
    for (int i = 0; going; i++) {
        char name[16];
        snprintf(name, sizeof(name), "d%d", i % 50);
        vpa_auto_free char *object =
            vpa_xprintf(OBJECT("apps/v1", "Deployment", "%s", "", APP), name);
        if (i % 3)
            sim_cluster_put_text(sim, object);
        else
            (void)sim_cluster_delete(sim, "apps/v1", "Deployment", "n", name);
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

TEST(says_which_cache_is_missing) {
    vpa_owners_free(owners);
    owners = vpa_owners_new(&(struct vpa_owners_options){.client = client, .ns = "only"});
    sim_cluster_answer(sim, &(struct sim_answer){
                                .method = "GET", .path = "/deployments", .code = 200, .body = "]"});
    vpa_owners_start(owners);
    ck_assert(!vpa_owners_is_synced(owners));
    ck_assert_int_eq(vpa_owners_wait(owners, 10 * VPA_SECOND, &err), -1);
    ck_assert_msg(vpa_str_starts_with(err.text, "deployments not in step: list: "), "%s", err.text);
}

int main(void)
{
    return run_tests_within(60, "owner", setup, teardown);
}
