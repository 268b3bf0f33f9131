/*
 * Reads a collection of the API server once, item by item: what is listed may be larger than what
 * is kept.
 */
#ifndef RECOMMENDER_LIST_H
#define RECOMMENDER_LIST_H

#include "vpa/json/json.h"
#include "vpa/kube/client.h"

/* Longest single item; etcd's own limit is 1.5 MiB. */
#define LIST_ITEM_MAX ((size_t)8 << 20)
/* Longest answer: 1,000,000 pods of 400 bytes. */
#define LIST_ANSWER_MAX ((size_t)1 << 30)

/* item lives until the function returns; text is its source. */
typedef void (*list_item_fn)(void *ctx, const struct vpa_json *item, const char *text, size_t len);

struct list_request {
    const char *path;     /* without query */
    bool paged;           /* in pages of 500; else in one answer */
    vpa_duration timeout; /* of one answer */
};
/* Waits, pumping the loop. On -1 some items may have been given already. */
int list_each(struct vpa_kube_client *client, const struct list_request *request,
              list_item_fn on_item, void *ctx, struct vpa_error *err) VPA_MUST_CHECK;

#endif
