#include "admission_case.h"

#define ARGS_MAX 32

int admission_case_config(struct golden_case *c, const char *const *first, const char *last,
                          struct admission_config *config, struct vpa_error *err)
{
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = config};
    char *argv[ARGS_MAX] = {NULL};
    int argc = 0;

    argv[argc++] = vpa_arena_strdup(c->arena, "vpa-admission-controller");
    for (; *first && argc < ARGS_MAX - 2; first++)
        argv[argc++] = vpa_arena_strdup(c->arena, *first);
    vpa_json_foreach (arg, GOLDEN_IN(c, "args")) {
        if (argc < ARGS_MAX - 2)
            argv[argc++] = vpa_arena_strdup(c->arena, vpa_json_string(arg));
    }
    if (last)
        argv[argc++] = vpa_arena_strdup(c->arena, last);
    return vpa_flags_parse(&flags, c->arena, argc, argv, err);
}
