#include "ledger_line.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/json/json_writer.h"

static const char *const names[TEXTS] = {"namespace", "vpa", "pod",   "decision",
                                         "rule",      "why", "inputs"};

void ledger_lines_put(struct lines *lines, struct line *line)
{
    if (lines->last)
        lines->last->next = line;
    else
        lines->first = line;
    lines->last = line;
    lines->size += line->size;
}

void ledger_lines_drop_oldest(struct lines *lines)
{
    struct line *line = lines->first;

    lines->first = line->next;
    if (!lines->first)
        lines->last = NULL;
    lines->size -= line->size;
    free(line);
}

void ledger_line_encode(const struct line *line, struct vpa_buf *out)
{
    struct vpa_json_writer w;
    char time[VPA_TIME_TEXT_MAX];

    vpa_time_format_micro(line->time, time);
    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_int(&w, "seq", (int64_t)line->seq);
    vpa_json_member_string(&w, "time", time);
    for (size_t i = 0; i < INPUTS; i++)
        vpa_json_member_string(&w, names[i], line->texts[i]);
    if (line->inputs_len > 0) {
        vpa_json_member_raw(&w, names[INPUTS], line->texts[INPUTS], line->inputs_len);
    }
    vpa_json_close_object(&w);
}

struct line *ledger_line_new(vpa_time time, const char *const texts[TEXTS],
                             const size_t lengths[TEXTS])
{
    size_t size = PACKED_FROM + sizeof(vpa_time);

    for (size_t i = 0; i < TEXTS; i++)
        size += lengths[i] + 1;

    struct line *line = vpa_xmalloc(size);
    char *at = line->space;

    line->next = NULL;
    line->seq = 0;
    line->time = time;
    line->size = size;
    line->inputs_len = lengths[INPUTS];
    for (size_t i = 0; i < TEXTS; i++) {
        memcpy(at, texts[i], lengths[i]);
        line->texts[i] = at;
        at += lengths[i];
        *at++ = '\0';
    }
    return line;
}
