#include "admission_fixture.h"
#include "admission_reviews.h"
#include "meters.h"
#include "captured_log.h"
#include "vpa/net/monotonic.h"

#define VPA_REVIEW_WITH(more, vpa)                                                                 \
    "{'request':{'uid':'u','name':'v','resource':{'group':'autoscaling.k8s.io','version':'v1',"    \
    "'resource':'verticalpodautoscalers'},'requestKind':{'kind':'VerticalPodAutoscaler'},"         \
    "'operation':'CREATE'" more ",'object':" vpa "}}"
#define VPA_REVIEW(vpa) VPA_REVIEW_WITH("", vpa)
#define DRY_RUN ",'dryRun':true"
#define INVALID_VPA "{'spec':{'targetRef':{'kind':'a','name':'b'},'updatePolicy':{}}}"
#define REQUIRED ",'annotations':{'vpa.autoscaling.k8s.io/required':'true'}"
#define PANIC "{'metadata':{'name':'vpa-panic','namespace':'kube-system'}}"

#define SIX(name, year)                                                                            \
    AGED(name "0", year)                                                                           \
    "," AGED(name "1", year) "," AGED(name "2", year) "," AGED(name "3", year) "," AGED(           \
        name "4", year) "," AGED(name "5", year)
#define YOUNG SIX("y", "2021")
#define OLD AGED("o", "2020")

