/*
 * The losers of conflicts are those that a comparison of every pair of VPAs finds, in random
 * clusters of own and foreign VPAs.
 */
#include "cluster_fixture.h"
#include "../../recommender/conflict.h"
#include "vpa/base/str.h"

#define OWN 12
#define FOREIGN 6
#define PODS 5
#define MESSAGE "Pods of this VPA are controlled by the older VPA "

struct made {
    const struct vpa_object *object;
    const struct vpa_selector *selector; /* NULL: not known */
    struct vpa_autoscaler *v;            /* own ones */
    int label;
};

static struct made own[OWN], foreign[FOREIGN];
static int pod_labels[PODS];
static unsigned seed;

static int pick(int n)
{
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 16) % n;
}

#define SELECTOR "\"selector\":{\"matchLabels\":{\"x\":\"y\"}}"

/* Which pods are its own: those of one of three targets, those that it selects; now and then both,
 * which its target decides, or neither. */
static const char *made_by(void)
{
    const char *target =
        vpa_arena_printf(&arena, "\"targetRef\":{\"kind\":\"D\",\"name\":\"t%d\"}", pick(3));

    switch (pick(12)) {
    case 0:
    case 1:
    case 2:
        return SELECTOR;
    case 3:
        return vpa_arena_printf(&arena, SELECTOR ",%s", target);
    case 4:
        return "";
    default:
        return target;
    }
}

/* It matches the pods of one of three labels, or all; none without a selector of any kind. */
static struct made make(const char *prefix, int number)
{
    int label = pick(4);
    const char *selector = label == 3 ? "app" : vpa_arena_printf(&arena, "app=a%d", label);
    const char *by = made_by();
    const char *text = vpa_arena_printf(&arena,
                                        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s%02d\","
                                        "\"creationTimestamp\":\"2026-01-01T00:00:0%dZ\"},"
                                        "\"spec\":{%s}}",
                                        prefix, number, pick(4), by);

    return (struct made){.object = vpa_of(&arena, text),
                         .selector = pick(5) && *by ? selector_of(&arena, selector) : NULL,
                         .label = label};
}

static bool selects(const struct made *m)
{
    return m->object->has_selector && !m->object->target_ref.present;
}

static bool same_target(const struct made *a, const struct made *b)
{
    return a->object->target_ref.present && b->object->target_ref.present &&
           strcmp(a->object->target_ref.name, b->object->target_ref.name) == 0;
}

static bool has_pods(const struct made *m)
{
    bool any = false;

    for (int i = 0; i < PODS && m->selector; i++)
        any |= m->label == 3 || m->label == pod_labels[i];
    return any;
}

static bool share_pods(const struct made *a, const struct made *b)
{
    bool any = false;

    for (int i = 0; i < PODS && a->selector && b->selector; i++)
        any |= (a->label == 3 || a->label == pod_labels[i]) &&
               (b->label == 3 || b->label == pod_labels[i]);
    return any;
}

static bool are_rivals(const struct made *m, const struct made *other)
{
    bool is_foreign = other->v == NULL;

    if (is_foreign && same_target(m, other))
        return has_pods(m);
    return share_pods(m, other) && (selects(m) || selects(other) || same_target(m, other));
}

static const struct vpa_object *winner_over(const struct made *m)
{
    const struct vpa_object *winner = NULL;

    for (int i = 0; i < OWN + FOREIGN; i++) {
        const struct made *other = i < OWN ? &own[i] : &foreign[i - OWN];

        if (other != m && are_rivals(m, other) && vpa_match_stronger(other->object, m->object) &&
            (!winner || vpa_match_stronger(other->object, winner)))
            winner = other->object;
    }
    return winner;
}

static void make_cluster(size_t foreign_count, struct vpa_candidate *candidates)
{
    for (int i = 0; i < PODS; i++) {
        pod_labels[i] = pick(3);
        put_pod(vpa_arena_printf(&arena, "p%d", i),
                vpa_arena_printf(&arena, "{\"app\":\"a%d\",\"own\":\"o%d\"}", pod_labels[i], i));
    }
    for (int i = 0; i < OWN; i++) {
        own[i] = make("v", i);
        own[i].v = vpa_cluster_put_vpa(c, own[i].object, own[i].selector, NULL, now);
    }
    for (int i = 0; i < FOREIGN; i++) {
        foreign[i] = (size_t)i < foreign_count ? make("w", i) : own[i];
        candidates[i] = (struct vpa_candidate){foreign[i].object, foreign[i].selector};
    }
}

static void compare_with_pairs(bool with_foreign)
{
    struct vpa_candidate candidates[FOREIGN];
    size_t foreign_count = with_foreign ? FOREIGN : 0;
    struct conflicts conflicts;

    make_cluster(foreign_count, candidates);
    conflicts_find(&conflicts, c, candidates, foreign_count);
    for (int i = 0; i < OWN; i++) {
        const struct vpa_object *winner = winner_over(&own[i]);
        const char *message = conflicts_message(&conflicts, own[i].v, &arena);

        if (!winner)
            ck_assert_msg(!message, "%s: %s", own[i].object->meta.name, message);
        else
            ck_assert_str_eq(vpa_or_empty(message),
                             vpa_arena_printf(&arena, MESSAGE "%s", winner->meta.name));
    }
    conflicts_release(&conflicts);
}

