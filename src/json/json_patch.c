/*
 * Patches. Writing is a matter of order and escapes. Applying needs a document that can change, and
 * the reader's cannot: so a shadow tree is laid over it, in an arena of its own. A shadow begins as
 * a reference to a parsed node (`source`) and is unfolded into children only where an operation
 * reaches into it. The result is written from the shadows; untouched parts are copied from the
 * source as they are, number texts included.
 */
#include "vpa/json/json_patch.h"

#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

/* ---- writing ---- */

static const char *op_name(enum vpa_patch_op op)
{
    static const char *const names[] = {"add", "replace", "remove", "test"};

    return names[op];
}

void vpa_json_patch_begin(struct vpa_json_patch *patch, struct vpa_buf *out)
{
    vpa_json_writer_init(&patch->writer, out);
    vpa_json_open_array(&patch->writer);
    patch->count = 0;
}

struct vpa_json_writer *vpa_json_patch_op(struct vpa_json_patch *patch, enum vpa_patch_op op,
                                          const char *path)
{
    struct vpa_json_writer *w = &patch->writer;

    vpa_json_open_object(w);
    vpa_json_member_string(w, "op", op_name(op));
    vpa_json_member_string(w, "path", path);
    vpa_json_key(w, "value");
    patch->count++;
    return w;
}

void vpa_json_patch_end_op(struct vpa_json_patch *patch)
{
    vpa_json_close_object(&patch->writer);
}

void vpa_json_patch_end(struct vpa_json_patch *patch)
{
    vpa_json_close_array(&patch->writer);
}

/* ---- pointers ---- */

void vpa_json_pointer_add(struct vpa_buf *pointer, const char *name)
{
    vpa_buf_putc(pointer, '/');
    for (;;) {
        size_t run = strcspn(name, "~/");

        vpa_buf_append(pointer, name, run);
        if (name[run] == '\0')
            return;
        vpa_buf_puts(pointer, name[run] == '~' ? "~0" : "~1");
        name += run + 1;
    }
}

/* Splits the next name off *pointer, which is at a '/'; NULL when an escape is wrong. */
static char *next_name(struct vpa_arena *arena, const char **pointer)
{
    size_t len = strcspn(++*pointer, "/"), n = 0;
    char *name = vpa_arena_alloc(arena, len + 1);

    for (size_t i = 0; i < len; i++) {
        char c = (*pointer)[i];
        if (c == '~') {
            i++;
            if (i == len || ((*pointer)[i] != '0' && (*pointer)[i] != '1'))
                return NULL;
            c = (*pointer)[i] == '0' ? '~' : '/';
        }
        name[n++] = c;
    }
    name[n] = '\0';
    *pointer += len;
    return name;
}

/* Digits without leading zero. */
static bool read_index(const char *name, size_t *out)
{
    size_t index = 0;

    if (*name == '\0' || (*name == '0' && name[1] != '\0') || strlen(name) > 9 ||
        strspn(name, "0123456789") != strlen(name))
        return false;
    for (; *name; name++)
        index = index * 10 + (size_t)(*name - '0');
    *out = index;
    return true;
}

const struct vpa_json *vpa_json_pointer_find(const struct vpa_json *document, const char *pointer)
{
    vpa_auto_arena arena = {0};

    while (document && *pointer == '/') {
        const char *name = next_name(&arena, &pointer);
        size_t index;

        if (!name)
            return NULL;
        if (vpa_json_is_object(document)) {
            document = vpa_json_find(document, name);
        } else if (vpa_json_is_array(document) && read_index(name, &index)) {
            document = vpa_json_first(document);
            while (document && index--)
                document = vpa_json_next(document);
        } else {
            return NULL;
        }
    }
    return *pointer ? NULL : document;
}

/* ---- shadows ---- */

#define OPERATIONS_MAX 10000
#define COPIED_MAX 1000000

struct shadow {
    const struct vpa_json *source; /* not NULL: this node is that value as it is */
    enum vpa_json_type type;       /* array or object when unfolded */
    const char *name;              /* of a member */
    struct shadow *child;
    struct shadow *next;
};

static struct shadow *wrap_node(struct vpa_arena *arena, const char *name,
                                const struct vpa_json *source)
{
    struct shadow *s = vpa_arena_zalloc(arena, sizeof(*s));

    s->name = name;
    s->source = source;
    s->type = vpa_json_type(source);
    return s;
}

static bool is_container(const struct shadow *s)
{
    return s->type == VPA_JSON_OBJECT || s->type == VPA_JSON_ARRAY;
}

/* Gives the container children of its own. */
static void unfold(struct vpa_arena *arena, struct shadow *s)
{
    struct shadow **tail = &s->child;

    if (!s->source)
        return;
    vpa_json_foreach (node, s->source) {
        *tail = wrap_node(arena, vpa_json_name(node), node);
        tail = &(*tail)->next;
    }
    s->source = NULL;
}

static struct shadow **find_member(struct shadow *object, const char *name)
{
    struct shadow **link = &object->child;

