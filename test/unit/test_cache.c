/* The watch cache: mark and sweep, objects that outlive their replacement, unknown objects. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/api/limit_range.h"
#include "vpa/api/vpa.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/kube/cache.h"

#define VPA(name, target, more)                                                                    \
    "{\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"" name                           \
    "\",\"namespace\":\"ns\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":"       \
    "\"Deployment\",\"name\":\"" target "\"}" more "}}"
/* Stored by users; upstream's and our decoder refuse the quantity. */
#define BAD                                                                                        \
    ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"minAllowed\":{"        \
    "\"cpu\":\"1e1.5\"}}]}"

static struct vpa_arena arena;
static struct vpa_cache *cache;
static struct vpa_reflector_handler handler;
static char changes[256]; /* + new, ~ replaced, - gone, ? when it is unknown */

static void on_changed(void *ctx, const void *before, const void *after)
{
    const struct vpa_object *vpa = after ? after : before;

    (void)ctx;
    size_t len = strlen(changes);

    snprintf(changes + len, sizeof(changes) - len, "%s%s%s ",
             !before ? "+"
             : after ? "~"
                     : "-",
             vpa->meta.name, after && vpa_cache_reason(after) ? "?" : "");
}

static void setup(void)
{
    changes[0] = '\0';
    cache = vpa_cache_new(&(struct vpa_cache_options){
        .kind = &vpa_cache_vpas, .shared = true, .changed = on_changed});
    handler = vpa_cache_handler(cache);
}

static void teardown(void)
{
    vpa_cache_free(cache);
    vpa_cache_free(NULL);
    vpa_arena_release(&arena);
}

/* As the reflector does it. */
static void event(enum vpa_reflector_event event, const char *text)
{
    const struct vpa_json *json;
    struct vpa_error err;

    ck_assert_int_eq(vpa_json_parse(&arena, text, strlen(text), &json, &err), 0);
    if (handler.object(handler.ctx, event, json, &err) == 0)
        return;
    handler.unusable(handler.ctx, event,
                     &(struct vpa_unusable_object){
                         .kind = "VerticalPodAutoscaler",
                         .ns = vpa_json_string(vpa_json_at(json, "metadata.namespace")),
                         .name = vpa_json_string(vpa_json_at(json, "metadata.name")),
                         .reason = err.text,
                         .object = json});
}

/* Not even parsed. */
static void unreadable(enum vpa_reflector_event event, const char *name)
{
    handler.unusable(handler.ctx, event,
                     &(struct vpa_unusable_object){
                         .kind = "", .ns = "ns", .name = name, .reason = "longer than 8 bytes"});
}

static const char *names(enum vpa_cache_part part)
{
    vpa_auto_cache_list struct vpa_cache_list list = {0};
    const char *text = "";

    vpa_cache_list(cache, part, &list);
    for (size_t i = 0; i < list.count; i++)
        text = vpa_arena_printf(&arena, "%s%s ", text,
                                ((const struct vpa_object *)list.objects[i])->meta.name);
    return text;
}

TEST(keeps_what_it_is_told) {
    event(VPA_REFLECTOR_ADDED, VPA("b", "web", ""));
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("b", "db", ""));
    ck_assert_str_eq(names(VPA_CACHE_KNOWN), "a b ");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "");
    ck_assert_uint_eq(vpa_cache_count(cache), 2);
    const struct vpa_object *vpa = vpa_cache_find(cache, "ns", "b");
    ck_assert_str_eq(vpa->target_ref.name, "db");
    ck_assert_ptr_null(vpa_cache_find(cache, "other", "b"));
    event(VPA_REFLECTOR_DELETED, VPA("b", "db", ""));
    event(VPA_REFLECTOR_DELETED, VPA("never", "db", ""));
    ck_assert_str_eq(names(VPA_CACHE_ALL), "a ");
    ck_assert(!vpa_cache_has(cache, "ns", "b"));
    ck_assert_str_eq(changes, "+b +a ~b -b ");
}

