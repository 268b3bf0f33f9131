/* String helpers, number parsing, Go quoting, interning, and the hash table below it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

static const struct {
    const char *text;
    int ok;
    int64_t value;
} integers[] = {
    {"0", 1, 0},
    {"-0", 1, 0},
    {"42", 1, 42},
    {"-42", 1, -42},
    {"9223372036854775807", 1, INT64_MAX},
    {"-9223372036854775808", 1, INT64_MIN},
    {"9223372036854775808", 0, 0},
    {"-9223372036854775809", 0, 0},
    {"99999999999999999999", 0, 0},
    {"18446744073709551616", 0, 0},
    {"", 0, 0},
    {"-", 0, 0},
    {"--1", 0, 0},
    {"-/", 0, 0},
    {"-a", 0, 0},
    {"+1", 0, 0},
    {" 1", 0, 0},
    {"1 ", 0, 0},
    {"1a", 0, 0},
    {"0x10", 0, 0},
};

TEST_EACH(parses_integers, integers) {
    int64_t value = -7;
    struct vpa_error err;
    int rc = vpa_parse_int64(integers[_i].text, &value, &err);

    ck_assert_int_eq(rc, integers[_i].ok ? 0 : -1);
    ck_assert_int_eq(value, integers[_i].ok ? integers[_i].value : -7);
    if (rc < 0)
        ck_assert_int_eq(err.text[0], '"');
}

static const struct {
    const char *text, *quoted;
} quotes[] = {
    {"", "\"\""},
    {"plain", "\"plain\""},
    {"a\"b\\c", "\"a\\\"b\\\\c\""},
    {"\a\b\t\n\v\f\r", "\"\\a\\b\\t\\n\\v\\f\\r\""},
    {"\x01\x7f", "\"\\x01\\x7f\""},
    {"\xc3\xa9", "\"\xc3\xa9\""},
    {"\xff\xc3", "\"\\xff\\xc3\""},
    {"\xc0\x80", "\"\\xc0\\x80\""},
    {"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""},
    {"\xe2\x80\xa8", "\"\\u2028\""},
    {"\xc2\xa0", "\"\\u00a0\""},
    {"\xef\xbb\xbf", "\"\\ufeff\""},
    {"\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
    {"\xf3\xa0\x80\x81", "\"\\U000e0001\""},
    {"\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\""},
    {"\xc2\xad\xc2\xa1", "\"\\u00ad\xc2\xa1\""},
    {"\xe2\x80\x80\xe2\x80\x90", "\"\\u2000\xe2\x80\x90\""},
    {"\xe2\x81\x9f\xe2\x81\xb0", "\"\\u205f\xe2\x81\xb0\""},
    {"\xe1\x9a\x80\xe3\x80\x80", "\"\\u1680\\u3000\""},
    {"\xef\xbf\xb9\xef\xbf\xbd", "\"\\ufff9\xef\xbf\xbd\""},
    {"\xee\x80\x80\xef\xa4\x80", "\"\\ue000\xef\xa4\x80\""},
    {"\xef\xbf\xbe\xef\xbf\xbf", "\"\\ufffe\\uffff\""},
};

TEST_EACH(quotes_as_go, quotes) {
    vpa_auto_buf buf = VPA_BUF(1000);

    vpa_quote_go(&buf, quotes[_i].text);
    ck_assert_str_eq(vpa_buf_text(&buf), quotes[_i].quoted);
}

static const struct {
    const char *text;
    bool plus;
    const char *decoded;
} escapes[] = {
    {"", true, ""},
    {"a%20b+c", false, "a b+c"},
    {"a%20b+c", true, "a b c"},
    {"%41%5a%7e", true, "AZ~"},
    {"%4A%4a", true, "JJ"},
    {"100%", true, "100%"},
    {"%4", true, "%4"},
    {"%g1%1g%:0", true, "%g1%1g%:0"},
    {"%%41", true, "%A"},
};

TEST_EACH(decodes_urls, escapes) {
    vpa_auto_free char *text =
        vpa_url_decode(escapes[_i].text, strlen(escapes[_i].text), escapes[_i].plus);

    ck_assert_str_eq(text, escapes[_i].decoded);
}

static const struct {
    const char *text;
    int label, subdomain;
} names[] = {
    {"a", 1, 1},
    {"", 0, 0},
    {"a-b", 1, 1},
    {"-a", 0, 0},
    {"a-", 0, 0},
    {"A", 0, 0},
    {"a.b", 0, 1},
    {"a..b", 0, 0},
    {".a", 0, 0},
    {"a_b", 0, 0},
    {"0", 1, 1},
    {"a.b.", 0, 0},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, 1},
};

TEST_EACH(checks_names, names) {
    ck_assert_int_eq(vpa_is_dns1123_label(names[_i].text), names[_i].label);
    ck_assert_int_eq(vpa_is_dns1123_subdomain(names[_i].text), names[_i].subdomain);
}

TEST(long_names_are_refused) {
    char text[300];

    memset(text, 'a', sizeof(text));
    text[254] = '\0';
    ck_assert(!vpa_is_dns1123_subdomain(text));
    text[253] = '\0';
    ck_assert(vpa_is_dns1123_subdomain(text));
}

TEST(splits_with_empty_pieces) {
    const char *rest = "a,,b,";
    const char *const want[] = {"a", "", "b", ""};
    struct vpa_slice piece;
    size_t n = 0;

    while (vpa_str_split(&rest, ',', &piece))
        ck_assert(vpa_slice_eq(piece, want[n++]));
    ck_assert_uint_eq(n, 4);
    ck_assert(!vpa_str_split(&rest, ',', &piece));
}

static const struct {
    const char *text, *name;
    bool same;
} folds[] = {
    {"", "", true},
    {"requests", "requests", true},
    {"Requests", "requests", true},
    {"rEQUESTs", "requests", true},
    {"requests", "request", false},
    {"request", "requests", false},
    {"", "a", false},
    {"a", "", false},
    {"a@z", "a`z", false}, /* 0x40 and 0x60 differ as letters do */
    {"a[z", "a{z", false},
    {"@", "`", false},
    {"a b", "a", false},
    {"a ", "a", false},
    {"\xc3\x84", "\xc3\xa4", false}, /* only ASCII folds */
};

