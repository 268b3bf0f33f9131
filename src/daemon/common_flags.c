#include "vpa/daemon/common_flags.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/net/rate.h"

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
    double narrow = (double)(float)common->kube_api_qps; /* as upstream */
    double most = trunc(common->kube_api_burst);
    int whole = most >= INT_MAX ? INT_MAX : most <= INT_MIN || isnan(most) ? INT_MIN : (int)most;
    struct vpa_rate rate;

    if (vpa_rate_init_client(&rate, narrow, whole, err) < 0)
        return -1;
    *qps = rate.rate;
    *burst = (int)rate.burst;
    return 0;
}
