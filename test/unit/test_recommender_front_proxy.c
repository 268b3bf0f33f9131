/*
 * What the recommendation API takes from the headers of an aggregating API server: the cluster says
 * in a ConfigMap which they are.
 */
#include "../../recommender/front_proxy.h"
#include "json_helper.h"

#define LISTS(users, uids, groups, extras)                                                         \
    "{\"data\":{\"requestheader-username-headers\":\"" users                                       \
    "\",\"requestheader-uid-headers\":\"" uids "\",\"requestheader-group-headers\":\"" groups      \
    "\",\"requestheader-extra-headers-prefix\":\"" extras "\"}}"
#define USUAL                                                                                      \
    LISTS("[\\\"X-User\\\",\\\"X-Name\\\"]", "[\\\"X-Uid\\\"]", "[\\\"X-Group\\\"]",               \
          "[\\\"\\\",\\\"X-Extra-\\\"]")

static struct front_proxy *front_of(const char *config_map)
{
    struct vpa_error err = {0};
    struct front_proxy *front = front_proxy_new(json_of(config_map), &err);

    ck_assert_msg(front != NULL, "%s", err.text);
    return front;
}

/* "user|uid|group,group|key=value,key=value" */
static const char *text_of_caller(const struct caller *caller)
{
    const char *text = vpa_arena_printf(&arena, "%s|%s|", caller->user, caller->uid);

    for (size_t i = 0; i < caller->group_count; i++)
        text = vpa_arena_printf(&arena, "%s%s%s", text, i ? "," : "", caller->groups[i]);
    text = vpa_arena_printf(&arena, "%s|", text);
    for (size_t i = 0; i < caller->extra_count; i++)
        text = vpa_arena_printf(&arena, "%s%s%s=%s", text, i ? "," : "", caller->extras[i].key,
                                caller->extras[i].value);
    return text;
}

static const struct {
    const char *name;
    const char *headers[6][2];
    const char *want;
} requests[] = {
    {"nothing", {{NULL}}, "|||"},
    {"a user", {{"X-User", "alice"}}, "alice|||"},
    {"in any case", {{"x-uSER", "alice"}}, "alice|||"},
    {"the first that has a value",
     {{"X-User", ""}, {"X-Name", "bob"}, {"X-User", "eve"}},
     "bob|||"},
    {"one UID", {{"X-Uid", "1"}, {"X-Uid", "2"}}, "|1||"},
    {"all groups", {{"X-Group", "a"}, {"x-group", "b"}, {"X-Group", "a"}}, "||a,b,a|"},
    {"extras", {{"X-Extra-Scope", "x"}, {"x-extra-SCOPE", "y"}}, "|||scope=x,scope=y"},
    {"escaped keys", {{"X-Extra-a%2Fb%20C", "x"}}, "|||a/b c=x"},
    {"a plus is no blank", {{"X-Extra-a+b", "x"}}, "|||a+b=x"},
    {"an empty key", {{"X-Extra-", "x"}}, "|||=x"},
    {"others", {{"X-Users", "a"}, {"X-Extr", "b"}, {"Authorization", "c"}}, "|||"},
};

TEST_EACH(reads_headers, requests) {
    struct front_proxy *front = front_of(USUAL);
    struct caller caller;

    caller_init(&arena, &caller);
    for (size_t i = 0; i < 6 && requests[_i].headers[i][0]; i++)
        ck_assert(caller_take(front, &arena, &caller, requests[_i].headers[i][0],
                              requests[_i].headers[i][1]));
    ck_assert_msg(strcmp(text_of_caller(&caller), requests[_i].want) == 0, "%s: %s",
                  requests[_i].name, text_of_caller(&caller));
    front_proxy_unref(front);
}

TEST_TIMES(without_lists_no_header_counts, 3) {
    static const char *const empty[] = {"{}", "{\"data\":{}}", LISTS("[]", "[]", "[]", "[]")};
    struct front_proxy *front = front_of(empty[_i]);
    struct caller caller;

    caller_init(&arena, &caller);
    ck_assert(caller_take(front, &arena, &caller, "X-Remote-User", "root"));
    ck_assert(caller_take(front, &arena, &caller, "X-Remote-Group", "system:masters"));
    ck_assert(caller_take(front, &arena, &caller, "", "root"));
    ck_assert_str_eq(text_of_caller(&caller), "|||");
    front_proxy_unref(front);
}

/* Groups and extras together, whichever is one too many; users count for nothing. */
TEST_TIMES(values_are_bounded, 3) {
    static const char *const names[] = {"X-Group", "X-Extra-k"};
    struct front_proxy *front = front_of(USUAL);
    struct caller caller;

    caller_init(&arena, &caller);
    for (size_t i = 0; i < CALLER_VALUES_MAX; i++)
        ck_assert(caller_take(front, &arena, &caller, names[_i < 2 ? (size_t)_i : i % 2], "v"));
    ck_assert(!caller_take(front, &arena, &caller, names[0], "v"));
    ck_assert(!caller_take(front, &arena, &caller, names[1], "v"));
    ck_assert_uint_eq(caller.group_count + caller.extra_count, CALLER_VALUES_MAX);
    ck_assert(caller_take(front, &arena, &caller, "X-User", "alice"));
    ck_assert_str_eq(caller.user, "alice");
    front_proxy_unref(front);
}

/* Each reference is one; the last one that goes takes it along, which the sanitizers see. */
TEST(references_are_counted) {
    struct front_proxy *front = front_of(USUAL);
    struct caller caller;

    ck_assert_ptr_eq(front_proxy_ref(front), front);
    front_proxy_unref(front);
    caller_init(&arena, &caller);
    ck_assert(caller_take(front, &arena, &caller, "X-User", "alice"));
    ck_assert_str_eq(caller.user, "alice");
    front_proxy_unref(front);
    front_proxy_unref(NULL);
}

static const struct {
    const char *config_map, *error;
} faults[] = {
    {LISTS("[", "[]", "[]", "[]"), "requestheader-username-headers: "},
    {LISTS("[]", "[1]", "[]", "[]"), "requestheader-uid-headers: not an array of texts"},
    {LISTS("[]", "[]", "[null]", "[]"), "requestheader-group-headers: not an array of texts"},
    {LISTS("[]", "[]", "[]", "[[]]"), "requestheader-extra-headers-prefix: not an array of texts"},
    {"{\"data\":{\"requestheader-allowed-names\":\"[2]\"}}",
     "requestheader-allowed-names: not an array of texts"},
    {"{\"data\":{\"requestheader-client-ca-file\":\"x\"}}", "requestheader-client-ca-file: "},
};

TEST_EACH(faults_are_told, faults) {
    struct vpa_error err = {0};

    ck_assert_ptr_null(front_proxy_new(json_of(faults[_i].config_map), &err));
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_msg(strstr(err.text, faults[_i].error) == err.text, "%s", err.text);
}

int main(void)
{
    return run_tests("recommender_front_proxy", NULL, release_arena);
}
