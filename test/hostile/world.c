#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"

/* All texts together: sixteen objects of the largest size that etcd takes. */
#define TEXT_MAX ((size_t)64 << 20)

#define OWN_NAMES 20

#define CHECKPOINTS_FROM 1772359200 /* 2026-03-01T10:00:00Z, a second after the other */

/* What an object has beyond the usual; texts with ' for ". NULL: nothing. */
struct shape {
    size_t vpas;
    size_t pods;
    size_t limit_ranges;
    size_t checkpoints, states;
    bool own_labels;   /* each pod has a label of its own */
    bool own_names;    /* each pod has containers of its own */
    bool other_names;  /* the checkpoints are all of one container */
    bool own_targets;  /* each VPA has a ReplicaSet of its own */
    bool selecting;    /* VPAs select pods themselves */
    bool elsewhere;    /* all VPAs but the first are in another namespace, with targets there; the
                        * first selects pods, of which nobody knows whose they are */
    char *policies;    /* of the VPA */
    char *spec;        /* members of the VPA's spec */
    char *selector;    /* members of spec.selector, instead of the target */
    char *recommended; /* containers */
    char *conditions;  /* of the VPA */
    char *vpa_meta;    /* members */
    char *labels;      /* of the pods */
    char *annotations; /* of the pods */
    char *owners;      /* of the pods, before the ReplicaSet */
    char *containers;  /* of the pods */
    char *used;        /* containers in the metrics */
    char *init;        /* containers */
    char *statuses;    /* of the pods' containers */
    char *pod_conditions;
    char *limits; /* items of each LimitRange */
};

/* "n" times the pattern, its # replaced by 0, 1, ..., with commas between. Heap text. */
static char *repeat(size_t n, const char *pattern)
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
    s->statuses = repeat(n, "{'name':'c#','lastState':{'terminated':{'reason':'OOMKilled',"
                            "'startedAt':'2026-02-01T00:00:00Z','finishedAt':"
                            "'2026-02-01T00:01:00Z'}}}");
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

/* ---- objects ---- */

static const char *or_default(const char *text, const char *preset)
{
    return text ? text : preset;
}

/* Where an object begins in the list, behind its comma. */
static size_t begin_object(struct vpa_buf *list)
{
    if (list->len)
        vpa_buf_putc(list, ',');
    return list->len;
}

static void end_object(struct world *w, const struct vpa_buf *list, size_t begin)
{
    size_t size = list->len - begin;

    if (2 * size > 3 * w->largest)
        w->copies = 0;
    if (3 * size > 2 * w->largest)
        w->copies++;
    if (size > w->largest)
        w->largest = size;
}

static void put_vpa(struct world *w, const struct shape *s, size_t i, struct vpa_buf *out)
{
    size_t begin = begin_object(out);
    bool away = s->elsewhere && i > 0;
    bool selecting = s->selecting || (s->elsewhere && i == 0);
    vpa_auto_free char *target =
        s->selector ? vpa_xprintf("'selector':{%s}", s->selector)
        : selecting ? vpa_xprintf("'selector':{'matchLabels':{'app':'w'}}")
                    : vpa_xprintf("'targetRef':{'apiVersion':'apps/v1','kind':'ReplicaSet',"
                                  "'name':'rs%zu'}",
                                  s->own_targets || away ? i : 0);

    vpa_buf_printf(out,
                   "{'metadata':{%s'name':'v%zu','namespace':'%s','uid':'u%zu','creationTimestamp':"
                   "'2026-01-01T00:00:00Z'},'spec':{%s,%s%s'resourcePolicy':{'containerPolicies':["
                   "%s]}},'status':{'conditions':[%s],'recommendation':{"
                   "'containerRecommendations':[%s]}}}",
                   or_default(s->vpa_meta, ""), i, away ? "m" : "n", i, target,
                   or_default(s->spec, "'updatePolicy':{'updateMode':'Recreate'}"), ",",
                   or_default(s->policies, "{'containerName':'*'}"), or_default(s->conditions, ""),
                   or_default(s->recommended, "{'containerName':'c0','target':{'cpu':'2'},"
                                              "'lowerBound':{'cpu':'1500m'}}"));
    end_object(w, out, begin);
}

