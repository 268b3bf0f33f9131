/* Set inplace: in-place decisions, patches, and flows over several passes. */
#include <string.h>

#include "golden.h"
#include "updater_case.h"
#include "updater_flow.h"
#include "updater_steps.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/json/json_writer.h"
#include "vpa/policy/boost.h"
#include "vpa/policy/boost_marker.h"
#include "vpa/policy/resize_patch.h"

/* What the last patch did against a decision; NULL: nothing. */
static const char *violation;

static bool wanted_by(const struct vpa_json *patched, const char *path,
                      const struct vpa_quantity *want, struct vpa_arena *arena)
{
    const struct vpa_json *node = vpa_json_pointer_find(patched, path);
    struct vpa_quantity got;
    struct vpa_error err;

    return node && vpa_quantity_decode(arena, node, &got, &err) == 0 &&
           vpa_quantity_cmp(&got, want) == 0;
}

/* S1: a container that is switched off gets its originals back, all of them; 15.3: every other one
 * has a cpu request that is recommended or the original one. */
static void check_restored(struct golden_case *c, const struct vpa_pod *pod, size_t i,
                           const struct vpa_object *vpa, const struct vpa_container_plan *plan,
                           const struct vpa_json *patched)
{
    const char *name = pod->containers[i].name;
    const char *marker = vpa_labels_get(&pod->meta.annotations,
                                        golden_label(c, "%s%s", VPA_BOOST_ANNOTATION_PREFIX, name));
    const struct vpa_container_policy *policy = vpa_policy_find(&vpa->resource_policy, name);
    struct vpa_resources original;
    struct vpa_error err;

    if (!marker ||
        !vpa_boost_expired(pod, vpa, name, updater_case_time(c, GOLDEN_IN(c, "now"), "now")) ||
        vpa_boost_marker_parse(c->arena, marker, &original, &err) < 0)
        return;

    bool off = policy && policy->mode && strcmp(policy->mode, "Off") == 0;

    for (size_t k = 0; k < original.requests.count; k++) {
        const struct vpa_resource *r = &original.requests.items[k];
        bool cpu = strcmp(r->name, VPA_CPU) == 0;

        if (!off && (!cpu || vpa_resource_find(&plan->requests, VPA_CPU)))
            continue;
        if (!wanted_by(patched,
                       golden_label(c, "/spec/containers/%zu/resources/requests/%s", i, r->name),
                       &r->quantity, c->arena))
            violation = "a boosted container did not get its original requests back";
    }
}

static void check_patch(struct golden_case *c, const struct vpa_pod *pod,
                        const struct vpa_object *vpa, const struct vpa_container_plan *plans,
                        const struct vpa_resize_patch *patch, const char *resize)
{
    const struct vpa_json *ops, *patched;
    vpa_auto_buf out = {0};
    struct vpa_error err;

    vpa_buf_init(&out, (size_t)1 << 20);
    if (vpa_json_parse(c->arena, resize, strlen(resize), &ops, &err) < 0 ||
        vpa_json_patch_apply(GOLDEN_IN(c, "pod"), ops, &out, &err) < 0 ||
        vpa_json_parse(c->arena, vpa_buf_text(&out), out.len, &patched, &err) < 0) {
        violation = "the patch does not fit the pod";
        return;
    }
    if (golden_tagged(c, "U7") && patch->changes)
        violation = "a patch that changes nothing would be sent";
    if (golden_tagged(c, "S1") || golden_tagged(c, "updater.md 15.3")) {
        for (size_t i = 0; i < pod->container_count; i++)
            check_restored(c, pod, i, vpa, &plans[i], patched);
    }
}

/* 16.3: the operations about a resource that nobody recommends for its container, which only the
 * reference invents. */
static bool is_invented(struct golden_case *c, const struct vpa_object *vpa,
                        const struct vpa_pod *pod, const char *path)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        const char *base = golden_label(c, "/spec/containers/%zu/resources/", i);
        const char *slash = vpa_str_starts_with(path, base) ? strrchr(path, '/') : NULL;
        const struct vpa_container_recommendation *r =
            vpa_recommendation_find(&vpa->recommendation, pod->containers[i].name);

        if (slash && (size_t)(slash - path) >= strlen(base) && r)
            return !vpa_resource_find(&r->target, slash + 1);
    }
    return false;
}

