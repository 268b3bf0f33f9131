/*
 * The body of an admission review against a fixed snapshot: any bytes must give one well-formed
 * answer, and a patch, when there is one, is a list of additions.
 */
#include "admission.h"
#include "fuzz.h"
#include "memory_transport.h"
#include "manual_clock.h"
#include "vpa/api/review.h"
#include "vpa/base/log.h"
#include "vpa/daemon/clock.h"

#define TEXT_MAX ((size_t)64 << 20)

static const char vpas[] =
    "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"v\","
    "\"namespace\":\"ns\"},"
    "\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/"
    "v1\",\"kind\":\"StatefulSet\",\"name\":\"web\"},"
    "\"startupBoost\":{\"cpu\":{\"type\":\"Factor\",\"factor\":2}},\"resourcePolicy\":{"
    "\"containerPolicies\":["
    "{\"containerName\":\"*\",\"minAllowed\":{\"cpu\":\"10m\"},\"maxAllowed\":{\"memory\":\"8Gi\"}}"
    ","
    "{\"containerName\":\"b\",\"controlledValues\":\"RequestsOnly\"}]}},\"status\":{"
    "\"recommendation\":{"
    "\"containerRecommendations\":[{\"containerName\":\"a\",\"target\":{\"cpu\":\"250m\","
    "\"memory\":\"1Gi\"}},"
    "{\"containerName\":\"b\",\"target\":{\"cpu\":\"1\",\"memory\":\"2Gi\",\"x/y~z\":\"1\"}}]}}},"
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"other\"},\"spec\":{\"selector\":{"
    "\"matchLabels\":{\"app\":"
    "\"web\"}}}}]}";
static const char limit_ranges[] =
    "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"l\","
    "\"namespace\":\"ns\"},"
    "\"spec\":{\"limits\":[{\"type\":\"Pod\",\"max\":{\"cpu\":\"2\",\"memory\":\"4Gi\"},\"min\":{"
    "\"cpu\":\"1m\"}},"
    "{\"type\":\"Container\",\"max\":{\"cpu\":\"1\"},\"default\":{\"cpu\":\"500m\"}}]}}]}";
static const char stateful_sets[] =
    "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{\"name\":\"web\","
    "\"namespace\":\"ns\"},"
    "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}]}";
static const char nothing[] = "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}";

static void serve(void *ctx, const struct vpa_memory_request *request,
                  struct vpa_memory_reply *reply)
{
    const char *text = strstr(request->path, "verticalpodautoscalers") ? vpas
                       : strstr(request->path, "limitranges")          ? limit_ranges
                       : strstr(request->path, "statefulsets")         ? stateful_sets
                                                                       : nothing;

    (void)ctx;
    if (vpa_memory_query(request, "watch"))
        vpa_memory_reply_stream(reply, 200, NULL, NULL);
    else
        vpa_memory_reply_json(reply, 200, text);
}

/* The daemon whose snapshot all inputs share. Lives until the end of the process. */
static struct admission *the_daemon(void)
{
    static struct admission_config config;
    static struct vpa_random random;
    static struct admission *admission;
    const struct vpa_flags flags = {
        .rows = admission_flag_rows, .count = admission_flag_count, .values = &config};
    const struct vpa_log_options log = {.level = -1, .fd = -1};
    struct vpa_error err;

    if (admission)
        return admission;
    vpa_flags_preset(&flags);
    (void)vpa_log_configure(&log, &err);
    struct vpa_loop *loop = vpa_loop_new(vpa_clock_new_manual(vpa_time_from_unix(1780000000, 0)));
    struct vpa_kube_client *client = vpa_kube_client_new(
        &(struct vpa_kube_client_options){.loop = loop,
                                          .transport = vpa_memory_transport_new(loop, serve, NULL),
                                          .random = &random,
                                          .user_agent = "fuzz",
                                          .qps = -1},
        &err);
    admission = admission_new(&(struct admission_options){.config = &config,
                                                          .loop = loop,
                                                          .client = client,
                                                          .ns = "",
                                                          .host_name = "f",
                                                          .unbound = true});
    if (admission_sync(admission, &err) < 0 || admission_listen(admission, &err) < 0)
        abort();
    return admission;
}

/* A patch is a list of "add" operations with a path each, and it is never empty. */
static void check_patch(struct vpa_arena *arena, const struct vpa_json *response)
{
    const char *text = vpa_json_string(vpa_json_find(response, "patch"));
    const struct vpa_json *patch;
    struct vpa_buf decoded;
    struct vpa_error err;

    if (!text)
        return;
    vpa_buf_init(&decoded, TEXT_MAX);
    FUZZ_CHECK(vpa_base64_decode(&decoded, text, strlen(text), &err) == 0);
    FUZZ_CHECK(vpa_json_parse(arena, decoded.data, decoded.len, &patch, &err) == 0);
    FUZZ_CHECK(vpa_json_is_array(patch) && vpa_json_count(patch) > 0);
    vpa_json_foreach (op, patch) {
        const char *path = vpa_json_string(vpa_json_find(op, "path"));
        FUZZ_CHECK(path && path[0] == '/');
        FUZZ_CHECK(strcmp(vpa_json_string(vpa_json_find(op, "op")), "add") == 0);
    }
    vpa_buf_release(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    char *body = vpa_xmalloc(size + 1);
    const struct vpa_json *root;
    struct vpa_server_response response = {0};
    struct vpa_error err;

    if (size)
        memcpy(body, data, size);
    body[size] = '\0';
    const struct vpa_server_request request = {
        .method = "POST", .path = "/", .query = "", .body = body, .body_len = size};
    server_answer(admission_server(the_daemon()), &request, "application/json", &response);
    FUZZ_CHECK(response.status == 200);
    FUZZ_CHECK(vpa_json_parse(&arena, response.body, response.body_len, &root, &err) == 0);
    check_patch(&arena, vpa_json_find(root, "response"));
    free(response.body);
    free(body);
    vpa_arena_release(&arena);
    return 0;
}
