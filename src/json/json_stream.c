/*
 * A splitter needs to know only where values begin and end: strings (a bracket inside one does not
 * count) and the balance of brackets. What is between is checked when the object is parsed. An
 * object that lies in one chunk is handed on without a copy; only what crosses a chunk's border is
 * gathered. So the end of an object is found whatever stands in it, and one that is too long or no
 * JSON inside is one object: the stream goes on behind it.
 *
 * List mode reads the outermost object member by member. Everything but the elements of "items"
 * goes into the head text, which is a complete object of its own at the end.
 */
#include "vpa/json/json_stream.h"

#include <stdbool.h>
#include <string.h>

#include "skip.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

enum state {
    VALUES,       /* between objects (VPA_STREAM_VALUES) */
    LIST_START,   /* before the outermost '{' */
    MEMBER,       /* before a member name or '}' */
    COLON,        /* before ':' */
    MEMBER_VALUE, /* before a member's value */
    WORD,         /* in a number, true, false or null of the head */
    AFTER_MEMBER, /* before ',' or '}' */
    FIRST_ITEM,   /* behind the '[' of items */
    ITEM,         /* behind a ',' in items */
    AFTER_ITEM,   /* before ',' or ']' */
    OBJECT,       /* in an object to be given */
    HEAD_VALUE,   /* in a string, array or object of the head */
    LIST_END,     /* behind the outermost '}' */
};

struct vpa_json_stream {
    enum state state;
    enum state after;      /* OBJECT, HEAD_VALUE: the state behind the value */
    struct json_skip skip; /* OBJECT, HEAD_VALUE: how far into the value */
    bool skipping;         /* OBJECT: it is too long, the rest is passed over */
    bool at_items;         /* the member being read is "items" */
    bool items_seen;
    size_t name_start;     /* of the member name in the head */
    struct vpa_buf object; /* the part of an object that came in earlier chunks */
    struct vpa_buf head;
    size_t object_max;
    struct vpa_json_stream_handler handler;
};

struct vpa_json_stream *vpa_json_stream_new(enum vpa_stream_kind kind, size_t object_max,
                                            const struct vpa_json_stream_handler *handler)
{
    struct vpa_json_stream *s = vpa_xcalloc(1, sizeof(*s));

    s->state = kind == VPA_STREAM_LIST ? LIST_START : VALUES;
    s->object_max = object_max;
    s->handler = *handler;
    vpa_buf_init(&s->object, object_max);
    vpa_buf_init(&s->head, object_max);
    return s;
}

void vpa_json_stream_free(struct vpa_json_stream *s)
{
    if (!s)
        return;
    vpa_buf_release(&s->object);
    vpa_buf_release(&s->head);
    vpa_free_indirect(&s);
}

static int too_long(const struct vpa_json_stream *s, struct vpa_error *err)
{
    return vpa_fail(err, VPA_LIMIT, "an object is longer than %zu bytes", s->object_max);
}

static int unexpected(char c, const char *expected, struct vpa_error *err)
{
    if ((unsigned char)c < 0x20 || (unsigned char)c > 0x7e)
        return vpa_fail(err, VPA_INVALID, "byte 0x%02x where %s was expected", (unsigned char)c,
                        expected);
    return vpa_fail(err, VPA_INVALID, "'%c' where %s was expected", c, expected);
}

/* The object has become longer than the maximum: its first part is handed on, the rest skipped. */
static int begin_skipping(struct vpa_json_stream *s, const char *piece, struct vpa_error *err)
{
    if (!s->handler.on_long)
        return too_long(s, err);
    vpa_buf_append(&s->object, piece, s->object_max - s->object.len);
    int result = s->handler.on_long(s->handler.ctx, s->object.data, s->object.len, err);
    vpa_buf_release(&s->object);
    vpa_buf_init(&s->object, s->object_max);
    s->skipping = true;
    return result;
}

/* Behind an object. */
static void end_object(struct vpa_json_stream *s)
{
    vpa_buf_clear(&s->object);
    s->skipping = false;
    s->state = s->after;
}

/* In an object that will be given: takes what this chunk has of it. */
static int feed_object(struct vpa_json_stream *s, const char **p, const char *end,
                       struct vpa_error *err)
{
    const char *start = *p, *stop = json_skip_value(&s->skip, start, end);
    size_t len = (size_t)(stop - start);
    bool complete = json_skip_complete(&s->skip);
    int result = 0;

    *p = stop;
    if (!s->skipping && len > s->object_max - s->object.len) {
        result = begin_skipping(s, start, err);
    } else if (!s->skipping && complete && s->object.len == 0) {
        result = s->handler.on_object(s->handler.ctx, start, len, err);
    } else if (!s->skipping) {
        vpa_buf_append(&s->object, start, len);
        if (complete)
            result = s->handler.on_object(s->handler.ctx, s->object.data, s->object.len, err);
    }
    if (complete)
        end_object(s);
    return result;
}

static int begin_object(struct vpa_json_stream *s, char c, enum state after, const char *expected,
                        struct vpa_error *err)
{
    if (c != '{')
        return unexpected(c, expected, err);
    s->state = OBJECT;
    s->after = after;
    s->skip = (struct json_skip){0};
    return 0;
}

/* The member name just read is "items". */
static bool name_is_items(const struct vpa_json_stream *s)
{
    static const char items[] = "\"items\"";

    return s->head.len - s->name_start == sizeof(items) - 1 &&
           memcmp(s->head.data + s->name_start, items, sizeof(items) - 1) == 0;
}

