/*
 * The aggregated API over a real TLS listener, with the cluster's settings and reviews of access
 * from the simulator: who is believed, who may ask, what is answered, what it says of
 * itself.
 */
#include "certificate_objects.h"
#include "objects.h"
#include "http_fixture.h" /* its err is not that of objects.h */

#include "../../recommender/access.h"
#include "../../recommender/metrics.h"
#include "../../recommender/query_api.h"
#include "../../recommender/query_documents.h"
#include "../../recommender/query_object.h"
#include "vpa/json/json_writer.h"
#include "vpa/net/http_server.h"
#include "vpa/net/tls.h"

#define BASE "/apis/" QUERY_API_VERSION
#define COLLECTION BASE "/namespaces/n/" QUERY_RESOURCE

enum { PROXY, OTHER_NAME, SERVER_ONLY, USERS, NOBODY }; /* who connects */

static struct vpa_tls_pair serving_ca, front_ca, users_ca, serving, peers[NOBODY];
static char cert_file[] = "/tmp/query-api-cert-XXXXXX", key_file[] = "/tmp/query-api-key-XXXXXX";
static struct vpa_random rnd;
static struct vpa_transport *server_side;
static struct vpa_kube_client *client;
static struct query *query;
static struct query_api_config config;
static struct query_api *api;
static struct vpa_arena arena;

/* ---- the API server ---- */

static struct sim_cluster *sim;
static int reviews;
static char review[4096];

static void put_settings(const char *names)
{
    vpa_auto_buf buf = VPA_BUF(1 << 16);

    vpa_buf_puts(&buf, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":"
                       "\"kube-system\",\"name\":\"extension-apiserver-authentication\"},"
                       "\"data\":{\"requestheader-client-ca-file\":");
    vpa_json_escape(&buf, front_ca.cert_pem);
    vpa_buf_puts(&buf, ",\"requestheader-allowed-names\":");
    vpa_json_escape(&buf, names);
    vpa_buf_puts(&buf, ",\"requestheader-username-headers\":\"[\\\"X-Remote-User\\\"]\""
                       ",\"requestheader-uid-headers\":\"[\\\"X-Remote-Uid\\\"]\""
                       ",\"requestheader-group-headers\":\"[\\\"X-Remote-Group\\\"]\""
                       ",\"requestheader-extra-headers-prefix\":\"[\\\"X-Remote-Extra-\\\"]\"}}");
    sim_cluster_put_text(sim, vpa_buf_text(&buf));
}

/* Who may ask. */
static int answer_review(void *ctx, const struct vpa_memory_request *q,
                         struct vpa_memory_reply *reply)
{
    (void)ctx;
    if (strcmp(q->target, "/apis/authorization.k8s.io/v1/subjectaccessreviews") != 0)
        return 0;
    reviews++;
    snprintf(review, sizeof(review), "%s", q->body);
    if (strstr(review, "\"user\":\"broken\""))
        vpa_memory_reply_status(reply, 500, NULL, "no etcd");
    else if (strstr(review, "\"user\":\"alice\""))
        vpa_memory_reply_json(reply, 201, "{\"status\":{\"allowed\":true}}");
    else if (strstr(review, "\"user\":\"mallory\""))
        vpa_memory_reply_json(reply, 201, "{\"status\":{\"allowed\":true,\"denied\":true}}");
    else
        vpa_memory_reply_json(reply, 201, "{\"status\":{\"allowed\":false}}");
    return 201;
}

/* ---- fixture ---- */

static void make_peer(int peer, const struct vpa_tls_pair *ca, const char *name, bool is_client)
{
    const char *const names[] = {name};

    ck_assert_int_eq(vpa_tls_create_certificate(ca, names, 1, is_client, vpa_clock_now(clk),
                                                VPA_HOUR, &peers[peer], &err),
                     0);
}

