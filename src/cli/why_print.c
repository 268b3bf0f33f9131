/*
 * The answer of `why` about one pod as a text, and as JSON.
 */
#include <string.h>

#include "../../updater/select.h"
#include "output.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "why.h"
#include "vpa/policy/match.h"

const char *why_resources(struct vpa_arena *arena, const struct vpa_resource_list *list)
{
    vpa_auto_buf text = VPA_BUF(64 * VPA_ERROR_TEXT_MAX);

    for (size_t i = 0; i < list->count; i++) {
        vpa_buf_printf(&text, "%s%s ", i ? ", " : "", list->items[i].name);
        vpa_quantity_canonical(&list->items[i].quantity, &text);
    }
    return text.len ? vpa_arena_strdup(arena, vpa_buf_text(&text)) : "-";
}

static void put_line(struct cli *cli, enum cli_color color, const char *fmt, ...) VPA_PRINTF(3, 4);
static void put_line(struct cli *cli, enum cli_color color, const char *fmt, ...)
{
    vpa_auto_buf line = VPA_BUF(CLI_OUT_MAX);
    va_list args;

    va_start(args, fmt);
    vpa_buf_vprintf(&line, fmt, args);
    va_end(args);
    cli_put_colored(&cli->out, cli->color, color, vpa_buf_text(&line));
    vpa_buf_putc(&cli->out, '\n');
}

/* ---- text ---- */

static const char *target_text(struct cli *cli, const struct vpa_object *vpa)
{
    if (vpa->target_ref.present)
        return vpa_arena_printf(&cli->arena, "%s %s", vpa->target_ref.kind, vpa->target_ref.name);
    return "pods by labels";
}

static const char *vpa_text(struct cli *cli, const struct vpa_object *vpa)
{
    return vpa_arena_printf(&cli->arena, "%s (mode %s, of %s)", vpa->meta.name,
                            vpa_object_mode(vpa), target_text(cli, vpa));
}

/* Of those that control the pod: why this one. */
static const char *why_winner(const struct why_control *control)
{
    const struct vpa_object *vpa = control->vpa;

    if (control->governing < 2)
        return "the only one that controls the pod";
    for (size_t i = 0; i < control->rival_count; i++)
        if (control->rivals[i].vpa != vpa && vpa_match_stronger(control->rivals[i].vpa, vpa))
            return updater_select_takes_part(vpa) ? "the oldest of those that change running pods"
                                                  : "the oldest of those that are not Off";
    return "the oldest of those that control the pod";
}

static void print_vpa(struct cli *cli, const struct why *why)
{
    const struct why_control *control = &why->control;

    if (!control->vpa) {
        put_line(cli, CLI_BOLD, "VPA: none");
        put_line(cli, CLI_PLAIN, "  %s",
                 *control->controller
                     ? vpa_arena_printf(&cli->arena, "no VPA of the namespace targets %s",
                                        control->controller)
                     : "the pod has no controller, and no VPA selects it by labels");
    } else {
        put_line(cli, CLI_BOLD, "VPA: %s", vpa_text(cli, control->vpa));
        if (why->pod)
            put_line(cli, CLI_PLAIN, "  %s", why_winner(control));
        else
            put_line(cli, CLI_PLAIN, "  it controls no live pod: %s", why->idle);
    }
    for (size_t i = 0; i < why->condition_count; i++)
        put_line(cli, CLI_PLAIN, "  condition %s: %s", why->conditions[i]->type,
                 vpa_or_empty(why->conditions[i]->message));
    if (control->new_pod && control->new_pod != control->vpa)
        put_line(cli, CLI_PLAIN, "  new pods: %s, the oldest of those that are not Off",
                 vpa_text(cli, control->new_pod));
    for (size_t i = 0; i < control->rival_count; i++)
        if (control->rivals[i].loses)
            put_line(cli, CLI_DIM, "  not %s: %s", control->rivals[i].vpa->meta.name,
                     control->rivals[i].loses);
}

