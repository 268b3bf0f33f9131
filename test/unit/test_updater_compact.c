/* Compact pods keep what decisions read, and only that. */
#include <check.h>
#include <stdlib.h>

#include "borrowed.h"
#include "suite.h"
#include "../../updater/compact.h"
#include "objects.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

#define FULL                                                                                       \
    "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7','generateName':'g-'," \
    "'labels':{'app':'a','tier':'b'},'annotations':{'x':'y','vpaObservedContainers':'c',"          \
    "'vpaCpuStartupBoost/c':'{}'},'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet'," \
    "'name':'rs','uid':'ru','controller':true}]},'spec':{'nodeName':'node','initContainers':[{"    \
    "'name':'i'}],'containers':[{'name':'c','resources':{'requests':{'cpu':'100m','memory':"       \
    "'1e3','x/y':'123456789012345678901234567890'},'limits':{}},'resizePolicy':[{"                 \
    "'resourceName':'cpu','restartPolicy':'RestartContainer'}]}]},'status':{'phase':'Running',"    \
    "'startTime':'2026-03-01T11:00:00Z','conditions':[{'type':'Ready','status':'True',"            \
    "'lastTransitionTime':'2026-03-01T11:01:00Z','message':'long text'},{'type':'Initialized',"    \
    "'status':'True'},{'type':'PodResizePending','status':'True','reason':'Deferred'}],"           \
    "'containerStatuses':[{'name':'c','restartCount':3,'resources':{'requests':{'cpu':'90m'}},"    \
    "'lastState':{'terminated':{'reason':'OOMKilled','startedAt':'2026-03-01T10:00:00Z',"          \
    "'finishedAt':'2026-03-01T10:01:00Z'}}},{'name':'d'}]}}"

static struct vpa_arena arena;

static struct lender packed;

static const struct vpa_pod *pack(const struct vpa_pod *from)
{
    struct vpa_pod *pod = vpa_arena_zalloc(&packed.arena, sizeof(*pod));

    updater_pod_pack(&packed.arena, from, pod);
    return pod;
}

static void setup(void)
{
    vpa_arena_init(&arena, 0);
    lender_init(&packed);
}

static void teardown(void)
{
    vpa_arena_release(&packed.arena);
    vpa_arena_release(&arena);
}

TEST(keeps_what_matters) {
    struct vpa_pod *from = objects_pod(&arena, FULL);
    const struct vpa_pod *pod = pack(from);

    vpa_arena_release(&arena); /* the copy stands alone */
    ck_assert_str_eq(pod->meta.name, "p");
    ck_assert_str_eq(pod->meta.ns, "n");
    ck_assert_str_eq(pod->meta.uid, "u");
    ck_assert_str_eq(pod->meta.resource_version, "7");
    ck_assert_str_eq(vpa_labels_get(&pod->meta.labels, "tier"), "b");
    ck_assert_str_eq(pod->meta.owners[0].name, "rs");
    ck_assert(pod->meta.owners[0].controller);
    ck_assert_str_eq(pod->phase, "Running");
    ck_assert_uint_eq(pod->container_count, 1);
    ck_assert_str_eq(pod->containers[0].resize_policy[0].restart_policy, "RestartContainer");
    ck_assert_int_eq(vpa_quantity_milli_value(
                         vpa_resource_find(&pod->containers[0].resources.requests, VPA_CPU)),
                     100);
    ck_assert_int_eq(
        vpa_quantity_value(vpa_resource_find(&pod->containers[0].resources.requests, VPA_MEMORY)),
        1000);
    ck_assert(pod->containers[0].resources.limits.present);
    ck_assert_uint_eq(pod->containers[0].resources.limits.count, 0);

    struct vpa_resources in_force = vpa_pod_effective_resources(pod, "c");

    ck_assert_int_eq(vpa_quantity_milli_value(vpa_resource_find(&in_force.requests, VPA_CPU)), 90);
    ck_assert_uint_eq(pod->status_count, 2);
    ck_assert_str_eq(pod->statuses[0].last_terminated.reason, "OOMKilled");
    ck_assert_str_eq(vpa_pod_condition(pod, "PodResizePending")->reason, "Deferred");
}

