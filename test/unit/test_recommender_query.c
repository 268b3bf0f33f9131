/*
 * POST /recommendedPodResources over a real socket, with owners from an API server in memory:
 * whose recommendation is answered, every bad query of the specification's table, and what happens
 * between two passes.
 */
#include "objects.h"
#include "owner_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../recommender/metrics.h"
#include "../../recommender/query.h"
#include "../../recommender/query_object.h"
#include "vpa/daemon/observe.h"

#define REC                                                                                        \
    "'status':{'recommendation':{'containerRecommendations':[{'containerName':'app','target':{"    \
    "'cpu':'587m','memory':'250Mi'},'lowerBound':{'cpu':'540m'},'upperBound':{'cpu':'1','memory':" \
    "'500Mi'}},{'containerName':'log','target':{'cpu':'25m'},'upperBound':{'cpu':'1'}}]}}"
#define META(name, created)                                                                        \
    "'metadata':{'namespace':'n','name':'" name "','creationTimestamp':'2026-01-0" created         \
    "T00:00:00Z'}"
#define TARGETS(kind, target) "'spec':{'targetRef':{'kind':'" kind "','name':'" target "'}}"
#define QUERY(rest)                                                                                \
    "{'apiVersion':'recommendation.autoscaling.k8s.io/v1alpha1','kind':'RecommendationQuery'" rest \
    "}"
#define POD_OF(kind, owner, containers)                                                            \
    "'spec':{'pod':{'metadata':{'namespace':'n','generateName':'web-1-','labels':{'app':'x'},"     \
    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'" kind "','name':'" owner                  \
    "','controller':true}]},'spec':{'containers':[" containers "]}}}"
#define POD(rest, containers)                                                                      \
    "'spec':{'pod':{'metadata':{" rest "},'spec':{'containers':[" containers "]}}}"
#define APP_CONTAINER "{'name':'app'}"
#define STATUS(code, reason)                                                                       \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","           \
    "\"message\":\"" code "\",\"reason\":\"" reason "\""

static struct vpa_arena arena;
static struct vpa_observe *observe;
static struct query *query;

static void put(const char *vpa, const char *labels, bool foreign)
{
    const struct vpa_object *object = objects_vpa(&arena, vpa);
    struct vpa_selector selector;

    if (labels)
        ck_assert_int_eq(vpa_selector_parse(&arena, labels, &selector, &err), 0);
    if (foreign)
        query_add_foreign(query, object, labels ? &selector : NULL);
    else
        query_add(query, object, labels ? &selector : NULL, &object->recommendation);
}

static void pass_with(const char *vpa, const char *labels)
{
    query_begin(query, 1);
    put(vpa, labels, false);
    query_end(query);
}

static void begin(void)
{
    setup();
    synced();
    recommender_metrics_reset();
    observe = vpa_observe_new(loop, &(struct vpa_observe_options){.address = "127.0.0.1:0"}, &err);
    ck_assert_ptr_nonnull(observe);
    query = query_new(loop, owners);
    vpa_observe_serve(observe, QUERY_PATH, query_answer, query);
}

static void end(void)
{
    vpa_observe_serve(observe, QUERY_PATH, NULL, NULL);
    query_free(query);
    query_free(NULL);
    vpa_observe_free(observe);
    teardown();
    vpa_arena_release(&arena);
    recommender_metrics_reset();
}

/* The whole answer, head and body; the loop turns meanwhile. */
static const char *send_text(const char *head, const char *body)
{
    static char answer[65536];
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)vpa_observe_port(observe)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    vpa_auto_free char *json = strdup(body);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t len = 0;
    ssize_t n = 1;

    for (char *p = json; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    dprintf(fd, "%s\r\nHost: h\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", head,
            strlen(json), json);
    while (n != 0 && len < sizeof(answer) - 1) {
        vpa_loop_poll(loop);
        n = recv(fd, answer + len, sizeof(answer) - 1 - len, MSG_DONTWAIT);
        len += n > 0 ? (size_t)n : 0;
    }
    answer[len] = '\0';
    close(fd);
    return answer;
}

#define HEAD "POST " QUERY_PATH " HTTP/1.1\r\nContent-Type: application/json"

