/*
 * Objects for benchmarks, made without the request path: namespaces, nodes, Deployments with their
 * ReplicaSets and running pods, VPAs, checkpoints when asked for, and metrics.k8s.io answered from
 * the pods themselves with usage that wanders from minute to minute.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan {
    long vpas, pods, containers, namespaces, checkpoints, metrics, nodes, recommended;
    char mode[32];
};

static int read_plan(const char *spec, struct plan *p, struct vpa_error *err)
{
    static const char *const names[] = {"vpas",        "pods-per-vpa", "containers", "namespaces",
                                        "checkpoints", "metrics",      "nodes",      "recommended"};
    long *const fields[] = {&p->vpas,        &p->pods,    &p->containers, &p->namespaces,
                            &p->checkpoints, &p->metrics, &p->nodes,      &p->recommended};
    vpa_auto_free char *copy = vpa_xstrdup(spec);
    char *rest = copy, *part;

    while ((part = strsep(&rest, ","))) {
        char *eq = strchr(part, '=');
        bool known = false;
        if (!eq)
            return vpa_fail(err, VPA_INVALID, "--generate: %s", part);
        *eq = 0;
        if (!strcmp(part, "mode")) {
            snprintf(p->mode, sizeof(p->mode), "%s", eq + 1);
            continue;
        }
        for (size_t i = 0; i < VPA_COUNT(names); i++)
            if (!strcmp(part, names[i])) {
                *fields[i] = strtol(eq + 1, NULL, 10);
                known = true;
            }
        if (!known)
            return vpa_fail(err, VPA_INVALID, "--generate: unknown word %s", part);
    }
    if (p->vpas < 0 || p->vpas > 100000 || p->pods < 0 || p->pods > 1000 || p->containers < 1 ||
        p->containers > 20 || p->namespaces < 1)
        return vpa_fail(err, VPA_INVALID, "--generate: a number is out of range");
    return 0;
}

struct maker {
    struct sim *sim;
    struct plan plan;
    struct vpa_arena a; /* of one object */
    const char *now;
};

static void put(struct maker *m, const char *group, const char *plural, const char *json)
{
    struct collection *c = types_find(&m->sim->types, group, "v1", plural)->store;
    store_put(&m->sim->store, c, &m->a, jv_lit(&m->a, json));
}

/* A status that asks for five times the requests of the pods. */
static const char *recommended(struct maker *m)
{
    const char *list = "";

    for (long i = 0; i < m->plan.containers; i++)
        list = vpa_arena_printf(
            &m->a,
            "%s%s{\"containerName\":\"c%ld\",\"target\":{\"cpu\":\"500m\",\"memory\":\"640Mi\"},"
            "\"lowerBound\":{\"cpu\":\"400m\",\"memory\":\"512Mi\"},"
            "\"upperBound\":{\"cpu\":\"600m\",\"memory\":\"768Mi\"}}",
            list, i ? "," : "", i);
    return vpa_arena_printf(&m->a,
                            ",\"status\":{\"recommendation\":{\"containerRecommendations\":[%s]},"
                            "\"conditions\":[{\"type\":\"RecommendationProvided\","
                            "\"status\":\"True\",\"lastTransitionTime\":\"%s\"}]}",
                            list, m->now);
}

static const char *meta(struct maker *m, const char *ns, const char *name, const char *more)
{
    return vpa_arena_printf(
        &m->a, "\"metadata\":{\"name\":\"%s\"%s%s%s,\"uid\":\"%s\",\"creationTimestamp\":\"%s\"%s}",
        name, *ns ? ",\"namespace\":\"" : "", ns, *ns ? "\"" : "", new_uid(&m->a), m->now, more);
}

static const char *owner(struct maker *m, const char *kind, const char *name, const char *uid)
{
    return vpa_arena_printf(&m->a,
                            ",\"ownerReferences\":[{\"apiVersion\":\"apps/"
                            "v1\",\"kind\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":"
                            "true,\"blockOwnerDeletion\":true}]",
                            kind, name, uid);
}

