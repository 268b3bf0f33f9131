#include "vpa/base/random.h"

#include <stdio.h>

void vpa_random_init(struct vpa_random *random, uint64_t seed)
{
    random->state = seed;
}

/* splitmix64, Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
uint64_t vpa_random_next(struct vpa_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double vpa_random_double(struct vpa_random *random)
{
    return (double)(vpa_random_next(random) >> 11) * 0x1p-53;
}

vpa_duration vpa_random_jitter(struct vpa_random *random, vpa_duration d, double factor)
{
    return d + (vpa_duration)(vpa_random_double(random) * factor * (double)d);
}

void vpa_random_uuid(struct vpa_random *random, char out[VPA_UUID_TEXT_MAX])
{
    uint64_t a = vpa_random_next(random), b = vpa_random_next(random);

    snprintf(out, VPA_UUID_TEXT_MAX, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
             (unsigned)(b >> 48 & 0x3fff) | 0x8000u,
             (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}
