#include <ctype.h>
#include <string.h>

#include "vpa/kube/client.h"

static void escape(struct vpa_buf *buf, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (isalnum(*p) || strchr("-._~", *p))
            vpa_buf_putc(buf, (char)*p);
        else
            vpa_buf_printf(buf, "%%%02X", *p);
}

static void segment(struct vpa_buf *buf, const char *text)
{
    vpa_buf_putc(buf, '/');
    /* Names of Kubernetes objects may hold ':' and the like, never a lone dot: it must not climb.
     */
    if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        vpa_buf_printf(buf, "%s", text[1] ? "%2E%2E" : "%2E");
    else
        escape(buf, text);
}

void vpa_kube_path(struct vpa_buf *buf, const char *group_version, const char *ns,
                   const char *resource, const char *name, const char *subresource)
{
    const char *slash = strchr(group_version, '/');

    if (!slash) {
        vpa_buf_puts(buf, "/api");
        segment(buf, group_version);
    } else {
        vpa_auto_free char *group = vpa_xstrndup(group_version, (size_t)(slash - group_version));
        vpa_buf_puts(buf, "/apis");
        segment(buf, group);
        segment(buf, slash + 1);
    }
    if (ns && *ns) {
        vpa_buf_puts(buf, "/namespaces");
        segment(buf, ns);
    }
    segment(buf, resource);
    if (name)
        segment(buf, name);
    if (subresource)
        segment(buf, subresource);
}

void vpa_kube_query(struct vpa_buf *buf, const char *key, const char *value)
{
    vpa_buf_putc(buf, strchr(vpa_buf_text(buf), '?') ? '&' : '?');
    escape(buf, key);
    vpa_buf_putc(buf, '=');
    escape(buf, value);
}
