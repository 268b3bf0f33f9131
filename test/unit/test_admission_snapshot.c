#include "policy_fixtures.h"

#include "snapshot.h"
#include "vpa/base/str.h"

#define VPA(name, target)                                                                          \
    "{'metadata':{'name':'" name                                                                   \
    "','namespace':'ns'},'spec':{'targetRef':{'kind':'Deployment','name':'" target "'}}}"
#define RANGE(name, cpu)                                                                           \
    "{'metadata':{'name':'" name                                                                   \
    "','namespace':'ns'},'spec':{'limits':[{'type':'Container','max':{"                            \
    "'cpu':'" cpu "'}}]}}"

static struct vpa_arena arena;
static struct snapshot_builder *builder;
static int changes;

static void on_change(void *ctx)
{
    (void)ctx;
    changes++;
}

static void setup(void)
{
    builder = snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = "kube-system"});
    snapshot_builder_on_change(builder, on_change, NULL);
}

static void teardown(void)
{
    snapshot_builder_free(builder);
    snapshot_builder_free(NULL);
    vpa_arena_release(&arena);
}

/* As the reflector does it; -1 when the object is unknown now. */
static int give(struct vpa_cache *cache, enum vpa_reflector_event event, const char *text)
{
    const struct vpa_json *json = fixture_parse(&arena, text);
    struct vpa_reflector_handler handler = vpa_cache_handler(cache);
    struct vpa_error err;

    if (handler.object(handler.ctx, event, json, &err) == 0)
        return 0;
    handler.unusable(
        handler.ctx, event,
        &(struct vpa_unusable_object){
            .kind = "",
            .ns = vpa_or_empty(vpa_json_string(vpa_json_at(json, "metadata.namespace"))),
            .name = vpa_or_empty(vpa_json_string(vpa_json_at(json, "metadata.name"))),
            .reason = err.text,
            .object = json});
    return -1;
}

static int vpa_event(enum vpa_reflector_event event, const char *text)
{
    return give(snapshot_builder_vpas(builder), event, text);
}

static int range_event(enum vpa_reflector_event event, const char *text)
{
    return give(snapshot_builder_limit_ranges(builder), event, text);
}

static void begin_list(struct vpa_cache *cache)
{
    struct vpa_reflector_handler handler = vpa_cache_handler(cache);

    handler.begin(handler.ctx);
}

static void end_list(struct vpa_cache *cache)
{
    struct vpa_reflector_handler handler = vpa_cache_handler(cache);

    handler.end(handler.ctx);
}

static void join_name(void *ctx, const struct vpa_object *vpa)
{
    const char **names = ctx;

    *names = vpa_arena_printf(&arena, "%s%s ", *names, vpa->meta.name);
}

/* The names under a target in the newest snapshot. */
static const char *names_of(const char *kind, const char *name)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const char *names = "";

    snapshot_vpas(s, "ns", kind, name, join_name, &names);
    snapshot_unref(s);
    return names;
}

static const char *max_cpu(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_namespace_limits *limits = snapshot_limits(s, "ns");
    const char *text = limits ? fixture_list_text(&arena, &limits->container.max) : "none";

    snapshot_unref(s);
    return text;
}

TEST(nothing_shows_before_publishing) {
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_gt(changes, 0);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "a ");
    ck_assert_str_eq(names_of("Deployment", "other"), "");
    ck_assert_uint_eq(vpa_cache_count(snapshot_builder_vpas(builder)), 1);
}

TEST(old_snapshots_stay_as_they_were) {
    const char *names = "";

    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    snapshot_builder_publish(builder, NULL);
    struct snapshot *old = snapshot_acquire(snapshot_builder_cell(builder));
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED, VPA("a", "db")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    ck_assert_str_eq(names_of("Deployment", "db"), "a ");
    snapshot_vpas(old, "ns", "Deployment", "web", join_name, &names);
    ck_assert_str_eq(names, "a ");
    snapshot_unref(old);
    snapshot_unref(NULL);
}

TEST(lists_drop_what_they_do_not_have) {
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("b", "web")), 0);
    begin_list(snapshot_builder_vpas(builder));
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_LISTED, VPA("b", "web")), 0);
    end_list(snapshot_builder_vpas(builder));
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "b ");
}

/* The target of the unknown VPA that stands there, "-" for one that cannot be told, "" for none. */
static const char *unknown_of(const char *kind, const char *name)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_object *vpa = snapshot_unknown_vpa(s, "ns", kind, name);
    const char *text = !vpa                      ? ""
                       : vpa->target_ref.present ? vpa_arena_strdup(&arena, vpa->target_ref.name)
                                                 : "-";

    snapshot_unref(s);
    return text;
}

