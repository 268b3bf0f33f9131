/*
 * The webhook for VPA objects. It runs before the API server's schema, so its texts are what users
 * see; every rule of upstream stands here in upstream's order (specification api.md 8.3), and
 * behind each group the rules that are ours (DECISIONS S6, S8). A feature behind a closed gate may
 * stay where the stored object uses it already, anywhere (8.5): struct allowances is that
 * knowledge.
 */
#include "vpa/policy/validate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/api/object_types.h"
#include "vpa/base/buf.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"
#include "vpa/json/json_writer.h"
#include "vpa/model/algorithm.h"

/* Longest text of one finding, and of the message that joins them. */
#define TEXT_MAX (1 << 20)

#define GATE_IN_PLACE                                                                              \
    "in order to use UpdateMode InPlace, you must enable feature gate InPlace in the "             \
    "admission-controller args"
#define GATE_BOOST                                                                                 \
    "in order to use startupBoost, you must enable feature gate CPUStartupBoost in the "           \
    "admission-controller args"
#define GATE_PER_VPA "not supported when feature flag PerVPAConfig is disabled"
#define AUTO_WARNING                                                                               \
    "spec.updatePolicy: \"Auto\" mode is deprecated and will be removed in a future API version. " \
    "Use explicit update modes like: [InPlace InPlaceOrRecreate Initial Off Recreate]. See "       \
    "https://github.com/kubernetes/autoscaler/issues/8424 for more details."
#define WHOLE_MILLI "must be a whole number of milli CPUs"
#define WHOLE_BYTES "must be a whole number of bytes"

/* ---- findings ---- */

/* Whether the answer has all the causes that it may have; one more is only counted then. Asked
 * before a text is made: an object has room for half a million mistakes. */
static bool left_out(struct vpa_findings *f)
{
    if (f->cause_count < VPA_CAUSES_MAX)
        return false;
    f->causes_left_out++;
    return true;
}

static void add_cause(struct vpa_findings *f, const char *reason, const char *field,
                      const char *message)
{
    VPA_ARENA_GROW(f->arena, f->causes, f->cause_count, f->cause_capacity);
    f->causes[f->cause_count++] = (struct vpa_status_cause){
        .reason = reason, .message = message, .field = vpa_arena_strdup(f->arena, field)};
}

static void add_warning(struct vpa_findings *f, const char *text)
{
    if (f->warning_count == VPA_WARNINGS_MAX)
        return;
    VPA_ARENA_GROW(f->arena, f->warnings, f->warning_count, f->warning_capacity);
    f->warnings[f->warning_count++] = text;
}

static void required(struct vpa_findings *f, const char *field, const char *detail)
{
    if (left_out(f))
        return;
    add_cause(f, "FieldValueRequired", field,
              *detail ? vpa_arena_printf(f->arena, "Required value: %s", detail)
                      : "Required value");
}

static void forbidden(struct vpa_findings *f, const char *field, const char *detail)
{
    if (left_out(f))
        return;
    add_cause(f, "FieldValueForbidden", field, vpa_arena_printf(f->arena, "Forbidden: %s", detail));
}

static void invalid(struct vpa_findings *f, const char *field, const char *value,
                    const char *detail)
{
    if (left_out(f))
        return;
    add_cause(f, "FieldValueInvalid", field,
              vpa_arena_printf(f->arena, "Invalid value: %s: %s", value, detail));
}

static void invalid_int(struct vpa_findings *f, const char *field, int64_t n, const char *detail)
{
    invalid(f, field, vpa_arena_printf(f->arena, "%" PRId64, n), detail);
}

/* supported is printed as it is: "\"Auto\", \"Off\"". */
static void unsupported(struct vpa_findings *f, const char *field, const char *value,
                        const char *supported)
{
    vpa_auto_buf quoted = VPA_BUF(TEXT_MAX);

    if (left_out(f))
        return;
    vpa_json_escape(&quoted, value);
    add_cause(f, "FieldValueNotSupported", field,
              vpa_arena_printf(f->arena, "Unsupported value: %s: supported values: %s",
                               vpa_buf_text(&quoted), supported));
}