TEST(drops_the_rest) {
    const struct vpa_pod *pod = pack(objects_pod(&arena, FULL));

    ck_assert_uint_eq(pod->meta.annotations.count, 2);
    ck_assert_ptr_null(vpa_labels_get(&pod->meta.annotations, "x"));
    ck_assert_uint_eq(pod->condition_count, 2);
    ck_assert_uint_eq(pod->init_container_count, 0);
}

TEST(keeps_big_numbers) {
    const struct vpa_pod *pod = pack(objects_pod(&arena, FULL));
    const struct vpa_quantity *q = vpa_resource_find(&pod->containers[0].resources.requests, "x/y");
    struct vpa_quantity want;
    struct vpa_error err;

    ck_assert_int_eq(vpa_quantity_parse(&arena, "123456789012345678901234567890", &want, &err), 0);
    ck_assert_int_eq(vpa_quantity_cmp(q, &want), 0);
}

TEST(tells_absent_from_empty) {
    const struct vpa_pod *bare = pack(objects_pod(&arena, "{'metadata':{'name':'p'}}"));
    const struct vpa_pod *empty =
        pack(objects_pod(&arena, "{'metadata':{'name':'p','annotations':{}}}"));

    ck_assert(!bare->meta.annotations.present);
    ck_assert(empty->meta.annotations.present);
    ck_assert_uint_eq(bare->container_count, 0);
}

/* ---- to the last field ---- */

static struct vpa_buf seen;

static void put_labels(const char *what, const struct vpa_labels *labels)
{
    vpa_buf_printf(&seen, "%s%s", what, labels->present ? "" : " absent");
    ck_assert_int_eq(labels->items == NULL, labels->count == 0);
    for (size_t i = 0; i < labels->count; i++)
        vpa_buf_printf(&seen, " %s=%s", labels->items[i].key, labels->items[i].value);
    vpa_buf_putc(&seen, '\n');
}

/* "<text>": what was remembered of it. */
static void put_list(const char *what, const struct vpa_resource_list *list)
{
    vpa_buf_printf(&seen, " %s%s", what, list->present ? "" : " absent");
    ck_assert_int_eq(list->items == NULL, list->count == 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct vpa_quantity *q = &list->items[i].quantity;

        vpa_buf_printf(&seen, " %s=", list->items[i].name);
        vpa_quantity_canonical(q, &seen);
        vpa_buf_printf(&seen, "/%d<%s>", q->format, q->text ? q->text : "-");
    }
}

static void put_resources(const struct vpa_resources *r)
{
    vpa_buf_puts(&seen, r->present ? " resources" : " none");
    put_list("requests", &r->requests);
    put_list("limits", &r->limits);
    vpa_buf_puts(&seen, r->others ? " and others" : "");
    vpa_buf_putc(&seen, '\n');
}

static void put_seconds(const char *what, vpa_time t)
{
    if (!vpa_time_is_unset(t))
        vpa_buf_printf(&seen, " %s=%lld", what, (long long)(t / VPA_SECOND));
}

static void put_index(const uint32_t *index, size_t count)
{
    for (size_t i = 0; index && i < count; i++)
        vpa_buf_printf(&seen, "%s%u", i ? "," : "by name ", index[i]);
    vpa_buf_puts(&seen, index ? "\n" : "");
}

static void put_meta(const struct vpa_meta *m)
{
    vpa_buf_printf(&seen, "%s/%s uid=%s version=%s generation=%lld prefix=%s", m->ns, m->name,
                   m->uid, m->resource_version, (long long)m->generation, m->generate_name);
    put_seconds("made", m->creation);
    put_seconds("deleted", m->deletion);
    vpa_buf_putc(&seen, '\n');
    put_labels("labels", &m->labels);
    put_labels("annotations", &m->annotations);
    ck_assert_int_eq(m->owners == NULL, m->owner_count == 0);
    for (size_t i = 0; i < m->owner_count; i++)
        vpa_buf_printf(&seen, "owner %s %s %s uid=%s%s\n", m->owners[i].api_version,
                       m->owners[i].kind, m->owners[i].name, m->owners[i].uid,
                       m->owners[i].controller ? " controls" : "");
}

