/* What is remembered of scales, and the work in the background that keeps it fresh. */
#include "owner_fixture.h"

/* 1: it is found, and 0: it is not; -1: nobody knows. */
static int walk(const char *name)
{
    const struct vpa_controller_key key = {"n", "Widget", name, "example.com/v1"};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = false;

    return vpa_owners_topmost(owners, &key, &arena, &found, &top, &err) < 0 ? -1 : found;
}

static int walk_widget(void)
{
    return walk("w");
}

TEST(remembers_scales) {
    synced();
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(walk_widget(), 1);
        vpa_owners_begin_pass(owners);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
    ck_assert_int_eq(scale_gets(), 1);
    vpa_loop_pump(loop, 20 * VPA_MINUTE); /* refreshed after 10 to 20 minutes */
    ck_assert_int_ge(scale_gets(), 2);
    int before = scale_gets();
    vpa_loop_pump(loop, 3 * VPA_HOUR); /* nobody reads it: forgotten after an hour */
    ck_assert_int_le(scale_gets(), before + 6);
    before = scale_gets();
    vpa_loop_pump(loop, 10 * VPA_HOUR);
    ck_assert_int_eq(scale_gets(), before);
    ck_assert_int_eq(walk_widget(), 1);
    ck_assert_int_eq(scale_gets(), before + 1);
}

/* The walk asks nothing in a steady pass, the selector once. */
TEST(steady_passes_ask_for_selectors_alone) {
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    synced();
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("w"), &arena, &selector, &err), 0);
        for (int k = 0; k < 3; k++)
            ck_assert_int_eq(walk_widget(), 1);
        vpa_owners_begin_pass(owners);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    ck_assert_int_eq(scale_gets(), 9);
    ck_assert_int_eq(discovery_gets(), 3);
    put_widget("w", "app=other", 1);
    ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("w"), &arena, &selector, &err), 0);
    ck_assert_str_eq(selector.items[0].values[0], "other");
}

/* Who writes nothing asks seldom; the same process asks in each pass again once it leads. */
TEST(a_standby_takes_the_selector_of_a_moment_ago) {
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    synced();
    vpa_owners_remember_targets(owners, 5 * VPA_MINUTE);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("w"), &arena, &selector, &err), 0);
        vpa_owners_begin_pass(owners);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
    ck_assert_int_eq(scale_gets(), 2); /* at 0 and 6 minutes */
    put_widget("w", "app=other", 1);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("w"), &arena, &selector, &err), 0);
    ck_assert_str_eq(selector.items[0].values[0], "other");
    vpa_owners_remember_targets(owners, 0);
    ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("w"), &arena, &selector, &err), 0);
    ck_assert_int_eq(scale_gets(), 4);
}

/* One that cannot be had is no answer. */
TEST(a_standby_asks_again_for_what_is_not_there) {
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    synced();
    vpa_owners_remember_targets(owners, 5 * VPA_MINUTE);
    ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("new"), &arena, &selector, &err), -1);
    put_widget("new", "app=new", 1);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(vpa_owners_selector(owners, WIDGET("new"), &arena, &selector, &err), 0);
}

TEST(replicas_are_read_anew_when_they_are_too_old) {
    const struct vpa_controller_key widget = {"n", "Widget", "w", "example.com/v1"};
    int32_t replicas = 0;

    synced();
    ck_assert(vpa_owners_replicas(owners, &widget, &replicas));
    vpa_loop_pump(loop, 5 * VPA_SECOND);
    put_widget("w", "app=w", 7);
    ck_assert(vpa_owners_replicas(owners, &widget, &replicas));
    ck_assert(vpa_owners_replicas_within(owners, &widget, 10 * VPA_SECOND, &replicas));
    ck_assert_int_eq(scale_gets(), 1);
    ck_assert(vpa_owners_replicas_within(owners, &widget, 3 * VPA_SECOND, &replicas));
    ck_assert_int_eq(scale_gets(), 2);
}

