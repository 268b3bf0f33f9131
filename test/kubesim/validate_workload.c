/* Validation of what makes pods: Deployments, ReplicaSets, StatefulSets, DaemonSets,
 * ReplicationControllers, Jobs and CronJobs, with the server's texts. */
#include "validate.h"

#include <string.h>

struct check {
    struct ctx *c;
    const struct jv *spec;
    const char *at; /* where the specification stands: "spec" */
    struct field_errors *errors;
};

static const char *under(const struct check *k, const char *name)
{
    return vpa_arena_printf(k->c->a, "%s.%s", k->at, name);
}

static void not_negative(const struct check *k, const char *const *names, size_t count)
{
    int64_t n;

    for (size_t i = 0; i < count; i++)
        if (jv_is_int(jv_get(k->spec, names[i]), &n) && n < 0)
            field_error(k->c, k->errors, INVALID, under(k, names[i]),
                        "Invalid value: %lld: must be greater than or equal to 0", (long long)n);
}

static void mismatch(const struct check *k, const struct jv *labels)
{
    field_error(k->c, k->errors, INVALID, under(k, "template.metadata.labels"),
                "Invalid value: %s: `selector` does not match template `labels`",
                labels ? jv_dump(k->c->a, labels) : "null");
}

/* ---- selectors ---- */

static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist"};

static bool known_operator(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(operators); i++)
        if (!strcmp(name, operators[i]))
            return true;
    return false;
}

static void check_requirement(struct ctx *c, const struct jv *requirement, const char *at,
                              struct field_errors *errors)
{
    const char *op = jv_text_at(requirement, "operator");
    const struct jv *values = jv_get(requirement, "values");
    bool lists = strstr(op, "In") != NULL;
    size_t i = 0;

    if (!known_operator(op))
        field_error(c, errors, INVALID, vpa_arena_printf(c->a, "%s.operator", at),
                    "Invalid value: \"%s\": not a valid selector operator", op);
    else if (lists && !jv_len(values))
        field_error(c, errors, REQUIRED, vpa_arena_printf(c->a, "%s.values", at),
                    "Required value: must be specified when `operator` is 'In' or 'NotIn'");
    else if (!lists && jv_len(values))
        field_error(c, errors, FORBIDDEN, vpa_arena_printf(c->a, "%s.values", at),
                    "Forbidden: may not be specified when `operator` is 'Exists' or "
                    "'DoesNotExist'");
    validate_label_key(c, jv_text_at(requirement, "key"), vpa_arena_printf(c->a, "%s.key", at),
                       errors);
    jv_each (m, values)
        validate_label_value(c, jv_text(m->value) ? m->value->text : "",
                             vpa_arena_printf(c->a, "%s.values[%zu]", at, i++), errors);
}

void validate_selector(struct ctx *c, const struct jv *selector, const char *at,
                       struct field_errors *errors)
{
    size_t i = 0;

    validate_labels(c, jv_get(selector, "matchLabels"),
                    vpa_arena_printf(c->a, "%s.matchLabels", at), errors);
    jv_each (m, jv_get(selector, "matchExpressions"))
        check_requirement(c, m->value, vpa_arena_printf(c->a, "%s.matchExpressions[%zu]", at, i++),
                          errors);
}

static bool selects_all(const struct jv *selector)
{
    return !jv_missing(selector) && !jv_len(jv_get(selector, "matchLabels")) &&
           !jv_len(jv_get(selector, "matchExpressions"));
}

/* Whether the server can make a selector of it at all. */
static bool can_select(struct ctx *c, const struct jv *selector)
{
    struct field_errors errors = {0};

    validate_selector(c, selector, "", &errors);
    return !errors.count;
}

/* ---- templates ---- */

