/*
 * Outside the list the text is kept, and every ':' there tells whether the string before it was the
 * next name of the path. An element that lies in one piece is handed on without a copy.
 */
#include "prom_list.h"

#include <string.h>

void prom_list_init(struct prom_list *list, const char *const *path, size_t levels,
                    size_t element_max, prom_element_fn on_element, void *ctx)
{
    *list = (struct prom_list){.path = path,
                               .levels = levels,
                               .element_max = element_max,
                               .on_element = on_element,
                               .ctx = ctx,
                               .around = VPA_BUF(PROM_LIST_AROUND_MAX),
                               .element = VPA_BUF(element_max)};
}

void prom_list_release(struct prom_list *list)
{
    vpa_buf_release(&list->around);
    vpa_buf_release(&list->element);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- inside of a value ---- */

/* Past the string, as far as there is one. */
static const char *skip_string(struct prom_value *v, const char *p, const char *end)
{
    while (p < end && v->in_string) {
        if (v->escaped)
            v->escaped = false;
        else if (*p == '\\')
            v->escaped = true;
        else
            v->in_string = *p != '"';
        p++;
    }
    return p;
}

/* One character outside of strings. */
static void take_mark(struct prom_value *v, char c)
{
    v->in_string = c == '"';
    v->depth += c == '{' || c == '[';
    v->depth -= (c == '}' || c == ']') && v->depth > 0;
}

static bool ends_word(char c)
{
    return c == ',' || c == ':' || c == '}' || c == ']' || is_space(c);
}

/* Behind the value, when *complete, or `end`. */
static const char *skip_value(struct prom_value *v, const char *p, const char *end, bool *complete)
{
    *complete = false;
    while (p < end && !*complete) {
        bool was_string = v->in_string;
        char c = *p;

        if (was_string) {
            p = skip_string(v, p, end);
            *complete = v->depth == 0 && !v->in_string;
        } else if (v->depth == 0 && ends_word(c)) {
            *complete = true;
        } else {
            take_mark(v, c);
            p++;
            *complete = v->depth == 0 && (c == '}' || c == ']');
        }
    }
    return p;
}

/* ---- around the list ---- */

/* The last string is the name of the member that comes next on the path. */
static bool is_on_path(const struct prom_list *list)
{
    const char *want = list->path[list->matched];
    size_t len = strlen(want);
    const char *name = vpa_buf_text(&list->around) + list->name;
    size_t room = list->around.len - list->name;

    return list->outer.depth == list->matched + 1 && room >= len + 2 && name[0] == '"' &&
           memcmp(name + 1, want, len) == 0 && name[len + 1] == '"';
}

static void open_bracket(struct prom_list *list, char c)
{
    bool last = list->matched + 1 == list->levels;

    if (list->at_member && last && c == '[' && !list->seen) {
        list->seen = list->first = true;
        list->place = PROM_BEFORE;
        vpa_buf_puts(&list->around, "[]");
        return;
    }
    if (list->at_member && last && c == '[')
        list->damage = "occurs twice";
    if (list->at_member && !last && c == '{')
        list->matched++;
    list->at_member = false;
    take_mark(&list->outer, c);
    vpa_buf_putc(&list->around, c);
}

static void take_around(struct prom_list *list, char c)
{
    if (c == '{' || c == '[') {
        open_bracket(list, c);
        return;
    }
    if (c == '"')
        list->name = list->around.len;
    else if (c == ':')
        list->at_member = is_on_path(list);
    else if (c == ',')
        list->at_member = false;
    take_mark(&list->outer, c);
    if (list->outer.depth <= list->matched)
        list->matched = list->outer.depth > 0 ? list->outer.depth - 1 : 0;
    vpa_buf_putc(&list->around, c);
}

static const char *feed_around(struct prom_list *list, const char *p, const char *end)
{
    const char *next = skip_string(&list->outer, p, end);

    vpa_buf_append(&list->around, p, (size_t)(next - p));
    if (next < end)
        take_around(list, *next++);
    return next;
}

/* ---- in the list ---- */

static void pass_over(struct prom_list *list)
{
    list->inner = (struct prom_value){.depth = 1};
    list->place = PROM_PASSED;
}

static void end_list(struct prom_list *list)
{
    list->at_member = false;
    list->place = PROM_AROUND;
}

/* At a character before or behind an element: past it, unless it belongs to the element. */
static const char *feed_between(struct prom_list *list, const char *p)
{
    bool behind = list->place == PROM_BEHIND;

    if (is_space(*p))
        return p + 1;
    if (*p == ']' && (behind || list->first)) {
        end_list(list);
        return p + 1;
    }
    list->first = false;
    if (!behind) {
        list->inner = (struct prom_value){0};
        list->place = PROM_INSIDE;
        return p;
    }
    if (*p == ',') {
        list->place = PROM_BEFORE;
        return p + 1;
    }
    list->damage = "does not end";
    pass_over(list);
    return p;
}

static const char *feed_element(struct prom_list *list, const char *p, const char *end,
                                enum prom_list_fit *fit)
{
    bool complete;
    const char *next = skip_value(&list->inner, p, end, &complete);
    size_t len = (size_t)(next - p);

    if (len > list->element_max - list->element.len) {
        *fit = PROM_LIST_ELEMENT_LONG;
        return next;
    }
    if (!complete || list->element.len > 0) {
        vpa_buf_append(&list->element, p, len);
        p = vpa_buf_text(&list->element);
        len = list->element.len;
    }
    if (!complete)
        return next;
    list->place = PROM_BEHIND;
    if (!list->on_element(list->ctx, p, len))
        pass_over(list);
    vpa_buf_clear(&list->element);
    return next;
}

static const char *feed_rest(struct prom_list *list, const char *p, const char *end)
{
    bool complete;

    p = skip_value(&list->inner, p, end, &complete);
    if (complete)
        end_list(list);
    return p;
}

enum prom_list_fit prom_list_feed(struct prom_list *list, const char *bytes, size_t len)
{
    const char *p = bytes;
    const char *end = bytes + len;
    enum prom_list_fit fit = PROM_LIST_FITS;

    while (p < end && fit == PROM_LIST_FITS) {
        if (list->place == PROM_AROUND)
            p = feed_around(list, p, end);
        else if (list->place == PROM_INSIDE)
            p = feed_element(list, p, end, &fit);
        else if (list->place == PROM_PASSED)
            p = feed_rest(list, p, end);
        else
            p = feed_between(list, p);
        if (vpa_buf_failed(&list->around))
            fit = PROM_LIST_AROUND_LONG;
    }
    return fit;
}
