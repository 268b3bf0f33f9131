/* The fields that can be long, and what each makes of the world. */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "world.h"

char *repeat(size_t n, const char *pattern)
{
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        if (i)
            vpa_buf_putc(&buf, ',');
        for (const char *c = pattern; *c; c++) {
            if (*c == '#')
                vpa_buf_printf(&buf, "%zu", i);
            else
                vpa_buf_putc(&buf, *c);
        }
    }
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

/* before, n times the pattern, after. */
static char *enclose(const char *before, size_t n, const char *pattern, const char *after)
{
    vpa_auto_free char *inner = repeat(n, pattern);

    return vpa_xprintf("%s%s%s", before, inner, after);
}

/* ---- fields ---- */

static void empty_policies(struct shape *s, size_t n)
{
    s->policies = repeat(n, "{}");
}

static void named_policies(struct shape *s, size_t n)
{
    s->policies = repeat(n, "{'containerName':'c#'}");
}

static void equal_policies(struct shape *s, size_t n)
{
    s->policies = repeat(n, "{'containerName':'c','mode':'Auto'}");
}

/* Many containers, a policy and a recommendation for each. */
static void policies_and_containers(struct shape *s, size_t n)
{
    s->policies = repeat(n, "{'containerName':'c#','maxAllowed':{'cpu':'2'}}");
    s->containers = repeat(n, "{'name':'c#','resources':{'requests':{'cpu':'1'}}}");
    s->recommended = repeat(n, "{'containerName':'c#','target':{'cpu':'500m'}}");
    s->used = repeat(n, "{'name':'c#','usage':{'cpu':'100m','memory':'100Mi'}}");
    s->statuses = repeat(n, "{'name':'c#','restartCount':0}");
}

static void controlled_resources(struct shape *s, size_t n)
{
    s->policies = enclose("{'containerName':'*','controlledResources':[", n, "'r#'", "]}");
}

static void equal_controlled_resources(struct shape *s, size_t n)
{
    s->policies = enclose("{'containerName':'*','controlledResources':[", n, "'cpu'", "]}");
}

static void min_allowed(struct shape *s, size_t n)
{
    s->policies = enclose("{'containerName':'*','minAllowed':{", n, "'r#':'1'", "}}");
}

static void min_and_max_allowed(struct shape *s, size_t n)
{
    vpa_auto_free char *min = repeat(n, "'r#':'2'");
    vpa_auto_free char *max = repeat(n, "'r#':'1'");

    s->policies =
        vpa_xprintf("{'containerName':'*','minAllowed':{%s},'maxAllowed':{%s}}", min, max);
}

static void eviction_requirements(struct shape *s, size_t n)
{
    s->spec = enclose("'updatePolicy':{'updateMode':'Recreate','evictionRequirements':[", n,
                      "{'resources':['cpu'],'changeRequirement':'TargetHigherThanRequests'}", "]}");
}

static void recommenders(struct shape *s, size_t n)
{
    s->spec = enclose("'recommenders':[", n, "{'name':'default'}", "]");
}

static void match_labels(struct shape *s, size_t n)
{
    s->selector = enclose("'matchLabels':{", n, "'l#':'v'", "}");
    s->labels = repeat(n, "'l#':'v'");
}

static void match_expressions(struct shape *s, size_t n)
{
    s->selector =
        enclose("'matchExpressions':[", n, "{'key':'l#','operator':'In','values':['u','v']}", "]");
    s->labels = repeat(n, "'l#':'v'");
}

static void match_values(struct shape *s, size_t n)
{
    s->selector = enclose("'matchExpressions':[{'key':'app','operator':'In','values':[", n, "'v#'",
                          ",'w']}]");
}

static void bad_values(struct shape *s, size_t n)
{
    s->selector =
        enclose("'matchExpressions':[{'key':'app','operator':'In','values':[", n, "'-#-'", "]}]");
}

static void recommended_containers(struct shape *s, size_t n)
{
    s->recommended = repeat(n, "{'containerName':'c#','target':{'cpu':'2'}}");
}

static void recommended_resources(struct shape *s, size_t n)
{
    s->recommended = enclose("{'containerName':'c0','target':{", n, "'r#':'1'", "}}");
}

