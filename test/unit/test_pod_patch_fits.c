/*
 * Whatever a pod looks like when it is sent, its patch can be applied to it, and does what was
 * meant: the planned values stand in their places, and nothing but resources and annotations is
 * another than it was. Pods and VPAs are generated; a number names each pair.
 */
#include "policy_fixtures.h"

#include "vpa/json/json_patch.h"
#include "vpa/policy/pod_patch.h"

#define PODS 100000
#define PODS_PER_TEST 5000
#define TEXT_MAX (1 << 16)

/* ---- dice ---- */

static uint64_t state;
static struct vpa_arena arena; /* of one pair */

static size_t roll(size_t count)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % count;
}

static const char *pick(const char *const *items)
{
    size_t count = 0;

    while (items[count])
        count++;
    return items[roll(count)];
}

/* ---- generator ---- */

static const char *const names[] = {"app", "side", "a", "app", NULL};
static const char *const amounts[] = {"100m", "1", "0", "250Mi", "1e3", "1.5", "-1", "2Gi", NULL};
static const char *const resources[] = {"cpu", "memory", "a~b.com/r", "ephemeral-storage", NULL};

/* "cpu":"1","memory":"2Gi", each name at most once. */
static void put_amounts(struct vpa_buf *out)
{
    const char *separator = "";

    for (size_t i = 0; resources[i]; i++) {
        if (roll(3) == 0)
            continue;
        vpa_buf_printf(out, "%s\"%s\":\"%s\"", separator, resources[i], pick(amounts));
        separator = ",";
    }
}

/* A list of amounts that may be absent, null, empty or full; what comes before it is `head`. */
static void put_list(struct vpa_buf *out, const char *head, const char *name)
{
    switch (roll(4)) {
    case 0:
        return;
    case 1:
        vpa_buf_printf(out, "%s\"%s\":null", head, name);
        return;
    case 2:
        vpa_buf_printf(out, "%s\"%s\":{}", head, name);
        return;
    default:
        vpa_buf_printf(out, "%s\"%s\":{", head, name);
        put_amounts(out);
        vpa_buf_putc(out, '}');
    }
}

static void put_resources(struct vpa_buf *out)
{
    switch (roll(6)) {
    case 0:
        return;
    case 1:
        vpa_buf_puts(out, ",\"resources\":null");
        return;
    default:
        vpa_buf_printf(out, ",\"resources\":{\"claims\":[%s]", roll(2) ? "{\"name\":\"gpu\"}" : "");
        put_list(out, ",", "requests");
        put_list(out, ",", "limits");
        vpa_buf_putc(out, '}');
    }
}

static void put_containers(struct vpa_buf *out, const char *member, size_t count)
{
    vpa_buf_printf(out, "\"%s\":[", member);
    for (size_t i = 0; i < count; i++) {
        vpa_buf_printf(out, "%s{\"name\":\"%s\"", i ? "," : "", pick(names));
        put_resources(out);
        vpa_buf_putc(out, '}');
    }
    vpa_buf_putc(out, ']');
}

static void put_pod(struct vpa_buf *out)
{
    static const char *const annotations[] = {
        "",
        ",\"annotations\":null",
        ",\"annotations\":{}",
        ",\"annotations\":{\"a/b~c\":\"x\"}",
        ",\"annotations\":{\"vpaUpdates\":\"old\",\"vpaCpuStartupBoost/app\":\"{}\"}",
        NULL};

    vpa_buf_printf(out, "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"ns\"%s},\"spec\":{",
                   pick(annotations));
    put_containers(out, "containers", roll(4));
    vpa_buf_puts(out, "},\"status\":{");
    put_containers(out, "containerStatuses", roll(4));
    vpa_buf_puts(out, "}}");
}

static void put_policies(struct vpa_buf *out)
{
    static const char *const policies[] = {"",
                                           ",\"mode\":\"Off\"",
                                           ",\"controlledValues\":\"RequestsOnly\"",
                                           ",\"maxAllowed\":{\"cpu\":\"50m\"}",
                                           ",\"startupBoost\":{\"cpu\":{\"type\":\"Factor\","
                                           "\"factor\":3}}",
                                           NULL};

    vpa_buf_puts(out, ",\"resourcePolicy\":{\"containerPolicies\":[");
    for (size_t i = 0, count = roll(3); i < count; i++)
        vpa_buf_printf(out, "%s{\"containerName\":\"%s\"%s}", i ? "," : "", i ? "*" : pick(names),
                       pick(policies));
    vpa_buf_puts(out, "]}");
}

static void put_vpa(struct vpa_buf *out)
{
    vpa_buf_puts(out, "{\"metadata\":{\"name\":\"web\",\"namespace\":\"ns\"},\"spec\":{"
                      "\"updatePolicy\":{\"updateMode\":\"Recreate\"}");
    put_policies(out);
    if (roll(3) == 0)
        vpa_buf_puts(out, ",\"startupBoost\":{\"cpu\":{\"type\":\"Quantity\",\"quantity\":\"1\"}}");
    vpa_buf_puts(out, "},\"status\":{\"recommendation\":{\"containerRecommendations\":[");
    for (size_t i = 0, count = roll(4); i < count; i++) {
        vpa_buf_printf(out, "%s{\"containerName\":\"%s\",\"target\":{", i ? "," : "", names[i]);
        put_amounts(out);
        vpa_buf_puts(out, "}}");
    }
    vpa_buf_puts(out, "]}}}");
}

/* ---- checks ---- */

