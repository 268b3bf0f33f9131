/* Labels and selectors beyond what the vectors of set `selector` hold. */
#include "json_helper.h"

#include "vpa/api/labels.h"

static struct vpa_labels labels_of(const char *text)
{
    struct vpa_labels labels;
    struct vpa_error err;

    if (vpa_labels_decode(&arena, text ? json_of(text) : NULL, &labels, &err) < 0)
        ck_abort_msg("%s", err.text);
    return labels;
}

static const char *format(const struct vpa_selector *selector)
{
    struct vpa_buf buf;
    const char *text;

    vpa_buf_init(&buf, 1 << 16);
    vpa_selector_format(selector, &buf);
    text = vpa_arena_strdup(&arena, vpa_buf_text(&buf));
    vpa_buf_release(&buf);
    return text;
}

TEST(decodes_labels) {
    struct vpa_labels labels = labels_of("{\"b\":\"2\",\"a\":null,\"c\":\"\",\"b\":\"3\"}");

    ck_assert(labels.present && labels.count == 3);
    ck_assert_str_eq(labels.items[0].key, "a");
    ck_assert_str_eq(vpa_labels_get(&labels, "a"), "");
    ck_assert_str_eq(vpa_labels_get(&labels, "b"), "3");
    ck_assert_str_eq(vpa_labels_get(&labels, "c"), "");
    ck_assert_ptr_null(vpa_labels_get(&labels, "d"));
    ck_assert_ptr_null(vpa_labels_get(&labels, ""));
    labels = labels_of("{}");
    ck_assert(labels.present && labels.count == 0);
    ck_assert_ptr_null(vpa_labels_get(&labels, "a"));
    ck_assert(!labels_of("null").present);
    ck_assert(!labels_of(NULL).present);
}

TEST(refuses_labels) {
    struct vpa_labels labels;
    struct vpa_error err;

    ck_assert_int_lt(vpa_labels_decode(&arena, json_of("[]"), &labels, &err), 0);
    ck_assert_str_eq(err.text, "object expected, got array");
    ck_assert_int_lt(vpa_labels_decode(&arena, json_of("{\"a\":1}"), &labels, &err), 0);
    ck_assert_str_eq(err.text, "a: string expected, got number");
}

TEST(makes_keys) {
    struct vpa_labels labels =
        labels_of("{\"a\":\"1\",\"a-b\":\"2\",\"a.c\":\"\",\"a9\":\"x\",\"B\":\"y\"}");
    struct vpa_labels many;
    struct vpa_buf buf, text;

    vpa_buf_init(&buf, 4096);
    vpa_buf_init(&text, 4096);
    vpa_labels_key(&labels, &buf);
    ck_assert_str_eq(vpa_buf_text(&buf), "B=y,a-b=2,a.c=,a9=x,a=1");
    vpa_buf_clear(&buf);
    vpa_buf_putc(&text, '{');
    for (int i = 10; i < 40; i++)
        vpa_buf_printf(&text, "%s\"k%d\":\"v\"", i > 10 ? "," : "", i);
    vpa_buf_putc(&text, '}');
    many = labels_of(vpa_buf_text(&text));
    vpa_buf_clear(&buf);
    vpa_labels_key(&many, &buf);
    ck_assert_int_eq(strncmp(vpa_buf_text(&buf), "k10=v,k11=v,", 12), 0);
    ck_assert_uint_eq(buf.len, 30 * 5 + 29);
    vpa_buf_release(&buf);
    vpa_buf_release(&text);
}