/* The body of an answer with that status. */
static const char *ask(const char *body, int status)
{
    const char *answer = send_text(HEAD, body);
    const char *end_of_head = strstr(answer, "\r\n\r\n");

    ck_assert_ptr_nonnull(end_of_head);
    ck_assert_msg(atoi(answer + strlen("HTTP/1.1 ")) == status, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/json\r\n"));
    return end_of_head + 4;
}

static const struct vpa_json *status_of(const char *body)
{
    const struct vpa_json *root = NULL;

    ck_assert_msg(vpa_json_parse(&arena, body, strlen(body), &root, &err) == 0, "%s", body);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(root, "apiVersion")), QUERY_API_VERSION);
    ck_assert_str_eq(vpa_json_string(vpa_json_find(root, "kind")), QUERY_KIND);
    return vpa_json_find(root, "status");
}

static void expect_error(const char *question, const char *error)
{
    const struct vpa_json *status = status_of(ask(question, 200));

    ck_assert_ptr_null(vpa_json_find(status, "recommendation"));
    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_find(status, "error"))), error);
}

static void expect_target(const char *question, const char *container, const char *cpu)
{
    const struct vpa_json *status = status_of(ask(question, 200));
    const struct vpa_json *first =
        vpa_json_first(vpa_json_at(status, "recommendation.containerRecommendations"));

    ck_assert_ptr_null(vpa_json_find(status, "error"));
    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_find(first, "name"))), container);
    ck_assert_str_eq(vpa_or_empty(vpa_json_string(vpa_json_at(first, "target.requests.cpu"))), cpu);
}

static double counted(const char *result)
{
    size_t count;
    struct vpa_metric *const *table = recommender_metrics_table(&count);

    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, "vpa_recommender_recommendation_queries_total") == 0)
            return vpa_metric_value(table[i], result);
    return -1;
}

#define WEB "{" META("web", "1") "," TARGETS("Deployment", "web") "," REC "}"
#define OF_WEB POD_OF("ReplicaSet", "web-1", APP_CONTAINER)

/* ---- the answer ---- */

TEST(answers_with_the_whole_object) {
    pass_with(WEB, "app=x");
    ck_assert_str_eq(
        ask(QUERY(",'metadata':{'name':'q'},'status':{'error':7},'spec':{'other':1,'pod':{"
                  "'metadata':{'namespace':'n','name':'p','labels':{'app':'x'}},'spec':{"
                  "'nodeName':'a','containers':[{'name':'log'},{'name':'none'},{'name':'app',"
                  "'resources':{'requests':{'cpu':1e-1}}}]},'status':[1]}}"),
            200),
        "{\"apiVersion\":\"recommendation.autoscaling.k8s.io/v1alpha1\","
        "\"kind\":\"RecommendationQuery\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"pod\":{"
        "\"metadata\":{\"namespace\":\"n\",\"name\":\"p\",\"labels\":{\"app\":\"x\"}},\"spec\":{"
        "\"nodeName\":\"a\",\"containers\":[{\"name\":\"log\"},{\"name\":\"none\"},{\"name\":"
        "\"app\",\"resources\":{\"requests\":{\"cpu\":1e-1}}}]},\"status\":[1]}},\"status\":{"
        "\"recommendation\":{\"containerRecommendations\":[{\"name\":\"log\",\"target\":{"
        "\"requests\":{\"cpu\":\"25m\"}},\"maxRecommended\":{\"requests\":{\"cpu\":\"1\"}}},{"
        "\"name\":\"app\",\"target\":{\"requests\":{\"cpu\":"
        "\"587m\",\"memory\":\"250Mi\"}},\"minRecommended\":{\"requests\":{\"cpu\":\"540m\"}},"
        "\"maxRecommended\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"500Mi\"}}}]}}}");
}

/* What a recommendation does not say is left out. */
TEST(answers_with_what_there_is) {
    pass_with(
        "{" META("web", "1") "," TARGETS(
            "Deployment",
            "web") ","
                   "'status':{'recommendation':{'containerRecommendations':[{'containerName':'app',"
                   "'target':{'cpu':'587m'}}]}}}",
        "app=x");
    ck_assert_ptr_nonnull(
        strstr(ask(QUERY("," OF_WEB), 200),
               "[{\"name\":\"app\",\"target\":{\"requests\":{\"cpu\":\"587m\"}}}]"));
}

static const struct {
    const char *question, *pod;
} nobodys[] = {
    {POD_OF("ReplicaSet", "lost-1", APP_CONTAINER), "n/web-1-%"}, /* its Deployment is not there */
    {POD_OF("ReplicaSet", "gone", APP_CONTAINER), "n/web-1-%"},
    {POD_OF("Deployment", "onnode", APP_CONTAINER), "n/web-1-%"},
    {POD_OF("ReplicaSet", "loop-1", APP_CONTAINER), "n/web-1-%"},
    {POD("'namespace':'n','name':'p','labels':{'app':'y'}", APP_CONTAINER), "n/p"},
    {POD("'name':'p','labels':{'app':'x'}", APP_CONTAINER), "default/p"},
    {POD("'namespace':'m','name':'p','labels':{'app':'x'}", APP_CONTAINER), "m/p"},
    {POD("'namespace':'o','generateName':'g-','labels':{'app':'x'}", APP_CONTAINER), "o/g-%"},
    {"'spec':{'pod':{}}", "default/%"},
    {"'metadata':{'namespace':'q'},'spec':{'pod':{'metadata':null,'spec':null}}", "q/%"},
};

