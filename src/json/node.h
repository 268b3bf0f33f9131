/*
 * What a struct vpa_json really is: a cJSON node in an arena. For scan.c, which builds the nodes,
 * and json.c, which reads them; nobody else includes this, or cJSON.h.
 *
 * Beyond cJSON's use of its fields: a number has its source text in valuestring, a string tells in
 * valueint whether its source text held an escape.
 */
#ifndef JSON_NODE_H
#define JSON_NODE_H

#include <cjson/cJSON.h>

#include "vpa/json/json.h"

/* In the type of an object: members are found by any letter case. Far from the bits of cJSON. */
#define FOLDED (1 << 16)

/* What cJSON_IsObject() and its like tell, without a call. */
static inline bool is_type(const cJSON *node, int type)
{
    return (node->type & 0xff) == type;
}

#endif
