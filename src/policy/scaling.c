/*
 * Proportional scaling of quantities.
 *
 * A container's limit is seldom what the user cares about in itself; its ratio to the request is.
 * When the request changes, the limit follows: limit' = limit * target / request. Upstream computes
 * that with arbitrary precision on whole thousandths (cpu) or whole bytes (memory) and rounds by
 * Euclid (the remainder is never negative). A product of two int64 fits into 128 bits, so no big
 * numbers are needed here. What does not fit into 64 bits afterwards becomes the largest int64 of
 * that unit, with a phrase.
 */
#include "vpa/policy/scaling.h"

#include <string.h>

__extension__ typedef __int128 wide;

static const struct vpa_quantity zero;

static const struct vpa_quantity *or_zero(const struct vpa_quantity *q)
{
    return q ? q : &zero;
}

static bool is_cpu(const char *resource)
{
    return strcmp(resource, VPA_CPU) == 0;
}

/* Quotient with a remainder that is never negative (math/big: Int.Div). divisor is not 0. */
static wide euclid_div(wide dividend, wide divisor, bool *remainder)
{
    wide quotient = dividend / divisor;
    wide rest = dividend % divisor;

    *remainder = rest != 0;
    if (rest < 0)
        quotient += divisor > 0 ? -1 : 1;
    return quotient;
}

static int64_t units_of(const char *resource, const struct vpa_quantity *q)
{
    return is_cpu(resource) ? vpa_quantity_milli_value(q) : vpa_quantity_value(q);
}

static struct vpa_quantity from_units(const char *resource, int64_t n, uint8_t format)
{
    enum vpa_quantity_format f = (enum vpa_quantity_format)format;

    return is_cpu(resource) ? vpa_quantity_scaled(n, -3, f) : vpa_quantity_units(n, f);
}

enum vpa_scale_kind vpa_scale_quantity(const char *resource, const struct vpa_quantity *quantity,
                                       const struct vpa_quantity *base,
                                       const struct vpa_quantity *result,
                                       enum vpa_scale_rounding rounding, struct vpa_quantity *out)
{
    int64_t divisor = units_of(resource, base);

    if (divisor == 0) {
        *out = *quantity;
        return VPA_SCALE_ZERO_BASE;
    }

    bool remainder;
    wide product = (wide)units_of(resource, quantity) * (wide)units_of(resource, result);
    wide scaled = euclid_div(product, divisor, &remainder);

    if (is_cpu(resource)) {
        if (rounding == VPA_SCALE_UP && remainder)
            scaled++;
    } else if (rounding == VPA_SCALE_DOWN && scaled <= 0) {
        scaled--; /* upstream subtracts a fraction and rounds away from zero */
    }

    bool fits = scaled >= INT64_MIN && scaled <= INT64_MAX;
    *out = from_units(resource, fits ? (int64_t)scaled : INT64_MAX, quantity->format);
    return fits ? VPA_SCALE_OK : VPA_SCALE_CAPPED;
}

struct vpa_quantity vpa_scale_boundary(const char *resource, const struct vpa_quantity *request,
                                       const struct vpa_quantity *limit,
                                       const struct vpa_quantity *edge,
                                       const struct vpa_quantity *default_limit)
{
    struct vpa_quantity out;

    if (vpa_quantity_value(or_zero(limit)) == 0)
        limit = default_limit;
    if (vpa_quantity_value(or_zero(limit)) == 0)
        return zero;
    if (vpa_quantity_value(or_zero(request)) == 0)
        return *or_zero(edge);

    (void)vpa_scale_quantity(resource, request, limit, or_zero(edge), VPA_SCALE_NONE, &out);
    return out;
}

/* The phrases of one resource; cpu and memory are the only ones with limits that follow. */
struct phrases {
    const char *no_limit;
    const char *no_request;
    const char *capped;
};
static const struct phrases cpu_phrases = {
    "cpu: limit NOT set since originalLimit is nil or 0",
    "cpu: limit NOT set since recommendedRequest is nil or 0",
    "cpu: failed to keep limit to request ratio; capping limit to int64",
};
static const struct phrases memory_phrases = {
    "memory: limit NOT set since originalLimit is nil or 0",
    "memory: limit NOT set since recommendedRequest is nil or 0",
    "memory: failed to keep limit to request ratio; capping limit to int64",
};

/* Equal in thousandths, rounded up. Values that saturate are compared exactly. */
static bool same_milli(const struct vpa_quantity *a, const struct vpa_quantity *b)
{
    int64_t milli = vpa_quantity_milli_value(a);

    if (milli != vpa_quantity_milli_value(b))
        return false;
    return (milli != INT64_MAX && milli != INT64_MIN) || vpa_quantity_cmp(a, b) == 0;
}

struct vpa_scaled_limit vpa_scale_limit(const char *resource, const struct vpa_quantity *limit,
                                        const struct vpa_quantity *request,
                                        const struct vpa_quantity *target,
                                        const struct vpa_quantity *default_limit)
{
    const struct phrases *say = is_cpu(resource) ? &cpu_phrases : &memory_phrases;
    struct vpa_scaled_limit out = {0};

    if (vpa_quantity_value(or_zero(limit)) == 0)
        limit = default_limit;
    if (vpa_quantity_value(or_zero(limit)) == 0) {
        out.note = say->no_limit;
        return out;
    }
    if (vpa_quantity_value(or_zero(target)) == 0) {
        out.note = say->no_request;
        return out;
    }

    out.present = true;
    if (vpa_quantity_value(or_zero(request)) == 0 || same_milli(request, limit)) {
        out.limit = *target;
        return out;
    }
    if (vpa_scale_quantity(resource, limit, request, target, VPA_SCALE_NONE, &out.limit) ==
        VPA_SCALE_CAPPED)
        out.note = say->capped;
    return out;
}

struct vpa_scaled_limits vpa_scale_limits(struct vpa_arena *arena,
                                          const struct vpa_resource_list *limits,
                                          const struct vpa_resource_list *requests,
                                          const struct vpa_resource_list *target,
                                          const struct vpa_resource_list *default_limits)
{
    static const char *const names[] = {VPA_CPU, VPA_MEMORY};
    struct vpa_scaled_limits out = {0};

    for (size_t i = 0; i < VPA_COUNT(names); i++) {
        const char *name = names[i];
        struct vpa_scaled_limit l =
            vpa_scale_limit(name, vpa_resource_find(limits, name),
                            vpa_resource_find(requests, name), vpa_resource_find(target, name),
                            default_limits ? vpa_resource_find(default_limits, name) : NULL);
        if (l.note)
            out.notes[out.note_count++] = l.note;
        if (!l.present)
            continue;
        if (!out.limits.items)
            out.limits.items = vpa_arena_alloc(arena, VPA_COUNT(names) * sizeof(*out.limits.items));
        out.limits.items[out.limits.count++] = (struct vpa_resource){name, l.limit};
        out.limits.present = true;
    }
    if (!out.limits.present)
        out.note_count = 0;
    return out;
}
