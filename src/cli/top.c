/*
 * `top`: rows by waste or by risk. On a terminal they are refreshed until a key ends it, elsewhere
 * they are printed once.
 */
#include <ncurses.h>

#include <string.h>
#include <unistd.h>

#include "report.h"
#include "vpa/base/str.h"

#define REFRESH_DEFAULT 10 /* seconds */
#define LINES_MAX ((size_t)16 << 20)

struct top {
    struct cli *cli;
    enum cli_group group;
    enum cli_order order;
    int64_t seconds;
    size_t first; /* row at the top of the screen */
    struct vpa_buf text;
    struct vpa_error failure;
    bool failed;
};

static int read_rows(struct top *t, struct vpa_error *err)
{
    struct cli_world world, sums;
    cli_auto_table table = {0};

    cli_notes_clear(t->cli);
    if (cli_world_read(t->cli, t->cli->ns, &world, err) < 0)
        return -1;
    cli_world_group(&world, t->group, &sums);
    cli_world_sort(&sums, t->order);
    cli_report_table(t->cli, &sums, &table);
    vpa_buf_clear(&t->text);
    cli_table_print(&table, t->cli->format == CLI_WIDE, false, &t->text);
    cli_world_release(&sums);
    cli_world_release(&world);
    return 0;
}

/* ---- on a terminal ---- */

static const char *line_at(const char *text, size_t number)
{
    while (number-- > 0) {
        text = strchr(text, '\n');
        if (!text)
            return NULL;
        text++;
    }
    return *text ? text : NULL;
}

static void put_screen_line(int y, const char *line, int attributes)
{
    size_t len = strcspn(line, "\n");

    attron(attributes);
    mvaddnstr(y, 0, line, (int)(len < (size_t)COLS ? len : (size_t)COLS));
    attroff(attributes);
    clrtoeol();
}

static void draw(const struct top *t)
{
    const char *text = vpa_buf_text(&t->text), *line;

    erase();
    attron(A_REVERSE);
    mvprintw(0, 0,
             "kubectl vpa top  by %s, order %s  [n]ame [w]aste [r]isk  [c]ontainer w[o]rkload"
             " name[s]pace  [q]uit",
             cli_group_names[t->group], cli_order_names[t->order]);
    attroff(A_REVERSE);
    if (t->failed)
        put_screen_line(1, t->failure.text, A_BOLD);
    else if (*text)
        put_screen_line(1, text, A_BOLD);
    for (int y = 2; y < LINES && (line = line_at(text, t->first + (size_t)y - 1)); y++)
        put_screen_line(y, line, A_NORMAL);
    refresh();
}

static void scroll_by(struct top *t, int rows)
{
    if (rows < 0)
        t->first = t->first > (size_t)-rows ? t->first - (size_t)-rows : 0;
    else if (line_at(vpa_buf_text(&t->text), t->first + (size_t)rows + 1))
        t->first += (size_t)rows;
}

/* 0: nothing to read anew; 1: the rows are to be read; -1: the end. */
static int on_key(struct top *t, int key)
{
    static const char order_keys[] = "nwr", group_keys[] = "cos";
    const char *found;

    if (key == 'q' || key == 27)
        return -1;
    if (key == KEY_UP || key == KEY_DOWN)
        scroll_by(t, key == KEY_UP ? -1 : 1);
    if (key == KEY_PPAGE || key == KEY_NPAGE)
        scroll_by(t, key == KEY_PPAGE ? 2 - LINES : LINES - 2);
    if (key > 0 && key < 128 && (found = strchr(order_keys, key)) != NULL) {
        t->order = (enum cli_order)(found - order_keys);
        return 1;
    }
    if (key > 0 && key < 128 && (found = strchr(group_keys, key)) != NULL) {
        t->group = (enum cli_group)(found - group_keys);
        return 1;
    }
    return 0;
}

static void watch_keys(struct top *t)
{
    int next = 1;

    while (next >= 0) {
        if (next > 0)
            t->failed = read_rows(t, &t->failure) < 0;
        draw(t);
        timeout((int)(t->seconds * 1000));

        int key = getch();

        next = key < 0 ? 1 : on_key(t, key);
    }
}

static void run_screen(struct top *t)
{
    cli_leave_terminal(t->cli);
    initscr();
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    watch_keys(t);
    endwin();
}

/* ---- the command ---- */

static int read_options(struct top *t, struct vpa_error *err)
{
    const char *every = cli_option(t->cli, "every");
    size_t group = CLI_BY_WORKLOAD, order = CLI_ORDER_WASTE;

    if (cli_choose(t->cli, "by", cli_group_names, &group, err) < 0 ||
        cli_choose(t->cli, "sort", cli_order_names, &order, err) < 0)
        return -1;
    t->group = (enum cli_group)group;
    t->order = (enum cli_order)order;
    t->seconds = REFRESH_DEFAULT;
    if (every &&
        (vpa_parse_int64(every, &t->seconds, err) < 0 || t->seconds < 1 || t->seconds > 3600))
        return vpa_fail(err, VPA_INVALID, "--every %.60s is no number of seconds from 1 to 3600",
                        every);
    return 0;
}

static int run(struct cli *cli)
{
    struct top t = {.cli = cli};
    struct vpa_error err;
    bool screen = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && !cli_option(cli, "once");
    int status;

    if (read_options(&t, &err) < 0)
        return cli_complain_of_usage(cli, &err);
    if (cli_connect(cli, &err) < 0)
        return cli_complain(cli, &err);
    vpa_buf_init(&t.text, LINES_MAX);
    status = read_rows(&t, &err);
    if (status == 0 && screen)
        run_screen(&t);
    else if (status == 0)
        vpa_buf_append(&cli->out, vpa_buf_text(&t.text), t.text.len);
    vpa_buf_release(&t.text);
    return status < 0 ? cli_complain(cli, &err) : (int)cli_status_of_answer(cli);
}

static const struct cli_option options[] = {
    {"by", 0, "container|workload|namespace", "What a row stands for; default workload"},
    {"sort", 0, "name|waste|risk", "The order; default waste"},
    {"every", 0, "SECONDS", "How often the terminal is refreshed; default 10"},
    {"once", 0, NULL, "One table, also on a terminal"},
};

const struct cli_command cli_top = {
    .name = "top",
    .summary = "Workloads by waste and by risk, refreshed on a terminal",
    .arguments = "",
    .details = "Keys: n, w, r order by name, waste, risk; c, o, s show containers, workloads, "
               "namespaces; arrows and\npages scroll; q ends.",
    .example = "  # The most wasteful first\n  kubectl vpa top -A\n"
               "  # What is at risk, as a table\n  kubectl vpa top -A --sort risk --once",
    .options = options,
    .option_count = VPA_COUNT(options),
    .forms = CLI_FORMS_OF_TEXT,
    .run = run,
};