/* Text in Go's quotes, in the arena. */
static const char *quoted(struct vpa_arena *arena, const char *text)
{
    vpa_auto_buf buf = VPA_BUF(TEXT_MAX);

    vpa_quote_go(&buf, text);
    return vpa_arena_strdup(arena, vpa_buf_text(&buf));
}

static const char *quoted_quantity(struct vpa_arena *arena, const struct vpa_quantity *q)
{
    return quoted(arena, vpa_quantity_text(arena, q));
}

/* ---- what the old object unlocks ---- */

struct allowances {
    bool startup_boost;
    bool per_vpa_config;
    bool in_place;
    const char **controlled; /* resources that the old object controls, sorted: tolerated */
    size_t controlled_count;
};

static bool has_per_vpa_config(const struct vpa_container_policy *policy)
{
    return policy->oom_bump_up_ratio.present || policy->oom_min_bump_up.present ||
           policy->memory_interval_seconds.present || policy->memory_interval != NULL ||
           policy->memory_interval_count.present;
}

static void collect_controlled(struct vpa_arena *arena, const struct vpa_resource_policy *policies,
                               struct allowances *a)
{
    size_t count = 0;

    for (size_t i = 0; i < policies->container_count; i++)
        count += policies->containers[i].controlled_resource_count;
    if (count == 0)
        return;
    a->controlled = vpa_arena_alloc(arena, count * sizeof(*a->controlled));
    for (size_t i = 0; i < policies->container_count; i++) {
        const struct vpa_container_policy *policy = &policies->containers[i];
        for (size_t j = 0; j < policy->controlled_resource_count; j++)
            a->controlled[a->controlled_count++] = policy->controlled_resources[j];
    }
    qsort(a->controlled, count, sizeof(*a->controlled), vpa_str_compare);
}

static struct allowances allow(struct vpa_arena *arena, const struct vpa_object *old,
                               const struct vpa_validate_options *options)
{
    struct allowances a = {
        .startup_boost =
            options->cpu_startup_boost || (old->startup_boost && old->startup_boost->has_cpu),
        .per_vpa_config = options->per_vpa_config || old->evict_after_oom_seconds.present,
        .in_place = options->in_place || (old->update_mode && !strcmp(old->update_mode, "InPlace")),
    };

    a.startup_boost |= old->resource_policy.boosts;
    for (size_t i = 0; i < old->resource_policy.container_count; i++)
        a.per_vpa_config |= has_per_vpa_config(&old->resource_policy.containers[i]);
    collect_controlled(arena, &old->resource_policy, &a);
    return a;
}

static bool old_controls(const struct allowances *a, const char *resource)
{
    return a->controlled_count > 0 && bsearch(&resource, a->controlled, a->controlled_count,
                                              sizeof(*a->controlled), vpa_str_compare) != NULL;
}

/* ---- target and update policy ---- */

static bool is_mode(const char *mode)
{
    static const char *const modes[] = {"Off",  "Initial",           "Recreate",
                                        "Auto", "InPlaceOrRecreate", "InPlace"};

    return vpa_str_is_in(mode, modes, VPA_COUNT(modes));
}

/* S8: exactly one of targetRef and selector, and one that can be used. */
static void check_target(struct vpa_findings *f, const struct vpa_object *vpa)
{
    if (!vpa->target_ref.present && !vpa->has_selector)
        required(f, "spec.targetRef", "either targetRef or selector must be specified");
    else if (vpa->target_ref.present && vpa->has_selector)
        forbidden(f, "spec.selector", "may not be specified together with targetRef");
    if (vpa->selector_error)
        add_cause(f, "FieldValueInvalid", "spec.selector",
                  vpa_arena_printf(f->arena, "Invalid value: %s", vpa->selector_error));
}

static void check_mode(struct vpa_findings *f, const struct vpa_object *vpa,
                       const struct allowances *a)
{
    const char *field = "spec.updatePolicy.updateMode", *mode = vpa->update_mode;

    if (!mode)
        required(f, field, "updateMode is required if UpdatePolicy is used");
    else if (!is_mode(mode))
        unsupported(f, field, mode,
                    "\"InPlace\", \"InPlaceOrRecreate\", \"Initial\", \"Off\", \"Recreate\"");
    else if (strcmp(mode, "InPlace") == 0 && !a->in_place)
        forbidden(f, field, GATE_IN_PLACE);
    else if (strcmp(mode, "Auto") == 0)
        add_warning(f, AUTO_WARNING);
}