TEST_EACH(says_that_no_vpa_matches, nobodys) {
    pass_with(WEB, "app=x");
    expect_error(
        vpa_arena_printf(&arena, QUERY(",%s"), nobodys[_i].question),
        vpa_arena_printf(&arena, "no VerticalPodAutoscaler matches pod %s", nobodys[_i].pod));
    ck_assert_double_eq(counted("NoVPA"), 1);
}

static const struct {
    const char *vpa, *question;
} silents[] = {
    {"{" META("web", "1") "," TARGETS("Deployment", "web") "}", OF_WEB},
    {WEB, POD_OF("ReplicaSet", "web-1", "{'name':'other'},{}")},
    {WEB, POD_OF("ReplicaSet", "web-1", "")},
    {"{" META("web", "1") "," TARGETS("Deployment", "web") "}",
     POD("'namespace':'n','labels':{'app':'x'}", APP_CONTAINER)},
};

TEST_EACH(says_that_there_is_no_recommendation, silents) {
    pass_with(silents[_i].vpa, "app=x");
    expect_error(vpa_arena_printf(&arena, QUERY(",%s"), silents[_i].question),
                 "no recommendation available for VerticalPodAutoscaler n/web");
}

/* ---- whose recommendation ---- */

#define WITH(name, created, target, cpu)                                                           \
    "{" META(name, created) "," target ",'status':{'recommendation':{'containerRecommendations':[" \
                            "{'containerName':'app','target':{"                                    \
                            "'cpu':'" cpu "'}}]}}}"
#define BY_LABELS "'spec':{'selector':{'matchLabels':{'app':'x'}}}"
#define OFF                                                                                        \
    "'spec':{'targetRef':{'kind':'Deployment','name':'web'},'updatePolicy':{'updateMode':'Off'}}"
#define BARE POD("'namespace':'n','name':'p','labels':{'app':'x'}", APP_CONTAINER)

static const struct {
    struct {
        const char *vpa, *labels;
        bool foreign;
    } vpas[3];
    const char *question, *cpu; /* NULL: no recommendation of n/foreign */
} rivals[] = {
    /* the oldest, then the smaller name; the mode does not count */
    {{{WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false},
      {WITH("a", "2", OFF, "1"), "app=x", false},
      {WITH("c", "3", TARGETS("Deployment", "web"), "3"), "app=x", false}},
     OF_WEB,
     "1"},
    /* another target does not count for a pod with a controller, but for one without */
    {{{WITH("a", "1", TARGETS("Deployment", "db"), "1"), "app=x", false},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false}},
     OF_WEB,
     "2"},
    {{{WITH("a", "1", TARGETS("Deployment", "db"), "1"), "app=x", false},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false}},
     BARE,
     "1"},
    /* a VPA that selects by labels needs no controller */
    {{{WITH("a", "1", BY_LABELS, "1"), "app=x", false},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false}},
     OF_WEB,
     "1"},
    /* a target that is not known, and labels that do not match, are passed over */
    {{{WITH("a", "1", TARGETS("Deployment", "web"), "1"), NULL, false},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=y", false},
      {WITH("c", "3", TARGETS("Deployment", "web"), "3"), "app=x", false}},
     OF_WEB,
     "3"},
    /* another recommender's VPA that controls the pod; without a controller only ours count */
    {{{WITH("foreign", "1", TARGETS("Deployment", "web"), "1"), "app=x", true},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false}},
     OF_WEB,
     NULL},
    {{{WITH("foreign", "1", TARGETS("Deployment", "web"), "1"), "app=x", true},
      {WITH("b", "2", TARGETS("Deployment", "web"), "2"), "app=x", false}},
     BARE,
     "2"},
};

TEST_EACH(the_strongest_vpa_answers, rivals) {
    const char *question = vpa_arena_printf(&arena, QUERY(",%s"), rivals[_i].question);

    query_begin(query, 3);
    for (size_t i = 0; i < 3 && rivals[_i].vpas[i].vpa; i++)
        put(rivals[_i].vpas[i].vpa, rivals[_i].vpas[i].labels, rivals[_i].vpas[i].foreign);
    query_end(query);
    if (rivals[_i].cpu)
        expect_target(question, "app", rivals[_i].cpu);
    else
        expect_error(question, "no recommendation available for VerticalPodAutoscaler n/foreign");
}

