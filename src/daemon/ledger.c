/*
 * The ledger: a queue of lines. What goes in at the end pushes out the oldest, so memory is bounded
 * by a number of bytes, whatever the length of entries. An entry gets its number with its place in
 * the queue, so numbers are in order. It is kept as the texts that it was made of; they become JSON
 * when somebody reads, because most entries are never read.
 *
 * Lines are kept packed, for most of them repeat the one before. They stand in blocks, so that the
 * oldest can go and a reader need not unpack all. A block is a stream of zlib's, flushed after each
 * line: what stands there never changes, lines only come behind it. So a reader takes references
 * under the lock, and unpacks without it.
 */
#include "vpa/daemon/ledger.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "ledger_file.h"
#include "ledger_line.h"

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"

/* A stream of lines, of each its length (uint16_t) and what is packed of it. */
struct block {
    struct block *next;
    unsigned refs; /* the ledger's and those of readers; under the lock */
    uint64_t first_seq;
    size_t count; /* of lines */
    vpa_time newest;
    size_t size; /* of the lines, unpacked */
    size_t room, used;
    char space[];
};
#define BLOCK_ROOM ((size_t)8 << 10)
#define BLOCK_ROOM_MIN ((size_t)256)
#define BLOCKS_WANTED 8 /* at least, where little may be kept: what goes at once is a block */
/* zlib's: some five lines back are looked at, in 25 KiB of memory. */
#define WINDOW_BITS 12
#define MEMORY_LEVEL 4

struct vpa_ledger {
    pthread_mutex_t lock; /* of what follows */
    struct block *oldest, *newest;
    bool standby; /* this process decides nothing */
    bool ended;   /* the newest block takes no more lines */
    size_t size;  /* of all lines, unpacked */
    size_t size_max;
    z_stream packer;       /* of the newest block */
    struct vpa_buf packed; /* a line */
    uint64_t seq;
    struct ledger_file *file; /* NULL: none */
};

/* Of a line of JSON: what is beside the texts, and what a byte of them may become. */
#define FRAME_MAX 256
/* Of a packed line: a little more than the line when nothing repeats. */
#define PACKED_MAX (2 * VPA_LEDGER_LINE_MAX)
#define ESCAPED_MAX 6
#define CUT "..."

/* ---- blocks ---- */

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
    l->size -= block->size;
    unref(block);
}

/* How much of the ledger may be in one block. */
static size_t block_share(const struct vpa_ledger *l)
{
    return l->size_max / BLOCKS_WANTED;
}

static void add_block(struct vpa_ledger *l, size_t packed_len)
{
    size_t room = block_share(l);

    room = room < BLOCK_ROOM_MIN ? BLOCK_ROOM_MIN : room > BLOCK_ROOM ? BLOCK_ROOM : room;
    room = packed_len > room ? packed_len : room;
    struct block *block = vpa_xmalloc(sizeof(*block) + room);
    *block = (struct block){.refs = 1, .first_seq = l->seq, .newest = VPA_TIME_UNSET, .room = room};
    if (l->newest)
        l->newest->next = block;
    else
        l->oldest = block;
    l->newest = block;
}

static void feed(struct vpa_ledger *l, const void *data, size_t len, int flush)
{
    z_stream *z = &l->packer;

    z->next_in = (z_const Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)len;
    do {
        z->next_out = (Bytef *)vpa_buf_reserve(&l->packed, FRAME_MAX);
        z->avail_out = FRAME_MAX;
        deflate(z, flush);
        vpa_buf_advance(&l->packed, FRAME_MAX - z->avail_out);
    } while (z->avail_out == 0);
}

/* The next piece of the newest block's stream. */
static void pack(struct vpa_ledger *l, const struct line *line)
{
    uint16_t len = (uint16_t)(line->size - PACKED_FROM);

    vpa_buf_clear(&l->packed);
    feed(l, &len, sizeof(len), Z_NO_FLUSH);
    feed(l, (const char *)line + PACKED_FROM, len, Z_SYNC_FLUSH);
}

static bool fits_into_newest(const struct vpa_ledger *l, const struct line *line)
{
    const struct block *block = l->newest;

    return block && !l->ended && block->size + line->size <= block_share(l);
}

static void put_packed(struct vpa_ledger *l, const struct line *line)
{
    struct block *block = l->newest;

    memcpy(block->space + block->used, l->packed.data, l->packed.len);
    block->used += l->packed.len;
    block->count++;
    block->size += line->size;
    l->size += line->size;
    if (line->time > block->newest)
        block->newest = line->time;
}

