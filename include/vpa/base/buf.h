/*
 * Bounded text builder. Appends never fail at the call; once the limit would be passed the buffer
 * is marked failed and takes nothing more, and vpa_buf_failed() is asked once at the end.
 *
 *     vpa_auto_buf buf = VPA_BUF(64 * 1024);
 *     vpa_buf_printf(&buf, "%s=%d", key, value);
 *     if (vpa_buf_failed(&buf)) ...
 */
#ifndef VPA_BASE_BUF_H
#define VPA_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/error.h"

struct vpa_buf {
    char *data; /* NUL-terminated once something was appended; may hold NULs if bytes did */
    size_t len; /* without the terminator */
    size_t capacity;
    size_t limit; /* longest len */
    bool failed;
};

/* LIMIT: longest content in bytes, stated by every caller. Nothing is allocated yet. */
#define VPA_BUF(LIMIT) ((struct vpa_buf){.limit = (LIMIT)})
void vpa_buf_init(struct vpa_buf *buf, size_t limit);
void vpa_buf_release(struct vpa_buf *buf);
void vpa_buf_clear(struct vpa_buf *buf); /* empty, not failed, memory kept */
void vpa_buf_append(struct vpa_buf *buf, const void *bytes, size_t len);
void vpa_buf_puts(struct vpa_buf *buf, const char *text);
void vpa_buf_putc(struct vpa_buf *buf, char c);
void vpa_buf_put_uint(struct vpa_buf *buf, uint64_t n); /* decimal */
/* No argument may be text of the buffer itself: it is printed over while it is read. */
void vpa_buf_printf(struct vpa_buf *buf, const char *fmt, ...) VPA_PRINTF(2, 3);
void vpa_buf_vprintf(struct vpa_buf *buf, const char *fmt, va_list args) VPA_PRINTF(2, 0);
/* Cuts back to len bytes (len <= buf->len). */
void vpa_buf_truncate(struct vpa_buf *buf, size_t len);
/* Removes the first len bytes. */
void vpa_buf_consume(struct vpa_buf *buf, size_t len);
/* Room for len more bytes behind the content, to be filled by read() and counted in by
 * vpa_buf_advance; NULL (and failed) when that would pass the limit. */
char *vpa_buf_reserve(struct vpa_buf *buf, size_t len);
void vpa_buf_advance(struct vpa_buf *buf, size_t len);
bool vpa_buf_failed(const struct vpa_buf *buf);
/* The content as a string; "" when empty. Borrowed until the next change. */
const char *vpa_buf_text(const struct vpa_buf *buf);
/* The content as a heap string that the caller frees; the buffer is empty afterwards. */
char *vpa_buf_take(struct vpa_buf *buf);
#define vpa_auto_buf __attribute__((cleanup(vpa_buf_release))) struct vpa_buf

#endif