static const struct admit_row {
    const char *name;
    const char *vpas;
    const char *config_maps;
    const char *body;
    const char *want;   /* part of the answer */
    const char *absent; /* NULL, or what the answer must not have */
} rows[] = {
    {"matched pod is patched", VPA(""), "", POD_REVIEW(POD("")), "'patchType':'JSONPatch'", NULL},
    {"the first of many VPAs", OLD "," YOUNG, "", POD_REVIEW(POD("")), "'patch'", NULL},
    {"the last of many VPAs", YOUNG "," AGED("z", "2020"), "", POD_REVIEW(POD("")), "'patch'",
     NULL},
    {"no VPA", "", "", POD_REVIEW(POD("")), "'uid':'u','allowed':true}", "patch"},
    {"mode Off", VPA(",'updatePolicy':{'updateMode':'Off'}"), "", POD_REVIEW(POD("")),
     "'allowed':true}", "patch"},
    {"VPA by labels",
     "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'matchLabels':{"
     "'app':'web'}}}}",
     "", POD_REVIEW(POD("")), "'patch'", NULL},
    {"VPA by labels and an owner that is not there yet", BY_LABELS("2021"), "",
     POD_REVIEW(POD_OF("ReplicaSet", "none")), "'patch'", NULL},
    {"an older VPA with a target, whose pod it may be", BY_LABELS("2021") "," AGED("o", "2020"), "",
     POD_REVIEW(POD_OF("ReplicaSet", "none")), "'allowed':true}", "patch"},
    {"a younger one", BY_LABELS("2021") "," AGED("o", "2022"), "",
     POD_REVIEW(POD_OF("ReplicaSet", "none")), "'patch'", NULL},
    {"an older one of another target that is not there", BY_LABELS("2021") "," OF_DB("2020"), "",
     POD_REVIEW(POD_OF("ReplicaSet", "none")), "'patch'", NULL},
    {"VPA by labels and the mirror of a static pod",
     "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'matchLabels':{"
     "'app':'web'}}}}",
     "",
     POD_REVIEW("{'metadata':{'name':'p','namespace':'ns','labels':{'app':'web'},'annotations':{"
                "'kubernetes.io/config.mirror':'0'},'ownerReferences':[{'kind':'Node','name':'n',"
                "'apiVersion':'v1','controller':true}]},'spec':{'containers':[{'name':'c'}]}}"),
     "'allowed':true}", "patch"},
    {"VPA by other labels",
     "{'metadata':{'name':'s','namespace':'ns'},'spec':{'selector':{'matchLabels':{'app':'db'}}}}",
     "", POD_REVIEW(POD("")), "'allowed':true}", "patch"},
    {"unknown VPA with another target", VPA("") "," BAD_VPA("'targetRef':" DB_TARGET ","), "",
     POD_REVIEW(POD("")), "'patch'", NULL},
    {"unknown VPA beside the one that matches",
     VPA("") "," BAD_VPA("'targetRef':{'apiVersion':'apps/v1','kind':'StatefulSet','name':'web'},"),
     "", POD_REVIEW(POD("")), "'uid':'u','allowed':true}", "patch"},
    {"unknown VPA of any target", VPA("") "," BAD_VPA(""), "", POD_REVIEW(POD("")),
     "'uid':'u','allowed':true}", "patch"},
    {"unknown VPA of any target and a pod that requires one", BAD_VPA(""), "",
     POD_REVIEW(POD(REQUIRED)), "'uid':'u','allowed':true}", "patch"},
    {"required and matched", VPA(""), "", POD_REVIEW(POD(REQUIRED)), "'patch'", NULL},
    {"required and matched in mode Off", VPA(",'updatePolicy':{'updateMode':'Off'}"), "",
     POD_REVIEW(POD(REQUIRED)), "'allowed':true}", "patch"},
    {"required and not matched", "", "", POD_REVIEW(POD(REQUIRED)),
     "'allowed':false,'status':{'metadata':{},'status':'Failure','message':'pod ns/web-% requires "
     "a "
     "VerticalPodAutoscaler (annotation vpa.autoscaling.k8s.io/required), but none matches it',"
     "'reason':'Forbidden','code':403}",
     NULL},
    {"required, and the owner is not there", "", "",
     POD_REVIEW("{'metadata':{'name':'p','namespace':'ns'" REQUIRED
                ",'ownerReferences':[{'kind':'StatefulSet','name':'gone','apiVersion':'apps/v1',"
                "'controller':true}]},'spec':{'containers':[{'name':'c'}]}}"),
     "'allowed':false", "patch"},
    {"panic passes pods untouched", VPA(""), PANIC, POD_REVIEW(POD("")), "'allowed':true}",
     "patch"},
    {"panic passes required pods", "", PANIC, POD_REVIEW(POD(REQUIRED)), "'allowed':true}",
     "patch"},
    {"another config map is no panic", VPA(""),
     "{'metadata':{'name':'x','namespace':'kube-system'}}", POD_REVIEW(POD("")), "'patch'", NULL},
    {"no object", VPA(""), "", POD_REVIEW("null"), "'allowed':true}", "patch"},
    {"unreadable pod", VPA(""), "", POD_REVIEW("{'spec':5}"), "'allowed':true}", "patch"},
    {"other version", VPA(""), "",
     "{'request':{'uid':'u','resource':{'group':'','version':'v2','resource':'pods'}}}",
     "'uid':'u','allowed':true}", "patch"},
    {"other resource", VPA(""), "",
     "{'request':{'uid':'u','resource':{'group':'x','version':'v1','resource':'pods'}}}",
     "'uid':'u','allowed':true}", "patch"},
    {"empty body", "", "", "", "'uid':'','allowed':true}", NULL},
    {"no JSON", "", "", "{", "'uid':'','allowed':true}", NULL},
    {"no request", "", "", "{}", "'uid':'','allowed':true}", NULL},
    {"NUL in an annotation", VPA(""), "", POD_REVIEW(POD(",'annotations':{'a':'\\u0000'}")),
     "'uid':'u','allowed':true,'patch'", NULL},
    {"no JSON behind the uid, as upstream", "", "", "{'request':{'uid':'u','object':{x}}}",
     "'uid':'','allowed':true}", "patch"},
    {"VPA without policy gets one", "", "",
     VPA_REVIEW("{'spec':{'targetRef':{'kind':'a','name':'b'}}}"), "'patchType':'JSONPatch'", NULL},
    {"VPA of mode Auto is warned of", "", "",
     VPA_REVIEW("{'spec':{'targetRef':{'kind':'a','name':'b'},'updatePolicy':{'updateMode':"
                "'Auto'}}}"),
     "'warnings':['", "patch"},
    {"invalid VPA is denied", "", "", VPA_REVIEW(INVALID_VPA), "'allowed':false", "patch"},
    {"dry run of a matched pod", VPA(""), "", POD_REVIEW_WITH(DRY_RUN, POD("")),
     "'patchType':'JSONPatch'", NULL},
    {"no dry run", VPA(""), "", POD_REVIEW_WITH(",'dryRun':false", POD("")),
     "'patchType':'JSONPatch'", NULL},
    {"dry run of a pod that requires a VPA", "", "", POD_REVIEW_WITH(DRY_RUN, POD(REQUIRED)),
     "'allowed':false", "patch"},
    {"dry run of an invalid VPA", "", "", VPA_REVIEW_WITH(DRY_RUN, INVALID_VPA), "'allowed':false",
     "patch"},
};