static void put_pod(struct world *w, const struct shape *s, size_t i, struct vpa_buf *out)
{
    size_t begin = begin_object(out);
    vpa_auto_free char *own = s->own_labels ? vpa_xprintf("'own':'o%zu',", i) : vpa_xstrdup("");
    vpa_auto_free char *pattern = vpa_xprintf("{'name':'c%zu-#'}", i);
    vpa_auto_free char *named = s->own_names ? repeat(OWN_NAMES, pattern) : NULL;

    vpa_buf_printf(
        out,
        "{'metadata':{'name':'p%zu','namespace':'n','uid':'q%zu','labels':{%s%s%s'app':'w'},"
        "'annotations':{%s},'ownerReferences':[%s%s{'apiVersion':'apps/v1','kind':'ReplicaSet',"
        "'name':'rs0','controller':true}]},'spec':{'nodeName':'node','containers':[%s],"
        "'initContainers':[%s]},'status':{'phase':'Running','startTime':'2026-01-01T00:00:00Z',"
        "'containerStatuses':[%s],'conditions':[{'type':'Ready','status':'True',"
        "'lastTransitionTime':'2026-01-01T00:00:00Z'}%s%s]}}",
        i, i, own, or_default(s->labels, ""), s->labels ? "," : "", or_default(s->annotations, ""),
        or_default(s->owners, ""), s->owners ? "," : "",
        named ? named
              : or_default(s->containers, "{'name':'c0','resources':{'requests':{'cpu':'1'}}}"),
        or_default(s->init, ""), or_default(s->statuses, ""), s->pod_conditions ? "," : "",
        or_default(s->pod_conditions, ""));
    end_object(w, out, begin);
}

static void put_usage(const struct shape *s, size_t i, struct vpa_buf *out)
{
    if (i)
        vpa_buf_putc(out, ',');
    vpa_buf_printf(out,
                   "{'metadata':{'name':'p%zu','namespace':'n'},'timestamp':"
                   "'2026-03-01T12:00:00Z','window':'60s','containers':[%s]}",
                   i, or_default(s->used, "{'name':'c0','usage':{'cpu':'100m','memory':'100Mi'}}"));
}

static void put_replica_set(size_t i, size_t pods, struct vpa_buf *out)
{
    vpa_buf_printf(out,
                   "%s{'metadata':{'name':'rs%zu','namespace':'n'},'spec':{'replicas':%zu,"
                   "'selector':{'matchLabels':{'app':'w'}}}}",
                   i ? "," : "", i, pods);
}

static void put_limit_range(struct world *w, const struct shape *s, size_t i, struct vpa_buf *out)
{
    size_t begin = begin_object(out);

    vpa_buf_printf(out, "{'metadata':{'name':'l%zu','namespace':'n'},'spec':{'limits':[%s]}}", i,
                   or_default(s->limits, "{'type':'Container','max':{'cpu':'8'}}"));
    end_object(w, out, begin);
}

static void put_checkpoint(const struct shape *s, size_t i, struct vpa_buf *out)
{
    size_t vpa = i % s->vpas, container = s->other_names ? 0 : i;
    vpa_auto_free char *name =
        s->other_names ? vpa_xprintf("o%zu", i) : vpa_xprintf("v%zu-c%zu", vpa, container);
    char updated[VPA_TIME_TEXT_MAX];

    vpa_time_format(vpa_time_from_unix(CHECKPOINTS_FROM + (int64_t)i, 0), updated);
    vpa_buf_printf(
        out,
        "%s{'metadata':{'name':'%s','namespace':'n'},'spec':{'vpaObjectName':'v%zu',"
        "'containerName':'c%zu'},'status':{'version':'v3','lastUpdateTime':'%s',"
        "'firstSampleStart':'2026-02-01T00:00:00Z','lastSampleStart':"
        "'2026-03-01T11:00:00Z','totalSamplesCount':9,'cpuHistogram':{'referenceTimestamp':"
        "'2026-03-01T00:00:00Z','bucketWeights':{'1':10000},'totalWeight':1},'memoryHistogram':{"
        "'referenceTimestamp':'2026-03-01T00:00:00Z','bucketWeights':{'1':10000},"
        "'totalWeight':1}}}",
        i ? "," : "", name, vpa, container, updated);
}

