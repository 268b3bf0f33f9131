#include "lab.h"

#include <string.h>

#include "vpa/base/str.h"

static int run_score(struct cli *cli, struct vpa_error *err)
{
    return lab_score(cli, cli->args[1], err);
}

static int run_drive(struct cli *cli, struct vpa_error *err)
{
    const struct lab_policy *policy;

    if (lab_policy_get(cli->args[1], &policy, err) < 0)
        return -1;
    return lab_drive(policy, stdin, stdout, err);
}

static int run_replay(struct cli *cli, struct vpa_error *err)
{
    return lab_replay_config(cli, cli->args[1], err);
}

static int run_checkpoint(struct cli *cli, struct vpa_error *err)
{
    return lab_checkpoint(cli, cli->arg_count > 1 ? cli->args[1] : NULL, err);
}

static const struct {
    const char *name;
    const char *argument; /* NULL: it may be left out */
    int (*run)(struct cli *cli, struct vpa_error *err);
} parts[] = {
    {"score", "DIR", run_score},
    {"drive", "POLICY", run_drive},
    {"replay", "FILE", run_replay},
    {"checkpoint", NULL, run_checkpoint},
};

static int run(struct cli *cli)
{
    struct vpa_error err;

    for (size_t i = 0; i < VPA_COUNT(parts); i++) {
        if (strcmp(cli->args[0], parts[i].name) != 0)
            continue;
        if (parts[i].argument && cli->arg_count < 2) {
            vpa_error_set(&err, VPA_INVALID, "\"lab %s\" needs %s", parts[i].name,
                          parts[i].argument);
            return cli_complain_of_usage(cli, &err);
        }
        return parts[i].run(cli, &err) < 0 ? cli_complain(cli, &err) : CLI_OK;
    }
    vpa_error_set(&err, VPA_INVALID, "\"lab %.60s\" is not one of score, drive, replay, checkpoint",
                  cli->args[0]);
    return cli_complain_of_usage(cli, &err);
}

static const struct cli_option options[] = {
    {"policy", 0, "NAME[,NAME]", "score, checkpoint: only these policies; default all"},
    {"group", 0, "NAME[,NAME]", "score: only the traces of these groups"},
    {"by-group", 0, NULL, "score: one more line for each group"},
    {"rounds", 0, "N", "score: draws of the bootstrap intervals, 0 for none; default 400"},
    {"seed", 0, "N", "score: of these draws; default 1"},
    {"csv", 0, NULL, "score: comma separated, all digits"},
    {"json", 0, NULL, "score: JSON, all digits"},
    {"config", 0, "FILE", "replay: the VerticalPodAutoscaler, as YAML or JSON"},
    {"container", 0, "NAME",
     "replay: the container; default that of a recording, else the first that a policy names. "
     "checkpoint: only this one"},
    {"pods", 0, "PREFIX", "replay: of a recording only pods whose names begin so"},
    {"vpa", 0, "NAME", "checkpoint: only those of this VPA"},
    {"percentile", 0, "P[,P]", "checkpoint: target percentiles besides, as 0.8"},
    {"svg", 0, "FILE", "replay: a picture of it"},
    {"memory", 0, "FILE", "replay: Prometheus' answer for memory; FILE is then that for CPU"},
};

const struct cli_command cli_lab = {
    .name = "lab",
    .summary = "Try out recommendations on recorded usage",
    .arguments = "score DIR | drive POLICY | replay FILE | checkpoint [FILE]",
    .min_args = 1,
    .max_args = 2,
    .details =
        "score: how much policies reserve too much and too little on the traces of a folder.\n"
        "drive: one policy in a closed loop; lines `trace`, `recommend`, `sample`, `oom` on\n"
        "standard input, answers on standard output.\n"
        "replay: one VPA object over one trace: what would have been recommended, evicted, "
        "resized.\n"
        "checkpoint: what policies recommend from the checkpoints of a file (kubectl get "
        "vpacheckpoint\n"
        "-o yaml) or, without one, of the cluster. A checkpoint is a histogram: it says how much "
        "was\n"
        "used, not when, and cannot be replayed.\n"
        "Traces are CSV with the header timestamp_seconds,cpu_cores,memory_bytes, or recordings "
        "of\n"
        "kubectl top pods --containers, named *.top: its outputs one after the other, before each "
        "a\n"
        "line with the time (RFC 3339 or whole Unix seconds); rows are POD NAME CPU MEMORY, with "
        "the\n"
        "namespace in front as -A prints it; its heading and empty lines may be there, any other "
        "line\n"
        "is an error. replay also takes answers of Prometheus' query_range.\n"
        "Only checkpoint asks a cluster.",
    .example =
        "  # VPA's own algorithm beside Plumb's on the traces of a folder\n"
        "  kubectl vpa lab score --policy vpa,plumb ./traces\n"
        "  # What a VPA would have done last week\n"
        "  kubectl vpa lab replay --config vpa.yaml --svg week.svg week.csv\n"
        "  # The same from a recording of kubectl top\n"
        "  while sleep 60; do date -u +%FT%TZ; kubectl top pods -n shop --containers; done > "
        "shop.top\n"
        "  kubectl vpa lab replay --config vpa.yaml --container app --pods web- shop.top\n"
        "  # What other percentiles would recommend from what was learned\n"
        "  kubectl vpa lab checkpoint -n shop --vpa web --percentile 0.8,0.99",
    .options = options,
    .option_count = VPA_COUNT(options),
    .run = run,
};
