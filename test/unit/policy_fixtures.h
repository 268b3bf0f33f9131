/*
 * Objects for the tests of the policy layer, written as JSON with ' for ".
 */
#ifndef TEST_POLICY_FIXTURES_H
#define TEST_POLICY_FIXTURES_H

#include <check.h>
#include <string.h>

#include "suite.h"
#include "vpa/api/limit_range.h"
#include "vpa/policy/capping.h"

char *fixture_json(struct vpa_arena *arena, const char *text);
const struct vpa_json *fixture_parse(struct vpa_arena *arena, const char *text);
struct vpa_object fixture_vpa(struct vpa_arena *arena, const char *text);
struct vpa_pod fixture_pod(struct vpa_arena *arena, const char *text);
struct vpa_resource_list fixture_list(struct vpa_arena *arena, const char *text);
/* The items of one LimitRange, folded; NULL or "" for none. */
struct vpa_namespace_limits fixture_limits(struct vpa_arena *arena, const char *items);
struct vpa_quantity fixture_quantity(struct vpa_arena *arena, const char *text);
/* "cpu=1 memory=2Gi"; "-" when the list is not present. */
const char *fixture_list_text(struct vpa_arena *arena, const struct vpa_resource_list *list);

#endif
