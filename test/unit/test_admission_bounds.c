/* What the webhook refuses to read, and how much it says about what strangers send. */
#include "admission_fixture.h"
#include "admission_reviews.h"
#include "captured_log.h"

static const struct refusal_row {
    const char *content_type;
    bool too_large;
    int status;
    const char *body;
} refusals[] = {
    {NULL, false, 200, NULL},
    {"text/plain", false, 200, NULL},
    {"application/json; charset=utf-8", false, 200, NULL},
    {"application/json", true, 413, "request payload too large\n"},
};

TEST_EACH(refusals_before_reading, refusals) {
    const struct refusal_row *row = &refusals[_i];
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct server *server =
        server_new_unbound(&(struct server_options){.cell = snapshot_builder_cell(builder)});
    struct vpa_server_response response = {0};
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = "", .body_too_large = row->too_large};

    fixture_quiet();
    server_answer(server, &request, row->content_type, &response);
    ck_assert_int_eq(response.status, row->status);
    if (row->body)
        ck_assert_str_eq(response.body, row->body);
    else
        ck_assert(!response.body && !response.content_type);
    ck_assert_int_eq(response.nosniff, row->status != 200);
    free(response.body);
    server_free(server);
    server_free(NULL);
    snapshot_builder_free(builder);
}

static void complain_once(struct server *server)
{
    struct vpa_server_response response = {0};
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = "", .body_too_large = true};

    server_answer(server, &request, "application/json", &response);
    free(response.body);
}

/* The sum of what the lines say. */
static size_t left_out(void)
{
    static const char key[] = "notLogged=";
    size_t sum = 0;

    for (const char *at = logged_text(); (at = strstr(at, key)); at++)
        sum += strtoul(at + strlen(key), NULL, 10);
    return sum;
}

/* Whoever can reach the port can be refused as often as they like; the log stays short, and tells
 * how much it left out. */
TEST(complaints_are_bounded) {
    static const char *const bodies[] = {
        "{",
        "{'request':{'uid':'u','resource':{'group':'','version':'v2','resource':'pods'}}}",
        "{'request':{'uid':'u','resource':{'group':'x','version':'v1','resource':'pods'}}}",
        POD_REVIEW("{'spec':5}"),
        POD_REVIEW("null"),
    };
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct server *server =
        server_new_unbound(&(struct server_options){.cell = snapshot_builder_cell(builder)});
    vpa_auto_arena arena = {0};

    capture_log(0);
    for (size_t i = 0; i < 2000; i++) {
        const char *body = fixture_json(&arena, bodies[i % VPA_COUNT(bodies)]);
        struct vpa_server_response response = {0};
        const struct vpa_server_request request = {.method = "POST",
                                                   .path = "/",
                                                   .query = "",
                                                   .body = body,
                                                   .body_len = strlen(body),
                                                   .body_too_large = i % 7 == 0};
        server_answer(server, &request, i % 11 ? "application/json" : "text/plain", &response);
        free(response.body);
    }
    size_t lines = logged("\n");
    ck_assert_uint_ge(lines, 100); /* and ten for each second that this has taken */
    ck_assert_uint_lt(lines, 1000);

    size_t sent = 2000;
    for (; logged("\n") == lines; sent++)
        complain_once(server);
    ck_assert_uint_ge(logged("notLogged=0"), 100);
    ck_assert_uint_eq(left_out(), sent - lines - 1);
    fixture_quiet();
    server_free(server);
    snapshot_builder_free(builder);
}

/* What nobody should have sent, and what is told of it. */
static const struct {
    const char *body, *complaint, *why;
} odd_reviews[] = {
    {"{", "Cannot read the admission review", "line 1 column 2: unexpected end of text"},
    {"{'request':{'uid':'u','resource':{'group':'','version':'v2','resource':'pods'}}}",
     "Expected the resource v1 pods", "v2"},
    {"{'request':{'uid':'u','resource':{'group':'x','version':'v1','resource':'pods'}}}",
     "not supported resource type", "x/pods"},
    {POD_REVIEW("null"), "Cannot read pod", "ns/: there is no object"},
    {POD_REVIEW("{'spec':5}"), "Cannot read pod", "ns/: spec: expected object, found number"},
};

TEST_EACH(odd_reviews_are_told, odd_reviews) {
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct snapshot *snapshot = snapshot_acquire(snapshot_builder_cell(builder));
    struct admit_options options = {.startup_boost = false};
    struct admit_result result;
    vpa_auto_arena arena = {0};
    vpa_auto_buf out = VPA_BUF(ADMIT_ANSWER_MAX);
    const char *body = fixture_json(&arena, odd_reviews[_i].body);

    admit(snapshot, &options, &arena, body, strlen(body), &out, &result);
    ck_assert_pstr_eq(result.complaint, odd_reviews[_i].complaint);
    ck_assert_pstr_eq(result.complaint_why, odd_reviews[_i].why);
    snapshot_unref(snapshot);
    snapshot_builder_free(builder);
}

