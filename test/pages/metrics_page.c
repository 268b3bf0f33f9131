/*
 * Prints docs/metrics.md from the tables of the three daemons:
 *
 *     build/release/bin/metrics_page > docs/metrics.md
 *
 * The test check_metrics_page fails when the page is stale.
 */
#include <stdio.h>
#include <string.h>

#include "admission/meters.h"
#include "recommender/metrics.h"
#include "updater/meters.h"
#include "vpa/base/math.h"
#include "vpa/base/str.h"
#include "vpa/daemon/daemon.h"

static const char head[] =
    "# Metrics\n\n"
    "Generated from the daemons' own tables (`build/release/bin/metrics_page > docs/metrics.md`);\n"
    "`check_metrics_page` fails when this page is stale. Each daemon serves `/metrics` on its "
    "plain\n"
    "listener (`--address`). Names, labels and buckets of upstream's families are upstream's to "
    "the\n"
    "letter (golden set `recommender_metrics`, `test_metrics`); families of our own are marked.\n\n"
    "- The form is Prometheus' text, as upstream's. OpenMetrics 1.0 goes to clients that accept it "
    "and\n"
    "  do not accept `text/plain`; Prometheus names both and gets the text, so that no series "
    "changes\n"
    "  its labels when a cluster switches (`le=\"1\"`, not `\"1.0\"`). A counter whose name lacks\n"
    "  `_total` keeps its name there and is of type `unknown`.\n"
    "- `Accept-Encoding: gzip` gives a compressed answer; `name[]=FAMILY` (repeatable) only these\n"
    "  families.\n"
    "- A family of upstream's with labels appears with its first series, as upstream's do; one\n"
    "  without labels is there from the start. Families of our own are there from the start with\n"
    "  0, one series for each word that is known, so that `increase()` sees the first event; "
    "where\n"
    "  a label names an object or a server, with a series whose names are empty (scenario\n"
    "  `families`).\n"
    "- `process_*` and `promhttp_*` are those of Prometheus' client library.\n";

/* Families that upstream has too. */
static const char *const upstream[] = {"vpa_quality_",
                                       "vpa_resources_get_resources_count",
                                       "vpa_admission_controller_admission_",
                                       "vpa_admission_controller_execution_latency_seconds",
                                       "vpa_recommender_vpa_objects_count",
                                       "vpa_recommender_recommendation_latency_seconds",
                                       "vpa_recommender_execution_latency_seconds",
                                       "vpa_recommender_aggregate_container_states_count",
                                       "vpa_recommender_metric_server_responses",
                                       "vpa_recommender_prometheus_client_",
                                       "vpa_updater_controlled_pods_total",
                                       "vpa_updater_evictable_pods_total",
                                       "vpa_updater_evicted_pods_total",
                                       "vpa_updater_vpas_with_",
                                       "vpa_updater_failed_eviction_attempts_total",
                                       "vpa_updater_failed_in_place_update_attempts_total",
                                       "vpa_updater_in_place_",
                                       "vpa_updater_execution_latency_seconds"};

static const char *origin(const char *name)
{
    for (size_t i = 0; i < VPA_COUNT(upstream); i++)
        if (vpa_str_starts_with(name, upstream[i]))
            return "upstream";
    return "Plumb";
}

static void print_bounds(const struct vpa_metric *m)
{
    char text[VPA_DOUBLE_TEXT_MAX];

    printf("%s Buckets:", vpa_str_ends_with(m->help, ".") ? "" : ".");
    for (size_t i = 0; i < m->bound_count; i++) {
        vpa_double_format_go(m->bounds[i], text);
        printf("%s %s", i ? "," : "", text);
    }
    printf(".");
}

static void print_metric(const struct vpa_metric *m)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};

    printf("| `%s` | %s | ", m->name, kinds[m->kind]);
    for (size_t i = 0; i < VPA_METRIC_LABELS_MAX && m->labels[i]; i++)
        printf("%s`%s`", i ? ", " : "", m->labels[i]);
    printf(" | %s | ", origin(m->name));
    for (const char *c = m->help; *c; c++)
        printf(*c == '|' ? "\\|" : "%c", *c);
    if (m->bound_count > 0)
        print_bounds(m);
    printf(" |\n");
}

static void print_head(const char *title)
{
    printf("\n## %s\n\n| family | type | labels | whose | meaning |\n|---|---|---|---|---|\n",
           title);
}

static void print_table(const char *title, struct vpa_metric *const *table, size_t count)
{
    print_head(title);
    for (size_t i = 0; i < count; i++)
        print_metric(table[i]);
}

int main(void)
{
    size_t count;
    struct vpa_metric *const *table = recommender_metrics_table(&count);

    fputs(head, stdout);
    print_head("Every daemon");
    for (size_t i = 0; vpa_daemon_metric(i); i++)
        print_metric(vpa_daemon_metric(i));
    print_table("vpa-recommender", table, count);
    print_table("vpa-updater", updater_metrics, updater_metric_count);
    print_table("vpa-admission-controller", admission_metrics, admission_metric_count);
    return 0;
}