TEST(background_is_bounded) {
    synced();
    put_widgets(400);
    delay_scales(VPA_SECOND);
    follow_many(40);
    for (int i = 1; i <= 5; i++) {
        vpa_loop_pump(loop, VPA_SECOND - VPA_MILLISECOND);
        ck_assert_int_eq(scale_gets(), i * VPA_OWNER_FETCHES_MAX);
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets(), 40);
    delay_scales(0);
    for (int i = 0; i < 4; i++) {
        follow_many(400);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    follow_many(400);
    int most = 0, total = 0;
    for (int i = 0; i < 9; i++) { /* nine sweeps: each target twice, a little less for the 40 */
        sim_cluster_begin_record(sim);
        vpa_loop_pump(loop, 7 * VPA_SECOND);
        most = scale_gets() > most ? scale_gets() : most;
        total += scale_gets();
    }
    ck_assert_int_eq(most, VPA_OWNER_AGAIN_MAX);
    ck_assert_int_ge(total, 400); /* everybody had his turn */
}

/* Asks the view for that many owners of kinds that nobody serves, from number `from` on. */
static void ask_for_strangers(int from, int count)
{
    struct vpa_owner_view *view = vpa_owners_view(owners);

    for (int i = from; i < from + count; i++) {
        vpa_auto_arena arena = {0};
        const struct vpa_controller_key key = {"n", vpa_arena_printf(&arena, "Kind%d", i), "x",
                                               "example.com/v1"};
        struct vpa_controller_key top;
        bool found;

        (void)!vpa_owner_view_topmost(view, &key, &arena, &found, &top, &err);
    }
    vpa_owner_view_unref(view);
}

/* Whoever makes pods may name what he likes as their owners. */
TEST(strangers_push_no_answer_out) {
    synced();
    ck_assert_int_eq(walk_widget(), 1);
    for (int i = 0; i <= VPA_OWNER_SCALE_MAX; i += 512) {
        ask_for_strangers(i, 512);
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    ck_assert_int_eq(walk_widget(), 1);
    ck_assert_int_eq(scale_gets(), 1);
}

static void count_change(void *ctx)
{
    ++*(int *)ctx;
}

/* Each change is a new view of everything. */
TEST(strangers_are_told_together) {
    int changes = 0;

    synced();
    ask_for_strangers(1000, 1); /* the group is known from here on */
    vpa_loop_pump(loop, VPA_SECOND);
    vpa_owners_on_change(owners, count_change, &changes);
    for (int i = 0; i < 200; i++) {
        ask_for_strangers(i, 1);
        vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    ck_assert_int_ge(changes, 1);
    ck_assert_int_le(changes, 3);
}

static void free_owners(void *ctx)
{
    (void)ctx;
    vpa_owners_free(owners);
    owners = NULL;
}

/* Callbacks that pumped the loop would come back to what is gone here. */
TEST_TIMES(owners_can_go_while_answers_are_awaited, 3) {
    struct vpa_timer *timer = vpa_timer_new(loop, free_owners, NULL);

    synced();
    put_widgets(40);
    delay_scales(VPA_SECOND);
    if (_i > 0) /* known, and on their way to be refreshed */
        follow_many(20);
    if (_i > 0)
        vpa_loop_pump(loop, 36 * VPA_SECOND);
    follow_many(40);
    if (_i < 2) /* else: before the first step */
        vpa_loop_pump(loop, 500 * VPA_MILLISECOND);
    if (_i == 0)
        ck_assert_int_gt(scale_gets(), 0);
    vpa_timer_start(timer, 0);
    int before = scale_gets();
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_ptr_null(owners);
    ck_assert_int_le(scale_gets() - before, VPA_OWNER_FETCHES_MAX);
    vpa_timer_free(timer);
}

/* Who holds a view from before the answer asks for what is known by now. */
TEST(what_is_known_is_not_asked_for_again) {
    const struct vpa_selector *selector;
    struct vpa_owner_view *before;

    synced();
    before = vpa_owners_view(owners);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(vpa_owner_view_selector(before, WIDGET("w"), &selector, &err), -1);
        ck_assert_int_eq(err.code, VPA_RETRY);
        vpa_loop_pump(loop, VPA_SECOND);
        ck_assert_int_eq(scale_gets(), 1);
    }
    vpa_owner_view_unref(before);
    ck_assert(knows_widget("w"));
}

/* As soon as the next scale is asked for. */
static int ask_for_other(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)r;
    if (vpa_str_ends_with(q->path, "/scale") && (*(int *)ctx)++ == 0)
        ck_assert(!knows_widget("other"));
    return 0;
}

TEST(keeps_targets_that_it_is_told_to_keep) {
    synced();
    ck_assert(!knows_widget("w"));
    for (int i = 0; i < 12; i++) { /* four hours without a pod */
        vpa_owners_keep_target(owners, WIDGET("w"));
        vpa_loop_pump(loop, 20 * VPA_MINUTE);
    }
    ck_assert(knows_widget("w"));
    vpa_loop_pump(loop, 2 * VPA_HOUR);
    ck_assert(!knows_widget("w"));
}

/* A view reads without the loop; that counts as well, also after the same answer came again. */
TEST(keeps_what_a_view_has_read) {
    synced();
    ck_assert(!knows_widget("w"));
    vpa_loop_pump(loop, 9 * VPA_MINUTE);
    for (int i = 0; i < 5; i++) { /* more than four hours, in which it is asked for a dozen times */
        ck_assert(knows_widget("w"));
        vpa_loop_pump(loop, 55 * VPA_MINUTE);
    }
    ck_assert(knows_widget("w"));
    vpa_loop_pump(loop, 2 * VPA_HOUR);
    ck_assert(!knows_widget("w"));
}

/* Whose selector is in the caches, and what cannot be asked for, is not asked for. */
TEST_TIMES(keeps_only_what_has_a_scale, 3) {
    static const struct {
        const char *version, *kind;
    } targets[] = {{"apps/v1", "Deployment"}, {"a/b/c", "Widget"}, {"example.com/v1", "Widget"}};
    bool asks = _i == 2;

    synced();
    int before = scale_gets() + discovery_gets();
    vpa_owners_keep_target(owners, KEY(targets[_i].kind, "w", targets[_i].version));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(scale_gets() + discovery_gets() > before, asks);
    before = scale_gets() + discovery_gets();
    vpa_owners_follow_target(owners, KEY(targets[_i].kind, "w", targets[_i].version));
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(scale_gets() + discovery_gets() > before, asks);
}

/* A target that is asked for while the background work waits for the answer about another one. */
TEST(does_not_forget_what_is_wanted_while_it_is_busy) {
    int asked = 0;

    synced();
    ck_assert(!knows_widget("w"));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(knows_widget("w"));
    delay_scales(VPA_SECOND);
    sim_cluster_hook(sim, ask_for_other, &asked);
    vpa_loop_pump(loop, 30 * VPA_MINUTE); /* refreshed within 20 */
    ck_assert_int_gt(asked, 0);
    ck_assert(knows_widget("other"));
}

TEST(negative_answers_last_one_pass) {
    drop_widget("w");
    synced();
    ck_assert_int_eq(walk_widget(), 0);
    ck_assert_int_eq(walk_widget(), 0);
    ck_assert_int_eq(scale_gets(), 1);
    put_widget("w", "a=b", 1);
    ck_assert_int_eq(walk_widget(), 0); /* the same pass */
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(walk_widget(), 1);
    answer_scales(500, NULL);
    vpa_loop_pump(loop, 25 * VPA_MINUTE);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(walk_widget(), -1);
    ck_assert_str_eq(err.text, "unhandled targetRef example.com/v1 / Widget / w, last error boom");
}

/* A kind that two resources have: the second is asked when the first does not have the object. */
TEST(every_resource_of_a_kind_is_asked) {
    sim_cluster_serve_kind(sim, "example.com", "v2", "gadgets", "Widget", false, true);
    synced();
    ck_assert_int_eq(walk_widget(), 1);
    ck_assert_int_eq(scale_gets(), 2);
    drop_widget("w"); /* neither has it */
    vpa_loop_pump(loop, VPA_HOUR);
    vpa_owners_begin_pass(owners);
    ck_assert_int_le(walk_widget(), 0);
}

static int select_widget(const char *name)
{
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    return vpa_owners_selector(owners, WIDGET(name), &arena, &selector, &err);
}

/* How long a pass waits that reads the selectors of so many. */
static vpa_duration pass_over(int count)
{
    int64_t begin = vpa_loop_monotonic(loop);

    vpa_owners_begin_pass(owners);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%d", i);
        if (select_widget(name) < 0)
            ck_assert_msg(err.code == VPA_RETRY && strstr(err.text, "no answer yet"), "%s",
                          err.text);
    }
    return vpa_loop_monotonic(loop) - begin;
}

