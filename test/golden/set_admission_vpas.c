/*
 * Reviews of VPA objects: review in, answer out, byte for byte where the set has the bytes.
 */
#include <string.h>

#include "golden.h"
#include "admit.h"
#include "snapshot.h"
#include "vpa/api/review.h"
#include "vpa/base/str.h"
#include "vpa/json/json_patch.h"
#include "vpa/daemon/common_flags.h"
#include "vpa/json/json_writer.h"

#define BODY_MAX (8 << 20)

static struct snapshot_builder *builder; /* of an empty cluster: nothing of it matters here */

static void begin(void)
{
    builder = snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
}

static void end(void)
{
    snapshot_builder_free(builder);
}

/* The wanted review with its patch as base64 text, as on the wire. */
static const char *wanted_wire(struct golden_case *c)
{
    const struct vpa_json *review = GOLDEN_OUT(c, "review");
    const struct vpa_json *patch = vpa_json_at(review, "response.patch");
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(BODY_MAX), wire = VPA_BUF(BODY_MAX);

    if (!patch)
        return NULL;
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, patch);
    vpa_base64_encode(&wire, text.data, text.len);
    return vpa_arena_strdup(c->arena, vpa_buf_text(&wire));
}

/* Whether the decoder's text is Go's own, of which only the frame counts. */
static bool is_free(struct golden_case *c)
{
    return vpa_str_eq(vpa_json_string(GOLDEN_OUT(c, "decoderText")), "free");
}

/* A message; a decoder's text at its end may be ours. */
static void compare_message(struct golden_case *c, const char *label, const struct vpa_json *want,
                            const struct vpa_json *got)
{
    static const char frame[] = "Internal error: ";
    const char *text = vpa_json_string(want), *ours = vpa_json_string(got);
    const char *end = text ? strstr(text, frame) : NULL;

    if (is_free(c) && end && ours) {
        golden_compared(c, want);
        golden_exempt(c, 1);
        if (strncmp(text, ours, (size_t)(end - text) + strlen(frame)) != 0)
            golden_difference(c, label, text, ours);
    } else {
        golden_text(c, label, want, ours);
    }
}

static void compare_node(struct golden_case *c, const char *label, const struct vpa_json *want,
                         const struct vpa_json *got)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(BODY_MAX);

    vpa_json_writer_init(&w, &text);
    if (got)
        vpa_json_put_node(&w, got);
    golden_json(c, label, want, got ? vpa_buf_text(&text) : NULL);
}

static void compare_causes(struct golden_case *c, const struct vpa_json *want,
                           const struct vpa_json *got)
{
    const struct vpa_json *ours = vpa_json_first(got);
    size_t i = 0;

    if (vpa_json_count(want) != vpa_json_count(got)) {
        compare_node(c, "response.status.details.causes", want, got);
        return;
    }
    if (vpa_json_count(want) == 0)
        golden_compared(c, want);
    vpa_json_foreach (cause, want) {
        const char *label = golden_label(c, "response.status.details.causes[%zu]", i++);

        golden_text(c, golden_label(c, "%s.reason", label), vpa_json_find(cause, "reason"),
                    vpa_json_string(vpa_json_find(ours, "reason")));
        golden_text(c, golden_label(c, "%s.field", label), vpa_json_find(cause, "field"),
                    vpa_json_string(vpa_json_find(ours, "field")));
        compare_message(c, golden_label(c, "%s.message", label), vpa_json_find(cause, "message"),
                        vpa_json_find(ours, "message"));
        ours = ours ? vpa_json_next(ours) : NULL;
    }
}

/* The whole answer, where the decoder's text is free: as far as that text begins. */
static void compare_free_body(struct golden_case *c, const char *body)
{
    static const char frame[] = "Internal error: ";
    const char *want = vpa_json_string(GOLDEN_OUT(c, "body"));
    const char *end = want ? strstr(want, frame) : NULL;

    golden_compared(c, GOLDEN_OUT(c, "body"));
    if (GOLDEN_OUT(c, "body") &&
        (!end || strncmp(want, body, (size_t)(end - want) + strlen(frame)) != 0))
        golden_difference(c, "body", want, body);
}

