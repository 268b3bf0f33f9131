#include "histogram_compare.h"

void compare_weights(struct golden_case *c, const char *label, const struct vpa_json *want,
                     const struct vpa_histogram *got)
{
    const struct vpa_json *pair = vpa_json_first(want);

    for (uint32_t i = 0; i < got->options->buckets; i++) {
        double w = vpa_histogram_weight(got, i);
        int64_t index = -1;

        if (w == 0.0)
            continue;
        if (pair)
            golden_read_int(vpa_json_first(pair), &index);
        if (index != (int64_t)i) {
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