static const char *containers(struct maker *m)
{
    const char *out = "";

    for (long i = 0; i < m->plan.containers; i++)
        out = vpa_arena_printf(&m->a,
                               "%s%s{\"name\":\"c%ld\",\"image\":\"img.example/"
                               "c:1\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
                               "\"128Mi\"}},\"terminationMessagePath\":\"/dev/"
                               "termination-log\",\"terminationMessagePolicy\":\"File\","
                               "\"imagePullPolicy\":\"IfNotPresent\"}",
                               out, i ? "," : "", i);
    return out;
}

static const char *statuses(struct maker *m)
{
    const char *out = "";

    for (long i = 0; i < m->plan.containers; i++)
        out = vpa_arena_printf(
            &m->a,
            "%s%s{\"name\":\"c%ld\",\"ready\":true,\"restartCount\":0,\"image\":\"img.example/"
            "c:1\",\"imageID\":\"\",\"started\":true,\"state\":{\"running\":{\"startedAt\":\"%s\"}}"
            ",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}},"
            "\"allocatedResources\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"}}",
            out, i ? "," : "", i, m->now);
    return out;
}

static void make_pods(struct maker *m, const char *ns, long n, const char *set, const char *uid)
{
    for (long i = 0; i < m->plan.pods; i++) {
        const char *name = vpa_arena_printf(&m->a, "%s-%05ld", set, i);
        const char *more = vpa_arena_printf(&m->a,
                                            ",\"labels\":{\"app\":\"app-%ld\",\"pod-template-"
                                            "hash\":\"5d4f8c7b9d\"}%s,\"generation\":1",
                                            n, owner(m, "ReplicaSet", set, uid));
        put(m, "", "pods",
            vpa_arena_printf(
                &m->a,
                "{%s,\"spec\":{\"containers\":[%s],\"restartPolicy\":\"Always\","
                "\"terminationGracePeriodSeconds\":30,\"nodeName\":\"node-%ld\",\"schedulerName\":"
                "\"default-scheduler\",\"serviceAccountName\":\"default\"},"
                "\"status\":{\"phase\":\"Running\",\"qosClass\":\"Burstable\",\"startTime\":\"%s\","
                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"%"
                "s\"}],\"containerStatuses\":[%s]}}",
                meta(m, ns, name, more), containers(m), (n * m->plan.pods + i) % m->plan.nodes,
                m->now, m->now, statuses(m)));
    }
}

