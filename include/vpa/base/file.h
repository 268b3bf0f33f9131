/*
 * Reading files, for the shell: the core never includes this (test/lint/check-layers).
 */
#ifndef VPA_BASE_FILE_H
#define VPA_BASE_FILE_H

#include <stddef.h>

#include "vpa/base/error.h"

/* A whole file of at most max bytes as a heap string; the error names the file. */
int vpa_read_file(const char *path, size_t max, char **out, size_t *len,
                  struct vpa_error *err) VPA_MUST_CHECK;

#endif
