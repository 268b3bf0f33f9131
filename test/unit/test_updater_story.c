/*
 * What passes of the updater leave behind, whole: the requests in their order, events, what the
 * ledger says, lines of the log, and every series of the metrics that is not zero.
 */
#include <stdarg.h>
#include <stdio.h>

#include "updater_fixture.h"
#include "captured_log.h"

#include "vpa/daemon/ledger.h"
#include "vpa/json/json.h"

static struct vpa_ledger *ledger;
static struct vpa_buf told;

static void begin_story(void)
{
    setup();
    capture_log(0);
    ledger = vpa_ledger_new(&(struct vpa_ledger_flags){.memory = VPA_LEDGER_MEMORY});
    vpa_buf_init(&told, TEXT_MAX);
}

static void end_story(void)
{
    teardown();
    vpa_ledger_free(ledger);
    vpa_buf_release(&told);
}

/* Lines that differ only in the pod are one, with how many there were. */
struct lines {
    char *texts[64];
    size_t counts[64], count;
};

static void add_line(struct lines *lines, const char *format, ...) VPA_PRINTF(2, 3);
static void add_line(struct lines *lines, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *p = text; (p = strstr(p, "p00-")); p += 4)
        p[4] = p[5] = '#';
    for (size_t i = 0; i < lines->count; i++)
        if (strcmp(lines->texts[i], text) == 0) {
            lines->counts[i]++;
            return;
        }
    ck_assert_uint_lt(lines->count, VPA_COUNT(lines->texts));
    lines->counts[lines->count] = 1;
    lines->texts[lines->count++] = vpa_xstrdup(text);
}

static void tell_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        vpa_buf_printf(&told, "%zu %s\n", lines->counts[i], lines->texts[i]);
        free(lines->texts[i]);
    }
}

static void tell_calls(void)
{
    for (size_t i = 0; i < server.call_count; i++)
        vpa_buf_printf(&told, "%s ", server.calls[i]);
    vpa_buf_printf(&told, "annotated %zu\n", server.annotated);
}

static const char *text_at(const struct vpa_json *node, const char *path)
{
    return vpa_or_empty(vpa_json_string(vpa_json_at(node, path)));
}

/* Bodies follow each other without a separator. */
static void tell_events(struct vpa_arena *arena)
{
    const char *p = vpa_buf_text(&server.event_bodies);
    struct lines lines = {.count = 0};

    while (p && *p) {
        const char *next = strstr(p + 1, "{\"kind\":\"Event\"");
        const struct vpa_json *e;
        struct vpa_error err;

        ck_assert_int_eq(vpa_json_parse(arena, p, next ? (size_t)(next - p) : strlen(p), &e, &err),
                         0);
        add_line(&lines, "%s %s %s, %s: %s", text_at(e, "type"), text_at(e, "involvedObject.kind"),
                 text_at(e, "involvedObject.name"), text_at(e, "reason"), text_at(e, "message"));
        p = next;
    }
    tell_lines(&lines);
}

static void tell_ledger(struct vpa_arena *arena)
{
    vpa_auto_buf out = {0};
    const struct vpa_json *root;
    struct vpa_error err;

    vpa_buf_init(&out, 2 * VPA_LEDGER_PAGE_MAX);
    ck_assert_int_eq(vpa_ledger_read(ledger, &(struct vpa_ledger_query){0}, &out, &err), 0);
    ck_assert_int_eq(vpa_json_parse(arena, out.data, out.len, &root, &err), 0);
    vpa_json_foreach (e, vpa_json_find(root, "decisions"))
        vpa_buf_printf(&told, "> %s %s%s%s, %s: %s%s\n", text_at(e, "vpa"), text_at(e, "pod"),
                       *text_at(e, "pod") ? " " : "", text_at(e, "decision"), text_at(e, "rule"),
                       text_at(e, "why"), vpa_json_find(e, "inputs") ? " {}" : "");
}

/* Each line from its message on. */
static void tell_log(void)
{
    vpa_auto_free char *all = vpa_xstrdup(logged_text());
    struct lines lines = {.count = 0};
    char *rest = all;

    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        const char *message = strstr(line, "] ");

        add_line(&lines, "%c %s", line[0], message ? message + 2 : line);
    }
    tell_lines(&lines);
}

