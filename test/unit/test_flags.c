/* Flags: syntax, values, error texts, gates, usage page, Markdown, start-up log, common checks. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "vpa/daemon/common_flags.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/daemon/leader.h"

struct config {
    struct vpa_common_flags common;
    struct vpa_leader_flags leader;
    vpa_duration interval;
    int64_t count;
    uint64_t size;
    double share;
    bool on;
    struct vpa_quantity most;
    const char *name;
};

#define ROW(KIND, NAME, FIELD, ...) VPA_FLAG_##KIND(NAME, struct config, FIELD, __VA_ARGS__)
static const struct vpa_flag rows[] = {
    VPA_COMMON_FLAGS(struct config, common, ":8943"),
    VPA_LEADER_FLAGS(struct config, leader, "vpa-updater"),
    ROW(DURATION, "updater-interval", interval, VPA_MINUTE, "How often"),
    ROW(INT, "min-replicas", count, 2, "Replicas | pods"),
    ROW(UINT, "size", size, 0, "Size"),
    ROW(FLOAT, "share", share, 104857600, "Share"),
    ROW(BOOL, "on", on, false, "Switch", .note = "nothing to switch"),
    ROW(QUANTITY, "most", most, "Most"),
    ROW(STRING, "name", name, "default", "Name"),
};

static struct vpa_arena arena;
static struct config config;
static const struct vpa_flags flags = {rows, VPA_COUNT(rows), &config};

static void release(void)
{
    vpa_arena_release(&arena);
}

/* Up to four arguments; NULL ends. */
static int parse(struct vpa_error *err, const char *const *args)
{
    char *argv[8] = {(char *)(uintptr_t) "prog"};
    int argc = 1;

    for (; *args; args++)
        argv[argc++] = (char *)(uintptr_t)*args;
    return vpa_flags_parse(&flags, &arena, argc, argv, err);
}

static const char *printed(const char *name)
{
    vpa_auto_buf value = VPA_BUF(4096);

    for (size_t i = 0; i < flags.count; i++)
        if (strcmp(rows[i].name, name) == 0)
            vpa_flag_format(&flags, &rows[i], false, &value);
    return vpa_arena_strdup(&arena, vpa_buf_text(&value));
}

static const struct {
    const char *args[5];
    const char *flag, *value;
} accepted[] = {
    {{0}, "updater-interval", "1m0s"},
    {{0}, "kube-api-qps", "50"},
    {{0}, "share", "1.048576e+08"},
    {{0}, "most", "0"},
    {{0}, "feature-gates", ""},
    {{0}, "log-backtrace-at", ":0"},
    {{0}, "leader-elect-resource-name", "vpa-updater"},
    {{"--updater-interval=90s"}, "updater-interval", "1m30s"},
    {{"--updater-interval", "90s"}, "updater-interval", "1m30s"},
    {{"--updater_interval=2h"}, "updater-interval", "2h0m0s"},
    {{"--min-replicas=1", "--min-replicas=3"}, "min-replicas", "3"},
    {{"--min-replicas", "-1"}, "min-replicas", "-1"},
    {{"--min-replicas=0x1F"}, "min-replicas", "31"},
    {{"--min-replicas=0o17"}, "min-replicas", "15"},
    {{"--min-replicas=017"}, "min-replicas", "15"},
    {{"--min-replicas=-0b101"}, "min-replicas", "-5"},
    {{"--min-replicas=1_000"}, "min-replicas", "1000"},
    {{"--min-replicas=0x_a"}, "min-replicas", "10"},
    {{"--min-replicas=+0"}, "min-replicas", "0"},
    {{"--min-replicas=-9223372036854775808"}, "min-replicas", "-9223372036854775808"},
    {{"--size=18446744073709551615"}, "size", "18446744073709551615"},
    {{"--share=1e-3"}, "share", "0.001"},
    {{"--share", "inf"}, "share", "+Inf"},
    {{"--on"}, "on", "true"},
    {{"--on=F"}, "on", "false"},
    {{"--on", "false"}, "on", "true"},
    {{"--name="}, "name", ""},
    {{"--name=a=b"}, "name", "a=b"},
    {{"--name", "--on"}, "name", "--on"},
    {{"--most=1.500"}, "most", "1.500"},
    {{"--most=-1Gi"}, "most", "-1Gi"},
    {{"-v=4", "-v6"}, "v", "6"},
    {{"-v", "-2"}, "v", "-2"},
    {{"--v=+3"}, "v", "3"},
    {{"--stderrthreshold=Warning"}, "stderrthreshold", "1"},
    {{"--stderrthreshold=7"}, "stderrthreshold", "7"},
    {{"--vmodule=a=1,b*=2"}, "vmodule", "a=1,b*=2"},
    {{"--log-backtrace-at=file.go:234"}, "log-backtrace-at", "file.go:234"},
    {{"--log-backtrace-at="}, "log-backtrace-at", ""},
    {{"prog2", "-", "", "--on"}, "on", "true"},
    {{"--", "--on"}, "on", "false"},
    {{"-test.v", "--on"}, "on", "true"},
    {{"--leader-elect"}, "leader-elect", "true"},
    {{"--feature-gates=InPlace=1,CPUStartupBoost=False"},
     "feature-gates",
     "CPUStartupBoost=false,InPlace=true"},
    {{"--feature-gates=InPlace=f,CPUStartupBoost=TRUE"},
     "feature-gates",
     "CPUStartupBoost=true,InPlace=false"},
    {{"--feature-gates=InPlace=0, CPUStartupBoost=T"},
     "feature-gates",
     "CPUStartupBoost=true,InPlace=false"},
    {{"--feature-gates=AllAlpha=false,InPlace=true"},
     "feature-gates",
     "AllAlpha=false,CPUStartupBoost=false,InPlace=true,PerVPAConfig=false"},
};