/* The body of the answer, heap; *f is to be stopped. */
static bool reads_log; /* lines of --v=4 and below */

static void serve(struct fixture *f, const struct admit_row *row, bool shadow)
{
    struct vpa_error err;

    *f = (struct fixture){
        .vpas = row->vpas, .config_maps = row->config_maps, .stateful_sets = STATEFUL_SET};
    fixture_start(f, false);
    if (reads_log)
        capture_log(4);
    f->config.shadow = shadow;
    fixture_daemon(f, true);
    ck_assert_int_eq(admission_sync(f->admission, &err), 0);
    vpa_loop_pump(f->loop, VPA_SECOND);
    ck_assert_int_eq(admission_listen(f->admission, &err), 0);
}

static char *answer_to(struct fixture *f, const struct admit_row *row, bool shadow)
{
    struct vpa_server_response response = {0};

    serve(f, row, shadow);
    const char *body = fixture_json(&f->arena, row->body);
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = strlen(body)};
    server_answer(admission_server(f->admission), &request, "application/json", &response);
    ck_assert_int_eq(response.status, 200);
    return response.body;
}

/* What the ledger says of each, "" for nothing: decision, rule, VPA, and the beginning of why. */
static const struct ledger_row {
    const char *row; /* its name */
    const char *decision, *rule, *vpa, *why;
} ledger_rows[] = {
    {"matched pod is patched", "patch", "recommended", "v", "cpu request none -> 2"},
    {"the first of many VPAs", "patch", "recommended", "o", ""},
    {"the last of many VPAs", "patch", "recommended", "z", ""},
    {"no VPA", "", "", "", ""},
    {"mode Off", "admit as it is", "update mode Off", "v", ""},
    {"VPA by other labels", "", "", "", ""},
    {"unknown VPA of any target", "admit as it is", "a VPA that cannot be read may govern it", "",
     ""},
    {"required and not matched", "refuse", "it requires a VPA", "",
     "no VerticalPodAutoscaler matches it"},
    {"required, and the owner is not there", "refuse", "it requires a VPA", "",
     "no VerticalPodAutoscaler matches it"},
    {"required and matched in mode Off", "admit as it is", "update mode Off", "v", ""},
    {"panic passes pods untouched", "admit as it is", "panic", "v", "ConfigMap vpa-panic exists"},
    {"panic passes required pods", "", "", "", ""},
    {"unreadable pod", "", "", "", ""},
    {"VPA without policy gets one", "", "", "", ""},
    {"invalid VPA is denied", "refuse", "an invalid VerticalPodAutoscaler", "v", ""},
    {"dry run of a matched pod", "", "", "", ""},
    {"no dry run", "patch", "recommended", "v", ""},
    {"dry run of a pod that requires a VPA", "", "", "", ""},
    {"dry run of an invalid VPA", "", "", "", ""},
};

static const struct admit_row *row_named(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    ck_abort_msg("no row %s", name);
}

