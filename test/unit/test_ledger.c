/* The ledger: order, bounds, questions, the file. */
#include <errno.h>
#include <sys/syscall.h>
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured_log.h"
#include "suite.h"
#include "vpa/base/file.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ledger.h"
#include "vpa/json/json.h"

#define START ((vpa_time)1772366400 * VPA_SECOND) /* 2026-03-01T12:00:00Z */

static struct vpa_ledger *ledger;
static struct vpa_arena arena;

static void teardown(void)
{
    vpa_ledger_free(ledger);
    vpa_arena_release(&arena);
}

static void make(int64_t memory, const char *file, int64_t file_bytes)
{
    ledger = vpa_ledger_new(
        &(struct vpa_ledger_flags){.memory = memory, .file = file, .file_bytes = file_bytes});
}

static void record(int i, const char *inputs)
{
    vpa_auto_free char *vpa = vpa_xprintf("v%d", i % 3), *pod = vpa_xprintf("p%d", i);

    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.time = START + i * VPA_SECOND,
                                                         .ns = i % 2 ? "odd" : "even",
                                                         .vpa = vpa,
                                                         .pod = pod,
                                                         .decision = "evict",
                                                         .rule = "accepted",
                                                         .why = "because \"so\"",
                                                         .inputs = inputs});
}

static const struct vpa_json *ask(const struct vpa_ledger_query *query)
{
    const struct vpa_json *root;
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(ledger, query, &out, &err), 0);
    ck_assert_int_eq(vpa_json_parse(&arena, out.data, out.len, &root, &err), 0);
    return root;
}

static size_t count(const struct vpa_json *page)
{
    size_t n = 0;

    vpa_json_foreach (entry, vpa_json_find(page, "decisions"))
        n += entry != NULL;
    return n;
}

static int64_t next(const struct vpa_json *page)
{
    int64_t n = -1;

    (void)vpa_json_int64(vpa_json_find(page, "next"), &n);
    return n;
}

TEST(an_entry_is_a_line_of_json) {
    make(VPA_LEDGER_MEMORY, "", 0);
    record(1, "{\"threshold\":0.1}");
    const struct vpa_json *e =
        vpa_json_first(vpa_json_find(ask(&(struct vpa_ledger_query){.ns = NULL}), "decisions"));

    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "time")), "2026-03-01T12:00:01.000000Z");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "namespace")), "odd");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "vpa")), "v1");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "pod")), "p1");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "decision")), "evict");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "rule")), "accepted");
    ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "why")), "because \"so\"");
    ck_assert_ptr_nonnull(vpa_json_at(e, "inputs.threshold"));
}

TEST(questions) {
    make(VPA_LEDGER_MEMORY, "", 0);
    for (int i = 0; i < 12; i++)
        record(i, NULL);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = "odd"})), 6);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = "odd", .vpa = "v0"})), 2);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.pod = "p7"})), 1);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.pod = "x"})), 0);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.since = "10"})), 2);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.since = "2026-03-01T12:00:09Z"})), 3);
    ck_assert_int_eq(next(ask(&(struct vpa_ledger_query){.since = "99"})), 99);
}

/* "Do nothing" of a whole pass answers everybody who asks why nothing was done. */
TEST(what_is_about_everything_is_in_every_answer) {
    make(VPA_LEDGER_MEMORY, "", 0);
    record(1, NULL);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.decision = "do nothing"});
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = "odd"})), 2);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = "x", .vpa = "y"})), 1);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.since = "2"})), 0);
}

static const char *const no_times[] = {"yesterday", "-1", "12x", "2026-13-01T00:00:00Z", " 1"};

TEST_EACH(since_that_is_neither_number_nor_time, no_times) {
    vpa_auto_buf out = VPA_BUF(VPA_LEDGER_PAGE_MAX);
    struct vpa_error err;

    make(VPA_LEDGER_MEMORY, "", 0);
    ck_assert_int_eq(
        vpa_ledger_read(ledger, &(struct vpa_ledger_query){.since = no_times[_i]}, &out, &err), -1);
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_uint_eq(out.len, 0);
}

TEST(pages_follow_each_other) {
    size_t all = 0;
    vpa_auto_free char *since = vpa_xstrdup("0");

    make(VPA_LEDGER_MEMORY, "", 0);
    for (int i = 0; i < 1200; i++)
        record(i, NULL);
    for (int page = 0; page < 3; page++) {
        const struct vpa_json *found = ask(&(struct vpa_ledger_query){.since = since});

        all += count(found);
        ck_assert_uint_eq(count(found), page < 2 ? VPA_LEDGER_PAGE_ENTRIES : 200);
        free(since);
        since = vpa_xprintf("%lld", (long long)next(found));
    }
    ck_assert_uint_eq(all, 1200);
    ck_assert_str_eq(since, "1200");
}

