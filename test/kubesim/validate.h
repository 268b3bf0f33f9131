/* What the parts of the validation share: reasons, texts, forms of names. */
#ifndef KUBESIM_VALIDATE_H
#define KUBESIM_VALIDATE_H

#include "sim.h"

#define INVALID "FieldValueInvalid"
#define REQUIRED "FieldValueRequired"
#define FORBIDDEN "FieldValueForbidden"
#define UNSUPPORTED "FieldValueNotSupported"
#define DUPLICATE "FieldValueDuplicate"

#define SUBDOMAIN                                                                                  \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "   \
    "'.', and must start "                                                                         \
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "    \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL                                                                                      \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "   \
    "must start and end "                                                                          \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"

bool is_one_of(const char *word, const char *const *words, size_t count);
bool is_dns_label(const char *text, size_t len);
bool is_dns_subdomain(const char *text);
/* Invalid value: "VALUE": WHY */
void field_wrong(struct ctx *c, struct field_errors *errors, const char *field, const char *value,
                 const char *why);
void validate_limit_range(struct ctx *c, const struct jv *object, struct field_errors *errors);

#endif
