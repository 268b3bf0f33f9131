#include "vpa/daemon/panic.h"

#include "vpa/base/log.h"

#define WAIT (5 * VPA_SECOND)

int vpa_panic_wait(struct vpa_reflector *reflector, struct vpa_loop *loop, struct vpa_error *err)
{
    struct vpa_error why;

    if (vpa_reflector_wait(&reflector, 1, loop, WAIT, &why) == 0)
        return 0;
    if (vpa_loop_is_stopping(loop)) {
        if (err)
            *err = why;
        return -1;
    }
    VPA_WARN_UNLESS_TOLD(&why, "Cannot tell whether ConfigMap " VPA_PANIC_CONFIG_MAP " exists",
                         VPA_KERR(&why));
    return 0;
}
