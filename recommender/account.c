/* What the ledger records of recommendations. */
#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/str.h"
#include "vpa/policy/reason.h"

/* A target has moved when it is one part in so many away. */
#define MOVED_PART 10

struct amounts {
    int64_t cpu, memory; /* millicores, bytes; -1: none */
};

/* What was written down of a VPA: 16 bytes and 16 per container. */
struct note {
    uint32_t conditions, names; /* hashes */
    uint32_t count;
    struct amounts targets[];
};

/* ---- what there is ---- */

static int64_t amount_of(const struct vpa_resource_list *target, const char *name)
{
    const struct vpa_quantity *q = vpa_resource_find(target, name);

    if (!q)
        return -1;
    return strcmp(name, VPA_CPU) == 0 ? vpa_quantity_milli_value(q) : vpa_quantity_value(q);
}

static uint32_t add_text(uint32_t hash, const char *text)
{
    return vpa_hash_stable_add(hash, vpa_hash_stable(vpa_or_empty(text)));
}

static struct note *note_new(const struct vpa_recommendation *rec,
                             const struct vpa_object_status *status)
{
    struct note *note =
        vpa_xcalloc(1, sizeof(*note) + rec->container_count * sizeof(note->targets[0]));

    note->count = (uint32_t)rec->container_count;
    for (size_t i = 0; i < rec->container_count; i++) {
        const struct vpa_container_recommendation *c = &rec->containers[i];

        note->names = add_text(note->names, c->container_name);
        note->targets[i] =
            (struct amounts){amount_of(&c->target, VPA_CPU), amount_of(&c->target, VPA_MEMORY)};
    }
    for (size_t i = 0; i < status->condition_count; i++) {
        const struct vpa_condition *c = &status->conditions[i];

        note->conditions = add_text(note->conditions, c->type);
        note->conditions = add_text(note->conditions, c->status);
        note->conditions = add_text(note->conditions, c->reason);
        note->conditions = add_text(note->conditions, c->message);
    }
    return note;
}

static bool has_moved(int64_t from, int64_t to)
{
    return from != to && (from <= 0 || llabs(to - from) >= from / MOVED_PART);
}

static bool have_moved(const struct note *old, const struct note *new)
{
    for (size_t i = 0; i < new->count; i++)
        if (has_moved(old->targets[i].cpu, new->targets[i].cpu) ||
            has_moved(old->targets[i].memory, new->targets[i].memory))
            return true;
    return false;
}

/* Why there is something to write; NULL: there is nothing. */
static const char *rule_of(const struct note *old, const struct note *new)
{
    if (!old)
        return "first";
    if (old->names != new->names || old->count != new->count)
        return "its containers changed";
    if (have_moved(old, new))
        return "a target moved by a tenth or more";
    return old->conditions != new->conditions ? "its conditions changed" : NULL;
}

/* ---- in words ---- */

static void put_target(struct vpa_reason_phrases *p, const char *container,
                       const struct vpa_resource *to, int64_t old)
{
    struct vpa_quantity from = strcmp(to->name, VPA_CPU) == 0
                                   ? vpa_quantity_milli(old)
                                   : vpa_quantity_units(old, VPA_BINARY_SI);

    if (old < 0 || vpa_quantity_cmp(&from, &to->quantity) != 0)
        (void)vpa_reason_begin(p, container, to->name, "target", old < 0 ? NULL : &from,
                               &to->quantity);
}

/* old: of the same containers, or NULL. */
static void put_targets(const struct note *old, const struct vpa_recommendation *rec,
                        struct vpa_buf *out)
{
    const struct vpa_pod all = {.container_count = rec->container_count};
    struct vpa_reason_phrases p = {.out = out, .pod = &all};

    for (size_t i = 0; i < rec->container_count; i++) {
        const struct vpa_container_recommendation *c = &rec->containers[i];

        for (size_t r = 0; r < c->target.count; r++) {
            bool cpu = strcmp(c->target.items[r].name, VPA_CPU) == 0;
            int64_t was = !old ? -1 : cpu ? old->targets[i].cpu : old->targets[i].memory;

            put_target(&p, c->container_name, &c->target.items[r], was);
        }
    }
    vpa_reason_end(&p);
}

static void put_conditions(const struct vpa_object_status *status, struct vpa_buf *out)
{
    for (size_t i = 0; i < status->condition_count; i++) {
        const struct vpa_condition *c = &status->conditions[i];

        if (out->len > 0)
            vpa_buf_puts(out, "; ");
        vpa_buf_printf(out, "%s is %s", c->type, c->status);
        if (*vpa_or_empty(c->message))
            vpa_buf_printf(out, " (%.200s)", c->message);
    }
}

static void write_down(struct vpa_ledger *ledger, const struct vpa_recommendation_facts *facts,
                       const struct vpa_recommendation *rec, struct vpa_ledger_entry *entry)
{
    struct vpa_json_writer w;
    vpa_auto_buf inputs = VPA_BUF(VPA_LEDGER_PAGE_MAX);

    vpa_json_writer_init(&w, &inputs);
    vpa_recommendation_facts_encode(&w, facts, rec);
    entry->ns = facts->vpa->meta.ns;
    entry->vpa = facts->vpa->meta.name;
    entry->decision = rec->container_count > 0 ? "recommend" : "recommend nothing";
    entry->inputs = vpa_buf_failed(&inputs) ? NULL : vpa_buf_text(&inputs);
    vpa_ledger_record(ledger, entry);
}

void account_tell(struct vpa_ledger *ledger, void **noted,
                  const struct vpa_recommendation_facts *facts,
                  const struct vpa_recommendation *rec, const struct vpa_object_status *status,
                  vpa_time now)
{
    vpa_auto_buf why = VPA_BUF(VPA_LEDGER_LINE_MAX);
    struct note *old = *noted, *new;
    const char *rule;

    if (!ledger)
        return;
    new = note_new(rec, status);
    rule = rule_of(old, new);
    if (!rule) {
        free(new);
        return;
    }
    put_targets(old && old->names == new->names && old->count == new->count ? old : NULL, rec,
                &why);
    if (!old || old->conditions != new->conditions)
        put_conditions(status, &why);
    write_down(ledger, facts, rec,
               &(struct vpa_ledger_entry){.time = now, .rule = rule, .why = vpa_buf_text(&why)});
    *noted = new;
    free(old);
}