static const struct vpa_json *first_entry(struct fixture *f)
{
    vpa_auto_buf out = VPA_BUF(2 * VPA_LEDGER_PAGE_MAX);
    const struct vpa_json *root;
    struct vpa_error err;

    ck_assert_int_eq(vpa_ledger_read(f->ledger, &(struct vpa_ledger_query){.ns = NULL}, &out, &err),
                     0);
    ck_assert_int_eq(vpa_json_parse(&f->arena, out.data, out.len, &root, &err), 0);
    return vpa_json_first(vpa_json_find(root, "decisions"));
}

TEST_TIMES(the_ledger_says_what_was_decided, 2 * VPA_COUNT(ledger_rows)) {
    const struct ledger_row *row = &ledger_rows[_i / 2];
    bool shadow = _i % 2 == 1;
    struct fixture f;

    free(answer_to(&f, row_named(row->row), shadow));
    const struct vpa_json *e = first_entry(&f);

    if (*row->decision) {
        vpa_auto_free char *decision = vpa_xprintf("%s%s", shadow ? "would " : "", row->decision);

        ck_assert_ptr_nonnull(e);
        ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "decision")), decision);
        ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "rule")), row->rule);
        ck_assert_str_eq(vpa_json_string(vpa_json_find(e, "vpa")), row->vpa);
        ck_assert(vpa_str_starts_with(vpa_json_string(vpa_json_find(e, "why")), row->why));
        ck_assert(!vpa_json_find(e, "inputs") == (strcmp(row->decision, "patch") != 0));
    } else {
        ck_assert_ptr_null(e);
    }
    fixture_stop(&f);
}

/* What the words leave out is among the inputs. */
TEST_TIMES(values_that_are_not_told_are_kept, 2) {
    int containers = VPA_REASON_PHRASES + _i;
    vpa_auto_buf pod = VPA_BUF(4096), recommended = VPA_BUF(4096);
    struct admit_row row = {.config_maps = ""};
    struct fixture f;

    for (int i = 0; i < containers; i++) {
        vpa_buf_printf(&pod, "%s{'name':'c%d'}", i ? "," : "", i);
        vpa_buf_printf(&recommended, "%s{'containerName':'c%d','target':{'cpu':'2'}}", i ? "," : "",
                       i);
    }
    vpa_auto_free char *vpa = vpa_xprintf(
        "{'metadata':{'name':'v','namespace':'ns'},'spec':{'selector':{'matchLabels':{'app':'web'}}"
        "},'status':{'recommendation':{'containerRecommendations':[%s]}}}",
        vpa_buf_text(&recommended));
    vpa_auto_free char *body =
        vpa_xprintf(POD_REVIEW("{'metadata':{'generateName':'web-','namespace':'ns','labels':{"
                               "'app':'web'}},'spec':{'containers':[%s]}}"),
                    vpa_buf_text(&pod));
    row.vpas = vpa;
    row.body = body;
    free(answer_to(&f, &row, false));

    const struct vpa_json *before = vpa_json_at(first_entry(&f), "inputs.before");
    ck_assert_int_eq(before ? (int)vpa_json_count(before) : 0, _i ? containers : 0);
    fixture_stop(&f);
}

/* Old and new values in few words. */
static const char *const patch_lines[] = {"\"Patching pod\"", "\"Shadow: would patch\""};

TEST_EACH(the_log_says_what_was_changed, patch_lines) {
    struct fixture f;

    reads_log = true;
    free(answer_to(&f, row_named("matched pod is patched"), _i == 1));

    const char *line = strstr(logged_text(), patch_lines[_i]);
    ck_assert_ptr_nonnull(line);
    vpa_auto_free char *words = vpa_xstrndup(line, strcspn(line, "\n"));
    ck_assert_ptr_nonnull(strstr(words, "change=\"cpu request none -> 2"));
    fixture_stop(&f);
}

