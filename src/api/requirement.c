/*
 * What a label key and a label value may be, with upstream's texts for what they may not be
 * (specification api.md 11.3).
 */
#include "labels_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define NAME_RULE                                                                                  \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "    \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "         \
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define KEY_RULE                                                                                   \
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "  \
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "  \
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "     \
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
#define SUBDOMAIN_RULE                                                                             \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "  \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define VALUE_RULE                                                                                 \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "    \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', " \
    " or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(const char *text, size_t len)
{
    if (len == 0 || !is_alphanumeric(text[0]) || !is_alphanumeric(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alphanumeric(text[i]) && text[i] != '-' && text[i] != '_' && text[i] != '.')
            return false;
    return true;
}

static bool is_subdomain(const char *text, size_t len)
{
    bool edge = true; /* at the begin of a label, where only letters and digits may stand */

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool last = i + 1 == len || text[i + 1] == '.';
        if (c == '.' ? edge : !alphanumeric && (c != '-' || edge || last))
            return false;
        edge = c == '.';
    }
    return !edge;
}

/* Violations of one requirement; each names its own place, so no two texts are equal. */
struct violations {
    struct vpa_buf text;
    size_t count;
};

/* Nothing that comes now would be seen: the error's text is cut, and has its bracket. */
static bool is_full(const struct violations *v)
{
    return v->count > 1 && v->text.len >= VPA_ERROR_TEXT_MAX;
}

static void next_violation(struct violations *v)
{
    if (v->count++)
        vpa_buf_puts(&v->text, ", ");
}

static void add_reason(struct vpa_buf *reasons, const char *part, const char *reason)
{
    if (reasons->len)
        vpa_buf_puts(reasons, "; ");
    vpa_buf_puts(reasons, part);
    vpa_buf_puts(reasons, reason);
}

static void key_reasons(const char *key, struct vpa_buf *reasons)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;
    size_t prefix_len = slash ? (size_t)(slash - key) : 0, name_len = strlen(name);

    if (slash && strchr(name, '/')) {
        add_reason(reasons, "", KEY_RULE);
        return;
    }
    if (slash && prefix_len == 0) {
        add_reason(reasons, "prefix part ", "must be non-empty");
    } else if (slash) {
        if (prefix_len > 253)
            add_reason(reasons, "prefix part ", "must be no more than 253 bytes");
        if (!is_subdomain(key, prefix_len))
            add_reason(reasons, "prefix part ", SUBDOMAIN_RULE);
    }
    if (name_len == 0)
        add_reason(reasons, "name part ", "must be non-empty");
    else if (name_len > 63)
        add_reason(reasons, "name part ", "must be no more than 63 bytes");
    if (!is_name(name, name_len))
        add_reason(reasons, "name part ", NAME_RULE);
}

static void value_reasons(const char *value, struct vpa_buf *reasons)
{
    size_t len = strlen(value);

    if (len > 63)
        add_reason(reasons, "", "must be no more than 63 bytes");
    if (len > 0 && !is_name(value, len))
        add_reason(reasons, "", VALUE_RULE);
}

bool vpa_label_integer(const char *text, int64_t *out)
{
    char *end;

    if (*text == '\0' || strspn(text, "+-0123456789") != strlen(text))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static void report_key(struct violations *v, const char *path, const char *key)
{
    vpa_auto_buf reasons = VPA_BUF(REQUIREMENT_TEXT_MAX);

    key_reasons(key, &reasons);
    if (reasons.len == 0)
        return;
    next_violation(v);
    vpa_buf_printf(&v->text, "%s: Invalid value: ", path);
    vpa_quote_go(&v->text, key);
    vpa_buf_printf(&v->text, ": %s", vpa_buf_text(&reasons));
}

static void report_count(struct violations *v, const struct vpa_requirement *r)
{
    int64_t bound;

    switch (r->op) {
    case VPA_SELECT_IN:
    case VPA_SELECT_NOT_IN:
        if (r->value_count)
            return;
        next_violation(v);
        vpa_buf_puts(&v->text, "values: Invalid value: null: for 'in', 'notin' operators, values "
                               "set can't be empty");
        break;
    case VPA_SELECT_EXISTS:
    case VPA_SELECT_DOES_NOT_EXIST:
        if (r->value_count == 0)
            return;
        next_violation(v);
        vpa_buf_puts(&v->text, "values: Invalid value: [");
        for (size_t i = 0; i < r->value_count; i++) {
            if (i)
                vpa_buf_putc(&v->text, ',');
            vpa_json_escape(&v->text, r->values[i]);
        }
        vpa_buf_puts(&v->text, "]: values set must be empty for exists and does not exist");
        break;
    case VPA_SELECT_GREATER:
    case VPA_SELECT_LESS:
        if (vpa_label_integer(r->values[0], &bound))
            return;
        next_violation(v);
        vpa_buf_puts(&v->text, "values[0]: Invalid value: ");
        vpa_quote_go(&v->text, r->values[0]);
        vpa_buf_puts(&v->text, ": for 'Gt', 'Lt' operators, the value must be an integer");
        break;
    default:
        return;
    }
}

static void report_value(struct violations *v, const struct vpa_requirement *r, size_t i)
{
    vpa_auto_buf reasons = VPA_BUF(REQUIREMENT_TEXT_MAX);

    value_reasons(r->values[i], &reasons);
    if (reasons.len == 0)
        return;
    next_violation(v);
    vpa_buf_printf(&v->text, "values[%zu][%s]: Invalid value: ", i, r->key);
    vpa_quote_go(&v->text, r->values[i]);
    vpa_buf_printf(&v->text, ": %s", vpa_buf_text(&reasons));
}

static int fail_with(struct violations *v, struct vpa_error *err)
{
    if (v->count == 0)
        return 0;
    return vpa_fail(err, VPA_INVALID, v->count > 1 ? "[%s]" : "%s", vpa_buf_text(&v->text));
}

int vpa_check_label_key(const char *path, const char *key, struct vpa_error *err)
{
    struct violations v = {0};
    int result;

    vpa_buf_init(&v.text, REQUIREMENT_TEXT_MAX);
    report_key(&v, path, key);
    result = fail_with(&v, err);
    vpa_buf_release(&v.text);
    return result;
}

int vpa_check_requirement(const struct vpa_requirement *r, struct vpa_error *err)
{
    struct violations v = {0};
    int result;

    vpa_buf_init(&v.text, REQUIREMENT_TEXT_MAX);
    report_key(&v, "key", r->key);
    report_count(&v, r);
    for (size_t i = 0; i < r->value_count && !is_full(&v); i++)
        report_value(&v, r, i);
    result = fail_with(&v, err);
    vpa_buf_release(&v.text);
    return result;
}
