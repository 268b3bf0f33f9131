/*
 * What the tests of algorithms share: a method by its name and what it knows, usage of ten days.
 */
#ifndef METHOD_FIXTURE_H
#define METHOD_FIXTURE_H

#include "model_fixture.h"
#include "vpa/model/algorithm.h"

extern vpa_time t0; /* when windows begin */
extern struct vpa_error err;
extern struct vpa_arena arena;
/* Those of the test; the teardown frees them. */
extern struct vpa_method *m;
extern struct vpa_knowledge *k;

void setup(void);
void teardown(void);
/* With one parameter set, or none (NULL). */
struct vpa_method *method(const char *algorithm, const char *key, const char *value);
/* m of that, and k that knows nothing yet. */
void begin(const char *algorithm, const char *key, const char *value);
void add(struct vpa_knowledge *of, enum vpa_usage_type type, vpa_time t, vpa_amount amount);
/* Ten days: 100 millicores and 512 MiB, for an hour of each day 2000 and 600. Returns their end. */
vpa_time live(struct vpa_knowledge *of);
/* As it is saved; in the arena. */
char *stored_text(const struct vpa_knowledge *of, vpa_time now);

#endif