TEST_EACH(answers, rows) {
    const struct admit_row *row = &rows[_i];
    struct fixture f;
    vpa_auto_free char *body = answer_to(&f, row, false);

    ck_assert_msg(strstr(body, fixture_json(&f.arena, row->want)) != NULL, "%s: %s", row->name,
                  body);
    if (row->absent)
        ck_assert_msg(!strstr(body, row->absent), "%s: %s", row->name, body);
    fixture_stop(&f);
}

/* Whatever it would say. */
TEST_EACH(a_shadow_changes_nothing, rows) {
    const struct admit_row *row = &rows[_i];
    struct fixture f;
    vpa_auto_free char *body = answer_to(&f, row, true);
    const char *uid = strstr(row->want, "'uid':''") ? "" : "u";
    const char *want = vpa_arena_printf(&f.arena, "'response':{'uid':'%s','allowed':true}", uid);

    ck_assert_msg(strstr(body, fixture_json(&f.arena, want)) != NULL, "%s: %s", row->name, body);
    fixture_stop(&f);
}

/* The first pod after a start finds the panic known, unless nobody can tell. */
static const struct {
    vpa_duration delay; /* of the list of ConfigMaps */
    bool patched;
} panic_starts[] = {{2 * VPA_SECOND, false}, {VPA_HOUR, true}};

TEST_EACH(panic_is_known_at_the_start, panic_starts) {
    struct fixture f = {.vpas = VPA(""), .config_maps = PANIC, .stateful_sets = STATEFUL_SET};
    struct vpa_server_response response = {0};
    struct vpa_error err;

    fixture_start(&f, false);
    sim_cluster_answer(f.sim, &(struct sim_answer){.method = "GET",
                                                   .path = "/configmaps",
                                                   .delay = panic_starts[_i].delay});
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    ck_assert_int_le(vpa_loop_monotonic(f.loop), 6 * VPA_SECOND);
    ck_assert_int_eq(admission_listen(f.admission, &err), 0);

    const char *body = fixture_json(&f.arena, POD_REVIEW(POD("")));
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = strlen(body)};
    server_answer(admission_server(f.admission), &request, "application/json", &response);
    ck_assert(!strstr(response.body, "patch") == !panic_starts[_i].patched);
    free(response.body);
    fixture_stop(&f);
}

/* Nobody knows what the namespace allows: the pod comes as it is, and that shows (U9). */
TEST(unreadable_limit_ranges_fail_the_calculation) {
    struct fixture f = {.vpas = VPA(""),
                        .limit_ranges = "{'metadata':{'name':'l','namespace':'ns'},'spec':{"
                                        "'limits':[{'type':'Container','max':{'cpu':'1q'}}]}}",
                        .stateful_sets = STATEFUL_SET};
    struct vpa_server_response response = {0};
    struct vpa_error err;

    fixture_start(&f, false);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    ck_assert_int_eq(admission_listen(f.admission, &err), 0);
    capture_log(0);

    const char *body = fixture_json(&f.arena, POD_REVIEW(POD("")));
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = strlen(body)};
    server_answer(admission_server(f.admission), &request, "application/json", &response);
    ck_assert_ptr_nonnull(strstr(response.body, "\"allowed\":true"));
    ck_assert(!strstr(response.body, "patch"));
    ck_assert_str_eq(admission_metrics[1]->name,
                     "vpa_admission_controller_pod_calculation_failures_total");
    ck_assert(vpa_metric_value(admission_metrics[1]) == 1);
    ck_assert_uint_eq(logged("error obtaining limit range: LimitRange ns/l: "), 1);
    free(response.body);
    fixture_stop(&f);
    fixture_quiet();
}

static double counted(const char *name, const char *label)
{
    for (size_t i = 0; i < admission_metric_count; i++)
        if (strstr(admission_metrics[i]->name, name))
            return admission_metrics[i]->kind == VPA_METRIC_HISTOGRAM
                       ? vpa_metric_sum_of(admission_metrics[i], (const char *const[]){label, NULL})
                       : vpa_metric_value(admission_metrics[i], label);
    ck_abort_msg("no metric %s", name);
}

