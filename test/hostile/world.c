#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "shape.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/base/time.h"

#define OWN_NAMES 20

#define CHECKPOINTS_FROM 1772359200 /* 2026-03-01T10:00:00Z, a second after the other */

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
                                  s->own_targets || s->own_selectors || away ? i : 0);

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
    vpa_auto_free char *pattern = vpa_xprintf("<{'name':'c%zu-#'}>", i);
    vpa_auto_free char *named = s->own_names ? expand(pattern, OWN_NAMES) : NULL;

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

static void put_replica_set(const struct shape *s, size_t i, struct vpa_buf *out)
{
    vpa_auto_free char *own = s->own_selectors ? vpa_xprintf("'own':'o%zu',", i) : vpa_xstrdup("");

    vpa_buf_printf(out,
                   "%s{'metadata':{'name':'rs%zu','namespace':'n'},'spec':{'replicas':%zu,"
                   "'selector':{'matchLabels':{%s'app':'w'}}}}",
                   i ? "," : "", i, s->pods, own);
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

static void build(struct world *w, const struct shape *s)
{
    for (size_t i = 0; i < s->vpas; i++)
        put_vpa(w, s, i, &w->vpas);
    for (size_t i = 0; i < s->pods; i++) {
        put_pod(w, s, i, &w->pods);
        put_usage(s, i, &w->usage);
    }
    bool own_sets = s->own_targets || s->own_selectors;

    for (size_t i = 0; i < (own_sets ? s->vpas : !s->elsewhere); i++)
        put_replica_set(s, i, &w->replica_sets);
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
    struct shape shape;

    *world = (struct world){0};
    if (!shape_init(&shape, field, n))
        return false;
    for (struct vpa_buf *const *b = buffers_of(world, all); *b; b++)
        vpa_buf_init(*b, TEXT_MAX);
    build(world, &shape);
    world->memory_saver = shape.memory_saver;
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