static void print_container(struct cli *cli, const struct why_container *c)
{
    static const struct cli_column columns[] = {{""}, {"RULE"}, {"VALUES"}, {"NOTE"}};
    cli_auto_table table = {0};

    put_line(cli, CLI_BOLD, "Container %s", c->name);
    cli_table_init(&table, &cli->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < c->step_count; i++) {
        cli_table_cell(&table, "");
        cli_table_cell(&table, c->steps[i].rule);
        cli_table_cell(&table, why_resources(&cli->arena, &c->steps[i].values));
        cli_table_cell(&table, c->steps[i].note);
    }
    cli_table_print(&table, false, cli->color, &cli->out);
}

static void print_verdict(struct cli *cli, const struct why_row *row)
{
    const struct cli_verdict *v = row->verdict;

    if (!v)
        put_line(cli, CLI_PLAIN, "  nothing: %s", row->text);
    else if (v->action == CLI_ACTION_NONE)
        put_line(cli, CLI_PLAIN, "  nothing; the first rule that stops it is %s: %s", v->rule,
                 v->why);
    else
        put_line(cli, CLI_YELLOW, "  %s: %s", row->action, v->why);
    if (v && v->patch)
        put_line(cli, CLI_DIM, "  %s", v->patch);
}

static void add_row(struct cli_table *table, const struct why_row *row)
{
    bool acts = row->verdict && row->verdict->action;

    cli_table_color(table, acts ? CLI_YELLOW : CLI_PLAIN, row->action);
    cli_table_cell(table, row->rule);
    cli_table_cell(table, row->text);
}

static void fill_rows(struct cli *cli, struct cli_table *table, const struct why_row *rows,
                      size_t count)
{
    static const struct cli_column columns[] = {{"NAMESPACE"}, {"POD"},  {"VPA"},
                                                {"NEXT PASS"}, {"RULE"}, {"WHY"}};

    cli_table_init(table, &cli->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        cli_table_cell(table, rows[i].pod->meta.ns);
        cli_table_cell(table, rows[i].pod->meta.name);
        cli_table_cell(table, rows[i].vpa ? rows[i].vpa->meta.name : "");
        add_row(table, &rows[i]);
    }
}

void why_print_rows(struct cli *cli, const struct why_row *rows, size_t count)
{
    cli_auto_table table = {0};

    fill_rows(cli, &table, rows, count);
    cli_print_table(cli, &table, "pods");
}

static bool is_one_pod(const struct why *why)
{
    return strcmp(why->subject.kind, "Pod") == 0;
}

static void print_pass(struct cli *cli, struct cli_forecast *forecast, const struct why *why)
{
    static const struct cli_column columns[] = {{""}, {"POD"}, {"NEXT PASS"}, {"RULE"}, {"WHY"}};
    cli_auto_table table = {0};

    put_line(cli, CLI_BOLD, "Updater, next pass");
    if (forecast->standstill)
        put_line(cli, CLI_RED, "  no pass changes anything now: %s", forecast->standstill);
    if (is_one_pod(why)) {
        print_verdict(cli, &why->subject.rows[0]);
        return;
    }
    cli_table_init(&table, &cli->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < why->subject.count; i++) {
        cli_table_cell(&table, "");
        cli_table_cell(&table, why->subject.rows[i].pod->meta.name);
        add_row(&table, &why->subject.rows[i]);
    }
    cli_table_print(&table, false, cli->color, &cli->out);
}

static void print_preview(struct cli *cli, const struct why *why)
{
    put_line(cli, CLI_BOLD, "Webhook, for a new pod%s",
             why->preview.from_template ? "" : " like this one");
    if (!why->has_preview)
        put_line(cli, CLI_PLAIN, "  not known");
    else if (!why->preview.patch)
        put_line(cli, CLI_PLAIN, "  no patch%s%s", *why->preview.why_not ? ": " : "",
                 why->preview.why_not);
    else
        cli_put_diff(&cli->out, cli->color, why->preview.before, why->preview.after);
}

static const char *time_text(struct cli *cli, vpa_time t)
{
    char text[VPA_TIME_TEXT_MAX];

    if (vpa_time_is_unset(t))
        return "-";
    vpa_time_format(t, text);
    return vpa_arena_strdup(&cli->arena, text);
}

static void print_events(struct cli *cli, const struct why *why)
{
    put_line(cli, CLI_BOLD, "Events");
    if (why->event_count == 0)
        put_line(cli, CLI_PLAIN, "  none of the updater");
    for (size_t i = 0; i < why->event_count; i++)
        put_line(cli, CLI_PLAIN, "  %s %s %s: %s", time_text(cli, why->events[i].at),
                 why->events[i].about, why->events[i].reason, why->events[i].message);
    if (why->events_left_out)
        put_line(cli, CLI_DIM, "  %zu older ones", why->events_left_out);
}