/* The answer, member by member; decoder texts that are Go's own count only as a frame. */
static void compare_review(struct golden_case *c, const char *body)
{
    const struct vpa_json *got, *want = GOLDEN_OUT(c, "review");
    const char *decoder = vpa_json_string(GOLDEN_OUT(c, "decoderText"));
    static const char *const decoders[] = {"exact", "free", NULL};
    static const char *const parts[] = {"uid",
                                        "allowed",
                                        "patchType",
                                        "warnings",
                                        "status.status",
                                        "status.reason",
                                        "status.code",
                                        "status.metadata",
                                        "status.details.name",
                                        "status.details.kind",
                                        "status.details.group"};
    struct vpa_error err;

    if (vpa_json_parse(c->arena, body, strlen(body), &got, &err) < 0) {
        golden_difference(c, "body", "JSON", err.text);
        return;
    }
    for (size_t i = 0; i < VPA_COUNT(parts); i++) {
        const char *path = golden_label(c, "response.%s", parts[i]);

        compare_node(c, path, vpa_json_at(want, path), vpa_json_at(got, path));
    }
    golden_text(c, "kind", vpa_json_find(want, "kind"),
                vpa_json_string(vpa_json_find(got, "kind")));
    golden_text(c, "apiVersion", vpa_json_find(want, "apiVersion"),
                vpa_json_string(vpa_json_find(got, "apiVersion")));
    if (GOLDEN_OUT(c, "decoderText") ||
        strstr(vpa_or_empty(vpa_json_string(vpa_json_at(want, "response.status.message"))),
               "is invalid: .: Internal error: "))
        golden_one_of(c, "decoderText", GOLDEN_OUT(c, "decoderText"), decoders);
    compare_message(c, "response.status.message", vpa_json_at(want, "response.status.message"),
                    vpa_json_at(got, "response.status.message"));
    compare_causes(c, vpa_json_at(want, "response.status.details.causes"),
                   vpa_json_at(got, "response.status.details.causes"));
    if (decoder && strcmp(decoder, "free") == 0) {
        compare_free_body(c, body);
        return;
    }
    if (GOLDEN_OUT(c, "body"))
        golden_text(c, "body", GOLDEN_OUT(c, "body"), body);
}

/* The body as the API server would send it, through the daemon's own dispatch. */
static void answer(struct golden_case *c, const struct vpa_json *review, struct vpa_buf *out)
{
    struct admit_options options = {.max_cpu_boost = vpa_quantity_milli(0)};
    struct admit_result result;
    struct vpa_gates gates;
    struct vpa_json_writer w;
    struct vpa_error err;
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    vpa_gates_preset_upstream(&gates);
    vpa_json_foreach (arg, GOLDEN_IN(c, "args")) {
        const char *value = strchr(vpa_json_string(arg), '=');
        if (vpa_gates_parse(&gates, value ? value + 1 : "", &err) < 0)
            golden_difference(c, "args", "feature gates", err.text);
    }
    options.startup_boost = gates.cpu_startup_boost;
    options.validate = (struct vpa_validate_options){
        .in_place = gates.in_place,
        .cpu_startup_boost = gates.cpu_startup_boost,
        .per_vpa_config = gates.per_vpa_config,
    };
    vpa_json_writer_init(&w, &body);
    vpa_json_put_node(&w, review);
    struct snapshot *snapshot = snapshot_acquire(snapshot_builder_cell(builder));
    admit(snapshot, &options, c->arena, vpa_buf_text(&body), body.len, out, &result);
    snapshot_unref(snapshot);
}

static void compare_answer(struct golden_case *c, const struct vpa_json *review)
{
    const char *patch = wanted_wire(c), *got_patch;
    const struct vpa_json *got;
    struct vpa_error err;
    vpa_auto_buf body = VPA_BUF(BODY_MAX);

    answer(c, review, &body);
    compare_review(c, vpa_buf_text(&body));
    golden_compared(c, vpa_json_at(GOLDEN_OUT(c, "review"), "response.patch")); /* below */
    if (vpa_json_parse(c->arena, vpa_buf_text(&body), body.len, &got, &err) < 0)
        return;
    got_patch = vpa_json_string(vpa_json_at(got, "response.patch"));
    if ((patch || got_patch) && (!patch || !got_patch || strcmp(patch, got_patch) != 0))
        golden_difference(c, "response.patch", patch ? patch : "absent",
                          got_patch ? got_patch : "absent");
}

static void run(struct golden_case *c)
{
    compare_answer(c, vpa_json_at(c->in, "request.review"));
}