TEST_TIMES(finds_the_losers_of_all_pairs, 4) {
    for (unsigned i = 0; i < 100; i++) {
        seed = (unsigned)_i * 100 + i;
        setup();
        compare_with_pairs(i % 2);
        teardown();
    }
}

#define NAMESPACES 9

/* "nN/NAME", created on that day; it targets the same workload in each namespace. */
static const struct vpa_object *in_namespace(int number, const char *name, int day)
{
    return vpa_of(&arena,
                  vpa_arena_printf(&arena,
                                   "{\"metadata\":{\"namespace\":\"n%d\",\"name\":\"%s\","
                                   "\"creationTimestamp\":\"2026-01-0%dT00:00:00Z\"},"
                                   "\"spec\":{\"selector\":{\"matchLabels\":{\"x\":\"y\"}}}}",
                                   number, name, day));
}

TEST_CASE(namespaces, setup, teardown);

/* Foreign VPAs of however many namespaces: each contends in its own. */
TEST(foreign_ones_win_in_their_namespace) {
    struct vpa_candidate candidates[NAMESPACES];
    struct vpa_autoscaler *vpas[NAMESPACES];
    const struct vpa_selector *selector = selector_of(&arena, "app=web");
    struct conflicts conflicts;

    for (int i = 0; i < NAMESPACES; i++) {
        const char *pod = vpa_arena_printf(&arena,
                                           "{\"metadata\":{\"namespace\":\"n%d\",\"name\":\"p\","
                                           "\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":"
                                           "[{\"name\":\"app\"}]}}",
                                           i);
        vpas[i] =
            vpa_cluster_put_vpa(c, in_namespace(i, "own", i % 3 ? 2 : 1), selector, NULL, now);
        vpa_cluster_put_pod(c, pod_of(&arena, pod), NULL, now);
        candidates[i] = (struct vpa_candidate){in_namespace(i, "theirs", i % 3 ? 1 : 2), selector};
    }
    conflicts_find(&conflicts, c, candidates, NAMESPACES);
    for (int i = 0; i < NAMESPACES; i++)
        ck_assert_str_eq(vpa_or_empty(conflicts_message(&conflicts, vpas[i], &arena)),
                         i % 3 ? MESSAGE "theirs" : "");
    conflicts_release(&conflicts);
}

#define MANY 300

/* What a tenant can make: jobs by the hundred, each with labels of its own, and as many VPAs for
 * somebody else. Those without a common pair are compared with none; of the others so many that
 * the whole stays in proportion. */
static const struct {
    const char *selector;
    size_t comparisons; /* at most, for each label set */
    int pairs;          /* that the pods have, one of which each demands, too */
} selectors[] = {{"job-name=none", 0, 0},       {"app=web,job-name=none", 101, 0},
                 {"app=web,!job-name", 101, 0}, {"!job-name", 101, 0},
                 {"!job-name", 103, 3},         {"app=web", 1, 0}};

static const char *foreign_selector(int row, int number)
{
    const char *selector = selectors[row].selector;

    return selectors[row].pairs == 0
               ? selector
               : vpa_arena_printf(&arena, "p%d=x,%s", number % selectors[row].pairs, selector);
}

TEST_EACH(many_foreign_ones_cost_little_for_a_label_set, selectors) {
    static struct vpa_candidate candidates[MANY];
    const struct vpa_selector *all = selector_of(&arena, "app=web");
    struct conflicts conflicts;

    struct vpa_autoscaler *mine =
        vpa_cluster_put_vpa(c, in_namespace(0, "mine", 9), all, NULL, now);
    for (int i = 0; i < MANY; i++) {
        vpa_cluster_put_pod(
            c,
            pod_of(&arena, vpa_arena_printf(&arena,
                                            "{\"metadata\":{\"namespace\":\"n0\",\"name\":\"p%d\","
                                            "\"labels\":{\"app\":\"web\",\"job-name\":\"j%d\","
                                            "\"p0\":\"x\",\"p1\":\"x\",\"p2\":\"x\"}},"
                                            "\"spec\":{\"containers\":[{\"name\":\"app\"}]}}",
                                            i, i)),
            NULL, now);
        candidates[i] =
            (struct vpa_candidate){in_namespace(0, vpa_arena_printf(&arena, "w%d", i), 1),
                                   selector_of(&arena, foreign_selector(_i, i))};
    }
    conflicts_find(&conflicts, c, candidates, MANY);
    ck_assert_uint_le(conflicts.comparisons, MANY * selectors[_i].comparisons);
    ck_assert_int_eq(conflicts_message(&conflicts, mine, &arena) != NULL,
                     strcmp(selectors[_i].selector, "app=web") == 0);
    conflicts_release(&conflicts);
}

int main(void)
{
    return run_tests("recommender_conflict", NULL, NULL);
}