    while (*link && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    return link;
}

/* The link at the index; *index is what is left when the array is shorter. */
static struct shadow **find_element(struct shadow *array, size_t *index)
{
    struct shadow **link = &array->child;

    while (*link && *index) {
        link = &(*link)->next;
        --*index;
    }
    return link;
}

static unsigned depth_of(const struct vpa_json *node)
{
    unsigned deepest = 0;

    vpa_json_foreach (child, node) {
        unsigned depth = depth_of(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* The cost is bounded by the limit of the buffer. */
static int write_shadow(struct vpa_json_writer *w, const struct shadow *s, struct vpa_error *err)
{
    unsigned depth = s->source ? depth_of(s->source) : 1;

    if (vpa_buf_failed(w->buf))
        return vpa_fail(err, VPA_LIMIT, "the result is too large");
    if (w->depth + depth > VPA_JSON_DEPTH_MAX)
        return vpa_fail(err, VPA_LIMIT, "the result is nested too deeply");
    if (s->source) {
        vpa_json_put_node(w, s->source);
        return 0;
    }
    if (s->type == VPA_JSON_OBJECT)
        vpa_json_open_object(w);
    else
        vpa_json_open_array(w);
    for (const struct shadow *child = s->child; child; child = child->next) {
        if (s->type == VPA_JSON_OBJECT)
            vpa_json_key(w, child->name);
        if (write_shadow(w, child, err) < 0)
            return -1;
    }
    if (s->type == VPA_JSON_OBJECT)
        vpa_json_close_object(w);
    else
        vpa_json_close_array(w);
    return 0;
}

static int write_result(const struct shadow *root, struct vpa_buf *out, struct vpa_error *err)
{
    struct vpa_json_writer w;
    size_t start = out->len;

    vpa_json_writer_init(&w, out);
    if (write_shadow(&w, root, err) < 0) {
        vpa_buf_truncate(out, start);
        return -1;
    }
    if (vpa_buf_failed(out)) {
        vpa_buf_truncate(out, start);
        return vpa_fail(err, VPA_LIMIT, "the result is too large");
    }
    return 0;
}

/* ---- JSON Patch ---- */

struct patcher {
    struct vpa_arena *arena;
    struct shadow *root;
    size_t result_max; /* bytes */
    size_t copied;     /* shadows made by copy operations */
    struct vpa_error *err;
};

static int missing(struct patcher *p, const char *pointer)
{
    return vpa_fail(p->err, VPA_NOT_FOUND, "path %.200s does not exist", pointer);
}

/* The container that the pointer's last name belongs to, unfolded, and that name. */
static int find_parent(struct patcher *p, const char *pointer, struct shadow **parent,
                       const char **name)
{
    const char *rest = pointer;
    struct shadow *at = p->root;

    if (*pointer != '/')
        return vpa_fail(p->err, VPA_INVALID, "path %.200s does not begin with /", pointer);
    for (;;) {
        const char *piece = next_name(p->arena, &rest);
        struct shadow **link;
        size_t index;

        if (!piece)
            return vpa_fail(p->err, VPA_INVALID, "path %.200s: wrong escape", pointer);
        if (!is_container(at))
            return missing(p, pointer);
        unfold(p->arena, at);
        if (*rest == '\0') {
            *parent = at;
            *name = piece;
            return 0;
        }
        if (at->type == VPA_JSON_OBJECT)
            link = find_member(at, piece);
        else if (read_index(piece, &index))
            link = find_element(at, &index);
        else
            return missing(p, pointer);
        if (!*link)
            return missing(p, pointer);
        at = *link;
    }
}

/* The link to what the pointer names. */
static int find_target(struct patcher *p, const char *pointer, struct shadow ***link)
{
    struct shadow *parent;
    const char *name;
    size_t index;

    if (*pointer == '\0') {
        *link = &p->root;
        return 0;
    }
    if (find_parent(p, pointer, &parent, &name) < 0)
        return -1;
    if (parent->type == VPA_JSON_OBJECT)
        *link = find_member(parent, name);
    else if (read_index(name, &index))
        *link = find_element(parent, &index);
    else
        return missing(p, pointer);
    return **link ? 0 : missing(p, pointer);
}

static int do_add(struct patcher *p, const char *pointer, struct shadow *value)
{
    struct shadow *parent, **link;
    const char *name;
    size_t index;

    if (*pointer == '\0') {
        p->root = value;
        return 0;
    }
    if (find_parent(p, pointer, &parent, &name) < 0)
        return -1;
    if (parent->type == VPA_JSON_OBJECT) {
        value->name = name;
        link = find_member(parent, name);
        value->next = *link ? (*link)->next : NULL; /* a member there is replaced in its place */
        *link = value;
        return 0;
    }
    index = SIZE_MAX;
    if (strcmp(name, "-") != 0 && !read_index(name, &index))
        return missing(p, pointer);
    bool append = index == SIZE_MAX;
    link = find_element(parent, &index);
    if (index && !append)
        return missing(p, pointer); /* at most one behind the last */
    value->name = NULL;
    value->next = *link;
    *link = value;
    return 0;
}

static int do_remove(struct patcher *p, const char *pointer, struct shadow **removed)
{
    struct shadow **link;

    if (find_target(p, pointer, &link) < 0)
        return -1;
    if (link == &p->root)
        return vpa_fail(p->err, VPA_INVALID, "the whole document cannot be removed");
    if (removed)
        *removed = *link;
    *link = (*link)->next;
    return 0;
}

static int do_replace(struct patcher *p, const char *pointer, struct shadow *value)
{
    struct shadow **link;

    if (find_target(p, pointer, &link) < 0)
        return -1;
    value->name = (*link)->name;
    value->next = (*link)->next;
    *link = value;
    return 0;
}

/* A value of its own with the same content; NULL when copies of copies have grown out of bounds. */
static struct shadow *clone(struct patcher *p, const struct shadow *from, unsigned depth)
{
    struct shadow *to, **tail;

    if (depth > VPA_JSON_DEPTH_MAX || p->copied++ == COPIED_MAX)
        return NULL;
    to = vpa_arena_alloc(p->arena, sizeof(*to));
    *to = *from;
    to->next = NULL;
    tail = &to->child;
    for (const struct shadow *child = from->child; child; child = child->next) {
        if ((*tail = clone(p, child, depth + 1)) == NULL)
            return NULL;
        tail = &(*tail)->next;
    }
    return to;
}

static int do_move_or_copy(struct patcher *p, const char *from, const char *to, bool move)
{
    size_t len = strlen(from);
    struct shadow **link, *value = NULL;

    if (move && strncmp(to, from, len) == 0 && to[len] == '/')
        return vpa_fail(p->err, VPA_INVALID, "a value cannot be moved into itself");
    if (find_target(p, from, &link) < 0)
        return -1;
    if (!move) {
        value = clone(p, *link, 1);
        return value ? do_add(p, to, value)
                     : vpa_fail(p->err, VPA_LIMIT, "the result is too large");
    }
    if (strcmp(from, to) == 0)
        return 0;
    if (do_remove(p, from, &value) < 0)
        return -1;
    return do_add(p, to, value);
}

/* Both as text and parsed again: tests are rare and small. */
static int do_test(struct patcher *p, const char *pointer, const struct vpa_json *want)
{
    struct shadow **link;
    const struct vpa_json *have;
    vpa_auto_buf text = {0};

    vpa_buf_init(&text, p->result_max);
    if (find_target(p, pointer, &link) < 0)
        return -1;
    have = (*link)->source;
    if (!have) {
        if (write_result(*link, &text, p->err) < 0 ||
            vpa_json_parse(p->arena, text.data, text.len, &have, p->err) < 0)
            return -1;
    }
    if (!vpa_json_equal(have, want))
        return vpa_fail(p->err, VPA_CONFLICT, "test of path %.200s failed", pointer);
    return 0;
}

static int apply_one(struct patcher *p, const struct vpa_json *item)
{
    const char *op = vpa_json_string(vpa_json_find(item, "op"));
    const char *path = vpa_json_string(vpa_json_find(item, "path"));
    const char *from = vpa_json_string(vpa_json_find(item, "from"));
    const struct vpa_json *value = vpa_json_find(item, "value");

    if (!op || !path)
        return vpa_fail(p->err, VPA_INVALID, "op and path are required");
    if (strcmp(op, "remove") == 0)
        return do_remove(p, path, NULL);
    if (strcmp(op, "move") == 0 || strcmp(op, "copy") == 0) {
        if (!from)
            return vpa_fail(p->err, VPA_INVALID, "%s needs from", op);
        return do_move_or_copy(p, from, path, *op == 'm');
    }
    if (!value)
        return vpa_fail(p->err, VPA_INVALID, "%.20s needs value", op);
    if (strcmp(op, "add") == 0)
        return do_add(p, path, wrap_node(p->arena, NULL, value));
    if (strcmp(op, "replace") == 0)
        return do_replace(p, path, wrap_node(p->arena, NULL, value));
    if (strcmp(op, "test") == 0)
        return do_test(p, path, value);
    return vpa_fail(p->err, VPA_INVALID, "unknown op \"%.20s\"", op);
}

int vpa_json_patch_apply(const struct vpa_json *document, const struct vpa_json *patch,
                         struct vpa_buf *out, struct vpa_error *err)
{
    vpa_auto_arena arena = {0};
    struct patcher p = {.arena = &arena,
                        .root = wrap_node(&arena, NULL, document),
                        .result_max = out->limit,
                        .err = err};
    size_t i = 0;

    if (!vpa_json_is_array(patch))
        return vpa_fail(err, VPA_INVALID, "a JSON Patch is an array");
    vpa_json_foreach (item, patch) {
        if (i == OPERATIONS_MAX)
            return vpa_fail(err, VPA_LIMIT, "more than %d operations", OPERATIONS_MAX);
        if (apply_one(&p, item) < 0)
            return vpa_wrap(err, "operation %zu", i);
        i++;
    }
    return write_result(p.root, out, err);
}