static void check_template(const struct check *k, const char *at)
{
    struct ctx *c = k->c;
    const struct jv *template = jv_get(k->spec, "template");
    const char *place = vpa_arena_printf(c->a, "%s.%s", k->at, at);

    validate_labels(c, jv_at(template, "metadata.labels"),
                    vpa_arena_printf(c->a, "%s.labels", place), k->errors);
    validate_annotations(c, jv_at(template, "metadata.annotations"),
                         vpa_arena_printf(c->a, "%s.annotations", place), k->errors);
    validate_pod_spec(c, jv_get(template, "spec"), vpa_arena_printf(c->a, "%s.spec", place),
                      k->errors);
}

/* What goes on for ever has pods that do, without a deadline. */
static void check_lasting(const struct check *k, const char *kind)
{
    const struct jv *pod = jv_at(k->spec, "template.spec");
    const char *policy = jv_text_at(pod, "restartPolicy");

    if (strcmp(policy, "Always") != 0)
        field_error(k->c, k->errors, UNSUPPORTED, under(k, "template.spec.restartPolicy"),
                    "Unsupported value: \"%s\": supported values: \"Always\"", policy);
    if (!jv_missing(jv_get(pod, "activeDeadlineSeconds")))
        field_error(k->c, k->errors, FORBIDDEN, under(k, "template.spec.activeDeadlineSeconds"),
                    "Forbidden: activeDeadlineSeconds in %s is not Supported", kind);
}

/* ---- kinds ---- */

/* The selector of a Deployment, ReplicaSet or StatefulSet; true when the template can be looked at
 * with it. */
static bool check_selector(const struct check *k, const char *who)
{
    struct ctx *c = k->c;
    const struct jv *selector = jv_get(k->spec, "selector"),
                    *labels = jv_at(k->spec, "template.metadata.labels");

    if (jv_missing(selector))
        field_error(c, k->errors, REQUIRED, under(k, "selector"), "Required value");
    else
        validate_selector(c, selector, under(k, "selector"), k->errors);
    if (selects_all(selector))
        field_error(c, k->errors, INVALID, under(k, "selector"),
                    "Invalid value: {}: empty selector is invalid for %s", who);
    if (!can_select(c, selector)) {
        field_error(c, k->errors, INVALID, under(k, "selector"), "Invalid value: %s%s",
                    jv_dump(c->a, selector), /* of a StatefulSet nothing more is said */
                    !strcmp(who, "deployment") ? ": invalid label selector" : "");
        return false;
    }
    if (!selects_all(selector) && !label_selector_matches(selector, labels))
        mismatch(k, labels);
    return true;
}

static void check_strategy(const struct check *k)
{
    const struct jv *strategy = jv_get(k->spec, "strategy");
    const char *type = jv_text_at(strategy, "type");

    if (!strcmp(type, "Recreate")) {
        if (jv_get(strategy, "rollingUpdate"))
            field_error(k->c, k->errors, FORBIDDEN, under(k, "strategy.rollingUpdate"),
                        "Forbidden: may not be specified when strategy `type` is 'Recreate'");
    } else if (strcmp(type, "RollingUpdate") != 0) {
        field_error(k->c, k->errors, UNSUPPORTED, under(k, "strategy"),
                    "Unsupported value: {}: supported values: \"Recreate\", \"RollingUpdate\"");
    }
}

static void check_deployment(const struct check *k)
{
    static const char *const counts[] = {"replicas", "minReadySeconds", "revisionHistoryLimit",
                                         "progressDeadlineSeconds"};
    int64_t deadline = jv_int_at(k->spec, "progressDeadlineSeconds", 600);

    not_negative(k, counts, VPA_COUNT(counts));
    if (check_selector(k, "deployment")) {
        check_template(k, "template");
        check_lasting(k, "ReplicaSet");
    }
    check_strategy(k);
    if (deadline <= jv_int_at(k->spec, "minReadySeconds", 0))
        field_error(k->c, k->errors, INVALID, under(k, "progressDeadlineSeconds"),
                    "Invalid value: %lld: must be greater than minReadySeconds",
                    (long long)deadline);
}

