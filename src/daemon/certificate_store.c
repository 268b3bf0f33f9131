/*
 * The write is a merge patch: labels and annotations of the manifest stay, a member that is no
 * longer wanted is set to null, and metadata.resourceVersion makes the server refuse it when
 * somebody else was faster.
 */
#include "vpa/daemon/certificate_store.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/api/review.h"
#include "vpa/base/str.h"
#include "vpa/json/json_writer.h"

#define BODY_MAX ((size_t)1 << 20)
#define MEMBERS 7

struct member {
    const char *key;
    char **text;
};

static void list_members(struct vpa_certificates *set, struct member out[MEMBERS])
{
    const struct member members[MEMBERS] = {
        {"ca.crt", &set->ca.cert_pem},           {"ca.key", &set->ca.key_pem},
        {"next-ca.crt", &set->next_ca.cert_pem}, {"next-ca.key", &set->next_ca.key_pem},
        {"previous-ca.crt", &set->previous_ca},  {"tls.crt", &set->served.cert_pem},
        {"tls.key", &set->served.key_pem},
    };

    memcpy(out, members, sizeof(members));
}

void vpa_certificate_store_release(struct vpa_certificate_store *store)
{
    free(store->version);
    store->version = NULL;
}

static void set_version(struct vpa_certificate_store *store, const char *version)
{
    free(store->version);
    store->version = vpa_xstrdup(vpa_or_empty(version));
}

static void secret_path(const struct vpa_certificate_store *store, struct vpa_buf *path,
                        const char *name)
{
    vpa_buf_init(path, VPA_KUBE_PATH_MAX);
    vpa_kube_path(path, "v1", store->ns, "secrets", name, NULL);
}

/* ---- reading ---- */

static char *decoded(const char *base64)
{
    struct vpa_buf text;

    vpa_buf_init(&text, VPA_PEM_MAX);
    if (vpa_base64_decode(&text, base64, strlen(base64), NULL) < 0 || text.len == 0) {
        vpa_buf_release(&text);
        return NULL;
    }
    return vpa_buf_take(&text);
}

static void decode(const struct vpa_json *secret, struct vpa_certificates *set)
{
    const struct vpa_json *data = vpa_json_find(secret, "data");
    struct member members[MEMBERS];

    list_members(set, members);
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *base64 = vpa_json_string(vpa_json_find(data, members[i].key));
        *members[i].text = base64 ? decoded(base64) : NULL;
    }
}

static int get(const struct vpa_certificate_store *store, struct vpa_arena *arena,
               const struct vpa_json **secret, struct vpa_error *err)
{
    struct vpa_kube_result result = {0};
    vpa_auto_buf path = {0};

    secret_path(store, &path, store->name);
    const struct vpa_kube_call call = {.verb = VPA_KUBE_GET,
                                       .path = vpa_buf_text(&path),
                                       .timeout = VPA_CERTIFICATE_STORE_TIMEOUT,
                                       .no_retry = true,
                                       .unlimited = true};
    if (vpa_kube_do(store->client, &call, arena, &result, err) < 0)
        return -1;
    return vpa_json_parse(arena, result.body, result.body_len, secret, err);
}

int vpa_certificate_store_read(struct vpa_certificate_store *store, struct vpa_certificates *set,
                               struct vpa_error *err)
{
    const struct vpa_json *secret = NULL;
    struct vpa_error failure;
    vpa_auto_arena arena = {0};

    if (get(store, &arena, &secret, &failure) < 0 && failure.code != VPA_NOT_FOUND) {
        if (err)
            *err = failure;
        return vpa_wrap(err, "Secret %s/%s", store->ns, store->name);
    }
    vpa_certificates_release(set);
    set_version(store, vpa_json_string(vpa_json_at(secret, "metadata.resourceVersion")));
    decode(secret, set);
    return 0;
}

/* ---- writing ---- */

static void put_data(const struct vpa_certificate_store *store, struct vpa_certificates *set,
                     struct vpa_json_writer *w)
{
    struct member members[MEMBERS];

    list_members(set, members);
    vpa_json_member_object(w, "data");
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = *members[i].text;
        vpa_auto_buf base64 = VPA_BUF(BODY_MAX);
        if (text)
            vpa_base64_encode(&base64, text, strlen(text));
        if (text || *store->version) {
            vpa_json_member_string(w, members[i].key, text ? vpa_buf_text(&base64) : NULL);
        }
    }
    vpa_json_close_object(w);
}

static void put_metadata(const struct vpa_certificate_store *store, struct vpa_json_writer *w)
{
    vpa_json_member_object(w, "metadata");
    if (*store->version) {
        vpa_json_member_string(w, "resourceVersion", store->version);
    } else {
        vpa_json_member_string(w, "name", store->name);
        vpa_json_member_string(w, "namespace", store->ns);
    }
    vpa_json_close_object(w);
}

int vpa_certificate_store_write(struct vpa_certificate_store *store,
                                const struct vpa_certificates *set, struct vpa_error *err)
{
    struct vpa_certificates copy = *set; /* lists its members, changes none */
    bool exists = *store->version != '\0';
    struct vpa_kube_result result = {0};
    const struct vpa_json *secret;
    vpa_auto_arena arena = {0};
    vpa_auto_buf path = {0}, body = VPA_BUF(BODY_MAX);
    struct vpa_json_writer w;

    secret_path(store, &path, exists ? store->name : NULL);
    vpa_json_writer_init(&w, &body);
    vpa_json_open_object(&w);
    vpa_json_member_string(&w, "apiVersion", "v1");
    vpa_json_member_string(&w, "kind", "Secret");
    put_metadata(store, &w);
    put_data(store, &copy, &w);
    vpa_json_close_object(&w);
    const struct vpa_kube_call call = {.verb = exists ? VPA_KUBE_PATCH_MERGE : VPA_KUBE_CREATE,
                                       .path = vpa_buf_text(&path),
                                       .body = body.data,
                                       .body_len = body.len,
                                       .timeout = VPA_CERTIFICATE_STORE_TIMEOUT,
                                       .no_retry = true,
                                       .unlimited = true,
                                       .repeatable = exists};
    int rc = vpa_kube_do(store->client, &call, &arena, &result, err);
    explicit_bzero(body.data, body.len);
    if (rc < 0 || vpa_json_parse(&arena, result.body, result.body_len, &secret, err) < 0)
        return vpa_wrap(err, "Secret %s/%s", store->ns, store->name);
    set_version(store, vpa_json_string(vpa_json_at(secret, "metadata.resourceVersion")));
    return 0;
}