static const struct vpa_json *parse(const struct vpa_buf *text)
{
    const struct vpa_json *root;
    struct vpa_error err;

    if (vpa_json_parse(&arena, vpa_buf_text(text), text->len, &root, &err) < 0)
        ck_abort_msg("%s: %s", err.text, vpa_buf_text(text));
    return root;
}

/* Everything but the annotations and the resources of containers is as it was. */
static bool same_but_resources(const struct vpa_json *a, const struct vpa_json *b)
{
    const struct vpa_json *x = vpa_json_first(vpa_json_at(a, "spec.containers"));
    const struct vpa_json *y = vpa_json_first(vpa_json_at(b, "spec.containers"));

    for (; x && y; x = vpa_json_next(x), y = vpa_json_next(y))
        if (!vpa_json_equal(vpa_json_find(x, "name"), vpa_json_find(y, "name")) ||
            (vpa_json_count(vpa_json_at(x, "resources.claims")) &&
             !vpa_json_equal(vpa_json_at(x, "resources.claims"),
                             vpa_json_at(y, "resources.claims"))))
            return false;
    return !x && !y && vpa_json_equal(vpa_json_find(a, "status"), vpa_json_find(b, "status")) &&
           vpa_json_equal(vpa_json_at(a, "metadata.name"), vpa_json_at(b, "metadata.name"));
}

/* Every amount that was there is still there, or has been planned anew; every planned one stands.
 */
static bool has_amounts(const struct vpa_json *before, const struct vpa_json *after,
                        const struct vpa_resource_list *planned, bool exact)
{
    for (size_t i = 0; i < planned->count; i++) {
        const struct vpa_json *node = vpa_json_find(after, planned->items[i].name);
        const char *want = vpa_quantity_text(&arena, &planned->items[i].quantity);

        if (!node || (exact && strcmp(want, vpa_json_string(node)) != 0))
            return false;
    }
    vpa_json_foreach (old, before) {
        const struct vpa_json *now = vpa_json_find(after, vpa_json_name(old));

        if (!now || (!vpa_resource_find(planned, vpa_json_name(old)) && !vpa_json_equal(old, now)))
            return false;
    }
    return true;
}

static bool is_as_planned(const struct vpa_json *before, const struct vpa_json *after,
                          const struct vpa_container_plan *plan)
{
    return has_amounts(vpa_json_at(before, "resources.requests"),
                       vpa_json_at(after, "resources.requests"), &plan->requests, true) &&
           has_amounts(vpa_json_at(before, "resources.limits"),
                       vpa_json_at(after, "resources.limits"), &plan->limits, true);
}

/* What is planned for the pod as it was sent: it has no status yet that could count. */
static void check_plan(const struct vpa_json *sent, const struct vpa_json *patched,
                       const struct vpa_object *vpa, const char *pod_text)
{
    const struct vpa_json *before = vpa_json_first(vpa_json_at(sent, "spec.containers"));
    const struct vpa_json *after = vpa_json_first(vpa_json_at(patched, "spec.containers"));
    struct vpa_container_plan *plans;
    struct vpa_pod pod;
    struct vpa_error err;

    ck_assert_int_eq(vpa_pod_decode(&arena, sent, &pod, &err), 0);
    pod.status_count = 0;
    ck_assert_int_eq(vpa_capping_plan(&arena, vpa, &pod, NULL, &plans, &err), 0);
    for (size_t i = 0; i < pod.container_count; i++) {
        if (!is_as_planned(before, after, &plans[i]))
            ck_abort_msg("container %zu is not as planned: %s", i, pod_text);
        before = vpa_json_next(before);
        after = vpa_json_next(after);
    }
}

static void check_one(uint64_t number)
{
    struct vpa_pod_patch_options options = {.startup_boost = number % 2 == 0};
    vpa_auto_buf pod_text = VPA_BUF(TEXT_MAX), vpa_text = VPA_BUF(TEXT_MAX),
                 patch = VPA_BUF(TEXT_MAX), result = VPA_BUF(TEXT_MAX);
    struct vpa_object vpa;
    struct vpa_pod pod;
    struct vpa_error err;

    state = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    put_pod(&pod_text);
    put_vpa(&vpa_text);
    const struct vpa_json *sent = parse(&pod_text);
    ck_assert_int_eq(vpa_pod_decode(&arena, sent, &pod, &err), 0);
    ck_assert_int_eq(vpa_object_decode(&arena, parse(&vpa_text), &vpa, &err), 0);
    ck_assert_int_eq(vpa_pod_patch(&arena, &pod, &vpa, NULL, &options, &patch, &err), 0);
    if (vpa_json_patch_apply(sent, parse(&patch), &result, &err) < 0)
        ck_abort_msg("%llu: %s: %s does not fit %s", (unsigned long long)number, err.text,
                     vpa_buf_text(&patch), vpa_buf_text(&pod_text));
    const struct vpa_json *patched = parse(&result);
    if (!same_but_resources(sent, patched))
        ck_abort_msg("%s became %s", vpa_buf_text(&pod_text), vpa_buf_text(&result));
    if (!options.startup_boost)
        check_plan(sent, patched, &vpa, vpa_buf_text(&pod_text));
}

TEST_TIMES(every_patch_fits, PODS / PODS_PER_TEST) {
    uint64_t first = (uint64_t)_i * PODS_PER_TEST;

    for (uint64_t number = first; number < first + PODS_PER_TEST; number++) {
        check_one(number);
        vpa_arena_clear(&arena);
    }
    vpa_arena_release(&arena);
}

int main(void)
{
    return run_tests_within(300, "pod_patch_fits", NULL, NULL);
}
