/* Replays recorded request/response pairs against any API server; see main.c. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "jv.h"

struct user_token {
    const char *name;
    const char *secret; /* NULL: no credentials */
};
struct runner {
    const char *url;
    const char
        *compact_url; /* POST here forgets all old versions; NULL: such scenarios are skipped */
    const char *ca_file;
    unsigned minor;
    bool verbose;
    bool lagging; /* the server has caches, which may be behind its store */
    struct user_token users[8];
    size_t user_count;
    struct hook *hook;
    struct vpa_arena a; /* of the scenario */
    struct jv *vars;    /* saved values */
    unsigned probes;
};
struct answer {
    int status;
    const char *content_type;
    struct jv *headers;  /* lower-case name -> value */
    struct jv *warnings; /* list */
    const char *text;
    size_t len;
    struct jv *body;   /* NULL when it is no JSON */
    struct jv *events; /* of a watch */
};
/* replay.c: the differences of one line are added to the list. */
void replay_line(struct runner *r, const struct jv *line, struct strings *differences);
/* expect.c */
void expect_answer(struct runner *r, const struct jv *line, const struct jv *out,
                   const struct answer *got, struct strings *differences);
void expect_object(struct runner *r, const struct jv *expect, struct jv *body, bool loose,
                   bool unordered, const char *where, struct strings *differences);
bool matches(struct runner *r, const struct jv *expected, const struct jv *got);
struct jv *substitute(struct runner *r, const struct jv *v);
const char *substitute_text(struct runner *r, const char *text);
/* hook.c: an HTTPS webhook on a thread of its own. */
struct hook *hook_start(void);
void hook_stop(struct hook *h);
const char *hook_url(const struct hook *h);
const char *hook_ca(const struct hook *h); /* base64 of PEM */
void hook_set_reply(struct hook *h, const struct jv *reply);
/* What it was asked since the last call: list of {path, review}. */
struct jv *hook_take_seen(struct hook *h, struct vpa_arena *a);

#endif