TEST(the_newest_are_kept) {
    const struct vpa_json *page;

    make(4096, "", 0);
    for (int i = 0; i < 1000; i++) {
        record(i, NULL);
        ck_assert_uint_le(vpa_ledger_size(ledger), 4096);
    }
    page = ask(&(struct vpa_ledger_query){.ns = NULL});
    ck_assert_uint_gt(count(page), 5);
    ck_assert_int_eq(next(page), 1000);
}

/* Whatever the block they stand in: all that is kept is read as it was written. */
TEST(what_is_packed_is_read_as_it_was) {
    make(16384, "", 0);
    for (int i = 0; i < 2000; i++) {
        vpa_auto_free char *inputs = vpa_xprintf("{\"number\":%d,\"text\":\"%.*s\"}", i, i % 300,
                                                 "abcdefghijklmnopqrstuvwxyz");
        record(i, inputs);
    }
    const struct vpa_json *page = ask(&(struct vpa_ledger_query){.ns = NULL});
    int64_t first, seq = 0, number;

    ck_assert(vpa_json_int64(vpa_json_find(vpa_json_first(vpa_json_find(page, "decisions")), "seq"),
                             &first));
    ck_assert_int_le(first, 2000 - 60); /* seven of eight blocks at least, 210 bytes a line */
    vpa_json_foreach (entry, vpa_json_find(page, "decisions")) {
        ck_assert(vpa_json_int64(vpa_json_find(entry, "seq"), &seq));
        ck_assert_int_eq(seq, first++);
        ck_assert(vpa_json_int64(vpa_json_at(entry, "inputs.number"), &number));
        ck_assert_int_eq(number, seq - 1);
        vpa_auto_free char *pod = vpa_xprintf("p%d", (int)number);
        ck_assert_str_eq(vpa_json_string(vpa_json_find(entry, "pod")), pod);
    }
    ck_assert_int_eq(seq, 2000);
}

/* Long lines fill a page before there are as many as it may have: the one that does not fit is the
 * first of the next page, and is told once. */
TEST(pages_of_long_lines_follow_each_other) {
    enum { LINES = 1000 };
    vpa_auto_free char *why = vpa_xcalloc(1, 2501);
    int64_t since = 0, seq = 0;
    size_t total = 0, pages = 0;

    memset(why, 'x', 2500);
    make(VPA_LEDGER_MEMORY, "", 0);
    for (int i = 0; i < LINES; i++)
        vpa_ledger_record(ledger, &(struct vpa_ledger_entry){.time = START + i * VPA_SECOND,
                                                             .ns = "n",
                                                             .decision = "evict",
                                                             .why = why});
    for (size_t n = 1; n > 0; pages++) {
        vpa_auto_free char *text = vpa_xprintf("%lld", (long long)since);
        const struct vpa_json *page = ask(&(struct vpa_ledger_query){.since = text});

        n = count(page);
        total += n;
        vpa_json_foreach (entry, vpa_json_find(page, "decisions")) {
            int64_t number = -1;

            ck_assert(vpa_json_int64(vpa_json_find(entry, "seq"), &number));
            ck_assert_int_eq(number, ++seq);
        }
        since = next(page);
        ck_assert_int_eq(since, seq);
    }
    ck_assert_uint_eq(total, LINES);
    ck_assert_uint_gt(pages, LINES / VPA_LEDGER_PAGE_ENTRIES + 1);
}

TEST(large_inputs_are_hashed) {
    char *large = vpa_xmalloc(VPA_LEDGER_LINE_MAX + 1);

    memset(large, 'x', VPA_LEDGER_LINE_MAX);
    large[0] = '"';
    large[VPA_LEDGER_LINE_MAX - 1] = '"';
    large[VPA_LEDGER_LINE_MAX] = '\0';
    make(VPA_LEDGER_MEMORY, "", 0);
    record(1, large);
    free(large);
    ck_assert_ptr_nonnull(vpa_json_at(
        vpa_json_first(vpa_json_find(ask(&(struct vpa_ledger_query){.ns = NULL}), "decisions")),
        "inputs.hash"));
}

