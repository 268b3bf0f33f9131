/* How many answers about scales are remembered, and what makes room for the next one. */
#include "allocated.h"
#include "owner_fixture.h"

static char *name_of(int i)
{
    return vpa_xprintf("w%d", i);
}

/* Counts as a reading of the scale; asked for when it is not known. */
static void keep(int i)
{
    vpa_auto_free char *name = name_of(i);

    vpa_owners_keep_target(owners, WIDGET(name));
}

static void keep_all(int from, int to)
{
    for (int i = from; i < to; i++) {
        keep(i);
        if (i % 512 == 511)
            vpa_loop_pump(loop, VPA_MILLISECOND);
    }
    vpa_loop_pump(loop, VPA_MILLISECOND);
}

/* Whether it had been forgotten; then it is remembered again. */
static bool was_forgotten(int i)
{
    int before = scale_gets();

    keep(i);
    vpa_loop_pump(loop, VPA_MILLISECOND);
    return scale_gets() > before;
}

/* The answer about a scale that is not there. */
static void ask_in_vain(int i)
{
    vpa_auto_free char *name = name_of(i);

    drop_widget(name);
    keep(i);
    vpa_loop_pump(loop, VPA_MILLISECOND);
    put_widget(name, "app=w", 7);
}

static void fill(int count)
{
    synced();
    put_widgets(VPA_OWNER_SCALE_MAX + 1);
    keep_all(0, count);
    ck_assert_int_eq(scale_gets(), count);
    vpa_loop_pump(loop, VPA_MILLISECOND);
    for (int i = 0; i < count; i++)
        if (i != 1)
            keep(i); /* read again: number 1 was read longest ago */
}

TEST(what_was_read_longest_ago_makes_room) {
    fill(VPA_OWNER_SCALE_MAX - 1);
    keep_all(VPA_OWNER_SCALE_MAX - 1, VPA_OWNER_SCALE_MAX); /* the last that has room */
    ck_assert(!was_forgotten(0));
    for (int i = 2; i < 10; i++)
        ck_assert(!was_forgotten(i));
    ck_assert(was_forgotten(VPA_OWNER_SCALE_MAX)); /* new, in place of number 1 */
    ck_assert(!was_forgotten(0));
    ck_assert(was_forgotten(1));
}

/* All failures go before the first answer does. */
TEST(failures_make_room_first) {
    int first = VPA_OWNER_SCALE_MAX - 2;

    fill(first);
    ask_in_vain(first);
    ask_in_vain(first + 1);
    ck_assert(was_forgotten(VPA_OWNER_SCALE_MAX));
    ck_assert(!was_forgotten(1));
    ck_assert(was_forgotten(first)); /* there is room for one more: both had gone */
    ck_assert(!was_forgotten(1));
}

/* But for one that is followed. */
TEST(a_followed_failure_stays) {
    int last = VPA_OWNER_SCALE_MAX - 1;
    vpa_auto_free char *name = name_of(last);

    fill(last);
    ask_in_vain(last);
    vpa_owners_follow_target(owners, WIDGET(name));
    ck_assert(was_forgotten(VPA_OWNER_SCALE_MAX));
    ck_assert(!was_forgotten(last));
    ck_assert(was_forgotten(1));
}

/* While there is room failures are remembered like everything else. */
TEST(failures_stay_while_there_is_room) {
    synced();
    put_widgets(10);
    ask_in_vain(1);
    keep_all(2, 10);
    ck_assert(!was_forgotten(1));
}

/* What failed says why as often as it is read: by the answer, and then from memory. */
static const struct {
    int status;
    int code;
} failures[] = {{403, VPA_DENIED}, {500, VPA_RETRY}, {405, VPA_INVALID}};

TEST_EACH(a_remembered_failure_is_of_the_same_kind, failures) {
    const struct vpa_controller_key key = {"n", "Widget", "w", "example.com/v1"};
    struct vpa_controller_key top;
    vpa_auto_arena arena = {0};
    bool found;

    answer_scales(failures[_i].status, NULL);
    synced();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(vpa_owners_topmost(owners, &key, &arena, &found, &top, &err), -1);
        ck_assert_int_eq((int)err.code, failures[_i].code);
    }
    ck_assert_int_eq(scale_gets(), 1);
}

/* What the heap grows by with a view of the moment. */
static size_t size_of_view(struct vpa_owner_view **view)
{
    size_t before = allocated();

    *view = vpa_owners_view(owners);
    return allocated() - before;
}

static bool view_knows(const struct vpa_owner_view *view, const char *name)
{
    const struct vpa_selector *selector;

    return vpa_owner_view_selector(view, WIDGET(name), &selector, &err) == 0;
}

/* Controllers change all the time, each with a new view: that has nothing of its own for each scale
 * while those are what they were. */
TEST(views_share_the_scales_that_did_not_change) {
    const size_t scales = 2000 * sizeof(struct owner_scale *);
    struct vpa_owner_view *views[3];

    synced();
    put_widgets(2000);
    keep_all(0, 2000);
    size_t first = size_of_view(&views[0]);
    ck_assert_uint_ge(first, scales);
    sim_cluster_put_text(sim, DEPLOYMENT("web", "", "{\"replicas\":9}"));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert_uint_le(size_of_view(&views[1]), first - scales);
    ck_assert_ptr_ne(views[0], views[1]);
    put_widget("w2000", "app=w", 7);
    keep(2000);
    vpa_loop_pump(loop, VPA_MILLISECOND);
    ck_assert_uint_ge(size_of_view(&views[2]), scales);
    vpa_owner_view_unref(views[0]); /* what the second one has is its own as well */
    ck_assert(view_knows(views[1], "w1999") && !view_knows(views[1], "w2000"));
    ck_assert(view_knows(views[2], "w1999") && view_knows(views[2], "w2000"));
    vpa_owner_view_unref(views[1]);
    vpa_owner_view_unref(views[2]);
}

int main(void)
{
    return run_tests_within(120, "owner_room", setup, teardown);
}
