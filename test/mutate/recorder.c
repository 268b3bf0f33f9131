/*
 * Preloaded into a test program built with -finstrument-functions: notes the address of every
 * function that is entered, by the program or by what it forks, in the file $MUTATE_MAP (a hash
 * table of 64-bit words), and where objects are mapped in $MUTATE_MAP.maps.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS ((size_t)1 << 16)
#define QUIET __attribute__((no_instrument_function))

static _Atomic uint64_t *table;

void __cyg_profile_func_enter(void *function, void *site) QUIET;
void __cyg_profile_func_exit(void *function, void *site) QUIET;

static QUIET void copy_maps(const char *path)
{
    char block[4096];
    int in = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    int out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, block, sizeof(block))) > 0;)
        if (write(out, block, (size_t)n) < 0)
            break;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
}

__attribute__((constructor)) static QUIET void begin(void)
{
    const char *path = getenv("MUTATE_MAP");
    char maps[4096];

    if (!path)
        return;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)(SLOTS * sizeof(uint64_t))) < 0)
        return;
    void *p = mmap(NULL, SLOTS * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    snprintf(maps, sizeof(maps), "%s.maps", path);
    copy_maps(maps);
    table = p == MAP_FAILED ? NULL : p;
}

void __cyg_profile_func_enter(void *function, void *site)
{
    uint64_t address = (uint64_t)(uintptr_t)function;
    size_t at = (size_t)((address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 48) % SLOTS;

    (void)site;
    for (size_t tries = 0; table && tries < SLOTS; tries++, at = (at + 1) % SLOTS) {
        uint64_t there = 0;

        if (table[at] == address ||
            __atomic_compare_exchange_n((uint64_t *)&table[at], &there, address, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            there == address)
            return;
    }
}

void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
}