/* From when the request had arrived. */
TEST(requests_are_timed) {
    static const char *const steps[] = {"read_request", "admit", "build_response",
                                        "write_response"};
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct server *server =
        server_new_unbound(&(struct server_options){.cell = snapshot_builder_cell(builder)});
    vpa_auto_arena arena = {0};
    const char *body = fixture_json(&arena, POD_REVIEW(POD("")));
    struct vpa_server_response response = {0};
    int64_t received = vpa_monotonic_read() - 5 * VPA_SECOND;
    double parts = 0;

    server_answer(server,
                  &(struct vpa_server_request){.method = "POST",
                                               .path = "/",
                                               .query = "",
                                               .body = body,
                                               .body_len = strlen(body),
                                               .received_ns = received},
                  "application/json", &response);
    double most = (double)(vpa_monotonic_read() - received) / (double)VPA_SECOND;
    for (size_t i = 0; i < VPA_COUNT(steps); i++) {
        double part = counted("execution_latency", steps[i]);

        ck_assert_double_ge(part, i == 0 ? 5 : 0);
        parts += part;
    }
    ck_assert_double_le(parts, most + 1e-6);
    ck_assert_double_eq_tol(counted("execution_latency", "total"), parts, 1e-6);
    free(response.body);
    server_free(server);
    snapshot_builder_free(builder);
}

/* Pods alone, whatever was done with them. */
TEST_TIMES(pods_are_counted, 3) {
    static const struct {
        const char *row, *applied;
    } counts[] = {{"matched pod is patched", "true"},
                  {"no VPA", "false"},
                  {"VPA without policy gets one", NULL}};
    struct fixture f;

    free(answer_to(&f, row_named(counts[_i].row), false));
    for (int applied = 0; applied < 2; applied++) {
        const char *label = applied ? "true" : "false";

        ck_assert_double_eq(counted("admission_pods_total", label),
                            vpa_str_eq(counts[_i].applied, label));
    }
    fixture_stop(&f);
}

static bool has_no_room(void *asked, size_t answer_len)
{
    *(size_t *)asked = answer_len;
    return false;
}

/* An answer that nobody gets was not given: it is no patch in the counters or the ledger. */
TEST(an_answer_without_room_is_not_given) {
    const struct admit_row *row = row_named("matched pod is patched");
    struct vpa_server_response response = {0};
    size_t asked = 0;
    struct fixture f;

    serve(&f, row, false);
    capture_log(0);
    const char *body = fixture_json(&f.arena, row->body);
    const struct vpa_server_request request = {.method = "POST",
                                               .path = "/",
                                               .query = "",
                                               .body = body,
                                               .body_len = strlen(body),
                                               .take_room_ = has_no_room,
                                               .exchange_ = &asked};
    server_answer(admission_server(f.admission), &request, "application/json", &response);
    ck_assert_int_eq(response.status, 503);
    ck_assert_uint_gt(asked, strlen("{}"));
    ck_assert_uint_eq(response.body_len, strlen(response.body));
    free(response.body);
    ck_assert_uint_eq(logged("There is no room for an answer, the request is refused"), 1);
    ck_assert_double_eq(counted("admission_pods_total", "true"), 0);
    ck_assert_double_eq(counted("admission_pods_total", "false"), 1);
    ck_assert_ptr_null(first_entry(&f));
    fixture_quiet();
    fixture_stop(&f);
}

