/*
 * Runs the cases of one set and says what differs.
 *
 * A case is judged by its recorded differences: none is a pass; a case on the list of deviations
 * must differ exactly as listed; a tagged one that is not listed may differ where its decisions
 * license it and must hold the set's invariant, unless the vectors are the ones the list was made
 * from.
 */
#include "runner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PRINTED_MAX 10      /* mismatching cases per set without -v */
#define VALUE_MAX 2000      /* bytes of a printed value without -v */
#define CASE_MAX (64 << 20) /* longest line */

struct difference {
    const char *label, *wanted, *got;
};

struct golden_run {
    const struct golden_set *set;
    const struct golden_options *options;
    bool ours;
    struct golden_counts *counts; /* in memory shared with the parent */
    char *current;                /* the case being run, likewise */
    struct difference *differences;
    size_t difference_count, difference_capacity;
    char skip_reason[512]; /* empty: not skipped */
    struct vpa_arena arena;
};

#define CURRENT_MAX 256
struct shared {
    struct golden_counts counts;
    char current[CURRENT_MAX];
};

void golden_record(struct golden_run *run, const char *label, const char *wanted, const char *got)
{
    VPA_GROW(run->differences, run->difference_count, run->difference_capacity);
    run->differences[run->difference_count++] = (struct difference){label, wanted, got};
}

void golden_record_skip(struct golden_run *run, const char *reason)
{
    snprintf(run->skip_reason, sizeof(run->skip_reason), "%s", reason);
}

/* ---- judgement ---- */

static void print_value(const char *what, const char *value, bool whole)
{
    size_t len = strlen(value);

    if (whole || len <= VALUE_MAX)
        printf("    %s %s\n", what, value);
    else
        printf("    %s %.*s... (%zu bytes)\n", what, VALUE_MAX, value, len);
}

static void report(struct golden_run *run, const struct golden_case *c, const char *why)
{
    run->counts->mismatches++;
    if (run->options->propose || (!run->options->verbose && run->counts->mismatches > PRINTED_MAX))
        return;
    printf("MISMATCH %s %s (%s)%s%s\n", c->set, c->id, c->file, *why ? ": " : "", why);
    for (size_t i = 0; i < run->difference_count; i++) {
        printf("  %s\n", run->differences[i].label);
        print_value("wanted", run->differences[i].wanted, run->options->verbose);
        print_value("got   ", run->differences[i].got, run->options->verbose);
    }
}

/* The listed labels and values are exactly those found. */
static bool as_listed(struct golden_run *run, const struct golden_deviation *d)
{
    size_t listed = vpa_json_count(d->values);

    if (listed != run->difference_count)
        return false;
    for (size_t i = 0; i < listed; i++) {
        const struct vpa_json *ours = vpa_json_find(d->values, run->differences[i].label), *got;
        struct vpa_error err;
        const char *text = run->differences[i].got;
        if (vpa_json_parse(&run->arena, text, strlen(text), &got, &err) < 0)
            return false;
        if (!ours || !vpa_json_equal(ours, got))
            return false;
    }
    return true;
}

static void propose(struct golden_run *run, const struct golden_case *c)
{
    char fingerprint[17];
    const char *separator = "";

    golden_fingerprint(c->line, fingerprint);
    printf("%s %s %s ", c->set, c->id, fingerprint);
    vpa_json_foreach (tag, c->differs) {
        const char *text = vpa_or_empty(vpa_json_string(tag));
        printf("%s", separator);
        for (; *text; text++)
            putchar(*text == ' ' ? '_' : *text);
        separator = ",";
    }
    printf("%s {", c->differs ? "" : "UNTAGGED");
    for (size_t i = 0; i < run->difference_count; i++)
        printf("%s\"%s\":%s", i ? "," : "", run->differences[i].label, run->differences[i].got);
    printf("}\n");
}

