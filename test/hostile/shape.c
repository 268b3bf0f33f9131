/* The fields that can be long, and what each makes of the world. */
#include "shape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "world.h"

static void put_repeated(struct vpa_buf *buf, size_t n, const char *pattern, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            vpa_buf_putc(buf, ',');
        for (const char *c = pattern; c < pattern + len; c++) {
            if (*c == '#')
                vpa_buf_printf(buf, "%zu", i);
            else
                vpa_buf_putc(buf, *c);
        }
    }
}

char *expand(const char *text, size_t n)
{
    struct vpa_buf buf;

    vpa_buf_init(&buf, TEXT_MAX);
    while (*text) {
        size_t plain = strcspn(text, "<");
        vpa_buf_append(&buf, text, plain);
        text += plain;
        if (*text == '<') {
            size_t len = strcspn(++text, ">");
            put_repeated(&buf, n, text, len);
            text += len + 1;
        }
    }
    vpa_buf_puts(&buf, "");
    return vpa_buf_take(&buf);
}

/* ---- fields ---- */

/* Numbers of objects: how long the field is, and the side of a square of 16 times as many. */
#define N SIZE_MAX
#define SIDE (SIZE_MAX - 1)

#define CONTAINERS "<{'name':'c#','resources':{'requests':{'cpu':'1'}}}>"
#define STATUSES "<{'name':'c#','restartCount':0}>"
#define USED "<{'name':'c#','usage':{'cpu':'100m','memory':'100Mi'}}>"
#define TARGETS "<{'containerName':'c#','target':{'cpu':'2'}}>"
#define MANY_CONTAINERS .containers = CONTAINERS, .used = USED, .recommended = TARGETS
#define LABELS "<'l#':'v'>"
#define INIT "<{'name':'i#'}>"
#define SAME "{'name':'c0','resources':{'requests':{'cpu':'1'}}}"
#define BOOST "'startupBoost':{'cpu':{'type':'Factor','factor':2}}"
#define BOOSTED(C) "'vpaCpuStartupBoost/" C "':'{\\'requests\\':{\\'cpu\\':\\'500m\\'}}'"
#define IN_PLACE "'updatePolicy':{'updateMode':'InPlaceOrRecreate'}"

