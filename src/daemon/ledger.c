/*
 * The ledger: a queue of lines. What goes in at the end pushes out the oldest, so memory is bounded
 * by a number of bytes, whatever the length of entries. An entry gets its number with its place in
 * the queue, so numbers are in order. It is kept as the texts that it was made of; they become JSON
 * when somebody reads, because most entries are never read.
 *
 * Lines are kept packed (base/pack.h), each against the one before: a recommendation takes 90 bytes
 * instead of 700. They stand in blocks, so that the oldest can go and a reader need not unpack all:
 * the first line of a block is packed against nothing. What stands in a block never changes, lines
 * only come behind it; so a reader takes references under the lock, and unpacks without it.
 */
#include "vpa/daemon/ledger.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/pack.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json_writer.h"

enum { NS, VPA, POD, DECISION, RULE, WHY, INPUTS, TEXTS };
static const char *const names[TEXTS] = {"namespace", "vpa", "pod",   "decision",
                                         "rule",      "why", "inputs"};

struct line {
    struct line *next;
    uint64_t seq;
    size_t size;              /* of all of it */
    const char *texts[TEXTS]; /* behind this, each with a NUL */
    size_t inputs_len;
    vpa_time time; /* from here on it is what is packed */
    char space[];
};
#define PACKED_FROM offsetof(struct line, time)

struct lines { /* oldest first */
    struct line *first, *last;
    size_t size;
};

/* Lines, each: how long it is unpacked and packed (uint16_t), and the packed bytes. */
struct block {
    struct block *next;
    unsigned refs; /* the ledger's and those of readers; under the lock */
    uint64_t first_seq, last_seq;
    vpa_time newest;
    size_t room, used;
    char space[];
};
#define BLOCK_ROOM ((size_t)8 << 10)
#define BLOCK_ROOM_MIN ((size_t)256)
#define BLOCKS_WANTED 8 /* at least, where little may be kept: what goes at once is a block */

struct vpa_ledger {
    pthread_mutex_t lock; /* of what follows */
    struct block *oldest, *newest;
    struct line *last; /* the newest line; NULL: none */
    size_t size;       /* of the blocks */
    size_t size_max;
    struct vpa_buf packed; /* a line */
    uint64_t seq;
    struct lines queue; /* for the file */
    bool stopping;
    bool overrun; /* said */
    pthread_cond_t due;
    /* The file; once there is the thread, only that touches it. */
    pthread_t writer;
    bool has_writer;
    char *path; /* NULL: none is wanted */
    int fd;     /* -1: none */
    int64_t file_size, file_max;
    bool failed; /* said */
};

/* Of a line of JSON: what is beside the texts, and what a byte of them may become. */
#define FRAME_MAX 256
#define ESCAPED_MAX 6

/* ---- lines ---- */

static void put_line(struct lines *lines, struct line *line)
{
    if (lines->last)
        lines->last->next = line;
    else
        lines->first = line;
    lines->last = line;
    lines->size += line->size;
}

static void drop_oldest(struct lines *lines)
{
    struct line *line = lines->first;

    lines->first = line->next;
    if (!lines->first)
        lines->last = NULL;
    lines->size -= line->size;
    free(line);
}

static void encode(const struct line *line, struct vpa_buf *out)
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
        vpa_json_key(&w, names[INPUTS]);
        vpa_json_put_raw(&w, line->texts[INPUTS], line->inputs_len);
    }
    vpa_json_close_object(&w);
}

