/* Short forms that the tests of the json and api layers share. */
#ifndef TEST_JSON_HELPER_H
#define TEST_JSON_HELPER_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

/* Freed when the forked test ends: one arena per test process. */
extern struct vpa_arena arena;

const struct vpa_json *json_of(const char *text);
const char *text_of(const struct vpa_json *node);
/* The teardown of tests that keep nothing else. */
void release_arena(void);

#endif
