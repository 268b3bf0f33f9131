/*
 * Which VPA controls a pod: by the webhook's rule, asked of the daemon's snapshot, and step by step
 * (owner walk, selectors) as the updater asks.
 *
 * Upstream's webhook asks the API server while it answers (scaleGets); ours answers from what it
 * knows and has the rest fetched for the next time (docs/compatibility.md). So it is asked again
 * until nothing is being fetched any more, and the number of requests is not compared.
 */
#include <stdlib.h>
#include <string.h>

#include "admission.h"
#include "golden.h"
#include "memory_cluster.h"
#include "policy_cases.h"
#include "vpa/base/file.h"
#include "vpa/net/tls.h"

#define NOW 1780000000
#define ROUNDS 8 /* longer than any chain of owners that must be fetched one after the other */

static struct vpa_arena discovery_arena;
static const struct vpa_json *discovery;

static void begin(void)
{
    static const char path[] = GOLDEN_PROJECT "/test/golden/data/discovery.json";
    struct vpa_error err;
    char *text;
    size_t len;

    memory_cluster_quiet();
    if (vpa_read_file(path, 1 << 20, &text, &len, &err) < 0)
        return;
    if (vpa_json_parse(&discovery_arena, text, len, &discovery, &err) < 0)
        discovery = NULL;
    free(text);
}

static void end(void)
{
    vpa_arena_release(&discovery_arena);
}

/* Error texts with wording of Go's parsers are compared as far as the wording begins. */
static void compare_error(struct golden_case *c, const char *label, const struct vpa_json *want,
                          const char *got)
{
    static const char *const free_parts[] = {"couldn't parse the selector string", "no kind \"",
                                             "unable to parse requirement"};
    const char *text = vpa_json_string(want);

    if (GOLDEN_OUT(c, "freeErrorText") && text && got) {
        for (size_t i = 0; i < VPA_COUNT(free_parts); i++) {
            const char *at = strstr(text, free_parts[i]);
            if (at && strncmp(text, got, (size_t)(at - text)) == 0) {
                golden_compared(c, want);
                golden_exempt(c, 1);
                return;
            }
        }
    }
    golden_text(c, label, want, got);
}

static const char *matched_name(struct admission *admission, enum vpa_match_rule rule,
                                struct golden_case *c, const struct vpa_pod *pod)
{
    struct snapshot *snapshot = snapshot_acquire(admission_cell(admission));
    struct vpa_error owner_error;
    bool unknown;
    const struct vpa_object *vpa =
        admit_match(snapshot, rule, c->arena, pod, &unknown, &owner_error);
    const char *name = vpa ? vpa_arena_strdup(c->arena, vpa->meta.name) : NULL;

    snapshot_unref(snapshot);
    return name;
}

static void compare_match(struct golden_case *c, const struct memory_cluster *cluster,
                          const struct vpa_pod *pod)
{
    const struct vpa_flags flags = {.rows = admission_flag_rows, .count = admission_flag_count};
    struct vpa_flags parsed = flags;
    struct admission_config config;
    struct vpa_error err;

    parsed.values = &config;
    vpa_flags_preset(&parsed);
    struct admission *admission = admission_new(&(struct admission_options){
        .config = &config,
        .loop = cluster->loop,
        .client = cluster->client,
        .ns = "kube-system",
        .host_name = "golden",
        .unbound = true,
    });
    if (admission_sync(admission, &err) < 0) {
        golden_difference(c, "start", "running", err.text);
    } else {
        const char *name = NULL, *any_mode = NULL;
        for (int i = 0; i < ROUNDS; i++) {
            name = matched_name(admission, VPA_MATCH_WEBHOOK, c, pod);
            any_mode = matched_name(admission, VPA_MATCH_UPDATER, c, pod);
            vpa_loop_pump(cluster->loop, VPA_SECOND);
        }
        golden_text(c, "vpa", GOLDEN_OUT(c, "vpa"), name);
        golden_text(c, "vpaAnyMode", GOLDEN_OUT(c, "vpaAnyMode"), any_mode);
    }
    admission_free(admission);
}

/* ---- step by step ---- */

