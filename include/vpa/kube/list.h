/*
 * Reads a collection of the API server to its end: LIST in pages of 500. Each item is cut out of
 * the answer as it comes and parsed into an arena that the next one reuses, and a page is asked for
 * only when the one before has been handed on: the memory is that of the longest item, whatever the
 * collection holds.
 *
 *     struct vpa_list_request request = {
 *         .path = "/api/v1/pods", .paged = true, .timeout = VPA_MINUTE};
 *     if (vpa_list_each(client, &request, on_item, ctx, &err) < 0)
 *         ...                             // pumps the loop; half a list is an error
 *
 * Items come without metadata.managedFields, and without what else the caller leaves out.
 *
 * The reflector (reflector.h) begins with the same list and goes on with a watch.
 */
#ifndef VPA_KUBE_LIST_H
#define VPA_KUBE_LIST_H

#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/kube/client.h"

#define VPA_LIST_PAGE 500
/* Longest single item; etcd's own limit is 1.5 MiB. */
#define VPA_LIST_ITEM_MAX ((size_t)8 << 20)
/* Longest resourceVersion: it is a few digits, and goes into paths. */
#define VPA_LIST_VERSION_MAX ((size_t)1024)

struct vpa_list_request { /* texts are copied */
    const char *path;     /* of the collection; may have a query */
    bool paged;           /* false: the first page has no limit */
    const char *version;  /* resourceVersion asked for; NULL: the newest */
    size_t item_max;      /* 0: VPA_LIST_ITEM_MAX */
    /* Of the items, see vpa_json_parse_without. NULL: vpa_meta_unread. */
    const char *const *left_out;
    vpa_duration timeout; /* of one answer; 0: that of the client */
    /* Of vpa_list_each: */
    bool with_unreadable;  /* also items that cannot be read */
    vpa_duration patience; /* with one page; 0: timeout and a minute */
    /* Told instead, and the list goes on; may be NULL. */
    void (*unreadable)(void *ctx, const struct vpa_error *why);
};

struct vpa_list_end {
    const struct vpa_error *err;           /* NULL: the list has come to its end */
    const struct vpa_kube_result *refused; /* NULL: it was not the server that ended it */
    const char *version;                   /* of the list; "" when it has none */
    unsigned pages;                        /* that were read to their end before this one */
};

struct vpa_list_handler {
    void *ctx;
    /* item lives until the function returns, text is its source. -1 with err ends the list. */
    int (*item)(void *ctx, const struct vpa_json *item, struct vpa_slice text,
                struct vpa_error *err);
    /* Instead of it for what is not JSON or too long; then text is only its beginning. NULL: that
     * ends the list. */
    int (*unreadable)(void *ctx, struct vpa_slice text, const struct vpa_error *why,
                      struct vpa_error *err);
    /* Last of all; the listing is gone when it returns. */
    void (*done)(void *ctx, const struct vpa_list_end *end);
};

struct vpa_listing;
struct vpa_listing *vpa_listing_start(struct vpa_kube_client *client,
                                      const struct vpa_list_request *request,
                                      const struct vpa_list_handler *handler);
/* No callback comes any more. NULL is allowed. */
void vpa_listing_cancel(struct vpa_listing *listing);

/* item lives until the function returns; text is its source. NULL, where that is asked for: it is
 * no JSON, nested too deeply or too long, and text may be only its beginning. Where it is not asked
 * for, one such item ends the list. */
typedef void (*vpa_list_item_fn)(void *ctx, const struct vpa_json *item, struct vpa_slice text);
/* Waits, pumping the loop. On -1 some items may have been given already. */
int vpa_list_each(struct vpa_kube_client *client, const struct vpa_list_request *request,
                  vpa_list_item_fn give, void *ctx, struct vpa_error *err) VPA_MUST_CHECK;

#endif
