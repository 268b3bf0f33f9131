/*
 * What the command line said is kept apart from what follows from it: decide() computes the gates
 * anew after every value, so that an explicit gate wins over AllAlpha whichever came first.
 */
#include "vpa/daemon/gates.h"

#include <string.h>

#include "vpa/base/str.h"

enum said { SAID_NOTHING, SAID_FALSE, SAID_TRUE };

static void decide(struct vpa_gates *g, bool preset)
{
    const unsigned char all = g->said_all_alpha;
    const bool fallback = all ? all == SAID_TRUE : preset;
    const struct {
        unsigned char said;
        bool *on;
    } alpha[] = {
        {g->said_cpu_startup_boost, &g->cpu_startup_boost},
        {g->said_in_place, &g->in_place},
        {g->said_per_vpa_config, &g->per_vpa_config},
    };

    for (size_t i = 0; i < VPA_COUNT(alpha); i++)
        *alpha[i].on = alpha[i].said ? alpha[i].said == SAID_TRUE : fallback;
}

void vpa_gates_preset(struct vpa_gates *gates)
{
    *gates = (struct vpa_gates){.preset = true};
    decide(gates, true);
}

void vpa_gates_preset_upstream(struct vpa_gates *gates)
{
    *gates = (struct vpa_gates){.preset = false};
}

static unsigned char *gate_named(struct vpa_gates *g, const char *name)
{
    const struct {
        const char *name;
        unsigned char *said;
    } gates[] = {
        {"AllAlpha", &g->said_all_alpha},
        {"AllBeta", &g->said_all_beta}, /* there is no beta gate now */
        {"CPUStartupBoost", &g->said_cpu_startup_boost},
        {"InPlace", &g->said_in_place},
        {"PerVPAConfig", &g->said_per_vpa_config},
    };

    for (size_t i = 0; i < VPA_COUNT(gates); i++)
        if (strcmp(name, gates[i].name) == 0)
            return gates[i].said;
    return NULL;
}

static int parse_truth(const char *text, unsigned char *out)
{
    static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
                                        "0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < VPA_COUNT(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i < 6 ? SAID_TRUE : SAID_FALSE;
            return 0;
        }
    return -1;
}

/* One item Name=bool. The first name that no gate has is left in *unknown: the list is read on. */
static int parse_gate(struct vpa_gates *g, struct vpa_slice item, char **unknown,
                      struct vpa_error *err)
{
    const char *equals = memchr(item.ptr, '=', item.len);
    struct vpa_slice key = item, value = {0};
    unsigned char said;

    if (equals) {
        key.len = (size_t)(equals - item.ptr);
        value.ptr = equals + 1;
        value.len = item.len - key.len - 1;
        value = vpa_slice_trim(value);
    }
    key = vpa_slice_trim(key);
    vpa_auto_free char *name = vpa_xstrndup(key.ptr, key.len);
    if (!equals)
        return vpa_fail(err, VPA_INVALID, "missing bool value for %s", name);
    vpa_auto_free char *word = vpa_xstrndup(value.ptr, value.len);
    if (parse_truth(word, &said) < 0) {
        vpa_auto_buf quoted = VPA_BUF(VPA_ERROR_TEXT_MAX * 4);
        vpa_quote_go(&quoted, word);
        return vpa_fail(
            err, VPA_INVALID,
            "invalid value of %s=%s, err: strconv.ParseBool: parsing %s: invalid syntax", name,
            word, vpa_buf_text(&quoted));
    }
    unsigned char *gate = gate_named(g, name);
    if (gate)
        *gate = said;
    else if (!*unknown)
        *unknown = VPA_STEAL(name);
    return 0;
}

int vpa_gates_parse(struct vpa_gates *gates, const char *text, struct vpa_error *err)
{
    struct vpa_gates changed = *gates;
    vpa_auto_free char *unknown = NULL;
    const char *rest = text;
    struct vpa_slice item;

    while (vpa_str_split(&rest, ',', &item))
        if (item.len && parse_gate(&changed, item, &unknown, err) < 0)
            return -1;
    if (unknown)
        return vpa_fail(err, VPA_INVALID, "unrecognized feature gate: %s", unknown);
    decide(&changed, changed.preset);
    *gates = changed;
    return 0;
}

/* The gates that were decided by the command line, in name order, as upstream prints them. */
static void format_gates(const void *field, struct vpa_buf *out)
{
    const struct vpa_gates *g = field;
    const struct {
        const char *name;
        unsigned char said;
        bool by_all;
        bool on;
    } gates[] = {
        {"AllAlpha", g->said_all_alpha, false, g->said_all_alpha == SAID_TRUE},
        {"AllBeta", g->said_all_beta, false, g->said_all_beta == SAID_TRUE},
        {"CPUStartupBoost", g->said_cpu_startup_boost, g->said_all_alpha, g->cpu_startup_boost},
        {"InPlace", g->said_in_place, g->said_all_alpha, g->in_place},
        {"PerVPAConfig", g->said_per_vpa_config, g->said_all_alpha, g->per_vpa_config},
    };
    const char *separator = "";

    for (size_t i = 0; i < VPA_COUNT(gates); i++)
        if (gates[i].said || gates[i].by_all) {
            vpa_buf_printf(out, "%s%s=%s", separator, gates[i].name,
                           gates[i].on ? "true" : "false");
            separator = ",";
        }
}

static void preset_gates(void *field)
{
    vpa_gates_preset(field);
}

static int parse_gates(void *field, const char *text, struct vpa_error *err)
{
    return vpa_gates_parse(field, text, err);
}

const struct vpa_flag_type vpa_gates_flag_type = {
    .name = "mapStringBool",
    .preset = preset_gates,
    .parse = parse_gates,
    .format = format_gates,
};
