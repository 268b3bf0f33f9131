/*
 * Who goes when there is no room? A connection that holds a place without using it, and first one
 * of the address that holds most; never a request that we work on, nor a body that comes at a
 * decent rate. A stranger can open connections, finish handshakes, begin bodies and even ask cheap
 * questions, so none of that alone earns a place. In this order:
 *
 *     STALE   half-open (no handshake, no complete head) for more than GRACE
 *     GREEDY  half-open, of an address that has more than a quarter of all places half-open
 *     SPARE   kept for another request: of the address with most connections, the one longest idle;
 *             an API server that loses one connects again
 *     SLOW    a body that is behind the rate, or an answer that is not taken, by more than GRACE
 *     FRESH   the same or half-open, for less: the one that waits longest
 *
 * API servers may all come from one address (a proxy, a node's), together with a stranger. So a
 * full house never refuses an address as such: what is young stays longest, whoever sent it.
 *
 * The same of the memory that unread answers hold, but that a young one goes as well where its
 * address holds more than another one asks for: whoever fills that memory does so in a moment, and
 * who asks seldom would find it full each time.
 */
#include "connections.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"

/* A handshake and a head take some milliseconds; a busy machine may take longer. */
#define GRACE VPA_SECOND
#define GREEDY_SHARE 4
/* What is dropped but not closed yet counts against so many times each maximum. */
#define ALL_FACTOR 2

enum rank { STALE, GREEDY, SPARE, SLOW, FRESH, STAYS };

struct peer { /* an address */
    struct in6_addr address;
    unsigned count, half_open;
    size_t held; /* by answers that are not dropped */
};

struct connection {
    int fd;
    enum connection_phase phase;
    bool started, dropped;
    int64_t since; /* of the phase */
    size_t bytes;  /* in this phase */
    size_t held;   /* by its answer */
    struct peer *peer;
    size_t position;         /* in all */
    struct connection *next; /* that goes for the same answer */
};

struct connections {
    struct connection_limits limits;
    void (*drop)(void *ctx, int fd);
    void *ctx;
    pthread_mutex_t lock;
    struct connection **all; /* ALL_FACTOR * max places */
    size_t count, dropped;
    size_t held, given_up; /* by all answers, by those of connections that are dropped */
    struct peer **peers;   /* those with connections */
    size_t peer_count;
    struct connection **by_fd;
    size_t fd_capacity;
};