static void make_certificates(void)
{
    static const char *const names[] = {"localhost", "127.0.0.1"};
    vpa_time now = vpa_clock_now(clk);

    ck_assert_int_eq(vpa_tls_create_ca("serving", now, VPA_HOUR, &serving_ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_ca("front", now, VPA_HOUR, &front_ca, &err), 0);
    ck_assert_int_eq(vpa_tls_create_ca("users", now, VPA_HOUR, &users_ca, &err), 0);
    ck_assert_int_eq(
        vpa_tls_create_certificate(&serving_ca, names, 2, false, now, VPA_HOUR, &serving, &err), 0);
    make_peer(PROXY, &front_ca, "front-proxy-client", true);
    make_peer(OTHER_NAME, &front_ca, "stranger", true);
    make_peer(SERVER_ONLY, &front_ca, "front-proxy-client", false);
    make_peer(USERS, &users_ca, "front-proxy-client", true);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void make_files(void)
{
    close(mkstemp(cert_file));
    close(mkstemp(key_file));
    write_file(cert_file, serving.cert_pem);
    write_file(key_file, serving.key_pem);
    config = (struct query_api_config){
        .address = "127.0.0.1:0", .cert_file = cert_file, .key_file = key_file};
}

static void begin(void)
{
    setup();
    make_certificates();
    make_files();
    recommender_metrics_reset();
    sim = sim_cluster_new(loop);
    sim_cluster_hook(sim, answer_review, NULL);
    put_settings("[\"other\",\"front-proxy-client\"]");
    put_secret(sim, "null");
    put_service(sim, "", "");
    reviews = 0;
    vpa_random_init(&rnd, 1);
    server_side = vpa_memory_transport_new(loop, sim_cluster_serve, sim);
    client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){
            .loop = loop, .transport = server_side, .random = &rnd, .qps = -1},
        &err);
    query = query_new(loop, NULL);
    api = query_api_new(&(struct query_api_options){
        .loop = loop, .config = &config, .client = client, .query = query});
}

static void end(void)
{
    query_api_free(api);
    query_free(query);
    vpa_kube_client_free(client);
    vpa_transport_free(server_side);
    sim_cluster_free(sim);
    vpa_tls_pair_release(&serving_ca);
    vpa_tls_pair_release(&front_ca);
    vpa_tls_pair_release(&users_ca);
    vpa_tls_pair_release(&serving);
    for (int i = 0; i < NOBODY; i++)
        vpa_tls_pair_release(&peers[i]);
    unlink(cert_file);
    unlink(key_file);
    vpa_arena_release(&arena);
    recommender_metrics_reset();
    teardown();
}

static void start(void)
{
    ck_assert_msg(query_api_start(api, &err) == 0, "%s", err.text);
    while (vpa_loop_poll(loop)) /* the settings */
        ;
}

static void pass(void)
{
    const struct vpa_object *vpa = objects_vpa(
        &arena,
        "{'metadata':{'namespace':'n','name':'web'},'spec':{'targetRef':{'kind':'Deployment',"
        "'name':'web'}},'status':{'recommendation':{'containerRecommendations':[{"
        "'containerName':'app','target':{'cpu':'587m'}}]}}}");
    struct vpa_selector selector;

    ck_assert_int_eq(vpa_selector_parse(&arena, "app=x", &selector, &err), 0);
    query_begin(query, 1);
    query_add(query, vpa, &selector, &vpa->recommendation);
    query_end(query);
}

#define QUESTION(meta, pod_meta)                                                                   \
    "{\"apiVersion\":\"" QUERY_API_VERSION "\",\"kind\":\"" QUERY_KIND "\",\"metadata\":{" meta    \
    "},\"spec\":{\"pod\":{\"metadata\":{" pod_meta                                                 \
    "\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}]}}}}"

/* One request by that peer for that user (NULL: none is named); the status. */
static int send_as(int peer, const char *user, const char *method, const char *path,
                   const char *body)
{
    const struct vpa_http_client_options options = {
        .ca_data = serving_ca.cert_pem,
        .cert_data = peer == NOBODY ? NULL : peers[peer].cert_pem,
        .key_data = peer == NOBODY ? NULL : peers[peer].key_pem};
    const struct vpa_header headers[] = {{"Content-Type", "application/json"},
                                         {"X-Remote-Group", "team"},
                                         {"x-remote-group", "system:authenticated"},
                                         {"X-Remote-Extra-Acme.com%2Fproject", "a"},
                                         {"X-Remote-Extra-acme.com%2fProject", "b"},
                                         {"X-Remote-Uid", "u-1"},
                                         {"X-Remote-User", user}};
    const struct vpa_http_request request = {.method = method,
                                             .target = path,
                                             .headers = headers,
                                             .header_count = VPA_COUNT(headers) - (user == NULL),
                                             .body = body,
                                             .body_len = body ? strlen(body) : 0};
    struct vpa_transport *t = connect_to(query_api_port(api), &options);

    fetch_with(t, &request, false);
    ck_assert_msg(got.failure == VPA_TRANSPORT_OK, "%s", got.error);
    vpa_transport_free(t);
    return got.status;
}

