/*
 * Crane's list of sizes: a recommendation is raised to the smallest offer that holds it, first by
 * CPU, then by memory, as machine types are sold.
 */
#include <stdlib.h>
#include <string.h>

#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/model/crane.h"

#define GIB 1073741824.0
/* "%.2f" of the largest double. */
#define NUMBER_TEXT_MAX 400

/* The next run of digits and points in [*at, end), or an empty slice. */
static struct vpa_slice next_number(const char **at, const char *end)
{
    static const char digits[] = "0123456789.";

    while (*at < end && !strchr(digits, **at))
        (*at)++;
    struct vpa_slice run = {*at, 0};
    while (*at < end && strchr(digits, **at)) {
        (*at)++;
        run.len++;
    }
    return run;
}

static int read_part(struct vpa_slice run, struct vpa_slice item, const char *part, double *out,
                     struct vpa_error *err)
{
    vpa_auto_free char *text = vpa_xstrndup(run.ptr, run.len);

    if (vpa_double_parse(text, out, NULL) < 0)
        return vpa_fail(err, VPA_INVALID, "specification %.*s %sformat error", (int)item.len,
                        item.ptr, part);
    return 0;
}

static int read_size(struct vpa_slice item, struct vpa_crane_size *out, struct vpa_error *err)
{
    const char *at = item.ptr, *end = item.ptr + item.len;
    struct vpa_slice cpu = next_number(&at, end), memory = next_number(&at, end);
    struct vpa_slice more = next_number(&at, end);

    if (!memory.len || more.len)
        return vpa_fail(err, VPA_INVALID, "specification %.*s format error", (int)item.len,
                        item.ptr);
    if (read_part(cpu, item, "cpu ", &out->cores, err) < 0)
        return -1;
    return read_part(memory, item, "memory ", &out->gib, err);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct vpa_crane_size *x = a, *y = b;

    if (x->cores != y->cores)
        return x->cores < y->cores ? -1 : 1;
    return (x->gib > y->gib) - (x->gib < y->gib);
}

int vpa_crane_sizes_parse(const char *text, struct vpa_crane_sizes *out, struct vpa_error *err)
{
    vpa_auto_free struct vpa_crane_size *items = NULL;
    const char *rest = text;
    struct vpa_slice item;
    size_t count = 0, capacity = 0;

    if (!*text)
        return vpa_fail(err, VPA_INVALID, "specification  format error");
    while (vpa_str_split(&rest, ',', &item)) {
        VPA_GROW(items, count, capacity);
        if (read_size(item, &items[count], err) < 0)
            return -1;
        count++;
    }
    qsort(items, count, sizeof(*items), compare_sizes);
    *out = (struct vpa_crane_sizes){VPA_STEAL(items), count};
    return 0;
}

void vpa_crane_sizes_release(struct vpa_crane_sizes *sizes)
{
    free(sizes->items);
    *sizes = (struct vpa_crane_sizes){0};
}

static const struct vpa_crane_size *find_size(const struct vpa_crane_sizes *sizes, double cores,
                                              double gib)
{
    for (size_t i = 0; i < sizes->count; i++) {
        /* Sorted by memory within one CPU size: those before it are not enough. */
        if (sizes->items[i].cores >= cores && sizes->items[i].gib >= gib)
            return &sizes->items[i];
    }
    return NULL;
}

static struct vpa_quantity hundredths(struct vpa_arena *arena, double x, const char *unit)
{
    struct vpa_quantity q = vpa_quantity_units(0, VPA_DECIMAL_SI);
    vpa_auto_buf buf = VPA_BUF(NUMBER_TEXT_MAX);

    vpa_buf_printf(&buf, "%.2f%s", x, unit);
    /* What is no quantity stays 0, and so is not used. */
    if (vpa_quantity_parse(arena, vpa_buf_text(&buf), &q, NULL) < 0)
        return vpa_quantity_units(0, VPA_DECIMAL_SI);
    return q;
}

bool vpa_crane_sizes_match(const struct vpa_crane_sizes *sizes, int64_t millis, int64_t bytes,
                           struct vpa_arena *arena, struct vpa_quantity *cpu,
                           struct vpa_quantity *memory)
{
    const struct vpa_crane_size *size =
        find_size(sizes, (double)millis / 1000.0, (double)bytes / GIB);

    *cpu = hundredths(arena, size ? size->cores : 0.0, "");
    *memory = hundredths(arena, size ? size->gib : 0.0, "Gi");
    return !vpa_quantity_is_zero(cpu) && !vpa_quantity_is_zero(memory);
}