static void make_workload(struct maker *m, long n)
{
    struct vpa_arena *a = &m->a;
    const char *ns = vpa_arena_printf(a, "ns-%ld", n % m->plan.namespaces),
               *name = vpa_arena_printf(a, "app-%ld", n),
               *set = vpa_arena_printf(a, "%s-5d4f8c7b9d", name), *uid = new_uid(a),
               *set_uid = new_uid(a);
    const char *labels = vpa_arena_printf(a, "{\"app\":\"%s\"}", name);
    const char *template = vpa_arena_printf(
        a, "{\"metadata\":{\"labels\":%s},\"spec\":{\"containers\":[%s]}}", labels, containers(m));

    put(m, "apps", "deployments",
        vpa_arena_printf(a,
                         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\","
                         "\"creationTimestamp\":\"%s\",\"generation\":1,\"labels\":%s},\"spec\":{"
                         "\"replicas\":%ld,\"selector\":{\"matchLabels\":%s},\"template\":%s},"
                         "\"status\":{\"replicas\":%ld,\"readyReplicas\":%ld,\"availableReplicas\":"
                         "%ld,\"updatedReplicas\":%ld,\"observedGeneration\":1}}",
                         name, ns, uid, m->now, labels, m->plan.pods, labels, template,
                         m->plan.pods, m->plan.pods, m->plan.pods, m->plan.pods));
    put(m, "apps", "replicasets",
        vpa_arena_printf(
            a,
            "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\","
            "\"creationTimestamp\":\"%s\",\"generation\":1,\"labels\":%s%s},\"spec\":{\"replicas\":"
            "%ld,\"selector\":{\"matchLabels\":%s},\"template\":%s},\"status\":{\"replicas\":%ld,"
            "\"readyReplicas\":%ld,\"observedGeneration\":1}}",
            set, ns, set_uid, m->now, labels, owner(m, "Deployment", name, uid), m->plan.pods,
            labels, template, m->plan.pods, m->plan.pods));
    make_pods(m, ns, n, set, set_uid);
    put(m, "autoscaling.k8s.io", "verticalpodautoscalers",
        vpa_arena_printf(a,
                         "{%s,\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/"
                         "v1\",\"kind\":\"Deployment\",\"name\":\"%s\"},\"updatePolicy\":{"
                         "\"updateMode\":\"%s\"}}%s}",
                         meta(m, ns, name, ",\"generation\":1"), name, m->plan.mode,
                         m->plan.recommended ? recommended(m) : ""));
    for (long i = 0; m->plan.checkpoints && i < m->plan.containers; i++)
        put(m, "autoscaling.k8s.io", "verticalpodautoscalercheckpoints",
            vpa_arena_printf(
                a,
                "{%s,\"spec\":{\"vpaObjectName\":\"%s\",\"containerName\":\"c%ld\"},\"status\":{"
                "\"lastUpdateTime\":\"%s\",\"version\":\"v3\",\"firstSampleStart\":\"%s\","
                "\"lastSampleStart\":\"%s\",\"totalSamplesCount\":10000,"
                "\"cpuHistogram\":{\"referenceTimestamp\":\"%s\",\"totalWeight\":1000.5,"
                "\"bucketWeights\":{\"0\":10000,\"5\":7000,\"12\":500,\"20\":30}},"
                "\"memoryHistogram\":{\"referenceTimestamp\":\"%s\",\"totalWeight\":20.5,"
                "\"bucketWeights\":{\"40\":10000,\"41\":300,\"45\":20}}}}",
                meta(m, ns, vpa_arena_printf(a, "%s-c%ld", name, i), ""), name, i, m->now, m->now,
                m->now, m->now, m->now));
}

int generate(struct sim *sim, const char *spec, struct vpa_error *err)
{
    struct maker m = {.sim = sim,
                      .plan = {.pods = 10,
                               .containers = 1,
                               .namespaces = 10,
                               .metrics = 1,
                               .nodes = 100,
                               .mode = "Off"}};

    if (read_plan(spec, &m.plan, err) < 0)
        return -1;
    if (!types_find(&sim->types, "autoscaling.k8s.io", "v1", "verticalpodautoscalers"))
        return vpa_fail(
            err, VPA_INVALID,
            "--generate needs the definitions of the VPA: --load deploy/vpa-v1-crd-gen.yaml");
    vpa_auto_arena times = {0};
    m.now = sim_now_text(sim, &times);
    pthread_mutex_lock(&sim->store.lock);
    for (long i = 0; i < m.plan.namespaces; i++, vpa_arena_clear(&m.a))
        put(&m, "", "namespaces",
            vpa_arena_printf(
                &m.a,
                "{%s,\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
                meta(&m, "", vpa_arena_printf(&m.a, "ns-%ld", i),
                     vpa_arena_printf(
                         &m.a, ",\"labels\":{\"kubernetes.io/metadata.name\":\"ns-%ld\"}", i))));
    for (long i = 0; i < m.plan.nodes; i++, vpa_arena_clear(&m.a))
        put(&m, "", "nodes",
            vpa_arena_printf(
                &m.a,
                "{%s,\"spec\":{},\"status\":{\"capacity\":{\"cpu\":\"1000\",\"memory\":\"4000Gi\","
                "\"pods\":\"5000\"},\"allocatable\":{\"cpu\":\"1000\",\"memory\":\"4000Gi\","
                "\"pods\":\"5000\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                meta(&m, "", vpa_arena_printf(&m.a, "node-%ld", i),
                     ",\"labels\":{\"kubernetes.io/os\":\"linux\"}")));
    for (long i = 0; i < m.plan.vpas; i++, vpa_arena_clear(&m.a))
        make_workload(&m, i);
    store_compact(&sim->store);
    pthread_mutex_unlock(&sim->store.lock);
    sim->generated_containers = m.plan.metrics ? (unsigned)m.plan.containers : 0;
    vpa_arena_release(&m.a);
    return 0;
}