static void compare_top(struct golden_case *c, struct vpa_owners *owners, const struct vpa_pod *pod)
{
    const struct vpa_json *want = GOLDEN_OUT(c, "top");
    const struct vpa_owner_reference *owner = vpa_meta_controller_last(&pod->meta);
    struct vpa_controller_key top = {0};
    const char *error = NULL;
    bool found = false;
    struct vpa_error err;

    if (owner) {
        struct vpa_controller_key key = vpa_controller_key_of_owner(pod->meta.ns, owner);
        if (vpa_owners_topmost(owners, &key, c->arena, &found, &top, &err) < 0 &&
            !vpa_owner_is_node_error(&err)) /* passed over in silence */
            error = err.text;
    }
    compare_error(c, "topError", GOLDEN_OUT(c, "topError"), error);
    if (!found) {
        golden_text(c, "top", want, NULL);
        return;
    }
    golden_text(c, "top.apiVersion", vpa_json_find(want, "apiVersion"), top.api_version);
    golden_text(c, "top.kind", vpa_json_find(want, "kind"), top.kind);
    golden_text(c, "top.namespace", vpa_json_find(want, "namespace"), top.ns);
    golden_text(c, "top.name", vpa_json_find(want, "name"), top.name);
}

static void compare_selector(struct golden_case *c, struct vpa_owners *owners,
                             const struct vpa_object *vpa, const struct vpa_pod *pod)
{
    bool same_ns = strcmp(vpa->meta.ns, pod->meta.ns) == 0;
    const char *key =
        same_ns ? vpa->meta.name : golden_label(c, "%s/%s", vpa->meta.ns, vpa->meta.name);
    const struct vpa_json *want = vpa_json_find(GOLDEN_OUT(c, "selectors"), key);
    struct vpa_selector selector;
    struct vpa_error err;
    vpa_auto_buf text = VPA_BUF(1 << 16);

    if (!vpa->target_ref.present) { /* S8: the reference knows no other way to say what is meant */
        golden_text(c, golden_label(c, "selectors.%s.error", key), vpa_json_find(want, "error"),
                    "targetRef not defined. If this is a v1beta1 object, switch to v1");
        return;
    }
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);
    if (vpa_owners_selector(owners, &target, c->arena, &selector, &err) < 0) {
        compare_error(c, golden_label(c, "selectors.%s.error", key), vpa_json_find(want, "error"),
                      err.text);
        return;
    }
    const struct vpa_candidate candidate = {vpa, &selector};
    vpa_selector_format(&selector, &text);
    golden_text(c, golden_label(c, "selectors.%s.error", key), vpa_json_find(want, "error"), NULL);
    golden_text(c, golden_label(c, "selectors.%s.selector", key), vpa_json_find(want, "selector"),
                vpa_buf_text(&text));
    golden_bool(c, golden_label(c, "selectors.%s.matchesPod", key),
                vpa_json_find(want, "matchesPod"),
                vpa_match_selects(&candidate, pod->meta.ns, &pod->meta.labels));
}

static void compare_steps(struct golden_case *c, const struct memory_cluster *cluster,
                          const struct vpa_pod *pod)
{
    struct vpa_owners *owners =
        vpa_owners_new(&(struct vpa_owners_options){.client = cluster->client, .ns = ""});
    struct vpa_error err;

    vpa_owners_start(owners);
    if (vpa_owners_wait(owners, 0, &err) < 0) {
        golden_difference(c, "start", "running", err.text);
    } else {
        compare_top(c, owners, pod);
        vpa_json_foreach (object, cluster->objects) {
            struct vpa_object vpa;
            if (strcmp(vpa_json_string(vpa_json_find(object, "kind")), "VerticalPodAutoscaler") ==
                    0 &&
                policy_read_vpa(c, object, &vpa))
                compare_selector(c, owners, &vpa, pod);
        }
    }
    vpa_owners_free(owners);
}

static void run(struct golden_case *c)
{
    struct memory_cluster cluster = {
        .objects = vpa_json_at(c->in, "cluster.objects"),
        .scales = vpa_json_at(c->in, "cluster.scales"),
        .discovery = discovery,
    };
    struct vpa_pod pod;

    if (!policy_read_pod(c, GOLDEN_IN(c, "pod"), &pod))
        return;
    memory_cluster_start(&cluster, vpa_time_from_unix(NOW, 0));
    golden_marker(c, "freeErrorText");
    compare_steps(c, &cluster, &pod);
    compare_match(c, &cluster, &pod);
    memory_cluster_stop(&cluster);
}

/* Requests of the reference while it answers; see above. */
static const char *const information[] = {"scaleGets./ap*", NULL};

const struct golden_set golden_set_vpa_matching = {
    .name = "vpa_matching", .run = run, .information = information, .begin = begin, .end = end};
