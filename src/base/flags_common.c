/*
 * Flags that all daemons share: feature gates, logging, the API server, leader election.
 */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vpa/base/flags.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

/* ---- feature gates ---- */

enum said { SAID_NOTHING, SAID_FALSE, SAID_TRUE };

static void decide(struct vpa_gates *g, bool preset)
{
    const unsigned char all = g->said_all_alpha;
    const bool fallback = all ? all == SAID_TRUE : preset;
    const struct {
        unsigned char said;
        bool *on;
    } alpha[] = {
        {g->said_cpu_startup_boost, &g->cpu_startup_boost},
        {g->said_in_place, &g->in_place},
        {g->said_per_vpa_config, &g->per_vpa_config},
    };

    for (size_t i = 0; i < VPA_COUNT(alpha); i++)
        *alpha[i].on = alpha[i].said ? alpha[i].said == SAID_TRUE : fallback;
}

void vpa_gates_preset(struct vpa_gates *gates)
{
    *gates = (struct vpa_gates){.preset = true};
    decide(gates, true);
}

void vpa_gates_preset_upstream(struct vpa_gates *gates)
{
    *gates = (struct vpa_gates){.preset = false};
}

static unsigned char *gate_named(struct vpa_gates *g, const char *name)
{
    const struct {
        const char *name;
        unsigned char *said;
    } gates[] = {
        {"AllAlpha", &g->said_all_alpha},
        {"AllBeta", &g->said_all_beta}, /* there is no beta gate now */
        {"CPUStartupBoost", &g->said_cpu_startup_boost},
        {"InPlace", &g->said_in_place},
        {"PerVPAConfig", &g->said_per_vpa_config},
    };

    for (size_t i = 0; i < VPA_COUNT(gates); i++)
        if (strcmp(name, gates[i].name) == 0)
            return gates[i].said;
    return NULL;
}

static int parse_truth(const char *text, unsigned char *out)
{
    static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
                                        "0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < VPA_COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i < 6 ? SAID_TRUE : SAID_FALSE;
            return 0;
        }
    return -1;
}

/* One item Name=bool. */
static int parse_gate(struct vpa_gates *g, struct vpa_slice item, struct vpa_error *err)
{
    const char *equals = memchr(item.ptr, '=', item.len);
    struct vpa_slice key = item, value = {0};
    unsigned char said;

    if (equals) {
        key.len = (size_t)(equals - item.ptr);
        value.ptr = equals + 1;
        value.len = item.len - key.len - 1;
        value = vpa_slice_trim(value);
    }
    key = vpa_slice_trim(key);
    vpa_auto_free char *name = vpa_xstrndup(key.ptr, key.len);
    if (!equals)
        return vpa_fail(err, VPA_INVALID, "missing bool value for %s", name);
    vpa_auto_free char *word = vpa_xstrndup(value.ptr, value.len);
    if (parse_truth(word, &said) < 0) {
        vpa_auto_buf quoted = {0};
        vpa_buf_init(&quoted, VPA_ERROR_TEXT_MAX * 4);
        vpa_quote_go(&quoted, word);
        return vpa_fail(
            err, VPA_INVALID,
            "invalid value of %s=%s, err: strconv.ParseBool: parsing %s: invalid syntax", name,
            word, vpa_buf_text(&quoted));
    }
    unsigned char *gate = gate_named(g, name);
    if (!gate)
        return vpa_fail(err, VPA_INVALID, "unrecognized feature gate: %s", name);
    *gate = said;
    return 0;
}

int vpa_gates_parse(struct vpa_gates *gates, const char *text, struct vpa_error *err)
{
    struct vpa_gates changed = *gates;
    const char *rest = text;
    struct vpa_slice item;

    while (vpa_str_split(&rest, ',', &item))
        if (item.len && parse_gate(&changed, item, err) < 0)
            return -1;
    decide(&changed, changed.preset);
    *gates = changed;
    return 0;
}

/* ---- logging ---- */

int vpa_common_flags_apply(const struct vpa_common_flags *common, int64_t (*clock)(void),
                           struct vpa_error *err)
{
    const struct vpa_log_flags *log = &common->log;
    bool json = strcmp(log->logging_format, "json") == 0;
    int64_t least = log->legacy_stderr_threshold_behavior ? 0 : log->stderrthreshold;

