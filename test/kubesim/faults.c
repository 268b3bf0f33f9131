/*
 * Faults on demand and request counters, both behind /kubesim/. A fault is a rule: which requests,
 * what happens, how often and with what probability. The first rule that fits decides. The members
 * of a rule are listed in --help.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rule {
    char *method, *path, *query, *agent; /* method whole, the others parts of the text; NULL: any */
    bool watch_only;
    double probability;
    long count; /* -1: always */
    long skip;  /* this many requests pass first */
    struct fault_plan plan;
    struct rule *next;
};
struct faults {
    pthread_mutex_t lock;
    struct rule *rules;
};
struct counter {
    char *key; /* verb, resource, agent */
    unsigned long calls, errors;
    unsigned long long bytes_in, bytes_out;
    struct counter *next;
};
struct counters {
    pthread_mutex_t lock;
    struct counter *first;
};

static void free_rules(struct faults *f)
{
    while (f->rules) {
        struct rule *r = f->rules;
        f->rules = r->next;
        free(r->method);
        free(r->path);
        free(r->query);
        free(r->agent);
        free(r);
    }
}

static void free_counters(struct counters *c)
{
    while (c->first) {
        struct counter *x = c->first;
        c->first = x->next;
        free(x->key);
        free(x);
    }
}

void faults_init(struct sim *sim)
{
    sim->faults = vpa_xcalloc(1, sizeof(*sim->faults));
    sim->counters = vpa_xcalloc(1, sizeof(*sim->counters));
    pthread_mutex_init(&sim->faults->lock, NULL);
    pthread_mutex_init(&sim->counters->lock, NULL);
}

void faults_release(struct sim *sim)
{
    free_rules(sim->faults);
    free_counters(sim->counters);
    pthread_mutex_destroy(&sim->faults->lock);
    pthread_mutex_destroy(&sim->counters->lock);
    free(sim->faults);
    free(sim->counters);
}

static bool fits(const struct rule *r, const struct request *req, bool watch)
{
    return (!r->method || !strcmp(r->method, req->method)) &&
           (!r->path || strstr(req->path, r->path)) &&
           (!r->query || strstr(req->query, r->query)) &&
           (!r->agent || (req->user_agent && strstr(req->user_agent, r->agent))) &&
           r->watch_only == watch;
}

/* watch: a stream was opened; rules with "watch": true are for streams only. */
void faults_plan(struct sim *sim, const struct request *req, bool watch, struct fault_plan *plan)
{
    *plan = (struct fault_plan){.cut_after = -1};
    if (req->as)
        return;
    pthread_mutex_lock(&sim->faults->lock);
    for (struct rule *r = sim->faults->rules; r; r = r->next) {
        if (!r->count || !fits(r, req, watch))
            continue;
        if (r->skip > 0) {
            r->skip--;
            continue;
        }
        if (r->probability < 1 && drand48() >= r->probability)
            continue;
        if (r->count > 0)
            r->count--;
        *plan = r->plan;
        break;
    }
    pthread_mutex_unlock(&sim->faults->lock);
}

static const char *fault_reason(int status)
{
    switch (status) {
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 409:
        return "Conflict";
    case 410:
        return "Expired";
    case 429:
        return "TooManyRequests";
    case 503:
        return "ServiceUnavailable";
    case 504:
        return "Timeout";
    default:
        return "InternalError";
    }
}

int fail_injected(struct ctx *c, const struct fault_plan *plan)
{
    (void)fail(c, plan->status, fault_reason(plan->status), "injected fault");
    c->res->retry_after = plan->retry_after;
    return -1;
}

static char *copy_text(const struct jv *v, const char *name)
{
    const char *text = jv_text(jv_get(v, name));
    return text && *text ? vpa_xstrdup(text) : NULL;
}

