/* RecommendationQueries: any body is refused with a reason or answered with JSON that holds the
 * same pod and exactly one of a recommendation and an error. */
#include "fuzz.h"
#include "../../recommender/query_object.h"

static const struct vpa_json *read_back(struct vpa_arena *arena, const struct vpa_buf *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    FUZZ_CHECK(!vpa_buf_failed(text));
    FUZZ_CHECK(vpa_json_parse_folded(arena, text->data, text->len, &root, &err) == 0);
    return root;
}

/* Bytes that are no UTF-8 come back as U+FFFD: such a pod does not equal the one that came. */
static bool is_ascii(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] >= 0x80)
            return false;
    return true;
}

static void check_answer(struct vpa_arena *arena, const struct query_object *query,
                         const char *error, bool same)
{
    struct vpa_container_recommendation app = {.container_name = "app"};
    struct vpa_recommendation rec = {.present = true, .containers = &app, .container_count = 1};
    struct vpa_buf out;

    vpa_buf_init(&out, (size_t)1 << 26);
    query_object_encode(&out, query, &rec, error);
    const struct vpa_json *root = read_back(arena, &out);
    const struct vpa_json *status = vpa_json_find(root, "status");
    FUZZ_CHECK(!same || vpa_json_equal(vpa_json_at(root, "spec.pod"), query->pod));
    FUZZ_CHECK((vpa_json_find(status, "error") != NULL) == (error != NULL));
    FUZZ_CHECK((vpa_json_find(status, "recommendation") != NULL) == (error == NULL));
    vpa_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    struct query_object query;
    struct vpa_error err = {0};
    struct vpa_buf out;

    if (query_object_decode(&arena, (const char *)data, size, &query, &err) == 0) {
        FUZZ_CHECK(query.ns[0] && query.container_count <= VPA_JSON_LIST_MAX);
        bool same = is_ascii(data, size);
        check_answer(&arena, &query, NULL, same);
        check_answer(&arena, &query, query_object_pod(&arena, &query), same);
    } else {
        FUZZ_CHECK(err.code == VPA_INVALID || err.code == VPA_LIMIT);
        vpa_buf_init(&out, 1 << 16);
        query_object_encode_failure(&out, 400, "BadRequest", err.text);
        FUZZ_CHECK(vpa_json_is_object(read_back(&arena, &out)));
        vpa_buf_release(&out);
    }
    vpa_arena_release(&arena);
    return 0;
}