/* The same, of such as are not there. */
static vpa_duration pass_over_absent(int count)
{
    int64_t begin = vpa_loop_monotonic(loop);

    vpa_owners_begin_pass(owners);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "no%d", i);
        ck_assert_int_ne(walk(name), 1);
    }
    return vpa_loop_monotonic(loop) - begin;
}

/* A conversion webhook that hangs makes every object of its kind slow. */
TEST(a_slow_kind_keeps_no_pass_waiting) {
    synced();
    put_widgets(40);
    delay_scales(45 * VPA_SECOND);
    ck_assert_int_eq(pass_over(40), 30 * VPA_SECOND); /* three of them */
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_le(pass_over(40), 30 * VPA_SECOND);
    vpa_loop_pump(loop, 5 * VPA_MINUTE); /* by now it is known of each */
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(pass_over(40), 0);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
    delay_scales(VPA_SECOND);
    vpa_loop_pump(loop, 3 * VPA_MINUTE);
    ck_assert_int_eq(pass_over(40), 40 * VPA_SECOND); /* each asked again, and waited for */
    ck_assert_int_eq(select_widget("w0"), 0);
}

/* What was answered a moment ago stands in, whether the server is silent or has let the time of an
 * answer pass; then it is not known. */
TEST(a_slow_scale_is_what_it_was_for_a_moment) {
    const struct vpa_controller_key widget = {"n", "Widget", "w", "example.com/v1"};
    int32_t replicas = 0;

    synced();
    ck_assert_int_eq(walk_widget(), 1); /* remembered */
    delay_scales(10 * VPA_MINUTE);
    ck_assert_int_eq(select_widget("w"), 0);
    ck_assert(!vpa_owners_replicas_within(owners, &widget, VPA_SECOND, &replicas));
    vpa_loop_pump(loop, 30 * VPA_SECOND);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(select_widget("w"), 0);
    vpa_loop_pump(loop, 30 * VPA_SECOND); /* the server will not answer any more */
    vpa_owners_begin_pass(owners);
    int64_t begin = vpa_loop_monotonic(loop);
    ck_assert_int_eq(select_widget("w"), 0);
    ck_assert_int_eq(vpa_loop_monotonic(loop), begin);
    vpa_loop_pump(loop, 30 * VPA_SECOND);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(select_widget("w"), -1);
    ck_assert_msg(strstr(err.text, "no answer yet"), "%s", err.text);
    ck_assert_int_eq(vpa_loop_monotonic(loop), begin + 30 * VPA_SECOND);
    vpa_loop_pump(loop, 2 * VPA_MINUTE);
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(select_widget("w"), -1);
    ck_assert_msg(strstr(err.text, "timeout"), "%s", err.text);
}

