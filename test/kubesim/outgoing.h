/* Requests of the API server to others; see outgoing.c. */
#ifndef KUBESIM_OUTGOING_H
#define KUBESIM_OUTGOING_H

#include "sim.h"

struct outgoing {
    const char *method;
    const char *url;
    const char *route;   /* curl's CONNECT_TO: "name:port:host:port", or NULL */
    const char *address; /* for error texts */
    const char *body;
    size_t body_len;
    const unsigned char *ca; /* PEM */
    size_t ca_len;
    const char *cert_file, *key_file; /* NULL: no client certificate */
    bool insecure;
    long timeout_ms;
    struct strings headers;
};
struct outgoing_answer {
    int status;
    const char *content_type;
    struct vpa_buf body; /* the caller releases it */
    const char *error;
    bool no_tls; /* the other side does not speak TLS */
};
int outgoing_call(struct ctx *c, const struct outgoing *o, struct outgoing_answer *out);
void outgoing_release(void);
const char *service_address(struct ctx *c, const char *ns, const char *name, int64_t port);
/* Decodes into out, which has room for the text; answers the length. */
size_t decode_base64(const char *text, unsigned char *out);

#endif