/* Whether the text is of the pattern, in which "*" stands for any text. */
static bool is_like(const char *pattern, const char *text)
{
    const char *star = strchr(pattern, '*');

    if (!star)
        return strcmp(pattern, text) == 0;
    if (strncmp(pattern, text, (size_t)(star - pattern)) != 0)
        return false;
    for (text += star - pattern; !is_like(star + 1, text); text++)
        if (!*text)
            return false;
    return true;
}

static bool is_licensed(const struct golden_case *c, const struct golden_licence *licences,
                        const char *touched, const char *label)
{
    for (; licences->decision; licences++) {
        if (!golden_tagged(c, licences->decision) && !vpa_str_eq(licences->decision, touched))
            continue;
        for (size_t i = 0; i < GOLDEN_LICENSED_MAX && licences->labels[i]; i++)
            if (is_like(licences->labels[i], label))
                return true;
    }
    return false;
}

/* Drops the differences that the decisions of the case allow. */
static void drop_licensed(struct golden_run *run, const struct golden_case *c, const char *touched)
{
    size_t kept = 0;

    for (size_t i = 0; i < run->difference_count; i++)
        if (run->set->licences &&
            !is_licensed(c, run->set->licences, touched, run->differences[i].label))
            run->differences[kept++] = run->differences[i];
    run->difference_count = kept;
}

static void judge(struct golden_run *run, struct golden_case *c)
{
    struct golden_deviation *d = golden_deviation_find(c);

    if (run->skip_reason[0]) {
        run->counts->skipped++;
        if (run->options->verbose)
            printf("SKIPPED %s %s: %s\n", c->set, c->id, run->skip_reason);
        return;
    }
    if (d) {
        d->seen = true;
        run->counts->deviations++;
        if (run->difference_count == 0)
            report(run, c, "listed as a deviation but equal to the reference");
        else if (!as_listed(run, d))
            report(run, c, "differs, but not as listed");
        return;
    }
    if (run->difference_count == 0)
        return;
    if (run->options->propose)
        propose(run, c);
    const char *touched = run->set->touches ? run->set->touches(c) : NULL;
    if (run->ours || !run->set->invariant || !(c->differs || touched)) {
        report(run, c, c->differs ? "tagged, not listed" : "");
        return;
    }
    drop_licensed(run, c, touched);
    run->counts->deviations++;
    run->set->invariant(c);
    if (run->difference_count)
        report(run, c, "the invariant of the decision does not hold");
}

/* ---- cases ---- */

static void run_line(struct golden_run *run, const char *file, const char *line)
{
    struct golden_case c = {
        .set = run->set->name, .file = file, .line = line, .arena = &run->arena, .run = run};
    struct vpa_error err;

    run->counts->cases++;
    run->difference_count = 0;
    run->skip_reason[0] = '\0';
    if (vpa_json_parse(&run->arena, line, strlen(line), &c.root, &err) < 0) {
        c.id = "?";
        golden_record(run, "case", "JSON", err.text);
        report(run, &c, "");
        return;
    }
    c.id = vpa_or_empty(vpa_json_string(vpa_json_find(c.root, "id")));
    c.in = vpa_json_find(c.root, "in");
    c.out = vpa_json_find(c.root, "out");
    c.differs = vpa_json_find(c.root, "differs");
    snprintf(run->current, CURRENT_MAX, "%s", c.id);
    run->set->run(&c);
    judge(run, &c);
    run->current[0] = '\0';
}

/* A line of the project's own form: {"file":"parse","case":{...}}; both parts within the line. */
static char *split_own(char *line, char **file)
{
    static const char head[] = "{\"file\":\"", middle[] = "\",\"case\":";
    char *end = line + strlen(line);
    char *split = strstr(line, middle);

    if (strncmp(line, head, sizeof(head) - 1) != 0 || !split || end[-1] != '}')
        return NULL;
    *split = '\0';
    end[-1] = '\0';
    *file = line + sizeof(head) - 1;
    return split + sizeof(middle) - 1;
}

