/* Log lines: klog's text form, JSON, verbosity per file. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"
#include "vpa/base/log.h"
#include "vpa/base/str.h"

static int lines[2]; /* a pipe */
static char line[65536];

static int64_t some_time(void)
{
    return INT64_C(1787220300) * 1000000000 + 1234567; /* 2026-08-20T10:05:00.001234 */
}

static void open_pipe(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
    ck_assert_int_eq(pipe(lines), 0);
}

static void close_pipe(void)
{
    close(lines[0]);
    close(lines[1]);
}

static void configure(struct vpa_log_options options)
{
    struct vpa_error err;

    options.fd = lines[1];
    ck_assert_int_eq(vpa_log_configure(&options, &err), 0);
}

/* What was written by one call, without the line end. */
static const char *written(void)
{
    ssize_t n = read(lines[0], line, sizeof(line) - 1);

    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(line[n - 1], '\n');
    line[n - 1] = '\0';
    return line;
}

TEST(writes_klog_lines) {
    char wanted[200];

    configure((struct vpa_log_options){.clock = some_time});
    vpa_log_write(VPA_LOG_WARNING, "src/kube/act.c", 88, "Evicted pod",
                  (struct vpa_log_field[]){VPA_KV("pod", "api-\"0\""), VPA_KV("n", 3),
                                           VPA_KV("priority", 0.42), VPA_KV("ok", (bool)true)},
                  4);
    snprintf(wanted, sizeof(wanted),
             "W0820 10:05:00.001234 %7d act.c:88] \"Evicted pod\" pod=\"api-\\\"0\\\"\" n=3 "
             "priority=0.42 ok=true",
             (int)getpid());
    ck_assert_str_eq(written(), wanted);
}

TEST(shows_the_folder_when_asked) {
    configure((struct vpa_log_options){.add_dir_header = true});
    vpa_log_write(VPA_LOG_INFO, "src/kube/act.c", 88, "x", NULL, 0);
    ck_assert(strstr(written(), " kube/act.c:88] \"x\""));
    vpa_log_write(VPA_LOG_INFO, "act.c", 88, "x", NULL, 0);
    ck_assert(strstr(written(), " act.c:88] \"x\""));
    vpa_log_write(VPA_LOG_INFO, "/act.c", 88, "x", NULL, 0);
    ck_assert(strstr(written(), " /act.c:88] \"x\""));
    configure((struct vpa_log_options){.json = true});
    vpa_log_write(VPA_LOG_INFO, "act.c", 88, "x", NULL, 0);
    ck_assert_str_eq(written(), "{\"caller\":\"act.c:88\",\"severity\":\"info\",\"msg\":\"x\"}");
}

TEST(puts_the_error_first_in_error_lines) {
    struct vpa_error err = {.text = "no route"};
    const struct vpa_log_field fields[] = {VPA_KV("pod", "a"), VPA_KERR(&err)};

    configure((struct vpa_log_options){.skip_headers = true});
    vpa_log_write(VPA_LOG_ERROR, "a.c", 1, "Failed", fields, 2);
    ck_assert_str_eq(written(), "\"Failed\" err=\"no route\" pod=\"a\"");
    vpa_log_write(VPA_LOG_INFO, "a.c", 1, "Failed", fields, 2);
    ck_assert_str_eq(written(), "\"Failed\" pod=\"a\" err=\"no route\"");
}

static const struct {
    const char *value, *shown;
} values[] = {
    {"", "\"m\" k=\"\""},
    {"a\tb", "\"m\" k=\"a\\tb\""},
    {"one\ntwo", "\"m\" k=<\n\tone\n\ttwo\n >"},
    {"one\n", "\"m\" k=<\n\tone\n >"},
    {"\n\nx", "\"m\" k=<\n\t\n\t\n\tx\n >"},
};

/* What strangers may put into names and messages: nothing of it reaches a terminal, or an index of
 * logs, as it is. */
