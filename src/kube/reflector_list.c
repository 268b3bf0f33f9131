/*
 * LIST: pages of the collection into the consumer, which version is asked for, and what to do when
 * the server does not have it any more.
 */
#include "reflector_internal.h"

#include <string.h>

static int on_item(void *ctx, const struct vpa_json *item, struct vpa_slice text,
                   struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    int result = reflector_give_object(r, VPA_REFLECTOR_LISTED, item, err);

    (void)text;
    vpa_arena_clear_small(&r->arena);
    return result;
}

static int on_unreadable(void *ctx, struct vpa_slice text, const struct vpa_error *why,
                         struct vpa_error *err)
{
    struct vpa_reflector *r = ctx;
    int result = reflector_skip_text(r, VPA_REFLECTOR_LISTED, text, "", why, err);

    vpa_arena_clear_small(&r->arena);
    return result;
}

/* A list of that version in pages is of just that version, however old it is; the watch behind it
 * will tell. */
static bool is_exact(const struct vpa_reflector *r)
{
    return r->choice == LAST_KNOWN && r->saw_pages;
}

static void list_complete(struct vpa_reflector *r, const char *version)
{
    if (!is_exact(r))
        reflector_note_in_step(r, r->list_started);
    vpa_replace_text(&r->version, version);
    r->choice = LAST_KNOWN;
    r->unpaged = false;
    r->synced = true;
    vpa_replace_text(&r->last_error, NULL);
    reflector_sweep_unknown(r);
    if (r->options.handler.end)
        r->options.handler.end(r->options.handler.ctx);
    if (r->options.resync && !vpa_timer_is_running(r->resync_timer))
        vpa_timer_start(r->resync_timer, r->options.resync);
    reflector_start_watch(r);
}

static bool too_large_version(const struct vpa_kube_status *status)
{
    return vpa_kube_has_cause(status, "ResourceVersionTooLarge") ||
           strstr(status->message, "Too large resource version") != NULL;
}

bool reflector_lacks_version(const struct vpa_kube_status *status)
{
    return vpa_kube_is_expired(status) || too_large_version(status);
}

static void list_failed(struct vpa_reflector *r, const struct vpa_list_end *how)
{
    reflector_report(r, "Failed to list", how->err);
    if (how->refused && reflector_lacks_version(&how->refused->status)) {
        r->choice = NEWEST;
        r->unpaged = how->pages > 0; /* the pages expired under us: once more, in one piece */
        if (r->unpaged) {
            reflector_start_list(r);
            return;
        }
    }
    reflector_back_off(r, false);
}

static void on_done(void *ctx, const struct vpa_list_end *how)
{
    struct vpa_reflector *r = ctx;

    r->listing = NULL;
    if (how->pages > 0 && r->choice == ANY_CACHED)
        r->saw_pages = true;
    if (how->err)
        list_failed(r, how);
    else
        list_complete(r, how->version);
}

static const char *version_to_ask_for(const struct vpa_reflector *r)
{
    if (r->choice == ANY_CACHED)
        return "0";
    return r->choice == LAST_KNOWN ? r->version : NULL;
}

void reflector_start_list(struct vpa_reflector *r)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_buf_puts(&path, r->options.path);
    reflector_add_selector(r, &path);
    r->list_started = vpa_loop_monotonic(r->loop);
    r->round++;
    if (r->options.handler.begin)
        r->options.handler.begin(r->options.handler.ctx);
    r->stats.lists++;
    /* A version with a limit makes the server read from its store; without pages it may use its
     * cache. */
    const struct vpa_list_request request = {
        .path = vpa_buf_text(&path),
        .paged = !r->unpaged && (r->choice != LAST_KNOWN || r->saw_pages),
        .version = version_to_ask_for(r),
        .item_max = r->options.object_max,
        .left_out = r->options.left_out,
    };
    r->listing = vpa_listing_start(
        r->client, &request,
        &(struct vpa_list_handler){
            .ctx = r, .item = on_item, .unreadable = on_unreadable, .done = on_done});
}
