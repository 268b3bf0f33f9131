/* A recommender that is ended and started again, and what it finds in a checkpoint. */
#ifndef TEST_RESTART_FIXTURE_H
#define TEST_RESTART_FIXTURE_H

#include "recommender_fixture.h"
#include "vpa/api/checkpoint.h"

/* On the stored checkpoint; NULL: none. */
const char *annotation(const char *name);
/* A histogram without samples, and its hash. */
#define EMPTY "{\"referenceTimestamp\":null}"
#define EMPTY_HASH "510ea166"
/* A checkpoint as it might be there before the start; annotations: the member with its comma, or
 * "". */
void put_checkpoint(const char *annotations, const char *memory);
/* The peak is in the first pass; usage has dropped since. */
void use_a_peak(const char *flag);

#endif
