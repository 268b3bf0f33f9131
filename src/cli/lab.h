/*
 * `kubectl vpa lab`: recommendations tried out on recorded usage, by the code that the recommender
 * runs. One file per part:
 *
 *     lab score DIR       policies x traces: how much is reserved, how much is missing
 *     lab drive POLICY    one policy in a closed loop over standard input and output
 *     lab replay FILE     a VPA object over a history: what would have been done, and a picture
 *     lab checkpoint      what policies recommend from what a recommender has stored
 *     lab_trace           reading, folding into windows
 *     lab_top             recordings of kubectl top
 *     lab_policy          algorithms under short names, at work on one container
 *     lab_measure         slack, unserved, OOMs, means, intervals
 */
#ifndef CLI_LAB_H
#define CLI_LAB_H

#include <stdio.h>

#include "cli.h"
#include "lab_policy.h"
#include "lab_trace.h"

int lab_replay_config(struct cli *cli, const char *path, struct vpa_error *err) VPA_MUST_CHECK;
/* path NULL: from the cluster. */
int lab_checkpoint(struct cli *cli, const char *path, struct vpa_error *err) VPA_MUST_CHECK;
int lab_score(struct cli *cli, const char *folder, struct vpa_error *err) VPA_MUST_CHECK;
/*
 * The closed loop: lines of `in`, an answer on `out` for each `recommend`:
 *
 *     trace <id> <sample interval in seconds>    the first line
 *     recommend <t>                              answer: <cpu cores or -> <memory bytes or ->
 *     sample <t> <cpu cores or -> <memory bytes or ->
 *     oom <t> <memory limit that was hit>
 *
 * End of input is the end of the trace. -1: a line that is not one of these, or out of order; the
 * error names it.
 */
int lab_drive(const struct lab_policy *policy, FILE *in, FILE *out,
              struct vpa_error *err) VPA_MUST_CHECK;

extern const struct cli_command cli_lab;

#endif
