/*
 * The list of cases in which we differ from the reference on purpose (see golden.h). Read once; its
 * text and its parsed values live until the end of the process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"
#include "vpa/json/json_writer.h"

#define TEXT_MAX ((size_t)64 << 20)

static struct vpa_arena arena;
static struct golden_deviation *lines;
static size_t line_count, line_capacity;
static struct vpa_table by_key;

static void fail(const char *path, unsigned number, const char *what)
{
    fprintf(stderr, "%s:%u: %s\n", path, number, what);
    exit(2);
}

/* set id fingerprint decisions json */
static void read_line(const char *path, unsigned number, char *text)
{
    char *words[4];
    struct golden_deviation d = {0};
    struct vpa_error err;

    for (size_t i = 0; i < 4; i++) {
        words[i] = text;
        text = strchr(text, ' ');
        if (!text)
            fail(path, number, "needs: set id fingerprint decisions json");
        *text++ = '\0';
    }
    if (vpa_json_parse(&arena, text, strlen(text), &d.values, &err) < 0)
        fail(path, number, err.text);
    d.set = vpa_arena_strdup(&arena, words[0]);
    d.id = vpa_arena_strdup(&arena, words[1]);
    d.fingerprint = vpa_arena_strdup(&arena, words[2]);
    d.decisions = vpa_arena_strdup(&arena, words[3]);
    d.key = vpa_arena_printf(&arena, "%s %s", d.set, d.id);
    VPA_GROW(lines, line_count, line_capacity);
    lines[line_count++] = d;
}

void golden_deviations_load(const char *path)
{
    vpa_auto_free char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    FILE *f = fopen(path, "r");

    if (!f)
        return;
    for (ssize_t len; (len = getline(&line, &room, f)) > 0;) {
        number++;
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (*line && *line != '#')
            read_line(path, number, line);
    }
    fclose(f);
    for (size_t i = 0; i < line_count; i++)
        vpa_table_put(&by_key, lines[i].key, &lines[i]);
}

enum golden_listing golden_deviation_find(const struct golden_case *c,
                                          struct golden_deviation **out)
{
    char fingerprint[17];
    struct golden_deviation *d = vpa_table_find(&by_key, golden_label(c, "%s %s", c->set, c->id));

    if (!d)
        return GOLDEN_UNLISTED;
    golden_fingerprint(c, fingerprint);
    if (strcmp(fingerprint, d->fingerprint) == 0) {
        *out = d;
        return GOLDEN_LISTED;
    }
    return strncmp(fingerprint, d->fingerprint, 8) == 0 ? GOLDEN_CHANGED_REFERENCE
                                                        : GOLDEN_UNLISTED;
}

void golden_deviations_unseen(const char *set, void (*fn)(const struct golden_deviation *d))
{
    for (size_t i = 0; i < line_count; i++)
        if (strcmp(lines[i].set, set) == 0 && !lines[i].seen)
            fn(&lines[i]);
}

/* FNV-1a: stable, unlike the seeded hash of the tables. */
static uint32_t fnv(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return hash;
}

static uint32_t fnv_node(uint32_t hash, const struct vpa_json *node)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(TEXT_MAX);

    if (!node)
        return fnv(hash, "absent");
    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, node);
    return fnv(hash, vpa_buf_text(&text));
}

void golden_fingerprint(const struct golden_case *c, char out[17])
{
    const uint32_t start = UINT32_C(2166136261);
    uint32_t in = fnv_node(fnv(start, c->file), c->in);

    snprintf(out, 17, "%08" PRIx32 "%08" PRIx32, in, fnv_node(fnv_node(start, c->out), c->differs));
}