static void check_replica_set(const struct check *k)
{
    static const char *const counts[] = {"replicas", "minReadySeconds"};

    not_negative(k, counts, VPA_COUNT(counts));
    if (check_selector(k, "deployment")) { /* the server says so */
        check_template(k, "template");
        check_lasting(k, "ReplicaSet");
    }
}

static void check_stateful_set(const struct check *k)
{
    static const char *const counts[] = {"replicas", "minReadySeconds"};
    const char *policy = jv_text_at(k->spec, "podManagementPolicy");
    const struct jv *meta = jv_at(k->spec, "template.metadata");

    if (strcmp(policy, "OrderedReady") != 0 && strcmp(policy, "Parallel") != 0)
        field_error(k->c, k->errors, *policy ? INVALID : REQUIRED, under(k, "podManagementPolicy"),
                    *policy ? "Invalid value: \"%s\": must be 'OrderedReady' or 'Parallel'"
                            : "Required value%s",
                    policy);
    not_negative(k, counts, VPA_COUNT(counts));
    if (check_selector(k, "statefulset")) {
        check_template(k, "template");
        validate_labels(k->c, jv_get(meta, "labels"), under(k, "template.labels"), k->errors);
        validate_annotations(k->c, jv_get(meta, "annotations"), under(k, "template.annotations"),
                             k->errors);
    }
    check_lasting(k, "StatefulSet");
}

static void check_daemon_set(const struct check *k)
{
    static const char *const counts[] = {"minReadySeconds", "revisionHistoryLimit"};
    const struct jv *selector = jv_get(k->spec, "selector"),
                    *labels = jv_at(k->spec, "template.metadata.labels");

    validate_selector(k->c, selector, under(k, "selector"), k->errors);
    if (can_select(k->c, selector) && !label_selector_matches(selector, labels))
        mismatch(k, labels);
    if (selects_all(selector))
        field_error(k->c, k->errors, INVALID, under(k, "selector"),
                    "Invalid value: {}: empty selector is invalid for daemonset");
    check_template(k, "template");
    check_lasting(k, "DaemonSet");
    not_negative(k, counts, VPA_COUNT(counts));
}

static bool holds(const struct jv *labels, const struct jv *wanted)
{
    jv_each (m, wanted)
        if (!jv_get(labels, m->name) || !jv_equal(m->value, jv_get(labels, m->name)))
            return false;
    return true;
}

static void check_replication_controller(const struct check *k)
{
    static const char *const counts[] = {"replicas", "minReadySeconds"};
    const struct jv *selector = jv_get(k->spec, "selector"),
                    *template = jv_get(k->spec, "template"),
                    *labels = jv_at(template, "metadata.labels");

    not_negative(k, counts, VPA_COUNT(counts));
    if (!jv_len(selector))
        field_error(k->c, k->errors, REQUIRED, under(k, "selector"), "Required value");
    if (jv_missing(template)) {
        field_error(k->c, k->errors, REQUIRED, under(k, "template"), "Required value");
        return;
    }
    if (!holds(labels, selector))
        mismatch(k, labels);
    check_template(k, "template");
    check_lasting(k, "ReplicationController");
}

static void check_job_spec(const struct check *k)
{
    static const char *const counts[] = {"parallelism", "completions", "activeDeadlineSeconds",
                                         "backoffLimit", "ttlSecondsAfterFinished"};
    const char *mode = jv_text_at(k->spec, "completionMode"),
               *policy = jv_text_at(k->spec, "template.spec.restartPolicy");
    bool indexed = !strcmp(mode, "Indexed");

    not_negative(k, counts, VPA_COUNT(counts));
    if (*mode && !indexed && strcmp(mode, "NonIndexed") != 0)
        field_error(k->c, k->errors, UNSUPPORTED, under(k, "completionMode"),
                    "Unsupported value: \"%s\": supported values: \"NonIndexed\", \"Indexed\"",
                    mode);
    if (indexed && jv_missing(jv_get(k->spec, "completions")))
        field_error(k->c, k->errors, REQUIRED, under(k, "completions"),
                    "Required value: when completion mode is Indexed");
    check_template(k, "template");
    if (!*policy || !strcmp(policy, "Always"))
        field_error(k->c, k->errors, REQUIRED, under(k, "template.spec.restartPolicy"),
                    "Required value: valid values: \"OnFailure\", \"Never\"");
    else if (strcmp(policy, "OnFailure") != 0 && strcmp(policy, "Never") != 0)
        field_error(k->c, k->errors, UNSUPPORTED, under(k, "template.spec.restartPolicy"),
                    "Unsupported value: \"%s\": supported values: \"OnFailure\", \"Never\"",
                    policy);
}

