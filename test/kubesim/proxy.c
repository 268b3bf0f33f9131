/*
 * Aggregated APIs: requests of a group and version that an APIService gives to a service are passed
 * on, with the user in headers and the certificate of --proxy-client-cert-file. The other side may
 * speak TLS, as behind a real API server, or plain HTTP.
 */
#include <string.h>

#include "outgoing.h"

static const struct jv *find_service(struct ctx *c, const char *group, const char *version)
{
    const struct collection *s =
        types_find(&c->sim->types, "apiregistration.k8s.io", "v1", "apiservices")->store;
    const char *name = vpa_arena_printf(c->a, "%s.%s", version, group);
    const struct version *v = store_find(s, "", name);
    const struct jv *object = v ? version_parse(c->a, v) : NULL;

    return jv_missing(jv_at(object, "spec.service")) ? NULL : object;
}

static int unavailable(struct ctx *c, const char *why)
{
    return fail(c, 503, "ServiceUnavailable", "%s", why);
}

/* As the service is named: its certificate must be good for that name, and be one of caBundle. */
static void aim(struct ctx *c, const struct jv *service, const char *address, struct outgoing *o)
{
    const char *bundle = jv_text_at(service, "spec.caBundle");
    const char *name = vpa_arena_printf(c->a, "%s.%s.svc", jv_text_at(service, "spec.service.name"),
                                        jv_text_at(service, "spec.service.namespace"));
    long long port = (long long)jv_int_at(service, "spec.service.port", 443);
    unsigned char *ca = vpa_arena_alloc(c->a, strlen(bundle) + 1);

    o->insecure = jv_bool_at(service, "spec.insecureSkipTLSVerify", false);
    o->ca = ca;
    o->ca_len = decode_base64(bundle, ca);
    o->route = vpa_arena_printf(c->a, "%s:%lld:%s", name, port, address);
    o->url = vpa_arena_printf(c->a, "%s:%lld", name, port);
}

/* Who asks, and that it is us who say so. */
static void vouch(struct ctx *c, struct outgoing *o)
{
    o->cert_file = c->sim->opt.proxy_client_cert;
    o->key_file = c->sim->opt.proxy_client_key;
    strings_addf(c->a, &o->headers, "X-Remote-User: %s", c->user.name);
    for (size_t i = 0; i < c->user.group_count; i++)
        strings_addf(c->a, &o->headers, "X-Remote-Group: %s", c->user.groups[i]);
}

static void take_answer(struct ctx *c, struct outgoing_answer *answer)
{
    c->res->status = answer->status;
    c->res->content_type = *answer->content_type ? answer->content_type : "application/json";
    vpa_buf_release(&c->res->body);
    c->res->body = answer->body;
}

static int pass_on(struct ctx *c, const struct jv *service, const char *address)
{
    struct outgoing o = {.method = c->req->method,
                         .timeout_ms = 60000,
                         .body = c->req->body,
                         .body_len = c->req->body_len,
                         .address = address};
    struct outgoing_answer answer = {0};
    const char *query = c->req->query && *c->req->query ? c->req->query : NULL;

    if (c->req->accept)
        strings_addf(c->a, &o.headers, "Accept: %s", c->req->accept);
    if (c->req->content_type)
        strings_addf(c->a, &o.headers, "Content-Type: %s", c->req->content_type);
    if (c->req->user_agent)
        strings_addf(c->a, &o.headers, "User-Agent: %s", c->req->user_agent);
    aim(c, service, address, &o);
    vouch(c, &o);
    const char *where = o.url;
    for (int tls = 1; tls >= 0; tls--) {
        o.url = vpa_arena_printf(c->a, "%s://%s%s%s%s", tls ? "https" : "http", where, c->req->path,
                                 query ? "?" : "", query ? query : "");
        vpa_buf_release(&answer.body);
        answer = (struct outgoing_answer){0};
        if (outgoing_call(c, &o, &answer) == 0) {
            take_answer(c, &answer);
            return 1;
        }
        if (!answer.no_tls)
            break;
    }
    vpa_buf_release(&answer.body);
    return unavailable(c,
                       vpa_arena_printf(c->a, "error trying to reach service: %s", answer.error));
}

int proxy_group(struct ctx *c, const char *group, const char *version)
{
    sim_lock(c);
    const struct jv *service = find_service(c, group, version);
    const char *ns = jv_text_at(service, "spec.service.namespace"),
               *name = jv_text_at(service, "spec.service.name");
    const char *address =
        service ? service_address(c, ns, name, jv_int_at(service, "spec.service.port", 443)) : NULL;
    sim_unlock(c);
    if (!service)
        return 0;
    return address ? pass_on(c, service, address) : unavailable(c, "service unavailable");
}

int handle_proxy(struct ctx *c)
{
    const char *path = c->req->path;

    if (strncmp(path, "/apis/", 6) != 0)
        return 0;
    const char *group = path + 6, *slash = strchr(group, '/');
    if (!slash)
        return 0;
    group = vpa_arena_strndup(c->a, group, (size_t)(slash - group));
    return proxy_group(c, group, vpa_arena_strndup(c->a, slash + 1, strcspn(slash + 1, "/")));
}