static void check_update_policy(struct vpa_findings *f, const struct vpa_object *vpa,
                                const struct allowances *a)
{
    const char *oom = "spec.updatePolicy.evictAfterOOMSeconds";

    if (!vpa->has_update_policy)
        return;
    check_mode(f, vpa, a);
    if (vpa->min_replicas.present && vpa->min_replicas.value <= 0)
        invalid_int(f, "spec.updatePolicy.minReplicas", vpa->min_replicas.value,
                    "minReplicas has to be positive");
    if (vpa->evict_after_oom_seconds.present && !a->per_vpa_config)
        forbidden(f, oom, GATE_PER_VPA);
    else if (vpa->evict_after_oom_seconds.present && vpa->evict_after_oom_seconds.value < 1)
        invalid_int(f, oom, vpa->evict_after_oom_seconds.value,
                    "must be greater than or equal to 1");
}

/* ---- startup boost ---- */

static void check_boost(struct vpa_findings *f, const struct vpa_startup_boost *boost,
                        const char *field, const struct allowances *a)
{
    if (!boost || !boost->present)
        return;
    if (!a->startup_boost) {
        forbidden(f, field, GATE_BOOST);
        return;
    }
    if (!boost->has_cpu)
        return;

    const char *factor = vpa_arena_printf(f->arena, "%s.cpu.factor", field);
    const char *quantity = vpa_arena_printf(f->arena, "%s.cpu.quantity", field);
    const char *type = vpa_arena_printf(f->arena, "%s.cpu.type", field);

    if (*boost->type == '\0') {
        required(f, type, "must be either Factor or Quantity");
    } else if (strcmp(boost->type, "Factor") == 0) {
        if (!boost->factor.present)
            required(f, factor, "required when type is Factor");
        else if (boost->factor.value < 1)
            invalid_int(f, factor, boost->factor.value, "must be >= 1 for type Factor");
    } else if (strcmp(boost->type, "Quantity") == 0) {
        if (!boost->quantity.present)
            required(f, quantity, "required when type is Quantity");
        else if (!vpa_quantity_is_whole_milli(&boost->quantity.value))
            invalid(f, quantity, quoted_quantity(f->arena, &boost->quantity.value), WHOLE_MILLI);
    } else {
        unsupported(f, type, boost->type, "\"Factor\", \"Quantity\"");
    }
}

/* ---- container policies ---- */

/* One container policy under examination. */
struct subject {
    struct vpa_findings *findings;
    const struct vpa_container_policy *policy;
    const char *path; /* spec.resourcePolicy.containerPolicies[0] */
    const struct allowances *allowed;
};

static const char *below(const struct subject *s, const char *member)
{
    return vpa_arena_printf(s->findings->arena, "%s.%s", s->path, member);
}

static const char *entry_of(const struct subject *s, const char *map, const char *name)
{
    return vpa_arena_printf(s->findings->arena, "%s.%s[%s]", s->path, map, name);
}

static void check_resolution(const struct subject *s, const char *map, const struct vpa_resource *r)
{
    const char *detail = NULL;

    if (strcmp(r->name, VPA_CPU) == 0 && !vpa_quantity_is_whole_milli(&r->quantity))
        detail = WHOLE_MILLI;
    else if (strcmp(r->name, VPA_MEMORY) == 0 && !vpa_quantity_is_whole(&r->quantity))
        detail = WHOLE_BYTES;
    if (detail && !left_out(s->findings))
        invalid(s->findings, entry_of(s, map, r->name),
                quoted_quantity(s->findings->arena, &r->quantity), detail);
}

