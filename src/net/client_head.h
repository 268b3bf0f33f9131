/* What the head of an answer says that anybody asks for. */
#ifndef VPA_NET_CLIENT_HEAD_H
#define VPA_NET_CLIENT_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/net/transport.h"

#define CLIENT_HEAD_TEXT_MAX 512

struct client_head {
    char content_type[CLIENT_HEAD_TEXT_MAX];
    char warning[CLIENT_HEAD_TEXT_MAX]; /* the first one */
    int retry_after;                    /* seconds, -1: none */
    int64_t date;                       /* Unix time in seconds, 0: none */
};
void client_head_init(struct client_head *head);
/* One line, as it came; a status line begins a new head. */
void client_head_read(struct client_head *head, const char *line, size_t len);
/* What time it is at the peer, which may be several servers: one whose clock is behind is passed
 * over while another has told the time in the last CLIENT_HEAD_TIME_KEPT, and so is one that leads
 * our own clock by more than CLIENT_HEAD_LEAD while another does not: two agree there. own_offset:
 * our time of day less the monotonic one. */
#define CLIENT_HEAD_TIME_KEPT (10 * VPA_MINUTE)
#define CLIENT_HEAD_LEAD VPA_HOUR
void client_head_tell_time(const struct client_head *head, struct vpa_transport *transport,
                           int64_t monotonic_now, int64_t own_offset);

#endif