/* An answer with a uid that no API server has made would be as long as whoever sent it likes. */
static const struct uid_row {
    int length, brackets; /* more of these than are read */
    bool echoed;
} uids[] = {
    {VPA_REVIEW_UID_MAX, 1, true},
    {VPA_REVIEW_UID_MAX + 1, 1, false},
    {VPA_REVIEW_UID_MAX, VPA_JSON_DEPTH_MAX, true},
    {VPA_REVIEW_UID_MAX + 1, VPA_JSON_DEPTH_MAX, false},
};

TEST_EACH(long_uids_are_not_echoed, uids) {
    const struct uid_row *row = &uids[_i];
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct snapshot *snapshot = snapshot_acquire(snapshot_builder_cell(builder));
    struct admit_options options = {.startup_boost = false};
    struct admit_result result;
    vpa_auto_arena arena = {0};
    vpa_auto_buf body = VPA_BUF(1 << 20), out = VPA_BUF(ADMIT_ANSWER_MAX);
    char uid[VPA_REVIEW_UID_MAX + 2] = "";

    memset(uid, '<', (size_t)row->length);
    vpa_buf_printf(&body, "{\"request\":{\"uid\":\"%s\",\"object\":", uid);
    for (int i = 0; i < row->brackets; i++)
        vpa_buf_putc(&body, '[');
    for (int i = 0; i < row->brackets; i++)
        vpa_buf_putc(&body, ']');
    vpa_buf_puts(&body, "}}");
    admit(snapshot, &options, &arena, body.data, body.len, &out, &result);
    ck_assert_int_eq(strstr(vpa_buf_text(&out), "\"uid\":\"\"") == NULL, row->echoed);
    ck_assert_int_eq(out.len > VPA_REVIEW_UID_MAX, row->echoed);
    ck_assert_ptr_nonnull(strstr(vpa_buf_text(&out), "\"allowed\":true"));
    ck_assert_ptr_nonnull(result.complaint);
    snapshot_unref(snapshot);
    snapshot_builder_free(builder);
}

/* More than is read, in depth and in number, yet JSON: an answer without its uid would be none. */
TEST_TIMES(reviews_beyond_our_limits_are_answered_with_their_uid, 2) {
    int brackets = _i == 0 ? VPA_JSON_DEPTH_MAX : 1;
    size_t numbers = _i == 0 ? 1 : VPA_JSON_FOLDED_VALUES_MAX;
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct snapshot *snapshot = snapshot_acquire(snapshot_builder_cell(builder));
    struct admit_options options = {.startup_boost = false};
    struct admit_result result;
    vpa_auto_arena arena = {0};
    vpa_auto_buf body = VPA_BUF(16 << 20), out = VPA_BUF(ADMIT_ANSWER_MAX);

    vpa_buf_puts(&body, "{\"request\":{\"uid\":\"u\",\"object\":");
    for (int i = 0; i < brackets; i++)
        vpa_buf_putc(&body, '[');
    for (size_t i = 0; i < numbers; i++)
        vpa_buf_puts(&body, i ? ",1" : "1");
    for (int i = 0; i < brackets; i++)
        vpa_buf_putc(&body, ']');
    vpa_buf_puts(&body, "}}");
    admit(snapshot, &options, &arena, body.data, body.len, &out, &result);
    ck_assert_str_eq(vpa_buf_text(&out),
                     "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
                     "\"response\":{\"uid\":\"u\",\"allowed\":true}}");
    ck_assert_ptr_nonnull(result.complaint);
    snapshot_unref(snapshot);
    snapshot_builder_free(builder);
}

TEST_TIMES(pods_with_absurdly_many_containers_are_not_read, 2) {
    struct fixture f = {.vpas = VPA(""), .stateful_sets = STATEFUL_SET};
    struct vpa_server_response response = {0};
    struct vpa_error err;
    struct vpa_buf body;

    vpa_buf_init(&body, 1 << 20);
    vpa_buf_puts(&body,
                 "{'request':{'uid':'u','namespace':'ns','resource':{'group':'','version':'v1',"
                 "'resource':'pods'},'object':{'metadata':{'name':'web-0','namespace':'ns',"
                 "'labels':{'app':'web'},'ownerReferences':[{'kind':'StatefulSet','name':'web',"
                 "'apiVersion':'apps/v1','controller':true}]},'spec':{'containers':[");
    for (int i = 0; i < ADMIT_CONTAINERS_MAX + _i; i++)
        vpa_buf_printf(&body, "%s{'name':'c%d'}", i ? "," : "", i);
    vpa_buf_puts(&body, "]}}}}");
    fixture_start(&f, false);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    ck_assert_int_eq(admission_listen(f.admission, &err), 0);
    const char *text = fixture_json(&f.arena, vpa_buf_text(&body));
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = text, .body_len = strlen(text)};
    server_answer(admission_server(f.admission), &request, "application/json", &response);
    ck_assert_ptr_nonnull(strstr(response.body, "\"allowed\":true"));
    ck_assert(!strstr(response.body, "patch") == (_i == 1));
    free(response.body);
    vpa_buf_release(&body);
    fixture_stop(&f);
}

