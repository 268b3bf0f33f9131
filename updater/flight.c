/* Requests under way, and the waiting of a pass. */
#include "flight.h"

/* How long requests under way may go on when nothing may be changed any more: shutdown, panic, lost
 * leadership. */
#define STOP_PATIENCE (2 * VPA_SECOND)

static void leave_under_way(struct pass *pass, struct flight *f)
{
    if (f->next)
        f->next->previous = f->previous;
    if (f->previous)
        f->previous->next = f->next;
    else
        pass->under_way = f->next;
    f->next = NULL;
    f->previous = NULL;
}

void updater_flight_begin(struct pass *pass, struct flight *f)
{
    pass->in_flight++;
    f->next = pass->under_way;
    if (f->next)
        f->next->previous = f;
    pass->under_way = f;
}

void updater_flight_answered(struct pass *pass, struct flight *f)
{
    leave_under_way(pass, f);
    *pass->finished_tail = f;
    pass->finished_tail = &f->next;
}

static void cancel_all(struct pass *pass)
{
    while (pass->under_way) {
        struct flight *f = pass->under_way;

        leave_under_way(pass, f);
        vpa_kube_cancel(f->request);
        pass->in_flight--;
        f->drop(f);
    }
}

/* An answer came in, or nothing may be changed any more. */
static bool wants_attention(void *ctx)
{
    const struct pass *pass = ctx;

    return pass->finished != NULL || updater_pass_is_stopped(pass);
}

void updater_pass_settle(struct pass *pass)
{
    while (pass->finished) {
        struct flight *f = pass->finished;

        pass->finished = f->next;
        if (!pass->finished)
            pass->finished_tail = &pass->finished;
        pass->in_flight--;
        f->finish(f);
    }
}

static enum pass_token give_up(struct pass *pass, const struct vpa_rate *rate, int64_t now)
{
    pass->all_spent = now > pass->deadline || (pass->spent && pass->spent != rate);
    pass->spent = rate;
    return PASS_TOKEN_REFUSED;
}

enum pass_token updater_pass_take_token(struct pass *pass, struct vpa_rate *rate)
{
    int64_t now = vpa_loop_monotonic(pass->env->loop);
    enum pass_token token = PASS_TOKEN_TAKEN;
    vpa_duration wait;

    if (updater_pass_is_stopped(pass))
        return PASS_TOKEN_REFUSED;
    if (!vpa_rate_reserve(rate, now, pass->deadline - now, &wait))
        return give_up(pass, rate, now);

    int64_t until = now + wait;

    while (now < until) {
        struct vpa_error err;

        if (updater_pass_is_stopped(pass))
            return PASS_TOKEN_REFUSED;
        token = PASS_TOKEN_TAKEN_LATE;
        if (vpa_loop_wait(pass->env->loop, wants_attention, pass, until - now, &err) == 0)
            updater_pass_settle(pass);
        now = vpa_loop_monotonic(pass->env->loop);
    }
    return updater_pass_is_stopped(pass) ? PASS_TOKEN_REFUSED : token;
}

void updater_pass_wait(struct pass *pass)
{
    struct vpa_error err;

    if (vpa_loop_wait(pass->env->loop, wants_attention, pass, VPA_HOUR, &err) == 0)
        updater_pass_settle(pass);
}

static bool has_finished(void *ctx)
{
    const struct pass *pass = ctx;

    return pass->finished != NULL;
}

void updater_pass_drain(struct pass *pass)
{
    struct vpa_loop *loop = pass->env->loop;
    bool stopping = false;
    int64_t until = 0; /* monotonic; 0: there is no hurry */
    struct vpa_error err;

    updater_pass_settle(pass);
    while (pass->in_flight > 0) {
        int64_t now = vpa_loop_monotonic(loop);

        if (!until && updater_pass_is_stopped(pass))
            until = now + STOP_PATIENCE;
        if (vpa_loop_is_stopping(loop)) {
            stopping = true;
            vpa_loop_resume(loop);
        }
        if (until && now >= until) { /* some of it may not even have been sent */
            cancel_all(pass);
            break;
        }
        (void)vpa_loop_wait(loop, until ? has_finished : wants_attention, pass,
                            until ? until - now : VPA_HOUR, &err);
        updater_pass_settle(pass);
    }
    if (stopping)
        vpa_loop_stop(loop);
}
