#include "vpa/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vpa/base/buf.h"

int vpa_read_file(const char *path, size_t max, char **out, size_t *len, struct vpa_error *err)
{
    vpa_auto_buf buf = {0};
    /* Non-blocking, so that a FIFO in the place of a file does not hang the daemon. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 0;

    vpa_buf_init(&buf, max);
    if (fd < 0)
        return vpa_fail(err, errno == ENOENT ? VPA_NOT_FOUND : VPA_INVALID, "open %s: %s", path,
                        strerror(errno));
    for (;;) {
        size_t room = max - buf.len < 65536 ? max - buf.len : 65536;
        char extra;

        if (room == 0) {
            n = read(fd, &extra, 1);
            break;
        }
        n = read(fd, vpa_buf_reserve(&buf, room), room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        vpa_buf_advance(&buf, (size_t)n);
    }
    int saved = errno;
    close(fd);
    if (n < 0)
        return vpa_fail(err, VPA_INVALID, "read %s: %s", path, strerror(saved));
    if (n > 0)
        return vpa_fail(err, VPA_LIMIT, "read %s: longer than %zu bytes", path, max);
    *len = buf.len;
    *out = vpa_buf_take(&buf);
    return 0;
}
