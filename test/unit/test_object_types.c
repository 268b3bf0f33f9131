#include "policy_fixtures.h"

#include "vpa/api/object_types.h"

static const struct type_row {
    const char *name;
    const char *pod;
    const char *error; /* NULL: fine */
} rows[] = {
    {"empty", "{}", NULL},
    {"null members", "{'metadata':null,'spec':{'containers':null,'hostNetwork':null}}", NULL},
    {"unknown members", "{'spec':{'fancy':{'a':[1]},'containers':[{'name':'c','x':5}]}}", NULL},
    {"any letter case", "{'SPEC':{'Priority':'x'}}",
     "spec: priority: expected 32-bit integer, found string"},
    {"order is free", "{'status':{'phase':'Running'},'spec':{'priority':5},'kind':'Pod'}", NULL},
    {"text given as number", "{'metadata':{'name':5}}",
     "metadata: name: expected string, found number"},
    {"label given as number", "{'metadata':{'labels':{'a':1}}}",
     "metadata: labels: a: expected string, found number"},
    {"list given as object", "{'spec':{'containers':{}}}",
     "spec: containers: expected array, found object"},
    {"object given as list", "{'spec':[]}", "spec: expected object, found array"},
    {"integer with a fraction", "{'spec':{'priority':1.5}}",
     "spec: priority: expected 32-bit integer, found number"},
    {"integer of 64 bits", "{'spec':{'terminationGracePeriodSeconds':9223372036854775807}}", NULL},
    {"integer beyond", "{'spec':{'terminationGracePeriodSeconds':9223372036854775808}}",
     "spec: terminationGracePeriodSeconds: expected 64-bit integer, found number"},
    {"boolean given as text", "{'spec':{'hostNetwork':'true'}}",
     "spec: hostNetwork: expected boolean, found string"},
    {"port as text", "{'spec':{'containers':[{'livenessProbe':{'httpGet':{'port':'http'}}}]}}",
     NULL},
    {"port as object", "{'spec':{'containers':[{'livenessProbe':{'httpGet':{'port':{}}}}]}}",
     "spec: containers: [0]: livenessProbe: httpGet: port: expected 32-bit integer, found object"},
    {"time", "{'metadata':{'creationTimestamp':'2026-01-01T00:00:00Z'}}", NULL},
    {"boolean", "{'spec':{'hostNetwork':false}}", NULL},
    {"map given as text", "{'spec':{'nodeSelector':'x'}}",
     "spec: nodeSelector: expected object, found string"},
    {"texts given as text", "{'metadata':{'finalizers':'x'}}",
     "metadata: finalizers: expected array, found string"},
    {"integers", "{'spec':{'securityContext':{'supplementalGroups':[1,2],'fsGroup':3}}}", NULL},
    {"exit codes",
     "{'spec':{'containers':[{'restartPolicyRules':[{'exitCodes':{'values':[1,'x']}}]}]}}",
     "spec: containers: [0]: restartPolicyRules: [0]: exitCodes: values: [1]: expected 32-bit "
     "integer, "
     "found string"},
    {"anything", "{'metadata':{'managedFields':[{'fieldsV1':{'f:x':{}}}]}}", NULL},
    {"not a time", "{'metadata':{'creationTimestamp':5}}",
     "metadata: creationTimestamp: expected time, found number"},
    {"empty time", "{'metadata':{'creationTimestamp':''}}",
     "metadata: creationTimestamp: parsing time \"\": not an RFC 3339 time"},
    {"integers in a list", "{'spec':{'securityContext':{'supplementalGroups':[1,'x']}}}",
     "spec: securityContext: supplementalGroups: [1]: expected 64-bit integer, found string"},
    {"texts in a list", "{'spec':{'containers':[{'args':['a',null,7]}]}}",
     "spec: containers: [0]: args: [2]: expected string, found number"},
    {"not an object", "[]", "expected object, found array"},
};

TEST_EACH(types, rows) {
    const struct type_row *row = &rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_error err = {0};
    int result = vpa_pod_check_types(&arena, fixture_parse(&arena, row->pod), &err);

    ck_assert_msg((result == 0) == (row->error == NULL), "%s: %s", row->name, err.text);
    if (row->error)
        ck_assert_str_eq(err.text, row->error);
}

static const char *const bad_quantities[] = {
    "{'spec':{'overhead':{'cpu':'1K'}}}",
    "{'spec':{'volumes':[{'emptyDir':{'sizeLimit':'x'}}]}}",
    "{'spec':{'initContainers':[{'resources':{'limits':{'cpu':true}}}]}}",
    "{'status':{'containerStatuses':[{'allocatedResources':{'cpu':''}}]}}",
};

TEST_EACH(quantities_anywhere, bad_quantities) {
    vpa_auto_arena arena = {0};
    struct vpa_error err;

    ck_assert_int_eq(vpa_pod_check_types(&arena, fixture_parse(&arena, bad_quantities[_i]), &err),
                     -1);
}

/* Of a VPA the first mistake in a type is told, unless a quantity or time behind it ends all. */
static const struct vpa_row {
    const char *vpa;
    enum vpa_types types;
    const char *error;
} vpa_rows[] = {
    {"{'metadata':{'name':5,'labels':5}}", VPA_TYPES_WRONG,
     "metadata: name: expected string, found number"},
    {"{'metadata':{'name':5,'creationTimestamp':'x'}}", VPA_TYPES_MALFORMED,
     "metadata: creationTimestamp: parsing time \"x\": not an RFC 3339 time"},
    {"{'metadata':{'name':5,'creationTimestamp':{}}}", VPA_TYPES_MALFORMED,
     "metadata: creationTimestamp: expected time, found object"},
    {"{'metadata':{'creationTimestamp':7},'spec':{'targetRef':{'name':5}}}", VPA_TYPES_MALFORMED,
     "metadata: creationTimestamp: expected time, found number"},
    {"{'metadata':{'creationTimestamp':null}}", VPA_TYPES_RIGHT, ""},
    {"{'status':{'conditions':[{'lastTransitionTime':''}]}}", VPA_TYPES_MALFORMED,
     "status: conditions: [0]: lastTransitionTime: parsing time \"\": not an RFC 3339 time"},
    /* which a condition of a pod has */
    {"{'status':{'conditions':[{'lastProbeTime':5}]}}", VPA_TYPES_RIGHT, ""},
    {"{'status':{'conditions':[{'observedGeneration':'5'}]}}", VPA_TYPES_WRONG,
     "status: conditions: [0]: observedGeneration: expected 64-bit integer, found string"},
};

TEST_EACH(types_of_a_vpa, vpa_rows) {
    const struct vpa_row *row = &vpa_rows[_i];
    vpa_auto_arena arena = {0};
    struct vpa_error err = {0};

    ck_assert_int_eq(vpa_object_check_types(&arena, fixture_parse(&arena, row->vpa), &err),
                     row->types);
    ck_assert_str_eq(err.text, row->error);
}

int main(void)
{
    return run_tests("object_types", NULL, NULL);
}