TEST(the_end_of_a_list_drops_what_it_did_not_have) {
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    event(VPA_REFLECTOR_ADDED, VPA("b", "web", ""));
    event(VPA_REFLECTOR_ADDED, VPA("c", "web", BAD));
    event(VPA_REFLECTOR_ADDED, VPA("d", "web", BAD));
    handler.begin(handler.ctx);
    event(VPA_REFLECTOR_LISTED, VPA("b", "web", ""));
    event(VPA_REFLECTOR_LISTED, VPA("d", "web", BAD));
    ck_assert_str_eq(names(VPA_CACHE_ALL), "a b c d "); /* a list that fails drops nothing */
    handler.begin(handler.ctx);
    event(VPA_REFLECTOR_LISTED, VPA("b", "web", ""));
    event(VPA_REFLECTOR_LISTED, VPA("d", "web", BAD));
    handler.end(handler.ctx);
    ck_assert_str_eq(names(VPA_CACHE_KNOWN), "b ");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "d ");
    handler.begin(handler.ctx);
    handler.end(handler.ctx);
    ck_assert_uint_eq(vpa_cache_count(cache), 0);
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "");
}

TEST(what_is_held_stays_as_it_was) {
    struct vpa_cache_list list;
    struct vpa_shared_map map;

    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    event(VPA_REFLECTOR_ADDED, VPA("b", "web", ""));
    vpa_cache_list(cache, VPA_CACHE_KNOWN, &list);
    vpa_shared_map_copy(&map, vpa_cache_map(cache));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "db", ""));
    event(VPA_REFLECTOR_DELETED, VPA("b", "web", ""));
    vpa_cache_free(VPA_STEAL(cache));
    const struct vpa_object *a = list.objects[0], *b = list.objects[1];
    ck_assert_str_eq(a->target_ref.name, "web");
    ck_assert_str_eq(b->meta.name, "b");
    vpa_cache_list_release(&list);
    size_t at = 0;
    uint64_t hash = vpa_cache_target_hash("ns", "Deployment", "web");
    a = vpa_cache_object(vpa_shared_map_next(&map, hash, &at));
    ck_assert_str_eq(a->meta.name, "a");
    ck_assert_ptr_nonnull(vpa_shared_map_next(&map, hash, &at));
    ck_assert_ptr_null(vpa_shared_map_next(&map, hash, &at));
    vpa_shared_map_release(&map);
}

TEST(an_object_that_no_longer_decodes_is_unknown) {
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "db", BAD));
    ck_assert_str_eq(names(VPA_CACHE_KNOWN), "");
    ck_assert_ptr_null(vpa_cache_find(cache, "ns", "a"));
    ck_assert(vpa_cache_has(cache, "ns", "a"));
    ck_assert(vpa_cache_is_unknown(cache, "ns", "a"));
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "a ");

    vpa_auto_cache_list struct vpa_cache_list list = {0};
    vpa_cache_list(cache, VPA_CACHE_UNKNOWN, &list);
    ck_assert_uint_eq(list.count, 1);
    const struct vpa_object *vpa = list.objects[0];
    ck_assert(vpa->target_ref.present);
    ck_assert_str_eq(vpa->target_ref.name, "db"); /* that of now, not the one before */
    ck_assert_ptr_nonnull(strstr(vpa_cache_reason(vpa), "minAllowed"));

    event(VPA_REFLECTOR_MODIFIED, VPA("a", "web", ""));
    ck_assert(!vpa_cache_is_unknown(cache, "ns", "a"));
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "");
    ck_assert_str_eq(changes, "+a ~a? ~a ");
}

TEST(an_object_that_cannot_be_read_is_unknown) {
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    unreadable(VPA_REFLECTOR_MODIFIED, "a");
    unreadable(VPA_REFLECTOR_ADDED, "b");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "a b ");
    unreadable(VPA_REFLECTOR_DELETED, "a");
    ck_assert_str_eq(names(VPA_CACHE_ALL), "b ");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "b ");
    unreadable(VPA_REFLECTOR_DELETED, "b");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "");
}

static int made;

static int make_text(void *ctx, struct vpa_arena *room, const void *draft, void *object,
                     struct vpa_error *err)
{
    (void)ctx;
    (void)err;
    made++;
    *(const char **)object = vpa_arena_strdup(room, draft);
    return 0;
}