static void check_bounds(const struct subject *s)
{
    struct vpa_arena *arena = s->findings->arena;

    for (size_t i = 0; i < s->policy->min_allowed.count; i++) {
        const struct vpa_resource *min = &s->policy->min_allowed.items[i];
        const struct vpa_quantity *max = vpa_resource_find(&s->policy->max_allowed, min->name);

        check_resolution(s, "minAllowed", min);
        if (max && vpa_quantity_cmp(max, &min->quantity) < 0 && !left_out(s->findings))
            invalid(s->findings, entry_of(s, "maxAllowed", min->name), quoted_quantity(arena, max),
                    vpa_arena_printf(arena, "max resource for %s is lower than min of %s",
                                     min->name, quoted_quantity(arena, &min->quantity)));
    }
    for (size_t i = 0; i < s->policy->max_allowed.count; i++)
        check_resolution(s, "maxAllowed", &s->policy->max_allowed.items[i]);
}

/* Neither cpu nor memory: tolerated where the old object has it. */
static void check_foreign_resource(const struct subject *s, size_t index, const char *resource)
{
    struct vpa_findings *f = s->findings;
    bool tolerated = old_controls(s->allowed, resource);

    if (tolerated ? f->warning_count == VPA_WARNINGS_MAX : left_out(f))
        return;

    const char *field = vpa_arena_printf(f->arena, "%s.controlledResources[%zu]", s->path, index);
    if (tolerated)
        add_warning(f, vpa_arena_printf(f->arena,
                                        "%s: unsupported value %s is allowed only because it is "
                                        "present in the existing VPA object; supported values: "
                                        "\"cpu\", \"memory\"",
                                        field, quoted(f->arena, resource)));
    else
        unsupported(f, field, resource, "\"cpu\", \"memory\"");
}

static void check_controlled(const struct subject *s)
{
    const struct vpa_container_policy *policy = s->policy;

    if (policy->mode && strcmp(policy->mode, "Off") == 0 && policy->controlled_values &&
        strcmp(policy->controlled_values, "RequestsAndLimits") == 0)
        forbidden(s->findings, below(s, "controlledValues"),
                  "controlledValues shouldn't be specified if container scaling mode is off");
    for (size_t j = 0; j < policy->controlled_resource_count; j++) {
        const char *resource = policy->controlled_resources[j];

        if (strcmp(resource, VPA_CPU) != 0 && strcmp(resource, VPA_MEMORY) != 0)
            check_foreign_resource(s, j, resource);
    }
}

static void check_ratio(const struct subject *s)
{
    double ratio = (double)vpa_quantity_milli_value(&s->policy->oom_bump_up_ratio.value) / 1000.0;
    const char *field = below(s, "oomBumpUpRatio");
    char text[VPA_DOUBLE_TEXT_MAX];

    if (!s->allowed->per_vpa_config) {
        forbidden(s->findings, field, GATE_PER_VPA);
    } else if (ratio < 1.0) {
        vpa_double_format_go(ratio, text);
        invalid(s->findings, field, text, "must be greater than or equal to 1.0");
    }
}

static void check_at_least(const struct subject *s, const char *member, int64_t value, int64_t min)
{
    const char *field = below(s, member);

    if (!s->allowed->per_vpa_config)
        forbidden(s->findings, field, GATE_PER_VPA);
    else if (value < min)
        invalid_int(s->findings, field, value,
                    min ? "must be greater than or equal to 1"
                        : "must be greater than or equal to 0");
}

/* S6: the interval as a Go duration; at least a second, and not at odds with the number of seconds.
 */
static void check_interval_text(const struct subject *s)
{
    const struct vpa_container_policy *policy = s->policy;
    const char *field = below(s, "memoryAggregationInterval");
    const char *shown = quoted(s->findings->arena, policy->memory_interval);
    vpa_duration interval;
    struct vpa_error err;

    if (!s->allowed->per_vpa_config) {
        forbidden(s->findings, field, GATE_PER_VPA);
    } else if (vpa_duration_parse(policy->memory_interval, &interval, &err) < 0) {
        invalid(s->findings, field, shown, err.text);
    } else if (interval < VPA_SECOND || interval % VPA_SECOND != 0) {
        invalid(s->findings, field, shown, "must be a whole number of seconds, at least 1s");
    } else if (policy->memory_interval_seconds.present &&
               policy->memory_interval_seconds.value != interval / VPA_SECOND) {
        invalid(s->findings, field, shown,
                "must be the same as memoryAggregationIntervalSeconds when both are specified");
    }
}

