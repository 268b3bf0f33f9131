/*
 * Sets of fields, as metadata.managedFields keeps them.
 *
 * A set is the object that fieldsV1 is: "f:name" members, "k:{...}" for elements of keyed lists,
 * "v:..." for members of sets, "." for the element or map itself. Sets are built from an object
 * along its schema, united, subtracted and walked as ordinary JSON values. A path is a list of such
 * segments.
 */
#ifndef KUBESIM_FIELDS_H
#define KUBESIM_FIELDS_H

#include "sim.h"

/* Whether a value is owned as a whole. */
bool fields_leaf(const struct schema *s, const struct jv *v);
/* The segment of an element of a keyed list, and of a member of a set. */
const char *fields_element_key(struct vpa_arena *a, const struct schema *s,
                               const struct jv *element);
const char *fields_value_key(struct vpa_arena *a, const struct jv *v);
/* All that can be owned of an object; dots: with maps and elements that stand for themselves. */
struct jv *fields_of_object(struct vpa_arena *a, const struct restype *t, const struct jv *object,
                            bool dots);

/* Puts y into x, answers x. */
struct jv *fields_unite(struct vpa_arena *a, struct jv *x, const struct jv *y);
/* x without the leaves of y; nodes that become empty go too, and with `dots` those that only stand
 * for themselves. What is owned as a whole stays when y has only something below it. */
void fields_take(struct jv *x, const struct jv *y, bool dots);
void fields_subtract(struct jv *x, const struct jv *y); /* with dots */
bool fields_have(const struct jv *set, const struct jv *path);
/* The path itself, not only something below it. */
bool fields_have_whole(const struct jv *set, const struct jv *path);
void fields_add_path(struct vpa_arena *a, struct jv *set, const struct jv *path);

/* What stands at a segment or path of a value; NULL when nothing does. */
struct jv *fields_child(struct vpa_arena *a, const struct schema *s, const struct jv *v,
                        const char *segment);
const struct schema *fields_child_schema(const struct schema *s, const char *segment);
const struct jv *fields_value_at(struct vpa_arena *a, const struct restype *t,
                                 const struct jv *object, const struct jv *path);

/* Walks a set; dotted: the path as messages show it. */
struct fields_visit {
    struct vpa_arena *a;
    struct jv *path;
    void (*leaf)(struct fields_visit *w, const struct schema *s, const char *dotted);
    void (*inner)(struct fields_visit *w, const char *dotted); /* what has leaves; may be NULL */
    void *ctx;
};
void fields_walk(struct fields_visit *w, const struct schema *s, const struct jv *set,
                 const char *dotted);

#endif