/* A pod without a controller is looked for among the VPAs of its own namespace, of however many. */
TEST(each_namespace_has_its_own) {
    enum { COUNT = 9 };

    query_begin(query, COUNT);
    for (int i = 0; i < COUNT; i++)
        put(vpa_arena_printf(&arena,
                             "{'metadata':{'namespace':'n%d','name':'v'}," TARGETS(
                                 "Deployment", "web") ",'status':{'recommendation':{"
                                                      "'containerRecommendations':[{"
                                                      "'containerName':'app','target':{"
                                                      "'cpu':'%d'}}]}}}",
                             i, i + 1),
            "app=x", false);
    query_end(query);
    for (int i = 0; i < COUNT; i++)
        expect_target(
            vpa_arena_printf(
                &arena, QUERY("," POD("'namespace':'n%d','labels':{'app':'x'}", APP_CONTAINER)), i),
            "app", vpa_arena_printf(&arena, "%d", i + 1));
    expect_error(QUERY("," POD("'namespace':'n45','labels':{'app':'x'}", APP_CONTAINER)),
                 "no VerticalPodAutoscaler matches pod n45/%");
}

/* ---- bad queries ---- */

static const struct {
    const char *head, *body;
    int status;
    const char *has;
} bad[] = {
    {"GET " QUERY_PATH " HTTP/1.1", "", 405, STATUS("only POST", "MethodNotAllowed")},
    {"PUT " QUERY_PATH " HTTP/1.1\r\nContent-Type: application/json", "{}", 405, "\"code\":405}"},
    {"POST " QUERY_PATH " HTTP/1.1", "{}", 415, "\"reason\":\"UnsupportedMediaType\""},
    {"POST " QUERY_PATH " HTTP/1.1\r\nContent-Type: application/yaml", "{}", 415, "\"code\":415}"},
    {"POST " QUERY_PATH " HTTP/1.1\r\nContent-Type: application/jsonx", "{}", 415, "\"code\":415}"},
    {HEAD, "", 400, "\"reason\":\"BadRequest\",\"code\":400}"},
    {HEAD, "{", 400, "line 1"},
    {HEAD, "[]", 400, "object expected, got array"},
    {HEAD, "null", 400, "object expected, got null"},
    {HEAD, "{}", 400, "apiVersion must be recommendation.autoscaling.k8s.io/v1alpha1"},
    {HEAD, "{'apiVersion':'v1','kind':'RecommendationQuery'}", 400, "apiVersion must be"},
    {HEAD, "{'apiVersion':'recommendation.autoscaling.k8s.io/v1alpha1','kind':'Pod'}", 400,
     "kind must be RecommendationQuery"},
    {HEAD, QUERY(""), 400, "spec.pod is missing"},
    {HEAD, QUERY(",'spec':{}"), 400, "spec.pod is missing"},
    {HEAD, QUERY(",'spec':{'pod':null}"), 400, "spec.pod is missing"},
    {HEAD, QUERY(",'spec':{'pod':7}"), 400, "spec: pod: "},
    {HEAD, QUERY(",'spec':[]"), 400, "spec: "},
    {HEAD, QUERY(",'metadata':'x','spec':{'pod':{}}"), 400, "metadata: "},
    {HEAD, QUERY(",'metadata':{'namespace':7},'spec':{'pod':{}}"), 400, "metadata: namespace: "},
    {HEAD, QUERY(",'spec':{'pod':{'metadata':{'labels':7}}}"), 400, "spec.pod: metadata: "},
    {HEAD, QUERY(",'spec':{'pod':{'spec':{'containers':{}}}}"), 400, "spec.pod: spec: containers"},
    {HEAD, QUERY(",'spec':{'pod':{'spec':{'containers':[7]}}}"), 400, "containers: number 0: "},
    {HEAD, QUERY(",'spec':{'pod':{'spec':{'containers':[{},{'name':[]}]}}}"), 400, "number 1: "},
};

TEST_EACH(a_bad_query_is_refused_with_a_status, bad) {
    pass_with(WEB, "app=x");
    const char *answer = send_text(bad[_i].head, bad[_i].body);

    ck_assert_msg(atoi(answer + strlen("HTTP/1.1 ")) == bad[_i].status, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "Content-Type: application/json\r\n"));
    ck_assert_msg(strstr(answer, bad[_i].has) != NULL, "%s", answer);
    ck_assert_ptr_nonnull(strstr(answer, "\"kind\":\"Status\""));
}