TEST_EACH(folds_letters, folds) {
    ck_assert_int_eq(vpa_str_is_folded(folds[_i].text, folds[_i].name, strlen(folds[_i].name)),
                     folds[_i].same);
}

TEST(small_helpers) {
    ck_assert(vpa_str_eq(NULL, NULL));
    ck_assert(!vpa_str_eq("a", NULL));
    ck_assert(!vpa_str_eq(NULL, "a"));
    ck_assert(vpa_str_eq("a", "a"));
    ck_assert(vpa_str_starts_with("abc", "ab"));
    ck_assert(!vpa_str_starts_with("a", "ab"));
    ck_assert(vpa_str_ends_with("abc", "bc"));
    ck_assert(!vpa_str_ends_with("c", "bc"));
    ck_assert(vpa_slice_eq(vpa_slice_trim((struct vpa_slice){" \t x y\r\n", 8}), "x y"));
    ck_assert_uint_eq(vpa_slice_trim((struct vpa_slice){"   ", 3}).len, 0);
    ck_assert_str_eq(vpa_or_empty(NULL), "");
}

TEST(interned_strings_are_shared_and_counted) {
    struct vpa_intern_pool *pool = vpa_intern_pool_new();
    char text[] = "default", long_text[400] = "";
    const char *a = vpa_intern(pool, text);
    const char *b = vpa_intern(pool, "default");

    text[0] = 'X';
    ck_assert_ptr_eq(a, b);
    ck_assert_str_eq(a, "default");
    memset(long_text, 'y', sizeof(long_text) - 1);
    const char *c = vpa_intern(pool, long_text);
    ck_assert_str_eq(c, long_text);
    ck_assert_uint_eq(vpa_intern_count(pool), 2);
    vpa_unintern(pool, a);
    ck_assert_uint_eq(vpa_intern_count(pool), 2);
    vpa_unintern(pool, b);
    ck_assert_uint_eq(vpa_intern_count(pool), 1);
    vpa_unintern(pool, NULL);
    vpa_intern_pool_free(pool);
    vpa_intern_pool_free(NULL);
}

