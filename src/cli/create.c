/*
 * `create`: VPA objects for workloads that have none.
 */
#include <string.h>

#include "governors.h"
#include "output.h"
#include "workloads.h"
#include "vpa/api/pod.h"
#include "vpa/base/str.h"
#include "vpa/model/algorithm.h"

struct creation {
    struct cli *cli;
    struct cli_governors *governors;
    struct vpa_table names;   /* "namespace/name" of VPAs, these included */
    struct vpa_table covered; /* "namespace/kind/name" of controllers that one speaks of */
    struct vpa_table custom;  /* the same of pods' controllers of other kinds -> their keys */
    struct vpa_arena scratch; /* of one pod */
    struct cli_table table;
    const char *recommender; /* spec.recommenders; NULL: none */
    size_t made, failed;
    bool whole; /* everything could be looked at */
    bool apply;
};

static const char *mode_of(struct cli *cli)
{
    const char *mode = cli_option(cli, "mode");

    return mode ? mode : "Off";
}

static int check_mode(struct cli *cli, struct vpa_error *err)
{
    static const char *const modes[] = {"Off",     "Initial", "Recreate", "InPlaceOrRecreate",
                                        "InPlace", NULL};
    size_t mode;

    return cli_choose(cli, "mode", modes, &mode, err);
}

/* spec.recommenders has no name for VPA's own algorithm of the default recommender. */
static int read_recommender(struct creation *c, struct vpa_error *err)
{
    const char *algorithm = cli_option(c->cli, "algorithm");
    const char *recommender = cli_option(c->cli, "recommender");

    if (algorithm && !vpa_algorithm_find(algorithm))
        return vpa_fail(err, VPA_INVALID,
                        "there is no algorithm \"%.60s\"; a recommender is named by --recommender",
                        algorithm);
    if (recommender && !*recommender)
        return vpa_fail(err, VPA_INVALID, "--recommender is empty");
    if (!algorithm || strcmp(algorithm, VPA_ALGORITHM_VPA) == 0)
        c->recommender = recommender;
    else if (!recommender || strcmp(recommender, "default") == 0)
        c->recommender = algorithm;
    else
        c->recommender = vpa_arena_printf(&c->cli->arena, "%s/%s", recommender, algorithm);
    return 0;
}

static char *join(struct creation *c, const char *ns, const char *kind, const char *name)
{
    return vpa_arena_printf(&c->cli->arena, "%s/%s/%s", ns, kind, name);
}

/* ---- what has one ---- */

struct coverage {
    struct creation *creation;
    const struct vpa_controller_key *top;
    bool found;
};

static void on_governor(void *ctx, const struct vpa_object *vpa, enum cli_relation relation,
                        const char *why)
{
    struct coverage *c = ctx;

    (void)why;
    c->found = true;
    if (relation == CLI_OVERLAPS)
        cli_note(c->creation->cli,
                 "%s %s/%s is left out: VPA %s, whose target is %s %s, takes its pods in by their "
                 "labels",
                 c->top->kind, c->top->ns, c->top->name, vpa->meta.name, vpa->target_ref.kind,
                 vpa->target_ref.name);
}

/* Whether a VPA speaks of pods with these labels under that controller; it is remembered. */
static bool is_covered(struct creation *c, const struct vpa_controller_key *top,
                       const struct vpa_labels *labels)
{
    struct coverage coverage = {.creation = c, .top = top};
    char *key = join(c, top->ns, top->kind, top->name);

    if (vpa_table_find(&c->covered, key))
        return true;
    cli_governors_visit(c->governors, &(struct cli_governed){top->ns, labels, top}, true,
                        on_governor, &coverage);
    if (coverage.found)
        vpa_table_put(&c->covered, key, c);
    return coverage.found;
}

/* Labels that a controller adds, or somebody by hand, are those of live pods alone. */
static int on_pod(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct creation *c = ctx;
    struct vpa_meta meta;
    const struct vpa_owner_reference *owner;
    struct vpa_controller_key top;

    vpa_arena_clear(&c->scratch);
    if (vpa_meta_decode(&c->scratch, vpa_json_find(object, "metadata"), &meta, err) < 0)
        return -1;
    owner = vpa_meta_controller_last(&meta);
    if (!owner)
        return 0;
    const struct vpa_controller_key from = vpa_controller_key_of_owner(meta.ns, owner);
    cli_governors_top(c->governors, &from, &top);
    if (!top.kind[0] || is_covered(c, &top, &meta.labels) || vpa_is_well_known_kind(top.kind))
        return 0;

    struct vpa_controller_key *kept = vpa_arena_alloc(&c->cli->arena, sizeof(*kept));

    *kept = top;
    vpa_table_put(&c->custom, join(c, top.ns, top.kind, top.name), kept);
    return 0;
}

