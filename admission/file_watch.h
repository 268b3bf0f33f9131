/*
 * Notices that a file was written, replaced, removed or came back, by asking for its identity, size
 * and time of modification. Mounted Secrets are symbolic links, which are followed: an update
 * changes the identity.
 */
#ifndef ADMISSION_FILE_WATCH_H
#define ADMISSION_FILE_WATCH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "vpa/base/error.h"

struct file_watch {
    const char *path; /* borrowed */
    bool exists;
    struct stat last;
};

/* Fails when the file is not there. */
int file_watch_init(struct file_watch *watch, const char *path,
                    struct vpa_error *err) VPA_MUST_CHECK;
/* Whether something happened since the last call. */
bool file_watch_changed(struct file_watch *watch);

#endif
