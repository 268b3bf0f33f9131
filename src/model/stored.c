#include "stored.h"

#include <math.h>

#include "algorithm_private.h"
#include "vpa/base/math.h"
#include "vpa/base/mem.h"

/* More entries than a maximum of buckets or of the windows of some hours has. */
#define MAXIMA_MOST (2 * VPA_BUCKETS_MAX)
#define WEIGHT_MOST VPA_AGGREGATE_WEIGHT_MAX
/* At most so many samples come: one each ten seconds of a hundred thousand replicas. */
#define SAMPLES_A_SECOND 1e4
#define PAST_HALF_LIVES 1.4427 /* 1 / ln 2: what all of the past weighs */

static int64_t second_of(vpa_time t)
{
    return vpa_time_unix_nanos(t) / VPA_SECOND;
}

void vpa_stored_put_number(struct vpa_json_writer *w, const char *name, double value)
{
    vpa_json_member_double(w, name, value);
}

int vpa_stored_amount(const struct vpa_json *object, const char *name, double *out,
                      struct vpa_error *err)
{
    double x;

    if (vpa_stored_number(object, name, &x, err) < 0)
        return -1;
    if (x < 0.0 || x > 1e18)
        return vpa_fail(err, VPA_INVALID, "%s is out of range", name);
    *out = x;
    return 0;
}

int vpa_stored_second(const struct vpa_json *object, const char *name, vpa_time now, int64_t *out,
                      struct vpa_error *err)
{
    double x;

    if (vpa_stored_amount(object, name, &x, err) < 0)
        return -1;
    if (x != floor(x) || x > (double)(second_of(now) + VPA_STORED_AHEAD_SECONDS))
        return vpa_fail(err, VPA_INVALID, "%s is no second of the past", name);
    *out = (int64_t)x;
    return 0;
}

/* ---- histograms ---- */

void vpa_stored_put_histogram(struct vpa_json_writer *w, const char *name,
                              const struct vpa_load_histogram *h, int64_t as_of)
{
    vpa_time ref = vpa_time_from_unix(as_of, 0) > h->ref ? vpa_time_from_unix(as_of, 0) : h->ref;
    double factor = vpa_exp2(-(double)vpa_time_sub(ref, h->ref) / (double)h->half_life);
    vpa_auto_buf text = VPA_BUF(VPA_BUCKETS_MAX * 24);

    if (vpa_load_histogram_is_empty(h))
        return;
    vpa_json_member_object(w, name);
    vpa_json_member_int(w, "ref", second_of(ref));
    vpa_json_member_int(w, "first", h->base);
    vpa_json_key(w, "weights");
    for (uint32_t i = 0; i < h->span; i++)
        vpa_buf_printf(&text, "%c%.7g", i ? ',' : '[', h->weights[i] * factor);
    vpa_buf_putc(&text, ']');
    vpa_json_put_raw(w, vpa_buf_text(&text), text.len);
    vpa_json_close_object(w);
}

/* Each weight goes to the end of its bucket. */
static int add_weights(struct vpa_load_histogram *h, const struct vpa_json *weights, uint32_t first,
                       vpa_time ref, struct vpa_error *err)
{
    uint32_t bucket = first;

    vpa_json_foreach (node, weights) {
        double weight;
        if (bucket >= h->buckets->count)
            return vpa_fail(err, VPA_INVALID, "there is no bucket %u", bucket);
        if (!vpa_json_double(node, &weight) || !(weight >= 0.0) || weight > WEIGHT_MOST)
            return vpa_fail(err, VPA_INVALID, "bucket %u has an impossible weight", bucket);
        if (weight > 0.0)
            vpa_load_histogram_add(h, h->buckets->ends[bucket], weight, ref);
        bucket++;
    }
    return 0;
}

static void bound_weights(struct vpa_load_histogram *h, vpa_time now)
{
    double half_lives =
        (double)vpa_time_sub(vpa_time_add(now, VPA_STORED_AHEAD_SECONDS * VPA_SECOND), h->ref) /
        (double)h->half_life;
    double most = SAMPLES_A_SECOND * PAST_HALF_LIVES * ((double)h->half_life / (double)VPA_SECOND) *
                  vpa_exp2(half_lives);
    double total = 0.0;

    for (uint32_t i = 0; i < h->span; i++)
        total += h->weights[i];
    for (uint32_t i = 0; total > most && i < h->span; i++)
        h->weights[i] *= most / total;
}

int vpa_stored_histogram(const struct vpa_json *object, const char *name, vpa_time now,
                         struct vpa_load_histogram *h, struct vpa_error *err)
{
    const struct vpa_json *stored = vpa_json_find(object, name);
    int64_t ref;
    double first;

    if (vpa_json_is_null(stored))
        return 0;
    if (vpa_stored_second(stored, "ref", now, &ref, err) < 0 ||
        vpa_stored_amount(stored, "first", &first, err) < 0)
        return vpa_wrap(err, "%s", name);
    if (first >= VPA_BUCKETS_MAX)
        return vpa_fail(err, VPA_INVALID, "%s: first is out of range", name);
    if (add_weights(h, vpa_json_find(stored, "weights"), (uint32_t)first,
                    vpa_time_from_unix(ref, 0), err) < 0)
        return vpa_wrap(err, "%s", name);
    bound_weights(h, now);
    return 0;
}

/* ---- maxima ---- */

void vpa_stored_put_max(struct vpa_json_writer *w, const char *name, const struct vpa_recent_max *m)
{
    vpa_json_member_array(w, name);
    for (size_t i = 0; i < m->count; i++) {
        vpa_json_open_array(w);
        vpa_json_put_int(w, m->items[i].second);
        vpa_json_put_double(w, m->items[i].value);
        vpa_json_close_array(w);
    }
    vpa_json_close_array(w);
}

int vpa_stored_max(const struct vpa_json *object, const char *name, vpa_time now,
                   struct vpa_recent_max *m, struct vpa_error *err)
{
    const struct vpa_json *stored = vpa_json_find(object, name);
    int64_t last = second_of(now) + VPA_STORED_AHEAD_SECONDS;

    if (vpa_json_count(stored) > MAXIMA_MOST)
        return vpa_fail(err, VPA_INVALID, "%s has more than %d entries", name, MAXIMA_MOST);
    vpa_json_foreach (pair, stored) {
        const struct vpa_json *second_node = vpa_json_first(pair);
        int64_t second;
        double value;
        if (!second_node || !vpa_json_int64(second_node, &second) || second < 0 || second > last ||
            !vpa_json_double(vpa_json_next(second_node), &value) || !(value >= 0.0) || value > 1e18)
            return vpa_fail(err, VPA_INVALID, "%s: expected pairs of a second and a value", name);
        vpa_recent_max_push(m, second, value);
    }
    return 0;
}