static void look_at_pods(struct creation *c)
{
    static const struct cli_kind kind = {
        .group_version = "v1", .resource = "pods", .what_lacks = "VPAs of labels of live pods"};
    struct vpa_error err;

    if (cli_list(c->cli, &kind, c->cli->ns, on_pod, c, &err) == 0)
        return;
    cli_note_list(c->cli, &kind, c->cli->ns, &err);
    c->whole = false;
}

/* ---- the new ones ---- */

/* That of the workload; where it is taken its kind stands behind it, then a number. */
static const char *free_name(struct creation *c, const struct cli_workload *w)
{
    struct vpa_arena *arena = &c->cli->arena;
    const char *name = w->name;
    char *kind = vpa_arena_strdup(arena, w->kind);

    for (char *p = kind; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    for (int i = 1;; i++) {
        char *key = vpa_arena_printf(arena, "%s/%s", w->ns, name);

        if (!vpa_table_find(&c->names, key)) {
            vpa_table_put(&c->names, key, c);
            return name;
        }
        name = i == 1 ? vpa_arena_printf(arena, "%s-%s", w->name, kind)
                      : vpa_arena_printf(arena, "%s-%s-%d", w->name, kind, i);
    }
}

static void put_vpa(struct creation *c, const struct cli_workload *w, const char *name,
                    struct vpa_json_writer *out)
{
    vpa_json_open_object(out);
    vpa_json_member_string(out, "apiVersion", VPA_GROUP_VERSION);
    vpa_json_member_string(out, "kind", "VerticalPodAutoscaler");
    vpa_json_member_object(out, "metadata");
    vpa_json_member_string(out, "name", name);
    vpa_json_member_string(out, "namespace", w->ns);
    vpa_json_close_object(out);
    vpa_json_member_object(out, "spec");
    vpa_json_member_object(out, "targetRef");
    vpa_json_member_string(out, "apiVersion", w->api_version);
    vpa_json_member_string(out, "kind", w->kind);
    vpa_json_member_string(out, "name", w->name);
    vpa_json_close_object(out);
    vpa_json_member_object(out, "updatePolicy");
    vpa_json_member_string(out, "updateMode", mode_of(c->cli));
    vpa_json_close_object(out);
    if (c->recommender) {
        vpa_json_member_array(out, "recommenders");
        vpa_json_open_object(out);
        vpa_json_member_string(out, "name", c->recommender);
        vpa_json_close_object(out);
        vpa_json_close_array(out);
    }
    vpa_json_close_object(out);
    vpa_json_close_object(out);
}

static void send_vpa(struct creation *c, const struct cli_workload *w, const char *name,
                     const struct vpa_buf *json)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_error err;

    vpa_kube_path(&path, VPA_GROUP_VERSION, w->ns, "verticalpodautoscalers", NULL, NULL);

    int status = vpa_kube_do(c->cli->client,
                             &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                                     .path = vpa_buf_text(&path),
                                                     .body = vpa_buf_text(json),
                                                     .body_len = json->len},
                             &c->cli->arena, NULL, &err);

    cli_table_cell(&c->table, w->ns);
    cli_table_cell(&c->table, name);
    cli_table_printf(&c->table, "%s/%s", w->kind, w->name);
    cli_table_color(&c->table, status < 0 ? CLI_RED : CLI_GREEN, status < 0 ? err.text : "created");
    c->failed += status < 0;
}

static void create_one(struct creation *c, const struct vpa_controller_key *top)
{
    const struct cli_workload w = {
        .ns = top->ns, .kind = top->kind, .api_version = top->api_version, .name = top->name};
    const char *name = free_name(c, &w);
    vpa_auto_buf json = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_json_writer writer;

    vpa_table_put(&c->covered, join(c, top->ns, top->kind, top->name), c);
    vpa_json_writer_init(&writer, &json);
    put_vpa(c, &w, name, &writer);
    c->made++;
    if (c->apply) {
        send_vpa(c, &w, name, &json);
        return;
    }
    if (c->cli->format == CLI_JSON) {
        vpa_buf_puts(&c->cli->out, c->made > 1 ? "," : "");
        cli_put_json(&c->cli->out, vpa_buf_text(&json), json.len);
        return;
    }
    vpa_buf_puts(&c->cli->out, c->made > 1 ? "---\n" : "");
    (void)cli_put_yaml(&c->cli->out, vpa_buf_text(&json), json.len);
}

