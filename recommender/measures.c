/*
 * A sample adds to plain sums, found by the place of its algorithm and of its VPA in arrays; the
 * metrics, whose series are found by their labels, hear of them once per pass.
 */
#include "measures.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"
#include "vpa/model/cluster_learners.h"
#include "vpa/model/measure.h"

#define TOTAL "vpa_recommender_measure_"
#define SINGLE "vpa_recommender_vpa_measure_"

/* The five counters that the totals and the VPAs have alike. */
enum counter { RECOMMENDED, USED, SERVED, OOMS, CHANGES, COUNTERS };

static struct vpa_metric totals[COUNTERS] = {
    VPA_COUNTER(TOTAL "recommended_total",
                "Sum over usage samples of what was recommended, cores or bytes", "algorithm",
                "resource"),
    VPA_COUNTER(TOTAL "used_total",
                "Sum of usage samples that came to a recommendation, cores or bytes", "algorithm",
                "resource"),
    VPA_COUNTER(TOTAL "served_total",
                "Sum over usage samples of the smaller of usage and recommendation", "algorithm",
                "resource"),
    VPA_COUNTER(TOTAL "ooms_total", "OOM kills of containers with a recommendation", "algorithm",
                "resource"),
    VPA_COUNTER(TOTAL "changes_total", "Targets that differ from the one in the VPA's status",
                "algorithm", "resource"),
};
static struct vpa_metric singles[COUNTERS] = {
    VPA_COUNTER(SINGLE "recommended_total",
                "As the measure of the algorithm, of a VPA of --measure-vpas", "namespace", "vpa",
                "resource"),
    VPA_COUNTER(SINGLE "used_total", "As the measure of the algorithm, of a VPA of --measure-vpas",
                "namespace", "vpa", "resource"),
    VPA_COUNTER(SINGLE "served_total",
                "As the measure of the algorithm, of a VPA of --measure-vpas", "namespace", "vpa",
                "resource"),
    VPA_COUNTER(SINGLE "ooms_total", "As the measure of the algorithm, of a VPA of --measure-vpas",
                "namespace", "vpa", "resource"),
    VPA_COUNTER(SINGLE "changes_total",
                "As the measure of the algorithm, of a VPA of --measure-vpas", "namespace", "vpa",
                "resource"),
};
static struct vpa_metric slack =
    VPA_GAUGE(TOTAL "slack", "Share of what was recommended that was not used, in the last pass",
              "algorithm", "resource");
static struct vpa_metric unserved =
    VPA_GAUGE(TOTAL "unserved", "Share of the usage above the recommendation, in the last pass",
              "algorithm", "resource");

struct vpa_metric *const measures_metrics[MEASURES_METRICS] = {
    &totals[RECOMMENDED], &totals[USED],         &totals[SERVED], &totals[OOMS],
    &totals[CHANGES],     &singles[RECOMMENDED], &singles[USED],  &singles[SERVED],
    &singles[OOMS],       &singles[CHANGES],     &slack,          &unserved,
};

/* What a pass has measured. */
struct sums {
    struct vpa_measure fit;
    double ooms;
    double changes;
};

/* A VPA that is measured by itself. */
struct single {
    const char *ns;
    const char *name;
    struct sums sums[VPA_KINDS];
    bool present; /* in this pass */
    char key[];   /* "namespace/name" and what ns and name point to */
};

struct measures {
    const char *vpas;
    struct sums (*algorithms)[VPA_KINDS]; /* by place in vpa_algorithms() */
    struct vpa_table singles;             /* by key */
    struct single **by_place;             /* during a pass, of the VPAs by place; NULL elements */
    size_t places;
    bool told; /* that there are too many */
};

/* ---- the list ---- */

static bool is_selector(struct vpa_slice piece)
{
    const char *slash = memchr(piece.ptr, '/', piece.len);

    return slash && slash > piece.ptr && slash + 1 < piece.ptr + piece.len &&
           !memchr(slash + 1, '/', piece.len - (size_t)(slash + 1 - piece.ptr)) &&
           (piece.ptr[0] != '*' || (piece.len == 3 && piece.ptr[2] == '*'));
}

int measures_check(const char *vpas, struct vpa_error *err)
{
    const char *rest = vpas;
    struct vpa_slice piece;

    while (*vpas && vpa_str_split(&rest, ',', &piece)) {
        piece = vpa_slice_trim(piece);
        if (!is_selector(piece))
            return vpa_fail(err, VPA_INVALID,
                            "--measure-vpas: \"%.*s\" is neither NAMESPACE/NAME nor NAMESPACE/* "
                            "nor */*",
                            (int)piece.len, piece.ptr);
    }
    return 0;
}

static bool fits(struct vpa_slice part, const char *text)
{
    return vpa_slice_eq(part, "*") || vpa_slice_eq(part, text);
}

