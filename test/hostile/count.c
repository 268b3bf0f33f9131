#include "count.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool count_open(struct count *count)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    *count = (struct count){.fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0)};
    return count->fd >= 0;
}

void count_start(struct count *count)
{
    if (count->fd < 0)
        return;
    ioctl(count->fd, PERF_EVENT_IOC_RESET, 0);
    ioctl(count->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void count_stop(struct count *count)
{
    uint64_t n = 0;

    if (count->fd < 0)
        return;
    ioctl(count->fd, PERF_EVENT_IOC_DISABLE, 0);
    if (read(count->fd, &n, sizeof(n)) != (ssize_t)sizeof(n))
        n = 0;
    count->instructions += n;
    count->last = n;
}

void count_close(struct count *count)
{
    if (count->fd >= 0)
        close(count->fd);
}

long count_peak_kib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}