static const struct {
    const char *value, *text, *json;
} hostile[] = {
    {"a\x1b[2Jb", "=\"a\\x1b[2Jb\"", "\"a\\u001b[2Jb\""},
    {"a\nE1122 forged\x1b]0;x\a\r", "=<\n\ta\n\tE1122 forged\\x1b]0;x\\a\\r\n >",
     "\"a\\u000aE1122 forged\\u001b]0;x\\u0007\\u000d\""},
    {"\xc2\x9b"
     "31m",
     "=\"\\u009b31m\"", "\"\\u009b31m\""}, /* CSI in one character */
    {"\x7f", "=\"\\x7f\"", "\"\\u007f\""},
    {"a\xff\xfe", "=\"a\\xff\\xfe\"", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\n\xe2\x82", "=<\n\t\n\t\\xe2\\x82\n >", "\"\\u000a\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xed\xa0\x80", "=\"\\xed\\xa0\\x80\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xe2\x82\xac\"", "=\"\xe2\x82\xac\\\"\"", "\"\xe2\x82\xac\\\"\""},
    {"x\n\"\\", "=<\n\tx\n\t\"\\\n >", "\"x\\u000a\\\"\\\\\""},
};

TEST_EACH(defuses_hostile_values, hostile) {
    const struct vpa_log_field field = VPA_KV("k", hostile[_i].value);
    char wanted[256];

    configure((struct vpa_log_options){.skip_headers = true});
    vpa_log_write(VPA_LOG_INFO, "a.c", 1, "m", &field, 1);
    snprintf(wanted, sizeof(wanted), "\"m\" k%s", hostile[_i].text);
    ck_assert_str_eq(written(), wanted);
    configure((struct vpa_log_options){.skip_headers = true, .json = true});
    vpa_log_write(VPA_LOG_INFO, "a.c", 1, "m", &field, 1);
    snprintf(wanted, sizeof(wanted), ",\"k\":%s}", hostile[_i].json);
    ck_assert_msg(vpa_str_ends_with(written(), wanted), "%s", line);
}

TEST(defuses_plain_texts) {
    configure((struct vpa_log_options){.skip_headers = true});
    vpa_log_text(VPA_LOG_INFO, "a.c", 8, "FLAG: --x=\"a\x1b[1m\nE\"");
    ck_assert_str_eq(written(), "FLAG: --x=\"a\\x1b[1m\\nE\"");
}

TEST_EACH(shows_values, values) {
    configure((struct vpa_log_options){.skip_headers = true});
    VPA_INFO("m", VPA_KV("k", values[_i].value));
    ck_assert_str_eq(written(), values[_i].shown);
}

TEST(cuts_long_values) {
    vpa_auto_free char *text = vpa_xmalloc(20001);

    memset(text, 'x', 20000);
    text[20000] = '\0';
    configure((struct vpa_log_options){.skip_headers = true});
    VPA_INFO("m", VPA_KV("k", text));
    ck_assert_uint_eq(strlen(written()), strlen("\"m\" k=\"\"") + 8192 + 3);
    ck_assert(vpa_str_ends_with(line, "x...\""));
}

TEST(writes_json) {
    configure((struct vpa_log_options){.json = true, .clock = some_time});
    vpa_log_write(VPA_LOG_ERROR, "src/a.c", 7, "Say \"hi\"",
                  (struct vpa_log_field[]){VPA_KV("text", "a\n\\"), VPA_KV("n", -3),
                                           VPA_KV("x", 1e6), VPA_KV("nan", 0.0 / 0.0),
                                           VPA_KV("no", (bool)false)},
                  5);
    ck_assert_str_eq(written(),
                     "{\"ts\":1787220300.001234,\"caller\":\"a.c:7\",\"severity\":\"error\","
                     "\"msg\":\"Say \\\"hi\\\"\",\"text\":\"a\\u000a\\\\\",\"n\":-3,\"x\":1000000,"
                     "\"nan\":null,\"no\":false}");
    vpa_auto_free char *text = vpa_xmalloc(20001);
    memset(text, 'x', 20000);
    text[20000] = '\0';
    VPA_INFO("m", VPA_KV("k", text));
    ck_assert(vpa_str_ends_with(written(), "x...\"}"));
    vpa_log_text(VPA_LOG_INFO, "a.c", 8, "FLAG: --v=\"4\"");
    ck_assert(strstr(written(), "\"msg\":\"FLAG: --v=\\\"4\\\"\"}"));
}