static bool is_asked_for(const char *vpas, const char *ns, const char *name)
{
    const char *rest = vpas;
    struct vpa_slice piece;

    while (*vpas && vpa_str_split(&rest, ',', &piece)) {
        piece = vpa_slice_trim(piece);
        size_t len = (size_t)((const char *)memchr(piece.ptr, '/', piece.len) - piece.ptr);
        if (fits((struct vpa_slice){piece.ptr, len}, ns) &&
            fits((struct vpa_slice){piece.ptr + len + 1, piece.len - len - 1}, name))
            return true;
    }
    return false;
}

/* ---- life ---- */

struct measures *measures_new(const char *vpas)
{
    struct measures *m = vpa_xcalloc(1, sizeof(*m));
    size_t count;

    (void)vpa_algorithms(&count);
    m->vpas = vpas;
    m->algorithms = vpa_xcalloc(count, sizeof(*m->algorithms));
    return m;
}

static void end_places(struct measures *m)
{
    free(m->by_place);
    m->by_place = NULL;
    m->places = 0;
}

void measures_free(struct measures *m)
{
    if (!m)
        return;
    VPA_TABLE_RELEASE(&m->singles, free);
    end_places(m);
    free(m->algorithms);
    free(m);
}

/* ---- VPAs ---- */

static struct single *get_single(struct measures *m, const char *ns, const char *name)
{
    vpa_auto_free char *key = vpa_xjoin(ns, '/', name);
    struct single *s = vpa_table_find(&m->singles, key);
    size_t len = strlen(key) + 1;

    if (s)
        return s;
    s = vpa_xcalloc(1, sizeof(*s) + 2 * len);
    memcpy(s->key, key, len);
    memcpy(s->key + len, key, len);
    s->key[len + strlen(ns)] = '\0';
    s->ns = s->key + len;
    s->name = s->ns + strlen(ns) + 1;
    vpa_table_put(&m->singles, s->key, s);
    return s;
}

static void tell_too_many(struct measures *m)
{
    if (!m->told)
        VPA_WARN("More VPAs to measure than are measured one by one, the rest is left out",
                 VPA_KV("most", MEASURES_VPAS_MAX));
    m->told = true;
}

static void drop_series(const struct single *s)
{
    for (size_t c = 0; c < COUNTERS; c++) {
        vpa_metric_remove(&singles[c], s->ns, s->name, VPA_CPU);
        vpa_metric_remove(&singles[c], s->ns, s->name, VPA_MEMORY);
    }
}

/* Those that this pass has not seen go with their series. */
static void drop_absent(struct measures *m)
{
    vpa_auto_free struct single **gone = vpa_xcalloc(m->singles.count + 1, sizeof(struct single *));
    size_t count = 0;
    void *value;

    for (size_t i = 0; vpa_table_next(&m->singles, &i, NULL, &value);) {
        struct single *s = value;
        if (!s->present)
            gone[count++] = s;
        s->present = false;
    }
    for (size_t i = 0; i < count; i++) {
        vpa_table_remove(&m->singles, gone[i]->key);
        drop_series(gone[i]);
        free(gone[i]);
    }
}

void measures_begin_pass(struct measures *m, struct vpa_cluster *c)
{
    size_t count, chosen = 0;

    if (!*m->vpas)
        return;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(c, &count);
    end_places(m);
    m->by_place = vpa_xcalloc(count + 1, sizeof(struct single *));
    m->places = count;
    for (size_t i = 0; i < count; i++) {
        const char *ns = vpa_autoscaler_ns(vpas[i]), *name = vpa_autoscaler_name(vpas[i]);

        if (!is_asked_for(m->vpas, ns, name))
            continue;
        if (chosen++ == MEASURES_VPAS_MAX) {
            tell_too_many(m);
            break;
        }
        m->by_place[i] = get_single(m, ns, name);
        m->by_place[i]->present = true;
    }
    drop_absent(m);
}

/* ---- measuring ---- */

static size_t place_of_algorithm(const struct vpa_autoscaler *v)
{
    const struct vpa_method *method = vpa_autoscaler_method(v);
    size_t count, i = 0;

    if (!method) /* VPA's own is the first */
        return 0;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);
    while (i < count - 1 && all[i] != vpa_method_algorithm(method))
        i++;
    return i;
}

static struct single *single_of(const struct measures *m, const struct vpa_autoscaler *v)
{
    size_t place = m->places > 0 ? vpa_autoscaler_place(v) : 0;

    return place < m->places ? m->by_place[place] : NULL;
}

static double amount(enum vpa_kind kind, vpa_amount a)
{
    return kind == VPA_KIND_CPU ? vpa_amount_to_cores(a) : vpa_amount_to_bytes(a);
}

static void add_sample(struct sums *s, bool is_oom, double recommended, double used)
{
    if (is_oom)
        s->ooms++;
    else
        vpa_measure_add(&s->fit, recommended, &used, 1);
}

