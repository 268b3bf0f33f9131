/* Proofs and breakers, asked and told in few words. */
#ifndef TEST_BREAKER_FIXTURE_H
#define TEST_BREAKER_FIXTURE_H

#include <check.h>
#include <stdlib.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/proof.h"

extern struct vpa_proof *proof;
extern const vpa_time start;

void setup(void);
void teardown(void);
/* An eviction, begun now. */
struct vpa_proof_id id(const char *vpa, const char *group);
enum vpa_proof_permit ask(const char *vpa, const char *group, vpa_time now);
bool sent(const char *vpa, const char *group, vpa_time now);
enum vpa_breaker_change judge(const char *vpa, const char *group, enum vpa_verdict verdict,
                              vpa_time now);
/* At the start. */
void failed(const char *vpa, enum vpa_verdict verdict);
/* Which VPAs are there, for a sweep: none, all (a pod may take as long to end as it likes), n/a. */
bool none(void *ctx, const char *vpa);
bool all_live(void *ctx, const char *vpa);
bool is_a(void *ctx, const char *vpa);

#endif
