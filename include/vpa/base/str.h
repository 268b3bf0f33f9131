/*
 * Small string helpers: comparison, strict number parsing, Go-style quoting, interned strings.
 */
#ifndef VPA_BASE_STR_H
#define VPA_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"

static inline const char *vpa_or_empty(const char *text)
{
    return text ? text : "";
}

bool vpa_str_eq(const char *a, const char *b); /* NULL equals only NULL */
/* Whether it is one of so many. */
bool vpa_str_is_in(const char *text, const char *const *texts, size_t count);
int vpa_str_compare(const void *a, const void *b); /* elements of an array of texts, for qsort */
bool vpa_str_starts_with(const char *text, const char *prefix);
bool vpa_str_ends_with(const char *text, const char *suffix);
/* Whether text is the len bytes at name, by any case of ASCII letters. In the header because the
 * readers of documents ask it for every member. */
static inline bool vpa_str_is_folded(const char *text, const char *name, size_t len)
{
    size_t i = 0;

    if (len && ((text[0] ^ name[0]) & ~0x20)) /* tells most names apart */
        return false;
    for (; i < len; i++)
        if (text[i] != name[i] &&
            ((text[i] ^ name[i]) != 0x20 || (unsigned char)((text[i] | 0x20) - 'a') > 'z' - 'a'))
            return false;
    return text[len] == '\0';
}

/* One piece of a separated list; empty pieces are given too.
 *     const char *rest = text; struct vpa_slice piece;
 *     while (vpa_str_split(&rest, ',', &piece)) ...
 * "" yields one empty piece, as Go's strings.Split does, NULL none. Behind the last *rest is NULL.
 */
struct vpa_slice {
    const char *ptr;
    size_t len;
};
bool vpa_str_split(const char **rest, char separator, struct vpa_slice *piece);
struct vpa_slice vpa_slice_trim(struct vpa_slice s); /* without white space at both ends */
bool vpa_slice_eq(struct vpa_slice s, const char *text);

/* Whole text, base 10, no white space; VPA_INVALID with the text quoted otherwise. */
int vpa_parse_int64(const char *text, int64_t *out, struct vpa_error *err) VPA_MUST_CHECK;
int vpa_parse_uint64(const char *text, uint64_t *out, struct vpa_error *err) VPA_MUST_CHECK;

/* Appends text as Go's strconv.Quote prints it, quotes included. */
void vpa_quote_go(struct vpa_buf *buf, const char *text);
/* The same of len bytes without quotes, and without escapes for " and \: nothing that a terminal
 * acts upon is left. */
void vpa_escape_go(struct vpa_buf *buf, const char *text, size_t len);
/* Length of the valid UTF-8 sequence at text, 0 when there is none; *rune is the code point. */
size_t vpa_utf8_decode(const char *text, uint32_t *rune);

/* Percent decoding into a heap string; plus: "+" is a blank, as in queries. A bad escape stays as
 * it is. */
char *vpa_url_decode(const char *text, size_t len, bool plus) __attribute__((returns_nonnull));

/* DNS-1123: label (63) and subdomain (253), as Kubernetes checks names. */
bool vpa_is_dns1123_label(const char *text);
bool vpa_is_dns1123_subdomain(const char *text);

/*
 * Interned strings: equal texts share one copy, so that comparison is by pointer and a name
 * repeated in 100,000 pods is stored once. Reference counted; one pool per owner, single-threaded.
 */
struct vpa_intern_pool;
struct vpa_intern_pool *vpa_intern_pool_new(void);
void vpa_intern_pool_free(struct vpa_intern_pool *pool); /* also frees strings still referenced */
const char *vpa_intern(struct vpa_intern_pool *pool, const char *text);
/* Without a reference; NULL when nobody has interned the text. */
const char *vpa_intern_find(const struct vpa_intern_pool *pool, const char *text);
void vpa_unintern(struct vpa_intern_pool *pool, const char *interned); /* NULL is ignored */
size_t vpa_intern_count(const struct vpa_intern_pool *pool);

#endif
