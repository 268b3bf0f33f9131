/*
 * The text before and the text itself are one run of bytes; what stands there already is named by
 * its place (Lempel and Ziv, 1977), what is new is copied. Lines of one form mostly repeat the line
 * before at the same place, so a place is counted from where the last repetition would go on: it is
 * 0 after a number with as many digits as before, and one byte nearly always.
 *
 * A step is
 *
 *     1 byte     how many new bytes (high four bits, 15: and a number follows), how long the
 *                repetition (low four bits: 0 none, 1 to 14 means 4 to 17, 15: and a number follows)
 *     ...        the new bytes
 *     number     the place of the repetition, counted as above; positive and negative in turn
 *
 * Numbers have seven bits in a byte, the low ones first; the eighth says that more follow.
 *
 * Repetitions are found by a table of every fourth place by its four bytes, the newest wins: one of
 * seven bytes is always seen. It then grows in both directions, and where it began is never looked
 * at again, so time is linear.
 */
#include "vpa/base/pack.h"

#include <assert.h>
#include <string.h>

#define TABLE_BITS 11
#define STEP 4
#define REPEAT_MIN ((size_t)4)
#define NIBBLE_MAX ((size_t)15)

struct window { /* places are counted from the begin of `before` */
    struct vpa_slice before, text;
};

struct packing {
    struct window w;
    char *out;
    size_t known;                     /* of the text: up to here it is written */
    size_t expected;                  /* place where the last repetition would go on */
    uint16_t places[1 << TABLE_BITS]; /* plus 1 */
};

static const char *at(const struct window *w, size_t place)
{
    return place < w->before.len ? w->before.ptr + place : w->text.ptr + (place - w->before.len);
}

static uint16_t *place_of(struct packing *p, const char *bytes)
{
    uint32_t four;

    memcpy(&four, bytes, sizeof(four));
    return &p->places[four * 2654435761u >> (32 - TABLE_BITS)]; /* Knuth: the golden ratio */
}

/* ---- numbers ---- */

static char *put_number(char *out, size_t n)
{
    for (; n > 0x7f; n >>= 7)
        *out++ = (char)(n | 0x80);
    *out++ = (char)n;
    return out;
}

