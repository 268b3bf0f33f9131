/* The nodes: created or taken over, Ready, without taints; and what they have promised to pods. */
#include <stdlib.h>
#include <string.h>

#include "fakelet.h"
#include "vpa/base/log.h"
#include "vpa/json/json_writer.h"

static void put_amounts(struct vpa_json_writer *w, const struct node *node)
{
    struct vpa_quantity cpu = vpa_quantity_milli(node->cpu_millis);
    struct vpa_quantity memory = vpa_quantity_units(node->memory_bytes, VPA_BINARY_SI);
    struct vpa_quantity pods = vpa_quantity_units(node->pods, VPA_DECIMAL_SI);

    vpa_json_open_object(w);
    vpa_json_member_quantity(w, "cpu", &cpu);
    vpa_json_member_quantity(w, "memory", &memory);
    vpa_json_member_quantity(w, "pods", &pods);
    vpa_json_close_object(w);
}

static void encode_node(const struct node *node, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "kind", "Node");
    vpa_json_member_object(&w, "metadata");
    vpa_json_member_string(&w, "name", node->name);
    vpa_json_member_object(&w, "labels");
    vpa_json_member_string(&w, "kubernetes.io/hostname", node->name);
    vpa_json_member_string(&w, "kubernetes.io/os", "linux");
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

static void encode_status(const struct node *node, vpa_time now, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_object(&w, "status");
    vpa_json_key(&w, "capacity");
    put_amounts(&w, node);
    vpa_json_key(&w, "allocatable");
    put_amounts(&w, node);
    vpa_json_member_array(&w, "conditions");
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "type", "Ready");
    vpa_json_member_string(&w, "status", "True");
    vpa_json_member_string(&w, "reason", "KubeletReady");
    vpa_json_member_time(&w, "lastTransitionTime", now);
    vpa_json_member_time(&w, "lastHeartbeatTime", now);
    vpa_json_close_object(&w);
    vpa_json_close_array(&w);
    vpa_json_member_object(&w, "nodeInfo");
    static const char *const info[] = {"architecture",
                                       "amd64",
                                       "operatingSystem",
                                       "linux",
                                       "osImage",
                                       "fakelet",
                                       "kubeletVersion",
                                       "v1.35.0",
                                       "kernelVersion",
                                       "6.1",
                                       "containerRuntimeVersion",
                                       "fakelet://0",
                                       "machineID",
                                       "0",
                                       "systemUUID",
                                       "0",
                                       "bootID",
                                       "0",
                                       "kubeProxyVersion",
                                       ""};
    for (size_t i = 0; i < VPA_COUNT(info); i += 2)
        vpa_json_member_string(&w, info[i], info[i + 1]);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

static int send(struct fakelet *f, enum vpa_kube_verb verb, const char *name,
                const char *subresource, const char *body, struct vpa_error *err)
{
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_kube_call call = {.verb = verb, .body = body, .body_len = strlen(body)};

    vpa_kube_path(&path, "v1", NULL, "nodes", name, subresource);
    call.path = vpa_buf_text(&path);
    return vpa_kube_do(f->client, &call, NULL, NULL, err);
}

static int register_node(struct fakelet *f, struct node *node, struct vpa_error *err)
{
    vpa_auto_buf body = VPA_BUF(64 * 1024), status = VPA_BUF(64 * 1024);

    encode_node(node, &body);
    encode_status(node, vpa_loop_now(f->loop), &status);
    if (send(f, VPA_KUBE_CREATE, NULL, NULL, vpa_buf_text(&body), err) < 0 &&
        err->code != VPA_CONFLICT)
        return vpa_wrap(err, "node %s", node->name);
    /* A real server taints a new node until its controller sees it ready; we are that controller.
     */
    if (send(f, VPA_KUBE_PATCH_MERGE, node->name, NULL, "{\"spec\":{\"taints\":null}}", err) < 0 ||
        send(f, VPA_KUBE_PATCH_MERGE, node->name, "status", vpa_buf_text(&status), err) < 0)
        return vpa_wrap(err, "node %s", node->name);
    node->registered = true;
    return 0;
}

int nodes_register(struct fakelet *f, struct vpa_error *err)
{
    f->node_count = (size_t)f->options.node_count;
    f->nodes = vpa_xcalloc(f->node_count, sizeof(*f->nodes));
    for (size_t i = 0; i < f->node_count; i++) {
        f->nodes[i] = (struct node){
            .name = vpa_xprintf("%s%zu", f->options.node_prefix, i + 1),
            .cpu_millis = vpa_quantity_milli_value(&f->options.node_cpu),
            .memory_bytes = vpa_quantity_value(&f->options.node_memory),
            .pods = f->options.node_pods,
        };
        if (register_node(f, &f->nodes[i], err) < 0)
            return -1;
    }
    VPA_INFO("Registered nodes", VPA_KV("count", (int64_t)f->node_count));
    return 0;
}

struct node *node_find(struct fakelet *f, const char *name)
{
    for (size_t i = 0; i < f->node_count; i++)
        if (strcmp(f->nodes[i].name, name) == 0)
            return &f->nodes[i];
    return NULL;
}

void node_promised(struct fakelet *f, const struct node *node, const struct pod *without,
                   int64_t *cpu_millis, int64_t *memory_bytes)
{
    void *value;

    *cpu_millis = *memory_bytes = 0;
    for (size_t i = 0; vpa_table_next(&f->pods, &i, NULL, &value);) {
        const struct pod *pod = value;
        if (pod->node != node || pod == without || strcmp(pod->phase, "Succeeded") == 0 ||
            strcmp(pod->phase, "Failed") == 0)
            continue;
        for (size_t k = 0; k < pod->run_count; k++) {
            const struct vpa_quantity *cpu = vpa_resource_find(&pod->runs[k].allocated, VPA_CPU);
            const struct vpa_quantity *memory =
                vpa_resource_find(&pod->runs[k].allocated, VPA_MEMORY);
            *cpu_millis += cpu ? vpa_quantity_milli_value(cpu) : 0;
            *memory_bytes += memory ? vpa_quantity_value(memory) : 0;
        }
    }
}
