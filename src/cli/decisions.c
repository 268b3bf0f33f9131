#include "decisions.h"

#include <string.h>

#include "lists.h"
#include "port_forward.h"
#include "vpa/api/names.h"
#include "vpa/base/str.h"
#include "vpa/daemon/ledger.h"
#include "vpa/daemon/ledger_page.h"
#include "vpa/json/json.h"
#include "vpa/net/http_client.h"

/* Of the whole answer: what a ledger of 4 MiB has, and some more. */
#define PAGES_MAX 64
#define PAGE_BYTES (2 * VPA_LEDGER_PAGE_MAX)
#define PAGE_TIMEOUT (5 * VPA_SECOND)
#define ANSWER_TIMEOUT (15 * VPA_SECOND)

/* ---- one page ---- */

static const char *text_of(struct vpa_arena *arena, const struct vpa_json *entry, const char *name)
{
    return vpa_arena_strdup(arena, vpa_or_empty(vpa_json_string(vpa_json_find(entry, name))));
}

/* Entries come oldest first: the new one goes to the front. */
static void keep(struct cli_decisions *out, const struct cli_decision *decision)
{
    size_t kept = out->count < CLI_DECISIONS_MAX ? out->count : CLI_DECISIONS_MAX - 1;

    out->left_out += out->count - kept;
    memmove(&out->items[1], &out->items[0], kept * sizeof(out->items[0]));
    out->items[0] = *decision;
    out->count = kept + 1;
}

/* Of the pods, whichever VPA it was; of the VPA, whichever pod it was; of everything. */
static bool is_about(const struct vpa_json *entry, const struct cli_decisions_query *query)
{
    const char *vpa = vpa_json_string(vpa_json_find(entry, "vpa"));
    const char *pod = vpa_json_string(vpa_json_find(entry, "pod"));
    const char *ns = vpa_json_string(vpa_json_find(entry, "namespace"));

    if (ns && !*ns)
        return true;
    if (*query->vpa && vpa_str_eq(vpa, query->vpa))
        return true;
    return vpa_str_is_in(pod, query->pods, query->pod_count);
}

static int take_entry(struct vpa_arena *arena, const struct vpa_json *entry,
                      const struct cli_decisions_query *query, struct cli_decisions *out,
                      struct vpa_error *err)
{
    struct cli_decision d = {.at = VPA_TIME_UNSET};
    const char *time = vpa_json_string(vpa_json_find(entry, "time"));

    if (!vpa_json_int64(vpa_json_find(entry, "seq"), &d.seq))
        return vpa_fail(err, VPA_INVALID, "decisions: an entry has no number");
    if (!is_about(entry, query))
        return 0;
    if (!time || vpa_time_parse_micro(time, &d.at, NULL) < 0)
        d.at = VPA_TIME_UNSET;
    d.vpa = text_of(arena, entry, "vpa");
    d.pod = text_of(arena, entry, "pod");
    d.decision = text_of(arena, entry, "decision");
    d.rule = text_of(arena, entry, "rule");
    d.why = text_of(arena, entry, "why");
    keep(out, &d);
    return 0;
}

int cli_decisions_take(struct vpa_arena *arena, const char *text, size_t len,
                       const struct cli_decisions_query *query, struct cli_decisions *out,
                       int64_t *next, bool *more, struct vpa_error *err)
{
    vpa_auto_arena scratch = {0};
    const struct vpa_json *root, *list;

    *more = false;
    if (vpa_json_parse(&scratch, text, len, &root, err) < 0)
        return -1;
    list = vpa_json_find(root, "decisions");
    if (!vpa_json_is_array(list) || !vpa_json_int64(vpa_json_find(root, "next"), next) ||
        !vpa_json_bool(vpa_json_find(root, "more"), more))
        return vpa_fail(err, VPA_INVALID, "no page of decisions");
    vpa_json_foreach (entry, list)
        if (take_entry(arena, entry, query, out, err) < 0)
            return -1;
    return 0;
}

/* ---- over HTTP ---- */

int cli_decisions_origin(struct vpa_arena *arena, const char *url, const char **origin,
                         struct vpa_error *err)
{
    static const char *const hosts[] = {"127.0.0.1", "[::1]", "localhost"};
    static const char scheme[] = "http://";
    const char *host = vpa_str_starts_with(url, scheme) ? url + strlen(scheme) : "";
    size_t len = strcspn(host, "/?#");

    for (size_t i = 0; i < VPA_COUNT(hosts); i++) {
        size_t n = strlen(hosts[i]);

        if (strncmp(host, hosts[i], n) != 0 ||
            (n != len && (host[n] != ':' || strspn(host + n + 1, "0123456789") != len - n - 1)))
            continue;
        *origin = vpa_arena_strndup(arena, url, strlen(scheme) + len);
        return 0;
    }
    return vpa_fail(err, VPA_INVALID,
                    "--decisions-from %.100s is no address on loopback, as http://127.0.0.1:8943; "
                    "kubectl port-forward makes one",
                    url);
}

struct fetch {
    struct vpa_arena *arena;
    const struct cli_decisions_query *query;
    struct cli_decisions *out;
    int64_t next;
    bool done, more;
    int result;
    struct vpa_error err;
};

static const char *refusal(int status)
{
    switch (status) {
    case 401:
    case 403:
        return "callers of loopback are not trusted there (--decisions-local=false)";
    case 404:
        return "there is no /decisions: it is switched off, or the updater is another one";
    default:
        return "that is no answer of a ledger";
    }
}

