/*
 * The reader is cJSON with a guard in front and a guard behind.
 *
 * cJSON builds good trees quickly, but it is lax about what JSON is (control characters in strings,
 * any character up to ' ' as white space), keeps only a double of every number, refuses lone
 * surrogates that Go's decoder reads as U+FFFD, and calls malloc for every node. So:
 *
 * 1. scan() walks the text once. It accepts exactly RFC 8259 within our depth limit, reports the
 *    first fault with line and column, and writes a copy for cJSON in which each number is "0"
 *    padded with blanks and each lone surrogate escape is "\ufffd". The numbers' source texts are
 *    kept in order.
 * 2. cJSON parses that copy. Its allocations come from the document's arena: the hooks are
 *    installed once before main() and find the arena of the running parse in a thread-local
 *    pointer, so that parsing in several threads at a time is safe.
 * 3. finish() walks the tree in document order and hands each number node its source text (in
 *    valuestring, which cJSON leaves unused for numbers); a string learns in valueint whether its
 *    source text held an escape. All but the last of repeated members are taken out, so that no
 *    reader has to think of them.
 *
 * struct vpa_json is never defined: a node pointer is a cJSON pointer, and cJSON.h stays in this
 * file.
 */
#include "vpa/json/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cjson/cJSON.h>

#include "vpa/base/mem.h"

/* ---- allocation ---- */

static _Thread_local struct vpa_arena *parse_arena;

static void *arena_hook_alloc(size_t size)
{
    assert(parse_arena != NULL);
    return vpa_arena_alloc(parse_arena, size);
}

static void arena_hook_free(void *item)
{
    (void)item; /* the arena dies as a whole */
}

__attribute__((constructor)) static void install_hooks(void)
{
    cJSON_Hooks hooks = {.malloc_fn = arena_hook_alloc, .free_fn = arena_hook_free};

    cJSON_InitHooks(&hooks);
}

/* ---- scanning ---- */

struct scanner {
    struct vpa_arena *arena;
    const char *text;
    const char *p;
    const char *end;
    char *copy; /* what cJSON will read; same length as text */
    const char **numbers;
    size_t number_count;
    size_t number_capacity;
    size_t string_count; /* string values so far; member names are not counted */
    size_t *escaped;     /* which of them hold an escape */
    size_t escaped_count;
    size_t escaped_capacity;
    struct vpa_error *err;
};