#define UNKNOWN_VPA(name, target)                                                                  \
    "{'metadata':{'name':'" name                                                                   \
    "','namespace':'ns'},'spec':{'targetRef':{'kind':'Deployment','name':'" target                 \
    "'},'updatePolicy':5}}"

TEST(undecodable_objects_are_unknown) {
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED, VPA("a", "web")), 0);
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED, UNKNOWN_VPA("a", "db")), -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "");
    ck_assert_str_eq(names_of("Deployment", "db"), "");
    ck_assert_str_eq(unknown_of("Deployment", "db"), "db");
    ck_assert_str_eq(unknown_of("Deployment", "web"), "");
    ck_assert_str_eq(unknown_of("", ""), "");
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED,
                               "{'metadata':{'name':'a','namespace':'ns'},'spec':{'targetRef':5}}"),
                     -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(unknown_of("Deployment", "db"), "");
    ck_assert_str_eq(unknown_of("", ""), "-");
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_MODIFIED, VPA("a", "web")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("Deployment", "web"), "a ");
    ck_assert_str_eq(unknown_of("", ""), "");
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_DELETED, VPA("a", "web")), 0);
}

static void count_letter(void *ctx, const struct vpa_object *vpa)
{
    int *visits = ctx;

    visits[vpa->meta.name[0] - 'a']++;
}

/* The VPAs of the namespace that have a target, by name, as often as they are visited. */
static const char *targeting(const struct snapshot *s)
{
    int visits[26] = {0};
    const char *names = "";

    snapshot_targeting_vpas(s, "ns", count_letter, visits);
    for (int letter = 0; letter < 26; letter++)
        for (int i = 0; i < visits[letter]; i++)
            names = vpa_arena_printf(&arena, "%s%c ", names, 'a' + letter);
    return names;
}

static const char *targeting_now(void)
{
    struct snapshot *s;
    const char *names;

    snapshot_builder_publish(builder, NULL);
    s = snapshot_acquire(snapshot_builder_cell(builder));
    names = targeting(s);
    snapshot_unref(s);
    return names;
}

static void put(const char *text)
{
    (void)vpa_event(VPA_REFLECTOR_MODIFIED, text);
}

TEST(a_namespace_knows_its_targets) {
    ck_assert_str_eq(targeting_now(), "");
    put(VPA("a", "web"));
    put(VPA("b", "web"));
    put(VPA("c", "db"));
    put("{'metadata':{'name':'d','namespace':'other'},'spec':{'targetRef':{'kind':'Deployment',"
        "'name':'web'}}}");
    put("{'metadata':{'name':'e','namespace':'ns'},'spec':{'selector':{'matchLabels':{'a':'b'}}}}");
    ck_assert_str_eq(targeting_now(), "a b c ");
    struct snapshot *old = snapshot_acquire(snapshot_builder_cell(builder));
    put(VPA("a", "db"));
    ck_assert_str_eq(targeting_now(), "a b c ");
    put(VPA("b", "queue")); /* nobody has the first target any more */
    ck_assert_str_eq(targeting_now(), "a b c ");
    put(UNKNOWN_VPA("a", "web"));
    ck_assert_str_eq(targeting_now(), "b c ");
    put(UNKNOWN_VPA("a", "db"));
    put(VPA("a", "db"));
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_DELETED, VPA("c", "db")), 0);
    ck_assert_str_eq(targeting_now(), "a b ");
    put("{'metadata':{'name':'a','namespace':'ns'},'spec':{'selector':{'matchLabels':{'a':'b'}}}}");
    ck_assert_str_eq(targeting_now(), "b ");
    begin_list(snapshot_builder_vpas(builder));
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_LISTED, VPA("f", "web")), 0);
    end_list(snapshot_builder_vpas(builder));
    ck_assert_str_eq(targeting_now(), "f ");
    ck_assert_str_eq(targeting(old), "a b c ");
    snapshot_unref(old);
}

