/* What the sets about the admission controller's daemon have in common. */
#ifndef ADMISSION_CASE_H
#define ADMISSION_CASE_H

#include "admission.h"
#include "golden.h"

/* The settings by the product's own parser, from `first` (NULL ends), the case's args, and `last`
 * (may be NULL). -1: not accepted. */
int admission_case_config(struct golden_case *c, const char *const *first, const char *last,
                          struct admission_config *config, struct vpa_error *err);

#endif
