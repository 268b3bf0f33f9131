/*
 * Texts that resemble the one before, packed by naming what they repeat: a tenth of the bytes where
 * lines have one form and other numbers.
 *
 *     vpa_pack((struct vpa_slice){before, before_len}, (struct vpa_slice){text, len}, &out);
 *     ...
 *     if (vpa_unpack((struct vpa_slice){before, before_len}, packed, text, len) < 0)
 *         ...
 *
 * Any bytes may stand in a text. Who unpacks gives the same text before, and knows the length. Time
 * is linear in the two lengths, whatever they hold; nothing is allocated but the room of `out`.
 */
#ifndef VPA_BASE_PACK_H
#define VPA_BASE_PACK_H

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/str.h"

/* Of a text, and of the one before it. */
#define VPA_PACK_MAX ((size_t)32 << 10)
/* What a text of that length becomes at most, when nothing repeats. */
#define VPA_PACK_BOUND(len) ((len) + (len) / 16 + 8)

/* Appends to out. */
void vpa_pack(struct vpa_slice before, struct vpa_slice text, struct vpa_buf *out);
/* VPA_INVALID, and nobody knows what is in `text`: this was never packed, or from another length.
 * That the text before is another one is not always seen. */
int vpa_unpack(struct vpa_slice before, struct vpa_slice packed, char *text, size_t len,
               struct vpa_error *err) VPA_MUST_CHECK;

#endif
