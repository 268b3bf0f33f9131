/* Members of JSON that the facts of every decision have. */
#include "facts.h"

#include "vpa/base/mem.h"

void vpa_facts_put_double(struct vpa_json_writer *w, const char *name, double value)
{
    vpa_auto_free char *text = vpa_xprintf("%a", value);

    vpa_json_member_string(w, name, text);
}

void vpa_facts_put_nanos(struct vpa_json_writer *w, const char *name, int64_t value)
{
    vpa_auto_free char *text = vpa_xprintf("%lld", (long long)value);

    vpa_json_member_string(w, name, text);
}

void vpa_facts_put_object(struct vpa_json_writer *w, const char *name, const struct vpa_meta *meta)
{
    vpa_json_member_object(w, name);
    vpa_json_member_string(w, "namespace", meta->ns);
    vpa_json_member_string(w, "name", meta->name);
    vpa_json_member_string(w, "uid", meta->uid);
    vpa_json_member_string(w, "resourceVersion", meta->resource_version);
    vpa_json_close_object(w);
}
