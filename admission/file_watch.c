#include "file_watch.h"

#include <errno.h>
#include <string.h>

int file_watch_init(struct file_watch *watch, const char *path, struct vpa_error *err)
{
    *watch = (struct file_watch){.path = path, .exists = true};
    if (stat(path, &watch->last) < 0)
        return vpa_fail(err, VPA_NOT_FOUND, "cannot watch %s: %s", path, strerror(errno));
    return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(a->st_mtim, b->st_mtim);
}

bool file_watch_changed(struct file_watch *watch)
{
    struct stat now;
    bool exists = stat(watch->path, &now) == 0;
    bool changed = exists != watch->exists || (exists && !same_file(&now, &watch->last));

    watch->exists = exists;
    if (exists)
        watch->last = now;
    return changed;
}