static int read_text(void *ctx, struct vpa_arena *scratch, const struct vpa_json *json,
                     const void **draft, struct vpa_error *err)
{
    const char *text = vpa_json_string(vpa_json_find(json, "text"));

    (void)ctx;
    if (!text)
        return vpa_fail(err, VPA_INVALID, "no text");
    *draft = vpa_arena_strdup(scratch, text);
    return 0;
}

static bool same_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
}

static int make_number(void *ctx, struct vpa_arena *to, const void *draft, void *object,
                       struct vpa_error *err)
{
    int64_t *number = object;

    (void)ctx;
    (void)to;
    if (!vpa_json_int64(vpa_json_find(draft, "number"), number))
        return vpa_fail(err, VPA_INVALID, "number expected");
    return 0;
}

static const struct vpa_cache_kind numbers = {.size = sizeof(int64_t), .make = make_number};
#define NUMBER(name, value)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\"},\"number\":" value "}"

static int64_t number_in(const struct vpa_shared_map *map, const char *name)
{
    const int64_t *number = vpa_cache_map_find(map, "ns", name);

    return number ? *number : -1;
}

TEST(a_map_is_shared_when_somebody_asks) {
    struct vpa_shared_map before = {0}, after = {0};

    vpa_cache_free(cache);
    cache = vpa_cache_new(&(struct vpa_cache_options){.kind = &numbers});
    handler = vpa_cache_handler(cache);
    event(VPA_REFLECTOR_ADDED, NUMBER("a", "1"));
    event(VPA_REFLECTOR_ADDED, NUMBER("b", "2"));
    ck_assert_int_eq(number_in(vpa_cache_map(cache), "a"), -1);
    vpa_cache_share(cache);
    vpa_cache_share(cache);
    vpa_shared_map_copy(&before, vpa_cache_map(cache));
    event(VPA_REFLECTOR_MODIFIED, NUMBER("a", "3"));
    event(VPA_REFLECTOR_MODIFIED, NUMBER("b", "\"x\""));
    event(VPA_REFLECTOR_ADDED, NUMBER("c", "4"));
    vpa_shared_map_copy(&after, vpa_cache_map(cache));
    event(VPA_REFLECTOR_DELETED, NUMBER("c", "4"));
    ck_assert_int_eq(number_in(vpa_cache_map(cache), "c"), -1);
    vpa_cache_free(cache);
    cache = NULL;
    ck_assert_int_eq(number_in(&before, "a"), 1);
    ck_assert_int_eq(number_in(&before, "b"), 2);
    ck_assert_int_eq(number_in(&before, "c"), -1);
    ck_assert_int_eq(number_in(&after, "a"), 3);
    ck_assert_int_eq(number_in(&after, "c"), 4);
    ck_assert_str_eq(vpa_cache_reason(vpa_cache_map_find(&after, "ns", "b")), "number expected");
    vpa_shared_map_release(&before);
    vpa_shared_map_release(&after);
}

TEST(versions_that_say_the_same_are_one) {
    static const struct vpa_cache_kind kind = {
        .size = sizeof(char *), .read = read_text, .make = make_text, .same = same_text};

    vpa_cache_free(cache);
    cache = vpa_cache_new(&(struct vpa_cache_options){.kind = &kind});
    handler = vpa_cache_handler(cache);
    event(VPA_REFLECTOR_ADDED,
          "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"text\":\"x\"}");
    ck_assert_int_eq(made, 2);
    const void *first = vpa_cache_find(cache, "ns", "a");
    handler.begin(handler.ctx);
    event(VPA_REFLECTOR_LISTED,
          "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"text\":\"x\"}");
    handler.end(handler.ctx);
    ck_assert_ptr_eq(vpa_cache_find(cache, "ns", "a"), first);
    event(VPA_REFLECTOR_MODIFIED,
          "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"text\":\"y\"}");
    ck_assert_str_eq(*(const char *const *)vpa_cache_find(cache, "ns", "a"), "y");
    event(VPA_REFLECTOR_MODIFIED, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}");
    ck_assert(vpa_cache_is_unknown(cache, "ns", "a"));
    event(VPA_REFLECTOR_MODIFIED,
          "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"},\"text\":\"y\"}");
    ck_assert(!vpa_cache_is_unknown(cache, "ns", "a"));
}

/* The way from the server: NUL characters, an object of 9 MiB and one that does not decode in the
 * middle of a list. */
