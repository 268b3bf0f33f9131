/*
 * What the background is to ask for waits here: what views could not answer, and scales that are
 * to be asked for again. Whoever makes pods makes us ask, so the room is shared: namespaces have
 * turns, of one that which was asked for last comes first, and where there is no room the namespace
 * that has most loses its oldest. What is known comes behind what is not, first come, first served,
 * and is lost before it.
 */
#include <stdlib.h>
#include <string.h>

#include "owner_internal.h"
#include "vpa/base/str.h"

struct want {
    TAILQ_ENTRY(want) link;
    struct owner_share *share;
    struct vpa_controller_key of; /* heap texts */
    bool again;
    char key[];
};

struct owner_share { /* of a namespace; it has one at least */
    TAILQ_ENTRY(owner_share) link;
    TAILQ_HEAD(wants, want) wants; /* from the last to the first that is taken */
    size_t count, again;           /* again: of these, scales that are known */
    char ns[];
};

struct owner_wanted *owner_wanted_new(struct vpa_owners *owners)
{
    struct owner_wanted *w = vpa_xcalloc(1, sizeof(*w));

    atomic_init(&w->refs, 1);
    pthread_mutex_init(&w->lock, NULL);
    TAILQ_INIT(&w->turns);
    w->owners = owners;
    return w;
}

void owner_key_release(struct vpa_controller_key *k)
{
    free((char *)(uintptr_t)k->ns);
    free((char *)(uintptr_t)k->kind);
    free((char *)(uintptr_t)k->name);
    free((char *)(uintptr_t)k->api_version);
}

/* The texts are the caller's from now on. */
static struct vpa_controller_key take_out(struct owner_wanted *w, struct want *want)
{
    struct owner_share *share = want->share;
    struct vpa_controller_key of = want->of;

    TAILQ_REMOVE(&share->wants, want, link);
    vpa_table_remove(&w->wants, want->key);
    share->again -= want->again;
    free(want);
    if (--share->count == 0) {
        TAILQ_REMOVE(&w->turns, share, link);
        vpa_table_remove(&w->shares, share->ns);
        free(share);
    }
    return of;
}

static void make_room(struct owner_wanted *w, const char *ns)
{
    struct owner_share *share = vpa_table_find(&w->shares, ns);
    struct owner_share *largest = VPA_TABLE_MOST(&w->shares, struct owner_share, count);

    if (!share || share->count < largest->count)
        share = largest;
    struct vpa_controller_key gone = take_out(w, TAILQ_FIRST(&share->wants));
    owner_key_release(&gone);
}

/* For what is known already only that of a namespace which has more makes way: else those would
 * displace each other, and always the same ones. */
static bool has_room(const struct owner_wanted *w, const struct owner_share *share)
{
    const struct owner_share *largest;

    if (w->wants.count < OWNER_WANTED_MAX)
        return true;
    largest = VPA_TABLE_MOST(&w->shares, struct owner_share, count);
    return largest->count > (share ? share->count : 0) + 1;
}

static struct owner_share *have_share(struct owner_wanted *w, const char *ns)
{
    struct owner_share *share = VPA_TABLE_MAKE(&w->shares, ns, struct owner_share, ns);

    if (share->count == 0) {
        TAILQ_INIT(&share->wants);
        TAILQ_INSERT_TAIL(&w->turns, share, link);
    }
    return share;
}

static struct want *add(struct owner_wanted *w, const struct vpa_controller_key *key,
                        const char *text)
{
    struct want *want;

    if (w->wants.count == OWNER_WANTED_MAX)
        make_room(w, key->ns);
    want = VPA_TABLE_MAKE(&w->wants, text, struct want, key);
    want->share = have_share(w, key->ns);
    want->share->count++;
    want->of = (struct vpa_controller_key){vpa_xstrdup(key->ns), vpa_xstrdup(key->kind),
                                           vpa_xstrdup(key->name), vpa_xstrdup(key->api_version)};
    return want;
}

void owner_wanted_add(struct owner_wanted *w, const struct vpa_controller_key *key, bool now)
{
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct want *want;

    owner_scale_key(&text, key);
    pthread_mutex_lock(&w->lock);
    want = vpa_table_find(&w->wants, vpa_buf_text(&text));
    if (want && now) {
        TAILQ_REMOVE(&want->share->wants, want, link);
        TAILQ_INSERT_TAIL(&want->share->wants, want, link);
    } else if (!want && w->owners) {
        want = add(w, key, vpa_buf_text(&text));
        TAILQ_INSERT_TAIL(&want->share->wants, want, link);
        if (!w->posted)
            vpa_loop_post(w->owners->loop, owner_scales_wanted, w->owners);
        w->posted = true;
    }
    pthread_mutex_unlock(&w->lock);
}

bool owner_wanted_again(struct owner_wanted *w, const struct vpa_controller_key *key)
{
    vpa_auto_buf text = VPA_BUF(VPA_KUBE_PATH_MAX);
    const struct owner_share *share;
    struct want *want;

    owner_scale_key(&text, key);
    pthread_mutex_lock(&w->lock);
    want = vpa_table_find(&w->wants, vpa_buf_text(&text));
    share = vpa_table_find(&w->shares, key->ns);
    if (!want && (!share || share->again < VPA_OWNER_AGAIN_MAX) && has_room(w, share)) {
        want = add(w, key, vpa_buf_text(&text));
        want->again = true;
        want->share->again++;
        TAILQ_INSERT_HEAD(&want->share->wants, want, link);
    }
    pthread_mutex_unlock(&w->lock);
    return want != NULL;
}

static struct want *next(const struct owner_wanted *w, owner_may_fn may)
{
    struct owner_share *share;
    struct want *want;

    TAILQ_FOREACH(share, &w->turns, link)
    TAILQ_FOREACH_REVERSE(want, &share->wants, wants, link)
    if (!may || may(w->owners, &want->of))
        return want;
    return NULL;
}

bool owner_wanted_take(struct owner_wanted *w, owner_may_fn may, struct vpa_controller_key *out)
{
    struct want *want;

    pthread_mutex_lock(&w->lock);
    w->posted = false;
    want = next(w, may);
    if (want) {
        TAILQ_REMOVE(&w->turns, want->share, link);
        TAILQ_INSERT_TAIL(&w->turns, want->share, link);
        *out = take_out(w, want);
    }
    pthread_mutex_unlock(&w->lock);
    return want != NULL;
}

void owner_wanted_unref(struct owner_wanted *w)
{
    struct vpa_controller_key k;

    if (atomic_fetch_sub(&w->refs, 1) != 1)
        return;
    while (owner_wanted_take(w, NULL, &k))
        owner_key_release(&k);
    vpa_table_release(&w->wants);
    vpa_table_release(&w->shares);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
