/*
 * A reflector before a server that answers by a script, over the transport in memory.
 */
#ifndef TEST_REFLECTOR_FIXTURE_H
#define TEST_REFLECTOR_FIXTURE_H

#include <check.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/kube/reflector.h"

#define TRACE_MAX 8192
#define REQUESTS_NOTED 64

extern struct vpa_reflector *reflector;
/* Options; set them before start(). */
extern size_t object_max;
extern const char *const *left_out;

/* What the consumer saw: B begin, E end, L A M D with the name and the members "env" and
 * "managedFields" by their first letters, R resync; ! before an object that cannot be used. */
extern char trace[TRACE_MAX];
extern char reason[256]; /* of the last unusable object */

/* The server: a list of scripted answers, each for one request; the last one repeats. */
struct answer {
    const char *want;  /* part of the target that must be there, NULL: anything */
    const char *avoid; /* part that must not be there */
    int status;
    const char *json;    /* body of a list; for watches: the frames sent at once */
    const char *message; /* of a refusal, NULL: "scripted" */
    bool stream;         /* leave open */
    enum vpa_transport_failure failure;
    size_t chunk;
};
extern const struct answer *script;
extern size_t script_count, requests;
/* When the first requests came, and the seconds that they asked for as watches. */
extern int64_t at[REQUESTS_NOTED], timeouts[REQUESTS_NOTED];
extern struct vpa_memory_stream *stream; /* the last one; NULL: it was closed */
extern int closed;                       /* streams */

void setup(void);
void teardown(void);
void start(const struct answer *answers, size_t count, bool watch_only, vpa_duration resync);
#define START(answers) start(answers, VPA_COUNT(answers), false, 0)

#define LIST(version, items)                                                                       \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items   \
    "]}"
#define PAGE(version, token, items)                                                                \
    "{\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" token                     \
    "\"},\"items\":[" items "]}"
#define OBJECT(name, version)                                                                      \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define BOOKMARK(version)                                                                          \
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}"
/* Before a watch is opened anew the server is asked whether it has the version. */
#define HAS(version)                                                                               \
    {                                                                                              \
        .want = "limit=1&resourceVersion=" version "&resourceVersionMatch=NotOlderThan",           \
        .status = 200, .json = PAGE(version, "more", OBJECT("any", "1"))                           \
    }
#define FRAME(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version) "}\n"

#endif