static struct line *line_new(vpa_time time, const char *const texts[TEXTS],
                             const size_t lengths[TEXTS])
{
    size_t size = PACKED_FROM + sizeof(vpa_time);

    for (size_t i = 0; i < TEXTS; i++)
        size += lengths[i] + 1;

    struct line *line = vpa_xmalloc(size);
    char *at = line->space;

    line->next = NULL;
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

/* ---- blocks ---- */

static struct vpa_slice slice_of(const struct line *line)
{
    return (struct vpa_slice){(const char *)line + PACKED_FROM,
                              line ? line->size - PACKED_FROM : 0};
}

/* Under the lock, as all that counts references. */
static void unref(struct block *block)
{
    if (--block->refs == 0)
        free(block);
}

static void drop_oldest_block(struct vpa_ledger *l)
{
    struct block *block = l->oldest;

    l->oldest = block->next;
    if (!l->oldest)
        l->newest = NULL;
    l->size -= sizeof(*block) + block->room;
    unref(block);
}

/* For a line of that many bytes. NULL: that is more than may be kept. */
static struct block *add_block(struct vpa_ledger *l, size_t len)
{
    size_t room = l->size_max / BLOCKS_WANTED;

    room = room < BLOCK_ROOM_MIN ? BLOCK_ROOM_MIN : room > BLOCK_ROOM ? BLOCK_ROOM : room;
    room = len > room ? len : room;
    if (sizeof(struct block) + room > l->size_max)
        return NULL;
    while (l->size + sizeof(struct block) + room > l->size_max)
        drop_oldest_block(l);

    struct block *block = vpa_xmalloc(sizeof(*block) + room);
    *block = (struct block){.refs = 1, .first_seq = l->seq, .newest = VPA_TIME_UNSET, .room = room};
    if (l->newest)
        l->newest->next = block;
    else
        l->oldest = block;
    l->newest = block;
    l->size += sizeof(*block) + room;
    return block;
}

/* The packed line; false when the block has no room for it. */
static bool put_packed(struct block *block, const struct line *line, const struct vpa_buf *packed)
{
    const uint16_t lengths[] = {(uint16_t)(line->size - PACKED_FROM), (uint16_t)packed->len};

    if (!block || block->room - block->used < sizeof(lengths) + packed->len)
        return false;
    memcpy(block->space + block->used, lengths, sizeof(lengths));
    memcpy(block->space + block->used + sizeof(lengths), packed->data, packed->len);
    block->used += sizeof(lengths) + packed->len;
    block->last_seq = line->seq;
    if (line->time > block->newest)
        block->newest = line->time;
    return true;
}

static void pack(struct vpa_ledger *l, const struct line *before, const struct line *line)
{
    vpa_buf_clear(&l->packed);
    vpa_pack(slice_of(before), slice_of(line), &l->packed);
}

/* Takes the line. */
static void keep(struct vpa_ledger *l, struct line *line)
{
    line->seq = l->seq;
    if (l->newest && l->last) {
        pack(l, l->last, line);
        if (put_packed(l->newest, line, &l->packed)) {
            free(l->last);
            l->last = line;
            return;
        }
    }
    free(VPA_STEAL(l->last));
    pack(l, NULL, line);
    if (put_packed(add_block(l, 2 * sizeof(uint16_t) + l->packed.len), line, &l->packed))
        l->last = line;
    else
        free(line);
}

/* Makes the line of what lies behind PACKED_FROM. */
static void find_texts(struct line *line)
{
    const char *at = line->space;

    for (size_t i = 0; i < TEXTS; i++) {
        line->texts[i] = at;
        at += strlen(at) + 1;
    }
    line->inputs_len = strlen(line->texts[INPUTS]);
}

/* A reader's place in a block. */
struct place {
    const struct block *block;
    size_t used; /* when the references were taken */
    size_t at;
    uint64_t seq;
    struct line *line, *spare; /* the line there, the one before */
};

/* False at the end. */
static bool next_line(struct place *p)
{
    uint16_t lengths[2];
    struct vpa_error err;

    if (p->at == p->used)
        return false;
    memcpy(lengths, p->block->space + p->at, sizeof(lengths));
    struct vpa_slice packed = {p->block->space + p->at + sizeof(lengths), lengths[1]};
    struct line *line = p->spare, *before = p->at > 0 ? p->line : NULL;
    if (vpa_unpack(slice_of(before), packed, (char *)line + PACKED_FROM, lengths[0], &err) < 0)
        abort(); /* it was packed here */
    line->size = PACKED_FROM + lengths[0];
    line->seq = p->seq++;
    find_texts(line);
    p->spare = p->line;
    p->line = line;
    p->at += sizeof(lengths) + lengths[1];
    return true;
}

/* ---- the file ---- */

static void open_file(struct vpa_ledger *l)
{
    struct stat status;

    l->fd = open(l->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    l->file_size = l->fd >= 0 && fstat(l->fd, &status) == 0 ? (int64_t)status.st_size : 0;
    if (l->fd < 0 && !l->failed)
        VPA_ERROR("Cannot write the ledger's file; decisions go on without it",
                  VPA_KV("file", l->path));
    l->failed = l->fd < 0;
}

static void rotate(struct vpa_ledger *l)
{
    vpa_auto_free char *old = vpa_xprintf("%s.1", l->path);

    close(l->fd);
    if (rename(l->path, old) < 0)
        VPA_WARN("Cannot rotate the ledger's file", VPA_KV("file", l->path));
    open_file(l);
}

static void append(struct vpa_ledger *l, const char *line, size_t len)
{
    if (l->fd < 0)
        open_file(l);
    if (l->fd >= 0 && l->file_size > 0 && l->file_size + (int64_t)len > l->file_max)
        rotate(l);
    if (l->fd < 0)
        return;
    if (write(l->fd, line, len) == (ssize_t)len) {
        l->file_size += (int64_t)len;
        return;
    }
    if (!l->failed)
        VPA_ERROR("Cannot write the ledger's file; decisions go on without it",
                  VPA_KV("file", l->path));
    l->failed = true;
}

/* All that is queued; false when there is nothing and never will be. */
static bool take_queue(struct vpa_ledger *l, struct lines *taken)
{
    pthread_mutex_lock(&l->lock);
    while (!l->queue.first && !l->stopping)
        pthread_cond_wait(&l->due, &l->lock);
    *taken = l->queue;
    l->queue = (struct lines){0};
    pthread_mutex_unlock(&l->lock);
    return taken->first != NULL;
}

static void *write_until_stopped(void *ctx)
{
    vpa_auto_buf text = {0};
    struct lines lines;

    vpa_buf_init(&text, VPA_LEDGER_LINE_MAX + 1);
    while (take_queue(ctx, &lines))
        for (; lines.first; drop_oldest(&lines)) {
            vpa_buf_clear(&text);
            encode(lines.first, &text);
            vpa_buf_putc(&text, '\n');
            if (!vpa_buf_failed(&text))
                append(ctx, text.data, text.len);
        }
    return NULL;
}

/* Under the lock; false when the disk is too slow. */
static bool put_into_queue(struct vpa_ledger *l, struct line *line)
{
    if (!line)
        return true;
    if (l->queue.size + line->size > VPA_LEDGER_QUEUE_MAX) {
        free(line);
        return false;
    }
    line->seq = l->seq;
    put_line(&l->queue, line);
    pthread_cond_signal(&l->due);
    return true;
}

/* ---- life ---- */

static void start_file(struct vpa_ledger *l, const char *path)
{
    l->path = vpa_xstrdup(path);
    open_file(l);
    l->has_writer = pthread_create(&l->writer, NULL, write_until_stopped, l) == 0;
    if (!l->has_writer)
        VPA_ERROR("Cannot write the ledger's file; decisions go on without it",
                  VPA_KV("file", l->path));
}

struct vpa_ledger *vpa_ledger_new(const struct vpa_ledger_flags *flags)
{
    struct vpa_ledger *l = vpa_xcalloc(1, sizeof(*l));

    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->due, NULL);
    l->size_max = flags->memory > 0 ? (size_t)flags->memory : 0;
    vpa_buf_init(&l->packed, VPA_PACK_BOUND(VPA_PACK_MAX));
    l->fd = -1;
    l->file_max = flags->file_bytes;
    if (*vpa_or_empty(flags->file))
        start_file(l, flags->file);
    return l;
}

static void stop_file(struct vpa_ledger *l)
{
    pthread_mutex_lock(&l->lock);
    l->stopping = true;
    pthread_cond_signal(&l->due);
    pthread_mutex_unlock(&l->lock);
    if (l->has_writer)
        pthread_join(l->writer, NULL);
    if (l->fd >= 0)
        close(l->fd);
}

void vpa_ledger_free(struct vpa_ledger *l)
{
    if (!l)
        return;
    stop_file(l);
    while (l->oldest)
        drop_oldest_block(l);
    free(l->last);
    vpa_buf_release(&l->packed);
    pthread_cond_destroy(&l->due);
    pthread_mutex_destroy(&l->lock);
    free(l->path);
    free(l);
}

/* ---- recording ---- */

static void enter(struct vpa_ledger *l, vpa_time time, const char *const texts[TEXTS],
                  const size_t lengths[TEXTS])
{
    struct line *line = l->size_max > 0 ? line_new(time, texts, lengths) : NULL;
    struct line *copy = l->has_writer ? line_new(time, texts, lengths) : NULL;

    pthread_mutex_lock(&l->lock);
    l->seq++;
    bool in_time = put_into_queue(l, copy);
    bool said = l->overrun;
    l->overrun = said || !in_time;
    if (line)
        keep(l, line);
    pthread_mutex_unlock(&l->lock);
    if (!in_time && !said)
        VPA_WARN("The ledger's file is written too slowly; decisions are missing in it",
                 VPA_KV("file", l->path));
}

void vpa_ledger_record(struct vpa_ledger *l, const struct vpa_ledger_entry *e)
{
    const char *texts[TEXTS] = {e->ns, e->vpa, e->pod, e->decision, e->rule, e->why, e->inputs};
    size_t lengths[TEXTS], size = FRAME_MAX;
    char hash[FRAME_MAX];

    if (!l)
        return;
    for (size_t i = 0; i < TEXTS; i++) {
        texts[i] = vpa_or_empty(texts[i]);
        lengths[i] = i == INPUTS && e->inputs_len ? e->inputs_len : strlen(texts[i]);
        size += i == INPUTS ? lengths[i] : ESCAPED_MAX * lengths[i];
    }
    if (size > VPA_LEDGER_LINE_MAX && size - lengths[INPUTS] <= VPA_LEDGER_LINE_MAX) {
        lengths[INPUTS] = (size_t)snprintf(hash, sizeof(hash), "{\"hash\":\"%08x\"}",
                                           vpa_hash_stable(texts[INPUTS]));
        texts[INPUTS] = hash;
    } else if (size > VPA_LEDGER_LINE_MAX) {
        return; /* names of such a length the API server does not take */
    }
    enter(l, e->time, texts, lengths);
}

/* ---- reading ---- */

struct since {
    uint64_t seq;
    vpa_time time;
};

static int read_since(const char *text, struct since *out, struct vpa_error *err)
{
    char *end;
    struct vpa_error ignored;

    *out = (struct since){.time = VPA_TIME_UNSET};
    if (!*text)
        return 0;
    out->seq = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end)
        return 0;
    out->seq = 0;
    if (vpa_time_parse(text, &out->time, &ignored) == 0)
        return 0;
    return vpa_fail(err, VPA_INVALID,
                    "since: \"%.64s\" is neither the number of an entry nor an RFC 3339 time",
                    text);
}