static void check_per_vpa_config(const struct subject *s)
{
    const struct vpa_container_policy *policy = s->policy;

    if (policy->oom_bump_up_ratio.present)
        check_ratio(s);
    if (policy->oom_min_bump_up.present)
        check_at_least(s, "oomMinBumpUp", vpa_quantity_value(&policy->oom_min_bump_up.value), 0);
    if (policy->memory_interval_seconds.present)
        check_at_least(s, "memoryAggregationIntervalSeconds", policy->memory_interval_seconds.value,
                       1);
    if (policy->memory_interval)
        check_interval_text(s);
    if (policy->memory_interval_count.present)
        check_at_least(s, "memoryAggregationIntervalCount", policy->memory_interval_count.value, 1);
}

static void check_container(const struct subject *s)
{
    const struct vpa_container_policy *policy = s->policy;

    if (*policy->container_name == '\0')
        required(s->findings, below(s, "containerName"), "");
    if (policy->mode && strcmp(policy->mode, "Auto") != 0 && strcmp(policy->mode, "Off") != 0)
        unsupported(s->findings, below(s, "mode"), policy->mode, "\"Auto\", \"Off\"");
    check_bounds(s);
    check_controlled(s);
    check_per_vpa_config(s);
    check_boost(s->findings, &policy->startup_boost, below(s, "startupBoost"), s->allowed);
}

/* Parameters of algorithms (decision S13). What the stored object says already may stay. */
static void check_parameters(struct vpa_findings *f, const struct vpa_object *vpa,
                             const struct vpa_object *old, const struct vpa_algorithm *algorithm)
{
    struct vpa_parameters p;

    vpa_parameters_init(&p, algorithm);
    for (size_t i = 0; i < vpa->meta.annotations.count; i++) {
        const struct vpa_label *a = &vpa->meta.annotations.items[i];
        const char *key = vpa_parameter_of_annotation(algorithm, a->key);
        struct vpa_error err;

        if (!key || vpa_str_eq(vpa_labels_get(&old->meta.annotations, a->key), a->value) ||
            vpa_parameters_set(&p, key, a->value, &err) == 0 || left_out(f))
            continue;
        invalid(f, vpa_arena_printf(f->arena, "metadata.annotations[%s]", a->key),
                quoted(f->arena, a->value), vpa_arena_strdup(f->arena, err.text));
    }
    vpa_parameters_release(&p);
}

/* Those of VPA's own are flags of the recommender alone. */
static void check_annotations(struct vpa_findings *f, const struct vpa_object *vpa,
                              const struct vpa_object *old)
{
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    for (size_t i = 1; vpa->meta.annotations.count > 0 && i < count; i++)
        check_parameters(f, vpa, old, all[i]);
}

void vpa_validate(const struct vpa_object *vpa, const struct vpa_object *old,
                  const struct vpa_validate_options *options, struct vpa_findings *findings)
{
    struct allowances allowed = allow(findings->arena, old, options);

    check_target(findings, vpa);
    check_update_policy(findings, vpa, &allowed);
    for (size_t i = 0; i < vpa->resource_policy.container_count; i++) {
        const struct subject subject = {
            .findings = findings,
            .policy = &vpa->resource_policy.containers[i],
            .path =
                vpa_arena_printf(findings->arena, "spec.resourcePolicy.containerPolicies[%zu]", i),
            .allowed = &allowed,
        };
        check_container(&subject);
    }
    check_boost(findings, vpa->startup_boost, "spec.startupBoost", &allowed);
    check_annotations(findings, vpa, old);
    if (vpa->recommender_count > 1)
        add_cause(findings, "FieldValueTooMany", "spec.recommenders",
                  vpa_arena_printf(findings->arena, "Too many: %zu: must have at most 1 item",
                                   vpa->recommender_count));
}

/* ---- review ---- */

/* "field: message" of each cause, in brackets when there are several; no two of them are alike. */
static const char *join_causes(const struct vpa_findings *f)
{
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    for (size_t i = 0; i < f->cause_count; i++)
        vpa_buf_printf(&text, "%s%s: %s", i ? ", " : "", f->causes[i].field, f->causes[i].message);
    if (f->causes_left_out)
        vpa_buf_printf(&text, ", and %zu more", f->causes_left_out);
    return vpa_arena_printf(f->arena, f->cause_count > 1 ? "[%s]" : "%s", vpa_buf_text(&text));
}

