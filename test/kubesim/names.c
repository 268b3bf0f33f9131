/* Random names and identities. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void random_bytes(unsigned char *out, size_t len)
{
    if (getrandom(out, len, 0) != (ssize_t)len)
        abort();
}

const char *new_uid(struct vpa_arena *a)
{
    unsigned char b[16];

    random_bytes(b, sizeof(b));
    b[6] = (unsigned char)((b[6] & 15) | 0x40);
    b[8] = (unsigned char)((b[8] & 63) | 0x80);
    return vpa_arena_printf(
        a, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2],
        b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

const char *random_suffix(struct vpa_arena *a, size_t len)
{
    /* k8s.io/apimachinery/pkg/util/rand: no vowels, no look-alikes */
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    unsigned char b[32];
    char *text = vpa_arena_alloc(a, len + 1);

    random_bytes(b, len);
    for (size_t i = 0; i < len; i++)
        text[i] = alphabet[b[i] % (sizeof(alphabet) - 1)];
    text[len] = 0;
    return text;
}

const char *generate_name(struct vpa_arena *a, const char *prefix)
{
    return vpa_arena_printf(a, "%.58s%s", prefix, random_suffix(a, 5));
}
