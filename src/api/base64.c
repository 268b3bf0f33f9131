#include "vpa/api/review.h"

#include <endian.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void vpa_base64_encode(struct vpa_buf *out, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    char *room = vpa_buf_reserve(out, (len + 2) / 3 * 4);
    char *to = room;

    if (!room)
        return;
    for (; len >= 8; len -= 6, p += 6, to += 8) { /* reads two bytes more than it takes */
        uint64_t group;

        memcpy(&group, p, sizeof(group));
        group = be64toh(group);
        for (unsigned i = 0; i < 8; i++)
            to[i] = alphabet[group >> (58 - 6 * i) & 63];
    }
    for (; len >= 3; len -= 3, p += 3, to += 4) {
        unsigned group = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];

        to[0] = alphabet[group >> 18];
        to[1] = alphabet[group >> 12 & 63];
        to[2] = alphabet[group >> 6 & 63];
        to[3] = alphabet[group & 63];
    }
    if (len) {
        *to++ = alphabet[p[0] >> 2];
        *to++ = alphabet[(p[0] & 3) << 4 | (len == 2 ? p[1] >> 4 : 0)];
        *to++ = len == 2 ? alphabet[(p[1] & 15) << 2] : '=';
        *to++ = '=';
    }
    vpa_buf_advance(out, (size_t)(to - room));
}

static int sextet(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;

    return at ? (int)(at - alphabet) : -1;
}

int vpa_base64_decode(struct vpa_buf *out, const char *text, size_t len, struct vpa_error *err)
{
    size_t start = out->len, padding = 0, count = 0;
    unsigned group = 0;

    for (size_t i = 0; i < len; i++) {
        int value = sextet(text[i]);

        if (text[i] == '\n' || text[i] == '\r' || text[i] == ' ' || text[i] == '\t')
            continue;
        if (text[i] == '=')
            padding++;
        if ((value < 0 && text[i] != '=') || (value >= 0 && padding) || padding > 2) {
            vpa_buf_truncate(out, start);
            return vpa_fail(err, VPA_INVALID, "base64: unexpected byte at %zu", i);
        }
        group = group << 6 | (value < 0 ? 0 : (unsigned)value);
        if (++count % 4 == 0) {
            const unsigned char bytes[3] = {(unsigned char)(group >> 16),
                                            (unsigned char)(group >> 8), (unsigned char)group};
            vpa_buf_append(out, bytes, 3 - padding);
            group = 0;
        }
    }
    if (count % 4 != 0) {
        vpa_buf_truncate(out, start);
        return vpa_fail(err, VPA_INVALID, "base64: the length is no multiple of four");
    }
    return 0;
}
