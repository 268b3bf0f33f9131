#include "governors.h"

#include <stdlib.h>

#include "dry_transport.h"
#include "lists.h"
#include "vpa/base/str.h"
#include "vpa/base/table.h"
#include "vpa/json/json.h"
#include "vpa/policy/match.h"

/* What is known of the selector of one VPA. */
struct resolved {
    bool asked, known;
    struct vpa_selector selector;
    const char *why;
};
struct cli_governors {
    struct cli *cli;
    struct vpa_owners *owners;
    const struct vpa_object **vpas; /* heap */
    struct resolved *resolved;      /* heap, beside vpas */
    size_t count, capacity;
    struct vpa_table tops; /* "ns/api version/kind/name" -> struct vpa_controller_key */
    /* Of its own, where nobody lends them. */
    struct cli_dry dry;
};

/* ---- look-ups ---- */

const struct vpa_object *const *cli_governors_vpas(const struct cli_governors *governors,
                                                   size_t *count)
{
    *count = governors->count;
    return governors->vpas;
}

static void find_top(struct cli_governors *g, const struct vpa_controller_key *from,
                     struct vpa_controller_key *top)
{
    struct vpa_error err;
    bool found = false;

    if (vpa_owners_topmost(g->owners, from, &g->cli->arena, &found, top, &err) < 0) {
        found = false;
        if (!vpa_owner_is_node_error(&err))
            cli_note(g->cli, "the controller above %s %s/%s is not known: %s", from->kind, from->ns,
                     from->name, err.text);
    }
    if (!found)
        *top = (struct vpa_controller_key){from->ns, "", "", ""};
}

void cli_governors_top(struct cli_governors *governors, const struct vpa_controller_key *from,
                       struct vpa_controller_key *top)
{
    struct vpa_arena *arena = &governors->cli->arena;
    vpa_auto_free char *key =
        vpa_xprintf("%s/%s/%s/%s", from->ns, from->api_version, from->kind, from->name);
    struct vpa_controller_key *known = vpa_table_find(&governors->tops, key);

    if (!known) {
        known = vpa_arena_zalloc(arena, sizeof(*known));
        find_top(governors, from, known);
        known->ns = vpa_arena_strdup(arena, known->ns);
        vpa_table_put(&governors->tops, vpa_arena_strdup(arena, key), known);
    }
    *top = *known;
}

static void resolve(struct cli_governors *g, size_t i)
{
    const struct vpa_object *vpa = g->vpas[i];
    const struct vpa_controller_key target = vpa_controller_key_of_target(vpa);
    struct resolved *r = &g->resolved[i];
    struct vpa_error err;

    r->asked = true;
    r->why = "";
    r->known = vpa->target_ref.present ? vpa_owners_selector(g->owners, &target, &g->cli->arena,
                                                             &r->selector, &err) == 0
                                       : vpa->has_selector;
    if (!vpa->target_ref.present)
        r->selector = vpa->selector;
    else if (!r->known)
        r->why = vpa_arena_strdup(&g->cli->arena, err.text);
}

static bool names(const struct vpa_object *vpa, const struct vpa_controller_key *top)
{
    return vpa->target_ref.present && vpa_str_eq(vpa->target_ref.kind, top->kind) &&
           vpa_str_eq(vpa->target_ref.name, top->name);
}

/* false: it says nothing of these pods. */
static bool relate(const struct cli_governors *g, size_t i, const struct cli_governed *pods,
                   enum cli_relation *out)
{
    const struct vpa_object *vpa = g->vpas[i];
    const struct resolved *r = &g->resolved[i];
    bool takes = r->known && vpa_selector_matches(&r->selector, pods->labels);

    if (names(vpa, pods->top))
        *out = takes ? CLI_GOVERNS : r->known ? CLI_MISSES : CLI_UNRESOLVED;
    else if (takes)
        *out = vpa->target_ref.present ? CLI_OVERLAPS : CLI_GOVERNS;
    else
        return false;
    return true;
}

void cli_governors_visit(struct cli_governors *governors, const struct cli_governed *pods,
                         bool others, cli_governor_fn visit, void *ctx)
{
    enum cli_relation relation;

    for (size_t i = 0; i < governors->count; i++) {
        const struct vpa_object *vpa = governors->vpas[i];

        if (!vpa_str_eq(vpa->meta.ns, pods->ns) ||
            (vpa->target_ref.present && !others && !names(vpa, pods->top)))
            continue;
        if (!governors->resolved[i].asked)
            resolve(governors, i);
        if (relate(governors, i, pods, &relation))
            visit(ctx, vpa, relation, governors->resolved[i].why);
    }
}

