/*
 * What Crane's algorithm stores in the annotation of a checkpoint: the slots of both resources with
 * the weights of their buckets, and the kills. Reading spreads weights over the buckets of today.
 */
#include <string.h>

#include "crane_private.h"
#include "vpa/base/math.h"

/* How far the clock of who stored a state may be ahead. */
#define CLOCKS_APART (24 * VPA_HOUR)

/* Seven digits: a list of all buckets of all slots has to fit in an annotation. */
static void put_weight(struct vpa_json_writer *w, double weight)
{
    vpa_auto_buf text = VPA_BUF(VPA_DOUBLE_TEXT_MAX);

    vpa_buf_printf(&text, "%.7g", weight > 0.0 ? weight : 0.0);
    vpa_json_put_raw(w, vpa_buf_text(&text), text.len);
}

static void save_slot(const struct crane_slot *slot, struct vpa_json_writer *w)
{
    vpa_json_open_object(w);
    vpa_json_member_int(w, "slot", slot->number);
    vpa_json_member_int(w, "first", slot->h.base);
    vpa_json_member_array(w, "weights");
    for (uint32_t i = 0; i < slot->h.span; i++)
        put_weight(w, vpa_histogram_weight(&slot->h, slot->h.base + i));
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

static void save_kind(const struct crane_state *s, const struct crane_resource *r,
                      enum vpa_kind kind, struct vpa_json_writer *w)
{
    vpa_json_member_object(w, vpa_kind_name(kind));
    vpa_json_member_double(w, "bucketSize", r->predictor.options.first);
    vpa_json_member_int(w, "slotSeconds", r->slot / VPA_SECOND);
    vpa_json_member_array(w, "slots");
    for (size_t i = 0; i < CRANE_SLOTS; i++) {
        if (crane_is_used(&s->slots[kind][i]))
            save_slot(&s->slots[kind][i], w);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

void crane_save(const void *state, const void *prepared, vpa_time now, struct vpa_json_writer *w)
{
    const struct crane_method *p = prepared;
    const struct crane_state *s = state;

    (void)now;
    vpa_json_open_object(w);
    vpa_json_member_micro_time(w, "firstSample", s->first_sample);
    vpa_json_member_micro_time(w, "lastSample", s->last_sample);
    vpa_json_member_int(w, "samples", s->sample_count);
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++)
        save_kind(s, &p->resources[kind], kind, w);
    vpa_json_member_array(w, "oom");
    for (size_t i = 0; i < s->kill_count; i++) {
        vpa_json_open_object(w);
        vpa_json_member_micro_time(w, "time", s->kills[i].t);
        vpa_json_member_int(w, "bytes", s->kills[i].bytes);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
    vpa_json_close_object(w);
}

/* Each weight goes to the middle of its bucket, whatever our buckets are. slot NULL: the weights
 * are read, and thrown away. */
static int load_weights(struct crane_slot *slot, const struct vpa_json *list, int64_t bucket,
                        double size, struct vpa_error *err)
{
    double sum = 0.0;

    vpa_json_foreach (node, list) {
        double weight;

        if (!vpa_json_double(node, &weight) || !(weight >= 0.0) ||
            (sum += weight) > VPA_AGGREGATE_WEIGHT_MAX)
            return vpa_fail(err, VPA_INVALID, "bucket %lld has an impossible weight",
                            (long long)bucket);
        if (slot && weight > 0.0)
            vpa_histogram_add(&slot->h, ((double)bucket + 0.5) * size, weight);
        bucket++;
    }
    return 0;
}

struct stored_kind {
    double size; /* of a bucket */
    vpa_duration slot;
    vpa_time now;
};

static int load_slot(struct crane_state *s, const struct crane_resource *r, enum vpa_kind kind,
                     const struct vpa_json *node, const struct stored_kind *stored,
                     struct vpa_error *err)
{
    const struct vpa_json *weights = vpa_json_find(node, "weights");
    int64_t number, first;

    if (!vpa_json_int64(vpa_json_find(node, "slot"), &number) || number < 0 ||
        !vpa_json_int64(vpa_json_find(node, "first"), &first) || first < 0 ||
        first > CRANE_BUCKETS_MAX ||
        vpa_json_count(weights) > (size_t)(CRANE_BUCKETS_MAX + 2 - first))
        return vpa_fail(err, VPA_INVALID, "slots: impossible slot or first bucket");
    vpa_time begin = (vpa_time)number * stored->slot, middle = begin + stored->slot / 2;
    if (begin > stored->now + CLOCKS_APART)
        return vpa_fail(err, VPA_INVALID, "slot %lld begins later than now", (long long)number);
    /* The last one is not over: nothing of it is later than the last sample. */
    vpa_time latest = vpa_time_is_unset(s->last_sample) ? stored->now : s->last_sample;
    if (middle > latest)
        middle = begin > latest ? begin : latest;
    return load_weights(crane_get_slot(s, kind, crane_slot_number(r, middle)), weights, first,
                        stored->size, err);
}

static int load_kind(struct crane_state *s, const struct crane_resource *r, enum vpa_kind kind,
                     const struct vpa_json *stored, vpa_time now, struct vpa_error *err)
{
    const struct vpa_json *resource = vpa_json_find(stored, vpa_kind_name(kind));
    double size, seconds;

    if (vpa_json_is_null(resource))
        return 0;
    if (vpa_stored_number(resource, "bucketSize", &size, err) < 0 ||
        vpa_stored_number(resource, "slotSeconds", &seconds, err) < 0)
        return vpa_wrap(err, "%s", vpa_kind_name(kind));
    if (!(size > 0.0) || size > 1e15 || !(seconds >= 1.0) || seconds > CRANE_HISTORY_MAX_S)
        return vpa_fail(err, VPA_INVALID, "%s: impossible bucketSize or slotSeconds",
                        vpa_kind_name(kind));
    struct stored_kind from = {size, (vpa_duration)seconds * VPA_SECOND, now};
    vpa_json_foreach (slot, vpa_json_find(resource, "slots")) {
        if (load_slot(s, r, kind, slot, &from, err) < 0)
            return vpa_wrap(err, "%s", vpa_kind_name(kind));
    }
    return 0;
}

static int load_kills(struct crane_state *s, const struct vpa_json *stored, vpa_time now,
                      struct vpa_error *err)
{
    vpa_json_foreach (node, stored) {
        struct crane_kill kill;

        if (vpa_stored_time(node, "time", &kill.t, err) < 0)
            return vpa_wrap(err, "oom");
        if (kill.t > now + CLOCKS_APART)
            return vpa_fail(err, VPA_INVALID, "oom: time is later than now");
        if (!vpa_json_int64(vpa_json_find(node, "bytes"), &kill.bytes) || kill.bytes < 0 ||
            kill.bytes > VPA_AMOUNT_MAX)
            return vpa_fail(err, VPA_INVALID, "oom: bytes is not a number of bytes");
        crane_note_kill(s, kill);
    }
    return 0;
}

int crane_load(void *state, const void *prepared, const struct vpa_json *stored, vpa_time now,
               struct vpa_error *err)
{
    const struct crane_method *p = prepared;
    const struct vpa_json *samples = vpa_json_find(stored, "samples");
    struct crane_state *s = state;

    if (!vpa_json_is_object(stored))
        return vpa_fail(err, VPA_INVALID, "state is not an object");
    if (!vpa_json_is_null(samples) &&
        (!vpa_json_int64(samples, &s->sample_count) || s->sample_count < 0))
        return vpa_fail(err, VPA_INVALID, "state: samples is not a count");
    if (vpa_stored_time(stored, "firstSample", &s->first_sample, err) < 0 ||
        vpa_stored_time(stored, "lastSample", &s->last_sample, err) < 0)
        return -1;
    if (s->last_sample > now + CLOCKS_APART) /* it would be confident for ever */
        return vpa_fail(err, VPA_INVALID, "state: lastSample is later than now");
    if (s->first_sample > s->last_sample)
        s->first_sample = s->last_sample;
    for (enum vpa_kind kind = VPA_KIND_CPU; kind < VPA_KINDS; kind++) {
        if (load_kind(s, &p->resources[kind], kind, stored, now, err) < 0)
            return -1;
    }
    return load_kills(s, vpa_json_find(stored, "oom"), now, err);
}
