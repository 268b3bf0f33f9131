/*
 * Few scales may be asked for at a time, and what waits for its turn is bounded (vpa/kube/owner.h),
 * because strangers can make us ask. The targets of all VPAs may be more than that: so a round
 * holds the list, and every tenth of a second hands over some that are not known yet, until all
 * are.
 */
#include "scales.h"

#include <stdlib.h>

#include "vpa/base/log.h"

#define TURN (100 * VPA_MILLISECOND)
/* More than are answered in a turn; a pod's own owner waits for one of each namespace at most. */
#define TURN_MAX 128

struct scales {
    struct vpa_loop *loop;
    struct vpa_owners *owners;
    struct vpa_cache *vpas;
    struct vpa_timer *turn;
    struct vpa_cache_list round; /* the first of them are those whose scales are not known yet */
    size_t unknown;              /* so many */
    int64_t begun;               /* the first round, monotonic */
    size_t answered;             /* scales that were at the last turn, of whatever target */
    int64_t moved;               /* when that was another number */
    bool any_round;
    bool asked; /* the first round is over */
};

/* Or nothing that is asked for. */
static bool is_known(const struct scales *s, const struct vpa_object *vpa)
{
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);

    return !vpa->target_ref.present || vpa_owners_keep_target(s->owners, &target);
}

static void put_behind(struct scales *s, size_t i)
{
    const void *known = s->round.objects[i];

    s->unknown--;
    s->round.objects[i] = s->round.objects[s->unknown];
    s->round.objects[s->unknown] = known;
}

/* Only the first round is waited for. */
static void lose_patience(struct scales *s)
{
    int64_t now = vpa_loop_monotonic(s->loop);
    size_t answered = vpa_owners_scale_count(s->owners);

    if (answered != s->answered)
        s->moved = now;
    s->answered = answered;
    if (s->asked || (now - s->begun < SCALES_PATIENCE && now - s->moved < SCALES_STALL))
        return;
    s->asked = true;
    VPA_WARN("Scales of targets are not known yet, their pods are admitted as they are until then",
             VPA_KV("vpas", (int64_t)s->unknown));
}

static void on_turn(void *ctx)
{
    struct scales *s = ctx;

    for (size_t i = 0; i < s->unknown && i < TURN_MAX;) {
        if (is_known(s, s->round.objects[i]))
            put_behind(s, i);
        else
            i++;
    }
    if (s->unknown > 0) {
        lose_patience(s);
        vpa_timer_start(s->turn, TURN);
        return;
    }
    s->asked = true;
    vpa_cache_list_release(&s->round);
}

struct scales *scales_new(struct vpa_loop *loop, struct vpa_owners *owners, struct vpa_cache *vpas)
{
    struct scales *s = vpa_xcalloc(1, sizeof(*s));

    s->loop = loop;
    s->owners = owners;
    s->vpas = vpas;
    s->turn = vpa_timer_new(loop, on_turn, s);
    return s;
}

void scales_free(struct scales *s)
{
    if (!s)
        return;
    vpa_timer_free(s->turn);
    vpa_cache_list_release(&s->round);
    free(s);
}

void scales_begin_round(struct scales *s)
{
    s->moved = vpa_loop_monotonic(s->loop);
    if (!s->any_round)
        s->begun = s->moved;
    s->any_round = true;
    vpa_cache_list_release(&s->round);
    vpa_cache_list(s->vpas, VPA_CACHE_KNOWN, &s->round);
    s->unknown = s->round.count;
    on_turn(s);
}

bool scales_were_asked(const struct scales *s)
{
    return s->asked;
}

void scales_follow(void *ctx, const struct vpa_object *vpa)
{
    struct scales *s = ctx;
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);

    if (vpa->target_ref.present)
        vpa_owners_follow_target(s->owners, &target);
}
