/* The label by which upstream's metrics group VPAs of a size. */
#ifndef VPA_DAEMON_SIZE_LABEL_H
#define VPA_DAEMON_SIZE_LABEL_H

#include <stdint.h>

/* The label vpa_size_log2 for a VPA with that many pods: "0" to "20". */
const char *vpa_metric_size_log2(int64_t pods);

#endif
