/* Quantities: whatever parses prints a text that parses to the same number; arithmetic keeps its
 * laws. */
#include "fuzz.h"
#include "vpa/base/quantity.h"

static bool prints_with_suffix(struct vpa_arena *arena, const struct vpa_quantity *q)
{
    struct vpa_quantity size = *q, bound = vpa_quantity_scaled(1, 21, VPA_DECIMAL_SI);

    if (vpa_quantity_sign(q) < 0)
        vpa_quantity_neg(arena, &size);
    return q->format == VPA_DECIMAL_EXPONENT || vpa_quantity_cmp(&size, &bound) < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const char *text = fuzz_text(&arena, data, size);
    struct vpa_quantity q, again, sum, other;
    struct vpa_error err;

    if (vpa_quantity_parse(&arena, text, &q, &err) == 0) {
        const char *printed = vpa_quantity_text(&arena, &q);
        if (prints_with_suffix(&arena, &q) &&
            vpa_quantity_parse(&arena, printed, &again, &err) == 0) {
            FUZZ_CHECK(vpa_quantity_cmp(&q, &again) == 0);
            FUZZ_CHECK(strcmp(vpa_quantity_text(&arena, &again), printed) == 0);
        }
        other = sum = vpa_quantity_copy(&arena, &q);
        vpa_quantity_add(&arena, &sum, &other);
        vpa_quantity_mul(&arena, &other, 2);
        FUZZ_CHECK(vpa_quantity_cmp(&sum, &other) == 0);
        vpa_quantity_sub(&arena, &sum, &q);
        FUZZ_CHECK(vpa_quantity_cmp(&sum, &q) == 0);
        vpa_quantity_round_up(&arena, &sum, 0);
        FUZZ_CHECK(vpa_quantity_value(&sum) == vpa_quantity_value(&q));
        vpa_quantity_neg(&arena, &other);
        FUZZ_CHECK(vpa_quantity_sign(&other) == -vpa_quantity_sign(&q));
        FUZZ_CHECK(vpa_quantity_is_whole_milli(&q) || !vpa_quantity_is_whole(&q));
    } else {
        FUZZ_CHECK(err.code == VPA_INVALID && err.text[0]);
    }
    vpa_arena_release(&arena);
    return 0;
}