static void conditions(struct shape *s, size_t n)
{
    s->conditions = repeat(n, "{'type':'T#','status':'True'}");
}

static void vpa_annotations(struct shape *s, size_t n)
{
    s->vpa_meta = enclose("'annotations':{", n,
                          "'vpa-post-processor.kubernetes.io/c#_integerCPU':'true'", "},");
    s->recommended = repeat(n, "{'containerName':'c#','target':{'cpu':'2'}}");
    s->containers = repeat(n, "{'name':'c#','resources':{'requests':{'cpu':'1'}}}");
    s->used = repeat(n, "{'name':'c#','usage':{'cpu':'100m','memory':'100Mi'}}");
}

static void containers(struct shape *s, size_t n)
{
    s->containers = repeat(n, "{'name':'c#','resources':{'requests':{'cpu':'1'}}}");
    s->used = repeat(n, "{'name':'c#','usage':{'cpu':'100m','memory':'100Mi'}}");
    s->recommended = repeat(n, "{'containerName':'c#','target':{'cpu':'2'}}");
}

static void empty_containers(struct shape *s, size_t n)
{
    s->containers = repeat(n, "{}");
}

static void init_containers(struct shape *s, size_t n)
{
    s->init = repeat(n, "{'name':'i#'}");
}

static void containers_and_init(struct shape *s, size_t n)
{
    containers(s, n);
    init_containers(s, n);
}

static void statuses(struct shape *s, size_t n)
{
    s->statuses = repeat(n, "{'name':'c#','resources':{'requests':{'cpu':'2'}}}");
}

static void pod_conditions(struct shape *s, size_t n)
{
    s->pod_conditions = repeat(n, "{'type':'T#','status':'True'}");
}

static void env(struct shape *s, size_t n)
{
    s->containers = enclose("{'name':'c0','env':[", n, "{'name':'E#','value':'v'}", "]}");
}

static void requests(struct shape *s, size_t n)
{
    s->containers = enclose("{'name':'c0','resources':{'requests':{", n, "'r#':'1'", "}}}");
}

static void labels(struct shape *s, size_t n)
{
    s->labels = repeat(n, "'l#':'v'");
}

static void annotations(struct shape *s, size_t n)
{
    s->annotations = repeat(n, "'a#':'v'");
}

static void boost_annotations(struct shape *s, size_t n)
{
    s->annotations = repeat(n, "'vpaCpuStartupBoost/c#':'{}'");
}

/* Each container with the mark of a boost that is over. */
static void boosted_containers(struct shape *s, size_t n)
{
    s->spec = repeat(1, "'updatePolicy':{'updateMode':'InPlaceOrRecreate'}");
    s->annotations =
        repeat(n, "'vpaCpuStartupBoost/c#':'{\\\'requests\\\':{\\\'cpu\\\':\\\'500m\\\'}}'");
    s->containers = repeat(n, "{'name':'c#','resources':{'requests':{'cpu':'1'}}}");
}

static void boost_marker_resources(struct shape *s, size_t n)
{
    s->spec = repeat(1, "'updatePolicy':{'updateMode':'InPlaceOrRecreate'}");
    s->annotations =
        enclose("'vpaCpuStartupBoost/c0':'{\\\'requests\\\':{", n, "\\\'r#\\\':\\\'1\\\'", "}}'");
}

#define BOOST "'startupBoost':{'cpu':{'type':'Factor','factor':2}}"

/* Looked at for each container that has the name. */
static void long_boost_marker(struct shape *s, size_t n)
{
    s->spec = repeat(1, BOOST);
    s->annotations = enclose("'vpaCpuStartupBoost/c0':'{\\\'x\\\':[", n, "0", "]}'");
    s->containers = repeat(3, "{'name':'c0','resources':{'requests':{'cpu':'1'}}}");
}

/* All boosted already, as the one marker says. */
static void boosts_of_one_name(struct shape *s, size_t n)
{
    s->spec = repeat(1, BOOST);
    s->annotations =
        repeat(1, "'vpaCpuStartupBoost/c0':'{\\\'requests\\\':{\\\'cpu\\\':\\\'500m\\\'}}'");
    s->containers = repeat(n, "{'name':'c0','resources':{'requests':{'cpu':'4'}}}");
}

