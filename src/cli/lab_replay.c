/*
 * `lab replay`: a VPA object over a recorded history, as a table of what would have been done and
 * as a picture.
 */
#include <math.h>

#include "lab.h"
#include "lab_prometheus.h"
#include "lab_story.h"
#include "lab_top.h"
#include "output.h"
#include "vpa/base/file.h"
#include "vpa/base/str.h"
#include "vpa/json/yaml.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define SVG_MAX ((size_t)64 << 20)

static int read_vpa(struct cli *cli, const char *path, struct vpa_object *out,
                    struct vpa_error *err)
{
    vpa_auto_free char *text = NULL;
    const struct vpa_json *root;
    size_t len;

    if (vpa_read_file(path, CONFIG_MAX, &text, &len, err) < 0)
        return -1;
    if (vpa_yaml_parse(&cli->arena, text, len, &root, err) < 0)
        return vpa_wrap(err, "%s", path);
    if (!vpa_str_eq(vpa_json_string(vpa_json_find(root, "kind")), "VerticalPodAutoscaler"))
        return vpa_fail(err, VPA_INVALID, "%s: expected one object of kind VerticalPodAutoscaler",
                        path);
    if (vpa_object_decode(&cli->arena, root, out, err) < 0)
        return vpa_wrap(err, "%s", path);
    return 0;
}

static void put_cell(struct cli_table *table, enum vpa_kind kind, double value)
{
    if (isnan(value))
        cli_table_cell(table, "-");
    else if (kind == VPA_KIND_CPU)
        cli_table_printf(table, "%.0fm", value * 1000.0);
    else
        cli_table_printf(table, "%.1fMi", value / 1048576.0);
}

static void put_events(struct cli_table *table, unsigned events)
{
    cli_table_printf(table, "%s%s%s%s%s", events & LAB_STARTED ? "started" : "",
                     events & LAB_EVICTED ? "evicted" : "", events & LAB_RESIZED ? "resized" : "",
                     (events & LAB_OOM) && events != LAB_OOM ? ", " : "",
                     events & LAB_OOM ? "OOM" : "");
}

/* A row for each window in which something happened. */
static void print_events(struct cli *cli, const struct lab_story *s)
{
    static const struct cli_column columns[] = {
        {"TIME"},
        {"EVENT"},
        {"CPU", true},
        {"MEMORY", true},
        {"CPU USED", true},
        {"MEMORY USED", true},
        {"CPU TARGET", true},
        {"MEMORY TARGET", true},
    };
    cli_auto_table table = {0};

    cli_table_init(&table, &cli->arena, columns, VPA_COUNT(columns));
    for (size_t i = 0; i < s->count; i++) {
        const struct lab_moment *m = &s->moments[i];
        char time[VPA_TIME_TEXT_MAX];
        if (m->events == LAB_QUIET)
            continue;
        vpa_time_format(vpa_time_from_unix(m->second, 0), time);
        cli_table_cell(&table, time);
        put_events(&table, m->events);
        put_cell(&table, VPA_KIND_CPU, m->request[VPA_KIND_CPU]);
        put_cell(&table, VPA_KIND_MEMORY, m->request[VPA_KIND_MEMORY]);
        put_cell(&table, VPA_KIND_CPU, m->usage[VPA_KIND_CPU]);
        put_cell(&table, VPA_KIND_MEMORY, m->usage[VPA_KIND_MEMORY]);
        put_cell(&table, VPA_KIND_CPU, m->bound[VPA_TARGET][VPA_KIND_CPU]);
        put_cell(&table, VPA_KIND_MEMORY, m->bound[VPA_TARGET][VPA_KIND_MEMORY]);
    }
    cli_print_table(cli, &table, "events");
}

static int write_picture(const struct lab_story *s, const char *path, struct vpa_error *err)
{
    vpa_auto_buf svg = VPA_BUF(SVG_MAX);

    lab_story_draw(s, &svg);
    return cli_write_file(path, &svg, err);
}

/* A trace, a recording, or answers of Prometheus: of CPU, and of memory with --memory. */
static int read_history(const struct cli *cli, const char *path, struct lab_trace *out,
                        struct vpa_error *err)
{
    const char *memory = cli_option(cli, "memory");
    const struct lab_top_choice choice = {.container = cli_option(cli, "container"),
                                          .pods = cli_option(cli, "pods")};

    if (vpa_str_ends_with(path, ".yaml") || vpa_str_ends_with(path, ".yml"))
        return vpa_fail(err, VPA_INVALID,
                        "%s: an object of Kubernetes is no history; what checkpoints hold is shown "
                        "by lab checkpoint",
                        path);
    if (!memory && vpa_str_ends_with(path, LAB_TOP_EXTENSION))
        return lab_top_read(path, &choice, out, err);

    if (memory || vpa_str_ends_with(path, ".json"))
        return lab_prometheus_read(path, memory, out, err);
    return lab_trace_read(path, out, err);
}

/* The container whose policy counts: the one asked for; of a recording the one that is in it. NULL:
 * the VPA object says. */
static const char *container_of(struct cli *cli, const char *path, const struct lab_trace *trace)
{
    const char *given = cli_option(cli, "container");

    if (given || !vpa_str_ends_with(path, LAB_TOP_EXTENSION))
        return given;
    return vpa_arena_strdup(&cli->arena, trace->id);
}

static void note_left_out(struct cli *cli, const struct vpa_object *vpa, const char *container)
{
    vpa_auto_buf names = VPA_BUF(VPA_ERROR_TEXT_MAX);

    lab_story_left_out(vpa, container, &names);
    if (names.len)
        cli_note(cli, "not replayed: %s", vpa_buf_text(&names));
}

int lab_replay_config(struct cli *cli, const char *path, struct vpa_error *err)
{
    const char *config = cli_option(cli, "config");
    const char *svg = cli_option(cli, "svg");
    struct lab_story story = {0};
    struct lab_trace trace;
    struct vpa_object vpa;

    if (!config)
        return vpa_fail(err, VPA_INVALID,
                        "replay needs --config FILE with a VerticalPodAutoscaler");
    if (read_vpa(cli, config, &vpa, err) < 0 || read_history(cli, path, &trace, err) < 0)
        return -1;
    const char *container = container_of(cli, path, &trace);
    int result = lab_story_tell(&vpa, container, &trace, &story, err);
    lab_trace_release(&trace);
    if (result == 0) {
        note_left_out(cli, &vpa, container);
        print_events(cli, &story);
    }
    if (result == 0 && svg)
        result = write_picture(&story, svg, err);
    lab_story_release(&story);
    return result;
}
