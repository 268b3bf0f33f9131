/*
 * What the port of the recommendation API reads before a body: the cluster's settings of its
 * proxies (the first line, a ConfigMap), the path (the second), headers (each further line,
 * "Name: value"). A namespace is one that the path names; whoever is taken from headers is asked
 * about in JSON that names him and all of his groups.
 */
#include "fuzz.h"
#include "../../recommender/access.h"
#include "../../recommender/front_proxy.h"
#include "../../recommender/query_api.h"
#include "../../recommender/query_documents.h"
#include "../../recommender/query_object.h"
#include "vpa/base/str.h"

#define LINES_MAX 4096

/* The next line of the text; NULL at its end. */
static char *next_line(char **at)
{
    char *line = *at, *end;

    if (!line)
        return NULL;
    end = strchr(line, '\n');
    *at = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return line;
}

static void check_path(struct vpa_arena *arena, const char *path)
{
    const char *ns = query_api_namespace(arena, path);
    char *document = query_document(path);

    FUZZ_CHECK(!ns || vpa_is_dns1123_label(ns));
    FUZZ_CHECK(!ns || strcmp(path, vpa_arena_printf(arena,
                                                    "/apis/" QUERY_API_VERSION
                                                    "/namespaces/%s/" QUERY_RESOURCE,
                                                    ns)) == 0);
    FUZZ_CHECK(!ns || !document);
    free(document);
}

static void check_question(struct vpa_arena *arena, const struct caller *caller)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;
    struct vpa_buf out;

    vpa_buf_init(&out, (size_t)1 << 26);
    access_encode(caller, "web", &out);
    FUZZ_CHECK(!vpa_buf_failed(&out));
    FUZZ_CHECK(vpa_json_parse(arena, out.data, out.len, &root, &err) == 0);
    const struct vpa_json *spec = vpa_json_find(root, "spec");
    FUZZ_CHECK(vpa_json_string(vpa_json_find(spec, "user")) != NULL);
    FUZZ_CHECK(vpa_json_count(vpa_json_find(spec, "groups")) == caller->group_count);
    vpa_buf_release(&out);
}

static void check_headers(struct vpa_arena *arena, const struct front_proxy *front, char *at)
{
    struct caller caller;
    char *line;

    caller_init(arena, &caller);
    for (size_t i = 0; i < LINES_MAX && (line = next_line(&at)); i++) {
        char *colon = strstr(line, ": ");

        if (!colon)
            continue;
        *colon = '\0';
        bool room = caller_take(front, arena, &caller, line, colon + 2);
        FUZZ_CHECK(caller.group_count + caller.extra_count <= CALLER_VALUES_MAX);
        if (!room) {
            FUZZ_CHECK(caller.group_count + caller.extra_count == CALLER_VALUES_MAX);
            break;
        }
    }
    for (size_t i = 0; i < caller.extra_count; i++)
        for (const char *c = caller.extras[i].key; *c; c++)
            FUZZ_CHECK(*c < 'A' || *c > 'Z');
    if (*caller.user)
        check_question(arena, &caller);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    const struct vpa_json *config_map = NULL;
    struct front_proxy *front = NULL;
    struct vpa_error err = {0};
    char *at = vpa_arena_strdup(&arena, fuzz_text(&arena, data, size));
    const char *settings = next_line(&at), *path = next_line(&at);

    check_path(&arena, path ? path : "");
    if (vpa_json_parse(&arena, settings, strlen(settings), &config_map, &err) == 0)
        front = front_proxy_new(config_map, &err);
    FUZZ_CHECK(front || err.code);
    if (front) {
        FUZZ_CHECK(front_proxy_check(front, NULL, 0, &err) < 0 && err.code == VPA_DENIED);
        FUZZ_CHECK(front_proxy_check(front, "junk", 0, &err) < 0 && err.code == VPA_DENIED);
        check_headers(&arena, front, at);
    }
    front_proxy_unref(front);
    vpa_arena_release(&arena);
    return 0;
}
