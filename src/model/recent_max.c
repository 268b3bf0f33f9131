#include "vpa/model/recent_max.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

void vpa_recent_max_release(struct vpa_recent_max *m)
{
    free(m->items);
    *m = (struct vpa_recent_max){.span = m->span};
}

void vpa_recent_max_age(struct vpa_recent_max *m, int64_t second)
{
    size_t old = 0;

    while (old < m->count && m->items[old].second <= second - m->span)
        old++;
    if (!old)
        return;
    m->count -= old;
    memmove(m->items, m->items + old, m->count * sizeof(*m->items));
}

void vpa_recent_max_push(struct vpa_recent_max *m, int64_t second, double value)
{
    if (m->count && second < m->items[m->count - 1].second)
        second = m->items[m->count - 1].second;
    while (m->count && m->items[m->count - 1].value <= value)
        m->count--;
    VPA_GROW(m->items, m->count, m->capacity);
    m->items[m->count++] = (struct vpa_recent_value){second, value};
    vpa_recent_max_age(m, second);
}

double vpa_recent_max(const struct vpa_recent_max *m)
{
    return m->count ? m->items[0].value : 0.0;
}

void vpa_recent_max_merge(struct vpa_recent_max *m, const struct vpa_recent_max *other)
{
    struct vpa_recent_max both = {.span = m->span};
    size_t i = 0;
    size_t k = 0;

    while (i < m->count || k < other->count) {
        bool mine =
            k == other->count || (i < m->count && m->items[i].second <= other->items[k].second);
        const struct vpa_recent_value *v = mine ? &m->items[i++] : &other->items[k++];
        vpa_recent_max_push(&both, v->second, v->value);
    }
    vpa_recent_max_release(m);
    *m = both;
}
