/* Bounded text builder; see the header. */
#include "vpa/base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

void vpa_buf_init(struct vpa_buf *buf, size_t limit)
{
    *buf = (struct vpa_buf){.limit = limit};
}

void vpa_buf_release(struct vpa_buf *buf)
{
    free(buf->data);
    *buf = (struct vpa_buf){.limit = buf->limit};
}

void vpa_buf_clear(struct vpa_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

char *vpa_buf_reserve(struct vpa_buf *buf, size_t len)
{
    if (buf->failed || len > buf->limit - buf->len) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->len + len + 1;
    if (need > buf->capacity) {
        size_t capacity = buf->capacity ? buf->capacity * 2 : 64;
        while (capacity < need)
            capacity *= 2;
        if (capacity > buf->limit + 1)
            capacity = buf->limit + 1;
        buf->data = vpa_xrealloc(buf->data, capacity);
        buf->capacity = capacity;
        buf->data[buf->len] = '\0'; /* also when nothing comes after all */
    }
    return buf->data + buf->len;
}

void vpa_buf_advance(struct vpa_buf *buf, size_t len)
{
    assert(buf->capacity > buf->len + len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void vpa_buf_append(struct vpa_buf *buf, const void *bytes, size_t len)
{
    char *room = vpa_buf_reserve(buf, len);

    if (!room)
        return;
    if (len)
        memcpy(room, bytes, len);
    vpa_buf_advance(buf, len);
}

void vpa_buf_puts(struct vpa_buf *buf, const char *text)
{
    vpa_buf_append(buf, text, strlen(text));
}

void vpa_buf_putc(struct vpa_buf *buf, char c)
{
    if (buf->failed || buf->len + 1 >= buf->capacity) {
        vpa_buf_append(buf, &c, 1);
        return;
    }
    buf->data[buf->len++] = c;
    buf->data[buf->len] = '\0';
}

void vpa_buf_put_uint(struct vpa_buf *buf, uint64_t n)
{
    char text[24], *p = text + sizeof(text);

    do
        *--p = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    vpa_buf_append(buf, p, (size_t)(text + sizeof(text) - p));
}

void vpa_buf_vprintf(struct vpa_buf *buf, const char *fmt, va_list args)
{
    size_t spare = buf->failed ? 0 : buf->capacity - buf->len;
    va_list again;

    va_copy(again, args);
    int len = vsnprintf(spare ? buf->data + buf->len : NULL, spare, fmt, args);
    if (len >= 0 && (size_t)len < spare) {
        vpa_buf_advance(buf, (size_t)len);
    } else if (len < 0) {
        vpa_buf_truncate(buf, buf->len);
        buf->failed = true;
    } else {
        vpa_buf_truncate(buf, buf->len); /* without the piece that fitted */
        char *room = vpa_buf_reserve(buf, (size_t)len);
        if (room) {
            vsnprintf(room, (size_t)len + 1, fmt, again);
            vpa_buf_advance(buf, (size_t)len);
        }
    }
    va_end(again);
}

void vpa_buf_printf(struct vpa_buf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vpa_buf_vprintf(buf, fmt, args);
    va_end(args);
}

void vpa_buf_truncate(struct vpa_buf *buf, size_t len)
{
    assert(len <= buf->len);
    buf->len = len;
    if (buf->data)
        buf->data[len] = '\0';
}

void vpa_buf_consume(struct vpa_buf *buf, size_t len)
{
    assert(len <= buf->len);
    if (!len)
        return;
    memmove(buf->data, buf->data + len, buf->len - len + 1);
    buf->len -= len;
}

bool vpa_buf_failed(const struct vpa_buf *buf)
{
    return buf->failed;
}

const char *vpa_buf_text(const struct vpa_buf *buf)
{
    return buf->data ? buf->data : "";
}

char *vpa_buf_take(struct vpa_buf *buf)
{
    char *text = buf->data ? buf->data : vpa_xstrdup("");

    *buf = (struct vpa_buf){.limit = buf->limit};
    return text;
}
