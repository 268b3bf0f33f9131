/*
 * Rows for decode tables that several kinds of object share.
 */
#ifndef VPA_API_DECODERS_H
#define VPA_API_DECODERS_H

#include "vpa/api/meta.h"
#include "vpa/api/resources.h"
#include "vpa/json/json_decode.h"

VPA_JSON_DECODER(vpa_decode_meta, vpa_meta_decode)
VPA_JSON_DECODER(vpa_decode_resource_list, vpa_resource_list_decode)
VPA_JSON_DECODER(vpa_decode_resources, vpa_resources_decode)

#define VPA_JSON_META(S, MEMBER) VPA_JSON_CUSTOM(S, MEMBER, "metadata", vpa_decode_meta)
#define VPA_JSON_RESOURCE_LIST(S, MEMBER, PATH)                                                    \
    VPA_JSON_CUSTOM(S, MEMBER, PATH, vpa_decode_resource_list)
#define VPA_JSON_RESOURCES(S, MEMBER, PATH) VPA_JSON_CUSTOM(S, MEMBER, PATH, vpa_decode_resources)

#endif