static bool fits(const char *wanted, const char *have)
{
    return !*vpa_or_empty(wanted) || strcmp(wanted, have) == 0;
}

static bool is_wanted(const struct line *line, const struct vpa_ledger_query *q,
                      const struct since *since)
{
    if (line->seq <= since->seq || line->time < since->time)
        return false;
    if (!*line->texts[NS]) /* of everything */
        return true;
    return fits(q->ns, line->texts[NS]) && fits(q->vpa, line->texts[VPA]) &&
           fits(q->pod, line->texts[POD]);
}

/* False when the page has no room for it. */
static bool add_to_page(const struct line *line, size_t *count, struct vpa_buf *out)
{
    size_t before = out->len;

    if (*count == VPA_LEDGER_PAGE_ENTRIES)
        return false;
    if (*count > 0)
        vpa_buf_putc(out, ',');
    encode(line, out);
    if (*count > 0 && out->len > VPA_LEDGER_PAGE_MAX) {
        vpa_buf_truncate(out, before);
        return false;
    }
    ++*count;
    return true;
}

struct answer {
    const struct vpa_ledger_query *query;
    struct since since;
    struct vpa_buf *out;
    size_t count;
    uint64_t next;
    bool more;
};

static void add_block_to_answer(struct answer *a, struct place *p)
{
    while (!a->more && next_line(p)) {
        if (!is_wanted(p->line, a->query, &a->since))
            continue;
        a->more = !add_to_page(p->line, &a->count, a->out);
        if (!a->more)
            a->next = p->line->seq;
    }
}