/* The times of the parts of a pass come last, in one line. */
static void tell_metrics(void)
{
    struct vpa_metrics metrics = {.table = updater_metrics, .count = updater_metric_count};
    static const char times[] = "vpa_updater_execution_latency_seconds_";
    vpa_auto_buf page = {0}, parts = {0};
    char *rest;

    vpa_buf_init(&page, TEXT_MAX);
    vpa_buf_init(&parts, TEXT_MAX);
    vpa_metrics_write(&metrics, VPA_EXPOSITION_TEXT, NULL, 0, &page);
    rest = page.data;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (line[0] == '#' || vpa_str_ends_with(line, " 0") || strstr(line, "_bucket{"))
            continue;
        if (vpa_str_starts_with(line, times))
            vpa_buf_printf(&parts, "%s ", line + strlen(times));
        else if (vpa_str_starts_with(line, "vpa_updater_"))
            vpa_buf_printf(&told, "%s\n", line + strlen("vpa_updater_"));
    }
    vpa_buf_printf(&told, "%s\n", vpa_buf_text(&parts));
}

/* The first line that differs. */
static void compare(const char *name, const char *got, const char *want)
{
    const char *line = got;

    for (size_t i = 0; got[i] && got[i] == want[i]; i++)
        if (got[i] == '\n')
            line = got + i + 1;
    ck_assert_msg(strcmp(got, want) == 0, "%s: %.*s\nis not %.*s", name, (int)strcspn(line, "\n"),
                  line, (int)strcspn(want + (line - got), "\n"), want + (line - got));
}

static void start_with_ledger(void)
{
    start(0);
    updater_env(server.updater)->ledger = ledger;
}

static const char *tell_all(void)
{
    vpa_auto_arena arena = {0};

    updater_flush(server.updater, VPA_MINUTE);
    tell_calls();
    tell_events(&arena);
    tell_ledger(&arena);
    tell_log();
    tell_metrics();
    return vpa_buf_text(&told);
}

#define BOOST "\"startupBoost\":{\"cpu\":{\"durationSeconds\":60}},"
#define MARKER(cpu)                                                                                \
    "\"annotations\":{\"vpaCpuStartupBoost/c\":\"{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu          \
    "\\\"}}\"},"

struct story {
    const char *name;
    const char *mode, *request, *boost, *pod, *policy;
    int pods, refuse, passes;
    bool old, stale;
    double rate; /* 0: none */
    int panic_at;
    const char *left; /* behind */
};