TEST_EACH(accepts, accepted) {
    struct vpa_error err = {0};

    ck_assert_msg(parse(&err, accepted[_i].args) == VPA_FLAGS_RUN, "%s", err.text);
    ck_assert_str_eq(printed(accepted[_i].flag), accepted[_i].value);
}

static const struct {
    const char *args[5];
    const char *error;
} refused[] = {
    {{"--Address=x"}, "unknown flag: --Address"},
    {{"--no_such=1"}, "unknown flag: --no_such"},
    {{"--addr=x"}, "unknown flag: --addr"},
    {{"-name=value"}, "unknown shorthand flag: 'n' in -name=value"},
    {{"-\xe9"}, "unknown shorthand flag: '\xc3\xa9' in -\xe9"},
    {{"-\t"}, "unknown shorthand flag: '\\t' in -\t"},
    {{"-\x01"}, "unknown shorthand flag: '\\x01' in -\x01"},
    {{"-\x85"}, "unknown shorthand flag: '\\u0085' in -\x85"},
    {{"-'"}, "unknown shorthand flag: '\\'' in -'"},
    {{"---x"}, "bad flag syntax: ---x"},
    {{"--=x"}, "bad flag syntax: --=x"},
    {{"--name"}, "flag needs an argument: --name"},
    {{"--updater_interval"}, "flag needs an argument: --updater_interval"},
    {{"-v"}, "flag needs an argument: 'v' in -v"},
    {{"--min-replicas="}, "invalid argument \"\" for \"--min-replicas\" flag: parse error"},
    {{"--min_replicas=x"}, "invalid argument \"x\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=08"}, "invalid argument \"08\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=1__0"}, "invalid argument \"1__0\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=_1"}, "invalid argument \"_1\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=1_"}, "invalid argument \"1_\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=0x"}, "invalid argument \"0x\" for \"--min-replicas\" flag: parse error"},
    {{"--min-replicas=9223372036854775808"},
     "invalid argument \"9223372036854775808\" for \"--min-replicas\" flag: value out of range"},
    {{"--min-replicas=99999999999999999999"},
     "invalid argument \"99999999999999999999\" for \"--min-replicas\" flag: value out of range"},
    {{"--min-replicas=99999999999999999999x"},
     "invalid argument \"99999999999999999999x\" for \"--min-replicas\" flag: value out of range"},
    {{"--min-replicas=1__99999999999999999999"},
     "invalid argument \"1__99999999999999999999\" for \"--min-replicas\" flag: value out of "
     "range"},
    {{"--min-replicas=9999999999999999999_"},
     "invalid argument \"9999999999999999999_\" for \"--min-replicas\" flag: parse error"},
    {{"--size=-1"}, "invalid argument \"-1\" for \"--size\" flag: parse error"},
    {{"--share=1e999"}, "invalid argument \"1e999\" for \"--share\" flag: value out of range"},
    {{"--share=a"}, "invalid argument \"a\" for \"--share\" flag: parse error"},
    {{"--on=yes"}, "invalid argument \"yes\" for \"--on\" flag: parse error"},
    {{"--updater-interval=5"},
     "invalid argument \"5\" for \"--updater-interval\" flag: parse error"},
    {{"--leader-elect=yes"},
     "invalid argument \"yes\" for \"--leader-elect\" flag: "
     "strconv.ParseBool: parsing \"yes\": invalid syntax"},
    {{"--leader-elect-retry-period=5"},
     "invalid argument \"5\" for \"--leader-elect-retry-period\" flag: time: missing unit in "
     "duration \"5\""},
    {{"--most=5Q"},
     "invalid argument \"5Q\" for \"--most\" flag: quantities must match the regular expression "
     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
    {{"-vx"},
     "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"x\": "
     "invalid syntax"},
    {{"-v="},
     "invalid argument \"=\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"=\": "
     "invalid syntax"},
    {{"--v=2147483648"},
     "invalid argument \"2147483648\" for \"-v, --v\" flag: strconv.ParseInt: parsing "
     "\"2147483648\": value out of range"},
    {{"--stderrthreshold=loud"},
     "invalid argument \"loud\" for \"--stderrthreshold\" flag: strconv.ParseInt: parsing "
     "\"loud\": invalid syntax"},
    {{"--vmodule=a"},
     "invalid argument \"a\" for \"--vmodule\" flag: syntax error: expect "
     "comma-separated list of filename=N"},
    {{"--vmodule=a=-1"},
     "invalid argument \"a=-1\" for \"--vmodule\" flag: negative value for vmodule level"},
    {{"--log-backtrace-at=file:3"},
     "invalid argument \"file:3\" for \"--log-backtrace-at\" flag: "
     "syntax error: expect file.go:234"},
    {{"--log-backtrace-at=file.go"},
     "invalid argument \"file.go\" for \"--log-backtrace-at\" flag: "
     "syntax error: expect file.go:234"},
    {{"--log-backtrace-at=:3"},
     "invalid argument \":3\" for \"--log-backtrace-at\" flag: "
     "syntax error: expect file.go:234"},
    {{"--log-backtrace-at=a.go:3:4"},
     "invalid argument \"a.go:3:4\" for \"--log-backtrace-at\" "
     "flag: syntax error: expect file.go:234"},
    {{"--log-backtrace-at=a.go:x"},
     "invalid argument \"a.go:x\" for \"--log-backtrace-at\" flag: "
     "syntax error: expect file.go:234"},
    {{"--v=-2147483649"},
     "invalid argument \"-2147483649\" for \"-v, --v\" flag: "
     "strconv.ParseInt: parsing \"-2147483649\": value out of range"},
    {{"--v=99999999999999999999"},
     "invalid argument \"99999999999999999999\" for \"-v, --v\" flag: strconv.ParseInt: parsing "
     "\"99999999999999999999\": value out of range"},
    {{"--v=4x"},
     "invalid argument \"4x\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"4x\": "
     "invalid syntax"},
    {{"-\\"}, "unknown shorthand flag: '\\\\' in -\\"},
    {{"-\xad"}, "unknown shorthand flag: '\\u00ad' in -\xad"},
    {{"--log-backtrace-at=file.go:0"},
     "invalid argument \"file.go:0\" for \"--log-backtrace-at\" flag: negative or zero value for "
     "level"},
    {{"--feature-gates=InPlace"},
     "invalid argument \"InPlace\" for \"--feature-gates\" flag: missing bool value for InPlace"},
    {{"--feature-gates=Foo=true,InPlace"},
     "invalid argument \"Foo=true,InPlace\" for \"--feature-gates\" flag: missing bool value for "
     "InPlace"},
    {{"--feature-gates=InPlace=true,Foo=true"},
     "invalid argument \"InPlace=true,Foo=true\" for \"--feature-gates\" flag: unrecognized "
     "feature "
     "gate: Foo"},
    {{"--feature-gates=InPlace=on"},
     "invalid argument \"InPlace=on\" for \"--feature-gates\" flag: invalid value of InPlace=on, "
     "err: strconv.ParseBool: parsing \"on\": invalid syntax"},
    {{"--feature-gates=inplace=true"},
     "invalid argument \"inplace=true\" for \"--feature-gates\" "
     "flag: unrecognized feature gate: inplace"},
};