/* That of what has no scale is as good. */
TEST(a_missing_scale_is_missing_for_a_moment) {
    const struct vpa_controller_key keys[] = {{"n", "Gadget", "g", "example.com/v1"},
                                              {"n", "Gadget", "h", "example.com/v1"}};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = true;

    sim_cluster_serve_kind(sim, "example.com", "v1", "gadgets", "Gadget", false, false);
    synced();
    vpa_loop_pump(loop, VPA_HOUR);
    for (size_t i = 0; i < VPA_COUNT(keys); i++) {
        ck_assert_int_eq(vpa_owners_topmost(owners, &keys[i], &arena, &found, &top, &err), 0);
        ck_assert(!found);
    }
    ck_assert_int_eq(scale_gets(), 1); /* what holds for one of a kind holds for all */
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = "/apis/example.com",
                                                 .how = SIM_PATH_HOLDS,
                                                 .delay = 10 * VPA_MINUTE});
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(vpa_owners_topmost(owners, &keys[1], &arena, &found, &top, &err), 0);
    ck_assert(!found);
}

/* One slow object is waited for once; the others of its kind are asked as ever. */
TEST(a_slow_object_is_one_object) {
    synced();
    put_widget("slow", "app=w", 7);
    delay_scales(45 * VPA_SECOND);
    ck_assert_int_eq(select_widget("slow"), -1);
    delay_scales(0);
    int64_t begin = vpa_loop_monotonic(loop);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(select_widget("slow"), -1);
    ck_assert_int_eq(select_widget("w"), 0);
    ck_assert_int_eq(vpa_loop_monotonic(loop), begin);
    vpa_loop_pump(loop, VPA_MINUTE); /* the answer is there, and a quick one behind it */
    ck_assert_int_eq(select_widget("slow"), 0);
}

/* Somebody's pods name owners that do not exist: a pass waits for the first of them, and asks as
 * ever for those that were there. One that nobody has asked for yet comes by the background. */
TEST(owners_that_are_not_there_keep_no_pass_waiting) {
    synced();
    put_widget("new", "app=w", 7);
    delay_scales(20 * VPA_MILLISECOND);
    ck_assert_int_eq(walk("w"), 1);
    for (int pass = 0; pass < 3; pass++) {
        ck_assert_int_eq(pass_over_absent(4000), 30 * 20 * VPA_MILLISECOND);
        ck_assert_int_eq(walk("w"), 1);
        vpa_loop_pump(loop, 11 * VPA_MINUTE);
    }
    pass_over_absent(100);
    ck_assert_int_eq(walk("new"), -1);
    ck_assert_msg(strstr(err.text, "no answer yet"), "%s", err.text);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(walk("new"), 1);
}

static int select_in(const char *ns, const char *kind, const char *name)
{
    struct vpa_selector selector;
    vpa_auto_arena arena = {0};

    return vpa_owners_selector(owners,
                               &(struct vpa_controller_key){ns, kind, name, "example.com/v1"},
                               &arena, &selector, &err);
}

