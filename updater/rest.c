/* Why pods are left alone. */
#include "rest.h"

#include <stdlib.h>

#include "announce.h"
#include "told.h"
#include "words.h"
#include "vpa/base/mem.h"

static char *inputs_of(struct work *w, const struct vpa_rest_facts *facts)
{
    struct vpa_json_writer writer;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_LINE_MAX);

    vpa_json_writer_init(&writer, &inputs);
    vpa_rest_facts_encode(&writer, &w->pass->scratch, facts);
    return vpa_buf_failed(&inputs) ? NULL : vpa_buf_take(&inputs);
}

static void note(struct work *w, size_t pod, enum vpa_rest rest, enum vpa_rest turn)
{
    w->rests[rest]++;
    if (!updater_told_news(w->pass->env, w->told, rest))
        return;

    struct rest_note *n = vpa_xcalloc(1, sizeof(*n));

    vpa_arena_clear(&w->pass->scratch);

    struct vpa_rest_facts facts = updater_work_state(w, pod);

    facts.turn = turn;
    n->rest = rest;
    n->pod = pod;
    n->why = vpa_xstrdup(updater_words_of_rest(&w->pass->scratch, w, pod, rest));
    n->inputs = inputs_of(w, &facts);
    n->next = w->notes;
    w->notes = n;
}

void updater_rest_note(struct work *w, size_t pod, enum vpa_rest rest)
{
    note(w, pod, rest, VPA_REST_NONE);
}

void updater_rest_note_turn(struct work *w, size_t pod, enum vpa_rest rest)
{
    const struct vpa_rest_facts state = updater_work_state(w, pod);

    note(w, pod, vpa_rest_refine(&state, rest), rest);
}

static void enter(const struct work *w, const struct rest_note *n)
{
    size_t others = w->rests[n->rest] - 1;
    vpa_auto_free char *why = others
                                  ? vpa_xprintf("%s; so it is for %zu more of its VPA's %zu pods",
                                                n->why, others, w->pod_count)
                                  : vpa_xstrdup(n->why);

    updater_write_down(w->pass->env, w->vpa, w->pods[n->pod]->meta.name,
                       &(struct vpa_ledger_entry){.decision = UPDATER_LEAVES_ALONE,
                                                  .rule = vpa_rest_name(n->rest),
                                                  .why = why,
                                                  .inputs = n->inputs});
}

/* In the order of the rules, whatever pod came first. */
static void enter_all(const struct work *w)
{
    for (int rest = 0; w->notes && rest < VPA_REST_COUNT; rest++) {
        for (const struct rest_note *n = w->notes; n; n = n->next) {
            if (n->rest == (enum vpa_rest)rest)
                enter(w, n);
        }
    }
}

void updater_rest_publish(struct work *w)
{
    if (!w->told)
        return;
    enter_all(w);
    updater_work_drop_notes(w);
    updater_told_turn(w->told);
}
