/*
 * What a VPA's pods have under a container's name, asked again after every kind of change: what was
 * listed for the question before counts no more.
 */
#include "cluster_fixture.h"

#include "vpa/base/random.h"
#include "vpa/base/str.h"

#define VPAS 3
#define PODS 12
#define NAMES 31 /* so that some VPAs have more than is worth keeping, and some less */
#define LABELS 3
#define STEPS 4000

/* As the test has it: which containers each pod has, by bits, and what each VPA selects. */
struct shadow {
    unsigned containers[PODS]; /* 0: no such pod */
    unsigned label[PODS];
    unsigned selects[VPAS]; /* a label; LABELS: one that no pod has; more: no such VPA */
    unsigned uid;
};

static struct vpa_random dice;

static unsigned roll(unsigned sides)
{
    return (unsigned)(vpa_random_next(&dice) % sides);
}

static const char *named(const char *what, unsigned number)
{
    return vpa_arena_printf(&arena, "%s%u", what, number);
}

static void put_containers(struct shadow *s, unsigned pod)
{
    const char *list = "";

    for (unsigned i = 0; i < NAMES; i++)
        if (s->containers[pod] & 1u << i)
            list = vpa_arena_printf(&arena, "%s%s{\"name\":\"c%u\"}", list, *list ? "," : "", i);
    vpa_cluster_put_pod(
        c,
        pod_of(&arena, vpa_arena_printf(&arena,
                                        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p%u\","
                                        "\"uid\":\"u%u\",\"labels\":{\"app\":\"%u\"}},"
                                        "\"spec\":{\"containers\":[%s]}}",
                                        pod, s->uid++, s->label[pod], list)),
        NULL, now);
}

static void change_pod(struct shadow *s)
{
    unsigned pod = roll(PODS);

    if (roll(4) == 0) {
        ck_assert(vpa_cluster_remove_pod(c, "ns", named("p", pod)) == (s->containers[pod] != 0));
        s->containers[pod] = 0;
        return;
    }
    if (!s->containers[pod] || roll(2))
        s->containers[pod] = 1 + roll((1u << NAMES) - 1);
    if (roll(2))
        s->label[pod] = roll(LABELS);
    put_containers(s, pod);
}

/* One that the pod had not: the metrics can know of it first. */
static void add_container(struct shadow *s)
{
    unsigned pod = roll(PODS), name = roll(NAMES);
    struct vpa_error err;

    if (!s->containers[pod])
        return;
    ck_assert_int_eq(
        vpa_cluster_put_container(c, "ns", named("p", pod), named("c", name), now, &err), 0);
    s->containers[pod] |= 1u << name;
}

static void change_vpa(struct shadow *s)
{
    unsigned vpa = roll(VPAS);

    if (roll(3) == 0) {
        ck_assert(vpa_cluster_remove_vpa(c, "ns", named("v", vpa)) == (s->selects[vpa] <= LABELS));
        s->selects[vpa] = LABELS + 1;
    } else {
        s->selects[vpa] = roll(LABELS + 1);
        put_vpa(named("v", vpa), vpa_arena_printf(&arena, "app=%u", s->selects[vpa]));
    }
}

static bool is_had(const struct shadow *s, unsigned vpa, unsigned name)
{
    for (unsigned pod = 0; pod < PODS; pod++)
        if (s->label[pod] == s->selects[vpa] && s->containers[pod] & 1u << name)
            return true;
    return false;
}

static void ask(const struct shadow *s, unsigned vpa)
{
    const struct vpa_autoscaler *v = vpa_cluster_find_vpa(c, "ns", named("v", vpa));

    ck_assert_int_eq(v != NULL, s->selects[vpa] <= LABELS);
    if (!v)
        return;
    vpa_autoscaler_pod_count(v); /* settles the links */
    for (unsigned name = 0; name < NAMES; name++)
        ck_assert_int_eq(vpa_autoscaler_has_pod_with(v, named("c", name)), is_had(s, vpa, name));
}

TEST(follow_every_change) {
    struct shadow s = {.selects = {LABELS + 1, LABELS + 1, LABELS + 1}};

    vpa_random_init(&dice, 7);
    for (int i = 0; i < STEPS; i++) {
        unsigned kind = roll(5);

        if (kind < 3)
            change_pod(&s);
        else if (kind == 3)
            add_container(&s);
        else
            change_vpa(&s);
        vpa_cluster_vpas(c, &(size_t){0});
        /* Often the same one as before, so that what was listed for it could still be there. */
        for (unsigned vpa = roll(VPAS); vpa < VPAS; vpa += 1 + roll(2))
            ask(&s, vpa);
        if (i % 64 == 0)
            vpa_arena_clear(&arena);
    }
}

static bool is_counted_until(const struct vpa_autoscaler *v, vpa_time when)
{
    return vpa_autoscaler_history_age(v, "app").counted_until == when;
}

/* A pod's aggregate goes when it has had no samples for long, and is made anew by the next. */
TEST(aggregates_come_and_go) {
    struct vpa_autoscaler *v = put_vpa("v", "app=web");

    put_pod("p", "{\"app\":\"web\"}");
    ck_assert(is_counted_until(v, VPA_TIME_UNSET));
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    ck_assert(is_counted_until(v, now));
    now = vpa_time_add(now, 9 * DAY);
    ck_assert_uint_eq(vpa_cluster_collect_garbage(c, now, NULL, NULL), 1);
    ck_assert(is_counted_until(v, VPA_TIME_UNSET));
    ck_assert_int_eq(sample("p", VPA_KIND_CPU, now, 100), 0);
    ck_assert(is_counted_until(v, now));
}

/* What was listed goes with the cluster. */
TEST(a_vpa_without_pods) {
    ck_assert(!vpa_autoscaler_has_pod_with(put_vpa("v", "app=web"), "app"));
}

int main(void)
{
    return run_tests("cluster_names", setup, teardown);
}