TEST(finds_keys_that_begin_others) {
    static const char *const keys[] = {"a", "a-b", "a.c", "a/d", "a9", "aa", "B", "a-b-c", "ab"};
    struct vpa_labels labels =
        labels_of("{\"a\":\"a\",\"a-b\":\"a-b\",\"a.c\":\"a.c\",\"a/d\":\"a/d\","
                  "\"a9\":\"a9\",\"aa\":\"aa\",\"B\":\"B\",\"a-b-c\":\"a-b-c\","
                  "\"ab\":\"ab\"}");

    ck_assert_uint_eq(labels.count, VPA_COUNT(keys));
    for (size_t i = 0; i < VPA_COUNT(keys); i++)
        ck_assert_pstr_eq(vpa_labels_get(&labels, keys[i]), keys[i]);
    ck_assert_ptr_null(vpa_labels_get(&labels, "a-"));
    ck_assert_ptr_null(vpa_labels_get(&labels, "b"));
    ck_assert_ptr_null(vpa_labels_get(&labels, ""));
}

/* Label sets whose texts begin alike, end in each other, or are equal; and none. */
TEST(compares_as_the_texts_do) {
    static const char *const sets[] = {
        "{}",
        "{\"a\":\"\"}",
        "{\"a\":\"1\"}",
        "{\"a\":\"1\",\"b\":\"\"}",
        "{\"a\":\"1\",\"b\":\"2\"}",
        "{\"a\":\"1-\"}",
        "{\"a\":\"10\"}",
        "{\"a\":\"1\",\"a-b\":\"2\"}",
        "{\"a-b\":\"2\"}",
        "{\"a-b\":\"2\",\"c\":\"3\"}",
        "{\"a.b\":\"2\"}",
        "{\"ab\":\"2\"}",
        "{\"A\":\"\\u00e9\"}",
        "{\"A\":\"z\"}",
    };
    vpa_auto_buf first = VPA_BUF(4096), second = VPA_BUF(4096);

    for (size_t i = 0; i < VPA_COUNT(sets); i++) {
        for (size_t j = 0; j < VPA_COUNT(sets); j++) {
            const struct vpa_labels a = labels_of(sets[i]), b = labels_of(sets[j]);
            vpa_buf_clear(&first);
            vpa_buf_clear(&second);
            vpa_labels_key(&a, &first);
            vpa_labels_key(&b, &second);
            int texts = strcmp(vpa_buf_text(&first), vpa_buf_text(&second));
            int order = vpa_labels_compare(&a, &b);
            ck_assert_msg((order > 0) - (order < 0) == (texts > 0) - (texts < 0), "%s and %s: %d",
                          sets[i], sets[j], order);
            ck_assert_int_eq(vpa_labels_compare(&a, &a), 0);
        }
    }
}

static const struct {
    const char *text, *error;
} bad_structured[] = {
    {"5", "object expected, got number"},
    {"{\"matchLabels\":[]}", "matchLabels: object expected, got array"},
    {"{\"matchExpressions\":{}}", "matchExpressions: array expected, got object"},
    {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"in\"}]}",
     "\"in\" is not a valid label selector operator"},
    {"{\"matchExpressions\":[{\"key\":\"a\"}]}", "\"\" is not a valid label selector operator"},
    {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[]}]}",
     "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
    {"{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"<\",\"b\"]}]}",
     "[values: Invalid value: [\"\\u003c\",\"b\"]: values set must be empty for exists and does "
     "not "
     "exist, values[0][a]: Invalid value: \"<\": a valid label must be an empty string or consist "
     "of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
     "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
     "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"},
};

TEST_EACH(refuses_structured, bad_structured) {
    struct vpa_selector selector;
    struct vpa_error err;

    ck_assert_int_lt(vpa_selector_decode(&arena, json_of(bad_structured[_i].text), &selector, &err),
                     0);
    ck_assert_str_eq(err.text, bad_structured[_i].error);
}

#define SCALE_ERROR                                                                                \
    "received an object from a /scale endpoint which was not convertible to autoscaling Scale: "   \
    "failed to parse target selector: "

