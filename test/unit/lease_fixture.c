#include "lease_fixture.h"

#include "vpa/json/json_writer.h"

static struct vpa_arena arena;
size_t requests;
enum vpa_transport_failure cut;
bool silent;
bool broken;
vpa_duration latency;
const char *garbage;

static int serve_first(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    requests++;
    vpa_memory_reply_delay(r, silent ? 1000 * VPA_HOUR : latency);
    if (cut)
        vpa_memory_reply_fail(r, cut);
    else if (broken)
        vpa_memory_reply_status(r, 500, "InternalError", "broken");
    else if (garbage && strcmp(q->method, "GET") == 0)
        vpa_memory_reply_json(r, 200, garbage);
    else if (!silent)
        return 0;
    return 500;
}

void put_lease(const char *holder, int seconds)
{
    vpa_auto_free char *text = vpa_xprintf(
        "{\"apiVersion\":\"" LEASES "\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\","
        "\"namespace\":\"n\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,"
        "\"renewTime\":\"2026-03-01T12:00:00.000000Z\"}}",
        holder, seconds);

    sim_cluster_put_text(sim, text);
}

const char *lease(void)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(4096);

    vpa_json_writer_init(&w, &text);
    vpa_json_put_node(&w, sim_cluster_find(sim, &arena, LEASES, "Lease", "n", "l"));
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}

void setup(void)
{
    start_client(NULL, 1772366400, 3);
    sim_cluster_hook(sim, serve_first, NULL);
    latency = VPA_MILLISECOND;
}

void teardown(void)
{
    stop_client();
    vpa_arena_release(&arena);
}
