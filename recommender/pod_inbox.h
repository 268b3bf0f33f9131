/*
 * The pods that changed since the last pass: one entry each, with the last version known.
 *
 * A pass sees the cluster as it is when the pass begins, as upstream's does: a pod that was created
 * and deleted in between was never there, and labels that it had for a moment match nothing.
 * Out-of- memory kills are the exception: only two versions next to each other show one, so the
 * versions whose container statuses differ are kept, oldest first.
 *
 *     pod_inbox_begin_list(&inbox); pod_inbox_put(&inbox, &pod ...)*; pod_inbox_end_list(&inbox);
 *     pod_inbox_put(), pod_inbox_delete()          // watch events
 *     pod_inbox_apply(&inbox, cluster, &ooms, now) // per pass; it is empty afterwards
 *
 * Memory: an entry per pod that changed; a list brings only what the model does not have already.
 */
#ifndef RECOMMENDER_POD_INBOX_H
#define RECOMMENDER_POD_INBOX_H

#include "vpa/base/buf.h"
#include "vpa/base/table.h"
#include "vpa/model/cluster.h"

/* Versions kept of one pod; the last one is replaced when more come before a pass. */
#define POD_INBOX_VERSIONS_MAX 64
/* Names of one list: 64 MiB are a million pods. */
#define POD_INBOX_NAMES_MAX ((size_t)64 << 20)

struct pod_inbox {
    struct vpa_table entries; /* key -> struct pod_entry */
    uint64_t list;            /* number of the newest list */
    struct vpa_buf names;     /* of the list under way: "ns\0name\0"... */
    struct vpa_buf listed;    /* of the newest whole list, until it is applied */
    bool has_list;
};
void pod_inbox_init(struct pod_inbox *inbox);
void pod_inbox_release(struct pod_inbox *inbox);

void pod_inbox_begin_list(struct pod_inbox *inbox);
/* The list has this pod, whatever else can be read of it. */
void pod_inbox_listed(struct pod_inbox *inbox, const char *ns, const char *name);
/* Pods that the list does not have are gone. One that breaks off changes nothing. */
void pod_inbox_end_list(struct pod_inbox *inbox);

bool pod_inbox_has(const struct pod_inbox *inbox, const char *ns, const char *name);
/* A new version, from its source. size: bytes that decoding it needs, as far as that is known. */
int pod_inbox_put(struct pod_inbox *inbox, const struct vpa_json *source, size_t size,
                  struct vpa_error *err) VPA_MUST_CHECK;
/* It exists, but nothing else is known: what was known of it before stays. */
void pod_inbox_keep(struct pod_inbox *inbox, const char *ns, const char *name);
void pod_inbox_delete(struct pod_inbox *inbox, const char *ns, const char *name);

/* Brings the model up to date, pods by namespace and name; those that are gone are only marked as
 * deleted. */
void pod_inbox_apply(struct pod_inbox *inbox, struct vpa_cluster *cluster,
                     struct vpa_oom_queue *ooms, vpa_time now);

#endif
