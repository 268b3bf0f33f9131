/*
 * kubectl-vpa: one table of commands, the options that all of them share, and what a command finds
 * made when it runs.
 *
 *     static int run_version(struct cli *cli) { ...; return CLI_OK; }
 *
 *     const struct cli_command cli_version = {
 *         .name = "version", .summary = "...", .example = "kubectl vpa version",
 *         .run = run_version,
 *     };
 *
 * A command builds its answer in cli->out, which is written when it has ended; what narrows the
 * answer (a kind that may not be read) is told by cli_note and written to standard error, and
 * stands in JSON and YAML as "notes". It reads the cluster, and writes to it only where its help
 * says so.
 *
 * Exit status: 0 done, 1 it failed or found what it looks for, 2 wrong usage.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/base/random.h"
#include "vpa/kube/client.h"

enum cli_status { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };
enum cli_format { CLI_TABLE, CLI_WIDE, CLI_JSON, CLI_YAML, CLI_CSV };

/* Longest answer of a command: a report of a hundred thousand containers. */
#define CLI_OUT_MAX ((size_t)256 << 20)
#define CLI_NOTES_MAX 64
#define CLI_NOTES_RESERVE 32 /* beyond them, for lists that failed */
/* Until the caches that a command fills are in step: they ask again for ever. */
#define CLI_CACHES_TIMEOUT (2 * VPA_MINUTE)

struct cli_option {
    const char *name;  /* "apply" for --apply */
    char letter;       /* short form, 0: none */
    const char *value; /* what stands for the value in the help; NULL: a switch */
    const char *help;
};

#define CLI_FORM(FORMAT) (1U << (FORMAT))
#define CLI_FORMS_OF_TEXT (CLI_FORM(CLI_TABLE) | CLI_FORM(CLI_WIDE))
#define CLI_FORMS_BUT_CSV (CLI_FORMS_OF_TEXT | CLI_FORM(CLI_JSON) | CLI_FORM(CLI_YAML))

struct cli;
struct cli_command {
    const char *name;
    const char *summary;   /* one line */
    const char *arguments; /* "POD|VPA|WORKLOAD"; "" for none */
    size_t min_args, max_args;
    const char *details; /* more lines of the help; may be NULL */
    const char *example; /* lines "# what" and "kubectl vpa ..." */
    const struct cli_option *options;
    size_t option_count;
    unsigned forms; /* that it has, as CLI_FORM; 0: all of them */
    bool named;     /* its first word is the name of an object, which is in one namespace */
    bool raw;       /* it reads its own words: cli->argv, after the command */
    int (*run)(struct cli *cli);
};
/* Ends with a command without a name. */
extern const struct cli_command *const cli_commands[];
const struct cli_command *cli_command_find(const char *name);
const struct cli_option *cli_global_options(size_t *count);

#define CLI_OPTIONS_MAX 32 /* of a command, the shared ones included */
struct cli {
    const struct cli_command *command;
    const char *values[CLI_OPTIONS_MAX]; /* beside the options: given values */
    const char **args;                   /* words that are not options */
    size_t arg_count;
    int argc; /* raw commands */
    char *const *argv;
    enum cli_format format;
    bool color;
    bool all_namespaces;
    const char *context; /* instead of that of --context; NULL: that one */
    const char *ns;      /* of -n, of the context, or "default"; known once connected; "" with -A */

    struct vpa_arena arena; /* lives as long as the command */
    struct vpa_buf out;
    const char *notes[CLI_NOTES_MAX + CLI_NOTES_RESERVE];
    size_t note_count, notes_dropped;
    bool lacks;           /* a list failed without which the answer is not whole */
    vpa_duration silence; /* for so long lists waited for a server that had nothing to give */

    struct vpa_clock *clock; /* NULL before cli_connect */
    struct vpa_loop *loop;
    struct vpa_random random;
    struct vpa_kube_config *config;
    struct vpa_transport *transport;
    struct vpa_kube_client *client;
};

void cli_init(struct cli *cli);
void cli_release(struct cli *cli);

/* The value of an option of the command or of all commands; NULL when it was not given, "" for a
 * switch. */
const char *cli_option(const struct cli *cli, const char *name);
/* The value of an option as its number among the names, which end with NULL; *choice stays as it is
 * when it was not given. */
int cli_choose(const struct cli *cli, const char *option, const char *const *names, size_t *choice,
               struct vpa_error *err) VPA_MUST_CHECK;
/* Reads the words after the command. -1: wrong usage, err says which word. *help: --help is among
 * them. */
int cli_parse(struct cli *cli, int argc, char *const *argv, bool *help,
              struct vpa_error *err) VPA_MUST_CHECK;
/* Of the program (command NULL) or of a command. */
void cli_help(const struct cli_command *command, struct vpa_buf *out);
/* The whole program: finds the command, runs it, writes what it answers. */
int cli_main(int argc, char *const *argv);

/* Reads the kubeconfig and makes the client; again does nothing. Commands that need no cluster
 * never call it. */
int cli_connect(struct cli *cli, struct vpa_error *err) VPA_MUST_CHECK;
/* After the first reading of a command that stays: no credential plugin asks at the terminal. */
void cli_leave_terminal(struct cli *cli);
/* Over another transport (tests): takes it, and borrows clock and loop. */
int cli_use_transport(struct cli *cli, struct vpa_clock *clock, struct vpa_loop *loop,
                      struct vpa_transport *transport, struct vpa_error *err) VPA_MUST_CHECK;
vpa_time cli_now(const struct cli *cli);

/* Something that makes the answer less than was asked for; each text once. What is beyond
 * CLI_NOTES_MAX is counted alone. */
void cli_note(struct cli *cli, const char *fmt, ...) VPA_PRINTF(2, 3);
/* The same for a list that failed: it has room of its own. */
void cli_note_failure(struct cli *cli, const char *fmt, ...) VPA_PRINTF(2, 3);
/* One after the other, last how many more there were; NULL: no more. */
const char *cli_note_at(struct cli *cli, size_t i);
/* For a command that answers again. */
void cli_notes_clear(struct cli *cli);
/* CLI_FAILED where the answer is not whole. */
enum cli_status cli_status_of_answer(const struct cli *cli);
/* Prints the error of a command on standard error; the value is CLI_FAILED. */
int cli_complain(const struct cli *cli, const struct vpa_error *err);
/* The same for wrong usage: CLI_USAGE. */
int cli_complain_of_usage(const struct cli *cli, const struct vpa_error *err);

extern const struct cli_command cli_why;
/* The whole text into a file, which is replaced when it is there. */
int cli_write_file(const char *path, const struct vpa_buf *text,
                   struct vpa_error *err) VPA_MUST_CHECK;

extern const struct cli_command cli_show;
extern const struct cli_command cli_report;
extern const struct cli_command cli_top;
extern const struct cli_command cli_dash;
extern const struct cli_command cli_shadow;
extern const struct cli_command cli_diff;
extern const struct cli_command cli_create;
extern const struct cli_command cli_doctor;
extern const struct cli_command cli_version;
extern const struct cli_command cli_completion;

#endif