static void print_decisions(struct cli *cli, const struct why *why)
{
    const struct cli_decisions *known = &why->decisions;

    put_line(cli, CLI_BOLD, "Decisions");
    if (known->missing)
        put_line(cli, CLI_DIM, "  not known: %s", known->missing);
    else if (known->count == 0)
        put_line(cli, CLI_PLAIN, "  none in the updater's ledger");
    for (size_t i = 0; i < known->count; i++) {
        const struct cli_decision *d = &known->items[i];

        put_line(cli, CLI_PLAIN, "  %s %s %s: %s%s%s", time_text(cli, d->at),
                 *d->pod   ? d->pod
                 : *d->vpa ? d->vpa
                           : "every pod",
                 d->decision, d->rule, *d->why ? ": " : "", d->why);
    }
    if (known->left_out)
        put_line(cli, CLI_DIM, "  %zu older ones", known->left_out);
}

static void print_heading(struct cli *cli, const struct why *why)
{
    const struct why_subject *s = &why->subject;

    if (is_one_pod(why))
        put_line(cli, CLI_BOLD, "Pod %s/%s%s%s", s->ns, s->name,
                 *why->control.controller ? " of " : "", why->control.controller);
    else
        put_line(cli, CLI_BOLD, "%s %s/%s, %zu pod%s%s%s", s->kind, s->ns, s->name, s->count,
                 s->count == 1 ? "" : "s", why->pod ? "; rules are those of " : "",
                 why->pod ? why->pod->meta.name : "");
}

void why_print(struct cli *cli, struct cli_forecast *forecast, const struct why *why)
{
    print_heading(cli, why);
    print_vpa(cli, why);
    for (size_t i = 0; i < why->container_count; i++)
        print_container(cli, &why->containers[i]);
    if (why->pod) {
        print_pass(cli, forecast, why);
        print_preview(cli, why);
    }
    print_events(cli, why);
    print_decisions(cli, why);
}

/* ---- JSON ---- */