/* S8, S6: asked about the same object with a target alone, and with intervals in seconds alone, we
 * answer as the reference does about this one. */
static void undone(struct golden_case *c)
{
    const struct vpa_json *review = vpa_json_at(c->in, "request.review"), *ops, *changed;
    const struct vpa_json *spec = vpa_json_at(review, "request.object.spec");
    vpa_auto_buf patch = VPA_BUF(BODY_MAX), text = VPA_BUF(BODY_MAX);
    struct vpa_error err;
    size_t i = 0;

    vpa_buf_puts(&patch, "[");
    if (!vpa_json_is_object(spec))
        vpa_buf_puts(&patch, "{\"op\":\"add\",\"path\":\"/request/object/spec\",\"value\":{}},");
    vpa_buf_puts(&patch, "{\"op\":\"add\",\"path\":\"/request/object/spec/targetRef\",\"value\":"
                         "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"}}");
    if (vpa_json_find(spec, "selector"))
        vpa_buf_puts(&patch, ",{\"op\":\"remove\",\"path\":\"/request/object/spec/selector\"}");
    vpa_json_foreach (policy, vpa_json_at(spec, "resourcePolicy.containerPolicies")) {
        if (vpa_json_find(policy, "memoryAggregationInterval"))
            vpa_buf_printf(&patch,
                           ",{\"op\":\"remove\",\"path\":\"/request/object/spec/resourcePolicy/"
                           "containerPolicies/%zu/memoryAggregationInterval\"}",
                           i);
        i++;
    }
    vpa_buf_puts(&patch, "]");
    if (vpa_json_parse(c->arena, vpa_buf_text(&patch), patch.len, &ops, &err) < 0 ||
        vpa_json_patch_apply(review, ops, &text, &err) < 0 ||
        vpa_json_parse(c->arena, vpa_buf_text(&text), text.len, &changed, &err) < 0)
        golden_difference(c, "review", "one without the cause", err.text);
    else
        compare_answer(c, changed);
}

/* S6: an interval in both forms must say the same. */
static bool intervals_differ(const struct vpa_json *object)
{
    bool differ = false;

    vpa_json_foreach (policy, vpa_json_at(object, "spec.resourcePolicy.containerPolicies")) {
        const char *text = vpa_json_string(vpa_json_find(policy, "memoryAggregationInterval"));
        vpa_duration interval;
        int64_t seconds;
        struct vpa_error err;

        if (text && vpa_duration_parse(text, &interval, &err) == 0 &&
            vpa_json_int64(vpa_json_find(policy, "memoryAggregationIntervalSeconds"), &seconds))
            differ |= interval != seconds * VPA_SECOND;
    }
    return differ;
}

/* S8: neither target nor selector, or both, is refused. */
static void invariant(struct golden_case *c)
{
    const struct vpa_json *object = vpa_json_at(c->in, "request.review.request.object");
    bool has_target = !vpa_json_is_null(vpa_json_at(object, "spec.targetRef"));
    bool has_selector = !vpa_json_is_null(vpa_json_at(object, "spec.selector"));
    const struct vpa_json *got;
    struct vpa_error err;
    vpa_auto_buf body = VPA_BUF(BODY_MAX);
    bool allowed = true;

    answer(c, vpa_json_at(c->in, "request.review"), &body);
    if (vpa_json_parse(c->arena, vpa_buf_text(&body), body.len, &got, &err) < 0 ||
        !vpa_json_bool(vpa_json_at(got, "response.allowed"), &allowed)) {
        golden_difference(c, "response.allowed", "a boolean", vpa_buf_text(&body));
        return;
    }
    if (golden_tagged(c, "S6") && intervals_differ(object) && allowed)
        golden_difference(c, "response.allowed", "false", "true");
    if (!allowed && vpa_json_find(vpa_json_find(got, "response"), "patch"))
        golden_difference(c, "response.patch", "absent", "present");
    if (golden_tagged(c, "S8") && has_target == has_selector && allowed)
        golden_difference(c, "response.allowed", "false", "true");
}

static const struct golden_licence nothing[] = {{NULL, {NULL}}};

const struct golden_set golden_set_admission_vpas = {.name = "admission_vpas",
                                                     .run = run,
                                                     .invariant = invariant,
                                                     .undone = undone,
                                                     .undone_wholly = true,
                                                     .licences = nothing,
                                                     .begin = begin,
                                                     .end = end};