static void check_job(const struct check *k)
{
    const struct jv *selector = jv_get(k->spec, "selector"),
                    *labels = jv_at(k->spec, "template.metadata.labels");

    check_job_spec(k);
    if (jv_missing(selector))
        field_error(k->c, k->errors, REQUIRED, under(k, "selector"), "Required value");
    else
        validate_selector(k->c, selector, under(k, "selector"), k->errors);
    if (can_select(k->c, selector) && !label_selector_matches(selector, labels))
        mismatch(k, labels);
}

/* The labels by which a Job knows its pods. */
static void check_generated(const struct check *k, const struct jv *object)
{
    struct ctx *c = k->c;
    const char *uid = jv_text_at(object, "metadata.uid"),
               *name = jv_text_at(object, "metadata.name");
    const char *const wanted[][2] = {{"controller-uid", uid},
                                     {"job-name", name},
                                     {"batch.kubernetes.io/controller-uid", uid},
                                     {"batch.kubernetes.io/job-name", name}};
    const struct jv *labels = jv_at(k->spec, "template.metadata.labels");
    struct jv *expected = jv_obj(c->a);

    if (jv_bool_at(k->spec, "manualSelector", false) || jv_missing(jv_get(k->spec, "selector")))
        return;
    for (size_t i = 0; i < VPA_COUNT(wanted); i++) {
        const struct jv *there = jv_get(labels, wanted[i][0]);
        const char *at = vpa_arena_printf(c->a, "spec.template.metadata.labels[%s]", wanted[i][0]);

        jv_set_str(c->a, expected, wanted[i][0], wanted[i][1]);
        if (!there)
            field_error(c, k->errors, REQUIRED, at, "Required value: must be '%s'", wanted[i][1]);
        else if (strcmp(jv_text(there) ? there->text : "", wanted[i][1]) != 0)
            field_error(c, k->errors, INVALID, at, "Invalid value: {}: must be '%s'", wanted[i][1]);
    }
    const struct jv *selector = jv_get(k->spec, "selector");
    if (can_select(c, selector) && !label_selector_matches(selector, expected))
        field_error(c, k->errors, INVALID, "spec.selector",
                    "Invalid value: {}: `selector` not auto-generated");
}

/* "a  b" as Go prints its fields: "a b". */
static const char *schedule_fields(struct ctx *c, const char *text, size_t *count)
{
    static const char blank[] = " \t\n\v\f\r";
    const char *list = "";

    *count = 0;
    for (text += strspn(text, blank); *text; text += strspn(text, blank)) {
        size_t len = strcspn(text, blank);
        list = vpa_arena_printf(c->a, "%s%s%.*s", list, *list ? " " : "", (int)len, text);
        text += len;
        ++*count;
    }
    return list;
}

/* The number of fields alone, not what they say. */
static void check_schedule(const struct check *k)
{
    const char *text = jv_text_at(k->spec, "schedule");
    size_t count;

    if (!*text) {
        field_error(k->c, k->errors, REQUIRED, "spec.schedule", "Required value");
        return;
    }
    const char *fields = schedule_fields(k->c, text, &count);
    if (*text != '@' && count != 5)
        field_wrong(
            k->c, k->errors, "spec.schedule", text,
            vpa_arena_printf(k->c->a, "expected exactly 5 fields, found %zu: [%s]", count, fields));
}