/* How long a pass waits for the targets of so many VPAs of a namespace, none of which is there. */
static vpa_duration pass_over_absent_targets(int count)
{
    int64_t begin = vpa_loop_monotonic(loop);

    vpa_owners_begin_pass(owners);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "no%d", i);
        ck_assert_int_lt(select_in("n", "Widget", name), 0);
    }
    return vpa_loop_monotonic(loop) - begin;
}

/* Somebody's VPAs name targets that do not exist: so it is in his namespace as with owners of pods,
 * and in all others as ever. */
TEST(targets_that_are_not_there_keep_no_pass_waiting) {
    synced();
    put_widget("new", "app=w", 7);
    delay_scales(20 * VPA_MILLISECOND);
    ck_assert_int_eq(select_widget("w"), 0);
    ck_assert_int_eq(walk("w"), 1);
    for (int pass = 0; pass < 3; pass++) {
        ck_assert_int_eq(pass_over_absent_targets(4000), 30 * 20 * VPA_MILLISECOND);
        ck_assert_int_eq(select_widget("w"), 0);
        ck_assert_int_eq(select_in("m", "Widget", "none"), -1);
        ck_assert_ptr_null(strstr(err.text, "no answer yet"));
        vpa_loop_pump(loop, 11 * VPA_MINUTE);
    }
    pass_over_absent_targets(100);
    ck_assert_int_eq(select_widget("new"), -1);
    ck_assert_msg(strstr(err.text, "no answer yet"), "%s", err.text);
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_int_eq(select_widget("new"), 0);
}

/* Kinds that nobody serves are found out without a request for each. */
TEST(kinds_that_are_not_there_are_not_asked_for) {
    synced();
    ck_assert_int_eq(select_widget("w"), 0);
    int before = discovery_gets();
    for (int i = 0; i < 1000; i++) {
        char kind[24];
        snprintf(kind, sizeof(kind), "Gadget%d", i);
        ck_assert_int_eq(select_in("n", kind, "x"), -1);
    }
    ck_assert_int_le(discovery_gets(), before + 2);
    ck_assert_int_eq(scale_gets(), 1);
}

static int walk_in(const char *ns, const char *name, const char *version)
{
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found = false;

    if (vpa_owners_topmost(owners, &(struct vpa_controller_key){ns, "Widget", name, version},
                           &arena, &found, &top, &err) < 0)
        return -1;
    return found;
}

/* Documents that a pass asks for that meets so many owners, each of a group of its own. */
static int documents_of_strangers(int count)
{
    int before = discovery_gets();

    vpa_owners_begin_pass(owners);
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *version = vpa_xprintf("g%d.io/v1", i);
        ck_assert_int_eq(walk_in("n", "x", version), -1);
    }
    return discovery_gets() - before;
}

/* What GET /apis answers, and how many documents a pass asks for. */
static const struct {
    int code;
    const char *body;
    int documents;
} lists_of_groups[] = {
    {0, NULL, 5},
    {403, NULL, 31}, /* one by one, but not more of them than of a namespace */
    {404, NULL, 31},
    {200, "{\"groups\":[]}", 31},
    {200, "{\"groups\":[{\"name\":7},{}]}", 31},
    {200, "{\"groups\":[{\"name\":\"g9.io\"},{\"name\":\"g11.io\"}]}", 7},
    {200, "[", 31},
};

/* Groups that are not there, as many as somebody likes. The background does not ask for them
 * either. */
TEST_EACH(groups_that_are_not_there_keep_no_pass_waiting, lists_of_groups) {
    int documents = lists_of_groups[_i].documents;

    synced();
    ck_assert_int_eq(walk_widget(), 1);
    if (lists_of_groups[_i].code)
        sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                     .path = "/apis",
                                                     .how = SIM_PATH_IS,
                                                     .code = lists_of_groups[_i].code,
                                                     .body = lists_of_groups[_i].body});
    for (int pass = 0; pass < 3; pass++) {
        ck_assert_int_eq(documents_of_strangers(4000), documents);
        int before = discovery_gets();
        vpa_loop_pump(loop, VPA_MINUTE);
        if (documents < 30)
            ck_assert_int_eq(discovery_gets(), before);
    }
    ck_assert_int_eq(walk_widget(), 1);
    ck_assert_int_eq(walk_in("m", "none", "example.com/v1"), 0);
}

