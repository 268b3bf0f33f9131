/* What the API server would make of a replacement. */
#include "dry_run.h"

#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/policy/replacement.h"

#define POD_MAX ((size_t)2 << 20)

/* ---- the pod ---- */

/* Without blockOwnerDeletion, which asks for a right of its own. */
static void put_owners(struct vpa_json_writer *w, const struct vpa_json *owners)
{
    vpa_json_member_array(w, "ownerReferences");
    vpa_json_foreach (owner, owners) {
        vpa_json_open_object(w);
        vpa_json_foreach (member, owner) {
            if (vpa_str_eq(vpa_json_name(member), "blockOwnerDeletion"))
                continue;
            vpa_json_member_node(w, vpa_json_name(member), member);
        }
        vpa_json_close_object(w);
    }
    vpa_json_close_array(w);
}

static void put_metadata(struct vpa_json_writer *w, const struct vpa_json *metadata)
{
    vpa_auto_free char *prefix = vpa_xprintf("%.200s-", vpa_json_text(metadata, "name"));
    const struct vpa_json *labels = vpa_json_find(metadata, "labels");

    vpa_json_member_object(w, "metadata");
    vpa_json_member_string(w, "generateName", prefix);
    vpa_json_member_string(w, "namespace", vpa_json_string(vpa_json_find(metadata, "namespace")));
    if (labels) {
        vpa_json_member_node(w, "labels", labels);
    }
    vpa_replacement_annotations(w, vpa_json_find(metadata, "annotations"));
    put_owners(w, vpa_json_find(metadata, "ownerReferences"));
    vpa_json_close_object(w);
}

void updater_dry_run_pod(const struct vpa_json *pod, struct vpa_buf *out)
{
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, out);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "kind", "Pod");
    put_metadata(&w, vpa_json_find(pod, "metadata"));
    vpa_json_member_object(&w, "spec");
    vpa_json_foreach (member, vpa_json_find(pod, "spec")) {
        const char *name = vpa_json_name(member);

        if (vpa_str_eq(name, "nodeName") || vpa_str_eq(name, "ephemeralContainers"))
            continue;
        vpa_json_member_node(&w, name, member);
    }
    vpa_json_close_object(&w);
    vpa_json_close_object(&w);
}

/* ---- asking ---- */

static int create(struct pass_env *env, const char *ns, const struct vpa_buf *body,
                  struct vpa_arena *arena, struct vpa_pod *made, struct vpa_error *err)
{
    struct vpa_kube_result result = {0};
    const struct vpa_json *root;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);

    vpa_kube_path(&path, "v1", ns, "pods", NULL, NULL);
    vpa_kube_query(&path, "dryRun", "All");
    if (vpa_kube_do(env->client,
                    &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                            .path = vpa_buf_text(&path),
                                            .body = body->data,
                                            .body_len = body->len,
                                            .no_retry = true},
                    arena, &result, err) < 0)
        return -1;
    if (vpa_json_parse(arena, result.body, result.body_len, &root, err) < 0 ||
        vpa_pod_decode(arena, root, made, err) < 0)
        return vpa_fail(err, VPA_RETRY, "the answer to a dry run is no pod");
    return 0;
}

static int try_replacement(struct pass_env *env, const struct vpa_pod *pod, struct vpa_arena *arena,
                           struct vpa_pod *made, struct vpa_error *err)
{
    const struct vpa_json *root;
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX), body = VPA_BUF(POD_MAX);

    vpa_kube_path(&path, "v1", pod->meta.ns, "pods", pod->meta.name, NULL);
    if (vpa_kube_get_json(env->client, vpa_buf_text(&path), arena, &root, err) < 0)
        return vpa_fail(err, VPA_RETRY, "the pod cannot be read for a dry run");
    updater_dry_run_pod(root, &body);
    if (vpa_buf_failed(&body))
        return vpa_fail(err, VPA_LIMIT, "the pod is too large for a dry run");
    return create(env, pod->meta.ns, &body, arena, made, err);
}

/* A refusal may be of the pod or of us. In doubt it is of us. */
static bool may_create_pods(struct pass_env *env, const char *ns)
{
    vpa_auto_free char *body = vpa_xprintf(
        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
        "\"spec\":{\"resourceAttributes\":{\"namespace\":\"%s\",\"verb\":\"create\","
        "\"resource\":\"pods\"}}}",
        ns);
    struct vpa_kube_result result = {0};
    const struct vpa_json *root;
    vpa_auto_arena arena = {0};
    vpa_auto_buf path = VPA_BUF(VPA_KUBE_PATH_MAX);
    struct vpa_error err;
    bool allowed = false;

    vpa_kube_path(&path, "authorization.k8s.io/v1", NULL, "selfsubjectaccessreviews", NULL, NULL);
    if (vpa_kube_do(env->client,
                    &(struct vpa_kube_call){.verb = VPA_KUBE_CREATE,
                                            .path = vpa_buf_text(&path),
                                            .body = body,
                                            .body_len = strlen(body)},
                    &arena, &result, &err) < 0 ||
        vpa_json_parse(&arena, result.body, result.body_len, &root, &err) < 0)
        return false;
    (void)vpa_json_bool(vpa_json_at(root, "status.allowed"), &allowed);
    return allowed;
}

static enum vpa_verdict judge_refusal(struct pass_env *env, const struct vpa_pod *pod,
                                      const struct vpa_error *err, struct vpa_buf *seen)
{
    if (err->code == VPA_DENIED && may_create_pods(env, pod->meta.ns)) {
        vpa_buf_printf(seen, "a replacement of pod %s would be refused: %.600s", pod->meta.name,
                       err->text);
        return VPA_VERDICT_NO_REPLACEMENT;
    }
    if (!env->told_of_dry_run)
        VPA_WARN("Replacements cannot be tried before evictions; they are looked at afterwards",
                 VPA_KERR(err));
    env->told_of_dry_run = true;
    return VPA_VERDICT_GOOD;
}

enum vpa_verdict updater_dry_run(struct work *w, size_t pod, struct vpa_buf *seen)
{
    struct pass_env *env = w->pass->env;
    const struct vpa_pod *p = w->pods[pod];
    vpa_auto_arena arena = {0};
    struct vpa_recommendation wanted;
    struct vpa_expected expected;
    struct vpa_pod made;
    struct vpa_error err;

    if (try_replacement(env, p, &arena, &made, &err) < 0)
        return judge_refusal(env, p, &err, seen);
    wanted = updater_pass_wanted(w->pass, w->vpa, p, true);
    vpa_expected_init(&expected, p, &wanted);
    wanted = updater_pass_wanted(w->pass, w->vpa, &made, true);

    enum vpa_verdict verdict = vpa_expected_judge(&expected, &made, &wanted, seen);

    vpa_expected_release(&expected);
    return verdict == VPA_VERDICT_WAIT ? VPA_VERDICT_GOOD : verdict; /* it runs nowhere */
}
