/*
 * From raw samples to what is remembered.
 *
 * Memory cannot be throttled, so only its peaks matter: of every interval (a day) the largest
 * value, once per container. The interval belongs to the container and starts with its first memory
 * sample. While it is open its peak is already in the histogram, and is exchanged when a larger
 * value comes; so there is no "current interval" apart from the history. A peak is stamped with the
 * end of its interval.
 *
 * An OOM kill says that the container needed more than it had. How much more nobody knows, so a
 * sample of the larger of (request, peak), raised by a ratio and by a minimum, is recorded as a
 * peak of its own kind: it counts like usage, but is not taken as usage when the next OOM is
 * computed, lest repeated kills run away.
 */
#include "vpa/model/container.h"

#include "vpa/base/str.h"

static void set_time(struct vpa_container_state *c, enum vpa_container_time which, vpa_time t)
{
    vpa_time nanos = t % VPA_SECOND;

    if (nanos < 0)
        nanos += VPA_SECOND;
    c->seconds[which] = (int64_t)((t - nanos) / VPA_SECOND);
    c->nanos[which] = (uint32_t)nanos;
}

vpa_time vpa_container_time(const struct vpa_container_state *c, enum vpa_container_time which)
{
    return vpa_time_from_unix(c->seconds[which], c->nanos[which]);
}

void vpa_container_state_init(struct vpa_container_state *c)
{
    *c = (struct vpa_container_state){0};
    set_time(c, VPA_LAST_CPU, VPA_TIME_UNSET);
    set_time(c, VPA_LAST_MEMORY, VPA_TIME_UNSET);
    set_time(c, VPA_WINDOW_END, VPA_TIME_UNSET);
}

static void observe(const struct vpa_usage_observer *observer, const struct vpa_aggregate *a,
                    enum vpa_kind kind, vpa_amount usage, bool is_oom)
{
    if (observer && vpa_settings_needs_recommendation(&a->settings))
        observer->observe(observer->ctx, a, kind, usage, is_oom);
}

bool vpa_container_add_cpu(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                           vpa_amount millis, const struct vpa_usage_observer *observer)
{
    if (millis < 0 || t <= vpa_container_time(c, VPA_LAST_CPU))
        return false;
    observe(observer, a, VPA_KIND_CPU, millis, false);
    vpa_aggregate_add_cpu(a, t, millis);
    set_time(c, VPA_LAST_CPU, t);
    return true;
}

/* Opens the interval that holds t, whole intervals after the end of the last one. */
static vpa_time next_window_end(vpa_time end, vpa_time t, vpa_duration interval)
{
    return end + vpa_duration_truncate(vpa_time_sub(t, end), interval) + interval;
}

static bool add_memory(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                       vpa_amount bytes, bool is_oom, const struct vpa_usage_observer *observer)
{
    vpa_time end = vpa_container_time(c, VPA_WINDOW_END);
    bool new_peak = false;

    if (bytes < 0 || (!is_oom && t < vpa_container_time(c, VPA_LAST_MEMORY)))
        return false;
    set_time(c, VPA_LAST_MEMORY, t);
    if (vpa_time_is_unset(end))
        end = t;
    if (t < end) {
        vpa_amount old = vpa_amount_max(c->memory_peak, c->oom_peak);
        /* A peak of 0 is taken for "none", so nothing follows it in its interval; upstream does so.
         */
        if (old != 0 && bytes > old) {
            vpa_aggregate_subtract_memory(a, end, old);
            new_peak = true;
        }
    } else {
        end = next_window_end(end, t, a->settings.memory_interval);
        c->memory_peak = 0;
        c->oom_peak = 0;
        new_peak = true;
    }
    set_time(c, VPA_WINDOW_END, end);
    observe(observer, a, VPA_KIND_MEMORY, bytes, is_oom);
    if (new_peak) {
        vpa_aggregate_add_memory(a, end, bytes);
        if (is_oom)
            c->oom_peak = bytes;
        else
            c->memory_peak = bytes;
    }
    return true;
}

bool vpa_container_add_memory(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                              vpa_amount bytes, const struct vpa_usage_observer *observer)
{
    return add_memory(c, a, t, bytes, false, observer);
}

/* "2026-01-31 02:31:30.5 +0000 UTC", as Go prints a time. */
static void format_go_time(vpa_time t, struct vpa_buf *out)
{
    char text[VPA_TIME_TEXT_MAX];
    struct vpa_container_state split; /* borrowed for its division of an instant */

    set_time(&split, VPA_LAST_CPU, t);
    vpa_time_format(t, text);
    for (const char *p = text; *p; p++) {
        if (*p != 'Z')
            vpa_buf_putc(out, *p == 'T' ? ' ' : *p);
    }
    if (split.nanos[VPA_LAST_CPU]) {
        vpa_buf_printf(out, ".%09u", split.nanos[VPA_LAST_CPU]);
        while (vpa_buf_text(out)[out->len - 1] == '0')
            vpa_buf_truncate(out, out->len - 1);
    }
    vpa_buf_puts(out, " +0000 UTC");
}