/* It is found in the next pass, beside many that are not. */
TEST(a_group_that_comes_is_found) {
    synced();
    documents_of_strangers(100);
    sim_cluster_serve_kind(sim, "g50.io", "v1", "widgets", "Widget", false, true);
    ck_assert_int_eq(walk_in("n", "x", "g50.io/v1"), -1);
    vpa_owners_begin_pass(owners);
    for (int i = 0; i < 9; i++) {
        vpa_auto_free char *version = vpa_xprintf("g%d.io/v1", i);
        ck_assert_int_eq(walk_in("n", "x", version), -1);
    }
    ck_assert_int_eq(walk_in("n", "x", "g50.io/v1"), 0);
    ck_assert_int_eq(walk_in("n", "x", "g51.io/v1"), -1);
}

/* However many namespaces somebody has, a pass does not wait for ever for what is not there. */
TEST(a_pass_waits_half_a_minute_in_vain) {
    int64_t begin;

    synced();
    ck_assert_int_eq(walk_widget(), 1);
    delay_scales(VPA_SECOND);
    begin = vpa_loop_monotonic(loop);
    for (int i = 0; i < 100; i++) {
        vpa_auto_free char *ns = vpa_xprintf("n%d", i);
        ck_assert_int_eq(select_in(ns, "Widget", "none"), -1);
    }
    ck_assert_int_eq(vpa_loop_monotonic(loop) - begin, 30 * VPA_SECOND);
    ck_assert_int_eq(select_widget("w"), 0); /* what was there is asked as ever */
    ck_assert_int_eq(walk_in("m", "none", "example.com/v1"), -1);
    ck_assert_int_eq(err.code, VPA_RETRY);
    vpa_loop_pump(loop, VPA_MINUTE);
    ck_assert_int_eq(walk_in("m", "none", "example.com/v1"), 0); /* from the background */
    vpa_owners_begin_pass(owners);
    ck_assert_int_eq(select_in("n99", "Widget", "none"), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

/* Nor for what is there, but has to be asked for one by one. */
TEST(owners_that_are_new_keep_a_pass_waiting_for_half_a_minute) {
    synced();
    put_widgets(100);
    delay_scales(VPA_SECOND);
    for (int pass = 0; pass < 2; pass++) {
        int64_t begin = vpa_loop_monotonic(loop);
        int found = 0;
        for (int i = 0; i < 100; i++) {
            char name[16];
            snprintf(name, sizeof(name), "w%d", i);
            found += walk(name) == 1;
        }
        ck_assert_int_eq(found, pass ? 100 : 30);
        ck_assert_int_eq(vpa_loop_monotonic(loop) - begin, pass ? 0 : 30 * VPA_SECOND);
        vpa_loop_pump(loop, VPA_MINUTE);
        vpa_owners_begin_pass(owners);
    }
}

/* Who has 40 owners that are not there keeps those of nobody else from being found. */
TEST(owners_that_are_not_there_are_those_of_a_namespace) {
    synced();
    for (int i = 0; i < 40; i++) {
        vpa_auto_free char *name = vpa_xprintf("w%d", i);
        ck_assert_int_ne(walk_in("a", name, "example.com/v1"), 1);
    }
    ck_assert_str_eq(err.text, "scale of Widget a/w39: no answer yet");
    put_widget("late", "app=late", 7);
    ck_assert_int_eq(walk("late"), 1);
}

static void let_hang(const char *path)
{
    sim_cluster_answer(
        sim, &(struct sim_answer){
                 .method = "GET", .path = path, .how = SIM_PATH_HOLDS, .delay = 25 * VPA_SECOND});
}

/* A server that hangs takes the time for its own kind, not that for what has to be asked for. */
TEST(a_kind_that_hangs_keeps_no_other_from_being_found) {
    synced();
    sim_cluster_serve_kind(sim, "g50.io", "v1", "widgets", "Widget", false, true);
    let_hang("example.com/v1/namespaces/a/");
    for (int pass = 0; pass < 5; pass++) {
        int64_t begin = vpa_loop_monotonic(loop);
        vpa_owners_begin_pass(owners);
        for (int i = 0; i < 300; i++) {
            vpa_auto_free char *name = vpa_xprintf("f%d", i);
            walk_in("a", name, "example.com/v1");
        }
        ck_assert_int_le(vpa_loop_monotonic(loop) - begin, 31 * VPA_SECOND);
        vpa_auto_free char *name = vpa_xprintf("late%d", pass);
        ck_assert_int_eq(walk_in("m", name, "g50.io/v1"), 0);
        vpa_loop_pump(loop, VPA_MINUTE - (vpa_loop_monotonic(loop) - begin));
    }
}

/* Kinds of a group whose documents do not come are as many as somebody likes. */
TEST(a_group_that_hangs_is_waited_for_as_one_kind) {
    synced();
    ck_assert_int_eq(walk_widget(), 1);
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = "/apis/bad.io",
                                                 .how = SIM_PATH_HOLDS,
                                                 .delay = VPA_HOUR});
    for (int pass = 0; pass < 3; pass++) {
        int64_t begin = vpa_loop_monotonic(loop);
        vpa_owners_begin_pass(owners);
        for (int i = 0; i < 100; i++) {
            vpa_auto_free char *kind = vpa_xprintf("Kind%d", i);
            vpa_auto_arena arena = {0};
            struct vpa_controller_key top;
            bool found;
            ck_assert_int_eq(
                vpa_owners_topmost(owners, KEY(kind, "x", "bad.io/v1"), &arena, &found, &top, &err),
                -1);
        }
        /* and those whose answer is that the document did not come, in less than ten seconds */
        ck_assert_int_lt(vpa_loop_monotonic(loop) - begin, 40 * VPA_SECOND);
        ck_assert_int_eq(walk_in("m", pass ? "this" : "that", "example.com/v1"), 0);
        vpa_loop_pump(loop, VPA_MINUTE);
    }
}