struct connections *connections_new(const struct connection_limits *limits,
                                    void (*drop)(void *ctx, int fd), void *ctx)
{
    struct connections *c = vpa_xcalloc(1, sizeof(*c));

    c->limits = *limits;
    c->drop = drop;
    c->ctx = ctx;
    c->all = vpa_xcalloc(ALL_FACTOR * (size_t)limits->max, sizeof(struct connection *));
    c->peers = vpa_xcalloc(ALL_FACTOR * (size_t)limits->max, sizeof(struct peer *));
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

/* Addresses: IPv4 as IPv6 writes it */

static struct in6_addr address_of(const struct sockaddr *peer)
{
    struct in6_addr address = {0};

    if (peer->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;

        memcpy(&v6, peer, sizeof(v6));
        return v6.sin6_addr;
    }
    if (peer->sa_family == AF_INET) {
        struct sockaddr_in v4;

        memcpy(&v4, peer, sizeof(v4));
        address.s6_addr[10] = address.s6_addr[11] = 0xff;
        memcpy(address.s6_addr + 12, &v4.sin_addr, sizeof(v4.sin_addr));
    }
    return address;
}

static struct peer *peer_of(struct connections *c, const struct sockaddr *from)
{
    struct in6_addr address = address_of(from);

    for (size_t i = 0; i < c->peer_count; i++)
        if (memcmp(&c->peers[i]->address, &address, sizeof(address)) == 0)
            return c->peers[i];
    struct peer *p = vpa_xcalloc(1, sizeof(*p));
    p->address = address;
    c->peers[c->peer_count++] = p;
    return p;
}

static void forget_peer(struct connections *c, struct peer *p)
{
    size_t i = 0;

    while (c->peers[i] != p)
        i++;
    c->peers[i] = c->peers[--c->peer_count];
    free(p);
}

/* One connection */

static bool half_open(enum connection_phase phase)
{
    return phase == CONNECTION_HANDSHAKE || phase == CONNECTION_HEAD;
}

static void set_held(struct connections *c, struct connection *it, size_t bytes)
{
    size_t *of = it->dropped ? &c->given_up : &it->peer->held;

    c->held = c->held - it->held + bytes;
    *of = *of - it->held + bytes;
    it->held = bytes;
}

static void enter(struct connections *c, struct connection *it, enum connection_phase phase,
                  size_t bytes, int64_t now)
{
    if (phase != CONNECTION_ANSWER)
        set_held(c, it, 0);
    it->peer->half_open -= half_open(it->phase);
    it->peer->half_open += half_open(phase);
    it->phase = phase;
    it->since = now;
    it->bytes = bytes;
}

static struct connection *find(const struct connections *c, int fd)
{
    return (size_t)fd < c->fd_capacity ? c->by_fd[fd] : NULL;
}

static void take_out(struct connections *c, struct connection *it)
{
    struct connection *last = c->all[--c->count];

    set_held(c, it, 0);
    last->position = it->position;
    c->all[it->position] = last;
    c->by_fd[it->fd] = NULL;
    c->dropped -= it->dropped;
    it->peer->half_open -= half_open(it->phase);
    if (--it->peer->count == 0)
        forget_peer(c, it->peer);
    free(it);
}

static void put_in(struct connections *c, int fd, struct peer *peer, enum connection_phase phase,
                   int64_t now)
{
    struct connection *it = vpa_xcalloc(1, sizeof(*it));

    if ((size_t)fd >= c->fd_capacity) {
        size_t capacity = 2 * ((size_t)fd + 1);

        c->by_fd = vpa_xrealloc(c->by_fd, capacity * sizeof(*c->by_fd));
        memset(c->by_fd + c->fd_capacity, 0, (capacity - c->fd_capacity) * sizeof(*c->by_fd));
        c->fd_capacity = capacity;
    }
    *it = (struct connection){
        .fd = fd, .phase = phase, .since = now, .peer = peer, .position = c->count};
    peer->count++;
    peer->half_open += half_open(phase);
    c->by_fd[fd] = it;
    c->all[c->count++] = it;
}

/* What it holds counts with those of its kind. */
static void set_dropped(struct connections *c, struct connection *it, bool dropped)
{
    size_t held = it->held;

    set_held(c, it, 0);
    c->dropped = c->dropped - it->dropped + dropped;
    it->dropped = dropped;
    set_held(c, it, held);
}

static void drop(struct connections *c, struct connection *it)
{
    set_dropped(c, it, true);
    c->drop(c->ctx, it->fd);
}

/* Time */

/* How long a transfer has taken beyond what its bytes need at the rate. */
static int64_t behind(const struct connections *c, const struct connection *it, int64_t now)
{
    return now - it->since - (int64_t)((double)it->bytes / (double)c->limits.rate * VPA_SECOND);
}

static bool overdue(const struct connections *c, const struct connection *it, int64_t now)
{
    switch (it->phase) {
    case CONNECTION_HANDSHAKE:
        return now - it->since > c->limits.handshake;
    case CONNECTION_HEAD:
        return now - it->since > c->limits.head;
    case CONNECTION_IDLE:
        return now - it->since > c->limits.idle;
    case CONNECTION_WORK:
        return false;
    default:
        return behind(c, it, now) > c->limits.transfer;
    }
}

bool connections_sweep(struct connections *c, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i]->started && !c->all[i]->dropped && overdue(c, c->all[i], now))
            drop(c, c->all[i]);
    bool any = c->count > 0;
    pthread_mutex_unlock(&c->lock);
    return any;
}

/* Room */

/* How long it has kept us waiting. The bytes of an answer count for nothing here: they are what we
 * have sent, not what the peer has taken. */
static int64_t lag(const struct connections *c, const struct connection *it, int64_t now)
{
    return it->phase == CONNECTION_BODY ? behind(c, it, now) : now - it->since;
}

static enum rank rank_of(const struct connections *c, const struct connection *it, int64_t now)
{
    if (!it->started || it->dropped || it->phase == CONNECTION_WORK)
        return STAYS;
    if (it->phase == CONNECTION_IDLE)
        return SPARE;
    if (lag(c, it, now) > GRACE)
        return half_open(it->phase) ? STALE : SLOW;
    if (half_open(it->phase) && it->peer->half_open > c->limits.max / GREEDY_SHARE)
        return GREEDY;
    return lag(c, it, now) >= 0 ? FRESH : STAYS;
}

/* Of two with the same rank. */
static bool goes_before(const struct connections *c, enum rank rank, const struct connection *a,
                        const struct connection *b, int64_t now)
{
    if (rank == SPARE && a->peer->count != b->peer->count)
        return a->peer->count > b->peer->count;
    return lag(c, a, now) > lag(c, b, now);
}

/* False when none may go. */
static bool drop_one(struct connections *c, int64_t now)
{
    struct connection *worst = NULL;
    enum rank worst_rank = STAYS;

    for (size_t i = 0; i < c->count; i++) {
        struct connection *it = c->all[i];
        enum rank rank = rank_of(c, it, now);

        if (rank < worst_rank ||
            (worst && rank == worst_rank && goes_before(c, rank, it, worst, now))) {
            worst = it;
            worst_rank = rank;
        }
    }
    if (worst)
        drop(c, worst);
    return worst != NULL;
}

/* Answers that wait for their readers */