TEST_EACH(refuses, refused) {
    struct vpa_error err;

    ck_assert_int_eq(parse(&err, refused[_i].args), -1);
    ck_assert_str_eq(err.text, refused[_i].error);
    ck_assert_int_eq(err.code, VPA_INVALID);
}

static const char *const helps[][3] = {{"--help"}, {"-h"}, {"--name", "x", "-h"}};

TEST_EACH(asks_for_help, helps) {
    const char *args[5] = {helps[_i][0], helps[_i][1], helps[_i][2]};

    ck_assert_int_eq(parse(NULL, args), VPA_FLAGS_HELP);
}

/* Letters of flags without a value may stand together; upstream has none, the grammar does. */
TEST(reads_letters_together) {
    struct {
        bool all, loud;
        int64_t level;
    } values;
    static const struct vpa_flag lettered[] = {
        {.name = "all", .kind = VPA_FLAG_KIND_BOOL, .letter = 'a', .offset = 0},
        {.name = "loud", .kind = VPA_FLAG_KIND_BOOL, .letter = 'l', .offset = 1},
        {.name = "v", .kind = VPA_FLAG_KIND_LEVEL, .letter = 'v', .offset = 8},
    };
    const struct vpa_flags table = {lettered, VPA_COUNT(lettered), &values};
    char *argv[] = {(char *)(uintptr_t) "p", (char *)(uintptr_t) "-alv3"};
    char *wrong[] = {(char *)(uintptr_t) "p", (char *)(uintptr_t) "-a=maybe"};
    vpa_auto_buf preset = VPA_BUF(100);

    ck_assert_uint_eq(offsetof(__typeof__(values), level), 8);
    ck_assert_int_eq(vpa_flags_parse(&table, &arena, 2, argv, NULL), VPA_FLAGS_RUN);
    ck_assert(values.all && values.loud && values.level == 3);
    ck_assert_int_eq(vpa_flags_parse(&table, &arena, 2, wrong, NULL), -1);
    vpa_flag_format(&table, &lettered[2], true, &preset);
    ck_assert_str_eq(vpa_buf_text(&preset), "0");
}