    if (!json && strcmp(log->logging_format, "text") != 0)
        return vpa_fail(err, VPA_INVALID, "--logging-format must be text or json");
    if (least < VPA_LOG_INFO)
        least = VPA_LOG_INFO;
    if (least > VPA_LOG_FATAL)
        least = VPA_LOG_FATAL;
    struct vpa_log_options options = {
        .level = (int)log->v,
        .vmodule = log->vmodule,
        .json = json,
        .skip_headers = log->skip_headers,
        .add_dir_header = log->add_dir_header,
        .least = (enum vpa_severity)least,
        .fd = 2,
        .clock = clock,
    };
    return vpa_log_configure(&options, err);
}

/* ---- checks ---- */

int vpa_common_flags_check(const struct vpa_common_flags *common, struct vpa_error *err)
{
    if (*common->vpa_object_namespace && *common->ignored_vpa_object_namespaces)
        return vpa_fail(err, VPA_INVALID,
                        "--vpa-object-namespace and --ignored-vpa-object-namespaces are mutually "
                        "exclusive and can't be set together.");
    return 0;
}

bool vpa_common_flags_ignore(const struct vpa_common_flags *common, const char *name_space)
{
    const char *only = common->vpa_object_namespace;
    const char *rest = common->ignored_vpa_object_namespaces;
    struct vpa_slice item;

    if (*only && strcmp(only, name_space) != 0)
        return true;
    while (*common->ignored_vpa_object_namespaces && vpa_str_split(&rest, ',', &item))
        if (vpa_slice_eq(item, name_space))
            return true;
    return false;
}

int vpa_common_flags_rate(const struct vpa_common_flags *common, double *qps, int *burst,
                          struct vpa_error *err)
{
    double rate = (double)(float)common->kube_api_qps; /* upstream narrows it */
    double most = trunc(common->kube_api_burst);
    int whole = most >= INT_MAX ? INT_MAX : most <= INT_MIN || isnan(most) ? INT_MIN : (int)most;

    if (rate == 0) { /* the client library's defaults */
        rate = 5;
        if (whole == 0)
            whole = 10;
    }
    if (rate > 0 && whole <= 0)
        return vpa_fail(
            err, VPA_INVALID,
            "burst is required to be greater than 0 when RateLimiter is not set and QPS "
            "is set to greater than 0");
    *qps = rate;
    *burst = whole;
    return 0;
}

/* The lock kinds that Kubernetes had, and what upstream says about them. */
static int check_lock(const char *lock, struct vpa_error *err)
{
    static const char *const removed[] = {"endpoints", "configmaps", "endpointsleases",
                                          "configmapsleases"};

    if (strcmp(lock, "leases") == 0)
        return 0;
    for (size_t i = 0; i < VPA_COUNT(removed); i++)
        if (strcmp(lock, removed[i]) == 0)
            return vpa_fail(err, VPA_INVALID, "%s lock is removed, migrate to leases", lock);
    return vpa_fail(err, VPA_INVALID, "Invalid lock-type %s", lock);
}

int vpa_leader_flags_check(const struct vpa_leader_flags *leader, int *exit_status,
                           struct vpa_error *err)
{
    const struct {
        vpa_duration value;
        const char *name;
    } positive[] = {{leader->lease_duration, "leaseDuration"},
                    {leader->renew_deadline, "renewDeadline"},
                    {leader->retry_period, "retryPeriod"}};

    if (!leader->elect)
        return 0;
    *exit_status = 1;
    if (check_lock(leader->resource_lock, err) < 0)
        return vpa_wrap(err, "Unable to create leader election lock");
    *exit_status = 2;
    if (leader->lease_duration <= leader->renew_deadline)
        return vpa_fail(err, VPA_INVALID, "leaseDuration must be greater than renewDeadline");
    /* Go multiplies the duration by the factor 1.2 in doubles and converts back. */
    if ((double)leader->renew_deadline <= trunc(1.2 * (double)leader->retry_period))
        return vpa_fail(err, VPA_INVALID,
                        "renewDeadline must be greater than retryPeriod*JitterFactor");
    for (size_t i = 0; i < VPA_COUNT(positive); i++)
        if (positive[i].value < 1)
            return vpa_fail(err, VPA_INVALID, "%s must be greater than zero", positive[i].name);
    return 0;
}
