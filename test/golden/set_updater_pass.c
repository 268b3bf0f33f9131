/* Set updater_pass: whole passes of the updater, every write, event and metric. */
#include "updater_case.h"
#include "updater_flow.h"
#include "vpa/base/str.h"

static void run(struct golden_case *c)
{
    updater_flow_case(c);
}

static void undone(struct golden_case *c)
{
    updater_case_undone(c, run);
}

static void invariant(struct golden_case *c)
{
    updater_flow_invariant(c);
}

/* U19 came after the tags: a scale that could not be read in one pass and is asked for again in the
 * next. */
static const char *touches(struct golden_case *c)
{
    size_t i = 0;

    vpa_json_foreach (pass, GOLDEN_IN(c, "passes")) {
        if (i++ > 0 && vpa_json_find(pass, "scales"))
            return "U19";
        vpa_json_foreach (fault, vpa_json_find(pass, "faults"))
            if (vpa_str_ends_with(vpa_or_empty(vpa_json_string(vpa_json_find(fault, "path"))),
                                  "/scale"))
                return "U19";
    }
    return updater_case_touches(c);
}

const struct golden_set golden_set_updater_pass = {.name = "updater_pass",
                                                   .run = run,
                                                   .invariant = invariant,
                                                   .undone = undone,
                                                   .licences = updater_licences,
                                                   .touches = touches};
