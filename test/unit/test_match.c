#include "policy_fixtures.h"

#include "vpa/policy/match.h"

#define VPA(name, created, spec)                                                                   \
    "{'metadata':{'name':'" name "','namespace':'ns'" created "},'spec':{" spec "}}"
#define CREATED(time) ",'creationTimestamp':'" time "'"
#define TARGET(kind, name)                                                                         \
    "'targetRef':{'apiVersion':'apps/v1','kind':'" kind "','name':'" name "'}"

static const struct vpa_label web_items[] = {{"app", "web"}};
static const struct vpa_labels web = {web_items, 1, true};

static struct vpa_selector selector(struct vpa_arena *arena, const char *text)
{
    struct vpa_selector s;
    struct vpa_error err;

    ck_assert_int_eq(vpa_selector_parse(arena, text, &s, &err), 0);
    return s;
}

/* Two VPAs of one target; who controls a pod with the label app=web? */
static const struct match_row {
    const char *name;
    const char *a, *b;
    const char *selector;
    enum vpa_match_rule rule;
    const char *want; /* NULL: nobody */
} rows[] = {
    {"older wins", VPA("z", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")),
     VPA("a", CREATED("2026-01-02T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "z"},
    {"no creation time is oldest", VPA("z", "", TARGET("Deployment", "web")),
     VPA("a", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "z"},
    {"tie goes by name", VPA("b", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")),
     VPA("a", CREATED("2026-01-01T01:00:00+01:00"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "a"},
    {"other kind", VPA("a", "", TARGET("StatefulSet", "web")),
     VPA("b", "", TARGET("deployment", "web")), "app=web", VPA_MATCH_WEBHOOK, NULL},
    {"other name", VPA("a", "", TARGET("Deployment", "x")), VPA("b", "", TARGET("Deployment", "")),
     "app=web", VPA_MATCH_WEBHOOK, NULL},
    {"labels differ", VPA("a", "", TARGET("Deployment", "web")), VPA("b", "", ""), "app=db",
     VPA_MATCH_WEBHOOK, NULL},
    {"Off does not match at admission",
     VPA("a", "", TARGET("Deployment", "web") ",'updatePolicy':{'updateMode':'Off'}"),
     VPA("b", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "b"},
    {"Off matches for the updater",
     VPA("a", "", TARGET("Deployment", "web") ",'updatePolicy':{'updateMode':'Off'}"),
     VPA("b", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_UPDATER, "a"},
    {"Off with any boost matches",
     VPA("a", "",
         TARGET("Deployment", "web") ",'updatePolicy':{'updateMode':'Off'},'startupBoost':{}"),
     VPA("b", CREATED("2026-01-01T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "a"},
    {"label selector of its own",
     VPA("a", CREATED("2026-01-01T00:00:00Z"), "'selector':{'matchLabels':{'app':'web'}}"),
     VPA("b", CREATED("2026-01-02T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "a"},
    {"label selector of its own that is younger",
     VPA("a", CREATED("2026-01-03T00:00:00Z"), "'selector':{'matchLabels':{'app':'web'}}"),
     VPA("b", CREATED("2026-01-02T00:00:00Z"), TARGET("Deployment", "web")), "app=web",
     VPA_MATCH_WEBHOOK, "b"},
};

TEST_EACH(winners, rows) {
    const struct match_row *row = &rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_object a = fixture_vpa(&arena, row->a);
    struct vpa_object b = fixture_vpa(&arena, row->b);
    struct vpa_selector s = selector(&arena, row->selector);
    const struct vpa_candidate candidates[] = {{&a, a.has_selector ? &a.selector : &s}, {&b, &s}};
    const struct vpa_candidate *got =
        vpa_match_strongest(candidates, 2, row->rule, "ns", "Deployment", "web", &web);
    struct vpa_match_index *index = vpa_match_index_new(candidates, 2);
    const struct vpa_candidate *indexed =
        vpa_match_find(index, row->rule, "ns", "Deployment", "web", &web);

    ck_assert_msg((got == NULL) == (row->want == NULL), "%s", row->name);
    ck_assert_msg((indexed == NULL) == (row->want == NULL), "%s by index", row->name);
    if (row->want) {
        ck_assert_str_eq(got->vpa->meta.name, row->want);
        ck_assert_str_eq(indexed->vpa->meta.name, row->want);
    }
    vpa_match_index_free(index);
}

TEST(namespaces_and_missing_selectors) {
    vpa_auto_arena arena = {0};
    struct vpa_object a = fixture_vpa(&arena, VPA("a", "", TARGET("Deployment", "web")));
    struct vpa_selector s = selector(&arena, "");
    const struct vpa_candidate no_selector = {&a, NULL};
    const struct vpa_candidate candidate = {&a, &s};

    ck_assert(!vpa_match_selects(&no_selector, "ns", &web));
    ck_assert(vpa_match_selects(&candidate, "ns", &web));
    ck_assert(!vpa_match_selects(&candidate, "other", &web));
    ck_assert_ptr_null(
        vpa_match_strongest(&candidate, 1, VPA_MATCH_WEBHOOK, "other", "Deployment", "web", &web));
    ck_assert_ptr_null(vpa_match_strongest(&candidate, 1, VPA_MATCH_WEBHOOK, "ns", "", "", &web));
    ck_assert_ptr_null(
        vpa_match_strongest(NULL, 0, VPA_MATCH_WEBHOOK, "ns", "Deployment", "web", &web));
}

TEST(index_finds_among_many) {
    enum { COUNT = 500 };
    vpa_auto_arena arena = {0};
    struct vpa_object *vpas = vpa_arena_alloc(&arena, COUNT * sizeof(*vpas));
    struct vpa_candidate candidates[COUNT];
    struct vpa_selector s = selector(&arena, "");

    for (int i = 0; i < COUNT; i++) {
        vpas[i] = fixture_vpa(
            &arena,
            vpa_arena_printf(&arena,
                             "{'metadata':{'name':'v%d','namespace':'ns%d'},'spec':{'targetRef':"
                             "{'kind':'Deployment','name':'d%d'}}}",
                             i, i % 7, i));
        candidates[i] = (struct vpa_candidate){&vpas[i], &s};
    }
    struct vpa_match_index *index = vpa_match_index_new(candidates, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const struct vpa_candidate *c =
            vpa_match_find(index, VPA_MATCH_UPDATER, vpa_arena_printf(&arena, "ns%d", i % 7),
                           "Deployment", vpa_arena_printf(&arena, "d%d", i), &web);
        ck_assert_ptr_nonnull(c);
        ck_assert_ptr_eq(c->vpa, &vpas[i]);
        ck_assert_ptr_null(vpa_match_find(index, VPA_MATCH_UPDATER, "ns8", "Deployment",
                                          vpa_arena_printf(&arena, "d%d", i), &web));
    }
    vpa_match_index_free(index);
    vpa_match_index_free(vpa_match_index_new(NULL, 0));
}

/* Namespaces, kinds and names in every combination: the index says what a look at all says. */
TEST(index_finds_what_a_look_at_all_finds) {
    static const char *const spaces[] = {"a", "b", "c"},
                             *const kinds[] = {"Deployment", "Job", "StatefulSet"},
                             *const names[] = {"u", "v", "w", "x", "y", "z"};
    enum { ALL = VPA_COUNT(spaces) * VPA_COUNT(kinds) * VPA_COUNT(names) };
    vpa_auto_arena arena = {0};
    struct vpa_object vpas[ALL];
    struct vpa_candidate candidates[ALL];
    struct vpa_selector s = selector(&arena, "");
    size_t count = 0;

    for (size_t i = 0; i < ALL; i++) {
        size_t at = (i * 25 + 7) % ALL; /* in no order, every third is missing */
        if (at % 3 == 0)
            continue;
        vpas[count] = fixture_vpa(
            &arena, vpa_arena_printf(&arena,
                                     "{'metadata':{'name':'v%zu','namespace':'%s'},'spec':{"
                                     "'targetRef':{'kind':'%s','name':'%s'}}}",
                                     at, spaces[at / 18], kinds[at / 6 % 3], names[at % 6]));
        candidates[count] = (struct vpa_candidate){&vpas[count], &s};
        count++;
    }
    struct vpa_match_index *index = vpa_match_index_new(candidates, count);
    for (size_t at = 0; at < ALL; at++) {
        const char *ns = spaces[at / 18], *kind = kinds[at / 6 % 3], *name = names[at % 6];
        const struct vpa_candidate *want =
            vpa_match_strongest(candidates, count, VPA_MATCH_UPDATER, ns, kind, name, &web);
        const struct vpa_candidate *got =
            vpa_match_find(index, VPA_MATCH_UPDATER, ns, kind, name, &web);

        ck_assert_int_eq(want != NULL, at % 3 != 0);
        ck_assert_int_eq(got != NULL, want != NULL);
        if (got)
            ck_assert_ptr_eq(got->vpa, want->vpa);
    }
    vpa_match_index_free(index);
}

int main(void)
{
    return run_tests("match", NULL, NULL);
}
