/* kubesim: an API server in memory. `kubesim --help` says what it serves. */
#include "outgoing.h"

#include <curl/curl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "kubesim: a Kubernetes API server in memory, for tests, demonstrations and benchmarks.\n"
    "\n"
    "  --port N                    port on 127.0.0.1; 0 takes a free one (8001)\n"
    "  --tls-cert-file, --tls-private-key-file   serve HTTPS\n"
    "  --client-ca-file PATH       client certificates: CN is the user, O the groups\n"
    "  --requestheader-client-ca-file PATH   who may speak for users to aggregated APIs: told to "
    "them in kube-system\n"
    "  --proxy-client-cert-file, --proxy-client-key-file   the certificate of it that is shown "
    "to them\n"
    "  --token-auth-file PATH      lines SECRET,user,uid,\"group,group\"\n"
    "  --authorization none|rbac   (none: everybody is the administrator)\n"
    "  --controllers LIST          any of deployment, replicaset, statefulset, daemonset, job, "
    "cronjob, scheduler,\n"
    "                              disruption, garbage, namespace, serviceaccount, node; * is all "
    "(default), - none\n"
    "  --service-map LIST          NS/NAME:PORT=HOST:PORT,... where webhooks and API services are "
    "found; without an\n"
    "                              entry ExternalName services and Endpoints are followed\n"
    "  --load FILE                 create the objects of a YAML or JSON file at start "
    "(repeatable)\n"
    "  --minor 34|36               whose answers where the two differ (36)\n"
    "  --no-resize                 pods/resize is not served, as before 1.33\n"
    "  --no-service-account        pods do not need a service account\n"
    "  --history N                 events remembered per resource (20000); older versions answer "
    "410\n"
    "  --bookmark-seconds N        interval of bookmarks (60)\n"
    "  --time-rate R               virtual seconds per real second (1)\n"
    "  --clock-file PATH           publish virtual time for others (include/vpa/daemon/clock.h)\n"
    "  --start-time T              virtual time at start, RFC 3339 (now)\n"
    "  --generate SPEC             fill with objects for benchmarks: "
    "vpas=1000,pods-per-vpa=10,containers=1,\n"
    "                              "
    "namespaces=10,checkpoints=0|1,metrics=0|1,mode=Off,recommended=0|1\n"
    "\n"
    "Served: health and version; discovery (legacy and aggregated v2); OpenAPI v3; get, list "
    "(limit, continue, all\n"
    "forms of resourceVersion, label and field selectors), watch (bookmarks, watch-list, selector "
    "transitions, 410),\n"
    "create, replace, patch (json, merge, strategic, apply with field ownership), delete, delete "
    "of collections;\n"
    "Table and metadata-only answers; dryRun, fieldValidation, fieldManager; pods/status, binding, "
    "eviction with\n"
    "budgets, resize, log; scale; custom resources (schema, pruning, defaults, CEL rules, status, "
    "scale, columns);\n"
    "admission webhooks over TLS, LimitRanges, service accounts; RBAC and self reviews; leases, "
    "both kinds of events;\n"
    "aggregated APIs by proxy (APIService). Resources: kubectl api-resources.\n"
    "\n"
    "Not served, and why: protobuf and CBOR (answers are JSON; of bodies in protobuf only the "
    "kinds that kubectl\n"
    "creates so are read, others get 415: no client of ours needs them); OpenAPI v2 (404: kubectl "
    "1.29 and later do without); HTTP/2 (webhooks and watches speak HTTP/1.1);\n"
    "exec, attach, port-forward, proxy to pods (no containers behind); conversion webhooks (one "
    "version per resource\n"
    "here); ValidatingAdmissionPolicy, match conditions, ResourceQuota enforcement, priority and "
    "fairness,\n"
    "impersonation, escalation checks (nothing under test depends on them); storage on disk "
    "(memory is the point).\n"
    "\n"
    "Control: POST /kubesim/faults sets the fault rules (one object or a list; {} clears), GET and "
    "DELETE\n"
    "/kubesim/requests count calls and bytes by verb, resource and user agent, POST "
    "/kubesim/compact forgets old\n"
    "versions, GET /kubesim/clock tells the time, POST {\"rate\":R} or {\"advance\":\"1h\"} "
    "changes it,\n"
    "GET /kubesim/quiet waits until controllers have done and watches have sent all there is.\n"
    "A fault rule: method, path, query, userAgent (whole method, parts of the others) choose "
    "requests, watch true\n"
    "chooses streams; skip, count and probability say how often; delayMs, status with retryAfter, "
    "cutAfter BYTES (the\n"
    "answer breaks off), reset (the connection is reset), duplicate (events twice), gone "
    "(in-stream 410), stale (reads\n"
    "of older versions) say what happens. Webhooks: rules with path \"webhook:\" and the name "
    "apply to calls of them\n"
    "(delayMs, status, reset); metrics away: path \"/apis/metrics.k8s.io\", status 503.\n";