static int fault(const struct scanner *s, const char *at, const char *what)
{
    size_t line = 1, column = 1;

    for (const char *p = s->text; p < at; p++) {
        column++;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    return vpa_fail(s->err, VPA_INVALID, "line %zu column %zu: %s", line, column, what);
}

/* Bytes that may stand in a string as they are: all but controls, '"' and '\'. */
static const bool plain[256] = {
    [0x20] = true,
    [0x21] = true,
    [0x23 ... 0x5b] = true,
    [0x5d ... 0xff] = true,
};

static inline void skip_space(struct scanner *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
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

/* s->p is behind "\u". */
static int scan_unicode(struct scanner *s)
{
    const char *at = s->p - 2;
    int code = hex4(s->p, s->end);

    if (code < 0)
        return fault(s, at, "\\u needs four hex digits");
    if (code == 0)
        return fault(s, at, "\\u0000 is not allowed");
    s->p += 4;
    if (code < 0xd800 || code > 0xdfff)
        return 0;
    if (code < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
        int low = hex4(s->p + 2, s->end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            s->p += 6;
            return 0;
        }
    }
    memcpy(s->copy + (at - s->text), "\\ufffd", 6); /* lone surrogate: as Go's decoder reads it */
    return 0;
}

/* s->p is at the opening quote. */
static int scan_string(struct scanner *s)
{
    s->p++;
    for (;;) {
        while (s->p < s->end && plain[(unsigned char)*s->p])
            s->p++;
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text in a string");
        if (*s->p == '"') {
            s->p++;
            return 0;
        }
        if (*s->p != '\\')
            return fault(s, s->p, "control character in a string");
        s->p++;
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text in a string");
        char c = *s->p++;
        if (c == 'u') {
            if (scan_unicode(s) < 0)
                return -1;
        } else if (c == '\0' || !strchr("\"\\/bfnrt", c)) {
            return fault(s, s->p - 2, "unknown escape in a string");
        }
    }
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

static void keep_number(struct scanner *s, const char *start)
{
    size_t len = (size_t)(s->p - start);
    char *copy = s->copy + (start - s->text);

    if (s->number_count == s->number_capacity) {
        size_t capacity = s->number_capacity ? 2 * s->number_capacity : 16;
        const char **grown = vpa_arena_alloc(s->arena, capacity * sizeof(*grown));
        if (s->number_count)
            memcpy(grown, s->numbers, s->number_count * sizeof(*grown));
        s->numbers = grown;
        s->number_capacity = capacity;
    }
    s->numbers[s->number_count++] = vpa_arena_strndup(s->arena, start, len);
    memset(copy, ' ', len);
    copy[0] = '0';
}

static int scan_number(struct scanner *s)
{
    const char *start = s->p, *digits;

    if (*s->p == '-')
        s->p++;
    digits = s->p;
    s->p = skip_digits(s->p, s->end);
    if (s->p == digits)
        return fault(s, s->p, s->p == start ? "unexpected character" : "digit expected");
    if (*digits == '0' && s->p - digits > 1)
        return fault(s, digits, "leading zero in a number");
    if (s->p < s->end && *s->p == '.') {
        digits = ++s->p;
        s->p = skip_digits(s->p, s->end);
        if (s->p == digits)
            return fault(s, s->p, "digit expected");
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        digits = s->p;
        s->p = skip_digits(s->p, s->end);
        if (s->p == digits)
            return fault(s, s->p, "digit expected");
    }
    keep_number(s, start);
    return 0;
}

/* A string that is a value; whether it holds an escape is kept for vpa_json_string_escaped. */
static int scan_string_value(struct scanner *s)
{
    const char *start = s->p;

    if (scan_string(s) < 0)
        return -1;
    size_t ordinal = s->string_count++;
    if (!memchr(start, '\\', (size_t)(s->p - start)))
        return 0;
    if (s->escaped_count == s->escaped_capacity) {
        size_t capacity = s->escaped_capacity ? 2 * s->escaped_capacity : 16;
        size_t *grown = vpa_arena_alloc(s->arena, capacity * sizeof(*grown));
        if (s->escaped_count)
            memcpy(grown, s->escaped, s->escaped_count * sizeof(*grown));
        s->escaped = grown;
        s->escaped_capacity = capacity;
    }
    s->escaped[s->escaped_count++] = ordinal;
    return 0;
}

static int scan_word(struct scanner *s, const char *word, size_t len)
{
    if ((size_t)(s->end - s->p) < len || memcmp(s->p, word, len) != 0)
        return fault(s, s->p, "unexpected character");
    s->p += len;
    return 0;
}

/* A string, number or word. */
static int scan_scalar(struct scanner *s)
{
    switch (*s->p) {
    case '"':
        return scan_string_value(s);
    case 't':
        return scan_word(s, "true", 4);
    case 'f':
        return scan_word(s, "false", 5);
    case 'n':
        return scan_word(s, "null", 4);
    default:
        return scan_number(s);
    }
}

/* A member's name and colon; s->p is at the first character that is not white space. */
static int scan_name(struct scanner *s)
{
    if (s->p == s->end)
        return fault(s, s->p, "unexpected end of text");
    if (*s->p != '"')
        return fault(s, s->p, "member name expected");
    if (scan_string(s) < 0)
        return -1;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return fault(s, s->p, "':' expected");
    s->p++;
    skip_space(s);
    return 0;
}

/* Behind a complete value: closes containers that end here and moves on to the next value's start.
 * *depth becomes 0 when the outermost value is complete. */
static int scan_onward(struct scanner *s, const bool *is_object, unsigned *depth)
{
    for (;;) {
        skip_space(s);
        if (*depth == 0)
            return 0;
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text");
        bool object = is_object[*depth - 1];
        if (*s->p == ',') {
            s->p++;
            skip_space(s);
            return object ? scan_name(s) : 0;
        }
        if (*s->p != (object ? '}' : ']'))
            return fault(s, s->p, object ? "',' or '}' expected" : "',' or ']' expected");
        s->p++;
        --*depth;
    }
}

static int scan(struct scanner *s)
{
    bool is_object[VPA_JSON_DEPTH_MAX];
    unsigned depth = 0;

    skip_space(s);
    do {
        if (s->p == s->end)
            return fault(s, s->p, "unexpected end of text");
        char c = *s->p;
        if (c != '{' && c != '[') {
            if (scan_scalar(s) < 0)
                return -1;
        } else {
            if (depth == VPA_JSON_DEPTH_MAX)
                return fault(s, s->p, "nested too deeply");
            is_object[depth++] = c == '{';
            s->p++;
            skip_space(s);
            if (s->p == s->end || *s->p != (c == '{' ? '}' : ']')) {
                if (c == '{' && scan_name(s) < 0)
                    return -1;
                continue; /* to the first child */
            }
        }
        if (scan_onward(s, is_object, &depth) < 0)
            return -1;
    } while (depth > 0);
    if (s->p != s->end)
        return fault(s, s->p, "text behind the value");
    return 0;
}

/* ---- parsing ---- */

/* What the scanner kept, in document order. */
struct source_texts {
    const char *const *numbers;
    const size_t *escaped, *escaped_end;
    size_t strings;
    bool repeated; /* repeated members stay */
    bool folded;
};

/* Objects of up to this many members are checked for repetitions pair by pair. */
#define PAIRWISE_MAX 12

static int compare_members(const void *a, const void *b)
{
    const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
    int order = strcmp(x->string, y->string);

    if (order)
        return order;
    return x->valueint - y->valueint; /* the place, see below */
}

/* In the type of an object: members are found by any letter case. Far from the bits of cJSON. */
#define FOLDED (1 << 16)

static void drop_repeated(cJSON *object);

/* Go's decoder fills one structure from repeated objects: the members of the earlier one come first. */
static void merge_repeated(cJSON *later, cJSON *earlier)
{
    if (!(later->type & FOLDED) || !cJSON_IsObject(later) || !cJSON_IsObject(earlier) ||
        !earlier->child)
        return;
    if (later->child) {
        cJSON *last = later->child->prev;
        earlier->child->prev->next = later->child;
        later->child->prev = earlier->child->prev;
        earlier->child->prev = last;
    }
    later->child = earlier->child;
    earlier->child = NULL;
    drop_repeated(later);
}

static void drop_repeated_by_sorting(cJSON *object, size_t count)
{
    vpa_auto_free cJSON **members = vpa_xreallocarray(NULL, count, sizeof(*members));
    vpa_auto_free int *places = vpa_xreallocarray(NULL, count, sizeof(*places));
    size_t n = 0;

    for (cJSON *child = object->child; child; child = child->next) {
        places[n] = child->valueint;
        child->valueint = (int)n;
        members[n++] = child;
    }
    qsort(members, n, sizeof(*members), compare_members);
    for (size_t i = 0; i < n; i++) {
        cJSON *member = members[i];
        member->valueint = places[member->valueint];
        if (i + 1 < n && strcmp(member->string, members[i + 1]->string) == 0) {
            cJSON_DetachItemViaPointer(object, member);
            merge_repeated(members[i + 1], member);
        }
    }
}

/* Of repeated members only the last one counts. */
static void drop_repeated(cJSON *object)
{
    size_t count = 0;

    for (cJSON *child = object->child; child; child = child->next)
        count++;
    if (count > PAIRWISE_MAX) {
        drop_repeated_by_sorting(object, count);
        return;
    }
    for (cJSON *child = object->child, *next; child; child = next) {
        next = child->next;
        for (cJSON *later = next; later; later = later->next) {
            if (*child->string == *later->string && strcmp(child->string, later->string) == 0) {
                cJSON_DetachItemViaPointer(object, child);
                merge_repeated(later, child);
                break;
            }
        }
    }
}

/* The depth is bounded by scan(). */
static void finish(cJSON *node, struct source_texts *kept)
{
    for (; node; node = node->next) {
        if (kept->folded && cJSON_IsObject(node))
            node->type |= FOLDED;
        if (node->child) {
            finish(node->child, kept);
            if (cJSON_IsObject(node) && !kept->repeated)
                drop_repeated(node);
        } else if (cJSON_IsNumber(node)) {
            node->valuestring = (char *)(uintptr_t)*kept->numbers++;
        } else if (cJSON_IsString(node)) {
            node->valueint = kept->escaped < kept->escaped_end && *kept->escaped == kept->strings;
            if (node->valueint)
                kept->escaped++;
            kept->strings++;
        }
    }
}

static int parse(struct vpa_arena *arena, const char *text, size_t len, bool folded, bool repeated,
                 const struct vpa_json **root, struct vpa_error *err)
{
    struct scanner s = {.arena = arena, .text = text, .p = text, .end = text + len, .err = err};
    cJSON *tree;

    s.copy = vpa_arena_alloc(arena, len + 1);
    if (len)
        memcpy(s.copy, text, len);
    s.copy[len] = '\0';
    if (scan(&s) < 0)
        return -1;

    struct vpa_arena *outer = parse_arena;
    parse_arena = arena;
    tree = cJSON_ParseWithLengthOpts(s.copy, len + 1, NULL, true);
    parse_arena = outer;
    if (!tree)
        return vpa_fail(err, VPA_INVALID, "not understood by the JSON library");
    struct source_texts kept = {.numbers = s.numbers,
                                .escaped = s.escaped,
                                .escaped_end = s.escaped ? s.escaped + s.escaped_count : NULL,
                                .folded = folded,
                                .repeated = repeated};
    finish(tree, &kept);
    *root = (const struct vpa_json *)tree;
    return 0;
}

int vpa_json_parse(struct vpa_arena *arena, const char *text, size_t len,
                   const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, false, false, root, err);
}

int vpa_json_parse_folded(struct vpa_arena *arena, const char *text, size_t len,
                          const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, true, false, root, err);
}

int vpa_json_parse_repeated(struct vpa_arena *arena, const char *text, size_t len,
                            const struct vpa_json **root, struct vpa_error *err)
{
    return parse(arena, text, len, false, true, root, err);
}

/* ---- reading ---- */

static const cJSON *tree_of(const struct vpa_json *node)
{
    return (const cJSON *)(const void *)node;
}

static const struct vpa_json *node_of(const cJSON *item)
{
    return (const struct vpa_json *)(const void *)item;
}

enum vpa_json_type vpa_json_type(const struct vpa_json *node)
{
    if (!node)
        return VPA_JSON_ABSENT;
    switch (tree_of(node)->type & 0xff) {
    case cJSON_False:
    case cJSON_True:
        return VPA_JSON_BOOL;
    case cJSON_Number:
        return VPA_JSON_NUMBER;
    case cJSON_String:
        return VPA_JSON_STRING;
    case cJSON_Array:
        return VPA_JSON_ARRAY;
    case cJSON_Object:
        return VPA_JSON_OBJECT;
    default:
        return VPA_JSON_NULL;
    }
}

const char *vpa_json_type_name(const struct vpa_json *node)
{
    static const char *const names[] = {"absent", "null",  "boolean", "number",
                                        "string", "array", "object"};

    return names[vpa_json_type(node)];
}

bool vpa_json_is_object(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_OBJECT;
}

bool vpa_json_is_array(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_ARRAY;
}

static const cJSON *find_folded(const cJSON *object, const char *name, size_t len)
{
    const cJSON *found = NULL;

    for (const cJSON *child = object->child; child; child = child->next)
        if (strncasecmp(child->string, name, len) == 0 && child->string[len] == '\0')
            found = child;
    return found;
}

static const cJSON *find_member(const cJSON *object, const char *name, size_t len)
{
    if (object->type & FOLDED)
        return find_folded(object, name, len);
    for (const cJSON *child = object->child; child; child = child->next)
        if (strncmp(child->string, name, len) == 0 && child->string[len] == '\0')
            return child;
    return NULL;
}

const struct vpa_json *vpa_json_find(const struct vpa_json *object, const char *name)
{
    if (!vpa_json_is_object(object))
        return NULL;
    return node_of(find_member(tree_of(object), name, strlen(name)));
}

const struct vpa_json *vpa_json_walk(const struct vpa_json *object, const char *path,
                                     const struct vpa_json **blocker)
{
    *blocker = NULL;
    while (vpa_json_is_object(object)) {
        size_t len = strcspn(path, ".");
        object = node_of(find_member(tree_of(object), path, len));
        if (path[len] == '\0')
            return object;
        path += len + 1;
    }
    if (!vpa_json_is_null(object))
        *blocker = object;
    return NULL;
}

const struct vpa_json *vpa_json_at(const struct vpa_json *object, const char *path)
{
    const struct vpa_json *blocker;

    return vpa_json_walk(object, path, &blocker);
}

const struct vpa_json *vpa_json_first(const struct vpa_json *node)
{
    return node ? node_of(tree_of(node)->child) : NULL;
}

const struct vpa_json *vpa_json_next(const struct vpa_json *child)
{
    return child ? node_of(tree_of(child)->next) : NULL;
}

const char *vpa_json_name(const struct vpa_json *child)
{
    return child ? tree_of(child)->string : NULL;
}

size_t vpa_json_count(const struct vpa_json *node)
{
    size_t count = 0;

    vpa_json_foreach (child, node)
        count++;
    return count;
}

const char *vpa_json_string(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_STRING ? tree_of(node)->valuestring : NULL;
}

bool vpa_json_string_escaped(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_STRING && tree_of(node)->valueint != 0;
}

const char *vpa_json_number_text(const struct vpa_json *node)
{
    return vpa_json_type(node) == VPA_JSON_NUMBER ? tree_of(node)->valuestring : NULL;
}

bool vpa_json_bool(const struct vpa_json *node, bool *out)
{
    if (vpa_json_type(node) != VPA_JSON_BOOL)
        return false;
    *out = cJSON_IsTrue(tree_of(node));
    return true;
}

bool vpa_json_int64(const struct vpa_json *node, int64_t *out)
{
    const char *text = vpa_json_number_text(node);
    long long n;

    if (!text || strpbrk(text, ".eE"))
        return false;
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return false;
    *out = n;
    return true;
}

bool vpa_json_int32(const struct vpa_json *node, int32_t *out)
{
    int64_t n;

    if (!vpa_json_int64(node, &n) || n < INT32_MIN || n > INT32_MAX)
        return false;
    *out = (int32_t)n;
    return true;
}

bool vpa_json_double(const struct vpa_json *node, double *out)
{
    const char *text = vpa_json_number_text(node);
    double x;

    if (!text)
        return false;
    x = strtod(text, NULL);
    if (isinf(x))
        return false;
    *out = x;
    return true;
}

/* ---- comparison ---- */

static bool numbers_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    int64_t m, n;
    double x, y;

    if (strcmp(vpa_json_number_text(a), vpa_json_number_text(b)) == 0)
        return true;
    if (vpa_json_int64(a, &m) && vpa_json_int64(b, &n))
        return m == n;
    return vpa_json_double(a, &x) && vpa_json_double(b, &y) && x == y;
}

