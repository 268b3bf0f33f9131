/*
 * One requirement of a label selector: shared by the structured and the text form.
 */
#ifndef VPA_API_LABELS_PRIVATE_H
#define VPA_API_LABELS_PRIVATE_H

#include "vpa/api/labels.h"

/* Longest text of the violations of one requirement; the error that carries it is shorter. */
#define REQUIREMENT_TEXT_MAX (1 << 20)

/* Errors are upstream's texts; path is what stands before ": Invalid value". */
int vpa_check_label_key(const char *path, const char *key, struct vpa_error *err) VPA_MUST_CHECK;
int vpa_check_requirement(const struct vpa_requirement *r, struct vpa_error *err) VPA_MUST_CHECK;
/* A whole base 10 text with optional sign, as Go's ParseInt reads it. */
bool vpa_label_integer(const char *text, int64_t *out);
/* Ordered by key, equal keys in the given order. Returns items itself or a sorted copy. */
const struct vpa_requirement *
vpa_sort_requirements(struct vpa_arena *arena, const struct vpa_requirement *items, size_t count);

#endif