TEST(selectors_without_target_are_kept_apart) {
    ck_assert_int_eq(vpa_event(VPA_REFLECTOR_ADDED,
                               "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{"
                               "'matchLabels':{'a':'b'}}}}"),
                     0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(names_of("", ""), "s ");
}

static const char *limits_error(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_namespace_limits *limits = snapshot_limits(s, "ns");
    const char *text =
        limits && limits->error ? vpa_arena_strdup(&arena, limits->error) : "no error";

    snapshot_unref(s);
    return text;
}

#define UNREADABLE_RANGE(name)                                                                     \
    "{'metadata':{'name':'" name "','namespace':'ns'},'spec':{'limits':5}}"
#define UNREADABLE(name) "LimitRange ns/" name ": spec.limits: array expected, got number"

/* Bounds that nobody knows are not taken for none: the reason stays until the object is readable
 * again, or gone. */
TEST(unreadable_limit_ranges_leave_their_error) {
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("a", "2")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, UNREADABLE_RANGE("c")), -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), UNREADABLE("c"));
    ck_assert_str_eq(max_cpu(), "cpu=2");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, UNREADABLE_RANGE("a")), -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), UNREADABLE("a"));
    ck_assert_str_eq(max_cpu(), "-");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, RANGE("a", "3")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, UNREADABLE_RANGE("c")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(limits_error(), "no error");
    ck_assert_str_eq(max_cpu(), "cpu=3");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, UNREADABLE_RANGE("b")), -1);
    begin_list(snapshot_builder_limit_ranges(builder));
    end_list(snapshot_builder_limit_ranges(builder));
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "none");
}

#define RATIO(type) "{'type':'" type "','maxLimitRequestRatio':{'cpu':'1500m'}}"

/* What is folded outlives the objects that it is made of. */
TEST(a_snapshot_keeps_its_ratios) {
    ck_assert_int_eq(
        range_event(VPA_REFLECTOR_ADDED,
                    "{'metadata':{'name':'a','namespace':'ns'},'spec':{'limits':[" RATIO(
                        "Container") "," RATIO("Pod") "]}}"),
        0);
    snapshot_builder_publish(builder, NULL);
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    const struct vpa_limit_ratios *ratios = &snapshot_limits(s, "ns")->ratios;

    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, RANGE("a", "2")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(fixture_list_text(&arena, &ratios->container), "cpu=1500m");
    ck_assert_str_eq(fixture_list_text(&arena, &ratios->pod), "cpu=1500m");
    snapshot_unref(s);
}

TEST(limit_ranges_fold_per_namespace) {
    ck_assert_str_eq(max_cpu(), "none");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("a", "2")), 0);
    ck_assert_int_eq(range_event(VPA_REFLECTOR_ADDED, RANGE("b", "1")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=1");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED, RANGE("b", "3")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=2");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, RANGE("a", "2")), 0);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "cpu=3");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_MODIFIED,
                                 "{'metadata':{'name':'b','namespace':'ns'},'spec':{'limits':5}}"),
                     -1);
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "-");
    ck_assert_int_eq(range_event(VPA_REFLECTOR_DELETED, RANGE("b", "2")), 0);
    begin_list(snapshot_builder_limit_ranges(builder));
    ck_assert_int_eq(range_event(VPA_REFLECTOR_LISTED, RANGE("c", "5")), 0);
    end_list(snapshot_builder_limit_ranges(builder));
    begin_list(snapshot_builder_limit_ranges(builder));
    end_list(snapshot_builder_limit_ranges(builder));
    snapshot_builder_publish(builder, NULL);
    ck_assert_str_eq(max_cpu(), "none");
}

static bool panicking(void)
{
    struct snapshot *s = snapshot_acquire(snapshot_builder_cell(builder));
    bool panic = snapshot_is_panic(s);

    snapshot_unref(s);
    return panic;
}

static void panic_event(enum vpa_reflector_event event, const char *name)
{
    const char *text =
        vpa_arena_printf(&arena, "{'metadata':{'name':'%s','namespace':'kube-system'}}", name);

    ck_assert_int_eq(give(snapshot_builder_panic(builder), event, text), 0);
    snapshot_builder_publish(builder, NULL);
}

TEST(panic_follows_its_config_map) {
    panic_event(VPA_REFLECTOR_ADDED, "other");
    ck_assert(!panicking());
    panic_event(VPA_REFLECTOR_ADDED, "vpa-panic");
    ck_assert(panicking());
    panic_event(VPA_REFLECTOR_DELETED, "vpa-panic");
    ck_assert(!panicking());
    panic_event(VPA_REFLECTOR_ADDED, "vpa-panic");
    begin_list(snapshot_builder_panic(builder));
    end_list(snapshot_builder_panic(builder));
    snapshot_builder_publish(builder, NULL);
    ck_assert(!panicking());
}

int main(void)
{
    return run_tests("admission_snapshot", setup, teardown);
}