/* Each has the phrases of all. */
static void containers_of_one_name(struct shape *s, size_t n)
{
    s->containers = repeat(n, "{'name':'c0','resources':{'limits':{'cpu':'1'}}}");
}

static void resources_of_one_name(struct shape *s, size_t n)
{
    s->spec = repeat(1, BOOST);
    s->containers = repeat(n, "{'name':'c0','resources':{'requests':{'cpu':'1'}}}");
    s->recommended = enclose("{'containerName':'c0','target':{'cpu':'1',", n, "'r#':'1'", "}}");
}

static void observed_containers(struct shape *s, size_t n)
{
    s->annotations = enclose("'vpaObservedContainers':'", n, "c#", "'");
    s->statuses = repeat(n, "{'name':'c#','restartCount':0}");
}

/* As many names as containers, each of which an action is explained by. */
static void observed_and_containers(struct shape *s, size_t n)
{
    containers(s, n);
    s->annotations = enclose("'vpaObservedContainers':'c0,", n, " c#", "'");
    s->statuses = repeat(n, "{'name':'c#','restartCount':0}");
}

static void owner_references(struct shape *s, size_t n)
{
    s->owners = repeat(n, "{'apiVersion':'v1','kind':'K','name':'o#','uid':'#'}");
}

static void limit_items(struct shape *s, size_t n)
{
    s->limits = repeat(n, "{'type':'Container','max':{'cpu':'8'}}");
}

static void limit_resources(struct shape *s, size_t n)
{
    s->limits = enclose("{'type':'Container','max':{", n, "'r#':'1'", "}}");
}

static void limit_ranges(struct shape *s, size_t n)
{
    s->limit_ranges = n;
}

static void checkpoints(struct shape *s, size_t n)
{
    s->checkpoints = n;
}

/* Of another algorithm. */
static void stored_states(struct shape *s, size_t n)
{
    s->states = n;
}

/* Of containers that hardly a pod has. */
static void checkpoints_and_pods(struct shape *s, size_t n)
{
    s->checkpoints = n;
    s->pods = n;
}

static void checkpoints_and_label_sets(struct shape *s, size_t n)
{
    checkpoints_and_pods(s, n);
    s->own_labels = true;
}

/* By their names those of the one and the other VPA follow each other. */
static void checkpoints_in_turns(struct shape *s, size_t n)
{
    checkpoints_and_pods(s, n);
    s->vpas = 2;
}

/* Under other names, each newer than the one before. */
static void checkpoints_of_one_container(struct shape *s, size_t n)
{
    checkpoints_and_pods(s, n);
    s->other_names = true;
}

static void many_vpas(struct shape *s, size_t n)
{
    s->vpas = n;
    s->own_targets = true;
}

static void many_vpas_on_one_target(struct shape *s, size_t n)
{
    s->vpas = n;
}

static void many_selecting_vpas(struct shape *s, size_t n)
{
    s->vpas = n;
    s->selecting = true;
}

static void vpas_elsewhere(struct shape *s, size_t n)
{
    s->vpas = n;
    s->elsewhere = true;
}

/* Each pod asks a selector that names as many values as there are pods. */
static void pods_and_values(struct shape *s, size_t n)
{
    s->pods = n;
    s->selector =
        enclose("'matchExpressions':[{'key':'app','operator':'NotIn','values':[", n, "'#w'", "]}]");
}

/* n links between VPAs and label sets, each of which matches all of the others. */
static void links(struct shape *s, size_t n)
{
    size_t side = 1;

    while ((side + 1) * (side + 1) <= 16 * n)
        side++;
    s->vpas = side;
    s->pods = side;
    s->own_labels = true;
}

/* Of another recommender, matching the same pods by labels. */
static void foreign_vpas(struct shape *s, size_t n)
{
    many_selecting_vpas(s, n);
    s->spec = repeat(1, "'recommenders':[{'name':'another'}]");
}

static void many_pods(struct shape *s, size_t n)
{
    s->pods = n;
}

static void many_label_sets(struct shape *s, size_t n)
{
    s->pods = n;
    s->own_labels = true;
}

/* Each VPA with a selector that is new where there are many label sets. */
static void vpas_and_label_sets(struct shape *s, size_t n)
{
    many_label_sets(s, n);
    s->vpas = n;
    s->own_selectors = true;
    s->memory_saver = true;
}