/* A pod of many containers has much to say. */
TEST(a_long_reason_is_cut) {
    for (size_t len = 2000; len < 20000; len += 37) {
        vpa_auto_free char *why = vpa_xcalloc(1, len + 2);

        for (size_t i = 0; i < len; i += 2)
            memcpy(why + i, "\xc3\xa9", 2); /* two bytes each */
        make(VPA_LEDGER_MEMORY, "", 0);
        vpa_ledger_record(ledger,
                          &(struct vpa_ledger_entry){
                              .time = START, .ns = "shop", .decision = "evict", .why = why});
        const char *text = vpa_json_string(vpa_json_at(
            vpa_json_first(vpa_json_find(ask(&(struct vpa_ledger_query){.ns = NULL}), "decisions")),
            "why"));
        ck_assert_ptr_nonnull(text);
        size_t kept = strspn(text, "\xc3\xa9");
        bool whole = strlen(why) * 6 <= VPA_LEDGER_LINE_MAX - 300;
        ck_assert_str_eq(text + kept, whole || kept == strlen(why) ? "" : "...");
        ck_assert_uint_eq(kept % 2, 0);
        ck_assert_uint_ge(kept, whole ? strlen(why) : 2600);
        vpa_ledger_free(VPA_STEAL(ledger));
        vpa_arena_clear(&arena);
    }
}

static const char *only_why(void)
{
    const struct vpa_json *page = ask(&(struct vpa_ledger_query){.ns = NULL});

    ck_assert_uint_eq(count(page), 1);
    return vpa_json_string(vpa_json_find(vpa_json_first(vpa_json_find(page, "decisions")), "why"));
}

/* Letters of two bytes each, behind as many of one byte: none is cut in its middle. */
TEST_TIMES(a_reason_is_cut_between_letters, 2) {
    char *text = vpa_xmalloc(VPA_LEDGER_LINE_MAX + 3);
    size_t len = 0;

    for (int i = 0; i < _i; i++)
        text[len++] = 'x';
    while (len < VPA_LEDGER_LINE_MAX) {
        text[len++] = '\xc3';
        text[len++] = '\xa9';
    }
    text[len] = '\0';
    make(VPA_LEDGER_MEMORY, "", 0);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){
                                  .time = START, .ns = "n", .decision = "evict", .why = text});
    const char *why = only_why();
    size_t kept = strlen(why) - strlen("...");

    ck_assert_str_eq(why + kept, "...");
    ck_assert_uint_gt(kept, 100);
    ck_assert_int_eq(strncmp(why, text, kept), 0);
    ck_assert_int_eq((kept - (size_t)_i) % 2, 0);
    free(text);
}

/* No API server takes such names: there is nothing that could be cut. */
TEST(names_without_end_are_not_recorded) {
    char *name = vpa_xmalloc(VPA_LEDGER_LINE_MAX + 1);

    memset(name, 'n', VPA_LEDGER_LINE_MAX);
    name[VPA_LEDGER_LINE_MAX] = '\0';
    make(VPA_LEDGER_MEMORY, "", 0);
    vpa_ledger_record(ledger, &(struct vpa_ledger_entry){
                                  .time = START, .ns = name, .decision = "evict", .why = "so"});
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = NULL})), 0);
    record(1, NULL);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = NULL})), 1);
    free(name);
}

TEST(the_file_is_appended_to_and_rotated) {
    char folder[] = "/tmp/ledgerXXXXXX";
    struct vpa_error err;
    struct stat status;
    size_t len;
    char *text;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    vpa_auto_free char *file = vpa_xprintf("%s/ledger", folder), *old = vpa_xprintf("%s.1", file);
    make(VPA_LEDGER_MEMORY, file, 1000);
    for (int i = 0; i < 20; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger)); /* what waits is written first */
    ck_assert_int_eq(stat(file, &status), 0);
    ck_assert_int_le(status.st_size, 1000);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(old, &status), 0);
    ck_assert_int_le(status.st_size, 1000);
    ck_assert_int_eq(vpa_read_file(file, 2000, &text, &len, &err), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"pod\":\"p19\""));
    ck_assert_int_eq(text[len - 1], '\n');
    free(text);
    unlink(file);
    unlink(old);
    rmdir(folder);
}