static const struct {
    const char *text, *formatted, *error;
} scales[] = {
    {"", "", NULL},
    {"a==b,c=d", "a=b,c=d", NULL},
    {"a=1,a=2,a==3", "a=3", NULL},
    {"x in (b,a,b),a=1,x=5,!y,z", "a=1,x=5,x in (a,b),!y,z", NULL},
    {"x notin (b)", "x notin (b)", NULL},
    {"a!=b", NULL, SCALE_ERROR "\"!=\" is not a valid label selector operator"},
    {"x in (a,b,c,d,e,f)", "x in (a,b,c,d,e,f)", NULL},
    {"a\r\n=\tb", "a=b", NULL},
    {"b,a>1", NULL, SCALE_ERROR "\"gt\" isn't supported in label selectors"},
    {"a<1", NULL, SCALE_ERROR "\"lt\" isn't supported in label selectors"},
    {"a in", NULL,
     SCALE_ERROR "couldn't parse the selector string \"a in\": unable to parse requirement: found "
                 "'', expected: '('"},
};

TEST_EACH(parses_scale_selectors, scales) {
    struct vpa_selector selector;
    struct vpa_error err;
    int result = vpa_selector_parse_scale(&arena, scales[_i].text, &selector, &err);

    if (scales[_i].error) {
        ck_assert_int_lt(result, 0);
        if (strstr(scales[_i].error, "a in"))
            ck_assert_ptr_nonnull(strstr(err.text, "couldn't parse the selector string \"a in\""));
        else
            ck_assert_str_eq(err.text, scales[_i].error);
    } else {
        ck_assert_int_eq(result, 0);
        ck_assert_str_eq(format(&selector), scales[_i].formatted);
    }
}

/* Keys and values by the rules of upstream's validation; what is said names the part at fault. */
static const struct {
    const char *key;
    const char *reason; /* part of it; NULL: fine */
} label_keys[] = {
    {"a", NULL},
    {"A_b-c.9", NULL},
    {"example.com/a", NULL},
    {"a-b.c1/x", NULL},
    {"", "name part must be non-empty; name part name part must consist"},
    {"-a", "name part must consist"},
    {"a-", "name part must consist"},
    {"a b", "name part must consist"},
    {"a/b/c", "must consist of alphanumeric characters"},
    {"/a", "prefix part must be non-empty"},
    {"a/", "name part must be non-empty"},
    {"A.com/a", "prefix part"},
    {"a..b/c", "prefix part"},
    {".a/c", "prefix part"},
    {"a./c", "prefix part"},
    {"-a/c", "prefix part"},
    {"a-/c", "prefix part"},
    {"a-.b/c", "prefix part"},
    {"a.-b/c", "prefix part"},
    {"a_b/c", "prefix part"},
    {"a{/c", "prefix part"},
    {"a:/c", "prefix part"},
    {"0123456789012345678901234567890123456789012345678901234567890123",
     "name part must be no more than 63 bytes"},
    {"012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"
     "3456"
     "789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
     "012"
     "34567890123456789012345678901234567890123456789012345678901234567890123456789/a",
     "prefix part must be no more than 253 bytes"},
};

TEST_EACH(checks_keys, label_keys) {
    const char *text = vpa_arena_printf(
        &arena, "{\"matchExpressions\":[{\"key\":\"%s\",\"operator\":\"Exists\"}]}",
        label_keys[_i].key);
    struct vpa_selector selector;
    struct vpa_error err;
    int result = vpa_selector_decode(&arena, json_of(text), &selector, &err);

    ck_assert_msg((result == 0) == (label_keys[_i].reason == NULL), "%s: %s", label_keys[_i].key,
                  err.text);
    if (label_keys[_i].reason && label_keys[_i].key[0])
        ck_assert_msg(strstr(err.text, label_keys[_i].reason) != NULL, "%s", err.text);
}