static int feed_head(struct vpa_json_stream *s, const char **p, const char *end,
                     struct vpa_error *err)
{
    const char *start = *p, *stop = json_skip_value(&s->skip, start, end);

    *p = stop;
    vpa_buf_append(&s->head, start, (size_t)(stop - start));
    if (vpa_buf_failed(&s->head))
        return too_long(s, err);
    if (json_skip_complete(&s->skip)) {
        if (s->after == COLON)
            s->at_items = name_is_items(s);
        s->state = s->after;
    }
    return 0;
}

/* The first character of a member's value; the character itself is not consumed unless it opens
 * items. */
static int begin_member_value(struct vpa_json_stream *s, const char **p, struct vpa_error *err)
{
    char c = **p;

    if (c == '[' && s->at_items) {
        if (s->items_seen)
            return vpa_fail(err, VPA_INVALID, "items occurs twice");
        s->items_seen = true;
        vpa_buf_puts(&s->head, "[]");
        s->state = FIRST_ITEM;
        ++*p;
    } else if (s->at_items && c != 'n') {
        return unexpected(c, "an array of items", err);
    } else if (s->at_items) { /* null is an empty list */
        s->items_seen = true;
        s->state = WORD;
    } else if (c == '{' || c == '[' || c == '"') {
        s->state = HEAD_VALUE;
        s->after = AFTER_MEMBER;
        s->skip = (struct json_skip){0};
    } else if (c == ',' || c == ':' || c == '}' || c == ']') {
        return unexpected(c, "a value", err);
    } else {
        s->state = WORD;
    }
    return 0;
}

static int put_head(struct vpa_json_stream *s, char c, enum state next, struct vpa_error *err)
{
    vpa_buf_putc(&s->head, c);
    s->state = next;
    return vpa_buf_failed(&s->head) ? too_long(s, err) : 0;
}

/* One character between values; *p moves unless the character begins what the new state reads. */
static int step(struct vpa_json_stream *s, const char **p, struct vpa_error *err)
{
    char c = **p;

    switch (s->state) {
    case VALUES:
        return begin_object(s, c, VALUES, "an object", err);
    case FIRST_ITEM:
    case ITEM:
        if (c == ']' && s->state == FIRST_ITEM) {
            s->state = AFTER_MEMBER;
            ++*p;
            return 0;
        }
        return begin_object(s, c, AFTER_ITEM, "an item", err);
    case AFTER_ITEM:
        if (c != ',' && c != ']')
            return unexpected(c, "',' or ']'", err);
        s->state = c == ',' ? ITEM : AFTER_MEMBER;
        ++*p;
        return 0;
    case LIST_START:
        if (c != '{')
            return unexpected(c, "a list object", err);
        ++*p;
        return put_head(s, c, MEMBER, err);
    case MEMBER:
        if (c == '"') {
            s->name_start = s->head.len;
            s->state = HEAD_VALUE;
            s->after = COLON;
            s->skip = (struct json_skip){0};
            return 0;
        }
        if (c != '}')
            return unexpected(c, "a member name", err);
        ++*p;
        return put_head(s, c, LIST_END, err);
    case COLON:
        if (c != ':')
            return unexpected(c, "':'", err);
        ++*p;
        return put_head(s, c, MEMBER_VALUE, err);
    case MEMBER_VALUE:
        return begin_member_value(s, p, err);
    case AFTER_MEMBER:
        if (c != ',' && c != '}')
            return unexpected(c, "',' or '}'", err);
        ++*p;
        return put_head(s, c, c == ',' ? MEMBER : LIST_END, err);
    default:
        return unexpected(c, "the end", err);
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* In a number or word of the head, up to what ends it. */
static int feed_word(struct vpa_json_stream *s, const char **p, const char *end,
                     struct vpa_error *err)
{
    while (*p < end) {
        char c = **p;
        if (is_space(c) || c == ',' || c == '}') {
            s->state = AFTER_MEMBER;
            return 0;
        }
        if (put_head(s, c, WORD, err) < 0)
            return -1;
        ++*p;
    }
    return 0;
}

int vpa_json_stream_feed(struct vpa_json_stream *s, const char *bytes, size_t len,
                         struct vpa_error *err)
{
    const char *p = bytes, *end = bytes + len;

    while (p < end) {
        int result;

        if (s->state == OBJECT)
            result = feed_object(s, &p, end, err);
        else if (s->state == HEAD_VALUE)
            result = feed_head(s, &p, end, err);
        else if (s->state == WORD)
            result = feed_word(s, &p, end, err);
        else if (is_space(*p))
            result = (p++, 0);
        else
            result = step(s, &p, err);
        if (result < 0)
            return -1;
    }
    return 0;
}

int vpa_json_stream_finish(struct vpa_json_stream *s, struct vpa_error *err)
{
    if (s->state != VALUES && s->state != LIST_END)
        return vpa_fail(err, VPA_INVALID, "the text ends too early");
    /* An object of another kind must not be taken for an empty list. */
    if (s->state == LIST_END && !s->items_seen)
        return vpa_fail(err, VPA_INVALID, "no list: it has no items");
    if (s->state == LIST_END && s->handler.on_head)
        return s->handler.on_head(s->handler.ctx, s->head.data, s->head.len, err);
    return 0;
}