static const char *without_invented(struct golden_case *c, const struct vpa_object *vpa,
                                    const struct vpa_pod *pod, const char *text)
{
    struct vpa_json_writer w;
    vpa_auto_buf out = {0};
    const struct vpa_json *ops;
    struct vpa_error err;

    if (vpa_json_parse(c->arena, text, strlen(text), &ops, &err) < 0)
        return text;
    vpa_buf_init(&out, (size_t)1 << 20);
    vpa_json_writer_init(&w, &out);
    vpa_json_open_array(&w);
    vpa_json_foreach (op, ops) {
        struct vpa_quantity q;
        bool whole = vpa_json_count(op) == 3 &&
                     vpa_str_eq(vpa_json_string(vpa_json_find(op, "op")), "add") &&
                     vpa_quantity_decode(c->arena, vpa_json_find(op, "value"), &q, &err) == 0;

        if (!whole ||
            !is_invented(c, vpa, pod, vpa_or_empty(vpa_json_string(vpa_json_find(op, "path")))))
            vpa_json_put_node(&w, op);
        else
            golden_exempt(c, 1);
    }
    vpa_json_close_array(&w);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&out));
}

static void compare_resize(struct golden_case *c, const struct vpa_object *vpa,
                           const struct vpa_pod *pod, const char *got)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "resize");
    const char *text = vpa_json_string(want);

    if (!updater_case_is_undone() || !golden_tagged(c, "updater.md 16.3") || !text) {
        golden_text(c, "resize", want, got);
        return;
    }
    golden_compared(c, want);
    text = without_invented(c, vpa, pod, text);
    if (strcmp(text, got) != 0)
        golden_difference(c, "resize (without what is invented)", text, got);
}

static void run_patch(struct golden_case *c)
{
    struct vpa_object *vpa = updater_case_vpa(c, GOLDEN_IN(c, "vpa"));
    struct vpa_pod *pod = updater_case_pod(c, GOLDEN_IN(c, "pod"));
    struct vpa_namespace_limits limits = updater_case_limits(c, GOLDEN_IN(c, "limitRanges"));
    vpa_time now = updater_case_time(c, GOLDEN_IN(c, "now"), "now");
    struct vpa_container_plan *plans;
    struct vpa_resize_patch patch;
    struct vpa_error err;

    if (!updater_case_is_undone())
        violation = NULL;
    updater_case_undo_objects(c, vpa, (const struct vpa_pod *const *)&pod, 1);
    golden_marker(c, "crash");
    vpa_resize_patch_init(&patch);
    if (vpa_capping_plan(c->arena, vpa, pod, &limits, &plans, &err) < 0 ||
        vpa_resize_patch_build(pod, vpa, &limits, plans, now, c->arena, &patch, &err) < 0) {
        const char *why = err.code == VPA_NOT_FOUND ? "nothing-to-patch" : "patch-computation";

        golden_bool(c, "error", GOLDEN_OUT(c, "error"), true);
        golden_text(c, "why", GOLDEN_OUT(c, "why"), why);
    } else {
        const struct vpa_json *object = GOLDEN_IN(c, "pod");
        const char *resize = updater_case_unguarded(c, object, vpa_buf_text(&patch.resize));

        compare_resize(c, vpa, pod, resize);
        golden_text(c, "annotations", GOLDEN_OUT(c, "annotations"),
                    updater_case_unguarded(c, object, vpa_buf_text(&patch.annotations)));
        if (!updater_case_is_undone())
            check_patch(c, pod, vpa, plans, &patch, resize);
    }
    /* The decision is kept even where the text equals the reference's. */
    if (violation)
        golden_difference(c, "decision", "kept", violation);
    vpa_resize_patch_release(&patch);
}

static void run(struct golden_case *c)
{
    if (strcmp(c->file, "decide") == 0)
        updater_decide_case(c);
    else if (GOLDEN_IN(c, "passes"))
        updater_flow_case(c);
    else
        run_patch(c);
}

static void undone(struct golden_case *c)
{
    updater_case_undone(c, run);
}

static void invariant(struct golden_case *c)
{
    if (strcmp(c->file, "decide") == 0)
        updater_steps_invariant(c);
    else if (GOLDEN_IN(c, "passes"))
        updater_flow_invariant(c);
    else if (violation)
        golden_difference(c, "decision", "kept", violation);
}

const struct golden_set golden_set_inplace = {.name = "inplace",
                                              .run = run,
                                              .invariant = invariant,
                                              .undone = undone,
                                              .licences = updater_licences,
                                              .touches = updater_case_touches};