static const struct story stories[] = {
    {.name = "evictions",
     .mode = "Recreate",
     .pods = 10,
     .left = "p00-00/eviction p00-01/eviction p00-02/eviction p00-03/eviction p00-04/eviction "
             "annotated 0\n"
             "5 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource "
             "recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
             "5 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to "
             "apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
             "> v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
             "> v00 p00-01 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
             "> v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
             "> v00 p00-03 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
             "> v00 p00-04 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
             "> v00 p00-05 leave alone, budget: ReplicaSet rs00: 10 of 10 replicas run, 5 may be "
             "missing, 5 are being changed; so it is for 4 more of its VPA's 10 pods {}\n"
             "5 I \"Evicted pod\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu request "
             "1 -> 2: below the lower bound 1500m\"\n"
             "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 10\n"
             "evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 10\n"
             "evicted_pods_total{update_mode=\"Recreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_"
             "size_log2=\"3\"} 5\n"
             "vpas_with_evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 1\n"
             "vpas_with_evicted_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 1\n"
             "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.01 "
             "count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
             "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "evictions, every second refused",
     .mode = "Recreate",
     .pods = 4,
     .refuse = 2,
     .left =
         "p00-00/eviction p00-01/eviction p00-02/eviction annotated 0\n"
         "2 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource "
         "recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "2 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply "
         "resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-01 evict, refused by a PodDisruptionBudget: cpu request 1 -> 2: below the "
         "lower bound 1500m {}\n"
         "> v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-03 leave alone, budget: ReplicaSet rs00: 4 of 4 replicas run, 2 may be "
         "missing, 2 are being changed {}\n"
         "2 I \"Evicted pod\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu request 1 -> "
         "2: below the lower bound 1500m\"\n"
         "1 E \"Failed to evict pod\" err=\"disruption budget\" namespace=\"n\" pod=\"p00-##\"\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 4\n"
         "evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 4\n"
         "evicted_pods_total{update_mode=\"Recreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_"
         "size_log2=\"2\"} 2\n"
         "failed_eviction_attempts_total{reason=\"EvictionError\",update_mode=\"Recreate\",vpa_"
         "name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 1\n"
         "vpas_with_evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 1\n"
         "vpas_with_evicted_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.02 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.02 count{step=\"total\"} 1 \n"},
    {.name = "evictions of pods that are others by now",
     .mode = "Recreate",
     .pods = 3,
     .stale = true,
     .left = "p00-00/eviction p00-01/eviction p00-02/eviction annotated 0\n"
             "> v00 p00-00 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the "
             "lower bound 1500m {}\n"
             "> v00 p00-01 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the "
             "lower bound 1500m {}\n"
             "> v00 p00-02 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the "
             "lower bound 1500m {}\n"
             "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 3\n"
             "evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 3\n"
             "vpas_with_evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 1\n"
             "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.03 "
             "count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
             "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.03 count{step=\"total\"} 1 \n"},
    {.name = "resizes",
     .mode = "InPlaceOrRecreate",
     .pods = 5,
     .left =
         "p00-00/resize p00-01/resize annotated 2\n"
         "2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu "
         "request 1 -> 2: below the lower bound 1500m\n"
         "2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in "
         "place: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-00 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-01 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-02 leave alone, budget: ReplicaSet rs00: 5 of 5 replicas run, 2 may be "
         "missing, 2 are being changed; so it is for 2 more of its VPA's 5 pods {}\n"
         "2 I \"Resized pod in place\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu "
         "request 1 -> 2: below the lower bound 1500m\"\n"
         "controlled_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"2\"} 5\n"
         "in_place_updatable_pods_total{vpa_size_log2=\"2\"} 5\n"
         "in_place_updated_pods_total{vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 2\n"
         "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"2\"} 1\n"
         "vpas_with_in_place_updated_pods_total{vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.01 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "refused resizes and evictions",
     .mode = "InPlaceOrRecreate",
     .pods = 2,
     .refuse = 1,
     .left =
         "p00-00/resize p00-01/resize p00-00/eviction p00-01/eviction annotated 0\n"
         "> v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower "
         "bound 1500m {}\n"
         "> v00 p00-00 evict, refused by a PodDisruptionBudget: cpu request 1 -> 2: below the "
         "lower bound 1500m {}\n"
         "2 E \"Failed to resize pod in place\" err=\"disruption budget\" namespace=\"n\" "
         "pod=\"p00-##\"\n"
         "2 E \"Failed to evict pod\" err=\"disruption budget\" namespace=\"n\" pod=\"p00-##\"\n"
         "controlled_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"1\"} 2\n"
         "failed_eviction_attempts_total{reason=\"EvictionError\",update_mode="
         "\"InPlaceOrRecreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"1\"} 2\n"
         "failed_in_place_update_attempts_total{reason=\"InPlaceUpdateError\",vpa_name=\"v00\",vpa_"
         "namespace=\"n\",vpa_size_log2=\"1\"} 2\n"
         "in_place_updatable_pods_total{vpa_size_log2=\"1\"} 2\n"
         "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"1\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.04 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.04 count{step=\"total\"} 1 \n"},
    {.name = "refused resizes",
     .mode = "InPlace",
     .pods = 3,
     .refuse = 1,
     .passes = 2,
     .left = "p00-00/resize p00-01/resize p00-02/resize p00-00/resize p00-01/resize p00-02/resize "
             "annotated 0\n"
             "> v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower "
             "bound 1500m {}\n"
             "6 E \"Failed to resize pod in place\" err=\"disruption budget\" namespace=\"n\" "
             "pod=\"p00-##\"\n"
             "controlled_pods_total{update_mode=\"InPlace\",vpa_size_log2=\"1\"} 3\n"
             "failed_in_place_update_attempts_total{reason=\"InPlaceUpdateError\",vpa_name=\"v00\","
             "vpa_namespace=\"n\",vpa_size_log2=\"1\"} 6\n"
             "in_place_updatable_pods_total{vpa_size_log2=\"1\"} 3\n"
             "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"1\"} 1\n"
             "count{step=\"AdmissionInit\"} 2 sum{step=\"EvictPods\"} 0.02 "
             "count{step=\"EvictPods\"} 2 count{step=\"FilterPods\"} 2 count{step=\"ListPods\"} 2 "
             "count{step=\"ListVPAs\"} 2 sum{step=\"total\"} 0.02 count{step=\"total\"} 2 \n"},
    {.name = "resizes of pods that are others by now",
     .mode = "InPlaceOrRecreate",
     .pods = 2,
     .stale = true,
     .left = "p00-00/resize p00-01/resize annotated 0\n"
             "> v00 p00-00 resize, dropped: it does not fit any more: cpu request 1 -> 2: below "
             "the lower bound 1500m {}\n"
             "> v00 p00-01 resize, dropped: it does not fit any more: cpu request 1 -> 2: below "
             "the lower bound 1500m {}\n"
             "controlled_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"1\"} 2\n"
             "in_place_updatable_pods_total{vpa_size_log2=\"1\"} 2\n"
             "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"1\"} 1\n"
             "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.02 "
             "count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
             "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.02 count{step=\"total\"} 1 \n"},
    {.name = "an old server",
     .mode = "InPlaceOrRecreate",
     .pods = 3,
     .old = true,
     .left =
         "p00-00/resize p00-00/eviction annotated 0\n"
         "1 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource "
         "recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "1 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply "
         "resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower "
         "bound 1500m {}\n"
         "> v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-01 leave alone, budget: ReplicaSet rs00: 3 of 3 replicas run, 1 may be "
         "missing, 1 are being changed; so it is for 1 more of its VPA's 3 pods {}\n"
         "1 E \"Failed to resize pod in place\" err=\"the server could not find the resource\" "
         "namespace=\"n\" pod=\"p00-##\"\n"
         "1 W \"The API server has no pods/resize (Kubernetes before 1.33): pods of mode "
         "InPlaceOrRecreate are evicted, those of mode InPlace and boosted ones stay as they "
         "are\"\n"
         "1 I \"Evicted pod\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu request 1 -> "
         "2: below the lower bound 1500m\"\n"
         "controlled_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"1\"} 3\n"
         "evicted_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_name=\"v00\",vpa_namespace="
         "\"n\",vpa_size_log2=\"1\"} 1\n"
         "failed_in_place_update_attempts_total{reason=\"InPlaceUpdateError\",vpa_name=\"v00\",vpa_"
         "namespace=\"n\",vpa_size_log2=\"1\"} 3\n"
         "in_place_updatable_pods_total{vpa_size_log2=\"1\"} 3\n"
         "vpas_with_evicted_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"1\"} 1\n"
         "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"1\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.02 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.02 count{step=\"total\"} 1 \n"},
    {.name = "an old server without evictions",
     .mode = "InPlace",
     .pods = 3,
     .old = true,
     .passes = 2,
     .left = "p00-00/resize p00-01/resize p00-02/resize annotated 0\n"
             "> v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower "
             "bound 1500m {}\n"
             "> v00 p00-00 leave alone, no-resizes: the API server has no pods/resize (Kubernetes "
             "before 1.33); so it is for 2 more of its VPA's 3 pods {}\n"
             "3 E \"Failed to resize pod in place\" err=\"the server could not find the resource\" "
             "namespace=\"n\" pod=\"p00-##\"\n"
             "1 W \"The API server has no pods/resize (Kubernetes before 1.33): pods of mode "
             "InPlaceOrRecreate are evicted, those of mode InPlace and boosted ones stay as they "
             "are\"\n"
             "controlled_pods_total{update_mode=\"InPlace\",vpa_size_log2=\"1\"} 3\n"
             "failed_in_place_update_attempts_total{reason=\"InPlaceUpdateError\",vpa_name=\"v00\","
             "vpa_namespace=\"n\",vpa_size_log2=\"1\"} 6\n"
             "in_place_updatable_pods_total{vpa_size_log2=\"1\"} 3\n"
             "vpas_with_in_place_updatable_pods_total{vpa_size_log2=\"1\"} 1\n"
             "count{step=\"AdmissionInit\"} 2 sum{step=\"EvictPods\"} 0.01 "
             "count{step=\"EvictPods\"} 2 count{step=\"FilterPods\"} 2 count{step=\"ListPods\"} 2 "
             "count{step=\"ListVPAs\"} 2 sum{step=\"total\"} 0.01 count{step=\"total\"} 2 \n"},
    {.name = "nothing to resize",
     .mode = "InPlace",
     .pods = 2,
     .request = "2",
     .left =
         "annotated 0\n"
         "> v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s "
         "old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}\n"
         "controlled_pods_total{update_mode=\"InPlace\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 "
         "count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 count{step=\"total\"} 1 \n"},
    {.name = "nothing to evict",
     .mode = "Recreate",
     .pods = 2,
     .request = "2",
     .left =
         "annotated 0\n"
         "> v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s "
         "old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 "
         "count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 count{step=\"total\"} 1 \n"},
    {.name = "the deprecated mode",
     .mode = "Auto",
     .pods = 2,
     .request = "2",
     .passes = 3,
     .left =
         "annotated 0\n"
         "> v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s "
         "old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}\n"
         "1 I \"VPA uses the deprecated update mode Auto, use Recreate or InPlaceOrRecreate\" "
         "namespace=\"n\" vpa=\"v00\"\n"
         "controlled_pods_total{update_mode=\"Auto\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 3 count{step=\"EvictPods\"} 3 count{step=\"FilterPods\"} 3 "
         "count{step=\"ListPods\"} 3 count{step=\"ListVPAs\"} 3 count{step=\"total\"} 3 \n"},
    {.name = "boosts that are over",
     .mode = "Off",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .left =
         "p00-00/resize p00-01/resize annotated 2\n"
         "2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu "
         "request 1 -> 500m: its startup boost is over\n"
         "2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in "
         "place: cpu request 1 -> 500m: its startup boost is over\n"
         "> v00 p00-00 unboost, accepted: cpu request 1 -> 500m: its startup boost is over\n"
         "> v00 p00-01 unboost, accepted: cpu request 1 -> 500m: its startup boost is over\n"
         "> v00 leave alone, mode: mode Off: running pods are left alone\n"
         "2 I \"Resized pod in place\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu "
         "request 1 -> 500m: its startup boost is over\"\n"
         "controlled_pods_total{update_mode=\"Off\",vpa_size_log2=\"2\"} 4\n"
         "in_place_updated_pods_total{vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 2\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.01 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "boosts that are over and refused",
     .mode = "Initial",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .refuse = 1,
     .left = "p00-00/resize p00-01/resize annotated 0\n"
             "> v00 p00-00 unboost, refused by the API server: cpu request 1 -> 2: its startup "
             "boost is over\n"
             "> v00 leave alone, mode: mode Initial: only new pods get the recommendation\n"
             "2 E \"Failed to resize pod in place\" err=\"disruption budget\" namespace=\"n\" "
             "pod=\"p00-##\"\n"
             "controlled_pods_total{update_mode=\"Initial\",vpa_size_log2=\"1\"} 2\n"
             "failed_in_place_update_attempts_total{reason=\"UnboostError\",vpa_name=\"v00\",vpa_"
             "namespace=\"n\",vpa_size_log2=\"1\"} 2\n"
             "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.02 "
             "count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
             "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.02 count{step=\"total\"} 1 \n"},
    {.name = "boosts of which only the marker is left",
     .mode = "Off",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("1"),
     .passes = 2,
     .left =
         "annotated 4\n"
         "> v00 leave alone, mode: mode Off: running pods are left alone\n"
         "controlled_pods_total{update_mode=\"Off\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 2 count{step=\"EvictPods\"} 2 count{step=\"FilterPods\"} 2 "
         "count{step=\"ListPods\"} 2 count{step=\"ListVPAs\"} 2 count{step=\"total\"} 2 \n"},
    {.name = "boosts of which only the marker is left in a mode that evicts",
     .mode = "Recreate",
     .pods = 2,
     .boost = BOOST,
     .pod = MARKER("2"),
     .request = "2",
     .passes = 2,
     .left =
         "annotated 4\n"
         "> v00 p00-00 leave alone, boosted: the startup boost of the pod is not over yet; so it "
         "is for 1 more of its VPA's 2 pods {}\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 2 count{step=\"EvictPods\"} 2 count{step=\"FilterPods\"} 2 "
         "count{step=\"ListPods\"} 2 count{step=\"ListVPAs\"} 2 count{step=\"total\"} 2 \n"},
    {.name = "boosts that are over in a mode that evicts",
     .mode = "Recreate",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .left =
         "p00-00/resize p00-01/resize annotated 2\n"
         "2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu "
         "request 1 -> 2: its startup boost is over\n"
         "2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in "
         "place: cpu request 1 -> 2: its startup boost is over\n"
         "> v00 p00-00 unboost, accepted: cpu request 1 -> 2: its startup boost is over\n"
         "> v00 p00-01 unboost, accepted: cpu request 1 -> 2: its startup boost is over\n"
         "> v00 p00-00 leave alone, boosted: the startup boost of the pod is not over yet; so it "
         "is for 3 more of its VPA's 4 pods {}\n"
         "2 I \"Resized pod in place\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu "
         "request 1 -> 2: its startup boost is over\"\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 4\n"
         "in_place_updated_pods_total{vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 2\n"
         "vpas_with_in_place_updated_pods_total{vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 sum{step=\"EvictPods\"} 0.01 count{step=\"EvictPods\"} 1 "
         "count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 "
         "sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "too few replicas",
     .mode = "Recreate",
     .pods = 2,
     .policy = ",\"minReplicas\":3",
     .left =
         "annotated 0\n"
         "> v00 p00-00 leave alone, min-replicas: ReplicaSet rs00 has 2 live pods, minReplicas of "
         "the VPA asks for 3; so it is for 1 more of its VPA's 2 pods {}\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"1\"} 2\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"EvictPods\"} 1 count{step=\"FilterPods\"} 1 "
         "count{step=\"ListPods\"} 1 count{step=\"ListVPAs\"} 1 count{step=\"total\"} 1 \n"},
    {.name = "no token for another eviction",
     .mode = "Recreate",
     .pods = 4,
     .rate = 0.01,
     .left =
         "p00-00/eviction annotated 0\n"
         "1 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource "
         "recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "1 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply "
         "resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-01 leave alone, rate: the limit of updates a second is used up: its turn comes "
         "in a later pass {}\n"
         "> v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "1 I \"Evicted pod\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu request 1 -> "
         "2: below the lower bound 1500m\"\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 4\n"
         "evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"2\"} 4\n"
         "evicted_pods_total{update_mode=\"Recreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_"
         "size_log2=\"2\"} 1\n"
         "failed_eviction_attempts_total{reason=\"EvictionRateLimiterWaitFailed\",update_mode="
         "\"Recreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
         "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "no token for another resize",
     .mode = "InPlaceOrRecreate",
     .pods = 4,
     .rate = 0.01,
     .left =
         "p00-00/resize annotated 1\n"
         "1 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu "
         "request 1 -> 2: below the lower bound 1500m\n"
         "1 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in "
         "place: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-01 leave alone, rate: the limit of updates a second is used up: its turn comes "
         "in a later pass {}\n"
         "> v00 p00-00 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "1 I \"Resized pod in place\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu "
         "request 1 -> 2: below the lower bound 1500m\"\n"
         "controlled_pods_total{update_mode=\"InPlaceOrRecreate\",vpa_size_log2=\"2\"} 4\n"
         "failed_in_place_update_attempts_total{reason=\"InPlaceUpdateRateLimiterWaitFailed\",vpa_"
         "name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 1\n"
         "in_place_updatable_pods_total{vpa_size_log2=\"2\"} 4\n"
         "in_place_updated_pods_total{vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
         "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "no token for another end of a boost",
     .mode = "Off",
     .pods = 4,
     .boost = BOOST,
     .pod = MARKER("500m"),
     .rate = 0.01,
     .left =
         "p00-00/resize annotated 1\n"
         "1 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu "
         "request 1 -> 500m: its startup boost is over\n"
         "1 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in "
         "place: cpu request 1 -> 500m: its startup boost is over\n"
         "> v00 p00-00 unboost, accepted: cpu request 1 -> 500m: its startup boost is over\n"
         "1 I \"Resized pod in place\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu "
         "request 1 -> 500m: its startup boost is over\"\n"
         "controlled_pods_total{update_mode=\"Off\",vpa_size_log2=\"2\"} 4\n"
         "in_place_updated_pods_total{vpa_name=\"v00\",vpa_namespace=\"n\",vpa_size_log2=\"2\"} 1\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
         "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.01 count{step=\"total\"} 1 \n"},
    {.name = "panic in the middle",
     .mode = "Recreate",
     .pods = 8,
     .panic_at = 2,
     .passes = 2,
     .left =
         "p00-00/eviction p00-01/eviction p00-02/eviction p00-03/eviction annotated 0\n"
         "4 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource "
         "recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "4 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply "
         "resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m\n"
         "> v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-01 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         "> v00 p00-03 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}\n"
         ">  do nothing, panic: ConfigMap vpa-panic exists\n"
         "4 I \"Evicted pod\" namespace=\"n\" pod=\"p00-##\" vpa=\"v00\" change=\"cpu request 1 -> "
         "2: below the lower bound 1500m\"\n"
         "1 I \"ConfigMap vpa-panic exists. Skipping update loop\"\n"
         "controlled_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 8\n"
         "evictable_pods_total{update_mode=\"Recreate\",vpa_size_log2=\"3\"} 8\n"
         "evicted_pods_total{update_mode=\"Recreate\",vpa_name=\"v00\",vpa_namespace=\"n\",vpa_"
         "size_log2=\"3\"} 4\n"
         "count{step=\"AdmissionInit\"} 1 count{step=\"FilterPods\"} 1 count{step=\"ListPods\"} 1 "
         "count{step=\"ListVPAs\"} 1 sum{step=\"total\"} 0.01 count{step=\"total\"} 2 \n"},
    {.name = "the mode Off",
     .mode = "Off",
     .pods = 2,
     .left = "annotated 0\n"
             "> v00 leave alone, mode: mode Off: running pods are left alone\n"
             "1 I \"No VPA objects to process\"\n"
             "count{step=\"ListVPAs\"} 1 count{step=\"total\"} 1 \n"},
};

START_TEST(is_left_behind_whole)
{
    const struct story *s = &stories[_i];

    server.mode = s->mode;
    server.request = s->request ? s->request : "1";
    server.boost = s->boost ? s->boost : "";
    server.pod = s->pod ? s->pod : "";
    server.policy = s->policy ? s->policy : "";
    server.pods_per_vpa = s->pods;
    server.refuse = s->refuse;
    server.old = s->old;
    server.stale = s->stale;
    server.panic_at = s->panic_at;
    if (s->rate != 0)
        server.config.eviction_rate_limit = s->rate;
    start_with_ledger();
    for (int i = 0; i < (s->passes ? s->passes : 1); i++) {
        updater_pass(server.updater);
        vpa_loop_pump(server.loop, VPA_MINUTE);
    }
    compare(s->name, tell_all(), s->left);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("updater_story");
    TCase *tc = tcase_create("story");

    tcase_add_checked_fixture(tc, begin_story, end_story);
    tcase_add_loop_test(tc, is_left_behind_whole, 0, VPA_COUNT(stories));
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