/* Nor does it take all places of the background, with objects that nobody has asked for before. */
TEST(a_kind_that_hangs_has_half_of_the_places) {
    const struct vpa_controller_key other = {"m", "Widget", "none", "g50.io/v1"};

    synced();
    ck_assert_int_eq(walk_widget(), 1);
    sim_cluster_serve_kind(sim, "g50.io", "v1", "widgets", "Widget", false, true);
    let_hang("/example.com/v1/namespaces/n/");
    follow_many(300);
    vpa_loop_pump(loop, 26 * VPA_SECOND); /* now it is known that they do */
    ck_assert(!vpa_owners_keep_target(owners, &other));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(vpa_owners_keep_target(owners, &other));
    vpa_loop_pump(loop, 40 * VPA_MINUTE);
    ck_assert_int_eq((int)vpa_owners_scale_count(owners), 302); /* all had their turn */
}

/* Somebody's pods have ever new owners, faster than they can be asked for: others have their turn
 * all the same, and what was asked for last comes first in his own namespace; that is what a pod
 * asks for, however often the targets of VPAs are named. */
TEST_TIMES(a_flood_keeps_the_targets_of_others_waiting_for_a_turn, 2) {
    static const char *const of[] = {"m", "n"};
    const struct vpa_controller_key target = {of[_i], "Widget", "none", "example.com/v1"};
    const struct vpa_selector *selector;
    struct vpa_owner_view *view;

    synced();
    walk_widget();
    delay_scales(VPA_SECOND);
    follow_many(_i ? 1000 : 3000);
    view = vpa_owners_view(owners);
    for (int i = 0; i < 2; i++) { /* it is in line, and comes to its end */
        ck_assert_int_eq(vpa_owner_view_selector(view, &target, &selector, &err), -1);
        follow_many(_i ? 1000 : 0);
    }
    vpa_owner_view_unref(view);
    vpa_loop_pump(loop, 3 * VPA_SECOND);
    ck_assert(vpa_owners_keep_target(owners, &target));
}

static void put_in(const char *ns, const char *name, const char *app)
{
    vpa_auto_free char *object =
        vpa_xprintf("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{"
                    "\"namespace\":\"%s\",\"name\":\"%s\"},\"spec\":{\"replicas\":3},"
                    "\"status\":{\"replicas\":1,\"selector\":\"app=%s\"}}",
                    ns, name, app);

    sim_cluster_put_text(sim, object);
}

/* Whether views have it with that selector. */
static bool selects_app(const struct vpa_controller_key *target, const char *app)
{
    struct vpa_owner_view *view = vpa_owners_view(owners);
    const struct vpa_selector *selector;
    bool same = vpa_owner_view_selector(view, target, &selector, &err) == 0 &&
                strcmp(selector->items[0].values[0], app) == 0;

    vpa_owner_view_unref(view);
    return same;
}

/* Nor does such a flood keep what is known of others from being asked for again. */
TEST(a_flood_keeps_no_scale_from_being_renewed) {
    const struct vpa_controller_key late = {"m", "Widget", "late", "example.com/v1"};
    const struct vpa_controller_key there = {"m", "Widget", "there", "example.com/v1"};
    int total = 0;

    synced();
    put_in("m", "there", "one");
    for (int i = 0; i < 2; i++) {
        vpa_owners_follow_target(owners, &late);
        vpa_owners_follow_target(owners, &there);
        vpa_loop_pump(loop, VPA_SECOND);
    }
    ck_assert(!selects_app(&late, "late") && selects_app(&there, "one"));
    delay_scales(150 * VPA_MILLISECOND);
    put_in("m", "late", "late");
    put_in("m", "there", "two");
    for (int s = 0; s < 600; s++) { /* a minute */
        for (int i = 0; i < 10; i++) {
            vpa_auto_free char *name = vpa_xprintf("f%d", total++);
            vpa_owners_keep_target(owners, WIDGET(name));
        }
        vpa_loop_pump(loop, 100 * VPA_MILLISECOND);
    }
    ck_assert(selects_app(&late, "late"));
    ck_assert(selects_app(&there, "two"));
}