static void check_cron_job(const struct check *k)
{
    static const char *const counts[] = {"startingDeadlineSeconds", "successfulJobsHistoryLimit",
                                         "failedJobsHistoryLimit"};
    const char *policy = jv_text_at(k->spec, "concurrencyPolicy");
    const struct check job = {k->c, jv_at(k->spec, "jobTemplate.spec"), "spec.jobTemplate.spec",
                              k->errors};

    check_schedule(k);
    not_negative(k, counts, VPA_COUNT(counts));
    if (strcmp(policy, "Allow") != 0 && strcmp(policy, "Forbid") != 0 &&
        strcmp(policy, "Replace") != 0)
        field_error(k->c, k->errors, UNSUPPORTED, "spec.concurrencyPolicy",
                    "Unsupported value: \"%s\": supported values: \"Allow\", \"Forbid\", "
                    "\"Replace\"",
                    policy);
    check_job_spec(&job);
    if (!jv_missing(jv_get(job.spec, "selector")))
        field_error(k->c, k->errors, INVALID, "spec.jobTemplate.spec.selector",
                    "Invalid value: {}: `selector` will be auto-generated");
}

void validate_workload(struct ctx *c, const struct jv *object, const char *kind,
                       struct field_errors *errors)
{
    static const struct {
        const char *kind;
        void (*check)(const struct check *k);
    } checks[] = {{"Deployment", check_deployment},
                  {"ReplicaSet", check_replica_set},
                  {"StatefulSet", check_stateful_set},
                  {"DaemonSet", check_daemon_set},
                  {"ReplicationController", check_replication_controller},
                  {"Job", check_job},
                  {"CronJob", check_cron_job}};
    const struct check k = {c, jv_get(object, "spec"), "spec", errors};

    for (size_t i = 0; i < VPA_COUNT(checks); i++)
        if (!strcmp(kind, checks[i].kind))
            checks[i].check(&k);
    if (!strcmp(kind, "Job"))
        check_generated(&k, object);
}

void validate_new_workload(struct ctx *c, const struct jv *object, const char *kind,
                           struct field_errors *errors)
{
    const char *name = jv_text_at(object, "metadata.name"),
               *service = jv_text_at(object, "spec.serviceName"), *fault = dns_label_fault(service);

    if (!strcmp(kind, "CronJob") && strlen(name) > 52) /* those of its jobs are longer */
        field_wrong(c, errors, "metadata.name", name, "must be no more than 52 characters");
    if (strcmp(kind, "StatefulSet") != 0 || !*service)
        return;
    if (strlen(service) > 63)
        field_wrong(c, errors, "spec.serviceName", service, "must be no more than 63 characters");
    if (fault)
        field_wrong(c, errors, "spec.serviceName", service, fault);
}

/* ---- changes ---- */

static void immutable(struct ctx *c, const struct jv *old, const struct jv *object,
                      const char *path, struct field_errors *errors)
{
    const struct jv *x = jv_at(old, path), *y = jv_at(object, path);
    const struct schema *s = c->type->schema;

    for (const char *p = path; s && *p; p += p[strcspn(p, ".")] ? strcspn(p, ".") + 1 : strlen(p))
        s = schema_field(s, vpa_arena_strndup(c->a, p, strcspn(p, ".")));
    if (!schema_equal(c->a, s, x, y))
        field_error(c, errors, INVALID, path, "Invalid value: %s: field is immutable",
                    y ? jv_dump(c->a, y) : "null");
}

