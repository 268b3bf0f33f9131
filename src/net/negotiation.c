#include "vpa/net/negotiation.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

#define GZIP_WINDOW_BITS (15 + 16)       /* the largest window; 16 asks for the head of gzip */
#define COMPRESSED_MAX ((size_t)1 << 30) /* zlib counts in 32 bits */
#define MEMORY_LEVEL 8                   /* zlib's own choice */

/* ---- headers ---- */

/* Splits at a separator; a slice is not a string of its own. */
static bool next_part(struct vpa_slice *rest, char separator, struct vpa_slice *part)
{
    if (!rest->ptr)
        return false;
    const char *end = memchr(rest->ptr, separator, rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;

    *part = vpa_slice_trim((struct vpa_slice){rest->ptr, len});
    *rest = end ? (struct vpa_slice){end + 1, rest->len - len - 1} : (struct vpa_slice){NULL, 0};
    return true;
}

/* qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] ); 0 for anything else. */
static double read_weight(struct vpa_slice text)
{
    double weight = 0, place = 1;

    if (text.len < 1 || text.len > strlen("0.123") || (text.len > 1 && text.ptr[1] != '.'))
        return 0;
    for (size_t i = 0; i < text.len; i++) {
        if (i == 1)
            continue;
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return 0;
        weight += (text.ptr[i] - '0') * place;
        place /= 10;
    }
    return weight <= 1 ? weight : 0;
}

static double weight_of(struct vpa_slice parameters)
{
    struct vpa_slice part;

    while (next_part(&parameters, ';', &part))
        if (part.len >= 2 && (part.ptr[0] == 'q' || part.ptr[0] == 'Q') && part.ptr[1] == '=')
            return read_weight((struct vpa_slice){part.ptr + 2, part.len - 2});
    return 1;
}

double vpa_negotiation_weight(const char *header, const char *name)
{
    struct vpa_slice rest = {header, header ? strlen(header) : 0}, item, first;
    size_t len = strlen(name);

    while (next_part(&rest, ',', &item))
        if (next_part(&item, ';', &first) && first.len == len &&
            strncasecmp(first.ptr, name, len) == 0)
            return weight_of(item);
    return -1;
}

/* ---- compression ---- */

bool vpa_gzip_is_accepted(const char *accept_encoding)
{
    return vpa_negotiation_weight(accept_encoding, "gzip") > 0;
}

bool vpa_gzip(const char *data, size_t len, char **out, size_t *out_len)
{
    z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data, .avail_in = (uInt)len};

    if (len > COMPRESSED_MAX ||
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    size_t room = deflateBound(&z, (uLong)len);
    char *all = vpa_xcalloc(1, room);

    z.next_out = (Bytef *)all;
    z.avail_out = (uInt)room;
    bool done = deflate(&z, Z_FINISH) == Z_STREAM_END;
    deflateEnd(&z);
    if (!done) {
        free(all);
        return false;
    }
    *out = all;
    *out_len = z.total_out;
    return true;
}