#define BOOSTED_POD(spec)                                                                          \
    POD_REVIEW("{'metadata':{'name':'web-0','namespace':'ns','labels':{'app':'web'},"              \
               "'ownerReferences':[{'kind':'StatefulSet','name':'web','apiVersion':'apps/v1',"     \
               "'controller':true}]},'spec':{" spec "}}")

static const struct {
    const char *vpas, *pod, *line;
} boosts[] = {
    {VPA(",'startupBoost':{'cpu':{'type':'Percent'}}"),
     BOOSTED_POD("'containers':[{'name':'c'},{'name':'d'},{'name':'e'}]"),
     "\"Startup boost cannot be used, container is not boosted\" namespace=\"ns\" pod=\"web-0\" "
     "container=\"c\" containers=3 reason=\"type is neither Factor nor Quantity\" notLogged=0"},
    {VPA(",'startupBoost':{'cpu':{'type':'Quantity','quantity':'1'}}"),
     BOOSTED_POD("'resources':{'requests':{'cpu':'2'}},'containers':[{'name':'c'},{'name':'d'}]"),
     "\"Startup boosts do not fit, no container of the pod is boosted\" namespace=\"ns\" "
     "pod=\"web-0\" reason=\"cpu requests of all containers would be 4, more than the 2 of "
     "spec.resources\" notLogged=0"},
};

/* One line for a pod, however many containers it has, and not one for every pod. */
TEST_EACH(unusable_boosts_are_told_once_for_a_pod, boosts) {
    struct fixture f = {.vpas = boosts[_i].vpas, .stateful_sets = STATEFUL_SET};
    struct vpa_error err;

    fixture_start(&f, false);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    struct server *server = server_new_unbound(&(struct server_options){
        .cell = admission_cell(f.admission), .admit = {.startup_boost = true}});
    const char *body = fixture_json(&f.arena, boosts[_i].pod);
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = strlen(body)};
    capture_log(0);
    for (int i = 0; i < 2000; i++) {
        struct vpa_server_response response = {0};

        server_answer(server, &request, "application/json", &response);
        free(response.body);
        if (i > 0)
            continue;
        ck_assert_uint_eq(logged("\n"), 1);
        ck_assert_msg(logged(boosts[_i].line) == 1, "%s", logged_text());
    }
    ck_assert_uint_lt(logged("\n"), 1000);
    fixture_quiet();
    server_free(server);
    fixture_stop(&f);
}

/* VPAs of a namespace, older or younger than the one that selects the pod by its labels, or of the
 * pod's own owner, which says nothing usable; and how many lines one pod makes. */
#define NEIGHBOURS 100
#define WEB "{'apiVersion':'apps/v1','kind':'StatefulSet','name':'web'}"
#define WITHOUT_SELECTOR                                                                           \
    "{'metadata':{'name':'web','namespace':'ns'},'spec':{'selector':{'matchExpressions':[{'key':"  \
    "'a','operator':'Odd'}]}}}"
static const struct {
    const char *year, *target, *pod;
    size_t lines;
} neighbours[] = {
    {"2020", DB_TARGET, POD_OF("ReplicaSet", "none"), 0},
    {"2022", DB_TARGET, POD_OF("ReplicaSet", "none"), 0},
    {"2022", "{'apiVersion':'x.io/v1','kind':'Clone','name':'c'}", POD_OF("ReplicaSet", "none"), 0},
    {"2022", WEB, POD_OF("StatefulSet", "web"), 1},
};

TEST_EACH(a_pod_is_told_of_by_few_lines_however_many_vpas_there_are, neighbours) {
    struct fixture f = {.stateful_sets = WITHOUT_SELECTOR};
    struct admit_options options = {.startup_boost = false};
    struct admit_result result;
    vpa_auto_buf out = VPA_BUF(ADMIT_ANSWER_MAX), vpas = VPA_BUF(1 << 20);
    struct vpa_error err;

    vpa_buf_puts(&vpas, BY_LABELS("2021"));
    for (int i = 0; i < NEIGHBOURS; i++)
        vpa_buf_printf(&vpas,
                       ",{'metadata':{'name':'n%d','namespace':'ns','creationTimestamp':'%s-01-01T"
                       "00:00:00Z'},'spec':{'targetRef':%s}}",
                       i, neighbours[_i].year, neighbours[_i].target);
    f.vpas = vpa_buf_text(&vpas);
    fixture_start(&f, false);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    capture_log(4);
    struct snapshot *snapshot = snapshot_acquire(admission_cell(f.admission));
    const char *body =
        fixture_json(&f.arena, vpa_arena_printf(&f.arena, POD_REVIEW("%s"), neighbours[_i].pod));
    admit(snapshot, &options, &f.arena, body, strlen(body), &out, &result);
    snapshot_unref(snapshot);
    ck_assert_uint_eq(logged("cannot fetch selector"), neighbours[_i].lines);
    fixture_quiet();
    fixture_stop(&f);
}

int main(void)
{
    return run_tests("admission_bounds", NULL, NULL);
}