static bool take_number(struct vpa_slice *packed, size_t *n)
{
    *n = 0;
    for (unsigned shift = 0; packed->len > 0 && shift < 28; shift += 7) {
        unsigned byte = (unsigned char)*packed->ptr++;

        packed->len--;
        *n |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* ---- packing ---- */

/* The new bytes up to `end` of the text, and then so many from that place; 0: none. */
static void put_step(struct packing *p, size_t end, size_t place, size_t repeat)
{
    size_t new = end - p->known, code = repeat ? repeat - REPEAT_MIN + 1 : 0;
    size_t expected = p->expected + new;
    char *out = p->out;

    *out++ = (char)((new < NIBBLE_MAX ? new : NIBBLE_MAX) << 4 |
                    (code < NIBBLE_MAX ? code : NIBBLE_MAX));
    if (new >= NIBBLE_MAX)
        out = put_number(out, new - NIBBLE_MAX);
    memcpy(out, p->w.text.ptr + p->known, new);
    out += new;
    if (code >= NIBBLE_MAX)
        out = put_number(out, code - NIBBLE_MAX);
    if (repeat)
        out = put_number(out,
                         place >= expected ? (place - expected) * 2 : (expected - place) * 2 - 1);
    p->out = out;
    p->expected = place + repeat;
    p->known = end + repeat;
}

/* How far the text from i on equals what stands at `place`; up to the seam of the two texts. */
static size_t length_at(const struct window *w, size_t place, size_t i)
{
    size_t limit = w->text.len - i, n = 0;

    if (place < w->before.len && w->before.len - place < limit)
        limit = w->before.len - place;
    for (const char *a = at(w, place), *b = w->text.ptr + i; n < limit && a[n] == b[n];)
        n++;
    return n;
}

/* A step with the repetition that goes through i, if there is one: true. */
static bool put_repetition(struct packing *p, size_t i)
{
    const struct window *w = &p->w;
    uint16_t noted = *place_of(p, w->text.ptr + i);
    size_t place = (size_t)noted - 1, seam = place >= w->before.len ? w->before.len : 0, n;

    if (noted == 0 || (n = length_at(w, place, i)) < REPEAT_MIN)
        return false;
    while (i > p->known && place > seam && *at(w, place - 1) == w->text.ptr[i - 1])
        i--, place--, n++;
    put_step(p, i, place, n);
    return true;
}

void vpa_pack(struct vpa_slice before, struct vpa_slice text, struct vpa_buf *out)
{
    struct packing p = {.w = {before, text}};
    size_t noted = 0;

    assert(before.len <= VPA_PACK_MAX && text.len <= VPA_PACK_MAX);
    p.out = vpa_buf_reserve(out, VPA_PACK_BOUND(text.len));
    if (!p.out)
        return;
    char *start = p.out;
    for (size_t i = 0; i + REPEAT_MIN <= before.len; i += STEP)
        *place_of(&p, before.ptr + i) = (uint16_t)(i + 1);
    for (size_t i = 0; i + REPEAT_MIN <= text.len;) {
        i = put_repetition(&p, i) ? p.known : i + 1;
        for (; noted + REPEAT_MIN <= i; noted += STEP)
            *place_of(&p, text.ptr + noted) = (uint16_t)(before.len + noted + 1);
    }
    if (p.known < text.len)
        put_step(&p, text.len, 0, 0);
    vpa_buf_advance(out, (size_t)(p.out - start));
}

/* ---- unpacking ---- */

/* What the low or high bits of the first byte say, with what follows them. */
static bool take_length(struct vpa_slice *packed, size_t nibble, size_t *length)
{
    size_t more = 0;

    if (nibble == NIBBLE_MAX && !take_number(packed, &more))
        return false;
    *length = nibble + more;
    return true;
}

static bool take_place(struct vpa_slice *packed, size_t expected, size_t *place)
{
    size_t n;

    if (!take_number(packed, &n))
        return false;
    *place = n % 2 ? expected - (n + 1) / 2 : expected + n / 2;
    return true;
}

/* Byte by byte: what is repeated may end in what this writes. */
static bool repeat(const struct window *w, size_t place, size_t done, size_t n)
{
    char *to = (char *)(uintptr_t)w->text.ptr + done;

    if (n > w->text.len - done || place >= w->before.len + done)
        return false;
    for (size_t i = 0; i < n; i++)
        to[i] = *at(w, place + i);
    return true;
}

static bool take_step(struct vpa_slice *packed, const struct window *w, size_t *done,
                      size_t *expected)
{
    unsigned first = (unsigned char)*packed->ptr++;
    size_t new, code, place;

    packed->len--;
    if (!take_length(packed, first >> 4, &new) || new > packed->len || new > w->text.len - *done)
        return false;
    memcpy((char *)(uintptr_t)w->text.ptr + *done, packed->ptr, new);
    *packed = (struct vpa_slice){packed->ptr + new, packed->len - new};
    *done += new;
    if (!take_length(packed, first & NIBBLE_MAX, &code))
        return false;
    if (code == 0)
        return true;
    size_t n = code + REPEAT_MIN - 1;
    if (!take_place(packed, *expected + new, &place) || !repeat(w, place, *done, n))
        return false;
    *done += n;
    *expected = place + n;
    return true;
}

int vpa_unpack(struct vpa_slice before, struct vpa_slice packed, char *text, size_t len,
               struct vpa_error *err)
{
    const struct window w = {before, {text, len}};
    size_t done = 0, expected = 0;

    while (packed.len > 0)
        if (!take_step(&packed, &w, &done, &expected))
            return vpa_fail(err, VPA_INVALID, "not a packed text");
    if (done != len)
        return vpa_fail(err, VPA_INVALID, "%zu bytes instead of %zu", done, len);
    return 0;
}