/* The last container first, so that each comes before all that are known. */
static void put_state(size_t i, size_t count, struct vpa_buf *out)
{
    vpa_buf_printf(
        out,
        "%s{'metadata':{'name':'v0-s%zu','namespace':'n','annotations':{"
        "'vpa.autoscaling.k8s.io/algorithm-state':'{\\'algorithm\\':\\'autopilot-ml\\',"
        "\\'version\\':1,\\'samples\\':1,\\'lastSample\\':\\'2026-03-01T11:00:00Z\\',\\'state\\':"
        "{\\'cpu\\':{\\'open\\':[[0,1],[284,1]]},\\'window\\':1772362800,\\'last\\':1772362800}}'}}"
        ","
        "'spec':{'vpaObjectName':'v0','containerName':'c%06zu.autopilot-ml'},'status':{'version':"
        "'plumb-autopilot-ml','lastUpdateTime':'2026-03-01T11:00:00Z','lastSampleStart':"
        "'2026-03-01T11:00:00Z','totalSamplesCount':1}}",
        i ? "," : "", i, count - i);
}

/* ---- the world ---- */

static void to_json(struct vpa_buf *buf)
{
    vpa_buf_puts(buf, "");
    for (size_t i = 0; i < buf->len; i++)
        if (buf->data[i] == '\'')
            buf->data[i] = '"';
}

static struct vpa_buf *const *buffers_of(struct world *w, struct vpa_buf *all[9])
{
    struct vpa_buf *const list[] = {&w->vpas,        &w->pods,  &w->replica_sets, &w->limit_ranges,
                                    &w->checkpoints, &w->usage, &w->vpa,          &w->pod};

    memcpy(all, list, sizeof(list));
    all[VPA_COUNT(list)] = NULL;
    return all;
}

static void shape_release(struct shape *s)
{
    char *const texts[] = {s->policies,   s->spec,       s->selector,      s->recommended,
                           s->conditions, s->vpa_meta,   s->labels,        s->annotations,
                           s->owners,     s->containers, s->used,          s->init,
                           s->statuses,   s->limits,     s->pod_conditions};

    for (size_t i = 0; i < VPA_COUNT(texts); i++)
        free(texts[i]);
}

static void build(struct world *w, const struct shape *s)
{
    for (size_t i = 0; i < s->vpas; i++)
        put_vpa(w, s, i, &w->vpas);
    for (size_t i = 0; i < s->pods; i++) {
        put_pod(w, s, i, &w->pods);
        put_usage(s, i, &w->usage);
    }
    for (size_t i = 0; i < (s->own_targets ? s->vpas : !s->elsewhere); i++)
        put_replica_set(i, s->pods, &w->replica_sets);
    for (size_t i = 0; i < s->limit_ranges; i++)
        put_limit_range(w, s, i, &w->limit_ranges);
    for (size_t i = 0; i < s->checkpoints; i++)
        put_checkpoint(s, i, &w->checkpoints);
    for (size_t i = 0; i < s->states; i++)
        put_state(i, s->states, &w->checkpoints);

    struct world alone = *w; /* the counts are of what is stored */
    put_vpa(&alone, s, 0, &w->vpa);
    put_pod(&alone, s, 0, &w->pod);
}

bool world_build(struct world *world, const char *field, size_t n)
{
    struct vpa_buf *all[9];
    size_t i = 0;

    *world = (struct world){0};
    while (i < VPA_COUNT(fields) && strcmp(fields[i].name, field) != 0)
        i++;
    if (i == VPA_COUNT(fields))
        return false;

    struct shape shape = {.vpas = 1, .pods = 4, .limit_ranges = 1};
    fields[i].fill(&shape, n);
    for (struct vpa_buf *const *b = buffers_of(world, all); *b; b++)
        vpa_buf_init(*b, TEXT_MAX);
    build(world, &shape);
    for (struct vpa_buf *const *b = buffers_of(world, all); *b; b++)
        to_json(*b);
    shape_release(&shape);
    return true;
}

void world_release(struct world *world)
{
    struct vpa_buf *all[9];

    for (struct vpa_buf *const *b = buffers_of(world, all); *b; b++)
        vpa_buf_release(*b);
}
