/*
 * Feature gates. All three are on unless told otherwise (upstream: off); an explicit gate wins over
 * AllAlpha and AllBeta whatever the order.
 */
#ifndef VPA_DAEMON_GATES_H
#define VPA_DAEMON_GATES_H

#include "vpa/base/flags.h"

struct vpa_gates {
    bool cpu_startup_boost; /* CPUStartupBoost */
    bool in_place;          /* InPlace */
    bool per_vpa_config;    /* PerVPAConfig */
    /* Private: the default of all three, and what was said explicitly: 0 nothing, 1 false, 2 true.
     */
    bool preset;
    unsigned char said_all_alpha;
    unsigned char said_all_beta;
    unsigned char said_cpu_startup_boost;
    unsigned char said_in_place;
    unsigned char said_per_vpa_config;
};
/* One more --feature-gates value; on an error nothing changes. */
int vpa_gates_parse(struct vpa_gates *gates, const char *text,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* Our defaults (all on), and upstream's (all off) for comparisons with it. */
void vpa_gates_preset(struct vpa_gates *gates);
void vpa_gates_preset_upstream(struct vpa_gates *gates);

/* A row of the flag table with a field struct vpa_gates. */
extern const struct vpa_flag_type vpa_gates_flag_type;
#define VPA_FLAG_GATES(NAME, STRUCT, FIELD, HELP, ...)                                             \
    VPA_FLAG_TYPED(NAME, STRUCT, FIELD, struct vpa_gates, &vpa_gates_flag_type, HELP, ##__VA_ARGS__)

#endif