/* The blocks that may have something of it, with references and with how much there is. */
static struct place *take_places(struct vpa_ledger *l, const struct since *since, size_t *count)
{
    struct place *places = NULL;
    size_t capacity = 0;

    *count = 0;
    pthread_mutex_lock(&l->lock);
    for (struct block *block = l->oldest; block; block = block->next) {
        if (block->last_seq <= since->seq || block->newest < since->time)
            continue;
        VPA_GROW(places, *count, capacity);
        places[(*count)++] =
            (struct place){.block = block, .used = block->used, .seq = block->first_seq};
        block->refs++;
    }
    pthread_mutex_unlock(&l->lock);
    return places;
}

static void give_places_back(struct vpa_ledger *l, struct place *places, size_t count)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < count; i++)
        unref((struct block *)(uintptr_t)places[i].block);
    pthread_mutex_unlock(&l->lock);
    free(places);
}

static void read_blocks(struct vpa_ledger *l, struct answer *a)
{
    size_t count;
    struct place *places = take_places(l, &a->since, &count);
    struct line *one = vpa_xmalloc(sizeof(*one) + VPA_PACK_MAX);
    struct line *other = vpa_xmalloc(sizeof(*other) + VPA_PACK_MAX);

    for (size_t i = 0; i < count && !a->more; i++) {
        places[i].line = one;
        places[i].spare = other;
        add_block_to_answer(a, &places[i]);
    }
    give_places_back(l, places, count);
    free(one);
    free(other);
}

int vpa_ledger_read(struct vpa_ledger *l, const struct vpa_ledger_query *query, struct vpa_buf *out,
                    struct vpa_error *err)
{
    struct answer a = {.query = query, .out = out};

    if (read_since(vpa_or_empty(query->since), &a.since, err) < 0)
        return -1;
    a.next = a.since.seq;
    vpa_buf_puts(out, "{\"decisions\":[");
    read_blocks(l, &a);
    vpa_buf_puts(out, "],\"next\":");
    vpa_buf_put_uint(out, a.next);
    vpa_buf_puts(out, a.more ? ",\"more\":true}\n" : ",\"more\":false}\n");
    return 0;
}

size_t vpa_ledger_size(struct vpa_ledger *l)
{
    pthread_mutex_lock(&l->lock);
    size_t size = l->size - (l->newest ? l->newest->room - l->newest->used : 0);
    pthread_mutex_unlock(&l->lock);
    return size;
}