static void on_done(void *ctx, const struct vpa_http_result *answer)
{
    struct fetch *f = ctx;

    f->done = true;
    if (answer->failure != VPA_TRANSPORT_OK)
        f->result = vpa_fail(&f->err, VPA_RETRY, "%s", answer->error);
    else if (answer->status != 200)
        f->result =
            vpa_fail(&f->err, VPA_RETRY, "status %d: %s", answer->status, refusal(answer->status));
    else
        f->result = cli_decisions_take(f->arena, answer->body, answer->body_len, f->query, f->out,
                                       &f->next, &f->more, &f->err);
}

static bool is_done(void *ctx)
{
    return ((struct fetch *)ctx)->done;
}

static void put_target(struct vpa_buf *out, const struct cli_decisions_query *query, int64_t since)
{
    vpa_buf_puts(out, VPA_DECISIONS_PATH);
    vpa_kube_query(out, "namespace", query->ns);
    if (since > 0)
        vpa_buf_printf(out, "&since=%lld", (long long)since);
}

static int fetch_page(struct cli *cli, struct vpa_transport *transport, struct fetch *f)
{
    const struct vpa_http_handler handler = {.ctx = f, .on_done = on_done};
    vpa_auto_buf target = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_exchange *exchange;

    put_target(&target, f->query, f->next);
    f->done = false;
    exchange = vpa_transport_start(transport,
                                   &(struct vpa_http_request){.method = "GET",
                                                              .target = vpa_buf_text(&target),
                                                              .response_max = PAGE_BYTES,
                                                              .timeout = PAGE_TIMEOUT},
                                   &handler);
    if (vpa_loop_wait(cli->loop, is_done, f, 2 * PAGE_TIMEOUT, &f->err) < 0) {
        if (!f->done)
            vpa_transport_cancel(transport, exchange);
        return -1;
    }
    return f->result;
}

static int fetch_pages(struct cli *cli, struct vpa_transport *transport, struct fetch *f)
{
    int64_t deadline = vpa_loop_monotonic(cli->loop) + ANSWER_TIMEOUT;

    for (int page = 0; page < PAGES_MAX; page++) {
        int64_t since = f->next;

        if (fetch_page(cli, transport, f) < 0)
            return -1;
        if (!f->more)
            return 0;
        if (f->next <= since)
            return vpa_fail(&f->err, VPA_INVALID, "its pages lead nowhere");
        if (vpa_loop_monotonic(cli->loop) > deadline)
            break;
    }
    cli_note(cli, "the ledger is longer than what is read of it: newer decisions are missing");
    return 0;
}

int cli_decisions_read(struct cli *cli, const char *origin, const struct cli_decisions_query *query,
                       struct cli_decisions *out, struct vpa_error *err)
{
    struct fetch f = {.arena = &cli->arena, .query = query, .out = out};
    struct vpa_transport *transport =
        vpa_http_client_new(cli->loop,
                            &(struct vpa_http_client_options){
                                .base_url = origin, .proxy = "", .connect_timeout = PAGE_TIMEOUT},
                            err);
    int status;

    if (!transport)
        return -1;
    status = fetch_pages(cli, transport, &f);
    vpa_transport_free(transport);
    if (status < 0) {
        *err = f.err;
        return vpa_wrap(err, "%s", origin);
    }
    return 0;
}

/* ---- where from ---- */

/* The replica that leads is the one with a ledger; without a Lease any of the Deployment. */
static const char *forward_target(struct cli *cli, const struct cli_decisions_query *query)
{
    static const struct cli_kind leases = {
        .group_version = "coordination.k8s.io/v1", .resource = "leases", .what_lacks = ""};
    const char *name = query->updater.name;
    const char *of_pods = vpa_arena_printf(&cli->arena, "%s-", name);
    const struct vpa_json *lease;
    struct vpa_error ignored;
    const char *holder = NULL;

    if (*query->lease &&
        cli_get(cli, &leases, query->lease_ns, query->lease, &lease, &ignored) == 0)
        holder = vpa_json_string(vpa_json_at(lease, "spec.holderIdentity"));
    if (holder && vpa_str_starts_with(holder, of_pods) && strchr(holder, '_'))
        return vpa_arena_printf(&cli->arena, "pod/%.*s", (int)strcspn(holder, "_"), holder);
    return vpa_arena_printf(&cli->arena, "deploy/%s", name);
}

static int read_forwarded(struct cli *cli, const struct cli_decisions_query *query,
                          struct cli_decisions *out, struct vpa_error *err)
{
    const struct cli_installed *updater = &query->updater;
    const struct vpa_json *deployment;
    struct cli_forward *forward;
    vpa_auto_free char *origin = NULL;
    int status;

    if (cli_get(cli, &cli_deployments, updater->ns, updater->name, &deployment, err) < 0)
        return -1;
    forward = cli_forward_open(cli, updater->ns, forward_target(cli, query), query->port, err);
    if (!forward)
        return -1;
    origin = vpa_xprintf("http://127.0.0.1:%d", cli_forward_port(forward));
    status = cli_decisions_read(cli, origin, query, out, err);
    cli_forward_close(forward);
    return status;
}

void cli_decisions_about(struct cli *cli, const struct cli_decisions_query *query,
                         struct cli_decisions *out)
{
    const char *from = cli_option(cli, "decisions-from");
    const char *origin;
    struct vpa_error err;
    int status;

    *out = (struct cli_decisions){0};
    if (from && strcmp(from, "none") == 0) {
        out->missing = "not asked for";
        return;
    }
    if (from)
        status = cli_decisions_origin(&cli->arena, from, &origin, &err) < 0
                     ? -1
                     : cli_decisions_read(cli, origin, query, out, &err);
    else
        status = read_forwarded(cli, query, out, &err);
    if (status == 0)
        return;
    *out = (struct cli_decisions){.missing = vpa_arena_strdup(&cli->arena, err.text)};
}