/* Each kind is counted every time and told once; kinds without end are not told. */
TEST(failed_handshakes_are_told_once) {
    static const char *const reasons[] = {"no shared cipher", "too slow", "no shared cipher",
                                          "too slow", "no certificate"};
    static char many[64][16];
    struct snapshot_builder *builder =
        snapshot_builder_new(&(struct snapshot_options){.ns = "", .panic_ns = ""});
    struct server *server =
        server_new_unbound(&(struct server_options){.cell = snapshot_builder_cell(builder)});

    capture_log(0);
    for (size_t i = 0; i < VPA_COUNT(reasons); i++)
        server_handshake_failed(server, reasons[i]);
    ck_assert_uint_eq(logged("A TLS handshake with the webhook failed"), 3);
    ck_assert_uint_eq(logged("too slow"), 1);
    ck_assert_double_eq(counted("tls_handshake_failures", "too slow"), 2);
    ck_assert_double_eq(counted("tls_handshake_failures", "no certificate"), 1);
    for (int i = 0; i < 64; i++) {
        snprintf(many[i], sizeof many[i], "%d", i);
        server_handshake_failed(server, many[i]);
    }
    ck_assert_uint_eq(logged("A TLS handshake with the webhook failed"), 16);
    fixture_quiet();
    server_free(server);
    snapshot_builder_free(builder);
}

#define OTHER_VPA                                                                                  \
    "{'metadata':{'name':'v','namespace':'other'},'spec':{'targetRef':{'apiVersion':'apps/v1',"    \
    "'kind':'StatefulSet','name':'web'}}}"
#define POD_OF_WIDGET                                                                              \
    "{'metadata':{'name':'p','namespace':'ns','ownerReferences':[{'kind':'Widget','name':'w',"     \
    "'apiVersion':'toys.io/v1','controller':true}]},'spec':{'containers':[{'name':'c'}]}}"

/* Whose pods nobody could have looked at: nothing is known of their owners. */
static const struct {
    const char *vpas, *pod;
    bool followed; /* the owners: waited for, asked for, complained of */
} foreign[] = {
    {OTHER_VPA, POD_OF("ReplicaSet", "none"), false},
    {OTHER_VPA, POD_OF_WIDGET, false},
    {"", POD_OF_WIDGET, false},
    {VPA(""), POD_OF("ReplicaSet", "none"), true},
    {VPA(""), POD_OF_WIDGET, true},
    {BY_LABELS("2021"), POD_OF_WIDGET, true},
    {BAD_VPA(""), POD_OF_WIDGET, true},
    {BAD_VPA("'targetRef':" DB_TARGET ","), POD_OF_WIDGET, true},
};

TEST_EACH(pods_of_namespaces_without_vpas_ask_nothing, foreign) {
    struct fixture f = {.vpas = foreign[_i].vpas};
    const struct admit_options options = {.explain = true};
    struct admit_result result;
    vpa_auto_buf out = VPA_BUF(ADMIT_ANSWER_MAX);
    struct vpa_error err;

    fixture_start(&f, false);
    fixture_daemon(&f, true);
    ck_assert_int_eq(admission_sync(f.admission, &err), 0);
    vpa_loop_pump(f.loop, VPA_SECOND);
    size_t before = sim_cluster_asked(f.sim, "GET", "/apis/toys.io");
    struct snapshot *snapshot = snapshot_acquire(admission_cell(f.admission));
    const char *body = fixture_json(
        &f.arena, vpa_arena_printf(&f.arena,
                                   "{'request':{'uid':'u','namespace':'ns','resource':{'group':'',"
                                   "'version':'v1','resource':'pods'},'object':%s}}",
                                   foreign[_i].pod));
    admit(snapshot, &options, &f.arena, body, strlen(body), &out, &result);
    snapshot_unref(snapshot);
    vpa_loop_pump(f.loop, VPA_SECOND);
    ck_assert_int_eq(result.owner_unknown, foreign[_i].followed);
    ck_assert_int_eq(result.owner_error != NULL, foreign[_i].followed);
    ck_assert_int_eq(sim_cluster_asked(f.sim, "GET", "/apis/toys.io") > before,
                     foreign[_i].followed && strstr(foreign[_i].pod, "Widget") != NULL);
    fixture_stop(&f);
}

int main(void)
{
    return run_tests("admission_admit", NULL, NULL);
}
