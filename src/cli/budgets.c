#include "budgets.h"

#include <stdlib.h>

#include "vpa/base/str.h"
#include "vpa/policy/resize_state.h"

const struct cli_kind cli_disruption_budgets = {"policy/v1", "poddisruptionbudgets",
                                                "what PodDisruptionBudgets would refuse"};

struct reading {
    struct cli *cli;
    struct cli_budgets *out;
};

static int64_t number(const struct vpa_json *object, const char *path)
{
    int64_t value = 0;

    (void)vpa_json_int64(vpa_json_at(object, path), &value);
    return value;
}

static int on_budget(void *ctx, const struct vpa_json *object, struct vpa_error *err)
{
    struct reading *r = ctx;
    struct vpa_arena *arena = &r->cli->arena;
    const char *policy = vpa_json_string(vpa_json_at(object, "spec.unhealthyPodEvictionPolicy"));
    struct cli_budget b = {
        .ns = vpa_arena_strdup(arena, vpa_json_text(object, "metadata.namespace")),
        .name = vpa_arena_strdup(arena, vpa_json_text(object, "metadata.name")),
        .allowed = number(object, "status.disruptionsAllowed"),
        .healthy = number(object, "status.currentHealthy"),
        .wanted = number(object, "status.desiredHealthy"),
        .always_allow_unhealthy = policy && vpa_str_eq(policy, "AlwaysAllow"),
        .stale =
            number(object, "status.observedGeneration") < number(object, "metadata.generation"),
    };

    if (vpa_selector_decode(arena, vpa_json_at(object, "spec.selector"), &b.selector, err) < 0)
        return -1;
    VPA_GROW(r->out->items, r->out->count, r->out->capacity);
    r->out->items[r->out->count++] = b;
    return 0;
}

int cli_budgets_read(struct cli *cli, const char *ns, struct cli_budgets *out,
                     struct vpa_error *err)
{
    struct reading r = {cli, out};
    struct vpa_error why;

    *out = (struct cli_budgets){0};
    if (cli_list(cli, &cli_disruption_budgets, ns, on_budget, &r, &why) == 0)
        return 0;
    if (why.code == VPA_RETRY) {
        *err = why;
        return -1;
    }
    cli_note_list(cli, &cli_disruption_budgets, ns, &why);
    return 0;
}

void cli_budgets_release(struct cli_budgets *budgets)
{
    free(budgets->items);
    *budgets = (struct cli_budgets){0};
}

static struct cli_budget *budget_of(struct cli_budgets *budgets, const struct vpa_pod *pod,
                                    size_t *matching)
{
    struct cli_budget *found = NULL;

    *matching = 0;
    for (size_t i = 0; i < budgets->count; i++) {
        struct cli_budget *b = &budgets->items[i];

        if (!vpa_str_eq(b->ns, pod->meta.ns) ||
            !vpa_selector_matches(&b->selector, &pod->meta.labels))
            continue;
        found = b;
        ++*matching;
    }
    return found;
}

bool cli_budgets_take(struct cli_budgets *budgets, const struct vpa_pod *pod,
                      const struct cli_budget **by)
{
    size_t matching;
    struct cli_budget *b;

    if (!vpa_str_eq(pod->phase, "Running"))
        return true; /* pending and ended pods go without being asked for */
    b = budget_of(budgets, pod, &matching);
    if (!b)
        return true;
    *by = b;
    if (matching > 1)
        return false;
    if (!vpa_pod_is_ready(pod) &&
        (b->always_allow_unhealthy || (b->healthy >= b->wanted && b->wanted > 0)))
        return true;
    if (b->stale || b->allowed <= 0)
        return false;
    b->allowed--;
    return true;
}
