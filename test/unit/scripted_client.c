#include "scripted_client.h"

struct vpa_clock *clk;
struct vpa_loop *loop;
struct vpa_random rnd;
struct vpa_transport *transport;
struct vpa_kube_client *client;

struct script script;
int seen;
int64_t seen_at[32];
bool last_repeatable;
struct vpa_error last_err;
char last_method[16], last_target[512], last_type[64], last_body[512], last_agent[64];

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    if (seen < 32)
        seen_at[seen] = vpa_loop_monotonic(loop);
    seen++;
    snprintf(last_method, sizeof(last_method), "%s", q->method);
    snprintf(last_target, sizeof(last_target), "%s", q->target);
    snprintf(last_type, sizeof(last_type), "%s", or_dash(vpa_memory_header(q, "content-type")));
    snprintf(last_agent, sizeof(last_agent), "%s", or_dash(vpa_memory_header(q, "User-Agent")));
    snprintf(last_body, sizeof(last_body), "%s", q->body);
    last_repeatable = q->repeatable;
    if (script.chunk)
        vpa_memory_reply_chunk(r, script.chunk);
    if (script.delay)
        vpa_memory_reply_delay(r, script.delay);
    if (seen > script.until && script.then) {
        vpa_memory_reply_status(r, script.then, NULL, "scripted");
        return;
    }
    if (seen > script.until) {
        vpa_memory_reply_json(r, 200, "{\"ok\":true,\"n\":[1,2,3]}");
        return;
    }
    if (script.text)
        vpa_memory_reply_bytes(r, script.status, "text/plain", script.text, strlen(script.text));
    else if (script.message)
        vpa_memory_reply_status(r, script.status, script.reason, script.message);
    if (script.retry_after >= 0)
        vpa_memory_reply_retry_after(r, script.retry_after);
    if (script.failure)
        vpa_memory_reply_fail(r, script.failure);
}

struct vpa_kube_config *config;
int answered, unanswered;

static void on_attempt(void *ctx, bool was_answered)
{
    (void)ctx;
    answered += was_answered;
    unanswered += !was_answered;
}

void make_client(double qps, int64_t burst)
{
    const struct vpa_kube_client_options options = {.loop = loop,
                                                    .transport = transport,
                                                    .config = config,
                                                    .random = &rnd,
                                                    .user_agent = "vpa-test/1",
                                                    .qps = qps,
                                                    .burst = burst,
                                                    .on_attempt = on_attempt};
    struct vpa_error err;

    vpa_kube_client_free(client);
    client = vpa_kube_client_new(&options, &err);
    ck_assert_ptr_nonnull(client);
}

void setup(void)
{
    clk = vpa_clock_new_manual(vpa_time_from_unix(1767225600, 0));
    loop = vpa_loop_new(clk);
    vpa_random_init(&rnd, 1);
    transport = vpa_memory_transport_new(loop, serve, NULL);
    client = NULL;
    config = vpa_kube_config_plain("http://sim:8001/prefix");
    vpa_metric_reset(&vpa_kube_requests);
    make_client(-1, 0);
    seen = answered = unanswered = 0;
    memset(&script, 0, sizeof(script));
    script.retry_after = -1;
}

void teardown(void)
{
    vpa_kube_client_free(client);
    vpa_kube_config_free(config);
    vpa_metric_reset(&vpa_kube_requests);
    vpa_transport_free(transport);
    vpa_loop_free(loop);
    vpa_clock_free(clk);
}

void keep_err(void *ctx, const struct vpa_kube_result *result, const struct vpa_error *err)
{
    (void)result;
    last_err = err ? *err : (struct vpa_error){0};
    ++*(int *)ctx;
}
