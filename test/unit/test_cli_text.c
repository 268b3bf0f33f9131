/* What strangers' texts become on a terminal, in a page, in a spreadsheet, in YAML. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "table.h"
#include "text.h"

static struct vpa_buf out;

static void setup(void)
{
    vpa_buf_init(&out, 1 << 20);
}

static void teardown(void)
{
    vpa_buf_release(&out);
}

static const struct {
    const char *text, *safe;
} terminal[] = {
    {"web-0", "web-0"},
    {"\033[2J\033]0;owned\007", "\\x1b[2J\\x1b]0;owned\\a"},
    {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
    {"\xc2\x9b"
     "31m",
     "\\u009b31m"}, /* the one-character CSI */
    {"\xe2\x80\xae"
     "gpj",
     "\\u202egpj"},             /* right-to-left override */
    {"\xff\xfe", "\\xff\\xfe"}, /* no UTF-8 */
    {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
};

TEST_EACH(test_terminal, terminal) {
    cli_put_safe(&out, terminal[_i].text);
    ck_assert_str_eq(vpa_buf_text(&out), terminal[_i].safe);
}

static const struct {
    const char *text;
    size_t width;
} widths[] = {
    {"", 0}, {"web", 3}, {"gr\xc3\xbc", 3}, {"\xe6\x97\xa5\xe6\x9c\xac", 4}, {"e\xcc\x81", 1},
};

TEST_EACH(test_width, widths) {
    ck_assert_uint_eq(cli_text_width(widths[_i].text), widths[_i].width);
}

TEST(test_html) {
    cli_put_html(&out, "<script>\"'&\x01\xff");
    ck_assert_str_eq(vpa_buf_text(&out), "&#60;script&#62;&#34;&#39;&#38;&#xfffd;&#xfffd;");
}

static const struct {
    const char *text, *field;
} fields[] = {
    {"\n", "\"\n\""},
    {",", "\",\""},
    {"\"", "\"\"\"\""},
    {"-", "-"},
    {"web", "web"},
    {"a,b", "\"a,b\""},
    {"a\"b", "\"a\"\"b\""},
    {"=1+1", "\"'=1+1\""},
    {"-cmd", "\"'-cmd\""},
    {"a\nb", "\"a\nb\""},
    {"", ""},
};

TEST_EACH(test_csv, fields) {
    cli_put_csv(&out, fields[_i].text);
    ck_assert_str_eq(vpa_buf_text(&out), fields[_i].field);
}

static const struct {
    const char *json, *yaml;
} documents[] = {
    {"{}", "{}\n"},
    {"{\"a\":1,\"b\":{\"c\":[]},\"d\":[1,{\"e\":\"x\",\"f\":null},[2,3]]}",
     "a: 1\nb:\n  c: []\nd:\n- 1\n- e: x\n  f: null\n- - 2\n  - 3\n"},
    {"{\"mode\":\"Off\",\"a\":\"YES\",\"b\":\"on\"}", "mode: \"Off\"\na: \"YES\"\nb: \"on\"\n"},
    {"{\"cpu\":\"100m\",\"yes\":\"no\",\"n\":\"null\",\"t\":true,\"x\":\"a: b\"}",
     "cpu: \"100m\"\n\"yes\": \"no\"\n\"n\": \"null\"\nt: true\nx: \"a: b\"\n"},
};

TEST_EACH(test_yaml, documents) {
    ck_assert_int_eq(cli_put_yaml(&out, documents[_i].json, strlen(documents[_i].json)), 0);
    ck_assert_str_eq(vpa_buf_text(&out), documents[_i].yaml);
}

/* A C1 control, a direction mark, a private character beyond 16 bits; letters stay. */
TEST(test_json_and_yaml_have_nothing_that_a_terminal_acts_upon) {
    static const char json[] = "{\"a\":\"x\xc2\x9b"
                               "2J\xe2\x80\xae\xf3\xb0\x80\x80\x7f\xc3\xbc\"}";

    cli_put_json(&out, json, sizeof(json) - 1);
    ck_assert_str_eq(vpa_buf_text(&out),
                     "{\"a\":\"x\\u009b2J\\u202e\\udb80\\udc00\\u007f\xc3\xbc\"}");
    vpa_buf_clear(&out);
    ck_assert_int_eq(cli_put_yaml(&out, json, sizeof(json) - 1), 0);
    ck_assert_str_eq(vpa_buf_text(&out), "a: \"x\\u009b2J\\u202e\\U000f0000\\u007f\xc3\xbc\"\n");
}

/* A byte that begins no character, one that begins one and ends there, and a half of a pair. */
TEST(test_json_has_no_character_for_bytes_that_are_none) {
    static const char json[] = "\"\x9b\xff\xc3-\xed\xa0\x80\"";

    cli_put_json(&out, json, sizeof(json) - 1);
    ck_assert_str_eq(vpa_buf_text(&out), "\"\\ufffd\\ufffd\\ufffd-\\ufffd\\ufffd\\ufffd\"");
}

TEST(test_table) {
    static const struct cli_column columns[] = {
        {"NAME"}, {"CPU", .right = true}, {"MORE", .wide = true}};
    vpa_auto_arena arena = {0};
    cli_auto_table table = {0};

    cli_table_init(&table, &arena, columns, 3);
    cli_table_cell(&table, "\xe6\x97\xa5\xe6\x9c\xac");
    cli_table_color(&table, CLI_RED, "5m");
    cli_table_cell(&table, "x");
    cli_table_cell(&table, "a\033[1m");
    cli_table_printf(&table, "%d", 1000);
    cli_table_cell(&table, "y,z");
    cli_table_print(&table, false, false, &out);
    ck_assert_str_eq(vpa_buf_text(&out), "NAME        CPU\n\xe6\x97\xa5\xe6\x9c\xac         5m\n"
                                         "a\\x1b[1m   1000\n");
    vpa_buf_clear(&out);
    cli_table_json(&table, &out);
    ck_assert_str_eq(vpa_buf_text(&out),
                     "[{\"name\":\"\xe6\x97\xa5\xe6\x9c\xac\",\"cpu\":\"5m\",\"more\":\"x\"},"
                     "{\"name\":\"a\\\\x1b[1m\",\"cpu\":\"1000\",\"more\":\"y,z\"}]");
    vpa_buf_clear(&out);
    cli_table_csv(&table, &out);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&out), "NAME,CPU,MORE\r\n"));
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&out), "a\\x1b[1m,1000,\"y,z\"\r\n"));
}

int main(void)
{
    return run_tests("cli_text", setup, teardown);
}