/* Of containers that no other pod has. */
static void many_own_names(struct shape *s, size_t n)
{
    s->pods = n;
    s->own_names = true;
}

static const struct {
    const char *name;
    bool objects; /* n is a number of objects */
    void (*fill)(struct shape *s, size_t n);
} fields[] = {
    {"policies-empty", false, empty_policies},
    {"policies-named", false, named_policies},
    {"policies-equal", false, equal_policies},
    {"policies-and-containers", false, policies_and_containers},
    {"controlled-resources", false, controlled_resources},
    {"controlled-resources-equal", false, equal_controlled_resources},
    {"min-allowed", false, min_allowed},
    {"min-and-max-allowed", false, min_and_max_allowed},
    {"eviction-requirements", false, eviction_requirements},
    {"recommenders", false, recommenders},
    {"match-labels", false, match_labels},
    {"match-expressions", false, match_expressions},
    {"match-values", false, match_values},
    {"match-values-bad", false, bad_values},
    {"recommended-containers", false, recommended_containers},
    {"recommended-resources", false, recommended_resources},
    {"conditions", false, conditions},
    {"vpa-annotations", false, vpa_annotations},
    {"containers", false, containers},
    {"containers-empty", false, empty_containers},
    {"init-containers", false, init_containers},
    {"containers-and-init", false, containers_and_init},
    {"container-statuses", false, statuses},
    {"pod-conditions", false, pod_conditions},
    {"env", false, env},
    {"requests", false, requests},
    {"labels", false, labels},
    {"annotations", false, annotations},
    {"boost-annotations", false, boost_annotations},
    {"boosted-containers", false, boosted_containers},
    {"boost-marker-resources", false, boost_marker_resources},
    {"boost-marker-long", false, long_boost_marker},
    {"boosts-of-one-name", false, boosts_of_one_name},
    {"containers-of-one-name", false, containers_of_one_name},
    {"resources-of-one-name", false, resources_of_one_name},
    {"observed-containers", false, observed_containers},
    {"observed-and-containers", false, observed_and_containers},
    {"owner-references", false, owner_references},
    {"limit-range-items", false, limit_items},
    {"limit-range-resources", false, limit_resources},
    {"limit-ranges", true, limit_ranges},
    {"checkpoints", true, checkpoints},
    {"stored-states", true, stored_states},
    {"checkpoints-and-pods", true, checkpoints_and_pods},
    {"checkpoints-and-label-sets", true, checkpoints_and_label_sets},
    {"checkpoints-in-turns", true, checkpoints_in_turns},
    {"checkpoints-of-one-container", true, checkpoints_of_one_container},
    {"vpas", true, many_vpas},
    {"vpas-on-one-target", true, many_vpas_on_one_target},
    {"vpas-selecting", true, many_selecting_vpas},
    {"vpas-elsewhere", true, vpas_elsewhere},
    {"pods-and-values", true, pods_and_values},
    {"vpas-foreign", true, foreign_vpas},
    {"links", true, links},
    {"pods", true, many_pods},
    {"label-sets", true, many_label_sets},
    {"vpas-and-label-sets", true, vpas_and_label_sets},
    {"pods-of-own-names", true, many_own_names},
};

const char *world_field(size_t i)
{
    return i < VPA_COUNT(fields) ? fields[i].name : NULL;
}

bool world_field_counts_objects(size_t i)
{
    return fields[i].objects;
}

bool shape_init(struct shape *s, const char *field, size_t n)
{
    for (size_t i = 0; i < VPA_COUNT(fields); i++) {
        if (strcmp(fields[i].name, field) != 0)
            continue;
        *s = (struct shape){.vpas = 1, .pods = 4, .limit_ranges = 1};
        fields[i].fill(s, n);
        return true;
    }
    return false;
}

void shape_release(struct shape *s)
{
    char *const texts[] = {s->policies,   s->spec,       s->selector,      s->recommended,
                           s->conditions, s->vpa_meta,   s->labels,        s->annotations,
                           s->owners,     s->containers, s->used,          s->init,
                           s->statuses,   s->limits,     s->pod_conditions};

    for (size_t i = 0; i < VPA_COUNT(texts); i++)
        free(texts[i]);
}