static const struct {
    const char *values[3];
    bool boost, in_place, per_vpa;
} gates[] = {
    {{""}, true, true, true},
    {{",,"}, true, true, true},
    {{"PerVPAConfig=false"}, true, true, false},
    {{"AllAlpha=false,InPlace=true"}, false, true, false},
    {{"InPlace=true", "AllAlpha=false"}, false, true, false},
    {{"AllAlpha=false", "AllAlpha=true"}, true, true, true},
    {{"AllBeta=false"}, true, true, true},
    {{" InPlace = 0 , InPlace=f"}, true, false, true},
};

TEST_EACH(decides_gates, gates) {
    struct vpa_gates g;

    vpa_gates_preset(&g);
    for (int i = 0; i < 3 && gates[_i].values[i]; i++)
        ck_assert_int_eq(vpa_gates_parse(&g, gates[_i].values[i], NULL), 0);
    ck_assert_int_eq(g.cpu_startup_boost, gates[_i].boost);
    ck_assert_int_eq(g.in_place, gates[_i].in_place);
    ck_assert_int_eq(g.per_vpa_config, gates[_i].per_vpa);
}

TEST(starts_from_upstreams_gates) {
    struct vpa_gates g;

    vpa_gates_preset_upstream(&g);
    ck_assert(!g.in_place && !g.cpu_startup_boost && !g.per_vpa_config);
    ck_assert_int_eq(vpa_gates_parse(&g, "InPlace=true", NULL), 0);
    ck_assert(g.in_place && !g.cpu_startup_boost && !g.per_vpa_config);
    ck_assert_int_eq(vpa_gates_parse(&g, "AllAlpha=true,Nope=true", NULL), -1);
    ck_assert(!g.cpu_startup_boost);
}

