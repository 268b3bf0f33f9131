#include "vpa/daemon/size_label.h"

#include <stddef.h>

#include "vpa/base/mem.h"

const char *vpa_metric_size_log2(int64_t pods)
{
    static const char *const labels[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",
                                         "7",  "8",  "9",  "10", "11", "12", "13",
                                         "14", "15", "16", "17", "18", "19", "20"};
    size_t power = 0;

    for (; pods > 1 && power < VPA_COUNT(labels) - 1; pods /= 2)
        power++;
    return labels[power];
}
