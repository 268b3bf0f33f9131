/* What comes back from the address that is said to be the updater's, and from kubectl: any bytes
 * are a page or an error, an address on loopback or none, a port or none. */
#include "fuzz.h"

#include "decisions.h"
#include "port_forward.h"
#include "vpa/base/str.h"

static void check_page(struct vpa_arena *arena, const char *text, size_t size)
{
    static const char *const pods[] = {"api-0"};
    const struct cli_decisions_query query = {
        .ns = "web", .vpa = "api", .pods = pods, .pod_count = VPA_COUNT(pods)};
    struct cli_decisions found = {0};
    struct vpa_error err;
    int64_t next;
    bool more;

    for (int i = 0; i < 2; i++)
        if (cli_decisions_take(arena, text, size, &query, &found, &next, &more, &err) < 0)
            break;
    FUZZ_CHECK(found.count <= CLI_DECISIONS_MAX);
    for (size_t i = 0; i < found.count; i++)
        FUZZ_CHECK(found.items[i].vpa && found.items[i].pod && found.items[i].decision &&
                   found.items[i].rule && found.items[i].why);
}

static void check_address(struct vpa_arena *arena, const char *text)
{
    const char *origin;
    struct vpa_error err;

    if (cli_decisions_origin(arena, text, &origin, &err) == 0)
        FUZZ_CHECK(vpa_str_starts_with(text, origin) && !strchr(origin, '@') &&
                   (vpa_str_starts_with(origin, "http://127.0.0.1") ||
                    vpa_str_starts_with(origin, "http://[::1]") ||
                    vpa_str_starts_with(origin, "http://localhost")));
    int port = cli_forward_port_of(text);

    FUZZ_CHECK(port >= 0 && port < 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    char *text = vpa_xstrndup((const char *)data, size);

    check_page(&arena, (const char *)data, size);
    check_address(&arena, text);
    free(text);
    vpa_arena_release(&arena);
    return 0;
}