static void deny(const struct vpa_review_request *request, const struct vpa_findings *f,
                 struct vpa_validation *out)
{
    const char *name = quoted(f->arena, request->name);
    const char *dot = *request->group ? "." : "";

    out->allowed = false;
    out->status = (struct vpa_status){
        .status = "Failure",
        .message = vpa_arena_printf(f->arena, "%s%s%s %s is invalid: %s", request->request_kind,
                                    dot, request->group, name, join_causes(f)),
        .reason = "Invalid",
        .code = 422,
        .has_details = true,
        .details_name = request->name,
        .details_group = request->group,
        .details_kind = request->request_kind,
        .details_uid = "",
        .causes = f->causes,
        .cause_count = f->cause_count,
    };
}

/* Quantity errors are given in upstream's words, which name no path. */
static const char *decoder_text(const char *text)
{
    static const char *const words[] = {"quantities must match the regular expression",
                                        "unable to parse quantity's suffix",
                                        "unable to parse numeric part of quantity"};

    for (size_t i = 0; i < VPA_COUNT(words); i++) {
        const char *at = strstr(text, words[i]);
        if (at)
            return at;
    }
    return text;
}

/* Of several mistakes upstream's decoder tells a quantity; its words for others are not ours. */
static int read_object(struct vpa_arena *arena, const struct vpa_json *node, struct vpa_object *out,
                       struct vpa_error *err)
{
    struct vpa_error why;

    if (!node)
        return vpa_fail(err, VPA_INVALID, "unexpected end of JSON input");
    enum vpa_types types = vpa_object_check_types(arena, node, &why);
    if (types != VPA_TYPES_MALFORMED && vpa_object_decode(arena, node, out, err) < 0)
        return -1;
    if (types != VPA_TYPES_RIGHT)
        *err = why;
    return types == VPA_TYPES_RIGHT ? 0 : -1;
}

static int decode(struct vpa_arena *arena, const struct vpa_json *node, struct vpa_object *out,
                  struct vpa_findings *f)
{
    struct vpa_error err;
    size_t length;
    const char *list = vpa_object_too_long(node, &length);

    if (list) {
        add_cause(f, "FieldValueTooMany", list,
                  vpa_arena_printf(arena, "Too many: %zu: must have at most %d items", length,
                                   VPA_LIST_MAX));
        return -1;
    }
    if (read_object(arena, node, out, &err) == 0)
        return 0;
    add_cause(f, "InternalError", ".",
              vpa_arena_printf(arena, "Internal error: %s", decoder_text(err.text)));
    return -1;
}

/* By the server, which alone says so of what is stored. */
static bool is_being_deleted(const struct vpa_review_request *request)
{
    static const char path[] = "metadata.deletionTimestamp";

    return !vpa_json_is_null(vpa_json_at(request->old_object, path)) &&
           !vpa_json_is_null(vpa_json_at(request->object, path));
}

void vpa_validate_review(struct vpa_arena *arena, const struct vpa_review_request *request,
                         const struct vpa_validate_options *options, struct vpa_validation *out)
{
    struct vpa_findings findings = {.arena = arena};
    struct vpa_object vpa = {0}, old = {0};
    bool update = strcmp(request->operation, "UPDATE") == 0;
    size_t length;

    /* What is too long to be read unlocks nothing, and may be made shorter. */
    update = update && !vpa_object_too_long(request->old_object, &length);

    *out = (struct vpa_validation){.allowed = true};
    if (is_being_deleted(request))
        return;
    if (decode(arena, request->object, &vpa, &findings) == 0 &&
        (!update || decode(arena, request->old_object, &old, &findings) == 0))
        vpa_validate(&vpa, &old, options, &findings);
    out->warnings = findings.warnings;
    out->warning_count = findings.warning_count;
    if (findings.cause_count)
        deny(request, &findings, out);
    else if (!vpa.has_update_policy)
        out->patch = VPA_DEFAULT_POLICY_PATCH;
}
