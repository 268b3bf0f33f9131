#include "clock_file.h"

void vpa_clock_file_write(struct vpa_clock_file *file, int64_t virtual_base_ns,
                          int64_t monotonic_base_ns, double rate)
{
    __atomic_fetch_add(&file->generation, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&file->virtual_base_ns, virtual_base_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&file->monotonic_base_ns, monotonic_base_ns, __ATOMIC_RELEASE);
    __atomic_store(&file->rate, &rate, __ATOMIC_RELEASE);
    __atomic_fetch_add(&file->generation, 1, __ATOMIC_ACQ_REL);
}
