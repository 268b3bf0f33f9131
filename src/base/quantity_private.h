/*
 * Between quantity.c (values, arithmetic) and quantity_text.c (parsing, printing): the two forms.
 */
#ifndef VPA_BASE_QUANTITY_PRIVATE_H
#define VPA_BASE_QUANTITY_PRIVATE_H

#include "vpa/base/decimal.h"
#include "vpa/base/quantity.h"

/* A big form as it is kept: only the limbs in use. */
struct vpa_quantity_big {
    int32_t scale;
    bool negative;
    uint32_t count;
    uint32_t limbs[];
};

void vpa_quantity_to_decimal(const struct vpa_quantity *q, struct vpa_decimal *d);
/* q becomes the big form of d, its text forgotten. */
void vpa_quantity_set_big(struct vpa_arena *arena, struct vpa_quantity *q,
                          const struct vpa_decimal *d);
/* n * 10^power; false when that leaves int64. */
bool vpa_quantity_scale_up(int64_t n, int32_t power, int64_t *out);
/* n / 10^power away from zero; true when exact. */
bool vpa_quantity_scale_down(int64_t n, int32_t power, int64_t *out);

#endif