static void put_container(const struct vpa_container *c)
{
    vpa_buf_printf(&seen, "container %s restart=%s", c->name, c->restart_policy);
    ck_assert_int_eq(c->resize_policy == NULL, c->resize_policy_count == 0);
    for (size_t i = 0; i < c->resize_policy_count; i++)
        vpa_buf_printf(&seen, " %s:%s", c->resize_policy[i].resource_name,
                       c->resize_policy[i].restart_policy);
    put_resources(&c->resources);
}

static void put_status(const struct vpa_container_status *s)
{
    vpa_buf_printf(&seen, "status %s %d%d%d%d", s->name, s->restart_count, s->ready, s->running,
                   s->waiting);
    ck_assert(!s->terminated.present);
    ck_assert_str_eq(s->terminated.reason, "");
    ck_assert_uint_eq(s->allocated.count, 0);
    if (s->last_terminated.present) {
        vpa_buf_printf(&seen, " last=%s:%d", s->last_terminated.reason,
                       s->last_terminated.exit_code);
        put_seconds("from", s->last_terminated.started_at);
        put_seconds("to", s->last_terminated.finished_at);
    }
    put_resources(&s->resources);
}

static const char *text_of_pod(const struct vpa_pod *pod)
{
    vpa_buf_clear(&seen);
    put_meta(&pod->meta);
    vpa_buf_printf(&seen, "phase=%s node=%s qos=%s resize=%s init=%zu generation=%lld", pod->phase,
                   pod->node_name, pod->qos_class, pod->resize_status, pod->init_container_count,
                   (long long)pod->observed_generation);
    put_seconds("started", pod->start_time);
    vpa_buf_putc(&seen, '\n');
    ck_assert_int_eq(pod->containers == NULL, pod->container_count == 0);
    if (pod->resources.present)
        put_resources(&pod->resources);
    for (size_t i = 0; i < pod->init_container_count; i++)
        put_container(&pod->init_containers[i]);
    for (size_t i = 0; i < pod->container_count; i++)
        put_container(&pod->containers[i]);
    put_index(pod->containers_by_name, pod->container_count);
    ck_assert_int_eq(pod->statuses == NULL, pod->status_count == 0);
    for (size_t i = 0; i < pod->status_count; i++)
        put_status(&pod->statuses[i]);
    put_index(pod->statuses_by_name, pod->status_count);
    ck_assert_int_eq(pod->conditions == NULL, pod->condition_count == 0);
    for (size_t i = 0; i < pod->condition_count; i++) {
        const struct vpa_pod_condition *c = &pod->conditions[i];

        vpa_buf_printf(&seen, "condition %s=%s reason=%s message=%s generation=%lld", c->type,
                       c->status, c->reason, c->message, (long long)c->observed_generation);
        put_seconds("at", c->last_transition);
        vpa_buf_putc(&seen, '\n');
    }
    return vpa_buf_text(&seen);
}

#define HEAD "{'metadata':{'name':'p','namespace':'n','uid':'u','labels':{}}"
#define HEAD_TEXT "n/p uid=u version= generation=0 prefix=\nlabels\nannotations absent\n"
#define REST_TEXT "phase= node= qos= resize= init=0 generation=0\n"
#define OF_A(resources)                                                                            \
    HEAD ",'spec':{'containers':[{'name':'a','resources':{'requests':{'cpu':'100m','memory':'1Gi'" \
         "},'limits':{'cpu':'1'}}}]},'status':{'containerStatuses':[{'name':'a','ready':true,"     \
         "'resources':" resources "}]}}"