static int ask_as(int peer, const char *user)
{
    return send_as(peer, user, "POST", COLLECTION, QUESTION("", ""));
}

static const char *reason(void)
{
    const struct vpa_json *root = NULL;

    ck_assert_int_eq(vpa_json_parse(&arena, got.body, strlen(got.body), &root, &err), 0);
    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_find(root, "kind"))), "Status");
    return vpa_or_empty(vpa_json_string(vpa_json_find(root, "reason")));
}

/* Of a family with one label, or with none (NULL). */
static double metric(const char *family, const char *label)
{
    size_t count;
    struct vpa_metric *const *table = recommender_metrics_table(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, family) == 0)
            return label ? vpa_metric_value(table[i], label) : vpa_metric_value(table[i]);
    return -1;
}

static double counted(const char *result)
{
    return metric("vpa_recommender_recommendation_queries_total", result);
}

/* ---- who is believed ---- */

TEST(believes_the_proxy_alone) {
    start();
    pass();
    ck_assert_int_eq(ask_as(NOBODY, "alice"), 401); /* forged headers */
    ck_assert_str_eq(reason(), "Unauthorized");
    ck_assert_int_eq(ask_as(USERS, "alice"), 401);
    ck_assert_int_eq(ask_as(OTHER_NAME, "alice"), 401);
    ck_assert_int_eq(ask_as(SERVER_ONLY, "alice"), 401);
    ck_assert_int_eq(ask_as(PROXY, NULL), 401);
    ck_assert_int_eq(reviews, 0);
    ck_assert_int_eq(ask_as(PROXY, "alice"), 201);
    ck_assert_int_eq(reviews, 1);
    ck_assert_double_eq(counted("Unauthorized"), 5);
    ck_assert_double_eq(counted("Recommendation"), 1);
}

/* Whoever signs the names is enough when no names are given. */
TEST(takes_every_name_when_none_is_named) {
    put_settings("[]");
    start();
    ck_assert_int_eq(ask_as(OTHER_NAME, "bob"), 403);
    ck_assert_int_eq(ask_as(USERS, "bob"), 401);
}

static const struct {
    const char *settings; /* NULL: none */
    int settings_status, status;
} unknowns[] = {
    {NULL, 404, 401},
    {"{}", 200, 401},
    {"{\"data\":{\"requestheader-client-ca-file\":\"\"}}", 200, 401},
    {"{\"data\":{\"requestheader-client-ca-file\":\"junk\"}}", 200, 503},
    {"{\"data\":{\"requestheader-allowed-names\":\"[1]\"}}", 200, 503},
    {"{\"data\":{\"requestheader-allowed-names\":\"[\"}}", 200, 503},
    {"{", 200, 503},
    {"{}", 403, 503},
};

TEST_EACH(believes_nobody_without_an_authority, unknowns) {
    sim_cluster_answer(sim, &(struct sim_answer){.method = "GET",
                                                 .path = FRONT_PROXY_PATH,
                                                 .code = unknowns[_i].settings_status,
                                                 .body = unknowns[_i].settings});
    start();
    ck_assert_int_eq(ask_as(PROXY, "alice"), unknowns[_i].status);
    ck_assert_int_eq(reviews, 0);
}

/* ---- who may ask ---- */

