/*
 * Who asks: bearer tokens (a token file as the server's --token-auth-file, and tokens made by
 * serviceaccounts/token), client certificates, else system:anonymous. With --authorization=none
 * nobody is asked for anything: a request without credentials is the administrator's.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct token {
    const char *secret;
    struct user user;
    struct token *next;
};
/* Lives in the simulator's arena; guarded by the store's lock. */
static struct token *tokens;

static struct token *add_token(struct vpa_arena *a, const char *secret, const char *name,
                               const char *uid, const char *groups)
{
    struct token *t = vpa_arena_zalloc(a, sizeof(*t));

    t->secret = vpa_arena_strdup(a, secret);
    t->user.name = vpa_arena_strdup(a, name);
    t->user.uid = vpa_arena_strdup(a, uid);
    char *rest = vpa_arena_strdup(a, groups), *group;
    while ((group = strsep(&rest, ",")))
        if (*group && t->user.group_count < USER_GROUPS_MAX - 1)
            t->user.groups[t->user.group_count++] = group;
    t->user.groups[t->user.group_count++] = "system:authenticated";
    t->next = tokens;
    tokens = t;
    return t;
}

/* SECRET,user,uid,"group,group" per line */
static void load_line(struct vpa_arena *a, char *line)
{
    char *part[4] = {NULL};
    size_t n = 0;

    line[strcspn(line, "\r\n")] = 0;
    if (!*line || *line == '#')
        return;
    for (char *at = line; n < 4 && at; n++) {
        if (*at == '"') {
            part[n] = ++at;
            at = strchr(at, '"');
            if (at)
                *at++ = 0;
            if (at && *at == ',')
                at++;
            else
                at = NULL;
            continue;
        }
        part[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = 0;
    }
    if (n >= 3)
        add_token(a, part[0], part[1], part[2], part[3] ? part[3] : "");
}

int auth_load(struct sim *sim, struct vpa_error *err)
{
    char line[4096];

    tokens = NULL;
    if (!sim->opt.token_file)
        return 0;
    FILE *f = fopen(sim->opt.token_file, "r");
    if (!f)
        return vpa_fail(err, VPA_INVALID, "token file %s cannot be read", sim->opt.token_file);
    while (fgets(line, sizeof(line), f))
        load_line(&sim->arena, line);
    fclose(f);
    return 0;
}

void auth_release(struct sim *sim)
{
    (void)sim;
    tokens = NULL;
}

static void administrator(struct user *user)
{
    *user = (struct user){.name = "admin",
                          .uid = "",
                          .groups = {"system:masters", "system:authenticated"},
                          .group_count = 2};
}

static void from_certificate(struct ctx *c)
{
    char *rest =
             vpa_arena_strdup(c->a, c->req->client_cert_groups ? c->req->client_cert_groups : ""),
         *group;

    c->user = (struct user){.name = c->req->client_cert_user, .uid = ""};
    while ((group = strsep(&rest, ",")))
        if (*group && c->user.group_count < USER_GROUPS_MAX - 1)
            c->user.groups[c->user.group_count++] = group;
    c->user.groups[c->user.group_count++] = "system:authenticated";
}

int authenticate(struct ctx *c)
{
    const char *authorization = c->req->authorization;

    if (c->req->as) {
        c->user = *c->req->as;
        return 0;
    }
    if (authorization && !strncmp(authorization, "Bearer ", 7)) {
        pthread_mutex_lock(&c->sim->store.lock);
        const struct token *t = tokens;
        while (t && strcmp(t->secret, authorization + 7) != 0)
            t = t->next;
        if (t)
            c->user = t->user;
        pthread_mutex_unlock(&c->sim->store.lock);
        if (t)
            return 0;
        if (strcmp(c->sim->opt.authorization, "none") != 0)
            return fail(c, 401, "Unauthorized", "Unauthorized");
    } else if (c->req->client_cert_user) {
        from_certificate(c);
        return 0;
    }
    if (!strcmp(c->sim->opt.authorization, "none"))
        administrator(&c->user);
    else
        c->user = (struct user){.name = "system:anonymous",
                                .uid = "",
                                .groups = {"system:unauthenticated"},
                                .group_count = 1};
    return 0;
}

/* POST serviceaccounts/NAME/token */
int handle_token_request(struct ctx *c)
{
    struct version *v = store_find(c->type->store, c->ns, c->name);
    struct jv *body = jv_obj(c->a);

    if (!v)
        return fail_not_found(c, c->type, c->name);
    if (c->req->body_len && read_body(c, &body, NULL) < 0)
        return -1;
    const char *secret = vpa_arena_printf(c->a, "kubesim-%s", random_suffix(c->a, 24));
    const char *name = vpa_arena_printf(c->a, "system:serviceaccount:%s:%s", c->ns, c->name);
    add_token(&c->sim->arena, secret, name, v->uid,
              vpa_arena_printf(c->a, "system:serviceaccounts,system:serviceaccounts:%s", c->ns));
    jv_set_str(c->a, body, "kind", "TokenRequest");
    jv_set_str(c->a, body, "apiVersion", "authentication.k8s.io/v1");
    struct jv *status = jv_obj(c->a);
    char expires[VPA_TIME_TEXT_MAX];
    vpa_time_format(vpa_time_add(sim_now(c->sim), 24 * VPA_HOUR), expires);
    jv_set_str(c->a, status, "token", secret);
    jv_set_str(c->a, status, "expirationTimestamp", expires);
    jv_set(c->a, body, "status", status);
    answer_json(c, 201, body);
    return 0;
}
