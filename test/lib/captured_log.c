#include "captured_log.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vpa/base/log.h"

static int file = -1;

void capture_log(int level)
{
    struct vpa_error err;

    file = memfd_create("log", MFD_CLOEXEC);
    const struct vpa_log_options options = {.level = level, .fd = file};
    int rc = vpa_log_configure(&options, &err);
    assert(file >= 0 && rc == 0);
    (void)rc;
}

const char *logged_text(void)
{
    static char text[1 << 20];
    ssize_t len = pread(file, text, sizeof(text) - 1, 0);

    assert(len >= 0);
    text[len] = '\0';
    return text;
}

size_t logged(const char *text)
{
    size_t count = 0;

    for (const char *at = logged_text(); (at = strstr(at, text)); at++)
        count++;
    return count;
}

void forget_log(void)
{
    int rc = ftruncate(file, 0);

    assert(rc == 0);
    (void)rc;
    lseek(file, 0, SEEK_SET);
}
