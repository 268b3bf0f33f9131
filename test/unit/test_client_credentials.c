/* Requests whose credentials cannot be had: nothing is sent, and who asked is told. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "temp_folder.h"
#include "vpa/base/str.h"
#include "vpa/kube/config.h"

static int served;
static char authorization[64]; /* of the last request */

static void serve(void *ctx, const struct vpa_memory_request *q, struct vpa_memory_reply *r)
{
    (void)ctx;
    served++;
    snprintf(authorization, sizeof(authorization), "%s",
             vpa_or_empty(vpa_memory_header(q, "authorization")));
    vpa_memory_reply_json(r, 200, "{}");
}

static void setup(void)
{
    temp_folder_make();
    start_client(serve, 1772366400, 3);
    served = 0;
}

static void teardown(void)
{
    temp_folder_remove();
    stop_client();
}

static struct vpa_kube_client *client_with(struct vpa_kube_config *config)
{
    struct vpa_error err;
    struct vpa_kube_client *c =
        vpa_kube_client_new(&(struct vpa_kube_client_options){.loop = loop,
                                                              .transport = transport,
                                                              .random = &rnd,
                                                              .config = config,
                                                              .user_agent = "test",
                                                              .qps = -1},
                            &err);

    ck_assert_msg(c != NULL, "%s", err.text);
    return c;
}

TEST(a_token_that_cannot_be_read_fails_the_request) {
    static const char yaml[] =
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],\n"
        " clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1'}}],\n"
        " users: [{name: u, user: {tokenFile: token}}]}\n";
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET, .path = "/x", .no_retry = true};
    vpa_auto_arena arena = {0};
    struct vpa_kube_result result;
    struct vpa_error err = {0};
    struct vpa_kube_config *config = vpa_kube_config_parse(yaml, strlen(yaml), temp_folder(), &err);

    ck_assert_msg(config != NULL, "%s", err.text);
    struct vpa_kube_client *c = client_with(config);
    ck_assert_int_eq(vpa_kube_do(c, &call, &arena, &result, &err), -1);
    ck_assert_msg(strstr(err.text, "token") != NULL, "%s", err.text);
    ck_assert_int_eq(served, 0);
    ck_assert_uint_eq(vpa_kube_client_in_flight(c), 0);
    temp_put("token", "t1\n");
    ck_assert_int_eq(vpa_kube_do(c, &call, &arena, &result, &err), 0);
    ck_assert_int_eq(served, 1);
    ck_assert_str_eq(authorization, "Bearer t1");
    vpa_kube_client_free(c);
    vpa_kube_config_free(config);
}

int main(void)
{
    return run_tests("client_credentials", setup, teardown);
}