/* Under the lock. A line that is larger than all that may be kept is not. A block that it fits into
 * is not dropped for it: with the line that one is but a share of what may be kept. */
static void keep(struct vpa_ledger *l, const struct line *line)
{
    bool goes_on = fits_into_newest(l, line);

    l->ended = line->size > l->size_max;
    if (l->ended)
        return;
    while (l->oldest && l->size + line->size > l->size_max)
        drop_oldest_block(l);
    if (goes_on)
        pack(l, line);
    if (!goes_on || l->newest->room - l->newest->used < l->packed.len) {
        deflateReset(&l->packer);
        pack(l, line);
        add_block(l, l->packed.len);
    }
    put_packed(l, line);
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
    size_t used;  /* when the references were taken */
    size_t count; /* lines from here on */
    uint64_t seq;
};
struct reader {
    z_stream unpacker; /* of the block at hand */
    struct line *line;
};

static void take(struct reader *r, void *to, size_t len)
{
    r->unpacker.next_out = to;
    r->unpacker.avail_out = (uInt)len;
    if (inflate(&r->unpacker, Z_SYNC_FLUSH) != Z_OK || r->unpacker.avail_out > 0)
        abort(); /* it was packed here */
}

static void begin_block(struct reader *r, const struct place *p)
{
    inflateReset(&r->unpacker);
    r->unpacker.next_in = (z_const Bytef *)(uintptr_t)p->block->space;
    r->unpacker.avail_in = (uInt)p->used;
}

/* False at the end. */
static bool next_line(struct reader *r, struct place *p)
{
    uint16_t len;

    if (p->count == 0)
        return false;
    take(r, &len, sizeof(len));
    take(r, (char *)r->line + PACKED_FROM, len);
    r->line->seq = p->seq++;
    find_texts(r->line);
    p->count--;
    return true;
}

/* ---- life ---- */

int vpa_ledger_flags_check(const struct vpa_ledger_flags *flags, struct vpa_error *err)
{
    int64_t bytes = flags->file_bytes;

    if (bytes == 0 || bytes >= (int64_t)VPA_LEDGER_LINE_MAX)
        return 0;
    return vpa_fail(err, VPA_INVALID,
                    "--ledger-file-size is %lld: at least %zu, or 0 for a file without end",
                    (long long)bytes, VPA_LEDGER_LINE_MAX);
}

struct vpa_ledger *vpa_ledger_new(const struct vpa_ledger_flags *flags)
{
    struct vpa_ledger *l = vpa_xcalloc(1, sizeof(*l));

    pthread_mutex_init(&l->lock, NULL);
    l->size_max = flags->memory > 0 ? (size_t)flags->memory : 0;
    vpa_buf_init(&l->packed, PACKED_MAX);
    /* Trees of its own would take more room than they save in a line. */
    if (l->size_max > 0 && deflateInit2(&l->packer, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -WINDOW_BITS,
                                        MEMORY_LEVEL, Z_FIXED) != Z_OK)
        abort(); /* out of memory */
    if (*vpa_or_empty(flags->file))
        l->file = ledger_file_new(flags->file, flags->file_bytes, VPA_LEDGER_LINE_MAX,
                                  VPA_LEDGER_QUEUE_MAX);
    return l;
}

void vpa_ledger_stop(struct vpa_ledger *l)
{
    if (l && l->file)
        ledger_file_stop(l->file);
}