TEST(a_file_without_a_size_is_never_rotated) {
    char file[] = "/tmp/ledgerXXXXXX";
    struct vpa_error err;
    size_t len;
    char *text;

    close(mkstemp(file));
    vpa_auto_free char *old = vpa_xprintf("%s.1", file);
    make(VPA_LEDGER_MEMORY, file, 0);
    for (int i = 0; i < 20; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    ck_assert_int_eq(access(old, F_OK), -1);
    ck_assert_int_eq(vpa_read_file(file, 10000, &text, &len, &err), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"pod\":\"p0\""));
    free(text);
    unlink(file);
}

static const struct {
    int64_t bytes;
    int checked;
} sizes[] = {{0, 0},   {VPA_LEDGER_LINE_MAX, 0},      {INT64_MAX, 0}, {-1, -1},
             {64, -1}, {VPA_LEDGER_LINE_MAX - 1, -1}, {INT64_MIN, -1}};

/* Where each line would be a file of its own, the one before is lost with it. */
TEST_EACH(a_size_has_room_for_a_line, sizes) {
    const struct vpa_ledger_flags flags = {.file = "", .file_bytes = sizes[_i].bytes};
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_flags_check(&flags, &err), sizes[_i].checked);
    if (sizes[_i].checked < 0) {
        vpa_auto_free char *text =
            vpa_xprintf("--ledger-file-size is %lld: at least 16384, or 0 for a file without end",
                        (long long)sizes[_i].bytes);

        ck_assert_str_eq(err.text, text);
    }
}

/* As of a file with the attribute "append only". */
static bool only_appends;

int ftruncate(int fd, off_t size)
{
    if (!only_appends)
        return (int)syscall(SYS_ftruncate, fd, size);
    errno = EPERM;
    return -1;
}

/* As where the file is mounted alone: it grows to twice its size and begins anew, and that is not
 * said with every line. */