static int fail_too_old(vpa_time t, struct vpa_error *err)
{
    vpa_auto_buf text = VPA_BUF(2 * VPA_TIME_TEXT_MAX);

    format_go_time(t, &text);
    return vpa_fail(err, VPA_INVALID, "OOM event will be discarded - it is too old (%s)",
                    vpa_buf_text(&text));
}

/* Saturated (decision U15). */
static vpa_amount add_amounts(vpa_amount a, vpa_amount b)
{
    vpa_amount sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int vpa_container_record_oom(struct vpa_container_state *c, struct vpa_aggregate *a, vpa_time t,
                             vpa_amount requested, const struct vpa_usage_observer *observer,
                             struct vpa_error *err)
{
    vpa_time last = vpa_container_time(c, VPA_LAST_MEMORY);

    if (!vpa_time_is_unset(last) && t < last - a->settings.memory_interval)
        return fail_too_old(t, err);

    vpa_amount used = vpa_amount_max(requested, c->memory_peak);
    vpa_amount needed =
        vpa_amount_max(add_amounts(used, vpa_amount_from_double(a->settings.oom_min_bump_up)),
                       vpa_amount_scale(used, a->settings.oom_bump_up_ratio));
    add_memory(c, a, t, needed, true, observer); /* never refused: needed is not negative */
    return 0;
}

bool vpa_container_open_peak(const struct vpa_container_state *c, vpa_time now, vpa_time *end,
                             vpa_amount *peak)
{
    *end = vpa_container_time(c, VPA_WINDOW_END);
    *peak = vpa_amount_max(c->memory_peak, c->oom_peak);
    return now < *end;
}

bool vpa_container_resume(struct vpa_container_state *c, struct vpa_aggregate *a,
                          const struct vpa_open_interval *interval, vpa_time now)
{
    vpa_time end = vpa_container_time(c, VPA_WINDOW_END);
    vpa_amount known = vpa_amount_max(c->memory_peak, c->oom_peak);
    vpa_amount stored = vpa_amount_max(interval->usage, interval->oom);

    if (!vpa_time_is_unset(end)) {
        /* All that it has came from an older text: the history that was read with this one has the
         * old peak. */
        bool goes_on = vpa_time_is_unset(vpa_container_time(c, VPA_LAST_MEMORY));
        bool is_later = interval->end > end;
        /* Its own interval is over, so the history keeps that peak beside the stored one. */
        bool follows = is_later && !goes_on && now >= end;
        bool replaces = is_later ? goes_on : end == interval->end && stored > known;

        if (!follows && !replaces)
            return false;
        if (replaces)
            vpa_aggregate_subtract_memory(a, end, known);
    }
    set_time(c, VPA_WINDOW_END, interval->end);
    c->memory_peak = interval->usage;
    c->oom_peak = interval->oom;
    vpa_aggregate_add_memory(a, interval->end, stored);
    return true;
}

/* Its times; those that c has are later. */
static void take_times(struct vpa_container_state *c, const struct vpa_container_state *past)
{
    for (size_t i = VPA_LAST_CPU; i <= VPA_LAST_MEMORY; i++) {
        if (vpa_time_is_unset(vpa_container_time(c, (enum vpa_container_time)i)))
            set_time(c, (enum vpa_container_time)i,
                     vpa_container_time(past, (enum vpa_container_time)i));
    }
}

void vpa_container_join(struct vpa_container_state *c, struct vpa_aggregate *a,
                        const struct vpa_container_state *past)
{
    vpa_time end = vpa_container_time(c, VPA_WINDOW_END);
    vpa_time past_end = vpa_container_time(past, VPA_WINDOW_END);

    take_times(c, past);
    if (vpa_time_is_unset(past_end) || vpa_container_time(c, VPA_LAST_MEMORY) >= past_end)
        return;
    vpa_aggregate_subtract_memory(a, past_end, past->memory_peak);
    if (!vpa_time_is_unset(end))
        vpa_aggregate_subtract_memory(a, end, vpa_amount_max(c->memory_peak, c->oom_peak));
    c->memory_peak = vpa_amount_max(c->memory_peak, past->memory_peak);
    set_time(c, VPA_WINDOW_END, past_end);
    vpa_aggregate_add_memory(a, past_end, vpa_amount_max(c->memory_peak, c->oom_peak));
}