/* Every member of a is in b and equal there. */
static bool members_within(const struct vpa_json *a, const struct vpa_json *b)
{
    vpa_json_foreach(member, a)
        if (!vpa_json_equal(member, vpa_json_find(b, vpa_json_name(member))))
            return false;
    return true;
}

static bool elements_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    const struct vpa_json *x = vpa_json_first(a), *y = vpa_json_first(b);

    while (x && y) {
        if (!vpa_json_equal(x, y))
            return false;
        x = vpa_json_next(x);
        y = vpa_json_next(y);
    }
    return !x && !y;
}

bool vpa_json_equal(const struct vpa_json *a, const struct vpa_json *b)
{
    enum vpa_json_type type = vpa_json_type(a);
    bool p, q;

    if (type != vpa_json_type(b))
        return false;
    switch (type) {
    case VPA_JSON_BOOL:
        return vpa_json_bool(a, &p) && vpa_json_bool(b, &q) && p == q;
    case VPA_JSON_NUMBER:
        return numbers_equal(a, b);
    case VPA_JSON_STRING:
        return strcmp(vpa_json_string(a), vpa_json_string(b)) == 0;
    case VPA_JSON_ARRAY:
        return elements_equal(a, b);
    case VPA_JSON_OBJECT:
        return vpa_json_count(a) == vpa_json_count(b) && members_within(a, b);
    default:
        return true;
    }
}