TEST(prints_the_usage_page) {
    vpa_auto_buf text = VPA_BUF(1 << 20);
    char *argv[] = {(char *)(uintptr_t) "/bin/prog", (char *)(uintptr_t) "--nope"};

    ck_assert_int_eq(vpa_flags_start(&flags, &arena, 2, argv, &text), 2);
    const char *page = vpa_buf_text(&text);
    ck_assert(vpa_str_starts_with(page, "Usage of /bin/prog:\n      --add-dir-header   "));
    ck_assert(vpa_str_ends_with(page, "\nunknown flag: --nope\n"));
    ck_assert(strstr(page, "\n  -v, --v Level "));
    ck_assert(strstr(page, "Verbosity of the log (default 4)\n"));
    ck_assert(strstr(page, "Name (default \"default\")\n"));
    ck_assert(strstr(page, "How often (default 1m0s)\n"));
    ck_assert(strstr(page, "\n      --most quantity "));
    ck_assert(strstr(page, "Switch (accepted, has no effect: nothing to switch)\n"));
    ck_assert(strstr(page, "      --alsologtostderrthreshold severity "));
    vpa_buf_clear(&text);
    argv[1] = (char *)(uintptr_t) "--help";
    ck_assert_int_eq(vpa_flags_start(&flags, &arena, 2, argv, &text), 0);
    ck_assert(!strstr(vpa_buf_text(&text), "unknown flag"));
    ck_assert_int_eq(vpa_flags_start(&flags, &arena, 1, argv, &text), -1);
    ck_assert_int_eq(vpa_flags_start(&flags, &arena, 0, argv, &text), -1);
}

/* All help texts begin in one column. */
TEST(aligns_the_usage_page) {
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_flags_usage(&flags, "p", &text);
    const char *longest = strstr(vpa_buf_text(&text), "      --legacy-stderr-threshold-behavior");
    const char *name = strstr(vpa_buf_text(&text), "      --name string");
    const char *other = strstr(vpa_buf_text(&text), "      --leader-elect-resource-namespace");
    ck_assert(longest && name && other);
    ck_assert_int_eq(strstr(name, "Name (") - name, strstr(other, "Namespace of") - other);
    ck_assert_int_eq(strstr(longest, "Ignore std") - longest, strstr(name, "Name (") - name);
}