static void validate_stateful_set_change(struct ctx *c, const struct jv *old,
                                         const struct jv *object, struct field_errors *errors)
{
    static const char *const mutable[] = {"replicas",
                                          "ordinals",
                                          "template",
                                          "updateStrategy",
                                          "revisionHistoryLimit",
                                          "persistentVolumeClaimRetentionPolicy",
                                          "minReadySeconds"};
    struct jv *x = jv_clone(c->a, jv_get(old, "spec")), *y = jv_clone(c->a, jv_get(object, "spec"));

    for (size_t i = 0; i < VPA_COUNT(mutable); i++) {
        jv_del(x, mutable[i]);
        jv_del(y, mutable[i]);
    }
    if (!schema_equal(c->a, schema_field(c->type->schema, "spec"), x, y))
        field_error(c, errors, "FieldValueForbidden", "spec",
                    "Forbidden: updates to statefulset spec for fields other than 'replicas', "
                    "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

/* Takes over what may change. */
static void take_over(struct ctx *c, struct jv *to, const struct jv *from, const char *const *names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct jv *value = jv_get(from, names[i]);

        if (value)
            jv_set(c->a, to, names[i], jv_clone(c->a, value));
        else
            jv_del(to, names[i]);
    }
}

static void take_over_resources(struct ctx *c, struct jv *to, const struct jv *from,
                                const char *list)
{
    static const char *const resources[] = {"resources"};
    struct jv *ours = jv_get(to, list);
    const struct jv *theirs = jv_get(from, list);

    if (jv_len(ours) != jv_len(theirs))
        return;
    for (size_t i = 0; i < jv_len(ours); i++) {
        struct jv *x = ours->items[i].value;
        const struct jv *y = theirs->items[i].value;

        if (!strcmp(jv_text_at(x, "name"), jv_text_at(y, "name")))
            take_over(c, x, y, resources, 1);
    }
}

/* Of a Job that is suspended and has not begun, the places of its pods may change; from 1.36 on
 * their resources too. */
static void validate_job_template(struct ctx *c, const struct jv *old, const struct jv *object,
                                  struct field_errors *errors)
{
    static const char *const places[] = {"nodeSelector", "tolerations", "schedulingGates"};
    static const char *const names[] = {"labels", "annotations"};
    struct jv *before = jv_clone(c->a, old);
    const struct jv *spec = jv_at(object, "spec.template.spec");

    if (!jv_bool_at(old, "spec.suspend", false) || !jv_missing(jv_at(old, "status.startTime"))) {
        immutable(c, old, object, "spec.template", errors);
        return;
    }
    take_over(c, jv_ensure(c->a, before, "spec.template.spec"), spec, places, VPA_COUNT(places));
    take_over(c, jv_ensure(c->a, before, "spec.template.metadata"),
              jv_at(object, "spec.template.metadata"), names, VPA_COUNT(names));
    if (c->sim->opt.minor < 36) {
        immutable(c, before, object, "spec.template", errors);
        return;
    }
    take_over_resources(c, jv_at(before, "spec.template.spec"), spec, "containers");
    take_over_resources(c, jv_at(before, "spec.template.spec"), spec, "initContainers");
    immutable(c, before, object, "spec.template.spec", errors);
}

static void validate_job_change(struct ctx *c, const struct jv *old, const struct jv *object,
                                struct field_errors *errors)
{
    static const char *const fields[] = {"spec.completions", "spec.selector", "spec.completionMode",
                                         "spec.podFailurePolicy"};
    const struct check k = {c, jv_get(object, "spec"), "spec", errors};

    check_job(&k); /* once more, as the server does */
    for (size_t i = 0; i < VPA_COUNT(fields); i++)
        immutable(c, old, object, fields[i], errors);
    validate_job_template(c, old, object, errors);
}

void validate_workload_change(struct ctx *c, const struct jv *old, const struct jv *object,
                              const char *kind, struct field_errors *errors)
{
    if (!strcmp(kind, "StatefulSet"))
        validate_stateful_set_change(c, old, object, errors);
    if (!strcmp(kind, "Job"))
        validate_job_change(c, old, object, errors);
    if (!strcmp(kind, "Deployment") || !strcmp(kind, "ReplicaSet") || !strcmp(kind, "DaemonSet"))
        immutable(c, old, object, "spec.selector", errors);
    if (!strcmp(kind, "ReplicationController") && c->sim->opt.minor < 35) {
        const struct check k = {c, jv_get(object, "spec"), "spec", errors};
        check_replication_controller(&k); /* 1.34 looks twice */
    }
}
