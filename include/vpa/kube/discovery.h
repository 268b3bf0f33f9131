/*
 * Kinds to resources: which plural, which versions, namespaced or not, as the API server says. Read
 * lazily per group (GET /apis/GROUP, /apis/GROUP/VERSION), cached for 5 minutes; a miss with a
 * cache older than the current pass is asked again once. After a few groups of a pass that are not
 * there one document tells of all others (GET /apis).
 */
#ifndef VPA_KUBE_DISCOVERY_H
#define VPA_KUBE_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "vpa/kube/client.h"

#define VPA_DISCOVERY_AGE (5 * VPA_MINUTE)
#define VPA_DISCOVERY_TIMEOUT (32 * VPA_SECOND)
#define VPA_DISCOVERY_GROUPS_MAX 2048
#define VPA_DISCOVERY_RESOURCES_MAX 65536

struct vpa_rest_mapping { /* borrowed until the next vpa_discovery_find */
    const char *group;    /* "" for core */
    const char *version;
    const char *resource; /* plural */
    const char *kind;
    bool namespaced;
    bool scalable; /* that version of it has a scale subresource, or that cannot be said */
};

struct vpa_discovery;
struct vpa_discovery *vpa_discovery_new(struct vpa_kube_client *client);
void vpa_discovery_free(struct vpa_discovery *discovery); /* NULL is allowed */
/* A new pass: misses are asked again (DECISIONS U19, docs/compatibility.md). */
void vpa_discovery_begin_pass(struct vpa_discovery *discovery);
/* Mappings of (group, kind), preferred version first, one per plural; the kind in its exact or all
 * lower-case spelling. Pumps the loop when something must be fetched. NOT_FOUND with upstream's
 * text `no matches for kind "K" in group "G"` when there is none. */
int vpa_discovery_find(struct vpa_discovery *discovery, const char *group, const char *kind,
                       const struct vpa_rest_mapping **mappings, size_t *count,
                       struct vpa_error *err) VPA_MUST_CHECK;

/* The same without waiting, for callbacks: VPA_RETRY when the group has to be read first. */
int vpa_discovery_peek(struct vpa_discovery *discovery, const char *group, const char *kind,
                       const struct vpa_rest_mapping **mappings, size_t *count,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* The group was read in this pass, or is not there: what it does not have need not be asked for
 * again. */
bool vpa_discovery_is_of_pass(const struct vpa_discovery *discovery, const char *group);
/* A version of the group could not be read, which is not that it is not there: a kind that was not
 * found may be of that one. */
bool vpa_discovery_is_incomplete(const struct vpa_discovery *discovery, const char *group);
/* Somebody who waits for a group; the struct is the caller's and stays where it is until fn was
 * called (err NULL: peek knows now) or vpa_discovery_unwait. Zeroed but for fn and ctx. */
struct vpa_discovery_wait {
    void (*fn)(void *ctx, const struct vpa_error *err);
    void *ctx;
    struct vpa_discovery_wait *next; /* the rest belongs to the discovery */
    struct vpa_discovery_wait **link;
};
/* Reads the group, joining a reading that is under way; fn is called from the loop, never from
 * here. */
void vpa_discovery_read(struct vpa_discovery *discovery, const char *group,
                        struct vpa_discovery_wait *wait);
void vpa_discovery_unwait(struct vpa_discovery_wait *wait);

/* Whether the server has that subresource ("pods/resize" in "v1"); false when it cannot be said. */
bool vpa_discovery_has_subresource(struct vpa_discovery *discovery, const char *group_version,
                                   const char *resource_and_sub);

#endif
