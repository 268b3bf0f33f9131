/*
 * The part of the Common Expression Language that rules of custom resources commonly use: has(),
 * member access on self, size(), string, number and boolean literals, == != < <= > >= in, && || !,
 * ?: and parentheses. Anything else is an error that names the place.
 */
#ifndef KUBESIM_CEL_H
#define KUBESIM_CEL_H

#include "jv.h"

int cel_eval(const char *rule, const struct jv *self, bool *out,
             struct vpa_error *err) VPA_MUST_CHECK;

#endif
