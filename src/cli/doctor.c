#include "doctor.h"

#include <stdlib.h>
#include <string.h>

#include "lists.h"
#include "output.h"
#include "vpa/base/str.h"

static const char *const level_names[] = {"error", "warning", "ok"};

void doctor_add(struct doctor *d, enum doctor_level level, const char *check, const char *subject,
                const char *advice, const char *fmt, ...)
{
    struct vpa_arena *arena = &d->cli->arena;
    vpa_auto_buf text = VPA_BUF(4 * VPA_ERROR_TEXT_MAX);
    va_list args;

    va_start(args, fmt);
    vpa_buf_vprintf(&text, fmt, args);
    va_end(args);
    VPA_GROW(d->items, d->count, d->capacity);
    d->items[d->count++] = (struct doctor_finding){level, check, vpa_arena_strdup(arena, subject),
                                                   vpa_arena_strdup(arena, vpa_buf_text(&text)),
                                                   vpa_arena_strdup(arena, advice)};
}

const struct vpa_json *doctor_get(struct doctor *d, const char *group_version, const char *ns,
                                  const char *resource, const char *name, bool *missing)
{
    struct cli_kind kind = {group_version, resource, ""};
    const struct vpa_json *object;
    struct vpa_error err;

    if (missing)
        *missing = false;
    if (cli_get(d->cli, &kind, ns, name, &object, &err) == 0)
        return object;
    if (missing)
        *missing = err.code == VPA_NOT_FOUND;
    if (err.code != VPA_NOT_FOUND)
        cli_note(d->cli, "%s %s is not looked at: %s", resource, name, err.text);
    return NULL;
}

/* ---- answer ---- */

static bool is_shown(const struct doctor *d, const struct doctor_finding *f)
{
    return f->level != DOCTOR_OK || !cli_option(d->cli, "quiet");
}

static void print_json(struct doctor *d)
{
    struct vpa_json_writer w;
    struct cli_json json;

    cli_json_begin(&json, &w);
    vpa_json_member_array(&w, "findings");
    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_finding *f = &d->items[i];

        if (!is_shown(d, f))
            continue;
        vpa_json_open_object(&w);
        vpa_json_member_string(&w, "level", level_names[f->level]);
        vpa_json_member_string(&w, "check", f->check);
        vpa_json_member_string(&w, "subject", f->subject);
        vpa_json_member_string(&w, "finding", f->text);
        vpa_json_member_string_opt(&w, "advice", f->advice);
        vpa_json_close_object(&w);
    }
    vpa_json_close_array(&w);
    cli_json_end(d->cli, &json);
}

static void print_text(struct doctor *d)
{
    static const enum cli_color colors[] = {CLI_RED, CLI_YELLOW, CLI_GREEN};
    struct vpa_buf *out = &d->cli->out;

    for (size_t i = 0; i < d->count; i++) {
        const struct doctor_finding *f = &d->items[i];

        if (!is_shown(d, f))
            continue;
        cli_put_colored(out, d->cli->color, colors[f->level], level_names[f->level]);
        vpa_buf_printf(out, " %s: ", f->check);
        cli_put_safe(out, f->subject);
        vpa_buf_puts(out, ": ");
        cli_put_safe(out, f->text);
        if (*f->advice) {
            vpa_buf_puts(out, "\n    ");
            cli_put_safe(out, f->advice);
        }
        vpa_buf_putc(out, '\n');
    }
}

static size_t count_level(const struct doctor *d, enum doctor_level level)
{
    size_t count = 0;

    for (size_t i = 0; i < d->count; i++)
        count += d->items[i].level == level;
    return count;
}

static void print(struct doctor *d)
{
    if (cli_is_json(d->cli) || cli_option(d->cli, "json")) {
        print_json(d);
        return;
    }
    print_text(d);
    vpa_buf_printf(&d->cli->out, "%zu errors, %zu warnings, %zu in order\n",
                   count_level(d, DOCTOR_ERROR), count_level(d, DOCTOR_WARNING),
                   count_level(d, DOCTOR_OK));
}

static int read_server(struct doctor *d, struct vpa_error *err)
{
    const struct vpa_json *root;

    if (vpa_kube_get_json(d->cli->client, "/version", &d->cli->arena, &root, err) < 0)
        return -1;
    d->minor = strtoll(vpa_json_text(root, "minor"), NULL, 10);
    return 0;
}

static int run(struct cli *cli)
{
    static void (*const checks[])(struct doctor *) = {
        doctor_check_crds,   doctor_check_daemons, doctor_check_leases,
        doctor_check_panic,  doctor_check_webhook, doctor_check_reach,
        doctor_check_rights, doctor_check_metrics, doctor_check_objects,
    };
    struct doctor d = {.cli = cli, .ns = cli_option(cli, "installation"), .is_plumb = true};
    struct vpa_error err;
    bool broken;

    if (!cli_option(cli, "namespace"))
        cli->all_namespaces = true;
    if (cli_connect(cli, &err) < 0 || read_server(&d, &err) < 0)
        return cli_complain(cli, &err);
    for (size_t i = 0; i < VPA_COUNT(checks); i++)
        checks[i](&d);
    print(&d);
    broken = count_level(&d, DOCTOR_ERROR) > 0;
    free(d.items);
    return broken ? CLI_FAILED : CLI_OK;
}

static const struct cli_option options[] = {
    {"installation", 0, "NAMESPACE", "Where the daemons run; default: where they are found"},
    {"json", 0, NULL, "As -o json"},
    {"quiet", 'q', NULL, "Errors and warnings only"},
};

const struct cli_command cli_doctor = {
    .name = "doctor",
    .summary = "Whether the installation is healthy, and what to do where it is not",
    .arguments = "",
    .details = "Looks at all namespaces unless one is named.\nExit status 1 when there are errors. "
               "Besides reads it sends access reviews and one "
               "pod with dryRun,\nwhich is never stored.",
    .example = "  # What is wrong, and nothing else\n  kubectl vpa doctor --quiet",
    .options = options,
    .option_count = VPA_COUNT(options),
    .forms = CLI_FORMS_BUT_CSV,
    .run = run,
};
