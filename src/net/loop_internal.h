/* What the network modules know of the loop beyond its public face: its transfers. */
#ifndef VPA_NET_LOOP_INTERNAL_H
#define VPA_NET_LOOP_INTERNAL_H

#include <curl/curl.h>

#include "vpa/net/loop.h"

/* CURLOPT_PRIVATE of every handle added to the loop's multi handle points to one of these. */
struct vpa_loop_transfer {
    void (*done)(struct vpa_loop_transfer *transfer, CURLcode code);
};
CURLM *vpa_loop_multi(struct vpa_loop *loop);
/* See transfers_hold(). */
void vpa_loop_hold(struct vpa_loop *loop, curl_socket_t fd);

#endif
