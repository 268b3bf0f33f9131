/*
 * Policies of the laboratory, and one of them at work on one container.
 *
 * A policy is an algorithm of libvpa with its parameters, under a short name. It learns what a
 * container uses and says what is to be in force; the same state, whoever asks: a replay of a
 * trace, the closed loop on standard input, a picture.
 *
 *     struct lab_run *run = lab_run_new(lab_policy_find("vpa"));
 *     lab_run_recommend(run, 600, &allocation);      window 600 begins
 *     lab_run_sample(run, 610, 0.2, 3e8);            what was used in it
 *     lab_run_oom(run, 640, 3e8);                    a kill in it: memory above 3e8 was wanted
 *     lab_run_free(run);
 *
 * Samples are folded into windows of 300 s here, so that every policy learns the same: of CPU all
 * samples at the window's begin, of memory the peak.
 */
#ifndef CLI_LAB_POLICY_H
#define CLI_LAB_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab_policy_ops.h"
#include "lab_trace.h"

const struct lab_policy *lab_policy_find(const char *name); /* NULL: there is none */
/* The policy of that name; -1 lists those that there are. */
int lab_policy_get(const char *name, const struct lab_policy **out,
                   struct vpa_error *err) VPA_MUST_CHECK;
const struct lab_policy *lab_policy_at(size_t i); /* NULL behind the last */
const char *lab_policy_name(const struct lab_policy *policy);

/* What a policy makes of a histogram that VPA's own algorithm has learned. False: it learns
 * otherwise, and such a histogram is of no use to it. */
bool lab_policy_estimator(const struct lab_policy *policy, struct vpa_estimator *out);

struct lab_run;
struct lab_run *lab_run_new(const struct lab_policy *policy);
void lab_run_free(struct lab_run *run);
/* What is to be in force from now on; closes the window before. Times do not go back. */
void lab_run_recommend(struct lab_run *run, int64_t second, struct lab_allocation *out);
/* Either may be NaN: unknown. */
void lab_run_sample(struct lab_run *run, int64_t second, double cpu, double memory);
void lab_run_oom(struct lab_run *run, int64_t second, double limit);

/* What would have been in force in each window, from earlier windows only: arrays of t->windows,
 * NaN while unknown. Usage above a limit is hidden from the policy and told as an OOM, but not
 * before the first scored window. */
void lab_run_trace(const struct lab_policy *policy, const struct lab_trace *t, double *cpu,
                   double *memory);

#endif