static const struct {
    const char *text;
    const char *error; /* part of it; NULL: fine */
} grammar[] = {
    {"", NULL},
    {"a", NULL},
    {"!a", NULL},
    {"a,!b,c=d,e!=f,g==h,i in (j,k),l notin (m)", NULL},
    {"a=", NULL},
    {"a=,b", NULL},
    {"a in ()", NULL},
    {"a in (,)", NULL},
    {"a in (b,,c)", NULL},
    {"a in (b,)", NULL},
    {"a in (,b)", NULL},
    {"a>1,b<2", NULL},
    {"=", "found '=', expected: !, identifier, or 'end of string'"},
    {"!", "found '', expected: identifier"},
    {"!=a", "expected: !, identifier, or 'end of string'"},
    {"a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"},
    {"a=b c", "found 'c', expected: ',' or 'end of string'"},
    {"a=b,", "found '', expected: identifier after ','"},
    {"a=b,=", "found '=', expected: identifier after ','"},
    {"a==(", "found '(', expected: identifier"},
    {"a in b", "found 'b' expected: '('"},
    {"a in (=", "found '=', expected: ',', ')' or identifier"},
    {"a in (b=", "found '=', expected: ',' or ')'"},
    {"a in (b,=", "found '=', expected: ',', or identifier"},
    {"a in (b", "found '', expected: ',' or ')'"},
    {"-a=b", "name part must consist"},
    {"a=-b", "a valid label must be"},
    {"a>b", "for 'Gt', 'Lt' operators, the value must be an integer"},
    {"a<", "for 'Gt', 'Lt' operators, the value must be an integer"},
    {"a=0123456789012345678901234567890123456789012345678901234567890123",
     "must be no more than 63 bytes"},
};

TEST_EACH(parses_selector_texts, grammar) {
    struct vpa_selector selector;
    struct vpa_error err;
    int result = vpa_selector_parse(&arena, grammar[_i].text, &selector, &err);

    ck_assert_msg((result == 0) == (grammar[_i].error == NULL), "%s: %s", grammar[_i].text,
                  err.text);
    if (grammar[_i].error)
        ck_assert_msg(strstr(err.text, grammar[_i].error) != NULL, "%s: %s", grammar[_i].text,
                      err.text);
}

TEST(matches_numbers) {
    struct vpa_selector selector;
    struct vpa_error err;
    static const struct {
        const char *selector, *labels;
        bool match;
    } cases[] = {
        {"a>5", "{\"a\":\"6\"}", true},      {"a>5", "{\"a\":\"5\"}", false},
        {"a<5", "{\"a\":\"4\"}", true},      {"a<5", "{\"a\":\"05\"}", false},
        {"a>5", "{\"a\":\"x\"}", false},     {"a>5", "{\"a\":\"\"}", false},
        {"a>5", "{\"b\":\"6\"}", false},     {"a>5", "{\"a\":\"99999999999999999999\"}", false},
        {"a>5", "{\"a\":\"+6\"}", true},     {"a>5", "{\"a\":\"6-\"}", false},
        {"a!=b,!c,d", "{\"d\":\"\"}", true}, {"a!=b", "{\"a\":\"b\"}", false},
        {"a==b", "{\"a\":\"b\"}", true},
    };

    for (size_t i = 0; i < VPA_COUNT(cases); i++) {
        struct vpa_labels labels = labels_of(cases[i].labels);
        ck_assert_int_eq(vpa_selector_parse(&arena, cases[i].selector, &selector, &err), 0);
        ck_assert_msg(vpa_selector_matches(&selector, &labels) == cases[i].match, "%s %s",
                      cases[i].selector, cases[i].labels);
    }
}

TEST(copies_selectors) {
    const char *text = "a,b in (x,y),c=d";
    struct vpa_selector selector, copy;
    struct vpa_error err;

    ck_assert_int_eq(vpa_selector_parse(&arena, text, &selector, &err), 0);
    copy = vpa_selector_copy(&arena, &selector);
    ck_assert_str_eq(format(&copy), text);
    ck_assert_ptr_ne(copy.items[1].values[0], selector.items[1].values[0]);
    ck_assert_int_eq(vpa_selector_decode(&arena, NULL, &selector, &err), 0);
    copy = vpa_selector_copy(&arena, &selector);
    ck_assert(copy.nothing && copy.count == 0);
}

int main(void)
{
    return run_tests("labels", NULL, release_arena);
}