static const struct {
    const char *name;
    struct shape shape; /* texts as expand takes them; 0 is the usual number */
} fields[] = {
    {"policies-empty", {.policies = "<{}>"}},
    {"policies-named", {.policies = "<{'containerName':'c#'}>"}},
    {"policies-equal", {.policies = "<{'containerName':'c','mode':'Auto'}>"}},
    /* Many containers, a policy and a recommendation for each. */
    {"policies-and-containers",
     {.policies = "<{'containerName':'c#','maxAllowed':{'cpu':'2'}}>",
      .containers = CONTAINERS,
      .recommended = "<{'containerName':'c#','target':{'cpu':'500m'}}>",
      .used = USED,
      .statuses = STATUSES}},
    {"controlled-resources", {.policies = "{'containerName':'*','controlledResources':[<'r#'>]}"}},
    {"controlled-resources-equal",
     {.policies = "{'containerName':'*','controlledResources':[<'cpu'>]}"}},
    {"min-allowed", {.policies = "{'containerName':'*','minAllowed':{<'r#':'1'>}}"}},
    {"min-and-max-allowed",
     {.policies = "{'containerName':'*','minAllowed':{<'r#':'2'>},'maxAllowed':{<'r#':'1'>}}"}},
    {"eviction-requirements",
     {.spec = "'updatePolicy':{'updateMode':'Recreate','evictionRequirements':[<{'resources':['cpu'"
              "],'changeRequirement':'TargetHigherThanRequests'}>]}"}},
    {"recommenders", {.spec = "'recommenders':[<{'name':'default'}>]"}},
    {"match-labels", {.selector = "'matchLabels':{<'l#':'v'>}", .labels = LABELS}},
    {"match-expressions",
     {.selector = "'matchExpressions':[<{'key':'l#','operator':'In','values':['u','v']}>]",
      .labels = LABELS}},
    {"match-values",
     {.selector = "'matchExpressions':[{'key':'app','operator':'In','values':[<'v#'>,'w']}]"}},
    {"match-values-bad",
     {.selector = "'matchExpressions':[{'key':'app','operator':'In','values':[<'-#-'>]}]"}},
    {"recommended-containers", {.recommended = TARGETS}},
    {"recommended-resources", {.recommended = "{'containerName':'c0','target':{<'r#':'1'>}}"}},
    {"conditions", {.conditions = "<{'type':'T#','status':'True'}>"}},
    {"vpa-annotations",
     {MANY_CONTAINERS,
      .vpa_meta = "'annotations':{<'vpa-post-processor.kubernetes.io/c#_integerCPU':'true'>},"}},
    {"containers", {MANY_CONTAINERS}},
    {"containers-empty", {.containers = "<{}>"}},
    {"init-containers", {.init = INIT}},
    {"containers-and-init", {MANY_CONTAINERS, .init = INIT}},
    {"container-statuses", {.statuses = "<{'name':'c#','resources':{'requests':{'cpu':'2'}}}>"}},
    {"pod-conditions", {.pod_conditions = "<{'type':'T#','status':'True'}>"}},
    {"env", {.containers = "{'name':'c0','env':[<{'name':'E#','value':'v'}>]}"}},
    {"requests", {.containers = "{'name':'c0','resources':{'requests':{<'r#':'1'>}}}"}},
    {"labels", {.labels = LABELS}},
    {"annotations", {.annotations = "<'a#':'v'>"}},
    {"boost-annotations", {.annotations = "<'vpaCpuStartupBoost/c#':'{}'>"}},
    /* Each container with the mark of a boost that is over. */
    {"boosted-containers",
     {.spec = IN_PLACE, .annotations = "<" BOOSTED("c#") ">", .containers = CONTAINERS}},
    {"boost-marker-resources",
     {.spec = IN_PLACE,
      .annotations = "'vpaCpuStartupBoost/c0':'{\\\'requests\\\':{<\\\'r#\\\':\\\'1\\\'>}}'"}},
    /* Looked at for each container that has the name. */
    {"boost-marker-long",
     {.spec = BOOST,
      .annotations = "'vpaCpuStartupBoost/c0':'{\\\'x\\\':[<0>]}'",
      .containers = SAME "," SAME "," SAME}},
    /* All boosted already, as the one marker says. */
    {"boosts-of-one-name",
     {.spec = BOOST,
      .annotations = BOOSTED("c0"),
      .containers = "<{'name':'c0','resources':{'requests':{'cpu':'4'}}}>"}},
    /* Each has the phrases of all. */
    {"containers-of-one-name",
     {.containers = "<{'name':'c0','resources':{'limits':{'cpu':'1'}}}>"}},
    {"resources-of-one-name",
     {.spec = BOOST,
      .containers = "<" SAME ">",
      .recommended = "{'containerName':'c0','target':{'cpu':'1',<'r#':'1'>}}"}},
    {"observed-containers",
     {.annotations = "'vpaObservedContainers':'<c#>'", .statuses = STATUSES}},
    /* As many names as containers, each of which an action is explained by. */
    {"observed-and-containers",
     {MANY_CONTAINERS, .annotations = "'vpaObservedContainers':'c0,< c#>'", .statuses = STATUSES}},
    {"owner-references", {.owners = "<{'apiVersion':'v1','kind':'K','name':'o#','uid':'#'}>"}},
    {"limit-range-items", {.limits = "<{'type':'Container','max':{'cpu':'8'}}>"}},
    {"limit-range-resources", {.limits = "{'type':'Container','max':{<'r#':'1'>}}"}},
    {"limit-ranges", {.limit_ranges = N}},
    {"checkpoints", {.checkpoints = N}},
    /* Of another algorithm. */
    {"stored-states", {.states = N}},
    /* Of containers that hardly a pod has. */
    {"checkpoints-and-pods", {.checkpoints = N, .pods = N}},
    {"checkpoints-and-label-sets", {.checkpoints = N, .pods = N, .own_labels = true}},
    /* By their names those of the one and the other VPA follow each other. */
    {"checkpoints-in-turns", {.checkpoints = N, .pods = N, .vpas = 2}},
    /* Under other names, each newer than the one before. */
    {"checkpoints-of-one-container", {.checkpoints = N, .pods = N, .other_names = true}},
    {"vpas", {.vpas = N, .own_targets = true}},
    {"vpas-on-one-target", {.vpas = N}},
    {"vpas-selecting", {.vpas = N, .selecting = true}},
    {"vpas-elsewhere", {.vpas = N, .elsewhere = true}},
    /* Each pod asks a selector that names as many values as there are pods. */
    {"pods-and-values",
     {.pods = N,
      .selector = "'matchExpressions':[{'key':'app','operator':'NotIn','values':[<'#w'>]}]"}},
    /* Of another recommender, matching the same pods by labels. */
    {"vpas-foreign", {.vpas = N, .selecting = true, .spec = "'recommenders':[{'name':'another'}]"}},
    /* n links between VPAs and label sets, each of which matches all of the others. */
    {"links", {.vpas = SIDE, .pods = SIDE, .own_labels = true}},
    {"pods", {.pods = N}},
    {"label-sets", {.pods = N, .own_labels = true}},
    /* Each VPA with a selector that is new where there are many label sets. */
    {"vpas-and-label-sets",
     {.pods = N, .own_labels = true, .vpas = N, .own_selectors = true, .memory_saver = true}},
    /* Of containers that no other pod has. */
    {"pods-of-own-names", {.pods = N, .own_names = true}},
};

static size_t count_of(size_t rule, size_t preset, size_t n)
{
    size_t side = 1;

    if (rule == N)
        return n;
    if (rule != SIDE)
        return rule ? rule : preset;
    while ((side + 1) * (side + 1) <= 16 * n)
        side++;
    return side;
}

const char *world_field(size_t i)
{
    return i < VPA_COUNT(fields) ? fields[i].name : NULL;
}

bool world_field_counts_objects(size_t i)
{
    const struct shape *s = &fields[i].shape;

    return s->vpas >= SIDE || s->pods >= SIDE || s->limit_ranges >= SIDE ||
           s->checkpoints >= SIDE || s->states >= SIDE;
}

bool shape_init(struct shape *s, const char *field, size_t n)
{
    size_t i = 0;

    while (i < VPA_COUNT(fields) && strcmp(fields[i].name, field) != 0)
        i++;
    if (i == VPA_COUNT(fields))
        return false;
    *s = fields[i].shape;
    s->vpas = count_of(s->vpas, 1, n);
    s->pods = count_of(s->pods, 4, n);
    s->limit_ranges = count_of(s->limit_ranges, 1, n);
    s->checkpoints = count_of(s->checkpoints, 0, n);
    s->states = count_of(s->states, 0, n);
    for (size_t k = 0; k < SHAPE_TEXTS; k++)
        if (s->texts[k])
            s->texts[k] = s->owned[k] = expand(s->texts[k], n);
    return true;
}

void shape_release(struct shape *s)
{
    for (size_t k = 0; k < SHAPE_TEXTS; k++)
        free(s->owned[k]);
}