/* What is logged of the flags at that level. */
static const char *log_of(const struct vpa_flags *table, int level)
{
    static char text[65536];
    int fds[2];
    struct vpa_error err;
    struct vpa_log_options options = {.level = level, .skip_headers = true};

    ck_assert_int_eq(pipe(fds), 0);
    options.fd = fds[1];
    ck_assert_int_eq(vpa_log_configure(&options, &err), 0);
    vpa_flags_log(table);
    close(fds[1]);
    size_t len = 0;
    for (ssize_t n; (n = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)n;
    close(fds[0]);
    text[len] = '\0';
    return text;
}

TEST(logs_the_flags) {
    const char *args[] = {"--on", "--name=a\"b", "--skip-headers", NULL};
    struct vpa_error err;

    ck_assert_int_eq(parse(&err, args), 0);
    const char *text = log_of(&flags, 2);
    ck_assert(vpa_str_starts_with(text, "FLAG: --add-dir-header=\"false\"\n"));
    ck_assert(strstr(text, "\nFLAG: --name=\"a\\\"b\"\n"));
    ck_assert(strstr(text, "\n\"Flag has no effect\" flag=\"on\" reason=\"nothing to switch\"\n"));
    ck_assert(!strstr(text, "flag=\"profiling\""));
}

TEST(logs_no_secret) {
    static const char *values[] = {"hush", ""};
    static const struct vpa_flag secrets[] = {
        {.name = "password", .kind = VPA_FLAG_KIND_STRING, .secret = true, .offset = 0},
        {.name = "none", .kind = VPA_FLAG_KIND_STRING, .secret = true, .offset = sizeof(char *)},
    };
    const struct vpa_flags table = {secrets, VPA_COUNT(secrets), values};

    ck_assert_str_eq(log_of(&table, 2), "FLAG: --none=\"\"\nFLAG: --password=\"***\"\n");
    ck_assert_str_eq(log_of(&table, 1), "");
}

TEST(applies_the_logging_flags) {
    const char *good[] = {"-v1", "--logging-format=json", NULL};
    const char *bad[] = {"--logging-format=xml", NULL};
    const char *quiet[] = {"--legacy-stderr-threshold-behavior=false", "--stderrthreshold=9", NULL};
    const char *loud[] = {"--legacy-stderr-threshold-behavior=false", "--stderrthreshold=-9", NULL};
    struct vpa_error err;

    ck_assert_int_eq(parse(&err, good), 0);
    ck_assert_int_eq(vpa_common_flags_apply(&config.common, NULL, &err), 0);
    ck_assert_int_eq(vpa_log_level, 1);
    ck_assert_int_eq(parse(&err, bad), 0);
    ck_assert_int_eq(vpa_common_flags_apply(&config.common, NULL, &err), -1);
    ck_assert_int_eq(parse(&err, quiet), 0);
    ck_assert_int_eq(vpa_common_flags_apply(&config.common, NULL, &err), 0);
    ck_assert_int_eq(parse(&err, loud), 0);
    ck_assert_int_eq(vpa_common_flags_apply(&config.common, NULL, &err), 0);
}

TEST(checks_namespaces) {
    struct vpa_common_flags c = {.vpa_object_namespace = "", .ignored_vpa_object_namespaces = ""};
    struct vpa_error err;

    ck_assert_int_eq(vpa_common_flags_check(&c, &err), 0);
    ck_assert(!vpa_common_flags_ignore(&c, ""));
    ck_assert(!vpa_common_flags_ignore(&c, "a"));
    c.vpa_object_namespace = "a";
    ck_assert_int_eq(vpa_common_flags_check(&c, &err), 0);
    ck_assert(!vpa_common_flags_ignore(&c, "a"));
    ck_assert(vpa_common_flags_ignore(&c, "b"));
    c.ignored_vpa_object_namespaces = "b, c";
    ck_assert_int_eq(vpa_common_flags_check(&c, &err), -1);
    ck_assert_str_eq(err.text, "--vpa-object-namespace and --ignored-vpa-object-namespaces are "
                               "mutually exclusive and can't be set together.");
    c.vpa_object_namespace = "";
    ck_assert(vpa_common_flags_ignore(&c, "b"));
    ck_assert(!vpa_common_flags_ignore(&c, "c")); /* blanks are not trimmed */
}

static const struct {
    double qps, burst;
    int status;
    double rate;
    int most;
} rates[] = {
    {50, 100, 0, 50, 100},       {50, 100.9, 0, 50, 100}, {50, 0.9, -1, 0, 0},   {50, -1, -1, 0, 0},
    {-1, 0, 0, -1, 0},           {0, 0, 0, 5, 10},        {0, 7, 0, 5, 7},       {0, -7, -1, 0, 0},
    {1, 1e300, 0, 1, INT32_MAX}, {1, NAN, -1, 0, 0},      {1, -1e300, -1, 0, 0},
};

TEST_EACH(reads_rates, rates) {
    struct vpa_common_flags c = {.kube_api_qps = rates[_i].qps, .kube_api_burst = rates[_i].burst};
    double qps = 0;
    int burst = 0;
    struct vpa_error err;

    ck_assert_int_eq(vpa_common_flags_rate(&c, &qps, &burst, &err), rates[_i].status);
    ck_assert(qps == rates[_i].rate);
    ck_assert_int_eq(burst, rates[_i].most);
}

static const struct {
    const char *lock;
    vpa_duration lease, renew, retry;
    int status;
    const char *error;
} elections[] = {
    {"leases", 15, 10, 2, 0, NULL},
    {"endpoints", 15, 10, 2, 1,
     "Unable to create leader election lock: endpoints lock is removed, migrate to leases"},
    {"x", 15, 10, 2, 1, "Unable to create leader election lock: Invalid lock-type x"},
    {"leases", 10, 10, 2, 2, "leaseDuration must be greater than renewDeadline"},
    {"leases", 15, 12, 10, 2, "renewDeadline must be greater than retryPeriod*JitterFactor"},
    {"leases", 15, 10, 0, 2, "retryPeriod must be greater than zero"},
    {"leases", 15, 0, -5, 2, "renewDeadline must be greater than zero"},
    {"leases", 0, -5, -50, 2, "leaseDuration must be greater than zero"},
};

TEST_EACH(checks_leader_election, elections) {
    struct vpa_leader_flags l = {.elect = true,
                                 .lease_duration = elections[_i].lease * VPA_SECOND,
                                 .renew_deadline = elections[_i].renew * VPA_SECOND,
                                 .retry_period = elections[_i].retry * VPA_SECOND,
                                 .resource_lock = elections[_i].lock};
    int status = 0;
    struct vpa_error err;

    int rc = vpa_leader_flags_check(&l, &status, &err);
    ck_assert_int_eq(rc, elections[_i].error ? -1 : 0);
    if (rc < 0) {
        ck_assert_str_eq(err.text, elections[_i].error);
        ck_assert_int_eq(status, elections[_i].status);
    }
    l.elect = false;
    ck_assert_int_eq(vpa_leader_flags_check(&l, &status, &err), 0);
}

int main(void)
{
    return run_tests("flags", NULL, release);
}