/* More is due of many namespaces than may wait, and answers take long: everything has its turn, and
 * what waits makes no way. */
TEST(what_is_due_everywhere_is_renewed_everywhere) {
    enum { NAMESPACES = 1500 };
    static char names[NAMESPACES][16];

    synced();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < NAMESPACES; i++) {
            snprintf(names[i], sizeof(names[i]), "n%d", i);
            put_in(names[i], "w", round ? "two" : "one");
        }
        for (int s = 0; s < (round ? 80 : 20); s++) {
            for (int i = 0; i < NAMESPACES; i++)
                vpa_owners_follow_target(owners, &(struct vpa_controller_key){
                                                     names[i], "Widget", "w", "example.com/v1"});
            vpa_loop_pump(loop, 5 * VPA_SECOND);
        }
        delay_scales(800 * VPA_MILLISECOND);
    }
    for (int i = 0; i < NAMESPACES; i++)
        ck_assert_msg(
            selects_app(&(struct vpa_controller_key){names[i], "Widget", "w", "example.com/v1"},
                        "two"),
            "%s", names[i]);
}

/* The versions of a group that cannot be read, and what is known then of a kind of it. */
static const struct {
    const char *path;
    enum sim_path how;
    int code;
    const char *kind;
    enum vpa_code known;
} unread[] = {
    {"/apis/example.com/v1", SIM_PATH_HOLDS, 503, "Widget", VPA_RETRY},
    {"/apis/example.com/v1", SIM_PATH_HOLDS, 404, "Widget", VPA_INVALID},
    {"/apis/example.com/v1", SIM_PATH_IS, 503, "Widget", VPA_OK}, /* the other one tells of it */
    {"/apis/example.com/v1", SIM_PATH_IS, 503, "Gadget", VPA_RETRY},
    {"/apis/example.org", SIM_PATH_HOLDS, 503, "Gadget", VPA_INVALID},
};

/* What discovery could not read may have the kind: it is not known, which is not that there is
 * none. The text is upstream's all the same. */
TEST_EACH(a_kind_is_not_known_while_a_version_cannot_be_read, unread) {
    vpa_auto_free char *none =
        vpa_xprintf("no matches for kind \"%s\" in group \"example.com\"", unread[_i].kind);

    synced();
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = unread[_i].path,
                                                 .how = unread[_i].how,
                                                 .code = unread[_i].code,
                                                 .message = "gone for lunch"});
    int rc = select_in("n", unread[_i].kind, "w");
    ck_assert_int_eq(rc == 0 ? VPA_OK : err.code, unread[_i].known);
    ck_assert_msg(rc == 0 || strstr(err.text, none), "%s", err.text);
    sim_cluster_unscript(sim);
    vpa_owners_begin_pass(owners);
    rc = select_in("n", unread[_i].kind, "w");
    ck_assert_int_eq(rc == 0, strcmp(unread[_i].kind, "Widget") == 0);
    ck_assert(rc == 0 || err.code == VPA_INVALID);
}

/* What upstream's client can decode, and nothing else. */
static const struct {
    const char *kind, *version;
    bool taken;
} scale_kinds[] = {
    {"Scale", "autoscaling/v1", true},   {"Scale", "extensions/v1beta1", true},
    {"Scale", "apps/v1beta1", true},     {"Scale", "apps/v1beta2", true},
    {"Scale", "autoscaling/v2", false},  {"Widget", "autoscaling/v1", false},
    {"Widget", "example.com/v1", false},
};

TEST_EACH(only_scales_are_taken, scale_kinds) {
    vpa_auto_free char *body =
        vpa_xprintf("{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"name\":\"w\","
                    "\"namespace\":\"n\"},\"spec\":{\"replicas\":2},\"status\":{\"replicas\":2,"
                    "\"selector\":\"app=w\"}}",
                    scale_kinds[_i].kind, scale_kinds[_i].version);

    synced();
    answer_scales(0, body);
    ck_assert_int_eq(select_widget("w"), scale_kinds[_i].taken ? 0 : -1);
    if (!scale_kinds[_i].taken)
        ck_assert_msg(strstr(err.text, "is registered for version") != NULL, "%s", err.text);
}

int main(void)
{
    return run_tests_within(60, "owner_scale", setup, teardown);
}