TEST(asks_the_api_server_whether_he_may) {
    start();
    pass();
    ck_assert_int_eq(ask_as(PROXY, "bob"), 403);
    ck_assert_str_eq(reason(), "Forbidden");
    ck_assert_ptr_nonnull(strstr(
        got.body, "recommendationqueries.recommendation.autoscaling.k8s.io is forbidden: User "
                  "\\\"bob\\\" cannot create resource \\\"recommendationqueries\\\" in API group "
                  "\\\"recommendation.autoscaling.k8s.io\\\" in the namespace \\\"n\\\""));
    ck_assert_str_eq(
        review,
        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"spec\":{"
        "\"user\":\"bob\",\"uid\":\"u-1\",\"groups\":[\"team\",\"system:authenticated\"],"
        "\"extra\":{\"acme.com/project\":[\"a\",\"b\"]},\"resourceAttributes\":{"
        "\"namespace\":\"n\",\"verb\":\"create\",\"group\":\"recommendation.autoscaling.k8s.io\","
        "\"version\":\"v1alpha1\",\"resource\":\"recommendationqueries\"}}}");
    ck_assert_int_eq(ask_as(PROXY, "bob"), 403);
    ck_assert_int_eq(reviews, 1); /* remembered */
    ck_assert_int_eq(ask_as(PROXY, "alice"), 201);
    ck_assert_int_eq(ask_as(PROXY, "alice"), 201);
    ck_assert_int_eq(reviews, 2);
    send_as(PROXY, "alice", "POST", BASE "/namespaces/m/" QUERY_RESOURCE, QUESTION("", ""));
    ck_assert_int_eq(reviews, 3); /* another namespace is another question */
    ck_assert_double_eq(counted("Forbidden"), 2);
}

/* One authorizer allows it, another denies it. */
TEST(a_denial_is_stronger) {
    start();
    pass();
    ck_assert_int_eq(ask_as(PROXY, "mallory"), 403);
    ck_assert_str_eq(reason(), "Forbidden");
}

TEST(allows_nobody_while_it_does_not_answer) {
    start();
    pass();
    ck_assert_int_eq(ask_as(PROXY, "broken"), 503);
    ck_assert_str_eq(reason(), "ServiceUnavailable");
    ck_assert_int_eq(ask_as(PROXY, "broken"), 503);
    ck_assert_int_eq(reviews, 2); /* no answer is not remembered */
}

/* ---- what is answered ---- */

static const struct {
    const char *body;
    int status;
    const char *part;
} bodies[] = {
    {QUESTION("", ""), 201, "\"cpu\":\"587m\""},
    {QUESTION("\"namespace\":\"n\"", "\"namespace\":\"n\","), 201, "\"cpu\":\"587m\""},
    {QUESTION("\"namespace\":\"m\"", ""), 400, "does not match the namespace sent"},
    {QUESTION("", "\"namespace\":\"m\","), 400, "does not match the namespace sent"},
    {"{}", 400, "BadRequest"},
};

TEST_EACH(answers_a_query, bodies) {
    start();
    ck_assert_int_eq(ask_as(PROXY, "alice"), 503); /* no pass yet */
    pass();
    ck_assert_int_eq(
        send_as(PROXY, "alice", "POST", COLLECTION "?fieldManager=kubectl-create", bodies[_i].body),
        bodies[_i].status);
    ck_assert_msg(strstr(got.body, bodies[_i].part) != NULL, "%s", got.body);
}

static const struct {
    const char *method, *path;
    int status;
} paths[] = {
    {"GET", COLLECTION, 405},
    {"DELETE", COLLECTION, 405},
    {"POST", "/apis", 405},
    {"GET", "/", 404},
    {"GET", "/apis/", 404},
    {"GET", "/apis/" QUERY_GROUP "/v1", 404},
    {"GET", COLLECTION "/x", 404},
    {"GET", BASE "/" QUERY_RESOURCE, 404},
    {"GET", BASE "/namespaces//" QUERY_RESOURCE, 404},
    {"GET", BASE "/namespaces/A/" QUERY_RESOURCE, 404},
    {"GET", BASE "/namespaces/a%2Fb/" QUERY_RESOURCE, 404},
    {"GET", BASE "/namespaces/n/pods", 404},
    {"GET", "/healthz", 200},
    {"GET", "/livez", 200},
    {"GET", "/readyz", 200},
};

TEST_EACH(answers_paths, paths) {
    start();
    ck_assert_int_eq(send_as(PROXY, "alice", paths[_i].method, paths[_i].path, NULL),
                     paths[_i].status);
    if (paths[_i].status != 200)
        ck_assert_ptr_nonnull(strstr(got.body, "\"kind\":\"Status\""));
}

/* ---- what it says of itself ---- */

static const char *const documents[] = {"/apis",       "/apis/" QUERY_GROUP, BASE,
                                        "/openapi/v2", "/openapi/v3",        "/openapi/v3" BASE};

