/*
 * What a struct vpa_json really is: a cJSON node in an arena. For scan.c, which builds the nodes,
 * and json.c, which reads them; nobody else includes this, or cJSON.h.
 *
 * Beyond cJSON's use of its fields: a number has its source text in valuestring, and valueint is
 * the length of a member's name.
 */
#ifndef JSON_PRIVATE_H
#define JSON_PRIVATE_H

#include <cjson/cJSON.h>

#include "vpa/json/json.h"

/* In the type, far from the bits of cJSON. */
#define FOLDED (1 << 16)   /* of an object: members are found by any letter case */
#define REPEATED (1 << 17) /* of an object, while it is read: a name may have come twice */
#define ESCAPED (1 << 18)  /* of a string: its source text held an escape */

/* What cJSON_IsObject() and its like tell, without a call. */
static inline bool is_type(const cJSON *node, int type)
{
    return (node->type & 0xff) == type;
}

#endif
