#include "ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"

/* How long the writer is waited for. What a disk takes at all it takes in that time. */
#define STOP_PATIENCE VPA_SECOND

struct ledger_file {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t due;   /* there is a line, it is to stop, or it has ended */
    struct lines queue;
    bool stopping;
    struct timespec until; /* while stopping: waited for */
    bool ended;            /* the writer */
    bool left;             /* nobody waits for the writer, which frees all this */
    bool overrun;          /* a line did not fit */
    bool told;
    /* Once there is the thread, only that touches what follows. */
    pthread_t writer;
    char *path;
    size_t line_max, queue_max;
    int fd; /* -1: none */
    int64_t size, max;
    int64_t rotate_at; /* size; beyond max after it could not be rotated */
    bool failed;       /* said */
};

static void ledger_file_release(struct ledger_file *f)
{
    while (f->queue.first)
        ledger_lines_drop_oldest(&f->queue);
    pthread_cond_destroy(&f->due);
    pthread_mutex_destroy(&f->lock);
    free(f->path);
    free(f);
}

/* ---- on the thread: all that may wait for the disk ---- */

/* Not when it was left: then the process ends, and its log with it. */
static void tell_failure(struct ledger_file *f, const char *reason)
{
    pthread_mutex_lock(&f->lock);
    if (!f->failed && !f->left)
        VPA_ERROR("Cannot write the ledger's file; decisions go on without it",
                  VPA_KV("file", f->path), VPA_KV("reason", reason));
    pthread_mutex_unlock(&f->lock);
    f->failed = true;
}

/* What is no regular file cannot be rotated, nor a piece of a line taken back. It is looked at
 * first: who reads from a pipe would see it opened and closed with each line. */
static void open_file(struct ledger_file *f)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat status = {0};
    bool regular = stat(f->path, &status) < 0 || S_ISREG(status.st_mode);

    f->fd = regular ? open(f->path, flags, S_IRUSR | S_IWUSR) : -1;
    if (f->fd >= 0)
        regular = fstat(f->fd, &status) == 0 && S_ISREG(status.st_mode);
    f->size = (int64_t)status.st_size;
    if (f->fd >= 0 && regular) {
        f->failed = false;
        return;
    }
    tell_failure(f, regular ? strerror(errno) : "it is no regular file");
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* Where the file cannot be renamed it holds as much as two would, and is emptied then; one that
 * can only be appended to grows, and that is not said with every line. */
static void make_room(struct ledger_file *f)
{
    bool emptied = f->rotate_at > f->max && ftruncate(f->fd, 0) == 0;

    if (emptied)
        f->rotate_at = f->max;
    else if (__builtin_add_overflow(f->rotate_at, f->max, &f->rotate_at))
        f->rotate_at = INT64_MAX;
    pthread_mutex_lock(&f->lock);
    if (!f->left)
        VPA_WARN("Cannot rotate the ledger's file", VPA_KV("file", f->path),
                 VPA_KV("emptied", emptied));
    pthread_mutex_unlock(&f->lock);
}

static void rotate(struct ledger_file *f)
{
    vpa_auto_free char *old = vpa_xprintf("%s.1", f->path);

    if (rename(f->path, old) == 0)
        f->rotate_at = f->max;
    else
        make_room(f);
    close(f->fd);
    open_file(f);
}

static void append(struct ledger_file *f, const char *line, size_t len)
{
    if (f->fd < 0)
        open_file(f);
    if (f->fd >= 0 && f->size > 0 && f->size + (int64_t)len > f->rotate_at)
        rotate(f);
    if (f->fd < 0)
        return; /* which was told */
    ssize_t written = write(f->fd, line, len);
    if (written == (ssize_t)len) {
        f->size += written;
        return;
    }
    tell_failure(f, written < 0 ? strerror(errno) : "it takes no whole line");
    /* A piece of a line would spoil the next one, too. */
    if (written > 0 && ftruncate(f->fd, (off_t)f->size) < 0)
        f->size += written;
}

