#include "breaker_fixture.h"

struct vpa_proof *proof;
const vpa_time start = 1000 * VPA_HOUR;

void setup(void)
{
    proof = vpa_proof_new(VPA_MINUTE);
}

void teardown(void)
{
    vpa_proof_free(proof);
}

struct vpa_proof_id id(const char *vpa, const char *group)
{
    const struct vpa_breaker *b = vpa_proof_breaker(proof, vpa, VPA_PROOF_EVICTION);

    return (struct vpa_proof_id){.vpa = vpa,
                                 .group = group,
                                 .way = VPA_PROOF_EVICTION,
                                 .start = vpa_proof_start(proof),
                                 .opening = b ? b->opening : 0};
}

enum vpa_proof_permit ask(const char *vpa, const char *group, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_ask(proof, &i, now);
}

bool sent(const char *vpa, const char *group, vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_sent(proof, &i, now);
}

enum vpa_breaker_change judge(const char *vpa, const char *group, enum vpa_verdict verdict,
                              vpa_time now)
{
    struct vpa_proof_id i = id(vpa, group);

    return vpa_proof_judge(proof, &i, verdict, "what was seen", now);
}

void failed(const char *vpa, enum vpa_verdict verdict)
{
    judge(vpa, "g", verdict, start);
}

bool none(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return false;
}

bool all_live(void *ctx, const char *vpa)
{
    (void)ctx;
    (void)vpa;
    return true;
}

bool is_a(void *ctx, const char *vpa)
{
    (void)ctx;
    return vpa_str_eq(vpa, "n/a");
}