/* A log that cannot be written to is no reason to fail. */
TEST(survives_a_closed_descriptor) {
    struct vpa_log_options options = {.fd = -1};

    ck_assert_int_eq(vpa_log_configure(&options, NULL), 0);
    VPA_INFO("lost");
}

TEST(writes_plain_texts) {
    configure((struct vpa_log_options){0});
    vpa_log_text(VPA_LOG_FATAL, "a.c", 8, "lost master");
    ck_assert_int_eq(written()[0], 'F');
    ck_assert(vpa_str_ends_with(line, " a.c:8] lost master"));
}

TEST(drops_lines_below_the_threshold) {
    configure((struct vpa_log_options){.skip_headers = true, .least = VPA_LOG_ERROR});
    VPA_WARN("dropped");
    vpa_log_text(VPA_LOG_INFO, "a.c", 1, "dropped");
    VPA_ERROR("kept");
    ck_assert_str_eq(written(), "\"kept\"");
}

static const struct {
    const char *vmodule, *file;
    int level;
    bool enabled;
} verbosity[] = {
    {NULL, "src/act.c", 2, true},
    {NULL, "src/act.c", 3, false},
    {"", "src/act.c", 3, false},
    {"act=5", "src/act.c", 5, true},
    {"act=5", "src/act.c", 6, false},
    {"act=5", "src/react.c", 5, false},
    {"x=9,,*act=3", "src/react.c", 3, true},
    {"[a-c]ct=3", "act.c", 3, true},
    {"a?t=3", "act", 3, true},
    {"act=0", "act.c", 3, false},
    {"act=1", "act.c", 2, true},
};

TEST_EACH(raises_verbosity_per_file, verbosity) {
    configure((struct vpa_log_options){.level = 2, .vmodule = verbosity[_i].vmodule});
    ck_assert_int_eq(vpa_log_level, 2);
    ck_assert_int_eq(vpa_log_enabled(verbosity[_i].level, verbosity[_i].file),
                     verbosity[_i].enabled);
}

#define SYNTAX "syntax error: expect comma-separated list of filename=N"
static const struct {
    const char *vmodule, *error;
} bad_modules[] = {
    {"act", SYNTAX},
    {"=3", SYNTAX},
    {"act=", SYNTAX},
    {"act=x", SYNTAX},
    {"act=1=2", SYNTAX},
    {"act=99999999999", SYNTAX},
    {"act=-1", "negative value for vmodule level"},
};

TEST_EACH(refuses_modules, bad_modules) {
    struct vpa_error err;
    struct vpa_log_options options = {.vmodule = bad_modules[_i].vmodule};

    ck_assert_int_eq(vpa_log_configure(&options, &err), -1);
    ck_assert_str_eq(err.text, bad_modules[_i].error);
}

TEST(bounds_modules) {
    vpa_auto_buf many = VPA_BUF(100000);
    struct vpa_error err;

    for (int i = 0; i <= VPA_LOG_VMODULE_MAX; i++)
        vpa_buf_printf(&many, "m%d=1,", i);
    ck_assert_int_eq(vpa_log_check_vmodule(vpa_buf_text(&many), &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
    for (int i = 0; i <= VPA_LOG_VMODULE_TEXT_MAX; i++)
        vpa_buf_putc(&many, 'x');
    ck_assert_int_eq(vpa_log_check_vmodule(vpa_buf_text(&many), &err), -1);
    ck_assert_int_eq(err.code, VPA_LIMIT);
}

TEST(verbose_lines_follow_the_level) {
    configure((struct vpa_log_options){.skip_headers = true, .level = 3});
    VPA_V(4, "dropped");
    VPA_V(3, "kept", VPA_KV("a", (const char *)NULL));
    ck_assert_str_eq(written(), "\"kept\" a=\"\"");
}

int main(void)
{
    return run_tests("log", open_pipe, close_pipe);
}