/* All that is queued; false when there is nothing and never will be. */
static bool take_queue(struct ledger_file *f, struct lines *taken)
{
    pthread_mutex_lock(&f->lock);
    while (!f->queue.first && !f->stopping)
        pthread_cond_wait(&f->due, &f->lock);
    *taken = f->queue;
    f->queue = (struct lines){0};
    pthread_mutex_unlock(&f->lock);
    return taken->first != NULL;
}

static void end_writing(struct ledger_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    pthread_mutex_lock(&f->lock);
    bool left = f->left;
    f->ended = true;
    pthread_cond_signal(&f->due);
    pthread_mutex_unlock(&f->lock);
    if (left)
        ledger_file_release(f);
}

static void *write_until_stopped(void *ctx)
{
    struct ledger_file *f = ctx;
    vpa_auto_buf text = {0};
    struct lines lines;

    vpa_buf_init(&text, f->line_max + 1);
    open_file(f);
    while (take_queue(f, &lines))
        for (; lines.first; ledger_lines_drop_oldest(&lines)) {
            vpa_buf_clear(&text);
            ledger_line_encode(lines.first, &text);
            vpa_buf_putc(&text, '\n');
            if (!vpa_buf_failed(&text))
                append(f, text.data, text.len);
        }
    end_writing(f);
    return NULL;
}

/* ---- life ---- */

struct ledger_file *ledger_file_new(const char *path, int64_t max, size_t line_max,
                                    size_t queue_max)
{
    struct ledger_file *f = vpa_xcalloc(1, sizeof(*f));

    pthread_mutex_init(&f->lock, NULL);
    vpa_monotonic_cond_init(&f->due);
    f->path = vpa_xstrdup(path);
    f->max = f->rotate_at = max > 0 ? max : INT64_MAX;
    f->line_max = line_max;
    f->queue_max = queue_max;
    f->fd = -1;
    if (pthread_create(&f->writer, NULL, write_until_stopped, f) == 0)
        return f;
    tell_failure(f, "no thread can be started");
    ledger_file_release(f);
    return NULL;
}

void ledger_file_stop(struct ledger_file *f)
{
    pthread_mutex_lock(&f->lock);
    if (!f->stopping)
        f->until = vpa_monotonic_in(STOP_PATIENCE);
    f->stopping = true;
    pthread_cond_signal(&f->due);
    pthread_mutex_unlock(&f->lock);
}

static void tell_missing(const struct ledger_file *f)
{
    VPA_WARN("The ledger's file is written too slowly; decisions are missing in it",
             VPA_KV("file", f->path));
}

void ledger_file_free(struct ledger_file *f)
{
    int rc = 0;

    if (!f)
        return;
    ledger_file_stop(f);
    pthread_mutex_lock(&f->lock);
    while (!f->ended && rc == 0)
        rc = pthread_cond_timedwait(&f->due, &f->lock, &f->until);
    bool left = !f->ended;
    f->left = left;
    if (left && !f->told)
        tell_missing(f);
    if (left)
        pthread_detach(f->writer);
    pthread_mutex_unlock(&f->lock);
    if (left)
        return;
    pthread_join(f->writer, NULL);
    ledger_file_release(f);
}

/* ---- on any thread ---- */

void ledger_file_put(struct ledger_file *f, struct line *line)
{
    pthread_mutex_lock(&f->lock);
    bool fits = f->queue.size + line->size <= f->queue_max;
    if (fits) {
        ledger_lines_put(&f->queue, line);
        pthread_cond_signal(&f->due);
    }
    f->overrun = f->overrun || !fits;
    pthread_mutex_unlock(&f->lock);
    if (!fits)
        free(line);
}

void ledger_file_tell(struct ledger_file *f)
{
    pthread_mutex_lock(&f->lock);
    bool tell = f->overrun && !f->told;
    f->told = f->told || tell;
    pthread_mutex_unlock(&f->lock);
    if (tell)
        tell_missing(f);
}