enum { OPT_LONG = 256 };
static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"port", required_argument, NULL, OPT_LONG},
    {"tls-cert-file", required_argument, NULL, OPT_LONG + 1},
    {"tls-private-key-file", required_argument, NULL, OPT_LONG + 2},
    {"client-ca-file", required_argument, NULL, OPT_LONG + 3},
    {"token-auth-file", required_argument, NULL, OPT_LONG + 4},
    {"authorization", required_argument, NULL, OPT_LONG + 5},
    {"controllers", required_argument, NULL, OPT_LONG + 6},
    {"service-map", required_argument, NULL, OPT_LONG + 7},
    {"load", required_argument, NULL, OPT_LONG + 8},
    {"minor", required_argument, NULL, OPT_LONG + 9},
    {"no-resize", no_argument, NULL, OPT_LONG + 10},
    {"no-service-account", no_argument, NULL, OPT_LONG + 11},
    {"history", required_argument, NULL, OPT_LONG + 12},
    {"bookmark-seconds", required_argument, NULL, OPT_LONG + 13},
    {"time-rate", required_argument, NULL, OPT_LONG + 14},
    {"clock-file", required_argument, NULL, OPT_LONG + 15},
    {"start-time", required_argument, NULL, OPT_LONG + 16},
    {"generate", required_argument, NULL, OPT_LONG + 17},
    {"requestheader-client-ca-file", required_argument, NULL, OPT_LONG + 18},
    {"proxy-client-cert-file", required_argument, NULL, OPT_LONG + 19},
    {"proxy-client-key-file", required_argument, NULL, OPT_LONG + 20},
    {NULL, 0, NULL, 0},
};

static bool take_option(struct options *o, int opt)
{
    switch (opt) {
    case OPT_LONG:
        o->port = (unsigned)strtoul(optarg, NULL, 10);
        break;
    case OPT_LONG + 1:
        o->tls_cert = optarg;
        break;
    case OPT_LONG + 2:
        o->tls_key = optarg;
        break;
    case OPT_LONG + 3:
        o->client_ca = optarg;
        break;
    case OPT_LONG + 4:
        o->token_file = optarg;
        break;
    case OPT_LONG + 5:
        o->authorization = optarg;
        return !strcmp(optarg, "none") || !strcmp(optarg, "rbac");
    case OPT_LONG + 6:
        o->controllers = optarg;
        break;
    case OPT_LONG + 7:
        o->service_map = optarg;
        break;
    case OPT_LONG + 8:
        if (o->load_count < VPA_COUNT(o->load))
            o->load[o->load_count++] = optarg;
        break;
    case OPT_LONG + 9:
        o->minor = (unsigned)strtoul(optarg, NULL, 10);
        break;
    case OPT_LONG + 10:
        o->resize = false;
        break;
    case OPT_LONG + 11:
        o->service_accounts = false;
        break;
    case OPT_LONG + 12:
        o->history = (unsigned)strtoul(optarg, NULL, 10);
        break;
    case OPT_LONG + 13:
        o->bookmark_seconds = (unsigned)strtoul(optarg, NULL, 10);
        break;
    case OPT_LONG + 14:
        o->time_rate = strtod(optarg, NULL);
        return o->time_rate >= 0;
    case OPT_LONG + 15:
        o->clock_file = optarg;
        break;
    case OPT_LONG + 16:
        o->start_time = optarg;
        break;
    case OPT_LONG + 17:
        o->generate = optarg;
        break;
    case OPT_LONG + 18:
        o->requestheader_ca = optarg;
        break;
    case OPT_LONG + 19:
        o->proxy_client_cert = optarg;
        break;
    case OPT_LONG + 20:
        o->proxy_client_key = optarg;
        break;
    default:
        return false;
    }
    return true;
}

static int run(struct sim *sim, struct vpa_error *err)
{
    sigset_t set;
    int got;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before threads start: they inherit it */
    if (clock_open(sim, err) < 0 || auth_load(sim, err) < 0 || bootstrap(sim, err) < 0)
        return -1;
    struct http *h = http_start(sim, err);
    if (!h)
        return -1;
    controllers_start(sim);
    fprintf(stderr, "kubesim: serving %s://127.0.0.1:%u\n", sim->opt.tls_cert ? "https" : "http",
            sim->port);
    sigwait(&set, &got);
    atomic_store(&sim->stopping, true);
    controllers_stop(sim);
    http_stop(h);
    return 0;
}

int main(int argc, char **argv)
{
    static struct sim sim;
    struct vpa_error err = {0};
    int opt;

    sim.opt = (struct options){.port = 8001,
                               .authorization = "none",
                               .controllers = "*",
                               .time_rate = 1,
                               .history = 20000,
                               .minor = 36,
                               .resize = true,
                               .service_accounts = true,
                               .bookmark_seconds = 60,
                               .service_map = ""};
    while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (opt == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (!take_option(&sim.opt, opt)) {
            fprintf(stderr, "kubesim: bad usage, see --help\n");
            return 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    sim.service_ip = 1;
    schema_builtin_init();
    store_init(&sim.store, sim.opt.history);
    types_init(&sim.types, &sim.store);
    faults_init(&sim);
    int rc = run(&sim, &err);
    if (rc < 0)
        fprintf(stderr, "kubesim: %s\n", err.text);
    faults_release(&sim);
    types_release(&sim.types);
    store_release(&sim.store);
    auth_release(&sim);
    clock_close(&sim);
    vpa_arena_release(&sim.arena);
    schema_builtin_release();
    outgoing_release();
    curl_global_cleanup();
    return rc < 0 ? 1 : 0;
}
