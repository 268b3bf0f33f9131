#include "vpa/model/seen_events.h"

#include <stdlib.h>

#include "vpa/base/mem.h"

struct seen {
    struct seen *next; /* of the same namespace, newer */
    char uid[];
};
struct share { /* of a namespace; it has one event at least */
    struct seen *oldest, *newest;
    size_t count;
    char ns[];
};

void vpa_seen_events_release(struct vpa_seen_events *s)
{
    VPA_TABLE_RELEASE(&s->uids, free);
    VPA_TABLE_RELEASE(&s->shares, free);
    *s = (struct vpa_seen_events){0};
}

static void forget_oldest(struct vpa_seen_events *s, struct share *share)
{
    struct seen *gone = share->oldest;

    vpa_table_remove(&s->uids, gone->uid);
    share->oldest = gone->next;
    free(gone);
    if (--share->count)
        return;
    vpa_table_remove(&s->shares, share->ns);
    free(share);
}

/* `most` is as much at least as any namespace has, so that a flood makes room without a search. */
static void make_room(struct vpa_seen_events *s, const char *ns)
{
    struct share *share = vpa_table_find(&s->shares, ns);

    if (!share || share->count < s->most) {
        struct share *largest = VPA_TABLE_MOST(&s->shares, struct share, count);
        s->most = largest->count;
        if (!share || share->count < s->most)
            share = largest;
    }
    forget_oldest(s, share);
}

bool vpa_seen_events_add(struct vpa_seen_events *s, const char *ns, const char *uid)
{
    if (vpa_table_find(&s->uids, uid))
        return false;
    if (s->uids.count == VPA_SEEN_EVENTS_MAX)
        make_room(s, ns);
    struct share *share = VPA_TABLE_MAKE(&s->shares, ns, struct share, ns);
    struct seen *seen = VPA_TABLE_MAKE(&s->uids, uid, struct seen, uid);
    if (share->count)
        share->newest->next = seen;
    else
        share->oldest = seen;
    share->newest = seen;
    share->count++;
    s->most = share->count > s->most ? share->count : s->most;
    return true;
}
