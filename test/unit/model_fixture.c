#include "model_fixture.h"

vpa_time at(const char *text)
{
    struct vpa_error err = {0};
    vpa_time t = 0;

    ck_assert_msg(vpa_time_parse(text, &t, &err) == 0, "%s", err.text);
    return t;
}

const struct vpa_json *json(struct vpa_arena *arena, const char *text)
{
    struct vpa_error err = {0};
    const struct vpa_json *root = NULL;

    ck_assert_msg(vpa_json_parse(arena, text, strlen(text), &root, &err) == 0, "%s", err.text);
    return root;
}

struct vpa_object *vpa_of(struct vpa_arena *arena, const char *text)
{
    struct vpa_object *object = vpa_arena_zalloc(arena, sizeof(*object));
    struct vpa_error err = {0};

    ck_assert_msg(vpa_object_decode(arena, json(arena, text), object, &err) == 0, "%s", err.text);
    return object;
}

struct vpa_pod *pod_of(struct vpa_arena *arena, const char *text)
{
    struct vpa_pod *pod = vpa_arena_zalloc(arena, sizeof(*pod));
    struct vpa_error err = {0};

    ck_assert_msg(vpa_pod_decode(arena, json(arena, text), pod, &err) == 0, "%s", err.text);
    return pod;
}

struct vpa_pod *simple_pod(struct vpa_arena *arena, const char *name, const char *labels)
{
    return pod_of(arena, vpa_arena_printf(
                             arena,
                             "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"u-%s\","
                             "\"labels\":%s},\"spec\":{\"containers\":[{\"name\":\"app\"}]},"
                             "\"status\":{\"phase\":\"Running\"}}",
                             name, name, labels));
}

struct vpa_object *simple_vpa(struct vpa_arena *arena, const char *name)
{
    return vpa_of(arena, vpa_arena_printf(
                             arena, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\"}}", name));
}

struct vpa_selector *selector_of(struct vpa_arena *arena, const char *text)
{
    struct vpa_selector *selector = vpa_arena_zalloc(arena, sizeof(*selector));
    struct vpa_error err = {0};

    ck_assert_msg(vpa_selector_parse(arena, text, selector, &err) == 0, "%s", err.text);
    return selector;
}

const struct vpa_container_policy *policy_of(struct vpa_arena *arena, const char *text)
{
    struct vpa_resource_policy policy;
    struct vpa_error err = {0};
    const struct vpa_json *root =
        json(arena, vpa_arena_printf(arena, "{\"containerPolicies\":[%s]}", text));

    ck_assert_msg(vpa_resource_policy_decode(arena, root, &policy, &err) == 0, "%s", err.text);
    return policy.containers;
}

struct vpa_checkpoint_status *checkpoint_of(struct vpa_arena *arena, const char *text)
{
    struct vpa_checkpoint checkpoint;
    struct vpa_checkpoint_status *status = vpa_arena_alloc(arena, sizeof(*status));
    struct vpa_error err = {0};
    const struct vpa_json *root = json(arena, vpa_arena_printf(arena, "{\"status\":%s}", text));

    ck_assert_msg(vpa_checkpoint_decode(arena, root, &checkpoint, &err) == 0, "%s", err.text);
    *status = checkpoint.status;
    return status;
}

const char *checkpoint_text(struct vpa_arena *arena, const struct vpa_checkpoint_status *status)
{
    struct vpa_json_writer w;
    vpa_auto_buf text = VPA_BUF(1 << 20);

    vpa_json_writer_init(&w, &text);
    vpa_checkpoint_status_encode(&w, status);
    return vpa_arena_strdup(arena, vpa_buf_text(&text));
}

int add_sample(struct vpa_cluster *cluster, const struct vpa_container_name *name,
               enum vpa_kind kind, vpa_time t, vpa_amount amount, vpa_time at_time,
               struct vpa_error *err)
{
    struct vpa_sample_target to;

    if (vpa_cluster_container(cluster, name, at_time, &to, err) < 0)
        return -1;
    return vpa_cluster_add_sample(&to, kind, t, amount, at_time, err);
}

int record_oom(struct vpa_cluster *cluster, const struct vpa_container_name *name, vpa_time t,
               vpa_amount memory, vpa_time at_time, struct vpa_error *err)
{
    struct vpa_sample_target to;

    if (vpa_cluster_container(cluster, name, at_time, &to, err) < 0)
        return -1;
    return vpa_cluster_record_oom(&to, t, memory, at_time, err);
}

bool is_init(struct vpa_cluster *cluster, const struct vpa_container_name *name, vpa_time at_time)
{
    struct vpa_sample_target to = {0};
    struct vpa_error err = {0};

    if (vpa_cluster_container(cluster, name, at_time, &to, &err) < 0)
        return err.code == VPA_NOT_OURS;
    return to.init;
}