/* ---- reading ---- */

static void add(struct cli_governors *g, const struct vpa_object *vpa)
{
    VPA_GROW(g->vpas, g->count, g->capacity);
    g->vpas[g->count++] = vpa;
}

static const char *text_at(struct vpa_arena *arena, const struct vpa_json *object, const char *path)
{
    return vpa_arena_strdup(arena, vpa_json_text(object, path));
}

/* Its target is taken for what it says, so that nobody writes a second one for it. */
static void take_name(struct vpa_arena *arena, const struct vpa_json *object,
                      struct vpa_object *out)
{
    *out = (struct vpa_object){0};
    out->meta.ns = text_at(arena, object, "metadata.namespace");
    out->meta.name = text_at(arena, object, "metadata.name");
    out->target_ref =
        (struct vpa_target_ref){true, text_at(arena, object, "spec.targetRef.apiVersion"),
                                text_at(arena, object, "spec.targetRef.kind"),
                                text_at(arena, object, "spec.targetRef.name")};
}

static int on_vpa(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct cli_governors *g = ctx;
    struct vpa_arena *arena = &g->cli->arena;
    struct vpa_object *vpa = vpa_arena_zalloc(arena, sizeof(*vpa));
    int status = vpa_object_decode(arena, object, vpa, err);

    if (status < 0)
        take_name(arena, object, vpa);
    add(g, vpa);
    return status;
}

static int read_vpas(struct cli_governors *g, const char *ns, struct vpa_error *err)
{
    static const struct cli_kind kind = {.group_version = VPA_GROUP_VERSION,
                                         .resource = "verticalpodautoscalers"};

    if (cli_list(g->cli, &kind, ns, on_vpa, g, err) == 0)
        return 0;
    return vpa_wrap(err, "list verticalpodautoscalers");
}

static int on_write(void *ctx, const char *method, const char *target, const char *body,
                    const char **answer)
{
    (void)ctx;
    (void)method;
    (void)target;
    (void)body;
    *answer = "{}";
    return 405; /* the caches of owners write nothing */
}

static void on_refused(void *ctx, const char *resource, int status, const char *message)
{
    struct cli_governors *g = ctx;

    cli_note(g->cli, "%s list %s: VPAs of them are known by name alone (%s)",
             status == 403 ? "not allowed to" : "cannot", resource, message);
}

static int read_owners(struct cli_governors *g, const char *ns, struct vpa_error *err)
{
    if (cli_dry_connect(
            g->cli,
            &(struct cli_dry_handler){.ctx = g, .on_write = on_write, .on_refused = on_refused},
            &g->dry, err) < 0)
        return -1;
    g->owners = vpa_owners_new(&(struct vpa_owners_options){.client = g->dry.client, .ns = ns});
    vpa_owners_start(g->owners);
    return vpa_owners_wait(g->owners, CLI_CACHES_TIMEOUT, err);
}

/* ---- life ---- */

struct cli_governors *cli_governors_new(struct cli *cli, struct vpa_owners *owners,
                                        const struct vpa_object *const *vpas, size_t count)
{
    struct cli_governors *g = vpa_xcalloc(1, sizeof(*g));

    g->cli = cli;
    g->owners = owners;
    for (size_t i = 0; i < count; i++)
        add(g, vpas[i]);
    g->resolved = vpa_xcalloc(count + 1, sizeof(*g->resolved));
    return g;
}

struct cli_governors *cli_governors_read(struct cli *cli, const char *ns, struct vpa_error *err)
{
    struct cli_governors *g = vpa_xcalloc(1, sizeof(*g));

    g->cli = cli;
    if (read_vpas(g, ns, err) < 0 || read_owners(g, ns, err) < 0) {
        cli_governors_free(g);
        return NULL;
    }
    g->resolved = vpa_xcalloc(g->count + 1, sizeof(*g->resolved));
    return g;
}

void cli_governors_free(struct cli_governors *governors)
{
    if (!governors)
        return;
    if (governors->dry.client) {
        vpa_owners_free(governors->owners);
        cli_dry_release(&governors->dry);
    }
    vpa_table_release(&governors->tops);
    free(governors->resolved);
    free(governors->vpas);
    free(governors);
}