/* ---- metrics of generated pods ---- */

static uint32_t wander(const char *name, int64_t minute, unsigned container)
{
    uint32_t h = 2166136261u ^ (uint32_t)minute * 2654435761u ^ container * 40503u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ^ h >> 15;
}

static void write_pod(struct vpa_buf *b, const struct version *v, unsigned containers_count,
                      const char *now, int64_t minute)
{
    vpa_buf_puts(b, "{\"metadata\":{\"name\":\"");
    vpa_buf_puts(b, v->name);
    vpa_buf_puts(b, "\",\"namespace\":\"");
    vpa_buf_puts(b, v->ns);
    vpa_buf_puts(b, "\",\"creationTimestamp\":\"");
    vpa_buf_puts(b, now);
    vpa_buf_puts(b, "\",\"labels\":{");
    for (size_t i = 0; i < v->label_count; i++) {
        vpa_buf_puts(b, i ? ",\"" : "\"");
        vpa_buf_puts(b, v->labels[i].key);
        vpa_buf_puts(b, "\":\"");
        vpa_buf_puts(b, v->labels[i].value);
        vpa_buf_putc(b, '"');
    }
    vpa_buf_puts(b, "}},\"timestamp\":\"");
    vpa_buf_puts(b, now);
    vpa_buf_puts(b, "\",\"window\":\"15s\",\"containers\":[");
    for (unsigned i = 0; i < containers_count; i++) {
        uint32_t x = wander(v->name, minute, i);
        vpa_buf_printf(b, "%s{\"name\":\"c%u\",\"usage\":{\"cpu\":\"%un\",\"memory\":\"%uKi\"}}",
                       i ? "," : "", i, 20000000 + x % 200000000, 65536 + (x >> 8) % 131072);
    }
    vpa_buf_puts(b, "]}");
}

/* GET /apis/metrics.k8s.io/v1beta1/[namespaces/NS/]pods; 0 when the request is another one. */
int handle_generated_metrics(struct ctx *c)
{
    struct vpa_buf *b = &c->res->body;
    struct version **items;
    size_t count;
    bool comma = false;

    if (!c->sim->generated_containers || strcmp(c->group, "metrics.k8s.io") != 0)
        return 0;
    if (!*c->resource || strcmp(c->resource, "pods") != 0 || *c->name)
        return 0;
    const char *now = sim_now_text(c->sim, c->a);
    int64_t minute = (int64_t)(sim_now(c->sim) / VPA_MINUTE);
    sim_lock(c);
    c->type = types_find(&c->sim->types, "", "v1", "pods");
    struct selector *selector;
    if (selector_read(c, &selector) < 0)
        return -1;
    int rc = store_snapshot(c->type->store, c->ns, 0, &items, &count);
    sim_unlock(c);
    if (rc < 0)
        return -1;
    vpa_buf_puts(b, "{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/"
                    "v1beta1\",\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < count; i++) {
        if (selector_matches(selector, items[i])) {
            if (comma)
                vpa_buf_putc(b, ',');
            comma = true;
            write_pod(b, items[i], c->sim->generated_containers, now, minute);
        }
        version_unref(items[i]);
    }
    vpa_buf_puts(b, "]}\n");
    free(items);
    c->res->status = 200;
    return 1;
}