static bool has_room(const struct connections *c, size_t bytes)
{
    size_t live = c->held - c->given_up;

    return live == 0 || live + bytes <= c->limits.answers_max;
}

/* Of two answers the one that makes way for another. */
static bool waits_worse(const struct connections *c, const struct connection *a,
                        const struct connection *b, int64_t now)
{
    bool slow = lag(c, a, now) > GRACE || lag(c, b, now) > GRACE;

    if (!slow && a->peer->held != b->peer->held)
        return a->peer->held > b->peer->held;
    return lag(c, a, now) > lag(c, b, now);
}

/* NULL when no other answer may go for this one. */
static struct connection *worst_answer(const struct connections *c, const struct connection *asking,
                                       size_t bytes, int64_t now)
{
    struct connection *worst = NULL;

    for (size_t i = 0; i < c->count; i++) {
        struct connection *it = c->all[i];

        if (it->held == 0 || it->dropped || it->phase != CONNECTION_ANSWER)
            continue;
        if (lag(c, it, now) <= GRACE && it->peer->held <= asking->peer->held + bytes)
            continue;
        if (!worst || waits_worse(c, it, worst, now))
            worst = it;
    }
    return worst;
}

/* Nobody is dropped for one that finds no room nevertheless: they are only counted as dropped until
 * it is known. */
static bool make_room(struct connections *c, const struct connection *asking, size_t bytes,
                      int64_t now)
{
    struct connection *going = NULL, **end = &going;

    if (c->held > 0 && c->held + bytes > ALL_FACTOR * c->limits.answers_max)
        return false;
    while (!has_room(c, bytes)) {
        struct connection *worst = worst_answer(c, asking, bytes, now);

        if (!worst)
            break;
        set_dropped(c, worst, true);
        worst->next = NULL;
        *end = worst;
        end = &worst->next;
    }
    bool room = has_room(c, bytes);
    for (struct connection *it = going; it; it = it->next)
        if (room)
            c->drop(c->ctx, it->fd);
        else
            set_dropped(c, it, false);
    return room;
}

bool connections_take_room(struct connections *c, int fd, size_t bytes, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    struct connection *it = find(c, fd);
    bool room = it && make_room(c, it, bytes, now);
    if (room)
        set_held(c, it, bytes);
    pthread_mutex_unlock(&c->lock);
    return room;
}

void connections_hurry(struct connections *c, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->count; i++) {
        enum rank rank = rank_of(c, c->all[i], now);

        if (rank < FRESH || (rank == FRESH && half_open(c->all[i]->phase)))
            drop(c, c->all[i]);
    }
    pthread_mutex_unlock(&c->lock);
}

bool connections_make_room(struct connections *c, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    bool made = drop_one(c, now);
    pthread_mutex_unlock(&c->lock);
    return made;
}

/* Life of a connection */

bool connections_add(struct connections *c, int fd, const struct sockaddr *peer,
                     enum connection_phase phase, int64_t now)
{
    bool room;

    pthread_mutex_lock(&c->lock);
    if (find(c, fd)) /* was refused by libmicrohttpd without a word, else it were still open */
        take_out(c, find(c, fd));
    room = c->count < ALL_FACTOR * (size_t)c->limits.max &&
           (c->count - c->dropped < c->limits.max || drop_one(c, now));
    if (room)
        put_in(c, fd, peer_of(c, peer), phase, now);
    pthread_mutex_unlock(&c->lock);
    return room;
}

void connections_start(struct connections *c, int fd, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    struct connection *it = find(c, fd);
    if (it) {
        it->started = true;
        it->since = now;
    }
    pthread_mutex_unlock(&c->lock);
}

void connections_turn(struct connections *c, int fd, enum connection_phase phase, size_t bytes,
                      int64_t now)
{
    pthread_mutex_lock(&c->lock);
    struct connection *it = find(c, fd);
    if (it)
        enter(c, it, phase, bytes, now);
    pthread_mutex_unlock(&c->lock);
}

void connections_count(struct connections *c, int fd, size_t bytes)
{
    pthread_mutex_lock(&c->lock);
    struct connection *it = find(c, fd);
    if (it)
        it->bytes += bytes;
    pthread_mutex_unlock(&c->lock);
}

enum connection_phase connections_remove(struct connections *c, int fd)
{
    enum connection_phase phase = CONNECTION_IDLE;

    pthread_mutex_lock(&c->lock);
    struct connection *it = find(c, fd);
    if (it) {
        phase = it->phase;
        take_out(c, it);
    }
    pthread_mutex_unlock(&c->lock);
    return phase;
}

void connections_free(struct connections *c)
{
    if (!c)
        return;
    while (c->count > 0)
        take_out(c, c->all[0]);
    pthread_mutex_destroy(&c->lock);
    free(c->all);
    free(c->peers);
    free(c->by_fd);
    free(c);
}
