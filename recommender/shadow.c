#include "shadow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

#include "vpa/base/mem.h"
#include "vpa/base/quantity.h"
#include "vpa/base/str.h"

enum { TARGET, LOWER_BOUND, UPPER_BOUND, BOUND_COUNT = METRICS_BOUNDS };
enum { CPU, MEMORY, RESOURCE_COUNT };
static const char *const resource_names[RESOURCE_COUNT] = {VPA_CPU, VPA_MEMORY};

/* Distances up to which values are counted together; the last column has no limit. */
static const double limits[] = {0, 0.01, 0.05, 0.1};
#define LIMIT_COUNT VPA_COUNT(limits)

struct row { /* of one bound and resource */
    size_t values;
    size_t within[LIMIT_COUNT]; /* each also in the next ones */
    double farthest;            /* the largest distance either way, signed */
    char *where;                /* heap; NULL: none */
};
struct summary {
    struct row rows[BOUND_COUNT][RESOURCE_COUNT];
    size_t vpas;
    size_t containers; /* that both recommend for */
    size_t only_ours;
    size_t only_theirs;
};
struct shadow {
    struct summary current; /* pass */
    struct summary last;    /* whole pass */
    size_t passes;
};

static void clear(struct summary *summary)
{
    for (int b = 0; b < BOUND_COUNT; b++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            free(summary->rows[b][r].where);
    *summary = (struct summary){0};
}

struct shadow *shadow_new(void)
{
    return vpa_xcalloc(1, sizeof(struct shadow));
}

void shadow_free(struct shadow *s)
{
    if (!s)
        return;
    clear(&s->current);
    clear(&s->last);
    free(s);
}

void shadow_begin(struct shadow *s)
{
    clear(&s->current);
}

void shadow_end(struct shadow *s)
{
    clear(&s->last);
    s->last = s->current;
    s->current = (struct summary){0};
    s->passes++;
}

/* ---- comparing ---- */

static const struct vpa_resource_list *bound_of(const struct vpa_container_recommendation *c,
                                                int bound)
{
    return bound == TARGET ? &c->target : bound == LOWER_BOUND ? &c->lower_bound : &c->upper_bound;
}

static void note(struct row *row, double difference, const struct vpa_object *vpa,
                 const char *container)
{
    row->values++;
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        row->within[i] += fabs(difference) <= limits[i];
    if (row->where && fabs(difference) <= fabs(row->farthest))
        return;
    free(row->where);
    row->where = vpa_xprintf("%s/%s %s", vpa->meta.ns, vpa->meta.name, container);
    row->farthest = difference;
}

/* Of two values; without theirs there is no relative distance. */
static void compare_values(struct shadow *s, const struct vpa_object *vpa,
                           const struct vpa_container_recommendation *ours,
                           const struct vpa_container_recommendation *theirs, int bound,
                           int resource)
{
    const char *name = resource_names[resource];
    const struct vpa_quantity *a = vpa_resource_find(bound_of(ours, bound), name);
    const struct vpa_quantity *b = vpa_resource_find(bound_of(theirs, bound), name);

    if (!a || !b)
        return;
    double ours_value = (double)vpa_quantity_milli_value(a);
    double theirs_value = (double)vpa_quantity_milli_value(b);
    if (theirs_value <= 0)
        return;
    double difference = (ours_value - theirs_value) / theirs_value;
    note(&s->current.rows[bound][resource], difference, vpa, ours->container_name);
    vpa_metric_observe(&metrics_shadow_differences, difference, metrics_bounds[bound], name);
}

static void compare_containers(struct shadow *s, const struct vpa_object *vpa,
                               const struct vpa_container_recommendation *ours,
                               const struct vpa_container_recommendation *theirs)
{
    s->current.containers++;
    for (int b = 0; b < BOUND_COUNT; b++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            compare_values(s, vpa, ours, theirs, b, r);
}

void shadow_compare(struct shadow *s, const struct vpa_object *vpa,
                    const struct vpa_recommendation *ours)
{
    const struct vpa_recommendation *theirs = &vpa->recommendation;
    size_t common = 0;

    s->current.vpas++;
    for (size_t i = 0; i < ours->container_count; i++) {
        const struct vpa_container_recommendation *mine = &ours->containers[i];
        const struct vpa_container_recommendation *other =
            vpa_recommendation_find(theirs, mine->container_name);

        if (other)
            compare_containers(s, vpa, mine, other);
        common += other != NULL;
    }
    s->current.only_ours += ours->container_count - common;
    s->current.only_theirs +=
        theirs->container_count > common ? theirs->container_count - common : 0;
}

/* ---- the table ---- */

static void write_row(const struct row *row, int bound, int resource, struct vpa_buf *out)
{
    vpa_buf_printf(out, "%-12s%-8s%8zu", metrics_bounds[bound], resource_names[resource],
                   row->values);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        vpa_buf_printf(out, "%8zu", row->within[i]);
    if (row->where)
        vpa_buf_printf(out, "  %+.1f %%  %s", 100 * row->farthest, row->where);
    vpa_buf_puts(out, "\n");
}

void shadow_write_table(const struct shadow *s, struct vpa_buf *out)
{
    const struct summary *last = &s->last;

    vpa_buf_printf(out,
                   "shadow: %zu passes; in the last one %zu VPAs, %zu containers compared, "
                   "%zu recommended for by us alone, %zu by the other alone\n",
                   s->passes, last->vpas, last->containers, last->only_ours, last->only_theirs);
    if (last->containers == 0)
        return;
    vpa_buf_printf(out, "%-12s%-8s%8s%8s%8s%8s%8s  %s\n", "bound", "of", "values", "equal",
                   "<= 1 %", "<= 5 %", "<= 10 %", "farthest");
    for (int b = 0; b < BOUND_COUNT; b++)
        for (int r = 0; r < RESOURCE_COUNT; r++)
            write_row(&last->rows[b][r], b, r, out);
}
