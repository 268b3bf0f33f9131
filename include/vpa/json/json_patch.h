/*
 * JSON Patch (RFC 6902): writing patches as upstream does (members in the order op, path, value),
 * and applying patches to a parsed document.
 *
 *     struct vpa_json_patch patch;
 *     vpa_json_patch_begin(&patch, &buf);
 *     struct vpa_json_writer *w = vpa_json_patch_op(&patch, VPA_PATCH_ADD, "/spec/containers/0");
 *     vpa_json_put_string(w, "100m");
 *     vpa_json_patch_end_op(&patch);
 *     vpa_json_patch_end(&patch);
 *     -> [{"op":"add","path":"/spec/containers/0","value":"100m"}]
 */
#ifndef VPA_JSON_JSON_PATCH_H
#define VPA_JSON_JSON_PATCH_H

#include <stdbool.h>

#include "vpa/base/buf.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

enum vpa_patch_op { VPA_PATCH_ADD, VPA_PATCH_REPLACE, VPA_PATCH_REMOVE, VPA_PATCH_TEST };

struct vpa_json_patch {
    struct vpa_json_writer writer;
    size_t count; /* operations so far */
};
void vpa_json_patch_begin(struct vpa_json_patch *patch, struct vpa_buf *out);
/* Opens an operation; the caller writes exactly one value to the writer returned. path is a
 * pointer. */
struct vpa_json_writer *vpa_json_patch_op(struct vpa_json_patch *patch, enum vpa_patch_op op,
                                          const char *path);
void vpa_json_patch_end_op(struct vpa_json_patch *patch);
void vpa_json_patch_end(struct vpa_json_patch *patch);

/* Appends "/" and the escaped name ('~' as ~0, '/' as ~1) to a pointer. */
void vpa_json_pointer_add(struct vpa_buf *pointer, const char *name);
/* The value a pointer names, or NULL; "" names the document. */
const struct vpa_json *vpa_json_pointer_find(const struct vpa_json *document, const char *pointer);

/* Applies a parsed JSON Patch (add, remove, replace, move, copy, test) to a parsed document and
 * appends the resulting text to out. All or nothing. VPA_INVALID: not a patch; VPA_NOT_FOUND: a
 * path does not exist; VPA_CONFLICT: a test failed; VPA_LIMIT: the result would be too large
 * (10,000 operations or out's limit). */
int vpa_json_patch_apply(const struct vpa_json *document, const struct vpa_json *patch,
                         struct vpa_buf *out, struct vpa_error *err) VPA_MUST_CHECK;

#endif
