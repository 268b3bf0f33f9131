#include "server_push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

#define WAITING_MAX ((size_t)16 << 10) /* a longer record does not wait */
#define PIECES_MAX 32                  /* of one call of ours: GnuTLS calls again for the others */

struct server_push {
    int fd;
    bool joins;
    struct vpa_buf waiting;
};

struct server_push *server_push_new(int fd)
{
    struct server_push *p = vpa_xcalloc(1, sizeof(*p));

    p->fd = fd;
    vpa_buf_init(&p->waiting, WAITING_MAX);
    return p;
}

void server_push_free(struct server_push *p)
{
    if (!p)
        return;
    vpa_buf_release(&p->waiting);
    free(p);
}

void server_push_join(struct server_push *p)
{
    p->joins = true;
}

static size_t length(const giovec_t *pieces, int count)
{
    size_t sum = 0;

    for (int i = 0; i < count; i++)
        sum += pieces[i].iov_len;
    return sum;
}

static ssize_t keep(struct server_push *p, const giovec_t *pieces, int count)
{
    for (int i = 0; i < count; i++)
        vpa_buf_append(&p->waiting, pieces[i].iov_base, pieces[i].iov_len);
    return (ssize_t)length(pieces, count);
}

static ssize_t refuse(void)
{
    errno = EAGAIN;
    return -1;
}

static int add(struct iovec *out, const giovec_t *pieces, int count)
{
    int n = 0;

    while (n < count && n < PIECES_MAX) {
        out[n] = pieces[n];
        n++;
    }
    return n;
}

/* Of the pieces. */
static ssize_t send_behind_waiting(struct server_push *p, const giovec_t *pieces, int count)
{
    struct iovec all[1 + PIECES_MAX] = {
        {.iov_base = (void *)(uintptr_t)vpa_buf_text(&p->waiting), .iov_len = p->waiting.len}};
    struct msghdr message = {.msg_iov = all, .msg_iovlen = 1 + (size_t)add(all + 1, pieces, count)};
    ssize_t sent = sendmsg(p->fd, &message, MSG_NOSIGNAL);

    if (sent < 0)
        return -1;
    if ((size_t)sent < p->waiting.len) {
        vpa_buf_consume(&p->waiting, (size_t)sent);
        return refuse();
    }
    sent -= (ssize_t)p->waiting.len;
    vpa_buf_clear(&p->waiting);
    return sent > 0 ? sent : refuse();
}

ssize_t server_push_send(gnutls_transport_ptr_t push, const giovec_t *pieces, int count)
{
    struct server_push *p = push;
    bool joins = p->joins;

    p->joins = false;
    if (joins && p->waiting.len + length(pieces, count) <= WAITING_MAX)
        return keep(p, pieces, count);
    if (p->waiting.len > 0)
        return send_behind_waiting(p, pieces, count);
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                             .msg_iovlen = (size_t)count};
    return sendmsg(p->fd, &message, MSG_NOSIGNAL);
}
