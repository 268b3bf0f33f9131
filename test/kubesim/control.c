/* /kubesim/: what drives the simulator itself. */
#include "controllers.h"
#include "sim.h"

#include <string.h>
#include <time.h>

/* {"rate": R} and {"advance": "1h"}: virtual time never runs backwards. */
static int set_clock(struct ctx *c, const struct jv *body)
{
    vpa_duration forward = 0;
    struct vpa_error err;
    const char *text = jv_text(jv_get(body, "advance"));

    if (text && (vpa_duration_parse(text, &forward, &err) < 0 || forward < 0))
        return fail(c, 400, "BadRequest", "advance: not a duration that goes forward");
    clock_change(c->sim, jv_get(body, "rate") ? jv_double(jv_get(body, "rate")) : sim_rate(c->sim),
                 forward);
    return 0;
}

/* Whether all that has happened was handled by the controllers and sent to the watches. */
static bool is_quiet(struct ctx *c)
{
    sim_lock(c);
    bool quiet = controllers_are_quiet(c->sim) && watches_are_quiet(c->sim);
    sim_unlock(c);
    return quiet;
}

/* Waits for that, but not for longer than a second: a client may have stopped reading. */
static int handle_quiet(struct ctx *c)
{
    struct timespec step = {0, 300000};
    int64_t until = real_millis() + 1000;
    bool quiet;

    while (!(quiet = is_quiet(c)) && real_millis() < until)
        nanosleep(&step, NULL);
    answer_text(c, quiet ? 200 : 503, quiet ? "ok\n" : "busy\n");
    return 0;
}

int handle_control(struct ctx *c)
{
    const char *what = c->req->path + strlen("/kubesim/");

    if (!strcmp(what, "faults"))
        return handle_faults(c);
    if (!strcmp(what, "requests"))
        return handle_requests(c);
    if (!strcmp(what, "compact")) {
        sim_lock(c);
        store_compact(&c->sim->store);
        answer_text(c, 200, "ok\n");
        return 0;
    }
    if (!strcmp(what, "quiet"))
        return handle_quiet(c);
    if (!strcmp(what, "clock")) {
        struct jv *body;
        if (c->req->body_len &&
            jv_parse(c->a, c->req->body, c->req->body_len, &body, NULL, NULL) == 0 &&
            set_clock(c, body) < 0)
            return -1;
        struct jv *out = jv_obj(c->a);
        jv_set_str(c->a, out, "now", sim_now_micro(c->sim, c->a));
        jv_set(c->a, out, "rate", jv_number(c->a, vpa_arena_printf(c->a, "%g", sim_rate(c->sim))));
        answer_json(c, 200, out);
        return 0;
    }
    return answer_404_text(c);
}