#define OF_A_TEXT                                                                                  \
    HEAD_TEXT REST_TEXT "container a restart= resources requests cpu=100m/0<100m> "                \
                        "memory=1Gi/1<1Gi> limits cpu=1/0<1>\n"
#define STATUS_A "status a 0000 resources requests"

static const struct {
    const char *name, *from, *to;
} wholes[] = {
    {"bare", "{'metadata':{'name':'p'}}",
     "/p uid= version= generation=0 prefix=\nlabels absent\nannotations absent\n" REST_TEXT},
    {"metadata",
     "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'7','generateName':'g-',"
     "'generation':9,'creationTimestamp':'1970-01-01T00:01:00Z','deletionTimestamp':"
     "'1970-01-01T00:02:00Z','labels':{'b':'2','app':'a','c':''},'annotations':{'x':'y',"
     "'vpaObservedContainers':'a, b','vpaCpuStartupBoost/a':'{}','z':'w'},'ownerReferences':["
     "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'rs','uid':'1','controller':true},"
     "{'apiVersion':'x.io/v2','kind':'Odd','name':'o','uid':'2'}]}}",
     "n/p uid=u version=7 generation=9 prefix= made=60 deleted=120\n"
     "labels app=a b=2 c=\n"
     "annotations vpaCpuStartupBoost/a={} vpaObservedContainers=a, b\n"
     "owner apps/v1 ReplicaSet rs uid= controls\n"
     "owner x.io/v2 Odd o uid=\n" REST_TEXT},
    {"containers",
     HEAD ",'spec':{'nodeName':'node','initContainers':[{'name':'i'}],'containers':[{'name':'a'},"
          "{'name':'b','resources':{},'resizePolicy':[{'resourceName':'cpu','restartPolicy':"
          "'NotRequired'},{'resourceName':'memory','restartPolicy':'RestartContainer'}]},"
          "{'name':'c','resources':{'requests':{'cpu':'0.5','memory':'1e3','x/y':"
          "'123456789012345678901234567890'},'limits':{}}},{'name':'d','resources':{'claims':["
          "{'name':'gpu'}]}}]},'status':{'phase':'Running','qosClass':'Burstable','resize':'"
          "Proposed','startTime':'1970-01-01T00:03:00Z'}}",
     HEAD_TEXT "phase=Running node= qos= resize= init=0 generation=0 started=180\n"
               "container a restart= none requests absent limits absent\n"
               "container b restart= cpu:NotRequired memory:RestartContainer resources requests "
               "absent limits absent\n"
               "container c restart= resources requests cpu=500m/0<-> memory=1e3/2<1e3> "
               "x/y=123456789012345678901234567890/0<-> limits\n"
               "container d restart= resources requests absent limits absent and others\n"},
    {"resources of the pod",
     HEAD ",'spec':{'resources':{'requests':{'cpu':'4'}},'initContainers':[{'name':'once',"
          "'resources':{'requests':{'cpu':'1'}}},{'name':'side','restartPolicy':'Always',"
          "'resources':{'requests':{'cpu':'2'}}}]}}",
     HEAD_TEXT "phase= node= qos= resize= init=2 generation=0\n"
               " resources requests cpu=4/0<4> limits absent\n"
               "container  restart= resources requests cpu=1/0<1> limits absent\n"
               "container  restart=Always resources requests cpu=2/0<2> limits absent\n"},
    {"init containers with something that counts",
     HEAD ",'spec':{'initContainers':[{'name':'once','resources':{'limits':{'cpu':'1'}}},"
          "{'name':'nothing'},{'name':'side','restartPolicy':'Always',"
          "'resources':{'requests':{'cpu':'2'}}}]}}",
     HEAD_TEXT "phase= node= qos= resize= init=2 generation=0\n"
               "container  restart= resources requests absent limits cpu=1/0<1>\n"
               "container  restart=Always resources requests cpu=2/0<2> limits absent\n"},
    {"a status like the spec",
     OF_A("{'requests':{'cpu':'100m','memory':'1Gi'},'limits':{'cpu':'1'}}"), OF_A_TEXT},
    {"another amount", OF_A("{'requests':{'cpu':'101m','memory':'1Gi'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=101m/0<101m> memory=1Gi/1<1Gi> limits cpu=1/0<1>\n"},
    {"the second differs", OF_A("{'requests':{'cpu':'100m','memory':'2Gi'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<100m> memory=2Gi/1<2Gi> limits cpu=1/0<1>\n"},
    {"only a limit differs",
     OF_A("{'requests':{'cpu':'100m','memory':'1Gi'},'limits':{'cpu':'2'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<100m> memory=1Gi/1<1Gi> limits cpu=2/0<2>\n"},
    {"another format",
     OF_A("{'requests':{'cpu':'100m','memory':'1073741824'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<100m> memory=1073741824/0<1073741824> limits cpu=1/0<1>\n"},
    {"another text", OF_A("{'requests':{'cpu':'0.1','memory':'1Gi'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<-> memory=1Gi/1<1Gi> limits cpu=1/0<1>\n"},
    {"another name", OF_A("{'requests':{'cpu':'100m','x':'1Gi'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<100m> x=1Gi/1<1Gi> limits cpu=1/0<1>\n"},
    {"less names", OF_A("{'requests':{'cpu':'100m'},'limits':{'cpu':'1'}}"),
     OF_A_TEXT STATUS_A " cpu=100m/0<100m> limits cpu=1/0<1>\n"},
    {"no resources", OF_A("null"), OF_A_TEXT},
    {"of one that is not there",
     HEAD ",'status':{'containerStatuses':[{'name':'b','resources':{}}]}}",
     HEAD_TEXT REST_TEXT "status b 0000 resources requests absent limits absent\n"},
    {"all or none",
     HEAD ",'status':{'phase':'Odd','containerStatuses':[{'name':'a','restartCount':3,'ready':true,"
          "'state':{'running':{}}},{'name':'b','lastState':{'terminated':{'reason':'OOMKilled',"
          "'exitCode':137,'startedAt':'1970-01-01T00:04:00Z','finishedAt':"
          "'1970-01-01T00:05:00Z'}}},{'name':'c','state':{'terminated':{'reason':'Error'}}}]}}",
     HEAD_TEXT
     "phase=Odd node= qos= resize= init=0 generation=0\n"
     "status a 0000 none requests absent limits absent\n"
     "status b 0000 last=OOMKilled:137 from=240 to=300 none requests absent limits absent\n"
     "status c 0000 none requests absent limits absent\n"},
    {"conditions",
     HEAD ",'status':{'conditions':[{'type':'Initialized','status':'True'},{'type':'Ready',"
          "'status':'False','lastTransitionTime':'1970-01-01T00:06:00Z','reason':'Odd','message':"
          "'long'},{'type':'PodScheduled','status':'True'},{'type':'PodResizePending','status':"
          "'True','reason':'Deferred','message':'','observedGeneration':4},{'type':"
          "'PodResizeInProgress','status':'True'}]}}",
     HEAD_TEXT REST_TEXT "condition Ready=False reason=Odd message=- generation=0 at=360\n"
                         "condition PodResizePending=True reason=Deferred message= generation=4\n"
                         "condition PodResizeInProgress=True reason= message= generation=0\n"},
    {"conditions that do not matter",
     HEAD ",'status':{'conditions':[{'type':'Initialized','status':'True'}]}}",
     HEAD_TEXT REST_TEXT},
};

TEST_EACH(is_so_to_the_last_field, wholes) {
    vpa_buf_init(&seen, 1 << 16);
    const char *text = text_of_pod(pack(objects_pod(&arena, wholes[_i].from)));

    ck_assert_msg(strcmp(text, wholes[_i].to) == 0, "%s:\n%s", wholes[_i].name, text);
    vpa_buf_release(&seen);
}

/* The positions in the order of the names come along, of containers and of statuses. */
TEST(finds_many_by_name) {
    static const char order[] = "by name 9,8,7,6,5,4,3,2,1,0\n";
    vpa_auto_buf containers = VPA_BUF(4096), statuses = VPA_BUF(4096);

    vpa_buf_init(&seen, 1 << 16);
    for (int i = 9; i >= 0; i--) {
        vpa_buf_printf(&containers, "%s{'name':'c%d'}", i < 9 ? "," : "", i);
        vpa_buf_printf(&statuses, "%s{'name':'c%d','resources':{'requests':{'cpu':'1'}}}",
                       i < 9 ? "," : "", i);
    }
    const char *text = text_of_pod(pack(objects_pod(
        &arena, vpa_arena_printf(&arena,
                                 "{'metadata':{'name':'p'},'spec':{'containers':[%s]},'status':{"
                                 "'containerStatuses':[%s]}}",
                                 vpa_buf_text(&containers), vpa_buf_text(&statuses)))));
    const char *first = strstr(text, order);

    ck_assert_msg(first && strstr(first + 1, order), "%s", text);
    vpa_buf_release(&seen);
}

/* Words that nearly all pods have take no room. */
TEST(common_words_are_not_copied) {
    static const char text[] =
        "{'metadata':{'name':'app','namespace':'odd','uid':'','labels':{'app':'True'},"
        "'ownerReferences':[{'apiVersion':'apps/v1','kind':'StatefulSet','name':'ReplicaSet'}]},"
        "'spec':{'containers':[{'name':'app','resources':{'requests':{'cpu':'1','memory':'1'}}}]},"
        "'status':{'phase':'Running','conditions':[{'type':'Ready','status':'False'}]}}";
    const struct vpa_pod *a = pack(objects_pod(&arena, text)), *b = pack(objects_pod(&arena, text));

    ck_assert_ptr_eq(a->meta.name, b->meta.name);
    ck_assert_ptr_ne(a->meta.ns, b->meta.ns);
    ck_assert_ptr_eq(a->meta.uid, b->meta.uid);
    ck_assert_ptr_eq(a->meta.labels.items[0].key, a->meta.name);
    ck_assert_ptr_eq(a->meta.labels.items[0].value, b->meta.labels.items[0].value);
    ck_assert_ptr_eq(a->meta.owners[0].api_version, b->meta.owners[0].api_version);
    ck_assert_ptr_eq(a->meta.owners[0].kind, b->meta.owners[0].kind);
    ck_assert_ptr_eq(a->meta.owners[0].name, b->meta.owners[0].name);
    ck_assert_ptr_eq(a->containers[0].name, a->meta.name);
    for (size_t i = 0; i < 2; i++)
        ck_assert_ptr_eq(a->containers[0].resources.requests.items[i].name,
                         b->containers[0].resources.requests.items[i].name);
    ck_assert_ptr_eq(a->phase, b->phase);
    ck_assert_ptr_eq(a->conditions[0].type, b->conditions[0].type);
    ck_assert_ptr_eq(a->conditions[0].status, b->conditions[0].status);
}

static void clear_padding(const struct vpa_pod *pod)
{
    CLEAR_PADDING(&pod->meta, owner_count);
    CLEAR_PADDING(pod, condition_count);
    CLEAR_BETWEEN(pod, qos_class, start_time);
    for (size_t i = 0; i < pod->condition_count; i++)
        CLEAR_PADDING(&pod->conditions[i], observed_generation);
    for (size_t i = 0; i < pod->status_count; i++) {
        CLEAR_PADDING(&pod->statuses[i], allocated);
        CLEAR_PADDING(&pod->statuses[i].terminated, exit_code);
        CLEAR_PADDING(&pod->statuses[i].last_terminated, exit_code);
    }
}

TEST(borrows_nothing) {
    struct lender whole;

    lender_init(&whole);
    clear_padding(pack(objects_pod(&whole.arena, FULL)));
    ck_assert(!lender_borrows(&packed, &whole));
    vpa_arena_release(&whole.arena);
}

int main(void)
{
    return run_tests("updater_compact", setup, teardown);
}