static void add_rule(struct faults *f, const struct jv *v)
{
    struct rule *r = vpa_xcalloc(1, sizeof(*r)), **end = &f->rules;

    r->method = copy_text(v, "method");
    r->path = copy_text(v, "path");
    r->query = copy_text(v, "query");
    r->agent = copy_text(v, "userAgent");
    r->watch_only = jv_bool_at(v, "watch", false);
    r->probability = jv_get(v, "probability") ? jv_double(jv_get(v, "probability")) : 1;
    r->count = (long)jv_int_at(v, "count", -1);
    r->skip = (long)jv_int_at(v, "skip", 0);
    r->plan = (struct fault_plan){.delay_ms = (int)jv_int_at(v, "delayMs", 0),
                                  .status = (int)jv_int_at(v, "status", 0),
                                  .retry_after = (int)jv_int_at(v, "retryAfter", 0),
                                  .cut_after = (long)jv_int_at(v, "cutAfter", -1),
                                  .reset = jv_bool_at(v, "reset", false),
                                  .duplicate = jv_bool_at(v, "duplicate", false),
                                  .gone = jv_bool_at(v, "gone", false),
                                  .stale = jv_bool_at(v, "stale", false)};
    while (*end)
        end = &(*end)->next;
    *end = r;
}

/* POST sets the rules (one object or a list; {} and [] clear), DELETE removes all. */
int handle_faults(struct ctx *c)
{
    struct faults *f = c->sim->faults;
    struct jv *body;
    struct vpa_error err;

    pthread_mutex_lock(&f->lock);
    if (!strcmp(c->req->method, "DELETE")) {
        free_rules(f);
    } else if (jv_parse(c->a, c->req->body, c->req->body_len, &body, NULL, &err) < 0) {
        pthread_mutex_unlock(&f->lock);
        return fail(c, 400, "BadRequest", "%s", err.text);
    } else {
        free_rules(f);
        jv_each (m, body->type == JV_ARR ? body : NULL)
            add_rule(f, m->value);
        if (body->type == JV_OBJ && body->count)
            add_rule(f, body);
    }
    pthread_mutex_unlock(&f->lock);
    answer_text(c, 200, "ok\n");
    return 0;
}

void count_request(struct sim *sim, const char *verb, const char *resource, const char *agent,
                   int status, size_t bytes_in, size_t bytes_out)
{
    char key[512];
    struct counters *k = sim->counters;
    struct counter *x;

    if (!strncmp(resource, "/kubesim/", 9))
        return;
    snprintf(key, sizeof(key), "%s\t%s\t%.*s", verb, resource, (int)strcspn(agent, " /"), agent);
    pthread_mutex_lock(&k->lock);
    for (x = k->first; x && strcmp(x->key, key) != 0; x = x->next)
        ;
    if (!x) {
        x = vpa_xcalloc(1, sizeof(*x));
        x->key = vpa_xstrdup(key);
        x->next = k->first;
        k->first = x;
    }
    x->calls++;
    x->errors += status >= 400;
    x->bytes_in += bytes_in;
    x->bytes_out += bytes_out;
    pthread_mutex_unlock(&k->lock);
}

/* GET lists, DELETE starts from zero. */
int handle_requests(struct ctx *c)
{
    struct counters *k = c->sim->counters;
    struct jv *list = jv_arr(c->a), *out = jv_obj(c->a);

    pthread_mutex_lock(&k->lock);
    if (!strcmp(c->req->method, "DELETE")) {
        free_counters(k);
    } else {
        for (struct counter *x = k->first; x; x = x->next) {
            char *verb = vpa_arena_strdup(c->a, x->key), *resource = strchr(verb, '\t'), *agent;
            *resource++ = 0;
            agent = strchr(resource, '\t');
            *agent++ = 0;
            struct jv *v = jv_obj(c->a);
            jv_set_str(c->a, v, "verb", verb);
            jv_set_str(c->a, v, "resource", resource);
            jv_set_str(c->a, v, "userAgent", agent);
            jv_set_int(c->a, v, "calls", (int64_t)x->calls);
            jv_set_int(c->a, v, "errors", (int64_t)x->errors);
            jv_set_int(c->a, v, "bytesIn", (int64_t)x->bytes_in);
            jv_set_int(c->a, v, "bytesOut", (int64_t)x->bytes_out);
            jv_push(c->a, list, v);
        }
    }
    pthread_mutex_unlock(&k->lock);
    jv_set(c->a, out, "requests", list);
    answer_json(c, 200, out);
    return 0;
}
