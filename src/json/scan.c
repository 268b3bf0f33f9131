/*
 * A document is a tree of cJSON nodes in an arena, built by a scanner of our own.
 *
 * cJSON's parser is lax about what JSON is (control characters in strings, any character up to ' '
 * as white space), keeps only a double of every number, refuses lone surrogates that Go's decoder
 * reads as U+FFFD, and allocates every node and text by itself; guarded on both sides it read
 * 300 MB/s. The scanner accepts exactly RFC 8259 within our depth limit, names line and column of
 * the first fault, and needs one pass:
 *
 * - The text is copied into the arena once. Strings are unescaped and terminated where they stand
 *   in that copy; only numbers, whose end is the next character, are copied out.
 * - A number node has its source text in valuestring (cJSON leaves it unused for numbers).
 * - Whether a name has come before is looked at while an object is read: a bit per kind of name
 *   tells nearly all apart. All but the last of repeated members are taken out when the object
 *   ends, so that no reader has to think of them. In a folded document, where repeated objects
 *   become one, that is done from the outermost object inwards when the document is complete: each
 *   object is looked through once, when nothing can be added to it any more. From the inside
 *   outwards a nest of repetitions would have its innermost objects looked through again at every
 *   level.
 * - A member that nobody reads gets no nodes: only its end is looked for.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "json_private.h"
#include "skip.h"
#include "vpa/base/mem.h"

/* ---- repeated members ---- */

/* Objects of up to this many members are checked for repetitions pair by pair. */
#define PAIRWISE_MAX 32

static int compare_members(const void *a, const void *b)
{
    const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
    int order = strcmp(x->string, y->string);

    if (order)
        return order;
    return x->valueint - y->valueint; /* the place, see below */
}

/* Go's decoder fills one structure from repeated objects: the members of the earlier one come
 * first. Tells whether the two are such objects. */
static bool absorb(cJSON *later, cJSON *earlier)
{
    if (!(later->type & FOLDED) || !is_type(later, cJSON_Object) || !is_type(earlier, cJSON_Object))
        return false;
    if (earlier->child && later->child) {
        cJSON *last = later->child->prev;
        earlier->child->prev->next = later->child;
        later->child->prev = earlier->child->prev;
        earlier->child->prev = last;
    }
    if (earlier->child)
        later->child = earlier->child;
    earlier->child = NULL;
    return true;
}

/* Sorted, repetitions stand side by side. Each run is merged from its end and looked through once,
 * so that many repetitions cost no more than the sorting. */
static void drop_repeated_by_sorting(cJSON *object, size_t count)
{
    vpa_auto_free cJSON **members = vpa_xreallocarray(NULL, count, sizeof(*members));
    vpa_auto_free int *places = vpa_xreallocarray(NULL, count, sizeof(*places));
    cJSON *survivor = NULL;
    bool absorbs = false;
    size_t n = 0;

    for (cJSON *child = object->child; child; child = child->next) {
        places[n] = child->valueint;
        child->valueint = (int)n;
        members[n++] = child;
    }
    qsort(members, n, sizeof(*members), compare_members);
    while (n-- > 0) {
        cJSON *member = members[n];

        member->valueint = places[member->valueint];
        if (survivor && strcmp(member->string, survivor->string) == 0) {
            cJSON_DetachItemViaPointer(object, member);
            absorbs = absorbs && absorb(survivor, member);
            continue;
        }
        survivor = member;
        absorbs = true;
    }
}

static bool same_name(const cJSON *a, const cJSON *b)
{
    return a->valueint == b->valueint && memcmp(a->string, b->string, (size_t)a->valueint) == 0;
}

/* The member before `member` with its name, NULL when there is none. */
static cJSON *find_earlier(const cJSON *object, const cJSON *member)
{
    for (cJSON *child = object->child; child != member; child = child->next)
        if (same_name(child, member))
            return child;
    return NULL;
}

static void drop_repeated_by_pairs(cJSON *object)
{
    for (cJSON *child = object->child; child; child = child->next) {
        cJSON *earlier = find_earlier(object, child);

        if (earlier) {
            cJSON_DetachItemViaPointer(object, earlier);
            absorb(child, earlier);
        }
    }
}

/* Of repeated members only the last one counts. */
static void drop_repeated(cJSON *object)
{
    size_t count = 0;

    for (const cJSON *child = object->child; child; child = child->next)
        count++;
    if (count > PAIRWISE_MAX)
        drop_repeated_by_sorting(object, count);
    else
        drop_repeated_by_pairs(object);
}

