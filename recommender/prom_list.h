/*
 * One list in a JSON document, element by element as the text comes, so that a list of any length
 * costs the memory of one element.
 *
 *     static const char *const path[] = {"data", "result"};
 *     struct prom_list list;
 *     prom_list_init(&list, path, VPA_COUNT(path), ELEMENT_MAX, on_element, ctx);
 *     while ((n = read(fd, chunk, sizeof chunk)) > 0)
 *         if (prom_list_feed(&list, chunk, n) != PROM_LIST_FITS) ...
 *     vpa_json_parse(&arena, vpa_buf_text(&list.around), list.around.len, &root, err) ...
 *     if (list.damage) ...
 *     prom_list_release(&list);
 *
 * Only strings and the balance of brackets are looked at here. Elements are parsed by who takes
 * them, and the text around them at the end: only when that is a whole document, and nothing is
 * damaged, was what came before of use.
 */
#ifndef RECOMMENDER_PROM_LIST_H
#define RECOMMENDER_PROM_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/base/buf.h"

/* Longest text around the elements. */
#define PROM_LIST_AROUND_MAX ((size_t)1 << 20)

/* The text of one element, not yet parsed; borrowed for the call. False: no more are wanted. */
typedef bool (*prom_element_fn)(void *ctx, const char *text, size_t len);

struct prom_value { /* how far into a value the text is */
    size_t depth;   /* open brackets */
    bool in_string;
    bool escaped;
};
enum prom_place {
    PROM_AROUND, /* outside the list */
    PROM_BEFORE, /* an element, or the end of a list that has none yet */
    PROM_INSIDE, /* of an element */
    PROM_BEHIND, /* an element */
    PROM_PASSED, /* the rest of the list is of no use */
};
struct prom_list {
    const char *const *path; /* names of the members that lead to the list */
    size_t levels;
    size_t element_max;
    prom_element_fn on_element;
    void *ctx;
    struct vpa_buf around;   /* the document, with [] for the list */
    bool seen;               /* there was a list */
    const char *damage;      /* "does not end"; NULL: none */
    enum prom_place place;   /* the rest is private */
    size_t matched;          /* members of the path that the text is in */
    size_t name;             /* where the last string in `around` begins */
    bool at_member;          /* the next value is the next one of the path */
    bool first;              /* no element yet */
    struct prom_value outer; /* of the document */
    struct prom_value inner; /* of the element, or of the list when it is passed over */
    struct vpa_buf element;  /* what came of it in earlier pieces */
};

void prom_list_init(struct prom_list *list, const char *const *path, size_t levels,
                    size_t element_max, prom_element_fn on_element, void *ctx);
void prom_list_release(struct prom_list *list);
enum prom_list_fit { PROM_LIST_FITS, PROM_LIST_ELEMENT_LONG, PROM_LIST_AROUND_LONG };
/* When it does not fit nothing more may be fed. */
enum prom_list_fit prom_list_feed(struct prom_list *list, const char *bytes, size_t len);

#endif