static char *list_text;

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (q->watch)
        vpa_memory_reply_stream(r, 200, NULL, NULL);
    else
        vpa_memory_reply_json(r, 200, list_text);
}

TEST(bad_objects_leave_the_others_alone) {
    enum { HUGE_LEN = 9 << 20 };
    char *huge = vpa_xmalloc(HUGE_LEN + 1);

    memset(huge, 'x', HUGE_LEN);
    huge[HUGE_LEN] = '\0';
    list_text =
        vpa_xprintf("{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s,%s,%s%s\"}}},%s]}",
                    VPA("a", "web", ",\"x\":\"\\u0000\""), VPA("b", "web", BAD),
                    "{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\"},\"spec\":{\"x\":{\"y\":\"",
                    huge, VPA("d", "web", ""));
    start_client(serve, 1767225600, 42);
    vpa_cache_free(cache);
    cache = vpa_cache_new(&(struct vpa_cache_options){
        .kind = &vpa_cache_vpas, .client = client, .name = "vpas", .path = "/vpas"});
    vpa_cache_start(cache);
    ck_assert(!vpa_cache_is_synced(cache));
    vpa_loop_pump(loop, VPA_SECOND);
    ck_assert(vpa_cache_is_synced(cache));
    ck_assert_str_eq(names(VPA_CACHE_KNOWN), "a d ");
    ck_assert_str_eq(names(VPA_CACHE_UNKNOWN), "b c ");
    ck_assert_int_le(vpa_cache_age(cache, vpa_loop_monotonic(loop)), VPA_SECOND);
    vpa_cache_free(VPA_STEAL(cache));
    stop_client();
    free(list_text);
    free(huge);
}

TEST(keeps_what_was_known_last) {
    struct vpa_cache *keeping =
        vpa_cache_new(&(struct vpa_cache_options){.kind = &vpa_cache_vpas, .keeps_last = true});
    vpa_auto_cache_list struct vpa_cache_list list = {0};

    handler = vpa_cache_handler(keeping);
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", BAD));
    event(VPA_REFLECTOR_ADDED, VPA("b", "web", ""));
    const void *b = vpa_cache_find(keeping, "ns", "b");
    ck_assert_ptr_eq(vpa_cache_last(b), b);
    event(VPA_REFLECTOR_MODIFIED, VPA("b", "db", BAD));
    event(VPA_REFLECTOR_MODIFIED, VPA("b", "db", BAD));
    ck_assert(vpa_cache_is_unknown(keeping, "ns", "b"));
    vpa_cache_list(keeping, VPA_CACHE_ALL, &list);
    vpa_cache_free(keeping);
    ck_assert_ptr_null(vpa_cache_last(list.objects[0]));
    ck_assert_ptr_eq(vpa_cache_last(list.objects[1]), b);
    ck_assert_str_eq(((const struct vpa_object *)b)->target_ref.name, "web");
}

/* ---- a cache that is taken ---- */

static char taken[512];
static const char *has; /* name of what the store has */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    size_t len = strlen(taken);
    va_list args;

    va_start(args, format);
    vsnprintf(taken + len, sizeof(taken) - len, format, args);
    va_end(args);
}

static bool store_has(void *ctx, const void *draft)
{
    (void)ctx;
    return has && vpa_str_eq(vpa_json_string(vpa_json_at(draft, "metadata.name")), has);
}

/* The store looks at targets. */
static bool targets_differ(const void *older, const void *newer)
{
    const struct vpa_object *a = older, *b = newer;

    return !vpa_str_eq(a->target_ref.name, b->target_ref.name);
}

static void say_list(void *ctx)
{
    (void)ctx;
    say("list ");
}

static void say_listed(void *ctx, const char *ns, const char *name)
{
    (void)ctx;
    say("%s/%s ", ns, name);
}

static void say_change(void *ctx, const struct vpa_cache_change *change)
{
    (void)ctx;
    say("%s%s:%s", change->gone ? "-" : "", change->ns, change->name);
    for (size_t i = 0; i < change->count; i++) {
        const struct vpa_object *vpa = change->versions[i];

        say(",%s", vpa->target_ref.name);
    }
    say(" ");
}

static const struct vpa_cache_taker taker = {.has = store_has,
                                             .differs = targets_differ,
                                             .list = say_list,
                                             .listed = say_listed,
                                             .change = say_change};