static void json_rivals(struct vpa_json_writer *w, const struct why *why)
{
    const struct why_control *control = &why->control;

    vpa_json_member_array(w, "candidates");
    for (size_t i = 0; i < control->rival_count; i++) {
        const struct why_rival *rival = &control->rivals[i];

        vpa_json_open_object(w);
        vpa_json_member_string(w, "vpa", rival->vpa->meta.name);
        vpa_json_member_bool(w, "controls", rival->vpa == control->vpa);
        vpa_json_member_bool(w, "controls_new_pods", rival->vpa == control->new_pod);
        vpa_json_member_string_opt(w, "why_not", rival->loses);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

static void json_idle(struct vpa_json_writer *w, const struct why *why)
{
    vpa_json_member_string(w, "why_no_pods", why->idle);
    vpa_json_member_object(w, "conditions");
    for (size_t i = 0; i < why->condition_count; i++)
        vpa_json_member_string(w, why->conditions[i]->type,
                               vpa_or_empty(why->conditions[i]->message));
    vpa_json_close_object(w);
}

static void json_containers(struct vpa_json_writer *w, const struct why *why)
{
    vpa_json_member_array(w, "containers");
    for (size_t i = 0; i < why->container_count; i++) {
        const struct why_container *c = &why->containers[i];

        vpa_json_open_object(w);
        vpa_json_member_string(w, "name", c->name);
        vpa_json_member_array(w, "rules");
        for (size_t s = 0; s < c->step_count; s++) {
            vpa_json_open_object(w);
            vpa_json_member_string(w, "rule", c->steps[s].rule);
            vpa_json_key(w, "values");
            vpa_resource_list_encode(w, &c->steps[s].values);
            vpa_json_member_string_opt(w, "note", c->steps[s].note);
            vpa_json_close_object(w);
        }
        vpa_json_close_array(w);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

static void json_verdict(struct vpa_json_writer *w, struct cli_forecast *forecast,
                         const struct why_row *row)
{
    const struct cli_verdict *v = row->verdict;

    vpa_json_member_object(w, "updater");
    vpa_json_member_string_opt(w, "standstill", forecast->standstill);
    vpa_json_member_string(w, "action", row->action);
    vpa_json_member_string(w, "rule", row->rule);
    vpa_json_member_string(w, "why", row->text);
    if (v && v->patch) {
        vpa_json_member_raw(w, "patch", v->patch, strlen(v->patch));
    }
    vpa_json_close_object(w);
}

static void json_rows(struct cli *cli, struct vpa_json_writer *w, struct cli_forecast *forecast,
                      const struct why *why)
{
    vpa_auto_buf rows = VPA_BUF(CLI_OUT_MAX);
    cli_auto_table table = {0};

    fill_rows(cli, &table, why->subject.rows, why->subject.count);
    cli_table_json(&table, &rows);
    vpa_json_member_string_opt(w, "standstill", forecast->standstill);
    vpa_json_member_raw(w, "pods", vpa_buf_text(&rows), rows.len);
}

static void json_preview(struct vpa_json_writer *w, const struct why *why)
{
    vpa_json_member_object(w, "webhook");
    vpa_json_member_bool(w, "from_template", why->preview.from_template);
    if (why->preview.patch) {
        vpa_json_member_raw(w, "patch", why->preview.patch, strlen(why->preview.patch));
    }
    vpa_json_member_string_opt(w, "why_not", why->preview.why_not);
    vpa_json_close_object(w);
}

static void json_events(struct vpa_json_writer *w, const struct why *why)
{
    vpa_json_member_array(w, "events");
    for (size_t i = 0; i < why->event_count; i++) {
        vpa_json_open_object(w);
        vpa_json_member_time(w, "time", why->events[i].at);
        vpa_json_member_string(w, "about", why->events[i].about);
        vpa_json_member_string(w, "reason", why->events[i].reason);
        vpa_json_member_string(w, "message", why->events[i].message);
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

static void json_decision(struct vpa_json_writer *w, const struct cli_decision *d)
{
    vpa_json_open_object(w);
    vpa_json_member_time(w, "time", d->at);
    vpa_json_member_string_opt(w, "vpa", d->vpa);
    vpa_json_member_string_opt(w, "pod", d->pod);
    vpa_json_member_string(w, "decision", d->decision);
    vpa_json_member_string(w, "rule", d->rule);
    vpa_json_member_string(w, "why", d->why);
    vpa_json_close_object(w);
}

static void json_decisions(struct vpa_json_writer *w, const struct cli_decisions *known)
{
    if (known->missing) {
        vpa_json_member_string(w, "decisions_missing", known->missing);
        return;
    }
    vpa_json_member_array(w, "decisions");
    for (size_t i = 0; i < known->count; i++)
        json_decision(w, &known->items[i]);
    vpa_json_close_array(w);
}

void why_print_json(struct cli *cli, struct cli_forecast *forecast, const struct why *why)
{
    const struct why_control *control = &why->control;
    struct vpa_json_writer w;
    struct cli_json json;

    cli_json_begin(&json, &w);
    vpa_json_member_string(&w, "namespace", why->subject.ns);
    vpa_json_member_string(&w, is_one_pod(why) ? "pod" : "name", why->subject.name);
    if (!is_one_pod(why))
        vpa_json_member_string(&w, "kind", why->subject.kind);
    vpa_json_member_string(&w, "controller", control->controller);
    vpa_json_member_string_opt(&w, "vpa", control->vpa ? control->vpa->meta.name : NULL);
    vpa_json_member_string_opt(&w, "mode", control->vpa ? vpa_object_mode(control->vpa) : NULL);
    vpa_json_member_string_opt(&w, "vpa_of_new_pods",
                               control->new_pod ? control->new_pod->meta.name : NULL);
    json_rivals(&w, why);
    if (why->idle)
        json_idle(&w, why);
    if (!is_one_pod(why) && why->pod)
        vpa_json_member_string(&w, "rules_of", why->pod->meta.name);
    json_containers(&w, why);
    if (is_one_pod(why))
        json_verdict(&w, forecast, &why->subject.rows[0]);
    else
        json_rows(cli, &w, forecast, why);
    json_preview(&w, why);
    json_events(&w, why);
    json_decisions(&w, &why->decisions);
    cli_json_end(cli, &json);
}