/* The table against an array of flags, with enough removals to need clean-ups. */
TEST(table_follows_a_naive_reference) {
    enum { KEYS = 500 };
    static char keys[KEYS][16];
    bool present[KEYS] = {false};
    struct vpa_table table = {0};
    uint64_t random = 42;
    size_t count = 0;

    vpa_hash_seed(7);
    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
    for (int step = 0; step < 20000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t k = (size_t)(random >> 33) % KEYS;
        if (random >> 62) {
            void *old = vpa_table_put(&table, keys[k], keys[k]);
            ck_assert_ptr_eq(old, present[k] ? keys[k] : NULL);
            count += !present[k];
            present[k] = true;
        } else {
            ck_assert_ptr_eq(vpa_table_remove(&table, keys[k]), present[k] ? keys[k] : NULL);
            count -= present[k];
            present[k] = false;
        }
        ck_assert_uint_eq(table.count, count);
        k = (size_t)(random >> 20) % KEYS;
        ck_assert_ptr_eq(vpa_table_find(&table, keys[k]), present[k] ? keys[k] : NULL);
    }
    void **sorted = vpa_table_sorted(&table);
    for (size_t i = 1; i < table.count; i++)
        ck_assert_int_lt(strcmp(sorted[i - 1], sorted[i]), 0);
    free(sorted);

    const char *key;
    void *value;
    for (size_t i = 0; vpa_table_next(&table, &i, &key, &value);) {
        ck_assert_ptr_eq(vpa_table_remove(&table, key), value);
        count--;
    }
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(table.count, 0);
    vpa_table_put(&table, "a", keys[0]);
    vpa_table_release(&table);
    vpa_hash_seed(0);
}

/* Short ones fit into the padding of the type. */
static const char *const keys_of_values[] = {"", "a", "namespace/name-of-a-vpa"};

TEST_EACH(tables_make_values_under_copies_of_their_keys, keys_of_values) {
    struct counted {
        uint64_t number;
        char letter;
        char key[];
    };
    vpa_auto_free char *key = vpa_xstrdup(keys_of_values[_i]);
    struct vpa_table table = {0};
    struct counted *made = VPA_TABLE_MAKE(&table, key, struct counted, key);

    ck_assert_str_eq(made->key, keys_of_values[_i]);
    ck_assert_ptr_ne(made->key, key);
    ck_assert(made->number == 0 && made->letter == 0);
    *made = (struct counted){.number = 7, .letter = 'x'}; /* all of it is there */
    memcpy(made->key, key, strlen(key) + 1);
    ck_assert_ptr_eq(VPA_TABLE_MAKE(&table, key, struct counted, key), made);
    ck_assert_uint_eq(made->number, 7);
    memset(key, 'z', strlen(key)); /* the caller's */
    ck_assert_ptr_eq(vpa_table_remove(&table, keys_of_values[_i]), made);
    ck_assert_uint_eq(table.count, 0);
    free(made);
    vpa_table_release(&table);
}

TEST(texts_are_found_in_lists_and_sorted) {
    const char *texts[] = {"b", "", "a", "aa"};

    ck_assert(vpa_str_is_in("aa", texts, VPA_COUNT(texts)));
    ck_assert(!vpa_str_is_in("aa", texts, 3));
    ck_assert(!vpa_str_is_in(NULL, texts, VPA_COUNT(texts)));
    qsort(texts, VPA_COUNT(texts), sizeof(*texts), vpa_str_compare);
    ck_assert_str_eq(texts[0], "");
    ck_assert_str_eq(texts[2], "aa");
    ck_assert_str_eq(texts[3], "b");
}

TEST(tables_tell_which_value_has_most) {
    struct share {
        const char *ns;
        size_t count;
    } shares[] = {{"a", 0}, {"b", 3}, {"c", SIZE_MAX}, {"d", 2}};
    struct vpa_table table = {0};

    ck_assert_ptr_null(VPA_TABLE_MOST(&table, struct share, count));
    for (size_t i = 0; i < VPA_COUNT(shares); i++)
        vpa_table_put(&table, shares[i].ns, &shares[i]);
    ck_assert_ptr_eq(VPA_TABLE_MOST(&table, struct share, count), &shares[2]);
    vpa_table_remove(&table, "c");
    ck_assert_ptr_eq(VPA_TABLE_MOST(&table, struct share, count), &shares[1]);
    vpa_table_remove(&table, "b");
    vpa_table_remove(&table, "d");
    ck_assert_ptr_eq(VPA_TABLE_MOST(&table, struct share, count), &shares[0]);
    vpa_table_release(&table);
}

int main(void)
{
    return run_tests("str", NULL, NULL);
}
