/* /kubesim/: what drives the simulator itself. */
#include "sim.h"

#include <string.h>

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
    if (!strcmp(what, "clock")) {
        struct jv *out = jv_obj(c->a);
        jv_set_str(c->a, out, "now", sim_now_micro(c->sim, c->a));
        jv_set(c->a, out, "rate", jv_number(c->a, vpa_arena_printf(c->a, "%g", sim_rate(c->sim))));
        answer_json(c, 200, out);
        return 0;
    }
    return answer_404_text(c);
}