static const char *take(void)
{
    taken[0] = '\0';
    vpa_cache_take(cache);
    return taken;
}

static void setup_taken(void)
{
    has = NULL;
    cache = vpa_cache_new(&(struct vpa_cache_options){.kind = &vpa_cache_vpas, .taker = &taker});
    handler = vpa_cache_handler(cache);
}

TEST_CASE(taken, setup_taken, teardown);

TEST(gives_what_has_come_once) {
    event(VPA_REFLECTOR_ADDED, VPA("b", "web", ""));
    event(VPA_REFLECTOR_ADDED, VPA("a", "web", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "web", ""));
    ck_assert_str_eq(take(), "ns:a,web ns:b,web ");
    ck_assert_str_eq(take(), "");
    ck_assert_uint_eq(vpa_cache_count(cache), 0);
}

TEST(keeps_versions_that_differ) {
    event(VPA_REFLECTOR_ADDED, VPA("a", "x", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "y", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "y", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "x", ""));
    ck_assert_str_eq(take(), "ns:a,x,y,x ");
}

/* Neither hides what came before. */
TEST(gone_and_unknown_objects_keep_their_versions) {
    event(VPA_REFLECTOR_ADDED, VPA("a", "x", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "y", BAD));
    event(VPA_REFLECTOR_DELETED, VPA("a", "y", ""));
    event(VPA_REFLECTOR_DELETED, VPA("b", "y", ""));
    event(VPA_REFLECTOR_ADDED, VPA("c", "y", BAD));
    event(VPA_REFLECTOR_ADDED, VPA("d", "x", ""));
    event(VPA_REFLECTOR_DELETED, VPA("d", "x", ""));
    event(VPA_REFLECTOR_ADDED, VPA("d", "y", ""));
    ck_assert_str_eq(take(), "-ns:a,x -ns:b ns:c ns:d,x,y ");
}

TEST(a_bounded_number_of_versions_waits) {
    size_t commas = 0;

    for (int i = 0; i < 3 * VPA_CACHE_VERSIONS_MAX; i++)
        event(VPA_REFLECTOR_MODIFIED, i % 2 ? VPA("a", "x", "") : VPA("a", "y", ""));
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "last", ""));
    event(VPA_REFLECTOR_DELETED, VPA("a", "last", ""));
    for (const char *c = take(); *c; c++)
        commas += *c == ',';
    ck_assert_uint_eq(commas, VPA_CACHE_VERSIONS_MAX);
    ck_assert_ptr_nonnull(strstr(taken, ",last "));
}

TEST(a_whole_list_says_what_is_there) {
    has = "old";
    event(VPA_REFLECTOR_ADDED, VPA("gone", "x", ""));
    handler.begin(handler.ctx);
    event(VPA_REFLECTOR_LISTED, VPA("half", "x", ""));
    ck_assert_str_eq(take(), "ns:gone,x ns:half,x ");
    event(VPA_REFLECTOR_ADDED, VPA("gone", "y", ""));
    handler.begin(handler.ctx); /* the first broke off */
    event(VPA_REFLECTOR_LISTED, VPA("old", "x", ""));
    event(VPA_REFLECTOR_LISTED, VPA("new", "x", ""));
    event(VPA_REFLECTOR_LISTED, VPA("bad", "x", BAD));
    handler.end(handler.ctx);
    ck_assert_str_eq(take(), "list ns/old ns/new ns/bad ns:bad -ns:gone,y ns:new,x ");
    ck_assert_str_eq(take(), "");
}

/* What waits is older than what the list has, whatever the store says. */
TEST(what_waits_is_replaced_by_the_list) {
    has = "a";
    event(VPA_REFLECTOR_MODIFIED, VPA("a", "x", ""));
    handler.begin(handler.ctx);
    event(VPA_REFLECTOR_LISTED, VPA("a", "y", ""));
    handler.end(handler.ctx);
    ck_assert_str_eq(take(), "list ns/a ns:a,x,y ");
    handler.begin(handler.ctx);
    handler.end(handler.ctx);
    ck_assert_str_eq(take(), "list ");
}

int main(void)
{
    return run_tests("cache", setup, teardown);
}
