#include "histogram_compare.h"

void compare_state(struct golden_case *c, const char *label, const struct vpa_json *want,
                   const struct vpa_decay *got, bool decaying)
{
    const struct vpa_histogram *h = &got->h;

    golden_double(c, golden_label(c, "%s.total", label), vpa_json_find(want, "total"), h->total);
    golden_int(c, golden_label(c, "%s.min", label), vpa_json_find(want, "min"), h->min);
    golden_int(c, golden_label(c, "%s.max", label), vpa_json_find(want, "max"), h->max);
    golden_bool(c, golden_label(c, "%s.empty", label), vpa_json_find(want, "empty"),
                vpa_histogram_is_empty(h));
    if (decaying)
        golden_time(c, golden_label(c, "%s.ref", label), vpa_json_find(want, "ref"), got->ref);
}

void compare_percentiles(struct golden_case *c, const char *label, const struct vpa_json *want,
                         const double *p, size_t count, const struct vpa_histogram *got)
{
    const struct vpa_json *node = vpa_json_first(want);

    for (size_t i = 0; i < count; i++, node = node ? vpa_json_next(node) : NULL)
        golden_double(c, golden_label(c, "%s[%zu]", label, i), node,
                      vpa_histogram_percentile(got, p[i]));
}

void compare_weights(struct golden_case *c, const char *label, const struct vpa_json *want,
                     const struct vpa_histogram *got)
{
    const struct vpa_json *pair = vpa_json_first(want);

    golden_compared(c, want);
    if (!want)
        golden_difference(c, label, "a list", "absent");
    for (uint32_t i = 0; i < got->options->buckets; i++) {
        double w = vpa_histogram_weight(got, i);
        int64_t index = -1;

        if (w == 0.0)
            continue;
        if (pair)
            golden_read_int(vpa_json_first(pair), &index);
        if (index != (int64_t)i || vpa_json_count(pair) != 2) {
            golden_unexpected(c, golden_label(c, "%s[%u]", label, i), "a weight");
            return;
        }
        golden_double(c, golden_label(c, "%s[%u]", label, i), vpa_json_next(vpa_json_first(pair)),
                      w);
        pair = vpa_json_next(pair);
    }
    if (pair)
        golden_difference(c, label, "more", "none");
}