static void run_file(struct golden_run *run, const char *path, const char *name)
{
    vpa_auto_free char *line = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "r");

    if (!f) {
        perror(path);
        run->counts->mismatches++;
        return;
    }
    for (ssize_t len; (len = getline(&line, &room, f)) > 0;) {
        char *text = line, *file = NULL;
        if (len > CASE_MAX)
            continue;
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (!*line)
            continue;
        if (!name && !(text = split_own(line, &file))) {
            printf("%s: a line is not {\"file\":..,\"case\":..}\n", path);
            run->counts->mismatches++;
            continue;
        }
        run_line(run, name ? name : file, text);
        vpa_arena_clear(&run->arena);
    }
    fclose(f);
}

static int is_jsonl(const struct dirent *entry)
{
    return vpa_str_ends_with(entry->d_name, ".jsonl");
}

static void run_files(struct golden_run *run, const char *dir)
{
    vpa_auto_free char *single = vpa_xprintf("%s/%s.jsonl", dir, run->set->name);
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', run->set->name);
    struct dirent **names;

    int count = scandir(folder, &names, is_jsonl, alphasort);
    if (count < 0) {
        run_file(run, single, NULL);
        return;
    }
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *path = vpa_xjoin(folder, '/', names[i]->d_name);
        vpa_auto_free char *name =
            vpa_xstrndup(names[i]->d_name, strlen(names[i]->d_name) - strlen(".jsonl"));
        run_file(run, path, name);
        free(names[i]);
    }
    free(names);
}

bool golden_set_exists(const char *dir, const char *set)
{
    vpa_auto_free char *single = vpa_xprintf("%s/%s.jsonl", dir, set);
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', set);
    struct stat st;

    return access(single, R_OK) == 0 || (stat(folder, &st) == 0 && S_ISDIR(st.st_mode));
}

/* ---- sets ---- */

static struct golden_run *unseen_run;

static void report_unseen(const struct golden_deviation *d)
{
    printf("MISMATCH %s %s: listed as a deviation, but there is no such case\n", d->set, d->id);
    unseen_run->counts->mismatches++;
}

static void run_set(const struct golden_set *set, const char *dir, bool ours,
                    const struct golden_options *options, struct shared *shared)
{
    struct golden_run run = {.set = set,
                             .options = options,
                             .ours = ours,
                             .counts = &shared->counts,
                             .current = shared->current};
    vpa_auto_free char *folder = vpa_xjoin(dir, '/', set->name);

    if (set->begin)
        set->begin();
    run_files(&run, dir);
    if (set->end)
        set->end();
    if (ours && access(folder, R_OK) == 0) { /* complete, not a selection */
        unseen_run = &run;
        golden_deviations_unseen(set->name, report_unseen);
    }
    if (!options->verbose && !options->propose && run.counts->mismatches > PRINTED_MAX)
        printf("  ... %zu more of %s (-v shows all)\n", run.counts->mismatches - PRINTED_MAX,
               set->name);
    free(run.differences);
    vpa_arena_release(&run.arena);
}

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* In a child, so that a crash costs only this set. */
static void run_in_child(const struct golden_set *set, const char *dir, bool ours,
                         const struct golden_options *options, struct shared *shared)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    if (child == 0) {
        run_set(set, dir, ours, options, shared);
        exit(0); /* not _exit: the leak checker and the coverage counters run here */
    }
    if (waitpid(child, &status, 0) < 0 || status != 0) {
        shared->counts.mismatches++;
        if (WIFSIGNALED(status))
            printf("MISMATCH %s %s: killed by signal %d\n", set->name, shared->current,
                   WTERMSIG(status));
        else
            printf("MISMATCH %s %s: ended with status %d\n", set->name, shared->current,
                   WEXITSTATUS(status));
    }
}

struct golden_counts golden_run_set(const struct golden_set *set, const char *dir, bool ours,
                                    const struct golden_options *options)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double start = now_seconds();

    if (shared == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    if (options->here)
        run_set(set, dir, ours, options, shared);
    else
        run_in_child(set, dir, ours, options, shared);
    struct golden_counts counts = shared->counts;
    counts.seconds = now_seconds() - start;
    munmap(shared, sizeof(*shared));
    return counts;
}