TEST(a_body_that_is_too_long_is_refused) {
    const struct vpa_server_request request = {
        .method = "POST", .path = QUERY_PATH, .body = "", .body_too_large = true};
    struct vpa_server_response response = {0};

    query_answer(query, &request, &response);
    ck_assert_int_eq(response.status, 413);
    ck_assert_ptr_nonnull(strstr(response.body, "\"reason\":\"RequestEntityTooLarge\""));
    free(response.body);
}

TEST(too_many_containers_are_refused) {
    vpa_auto_buf body = VPA_BUF(1 << 20);

    vpa_buf_puts(&body, "{\"apiVersion\":\"" QUERY_API_VERSION "\",\"kind\":\"" QUERY_KIND
                        "\",\"spec\":{\"pod\":{\"spec\":{\"containers\":[{}");
    for (int i = 0; i < VPA_JSON_LIST_MAX; i++)
        vpa_buf_puts(&body, ",{}");
    vpa_buf_puts(&body, "]}}}}");
    ck_assert_ptr_nonnull(strstr(ask(vpa_buf_text(&body), 400), "4097 of them, at most 4096"));
}

static const struct {
    const char *type;
    bool taken;
} media_types[] = {
    {"application/json", true},
    {"application/json; charset=utf-8", true},
    {"application/json;charset=utf-8", true},
    {"Application/JSON ; charset=utf-8", true},
    {"application/json \t ;", true},
    {"application/jso", false},
    {"application/jsonx; charset=utf-8", false},
    {"application/json charset=utf-8", false},
    {"application/yaml", false},
    {"; application/json", false},
};

TEST_EACH(the_media_type_may_have_parameters, media_types) {
    vpa_auto_free char *head =
        vpa_xprintf("POST " QUERY_PATH " HTTP/1.1\r\nContent-Type: %s", media_types[_i].type);

    pass_with(WEB, "app=x");
    ck_assert_int_eq(strstr(send_text(head, QUERY("," OF_WEB)), "\"587m\"") != NULL,
                     media_types[_i].taken);
}

/* ---- passes ---- */

/* What a pass found is answered until the next one is done; one that breaks off changes nothing. */
TEST(answers_from_the_last_whole_pass) {
    const char *question = QUERY("," OF_WEB);

    ck_assert_ptr_nonnull(
        strstr(ask(question, 503), "\"reason\":\"ServiceUnavailable\",\"code\":503}"));
    query_begin(query, 1);
    put(WITH("a", "1", TARGETS("Deployment", "web"), "1"), "app=x", false);
    ask(question, 503);
    query_end(query);
    expect_target(question, "app", "1");

    query_begin(query, 1);
    put(WITH("a", "1", TARGETS("Deployment", "web"), "2"), "app=x", false);
    expect_target(question, "app", "1");
    query_drop(query);
    query_end(query);
    expect_target(question, "app", "1");

    pass_with(WITH("a", "1", TARGETS("Deployment", "web"), "3"), "app=x");
    expect_target(question, "app", "3");
    query_begin(query, 0);
    query_end(query);
    expect_error(question, "no VerticalPodAutoscaler matches pod n/web-1-%");
}

/* A custom controller is asked for in the background; nothing is said about its pods until then. */
TEST(a_controller_that_is_not_known_yet_is_no_answer) {
    const char *question = QUERY("," POD_OF("Deployment", "managed", APP_CONTAINER));

    pass_with(WITH("w", "1", TARGETS("Widget", "w"), "5"), "app=x");
    expect_error(question, "the controller of pod n/web-1-% is not known yet");
    while (scale_gets() == 0)
        vpa_loop_pump(loop, VPA_MILLISECOND);
    vpa_loop_pump(loop, VPA_SECOND);
    expect_target(question, "app", "5");
}

/* The ReplicaSet of a rollout comes between two passes, and its pods right after it. */
TEST(owners_are_renewed_between_passes) {
    const char *question = QUERY("," POD_OF("Deployment", "new", APP_CONTAINER));

    pass_with(WITH("w", "1", TARGETS("Deployment", "new"), "6"), "app=x");
    expect_error(question, "no VerticalPodAutoscaler matches pod n/web-1-%");
    sim_cluster_put_text(sim, DEPLOYMENT("new", "", APP));
    vpa_loop_pump(loop, VPA_MILLISECOND);
    expect_target(question, "app", "6");
}

int main(void)
{
    return run_tests("recommender_query", begin, end);
}