void measures_sample(struct measures *m, const struct vpa_autoscaler *v, enum vpa_kind kind,
                     bool is_oom, vpa_amount usage, vpa_amount recommended)
{
    struct single *single = single_of(m, v);

    if (recommended <= 0)
        return;
    add_sample(&m->algorithms[place_of_algorithm(v)][kind], is_oom, amount(kind, recommended),
               amount(kind, usage));
    if (single)
        add_sample(&single->sums[kind], is_oom, amount(kind, recommended), amount(kind, usage));
}

static bool is_change(enum vpa_kind kind, const struct vpa_resource_list *before,
                      const struct vpa_resource_list *after)
{
    const struct vpa_quantity *a = vpa_resource_find(before, vpa_kind_name(kind));
    const struct vpa_quantity *b = vpa_resource_find(after, vpa_kind_name(kind));

    if (!a || !b)
        return false;
    return kind == VPA_KIND_CPU ? vpa_measure_is_change((double)vpa_quantity_milli_value(a),
                                                        (double)vpa_quantity_milli_value(b))
                                : vpa_measure_is_change((double)vpa_quantity_value(a),
                                                        (double)vpa_quantity_value(b));
}

void measures_target(struct measures *m, const struct vpa_autoscaler *v,
                     const struct vpa_recommendation *rec)
{
    const struct vpa_recommendation *stored = &vpa_autoscaler_object(v)->recommendation;
    struct single *single = single_of(m, v);
    size_t algorithm = place_of_algorithm(v);

    for (size_t i = 0; i < rec->container_count; i++) {
        const struct vpa_container_recommendation *now = &rec->containers[i];
        const struct vpa_container_recommendation *before =
            vpa_recommendation_find(stored, now->container_name);
        for (enum vpa_kind k = 0; before && k < VPA_KINDS; k++) {
            if (!is_change(k, &before->target, &now->target))
                continue;
            m->algorithms[algorithm][k].changes++;
            if (single)
                single->sums[k].changes++;
        }
    }
}

/* ---- the metrics ---- */

static bool is_idle(const struct sums *s)
{
    return s->fit.windows <= 0 && s->ooms <= 0 && s->changes <= 0;
}

/* labels: those of the series before the resource, and room for it behind them. */
static void publish(struct vpa_metric *counters, const char *const *labels, enum vpa_kind kind,
                    const struct sums *s)
{
    vpa_metric_add_to(&counters[RECOMMENDED], s->fit.allocated, labels);
    vpa_metric_add_to(&counters[USED], s->fit.used, labels);
    vpa_metric_add_to(&counters[SERVED], s->fit.served, labels);
    if (kind == VPA_KIND_MEMORY)
        vpa_metric_add_to(&counters[OOMS], s->ooms, labels);
    vpa_metric_add_to(&counters[CHANGES], s->changes, labels);
}

static void publish_algorithm(const char *name, enum vpa_kind kind, struct sums *s)
{
    const char *labels[] = {name, vpa_kind_name(kind), NULL};

    if (is_idle(s))
        return;
    publish(totals, labels, kind, s);
    if (s->fit.windows > 0) {
        vpa_metric_set_to(&slack, vpa_measure_slack(&s->fit), labels);
        vpa_metric_set_to(&unserved, vpa_measure_unserved(&s->fit), labels);
    }
    *s = (struct sums){0};
}

static void publish_single(struct single *single, enum vpa_kind kind)
{
    struct sums *s = &single->sums[kind];
    const char *labels[] = {single->ns, single->name, vpa_kind_name(kind), NULL};

    if (is_idle(s))
        return;
    publish(singles, labels, kind, s);
    *s = (struct sums){0};
}

void measures_start(void)
{
    static const struct sums none;
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    for (enum vpa_kind k = 0; k < VPA_KINDS; k++) {
        const char *nobody[] = {"", "", vpa_kind_name(k), NULL};

        publish(singles, nobody, k, &none);
        for (size_t i = 0; i < count; i++) {
            const char *labels[] = {vpa_algorithm_name(all[i]), vpa_kind_name(k), NULL};

            publish(totals, labels, k, &none);
            vpa_metric_set_to(&slack, 0, labels);
            vpa_metric_set_to(&unserved, 0, labels);
        }
    }
}

void measures_end_pass(struct measures *m)
{
    size_t count;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);
    void *value;

    for (size_t i = 0; i < count; i++)
        for (enum vpa_kind k = 0; k < VPA_KINDS; k++)
            publish_algorithm(vpa_algorithm_name(all[i]), k, &m->algorithms[i][k]);
    for (size_t i = 0; vpa_table_next(&m->singles, &i, NULL, &value);)
        for (enum vpa_kind k = 0; k < VPA_KINDS; k++)
            publish_single(value, k);
    end_places(m);
}
