/*
 * Labels and label selectors: the structured form of workloads (metav1.LabelSelector) and the text
 * form of the scale subresource, with upstream's error texts (specification api.md 11.3 and 11.4).
 */
#ifndef VPA_API_LABELS_H
#define VPA_API_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/json/json.h"

/* Pairs sorted by the bytes of "key=", each key once: "a-b" stands before "a", as '-' is below '='.
 * Used for labels and annotations; borrowed texts. */
struct vpa_label {
    const char *key;
    const char *value;
};
struct vpa_labels {
    const struct vpa_label *items;
    size_t count;
    bool present; /* false: the member was absent or null, which differs from {} in places */
};

/* NULL when the key is absent. */
const char *vpa_labels_get(const struct vpa_labels *labels, const char *key);
/* Decodes an object of strings; absent and null give {present=false}. Texts are copied to the
 * arena. */
int vpa_labels_decode(struct vpa_arena *arena, const struct vpa_json *node, struct vpa_labels *out,
                      struct vpa_error *err) VPA_MUST_CHECK;
/* "k=v,k=v" sorted bytewise by the pairs: upstream's text of a label set. */
void vpa_labels_key(const struct vpa_labels *labels, struct vpa_buf *out);
/* The order of these texts, below, at or above 0, without writing them. */
int vpa_labels_compare(const struct vpa_labels *a, const struct vpa_labels *b);

enum vpa_selector_op {
    VPA_SELECT_EQUALS,        /* k=v */
    VPA_SELECT_DOUBLE_EQUALS, /* k==v, text form only */
    VPA_SELECT_NOT_EQUALS,    /* k!=v, text form only */
    VPA_SELECT_IN,
    VPA_SELECT_NOT_IN,
    VPA_SELECT_EXISTS,
    VPA_SELECT_DOES_NOT_EXIST,
    VPA_SELECT_GREATER, /* text form only */
    VPA_SELECT_LESS,    /* text form only */
};
struct vpa_requirement {
    const char *key;
    enum vpa_selector_op op;
    const char *const *values; /* sorted */
    size_t value_count;
};
/* The value that the label must have; NULL: it may have others, or be absent. */
const char *vpa_requirement_value(const struct vpa_requirement *r);
/* Requirements sorted by key; immutable; lives in an arena. */
struct vpa_selector {
    const struct vpa_requirement *items;
    size_t count;
    bool nothing; /* matches no object at all */
};

/* metav1.LabelSelector: absent or null selects nothing, {} everything. */
int vpa_selector_decode(struct vpa_arena *arena, const struct vpa_json *node,
                        struct vpa_selector *out, struct vpa_error *err) VPA_MUST_CHECK;
/* A plain map as equalities (CronJob template labels, ReplicationController selector). */
int vpa_selector_from_labels(struct vpa_arena *arena, const struct vpa_labels *labels,
                             struct vpa_selector *out, struct vpa_error *err) VPA_MUST_CHECK;
/* The text grammar of labels.Parse. */
int vpa_selector_parse(struct vpa_arena *arena, const char *text, struct vpa_selector *out,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* The text of a Scale's status.selector after upstream's detour through the structured form: "!=",
 * "<" and ">" are errors, "==" becomes "=", lists lose duplicates. The error is the one of the
 * scale GET. */
int vpa_selector_parse_scale(struct vpa_arena *arena, const char *text, struct vpa_selector *out,
                             struct vpa_error *err) VPA_MUST_CHECK;
bool vpa_selector_matches(const struct vpa_selector *selector, const struct vpa_labels *labels);
/* Upstream's text; "" for nothing and for everything. */
void vpa_selector_format(const struct vpa_selector *selector, struct vpa_buf *out);
struct vpa_selector vpa_selector_copy(struct vpa_arena *arena, const struct vpa_selector *selector);

#endif
