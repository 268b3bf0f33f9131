#include "policy_fixtures.h"

#include "vpa/policy/boost.h"

#define REQUESTS_AND_LIMITS "RequestsAndLimits"
#define REQUESTS_ONLY "RequestsOnly"

/* admission.md 13.6 and the decisions: container's cpu, what it would get, boost, result. */
static const struct boost_row {
    const char *name;
    const char *resources; /* of the spec */
    const char *recommended;
    const char *boost;
    const char *controlled;
    const char *cap;
    const char *requests_want; /* NULL: unusable */
    const char *limits_want;   /* or why not */
} rows[] = {
    {"factor", "{'requests':{'cpu':'1m'},'limits':{'cpu':'1m'}}", "{'cpu':'100m'}",
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL, "cpu=200m", "cpu=200m"},
    {"quantity is added", "{'requests':{'cpu':'1m'},'limits':{'cpu':'1m'}}", "{'cpu':'100m'}",
     "{'type':'Quantity','quantity':'500m'}", REQUESTS_AND_LIMITS, NULL, "cpu=600m", "cpu=600m"},
    {"capped by the flag", "{'requests':{'cpu':'1m'},'limits':{'cpu':'1m'}}", "{'cpu':'20m'}",
     "{'type':'Factor','factor':3}", REQUESTS_AND_LIMITS, "40m", "cpu=40m", "cpu=40m"},
    {"no recommendation", "{'requests':{'cpu':'100m'},'limits':{'cpu':'100m'}}", NULL,
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL, "cpu=200m", "cpu=200m"},
    {"RequestsOnly below the limit", "{'requests':{'cpu':'100m'},'limits':{'cpu':'300m'}}",
     "{'cpu':'100m'}", "{'type':'Factor','factor':2}", REQUESTS_ONLY, NULL, "cpu=200m", "-"},
    {"RequestsOnly at the limit", "{'requests':{'cpu':'100m'},'limits':{'cpu':'150m'}}",
     "{'cpu':'100m'}", "{'type':'Factor','factor':2}", REQUESTS_ONLY, NULL, "cpu=149m", "-"},
    {"RequestsOnly never lowers", "{'requests':{'cpu':'100m'},'limits':{'cpu':'150m'}}",
     "{'cpu':'150m'}", "{'type':'Factor','factor':2}", REQUESTS_ONLY, NULL, "cpu=150m", "-"},
    {"RequestsOnly with a limit of a thousandth", "{'limits':{'cpu':'1m'}}", NULL,
     "{'type':'Quantity','quantity':'1'}", REQUESTS_ONLY, NULL, "cpu=1m", "-"},
    {"the ratio is kept", "{'requests':{'cpu':'100m'},'limits':{'cpu':'300m'}}", "{'cpu':'150m'}",
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL, "cpu=300m", "cpu=900m"},
    {"no limit, none made", "{'requests':{'cpu':'100m'}}", "{'cpu':'150m'}",
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL, "cpu=300m", "-"},
    {"nothing to multiply", "{}", NULL, "{'type':'Factor','factor':3}", REQUESTS_AND_LIMITS, NULL,
     "cpu=0", "-"},
    {"nothing to add to", "{}", NULL, "{'type':'Quantity','quantity':'500m'}", REQUESTS_AND_LIMITS,
     NULL, "cpu=500m", "-"},
    {"a cap below never lowers", "{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}", "{'cpu':'2'}",
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, "1", "cpu=2", "cpu=4"},
    {"a negative quantity never lowers", "{'requests':{'cpu':'1'}}", NULL,
     "{'type':'Quantity','quantity':'-500m'}", REQUESTS_AND_LIMITS, NULL, "cpu=1", "-"},
    {"a negative quantity alone is no boost", "{}", NULL, "{'type':'Quantity','quantity':'-500m'}",
     REQUESTS_AND_LIMITS, NULL, NULL, "quantity is negative, and there is nothing to take it from"},
    {"a negative quantity and a recommendation of nothing", "{}", "{'cpu':'0'}",
     "{'type':'Quantity','quantity':'-500m'}", REQUESTS_AND_LIMITS, NULL, "cpu=0", "-"},
    {"saturated", "{'requests':{'cpu':'9000000000000000'}}", NULL,
     "{'type':'Factor','factor':2000000000}", REQUESTS_AND_LIMITS, NULL, "cpu=9223372036854775807m",
     "-"},
    {"saturated sum", "{'requests':{'cpu':'9000000000000000'}}", NULL,
     "{'type':'Quantity','quantity':'9000000000000000'}", REQUESTS_AND_LIMITS, NULL,
     "cpu=9223372036854775807m", "-"},
    {"saturated below", "{'requests':{'cpu':'-9000000000000000'}}", NULL,
     "{'type':'Factor','factor':2000000000}", REQUESTS_AND_LIMITS, NULL, "cpu=-9P", "-"},
    {"saturated sum below", "{'requests':{'cpu':'-9000000000000000'}}", NULL,
     "{'type':'Quantity','quantity':'-9000000000000000'}", REQUESTS_AND_LIMITS, NULL, "cpu=-9P",
     "-"},
    {"a cap of zero is none", "{'requests':{'cpu':'1'}}", NULL, "{'type':'Factor','factor':2}",
     REQUESTS_AND_LIMITS, "0", "cpu=2", "-"},
    {"a cap above", "{'requests':{'cpu':'1'}}", NULL, "{'type':'Factor','factor':2}",
     REQUESTS_AND_LIMITS, "4", "cpu=2", "-"},
    {"a recommendation of zero is no base", "{'requests':{'cpu':'1'}}", "{'cpu':'0'}",
     "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL, "cpu=2", "-"},
    {"other resources are left alone", "{'requests':{'cpu':'1','memory':'1Gi'}}",
     "{'cpu':'1','memory':'2Gi'}", "{'type':'Factor','factor':2}", REQUESTS_AND_LIMITS, NULL,
     "cpu=2 memory=2Gi", "-"},
    {"no cpu", "{}", NULL, NULL, REQUESTS_AND_LIMITS, NULL, NULL, "startupBoost has no cpu"},
    {"type missing", "{}", NULL, "{'factor':2}", REQUESTS_AND_LIMITS, NULL, NULL,
     "type is missing"},
    {"type unknown", "{}", NULL, "{'type':'Percent','factor':2}", REQUESTS_AND_LIMITS, NULL, NULL,
     "type is neither Factor nor Quantity"},
    {"factor missing", "{}", NULL, "{'type':'Factor'}", REQUESTS_AND_LIMITS, NULL, NULL,
     "factor is missing"},
    {"a factor of one is allowed", "{'requests':{'cpu':'100m'}}", "{'cpu':'150m'}",
     "{'type':'Factor','factor':1}", REQUESTS_AND_LIMITS, NULL, "cpu=150m", "-"},
    {"factor below one", "{}", NULL, "{'type':'Factor','factor':0}", REQUESTS_AND_LIMITS, NULL,
     NULL, "factor must be >= 1"},
    {"quantity missing", "{}", NULL, "{'type':'Quantity'}", REQUESTS_AND_LIMITS, NULL, NULL,
     "quantity is missing"},
};

static struct vpa_object vpa_with(struct vpa_arena *arena, const char *spec)
{
    return fixture_vpa(
        arena,
        vpa_arena_printf(arena, "{'metadata':{'name':'v','namespace':'ns'},'spec':{%s}}", spec));
}

static struct vpa_pod pod_with(struct vpa_arena *arena, const char *resources)
{
    return fixture_pod(arena, vpa_arena_printf(arena,
                                               "{'metadata':{'name':'p','namespace':'ns'},'spec':{"
                                               "'containers':[{'name':'c','resources':%s}]}}",
                                               resources));
}

TEST_EACH(boosts, rows) {
    const struct boost_row *row = &rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = vpa_with(
        &arena, row->boost ? vpa_arena_printf(&arena, "'startupBoost':{'cpu':%s}", row->boost)
                           : "'startupBoost':{}");
    struct vpa_pod pod = pod_with(&arena, row->resources);
    struct vpa_quantity cap = fixture_quantity(&arena, row->cap);
    struct vpa_resource_list requests = {0}, limits = {0};
    const char *reason = NULL;

    if (row->recommended)
        requests = fixture_list(&arena, row->recommended);
    bool usable =
        vpa_boost_apply(&arena, vpa_boost_find(&vpa, "c"), &pod.containers[0], row->controlled,
                        row->cap ? &cap : NULL, &requests, &limits, &reason);
    ck_assert_msg(usable == (row->requests_want != NULL), "%s: %s", row->name, reason);
    if (!usable) {
        ck_assert_pstr_eq(reason, row->limits_want);
        ck_assert(!requests.count && !limits.count);
        return;
    }
    ck_assert_str_eq(fixture_list_text(&arena, &requests), row->requests_want);
    ck_assert_str_eq(fixture_list_text(&arena, &limits), row->limits_want);
}

TEST(which_boost) {
    vpa_auto_arena arena = {0};
    struct vpa_object vpa = vpa_with(
        &arena,
        "'startupBoost':{'cpu':{'type':'Factor','factor':2,'durationSeconds':10}},'resourcePolicy':"
        "{"
        "'containerPolicies':[{'containerName':'own','startupBoost':{'cpu':{'type':'Factor',"
        "'factor':3}}},{'containerName':'off','mode':'Off'},{'containerName':'offOwn','mode':'Off',"
        "'startupBoost':{'cpu':{'type':'Factor','factor':4,'durationSeconds':7}}},"
        "{'containerName':'plain'}]}");

    ck_assert_int_eq(vpa_boost_find(&vpa, "other")->factor.value, 2);
    ck_assert_int_eq(vpa_boost_find(&vpa, "plain")->factor.value, 2);
    ck_assert_int_eq(vpa_boost_find(&vpa, "own")->factor.value, 3);
    ck_assert_ptr_null(vpa_boost_find(&vpa, "off"));
    ck_assert_int_eq(vpa_boost_find(&vpa, "offOwn")->factor.value, 4);
    ck_assert_int_eq(vpa_boost_duration_seconds(&vpa, "own"), 10);
    ck_assert_int_eq(vpa_boost_duration_seconds(&vpa, "offOwn"), 7);
    struct vpa_object none = vpa_with(&arena, "'startupBoost':{}");
    ck_assert_int_eq(vpa_boost_duration_seconds(&none, "c"), 0);
    struct vpa_object bare = vpa_with(
        &arena, "'resourcePolicy':{'containerPolicies':[{'containerName':'c','mode':'Auto'}]}");
    ck_assert_ptr_null(vpa_boost_find(&bare, "c"));
    struct vpa_object empty = vpa_with(
        &arena, "'resourcePolicy':{'containerPolicies':[{'containerName':'c','startupBoost':{}}]}");
    ck_assert_int_eq(vpa_boost_duration_seconds(&empty, "c"), 0);
}

TEST(expiry) {
    vpa_auto_arena arena = {0};
    struct vpa_object timed = vpa_with(
        &arena, "'startupBoost':{'cpu':{'type':'Factor','factor':2,'durationSeconds':60}}");
    struct vpa_object untimed =
        vpa_with(&arena, "'startupBoost':{'cpu':{'type':'Factor','factor':2}}");
    struct vpa_pod ready = fixture_pod(
        &arena, "{'metadata':{'name':'p'},'status':{'conditions':[{'type':'Ready','status':'True',"
                "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}}");
    struct vpa_pod waiting = fixture_pod(
        &arena,
        "{'metadata':{'name':'p'},'status':{'conditions':[{'type':'Ready','status':'False'}]}}");
    vpa_time start;
    struct vpa_error err;

    ck_assert_int_eq(vpa_time_parse("2026-01-01T00:00:00Z", &start, &err), 0);
    ck_assert(!vpa_boost_expired(&ready, &timed, "c", vpa_time_add(start, VPA_MINUTE)));
    ck_assert(vpa_boost_expired(&ready, &timed, "c", vpa_time_add(start, VPA_MINUTE + 1)));
    ck_assert(vpa_boost_expired(&ready, &untimed, "c", start));
    ck_assert(!vpa_boost_expired(&waiting, &untimed, "c", start));
    struct vpa_pod fresh = fixture_pod(&arena, "{'metadata':{'name':'p'}}");
    ck_assert(!vpa_boost_expired(&fresh, &untimed, "c", start));
}

int main(void)
{
    return run_tests("boost", NULL, NULL);
}
