/* The updater's flags: upstream's names and defaults, and the checks after parsing. */
#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "../../updater/config.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

static struct updater_config config;
static const struct vpa_flags *flags(void)
{
    static struct vpa_flags all;

    all = (struct vpa_flags){
        .rows = updater_flag_rows, .count = updater_flag_count, .values = &config};
    return &all;
}

/* The 43 flags of upstream; everything else is our own. */
static const struct {
    const char *name, *preset;
} presets[] = {
    {"updater-interval", "1m0s"},
    {"min-replicas", "2"},
    {"eviction-tolerance", "0.5"},
    {"eviction-rate-limit", "-1"},
    {"eviction-rate-burst", "1"},
    {"address", ":8943"},
    {"use-admission-controller-status", "true"},
    {"in-place-skip-disruption-budget", "false"},
    {"admission-controller-status-lease-name", "vpa-admission-controller"},
    {"admission-controller-status-lease-namespace", ""},
    {"admission-controller-status-lease-timeout", "1m0s"},
    {"pod-update-threshold", "0.1"},
    {"in-recommendation-bounds-eviction-lifetime-threshold", "12h0m0s"},
    {"evict-after-oom-threshold", "10m0s"},
    {"kubeconfig", ""},
    {"kube-api-qps", "50"},
    {"kube-api-burst", "100"},
    {"profiling", "false"},
    {"vpa-object-namespace", ""},
    {"ignored-vpa-object-namespaces", ""},
    {"leader-elect", "false"},
    {"leader-elect-lease-duration", "15s"},
    {"leader-elect-renew-deadline", "10s"},
    {"leader-elect-retry-period", "2s"},
    {"leader-elect-resource-lock", "leases"},
    {"leader-elect-resource-name", "vpa-updater"},
    {"leader-elect-resource-namespace", "kube-system"},
    {"v", "4"},
    {"stderrthreshold", NULL},
    {"add-dir-header", "false"},
    {"alsologtostderr", "false"},
    {"one-output", "false"},
    {"skip-headers", "false"},
    {"skip-log-headers", "false"},
    {"logtostderr", "true"},
    {"legacy-stderr-threshold-behavior", "true"},
    {"alsologtostderrthreshold", NULL},
    {"log-backtrace-at", ":0"},
    {"log-dir", ""},
    {"log-file", ""},
    {"vmodule", ""},
    {"log-file-max-size", "1800"},
    {"feature-gates", NULL},
};

TEST_EACH(has_the_flag_with_its_default, presets) {
    vpa_auto_buf text = VPA_BUF(1024);

    vpa_flags_preset(flags());
    for (size_t i = 0; i < updater_flag_count; i++) {
        if (!vpa_str_eq(updater_flag_rows[i].name, presets[_i].name))
            continue;
        vpa_flag_format(flags(), &updater_flag_rows[i], true, &text);
        if (presets[_i].preset)
            ck_assert_str_eq(vpa_buf_text(&text), presets[_i].preset);
        return;
    }
    ck_abort_msg("no flag %s", presets[_i].name);
}

static const struct {
    const char *argument;
    int exit_status; /* 0: fine */
} checks[] = {
    {"--min-replicas=1", 0},
    {"--eviction-tolerance=-3", 0},
    {"--updater-interval=1ns", 0},
    {"--updater-interval=0s", 1},
    {"--updater-interval=-1m", 1},
    {"--admission-controller-status-lease-timeout=0s", 1},
    {"--admission-controller-status-lease-timeout=-1s", 1},
    {"--admission-controller-status-lease-timeout=1ns", 0},
    {"--prove-evictions=replacement", 0},
    {"--prove-evictions=dry-run", 0},
    {"--prove-evictions=off", 0},
    {"--prove-evictions=", 1},
    {"--prove-evictions=Off", 1},
    {"--proof-patience=0s", 0},
    {"--proof-patience=-1ns", 1},
    {"--kube-api-burst=0.5", 2},
    {"--kube-api-qps=-1", 0},
};

TEST_EACH(checks_after_parsing, checks) {
    char *argv[] = {vpa_xstrdup("updater"), vpa_xstrdup(checks[_i].argument)};
    vpa_auto_arena arena = {0};
    struct vpa_error err;
    int status = 0;

    ck_assert_int_eq(vpa_flags_parse(flags(), &arena, 2, argv, &err), VPA_FLAGS_RUN);
    if (updater_config_check(&config, &status, &err) == 0)
        status = 0;
    ck_assert_msg(status == checks[_i].exit_status, "%s: %d", checks[_i].argument, status);
    free(argv[0]);
    free(argv[1]);
}

TEST(namespaces_exclude_each_other) {
    char *argv[] = {vpa_xstrdup("updater"), vpa_xstrdup("--vpa-object-namespace=a"),
                    vpa_xstrdup("--ignored-vpa-object-namespaces=b")};
    vpa_auto_arena arena = {0};
    struct vpa_error err;
    int status = 0;

    ck_assert_int_eq(vpa_flags_parse(flags(), &arena, 3, argv, &err), VPA_FLAGS_RUN);
    ck_assert_int_eq(updater_config_check(&config, &status, &err), -1);
    ck_assert_int_eq(status, 1);
    for (size_t i = 0; i < VPA_COUNT(argv); i++)
        free(argv[i]);
}

TEST(bad_election_is_refused) {
    char *argv[] = {vpa_xstrdup("updater"), vpa_xstrdup("--leader-elect"),
                    vpa_xstrdup("--leader-elect-lease-duration=5s")};
    vpa_auto_arena arena = {0};
    struct vpa_error err;
    int status = 0;

    ck_assert_int_eq(vpa_flags_parse(flags(), &arena, 3, argv, &err), VPA_FLAGS_RUN);
    ck_assert_int_eq(updater_config_check(&config, &status, &err), -1);
    ck_assert_int_eq(status, 2);
    for (size_t i = 0; i < VPA_COUNT(argv); i++)
        free(argv[i]);
}

int main(void)
{
    return run_tests("updater_config", NULL, NULL);
}
