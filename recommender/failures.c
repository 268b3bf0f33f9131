#include "failures.h"

#include <stdlib.h>

#include "metrics.h"
#include "vpa/base/log.h"
#include "vpa/base/mem.h"

void failures_add(struct failures *f, const char *ns, const char *name, const struct vpa_error *err)
{
    VPA_V(5, f->message, VPA_KV("namespace", ns), VPA_KV("name", name), VPA_KERR(err));
    if (f->count++ > 0)
        return;
    f->first = vpa_xjoin(ns, '/', name);
    f->err = *err;
}

void failures_report(struct failures *f)
{
    if (f->count == 0)
        return;
    VPA_ERROR_UNLESS_TOLD(&f->err, f->message, VPA_KV("failures", (int64_t)f->count),
                          VPA_KV("first", f->first), VPA_KERR(&f->err));
    vpa_metric_add(&metrics_failures, (double)f->count, f->message);
    free(VPA_STEAL(f->first));
    f->count = 0;
}