void vpa_ledger_free(struct vpa_ledger *l)
{
    if (!l)
        return;
    ledger_file_free(l->file);
    while (l->oldest)
        drop_oldest_block(l);
    deflateEnd(&l->packer);
    vpa_buf_release(&l->packed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- recording ---- */

static void enter(struct vpa_ledger *l, vpa_time time, const char *const texts[TEXTS],
                  const size_t lengths[TEXTS])
{
    struct line *line = l->size_max > 0 ? ledger_line_new(time, texts, lengths) : NULL;
    struct line *copy = l->file ? ledger_line_new(time, texts, lengths) : NULL;

    pthread_mutex_lock(&l->lock);
    l->seq++;
    if (copy) {
        copy->seq = l->seq;
        ledger_file_put(l->file, copy);
    }
    if (line)
        keep(l, line);
    pthread_mutex_unlock(&l->lock);
    free(line);
    if (copy)
        ledger_file_tell(l->file);
}

static size_t size_of(const size_t lengths[TEXTS])
{
    size_t size = FRAME_MAX;

    for (size_t i = 0; i < INPUTS; i++)
        size += ESCAPED_MAX * lengths[i];
    return size + lengths[INPUTS];
}

/* In hash is room for FRAME_MAX. */
static void hash_inputs(const char *texts[TEXTS], size_t lengths[TEXTS], char *hash)
{
    lengths[INPUTS] =
        (size_t)snprintf(hash, FRAME_MAX, "{\"hash\":\"%08x\"}", vpa_hash_stable(texts[INPUTS]));
    texts[INPUTS] = hash;
}

/* Cuts it between two characters, so that it takes `excess` bytes less, escaped, at the most that
 * a byte can take; false when it has not as many. */
static bool cut_why(const char *texts[TEXTS], size_t lengths[TEXTS], size_t excess, char **cut)
{
    size_t less = (excess + ESCAPED_MAX - 1) / ESCAPED_MAX + strlen(CUT);
    size_t len = lengths[WHY];

    if (len < less)
        return false;
    for (len -= less; len > 0 && ((unsigned char)texts[WHY][len] & 0xc0) == 0x80;)
        len--;
    *cut = vpa_xprintf("%.*s" CUT, (int)len, texts[WHY]);
    texts[WHY] = *cut;
    lengths[WHY] = strlen(*cut);
    return true;
}

void vpa_ledger_record(struct vpa_ledger *l, const struct vpa_ledger_entry *e)
{
    const char *texts[TEXTS] = {e->ns, e->vpa, e->pod, e->decision, e->rule, e->why, e->inputs};
    size_t lengths[TEXTS];
    vpa_auto_free char *why = NULL;
    char hash[FRAME_MAX];

    if (!l)
        return;
    for (size_t i = 0; i < TEXTS; i++) {
        texts[i] = vpa_or_empty(texts[i]);
        lengths[i] = i == INPUTS && e->inputs_len ? e->inputs_len : strlen(texts[i]);
    }
    if (size_of(lengths) > VPA_LEDGER_LINE_MAX && lengths[INPUTS] > 0)
        hash_inputs(texts, lengths, hash);
    size_t size = size_of(lengths);
    if (size > VPA_LEDGER_LINE_MAX && !cut_why(texts, lengths, size - VPA_LEDGER_LINE_MAX, &why))
        return; /* names of such a length the API server does not take */
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
    ledger_line_encode(line, out);
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

static void add_block_to_answer(struct answer *a, struct reader *r, struct place *p)
{
    begin_block(r, p);
    while (!a->more && next_line(r, p)) {
        if (!is_wanted(r->line, a->query, &a->since))
            continue;
        a->more = !add_to_page(r->line, &a->count, a->out);
        if (!a->more)
            a->next = r->line->seq;
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
        if (block->first_seq + block->count <= since->seq + 1 || block->newest < since->time)
            continue;
        VPA_GROW(places, *count, capacity);
        places[(*count)++] = (struct place){
            .block = block, .used = block->used, .count = block->count, .seq = block->first_seq};
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
    struct reader reader = {.line = vpa_xmalloc(sizeof(struct line) + UINT16_MAX)};

    if (inflateInit2(&reader.unpacker, -WINDOW_BITS) != Z_OK)
        abort(); /* out of memory */
    for (size_t i = 0; i < count && !a->more; i++)
        add_block_to_answer(a, &reader, &places[i]);
    inflateEnd(&reader.unpacker);
    free(reader.line);
    give_places_back(l, places, count);
}

void vpa_ledger_lead(struct vpa_ledger *l, bool leads)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->standby = !leads;
    pthread_mutex_unlock(&l->lock);
}

static bool is_standby(struct vpa_ledger *l)
{
    pthread_mutex_lock(&l->lock);
    bool standby = l->standby;
    pthread_mutex_unlock(&l->lock);
    return standby;
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
    vpa_buf_puts(out, a.more ? ",\"more\":true" : ",\"more\":false");
    vpa_buf_puts(out, is_standby(l) ? ",\"leads\":false}\n" : "}\n");
    return 0;
}

size_t vpa_ledger_size(struct vpa_ledger *l)
{
    pthread_mutex_lock(&l->lock);
    size_t size = l->size;
    pthread_mutex_unlock(&l->lock);
    return size;
}