/* A folded document from the outside inwards. As deep as the scanner allows. */
static void drop_all_repeated(cJSON *node)
{
    if (is_type(node, cJSON_Object))
        drop_repeated(node);
    for (cJSON *child = node->child; child; child = child->next)
        if (child->child)
            drop_all_repeated(child);
}

/* ---- scanning ---- */

/* A container that is not closed. */
struct open_container {
    cJSON *node;
    uint64_t kinds; /* of the names so far, a bit each */
    size_t count;   /* of names */
};

struct scanner {
    struct vpa_arena *arena;
    const char *text; /* as given, for the place of a fault */
    char *copy;       /* the same in the arena, changed behind p */
    char *p;
    char *end;
    int object_type;             /* cJSON_Object and perhaps FOLDED */
    const char *const *left_out; /* names of members that get no node, NULL for none */
    bool repeated;               /* repeated members stay */
    bool any_repeated;
    size_t values_left;
    unsigned depth;
    struct open_container open[VPA_JSON_DEPTH_MAX];
    cJSON *root;
    char *name; /* of the member whose value comes next */
    size_t name_length;
    struct vpa_error *err;
};

static int fail_at(const struct scanner *s, const char *at, enum vpa_code code, const char *what)
{
    const char *stop = s->text + (at - s->copy);
    size_t line = 1, column = 1;

    for (const char *p = s->text; p < stop; p++) {
        column++;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    return vpa_fail(s->err, code, "line %zu column %zu: %s", line, column, what);
}

/* No JSON. */
static int fault(const struct scanner *s, const char *at, const char *what)
{
    return fail_at(s, at, VPA_INVALID, what);
}

/* JSON so far, but more than we read. */
static int excess(const struct scanner *s, const char *what)
{
    return fail_at(s, s->p, VPA_LIMIT, what);
}

static inline void skip_space(struct scanner *s)
{
    while (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r')
        s->p++; /* a NUL stands behind the copy */
}

/* ---- strings ---- */

/* The first byte from p on that may not stand in a string as it is: a control character, '"' or
 * '\\'. A NUL and seven more bytes must stand behind the text. */
static inline char *skip_plain(char *p)
{
    for (;; p += 8) {
        uint64_t word = json_bytes_load(p);
        uint64_t found = json_bytes_below(word, ' ') | json_bytes_equal(word, '"') |
                         json_bytes_equal(word, '\\');

        if (found)
            return p + json_bytes_first(found);
    }
}

/* Four hex digits at p, or -1. */
static int hex4(const char *p, const char *end)
{
    int code = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* s->p is behind "\u"; *to gets the character: U+FFFD for a lone surrogate, as in Go's decoder, and
 * for NUL, which would end our texts early. */
static int scan_unicode(struct scanner *s, char **to)
{
    const char *at = s->p - 2;
    int code = hex4(s->p, s->end), low;

    if (code < 0)
        return fault(s, at, "\\u needs four hex digits");
    s->p += 4;
    if (code >= 0xd800 && code < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' &&
        s->p[1] == 'u') {
        low = hex4(s->p + 2, s->end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            s->p += 6;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff))
        code = 0xfffd;
    *to = put_utf8(*to, (unsigned)code);
    return 0;
}

/* s->p is at a backslash; *to gets what it stands for. */
static int scan_escape(struct scanner *s, char **to)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *at;

    if (++s->p == s->end)
        return fault(s, s->p, "unexpected end of text in a string");
    if (*s->p == 'u') {
        s->p++;
        return scan_unicode(s, to);
    }
    at = *s->p ? strchr(letters, *s->p) : NULL;
    if (!at)
        return fault(s, s->p - 1, "unknown escape in a string");
    *(*to)++ = bytes[at - letters];
    s->p++;
    return 0;
}

/* The same for a string that is more than plain text up to its closing quote; `to` is where the
 * plain text ends. */
static int scan_escaped(struct scanner *s, char *to, size_t *len)
{
    char *start = s->p;

    s->p = to;
    for (;;) {
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text in a string");
        if (*s->p == '"')
            break;
        if (*s->p != '\\')
            return fault(s, s->p, "control character in a string");
        if (scan_escape(s, &to) < 0)
            return -1;
        char *run = s->p;
        s->p = skip_plain(run);
        memmove(to, run, (size_t)(s->p - run));
        to += s->p - run;
    }
    *to = '\0';
    s->p++;
    *len = (size_t)(to - start);
    return 0;
}

/* s->p is at the opening quote. The text is unescaped where it stands: it never grows. */
static int scan_string(struct scanner *s, char **text, size_t *len, bool *escaped)
{
    char *start = s->p + 1, *end = skip_plain(start);

    *text = start;
    *escaped = *end != '"';
    if (*escaped) {
        s->p = start;
        return scan_escaped(s, end, len);
    }
    *end = '\0';
    *len = (size_t)(end - start);
    s->p = end + 1;
    return 0;
}

/* ---- scalars ---- */

/* Notes the name of a member that is the last of the object now. */
static void note_name(struct scanner *s, struct open_container *open, const cJSON *member)
{
    const unsigned char *name = (const unsigned char *)member->string;
    size_t len = s->name_length;
    uint64_t kind = (uint64_t)1 << ((len * 5 + name[0] + (len ? name[len - 1] : 0u) * 3u) % 64);

    /* The names of larger objects are compared when they are sorted. */
    if ((open->kinds & kind) && (open->count >= PAIRWISE_MAX || find_earlier(open->node, member))) {
        open->node->type |= REPEATED;
        s->any_repeated = true;
    }
    open->kinds |= kind;
    open->count++;
}

static cJSON *new_node(struct scanner *s, int type)
{
    cJSON *node = vpa_arena_alloc(s->arena, sizeof(*node));

    *node = (cJSON){.type = type};
    if (s->depth == 0) {
        s->root = node;
        return node;
    }
    struct open_container *open = &s->open[s->depth - 1];
    cJSON *first = open->node->child;
    if (first) { /* cJSON's lists: the first one's prev is the last */
        first->prev->next = node;
        node->prev = first->prev;
        first->prev = node;
    } else {
        open->node->child = node->prev = node;
    }
    if (is_type(open->node, cJSON_Object)) {
        node->string = s->name;
        node->valueint = (int)s->name_length;
        note_name(s, open, node);
    }
    return node;
}

static int scan_digits(struct scanner *s)
{
    const char *first = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > first ? 0 : fault(s, s->p, "digit expected");
}

static int scan_number(struct scanner *s)
{
    const char *start = s->p, *digits;

    if (*s->p == '-')
        s->p++;
    else if (*s->p < '0' || *s->p > '9')
        return fault(s, s->p, "unexpected character");
    digits = s->p;
    if (scan_digits(s) < 0)
        return -1;
    if (*digits == '0' && s->p - digits > 1)
        return fault(s, digits, "leading zero in a number");
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (scan_digits(s) < 0)
            return -1;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (scan_digits(s) < 0)
            return -1;
    }
    new_node(s, cJSON_Number)->valuestring =
        vpa_arena_strndup(s->arena, start, (size_t)(s->p - start));
    return 0;
}

static int scan_word(struct scanner *s, const char *word, size_t len, int type)
{
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
        return fault(s, s->p, "unexpected character");
    s->p += len;
    new_node(s, type);
    return 0;
}

static int scan_scalar(struct scanner *s)
{
    char *text = NULL;
    size_t len = 0;
    bool escaped = false;

    switch (*s->p) {
    case '"':
        if (scan_string(s, &text, &len, &escaped) < 0)
            return -1;
        new_node(s, cJSON_String | (escaped ? ESCAPED : 0))->valuestring = text;
        return 0;
    case 't':
        return scan_word(s, "true", 4, cJSON_True);
    case 'f':
        return scan_word(s, "false", 5, cJSON_False);
    case 'n':
        return scan_word(s, "null", 4, cJSON_NULL);
    default:
        return scan_number(s);
    }
}

/* ---- structure ---- */

/* A member's name and colon; s->p is at the first character that is not white space. */
static int scan_name(struct scanner *s)
{
    bool escaped;

    if (s->p == s->end)
        return fault(s, s->p, "unexpected end of text");
    if (*s->p != '"')
        return fault(s, s->p, "member name expected");
    if (scan_string(s, &s->name, &s->name_length, &escaped) < 0)
        return -1;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return fault(s, s->p, "':' expected");
    s->p++;
    skip_space(s);
    return 0;
}

/* s->p is at the bracket. *empty: the container is closed already. */
static int open_container(struct scanner *s, bool *empty)
{
    bool object = *s->p == '{';
    cJSON *node;

    if (s->depth == VPA_JSON_DEPTH_MAX)
        return excess(s, "nested too deeply");
    node = new_node(s, object ? s->object_type : cJSON_Array);
    s->p++;
    skip_space(s);
    *empty = s->p < s->end && *s->p == (object ? '}' : ']');
    if (*empty) {
        s->p++;
        return 0;
    }
    s->open[s->depth++] = (struct open_container){.node = node};
    return object ? scan_name(s) : 0;
}

/* Behind a complete value: closes the containers that end here and moves on to the next value. The
 * depth is 0 when the outermost value is complete. */
static int scan_onward(struct scanner *s)
{
    for (;;) {
        skip_space(s);
        if (s->depth == 0)
            return 0;
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text");
        cJSON *container = s->open[s->depth - 1].node;
        bool object = is_type(container, cJSON_Object);
        if (*s->p == ',') {
            s->p++;
            skip_space(s);
            return object ? scan_name(s) : 0;
        }
        if (*s->p != (object ? '}' : ']'))
            return fault(s, s->p, object ? "',' or '}' expected" : "',' or ']' expected");
        s->p++;
        s->depth--;
        if ((container->type & REPEATED) && !s->repeated)
            drop_repeated(container);
    }
}

static bool is_left_out(const struct scanner *s)
{
    if (!s->left_out || s->depth == 0 || !is_type(s->open[s->depth - 1].node, cJSON_Object))
        return false;
    for (const char *const *name = s->left_out; *name; name++)
        if (**name == *s->name && strcmp(*name, s->name) == 0)
            return true;
    return false;
}

static int pass_over(struct scanner *s)
{
    struct json_skip skip = {0};
    const char *end = json_skip_value(&skip, s->p, s->end);

    s->p += end - s->p;
    return json_skip_complete(&skip) ? 0 : fault(s, s->p, "unexpected end of text");
}

static int scan(struct scanner *s)
{
    skip_space(s);
    do {
        bool complete = true;

        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text");
        if (s->values_left-- == 0)
            return excess(s, "too many values");
        if (*s->p != '{' && *s->p != '[') {
            if (scan_scalar(s) < 0)
                return -1;
        } else if (is_left_out(s)) {
            if (pass_over(s) < 0)
                return -1;
        } else if (open_container(s, &complete) < 0) {
            return -1;
        }
        if (complete && scan_onward(s) < 0)
            return -1;
    } while (s->depth > 0);
    if (s->p != s->end)
        return fault(s, s->p, "text behind the value");
    return 0;
}

/* With the zeros that skip_plain() wants behind it. */
static char *copy_text(struct vpa_arena *arena, const char *text, size_t len)
{
    char *copy = vpa_arena_alloc(arena, len + sizeof(uint64_t));

    if (len)
        memcpy(copy, text, len);
    memset(copy + len, 0, sizeof(uint64_t));
    return copy;
}

struct parse_options {
    bool folded, repeated;
    const char *const *left_out;
};

static int parse(struct vpa_arena *arena, const char *text, size_t len,
                 const struct parse_options *options, const struct vpa_json **root,
                 struct vpa_error *err)
{
    const bool folded = options->folded;
    struct scanner s;

    if (len > INT_MAX)
        return vpa_fail(err, VPA_LIMIT, "more than 2 GiB of text");
    s.arena = arena;
    s.text = text;
    s.copy = s.p = copy_text(arena, text, len);
    s.end = s.copy + len;
    s.object_type = cJSON_Object | (folded ? FOLDED : 0);
    s.repeated = options->repeated || folded; /* folded: see below */
    s.left_out = options->left_out;
    s.values_left = folded ? VPA_JSON_FOLDED_VALUES_MAX : SIZE_MAX;
    s.depth = 0;
    s.root = NULL;
    s.name = NULL;
    s.name_length = 0;
    s.any_repeated = false;
    s.err = err;
    if (scan(&s) < 0)
        return -1;
    if (folded && s.any_repeated)
        drop_all_repeated(s.root);
    *root = (const struct vpa_json *)s.root;
    return 0;
}

int vpa_json_parse(struct vpa_arena *arena, const char *text, size_t len,
                   const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, &(struct parse_options){0}, root, err);
}

int vpa_json_parse_without(struct vpa_arena *arena, const char *text, size_t len,
                           const char *const *left_out, const struct vpa_json **root,
                           struct vpa_error *err)
{
    return parse(arena, text, len, &(struct parse_options){.left_out = left_out}, root, err);
}

int vpa_json_parse_folded(struct vpa_arena *arena, const char *text, size_t len,
                          const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, &(struct parse_options){.folded = true}, root, err);
}

int vpa_json_parse_repeated(struct vpa_arena *arena, const char *text, size_t len,
                            const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, &(struct parse_options){.repeated = true}, root, err);
}