static bool has_target(const struct vpa_json *root, const char *ref)
{
    vpa_auto_free char *path = vpa_xstrdup(ref + strlen("#/"));
    const char *rest = path;
    struct vpa_slice piece;

    while (vpa_str_split(&rest, '/', &piece)) {
        vpa_auto_free char *name = vpa_xstrndup(piece.ptr, piece.len);
        root = vpa_json_find(root, name);
    }
    return root != NULL;
}

static size_t follow_references(const struct vpa_json *root, const struct vpa_json *node)
{
    size_t count = 0;

    vpa_json_foreach (child, node) {
        if (vpa_str_eq(vpa_json_name(child), "$ref")) {
            count++;
            ck_assert_msg(has_target(root, vpa_json_string(child)), "%s", vpa_json_string(child));
        }
        count += follow_references(root, child);
    }
    return count;
}

/* To anybody; and what refers to something refers to what is there. */
TEST_EACH(describes_itself, documents) {
    const struct vpa_json *root = NULL;
    vpa_auto_free char *text = query_document(documents[_i]);

    start();
    ck_assert_int_eq(send_as(NOBODY, NULL, "GET", documents[_i], NULL), 200);
    ck_assert_int_eq(strncmp(got.body, text, sizeof(got.body) - 1), 0);
    ck_assert_msg(vpa_json_parse(&arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    ck_assert_int_eq(follow_references(root, root) > 0, strstr(text, "\"paths\":{\"/apis") != NULL);
}

/* ---- certificates and flags ---- */

TEST(takes_a_new_certificate) {
    static const char *const names[] = {"localhost", "127.0.0.1"};
    struct vpa_tls_pair fresh = {0};

    start();
    ck_assert_int_eq(send_as(NOBODY, NULL, "GET", "/healthz", NULL), 200);
    write_file(cert_file, "half");
    query_api_look_at_files(api);
    ck_assert_int_eq(send_as(NOBODY, NULL, "GET", "/healthz", NULL), 200);
    ck_assert_int_eq(vpa_tls_create_certificate(&users_ca, names, 2, false, vpa_clock_now(clk),
                                                VPA_HOUR, &fresh, &err),
                     0);
    write_file(cert_file, fresh.cert_pem);
    write_file(key_file, fresh.key_pem);
    query_api_look_at_files(api);
    vpa_tls_pair_release(&serving_ca);
    serving_ca = users_ca; /* whom the client trusts */
    users_ca = (struct vpa_tls_pair){0};
    ck_assert_int_eq(send_as(NOBODY, NULL, "GET", "/healthz", NULL), 200);
    vpa_tls_pair_release(&fresh);
}

static const struct {
    struct query_api_config config;
    const char *problem; /* NULL: fine */
} flags[] = {
    {{"", "", ""}, NULL},
    {{":8445", "a", "b"}, NULL},
    {{":8445", "a", ""}, "needs --recommendation-api-cert-file"},
    {{":8445", "", "b"}, "needs --recommendation-api-cert-file"},
    {{"8445", "a", "b"}, "--recommendation-api-address: address \"8445\""},
    {{":8445", "", "", true}, NULL},
    {{":8445", "", ""}, "needs --recommendation-api-cert-file"},
    {{":8445", "a", "b", true}, "without them"},
    {{":8445", "a", "", true}, "without them"},
    {{":8445", "", "b", true}, "without them"},
    {{":8445", "", "", true, .certificate_lifetime = 600 * VPA_SECOND}, NULL},
    {{":8445", "", "", true, .certificate_lifetime = 599 * VPA_SECOND}, "at least 10m0s"},
};

TEST_EACH(checks_flags, flags) {
    struct query_api_config wanted = flags[_i].config;

    if (!wanted.certificate_lifetime)
        wanted.certificate_lifetime = VPA_HOUR;
    int rc = query_api_check(&wanted, &err);

    ck_assert_int_eq(rc, flags[_i].problem ? -1 : 0);
    if (flags[_i].problem)
        ck_assert_msg(strstr(err.text, flags[_i].problem) != NULL, "%s", err.text);
}

/* ---- managed certificates ---- */

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void manage(const char *address)
{
    query_api_free(api);
    config = (struct query_api_config){.address = address,
                                       .cert_file = "",
                                       .key_file = "",
                                       .manage_certificates = true,
                                       .certificate_secret = "certificates",
                                       .certificate_lifetime = 90 * 24 * VPA_HOUR,
                                       .service = "127.0.0.1"};
    api = query_api_new(&(struct query_api_options){.loop = loop,
                                                    .config = &config,
                                                    .client = client,
                                                    .query = query,
                                                    .ns = "ns",
                                                    .leads = always});
}

/* Who trusts what the APIService says now is answered. */
static int ask_by_bundle(void)
{
    free(serving_ca.cert_pem);
    serving_ca.cert_pem = live_bundle(sim);
    return ask_as(PROXY, "alice");
}

TEST(makes_its_own_certificate) {
    double lives = 90.0 * 24 * 3600, before = (double)(vpa_clock_now(clk) / VPA_SECOND);

    manage("127.0.0.1:0");
    start();
    ck_assert_int_eq(query_api_port(api), 0); /* nothing is served before there is one */
    ck_assert(query_api_is_due(api));
    query_api_work(api);
    ck_assert(!query_api_is_due(api));
    ck_assert_double_eq(metric("vpa_recommender_self_test_failures_total", "chain"), 0);
    double expiry = metric("vpa_recommender_certificate_expiry_seconds", NULL);
    ck_assert_double_ge(expiry, before + lives);
    ck_assert_double_le(expiry, (double)(vpa_clock_now(clk) / VPA_SECOND) + lives);
    pass();
    ck_assert_int_eq(ask_by_bundle(), 201);
    put_secret(sim, "{}"); /* somebody wants new ones */
    put_service(sim, "", "");
    query_api_work(api);
    ck_assert_int_eq(ask_by_bundle(), 201);
    ck_assert_int_eq(written(sim, SECRET_PATH, 200), 2);
    /* and is not to be put right */
    put_service(sim, "\"cert-manager.io/inject-ca-from\":\"x\"", "dGhlaXJz");
    query_api_work(api);
    ck_assert_double_eq(metric("vpa_recommender_self_test_failures_total", "chain"), 1);
    ck_assert_double_eq(metric("vpa_recommender_self_test_failures_total", "registration"), 1);
}

static bool a_handshake_failed(void *ctx)
{
    double count = 0;

    (void)ctx;
    for (size_t i = 0; vpa_server_handshake_failure(i); i++)
        count +=
            metric("vpa_recommender_tls_handshake_failures_total", vpa_server_handshake_failure(i));
    return count == 1;
}

TEST(counts_handshakes_that_fail) {
    const struct vpa_http_client_options distrusting = {.ca_data = users_ca.cert_pem};
    const struct vpa_http_request request = {.method = "GET", .target = "/healthz"};

    start();
    struct vpa_transport *t = connect_to(query_api_port(api), &distrusting);
    fetch_with(t, &request, false);
    ck_assert_int_ne(got.failure, VPA_TRANSPORT_OK);
    ck_assert_int_eq(vpa_loop_wait(loop, a_handshake_failed, NULL, 20 * VPA_SECOND, &err), 0);
    vpa_transport_free(t);
}

/* A port that cannot be had is asked for again; nothing else suffers. */
TEST(waits_for_its_port) {
    char address[32];
    int taken = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    ck_assert_int_eq(bind(taken, (struct sockaddr *)&at, len), 0);
    ck_assert_int_eq(listen(taken, 1), 0);
    ck_assert_int_eq(getsockname(taken, (struct sockaddr *)&at, &len), 0);
    snprintf(address, sizeof(address), "127.0.0.1:%d", ntohs(at.sin_port));
    manage(address);
    start();
    query_api_work(api);
    ck_assert_int_eq(query_api_port(api), 0);
    ck_assert_double_eq(metric("vpa_recommender_self_test_failures_total", "listener"), 1);
    close(taken);
    query_api_work(api);
    ck_assert_int_eq(query_api_port(api), ntohs(at.sin_port));
}

TEST(needs_its_files) {
    unlink(key_file);
    ck_assert_int_eq(query_api_start(api, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "recommendation API: "));
    write_file(key_file, "junk");
    ck_assert_int_eq(query_api_start(api, &err), -1);
}

int main(void)
{
    return run_tests_within(30, "recommender_query_api", begin, end);
}
