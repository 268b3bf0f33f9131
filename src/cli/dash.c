/*
 * `dash`: the page of `report`, live, for this machine alone.
 *
 * Anybody on the machine, and any page in its browsers, may connect to 127.0.0.1. So an answer
 * needs the secret of the address, which changes with each start, and a Host header that names
 * 127.0.0.1 or localhost: a page of a name that was made to lead here has another one. Nothing is
 * opened in the cluster, and nothing but GET is answered.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "vpa/base/str.h"
#include "vpa/daemon/seed.h"
#include "vpa/net/http_server.h"

/* A cluster is not read more often than this, whoever asks. */
#define FRESH (5 * VPA_SECOND)

struct dash {
    struct cli *cli;
    int64_t asked_port; /* 0: any that is free */
    char secret[33];
    int port;
    char *page; /* the last one, heap */
    size_t page_len;
    int64_t read_at; /* monotonic */
    bool reading;
    bool failed; /* the last reading, for this reason; the page is that before */
    struct vpa_error failure;
};

static bool is_local(const struct dash *d, const char *host)
{
    vpa_auto_free char *number = vpa_xprintf("127.0.0.1:%d", d->port);
    vpa_auto_free char *name = vpa_xprintf("localhost:%d", d->port);

    return host && (strcmp(host, number) == 0 || strcmp(host, name) == 0);
}

/* In a time that does not tell how much of it is right. */
static bool has_secret(const struct dash *d, const char *path)
{
    unsigned char differs = 0;

    if (strlen(path) != sizeof(d->secret) || path[0] != '/')
        return false;
    for (size_t i = 0; i + 1 < sizeof(d->secret); i++)
        differs |= (unsigned char)(path[i + 1] ^ d->secret[i]);
    return differs == 0;
}

static int read_page(struct dash *d)
{
    struct cli_world world;
    vpa_auto_buf page = VPA_BUF(CLI_OUT_MAX);

    cli_notes_clear(d->cli);
    if (cli_world_read(d->cli, d->cli->ns, &world, &d->failure) < 0)
        return -1;
    cli_report_page(d->cli, &world, true, &page);
    cli_world_release(&world);
    if (vpa_buf_failed(&page))
        return vpa_fail(&d->failure, VPA_LIMIT, "the page would be longer than 256 MiB");
    free(d->page);
    d->page_len = page.len;
    d->page = vpa_buf_take(&page);
    return 0;
}

static bool is_old(const struct dash *d)
{
    return !d->page || vpa_loop_monotonic(d->cli->loop) - d->read_at > FRESH;
}

/* Reading pumps the loop, on which another request may come: that one gets the page before. */
static void answer(void *ctx, const struct vpa_server_request *request,
                   struct vpa_server_response *response)
{
    struct dash *d = ctx;

    if (!is_local(d, vpa_server_header(request, "Host")) || !has_secret(d, request->path)) {
        vpa_server_reply_text(response, 403, "The address that the command printed is needed.\n");
        return;
    }
    if (strcmp(request->method, "GET") != 0) {
        vpa_server_reply_text(response, 405, "There is nothing but GET here.\n");
        return;
    }
    d->reading = true; /* somebody looks: the next page is worth reading */
    if (d->failed) {
        vpa_auto_free char *text = vpa_xprintf("%s\n", d->failure.text);

        vpa_server_reply_text(response, 503, text);
        return;
    }
    response->status = 200;
    response->content_type = "text/html; charset=utf-8";
    response->nosniff = true;
    response->body = vpa_xmalloc(d->page_len + 1);
    memcpy(response->body, d->page, d->page_len + 1);
    response->body_len = d->page_len;
}

static void on_signal(void *ctx, int number)
{
    (void)number;
    vpa_loop_stop(ctx);
}

/* What failed is read again though nobody looks: who comes back later is not told what is over. */
static void serve(struct dash *d)
{
    while (!vpa_loop_is_stopping(d->cli->loop)) {
        vpa_loop_pump(d->cli->loop, VPA_SECOND);
        if (vpa_loop_is_stopping(d->cli->loop) || !(d->reading || d->failed) || !is_old(d))
            continue;

        bool known = d->failed;

        d->reading = false;
        d->read_at = vpa_loop_monotonic(d->cli->loop);
        d->failed = read_page(d) < 0;
        if (d->failed && !known && !vpa_loop_is_stopping(d->cli->loop))
            cli_complain(d->cli, &d->failure);
    }
}

static void make_secret(struct dash *d)
{
    snprintf(d->secret, sizeof(d->secret), "%016llx%016llx",
             (unsigned long long)vpa_seed_from_kernel(),
             (unsigned long long)vpa_seed_from_kernel());
}

static int start(struct dash *d, struct vpa_http_server **server, struct vpa_error *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    vpa_auto_free char *address = vpa_xprintf("127.0.0.1:%lld", (long long)d->asked_port);

    make_secret(d);
    if (read_page(d) < 0) {
        *err = d->failure;
        return -1;
    }
    cli_leave_terminal(d->cli);
    if (vpa_loop_on_signals(d->cli->loop, signals, VPA_COUNT(signals), on_signal, d->cli->loop,
                            err) < 0)
        return -1;
    d->read_at = vpa_loop_monotonic(d->cli->loop);
    *server =
        vpa_http_server_new(d->cli->loop,
                            &(struct vpa_http_server_options){
                                .address = address, .handler = answer, .ctx = d, .body_max = 1024},
                            err);
    if (!*server)
        return -1;
    d->port = vpa_http_server_port(*server);
    printf("http://127.0.0.1:%d/%s\n", d->port, d->secret);
    fflush(stdout);
    return 0;
}

static int read_port(struct dash *d, struct vpa_error *err)
{
    const char *port = cli_option(d->cli, "port");

    if (port && (vpa_parse_int64(port, &d->asked_port, NULL) < 0 || d->asked_port < 0 ||
                 d->asked_port > 65535))
        return vpa_fail(err, VPA_INVALID, "--port %.60s is no number from 0 to 65535", port);
    return 0;
}

static int run(struct cli *cli)
{
    struct dash d = {.cli = cli};
    struct vpa_http_server *server = NULL;
    struct vpa_error err;
    int status = CLI_OK;

    if (read_port(&d, &err) < 0)
        return cli_complain_of_usage(cli, &err);
    if (cli_connect(cli, &err) < 0)
        return cli_complain(cli, &err);
    if (start(&d, &server, &err) < 0)
        status = cli_complain(cli, &err);
    else
        serve(&d);
    vpa_http_server_free(server);
    free(d.page);
    return status;
}

static const struct cli_option options[] = {
    {"port", 0, "NUMBER", "The port on 127.0.0.1; default a free one"},
};

const struct cli_command cli_dash = {
    .name = "dash",
    .summary = "The page of report, live, on 127.0.0.1",
    .arguments = "",
    .details = "Prints the address, which holds a secret, and serves until it is interrupted. "
               "Nothing is opened in the\ncluster; it is read again while somebody looks, and "
               "until that succeeds.",
    .example = "  # The whole cluster in a browser\n  kubectl vpa dash -A",
    .options = options,
    .option_count = VPA_COUNT(options),
    .forms = CLI_FORM(CLI_TABLE),
    .run = run,
};