/* One that another controller made counts by the topmost that a VPA can name. */
static void on_workload(void *ctx, const struct cli_workload *w)
{
    struct creation *c = ctx;
    struct vpa_controller_key from = {w->ns, w->kind, w->name, w->api_version}, top;
    struct vpa_labels labels = {0};
    struct vpa_error err;

    vpa_arena_clear(&c->scratch);
    cli_governors_top(c->governors, &from, &top);
    if (!top.kind[0]) {
        if (w->owned)
            return;
        top = from;
    }
    if (vpa_labels_decode(&c->scratch,
                          vpa_json_at(cli_workload_template(w->object), "metadata.labels"), &labels,
                          &err) < 0)
        cli_note(c->cli, "the template of %s %s/%s: %s", w->kind, w->ns, w->name, err.text);
    if (!is_covered(c, &top, &labels))
        create_one(c, &top);
}

static void create_custom(struct creation *c)
{
    vpa_auto_free void **keys = vpa_table_sorted(&c->custom);

    for (size_t i = 0; i < c->custom.count; i++) {
        const struct vpa_controller_key *top = keys[i];

        if (!vpa_table_find(&c->covered, join(c, top->ns, top->kind, top->name)))
            create_one(c, top);
    }
}

static void create_all(struct creation *c)
{
    static const struct cli_column columns[] = {{"NAMESPACE"}, {"VPA"}, {"TARGET"}, {"RESULT"}};
    const char *selector = cli_option(c->cli, "selector");
    bool lists = !c->apply && c->cli->format == CLI_JSON;

    cli_table_init(&c->table, &c->cli->arena, columns, VPA_COUNT(columns));
    if (lists)
        vpa_buf_puts(&c->cli->out, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[");
    look_at_pods(c);
    if (!cli_workloads_list(c->cli, c->cli->ns, selector, on_workload, c))
        c->whole = false;
    if (!selector) /* their labels are not known */
        create_custom(c);
    if (lists)
        vpa_buf_puts(&c->cli->out, "]}\n");
    if (c->apply && c->made > 0)
        cli_print_table(c->cli, &c->table, "created");
    if (c->made == 0 && c->whole)
        cli_note(c->cli, "every workload has a VPA already");
    cli_table_release(&c->table);
}

static void take_names(struct creation *c)
{
    size_t count;
    const struct vpa_object *const *vpas = cli_governors_vpas(c->governors, &count);

    for (size_t i = 0; i < count; i++)
        vpa_table_put(
            &c->names,
            vpa_arena_printf(&c->cli->arena, "%s/%s", vpas[i]->meta.ns, vpas[i]->meta.name), c);
}

static void creation_release(struct creation *c)
{
    cli_governors_free(c->governors);
    vpa_table_release(&c->names);
    vpa_table_release(&c->covered);
    vpa_table_release(&c->custom);
    vpa_arena_release(&c->scratch);
}

/* Manifests are no table; what was created is one. */
static int check_form(const struct creation *c, struct vpa_error *err)
{
    if (!c->apply && c->cli->format == CLI_CSV)
        return vpa_fail(err, VPA_INVALID, "manifests have no form csv");
    return 0;
}

static int run(struct cli *cli)
{
    struct creation c = {.cli = cli, .whole = true, .apply = cli_option(cli, "apply") != NULL};
    struct vpa_error err;

    if (check_mode(cli, &err) < 0 || read_recommender(&c, &err) < 0 || check_form(&c, &err) < 0)
        return cli_complain_of_usage(cli, &err);
    if (cli_connect(cli, &err) < 0 || !(c.governors = cli_governors_read(cli, cli->ns, &err)))
        return cli_complain(cli, &err);
    take_names(&c);
    create_all(&c);
    creation_release(&c);
    return c.failed || !c.whole ? CLI_FAILED : CLI_OK;
}

static const struct cli_option options[] = {
    {"mode", 0, "MODE", "The update mode; default Off: recommendations only"},
    {"algorithm", 0, "NAME", "The algorithm (spec.recommenders): vpa (default), crane, plumb, ..."},
    {"recommender", 0, "NAME", "Whose: a recommender with another name than default, known or not"},
    {"selector", 'l', "LABELS", "Only workloads with these labels"},
    {"apply", 0, NULL, "Create them; without it they are only printed"},
};

const struct cli_command cli_create = {
    .name = "create",
    .summary = "VPA objects for all workloads that have none",
    .arguments = "",
    .details = "Prints manifests and writes nothing, unless --apply is given.",
    .example = "  # Manifests for Git\n  kubectl vpa create -n shop > vpas.yaml\n"
               "  # Recommendations for everything, changing nothing\n"
               "  kubectl vpa create -A --mode Off --apply",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