TEST_TIMES(a_file_that_cannot_be_rotated_goes_on, 2) {
    char folder[] = "/tmp/ledgerXXXXXX";
    struct vpa_error err;
    size_t len;
    char *text;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    vpa_auto_free char *file = vpa_xprintf("%s/ledger", folder), *old = vpa_xprintf("%s.1", file);
    ck_assert_int_eq(mkdir(old, 0700), 0);
    only_appends = _i == 1;
    capture_log(0);
    make(VPA_LEDGER_MEMORY, file, 1000);
    for (int i = 0; i < 60; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    ck_assert_int_eq(vpa_read_file(file, 10000, &text, &len, &err), 0);
    ck_assert((len <= 2000) == !only_appends);
    ck_assert_ptr_nonnull(strstr(text, "\"pod\":\"p59\""));
    ck_assert((strstr(text, "\"pod\":\"p0\"") != NULL) == only_appends);
    ck_assert_int_eq(text[len - 1], '\n');
    ck_assert_uint_ge(logged("Cannot rotate"), 2);
    ck_assert_uint_le(logged("Cannot rotate"), 60 / 3);
    ck_assert((logged("emptied=true") > 0) == !only_appends);
    ck_assert_uint_ge(logged("emptied=false"), 1);
    free(text);
    unlink(file);
    rmdir(old);
    rmdir(folder);
}

/* A disk that is full in the middle of a line, and has room again. */
TEST(a_line_is_in_the_file_or_not) {
    char file[] = "/tmp/ledgerXXXXXX";
    struct rlimit limit;
    struct vpa_error err;
    size_t len;
    char *text;

    close(mkstemp(file));
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    make(VPA_LEDGER_MEMORY, file, 1 << 20);
    for (int i = 0; i < 20; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(vpa_read_file(file, 2000, &text, &len, &err), 0);
    ck_assert_uint_gt(len, 500);
    ck_assert_int_eq(text[len - 1], '\n');
    free(text);
    unlink(file);
}

static size_t piece; /* what is written of each line, 0: all */
/* A disk takes nothing while somebody has it. */
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

ssize_t write(int fd, const void *data, size_t len)
{
    if (vpa_str_starts_with(data, "{\"seq\"")) {
        pthread_mutex_lock(&disk);
        pthread_mutex_unlock(&disk);
    }
    return syscall(SYS_write, fd, data, piece > 0 && fd > STDERR_FILENO ? piece : len);
}

/* Pieces are taken back, however short; where that is impossible they count, so that the file stays
 * as small as it may be. */
TEST_TIMES(pieces_of_lines_do_not_stay_or_count, 2) {
    char folder[] = "/tmp/ledgerXXXXXX";
    struct stat status;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    vpa_auto_free char *file = vpa_xprintf("%s/ledger", folder), *old = vpa_xprintf("%s.1", file);
    piece = _i == 0 ? 1 : 50;
    only_appends = _i == 1;
    make(VPA_LEDGER_MEMORY, file, 1000);
    for (int i = 0; i < 60; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    piece = 0;
    ck_assert_int_eq(stat(file, &status), 0);
    ck_assert_int_le(status.st_size, 1000);
    ck_assert((status.st_size == 0) == (_i == 0));
    ck_assert_int_eq(stat(old, &status), _i == 0 ? -1 : 0);
    unlink(file);
    unlink(old);
    rmdir(folder);
}

static const int line_counts[] = {1, 20000}; /* as many do not fit into the queue */

static size_t thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t n = 0;

    ck_assert_ptr_nonnull(tasks);
    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n;
}

/* Nobody waits for it for long. That something is missing is said once. What was left ends, and
 * frees what it has. */
TEST_EACH(a_disk_that_takes_nothing_is_left, line_counts) {
    char file[] = "/tmp/ledgerXXXXXX";

    close(mkstemp(file));
    capture_log(0);
    pthread_mutex_lock(&disk);
    make(VPA_LEDGER_MEMORY, file, 1 << 20);
    for (int i = 0; i < line_counts[_i]; i++)
        record(i, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    ck_assert_uint_eq(logged("decisions are missing"), 1);
    size_t with = thread_count(); /* the sanitizers' own among them */
    pthread_mutex_unlock(&disk);
    while (thread_count() >= with)
        sched_yield();
    unlink(file);
}

/* Whether or not somebody reads from it, who sees nobody come and go. */
TEST_TIMES(what_is_no_file_is_refused, 2) {
    char folder[] = "/tmp/ledgerXXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    vpa_auto_free char *file = vpa_xprintf("%s/ledger", folder);
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    int reader = _i == 0 ? -1 : open(file, O_RDONLY | O_NONBLOCK);
    capture_log(0);
    make(VPA_LEDGER_MEMORY, file, 1 << 20);
    record(1, NULL);
    record(2, NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    ck_assert_uint_eq(logged("it is no regular file"), 1);
    ck_assert_int_eq(poll(&(struct pollfd){.fd = reader, .events = POLLIN}, 1, 0), 0);
    if (reader >= 0)
        close(reader);
    unlink(file);
    rmdir(folder);
}

TEST(a_file_that_cannot_be_written_stops_nothing) {
    make(VPA_LEDGER_MEMORY, "/nowhere/ledger", 1000);
    record(1, NULL);
    ck_assert_uint_eq(count(ask(&(struct vpa_ledger_query){.ns = NULL})), 1);
}

/* ---- threads ---- */

#define RECORDERS 4
#define EACH 500

static void *record_many(void *ctx)
{
    for (int i = 0; i < EACH; i++)
        record(*(int *)ctx * EACH + i, "{\"a\":1}");
    return NULL;
}

/* Several record and one reads meanwhile: each number is given once, and the ring and the file are
 * in their order. */
TEST(threads_record_while_one_reads) {
    char folder[] = "/tmp/ledgerXXXXXX";
    pthread_t threads[RECORDERS];
    int which[RECORDERS];
    int64_t last = 0, seq;
    size_t len, lines = 0;
    struct vpa_error err;
    char *text;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    vpa_auto_free char *file = vpa_xprintf("%s/ledger", folder);
    make(VPA_LEDGER_MEMORY, file, 64 << 20);
    for (int i = 0; i < RECORDERS; i++) {
        which[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_many, &which[i]), 0);
    }
    while (last < RECORDERS * EACH) {
        vpa_auto_free char *since = vpa_xprintf("%lld", (long long)last);

        vpa_json_foreach (
            entry, vpa_json_find(ask(&(struct vpa_ledger_query){.since = since}), "decisions")) {
            ck_assert(vpa_json_int64(vpa_json_find(entry, "seq"), &seq));
            ck_assert_int_eq(seq, ++last);
        }
        vpa_arena_clear(&arena);
    }
    for (int i = 0; i < RECORDERS; i++)
        pthread_join(threads[i], NULL);
    vpa_ledger_free(VPA_STEAL(ledger));
    ck_assert_int_eq(vpa_read_file(file, 1 << 20, &text, &len, &err), 0);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        ck_assert_int_eq(strtoll(at + strlen("{\"seq\":"), NULL, 10), (long long)++lines);
    ck_assert_uint_eq(lines, RECORDERS * EACH);
    free(text);
    unlink(file);
    rmdir(folder);
}

int main(void)
{
    return run_tests("ledger", NULL, teardown);
}
