/*
 * Objects for tests from their JSON text, so that a table of cases reads like manifests. Texts use
 * ' for
 * ". What cannot be read ends the test.
 */
#ifndef TEST_UNIT_OBJECTS_H
#define TEST_UNIT_OBJECTS_H

#include <check.h>
#include <string.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"

const struct vpa_json *objects_json(struct vpa_arena *arena, const char *text);
struct vpa_pod *objects_pod(struct vpa_arena *arena, const char *text);
struct vpa_object *objects_vpa(struct vpa_arena *arena, const char *text);

#endif
