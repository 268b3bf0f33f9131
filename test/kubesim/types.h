/*
 * The resources that are served: built-in ones from a table, custom ones from their definitions. A
 * type is never freed before the end (a request may hold it); a withdrawn one is only marked.
 */
#ifndef KUBESIM_TYPES_H
#define KUBESIM_TYPES_H

#include "schema.h"
#include "store.h"

enum {
    T_NAMESPACED = 1,
    T_STATUS = 2, /* has a status subresource; status is separate from the rest */
    T_SCALE = 4,
    T_GENERATION = 8, /* metadata.generation counts changes of the specification */
    T_CREATE_BY_PUT = 16,
    T_NEEDS_VERSION = 32, /* replace needs metadata.resourceVersion */
    T_DELETE_RETURNS_OBJECT = 64,
    T_LABEL_NAMES = 128, /* names are DNS labels, not subdomains */
    T_PATH_NAMES = 256,  /* names are any path segment (RBAC) */
    T_CREATE_ONLY = 512, /* reviews: POST answers, nothing is stored */
    T_STATUS_ON_CREATE =
        1024, /* a status given at creation is kept (nodes, custom without status) */
};
/* Places in the field selectors of pods. */
enum { POD_NODE = 2, POD_PHASE = 7 };
struct crd_column {
    const char *name;
    const char *type;
    const char *format;
    const char *description;
    const char *path;
    int priority;
};
struct crd_info {
    const char *name; /* of the definition */
    struct crd_column *columns;
    size_t column_count;
    const char *spec_replicas; /* JSON paths of the scale subresource, without the leading dot */
    const char *status_replicas;
    const char *selector;
    struct vpa_arena arena;
};
struct restype {
    const char *group; /* "" for the core group */
    const char *version;
    const char *plural;
    const char *singular;
    const char *kind;
    const char *list_kind;
    const char *short_names; /* comma separated */
    bool category_all;
    unsigned flags;
    const struct schema *schema;
    struct collection *store;
    struct crd_info *crd; /* NULL for built-in kinds */
    const char *as;       /* plural of another group's view of the same objects: "events" */
    bool withdrawn;
    struct restype *next;
};
struct types {
    struct restype *first; /* in order of discovery */
    struct restype **end;
};

void types_init(struct types *t, struct store *s);
void types_release(struct types *t);
struct restype *types_find(const struct types *t, const char *group, const char *version,
                           const char *plural);
struct restype *types_by_kind(const struct types *t, const char *group, const char *kind);
bool types_has_group(const struct types *t, const char *group,
                     const char *version); /* version NULL: any */
/* Adds or replaces the types of a definition / withdraws them. */
void types_add_crd(struct types *t, struct store *s, const struct jv *crd);
void types_drop_crd(struct types *t, const char *crd_name);
/* "deployments.apps", "pods" */
const char *type_qualified(struct vpa_arena *a, const struct restype *t);
/* "Deployment.apps", "Pod" */
const char *type_qualified_kind(struct vpa_arena *a, const struct restype *t);
const char *type_api_version(struct vpa_arena *a, const struct restype *t);

#endif
