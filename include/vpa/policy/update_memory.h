/*
 * What must be remembered of pods between passes, by UID: since when the kubelet has kept a resize
 * waiting, which recommendation the node cannot hold, and whether the last resize ended a boost.
 * Further, which pods were evicted and have not been replaced yet, and which are not back since
 * they were restarted or came as replacements. Source: specification updater.md 13.5, 13.6;
 * docs/compatibility.md U6, U20, U22, U23, S5.
 *
 *     vpa_update_memory_sweep(memory, live, ctx, now);     // once per pass
 *     vpa_update_memory_observe(memory, pod, now);         // for each pod of the pass
 *     vpa_update_memory_resize_since(memory, uid, &since)  // as often as one likes
 *
 * Bounded by the live pods: one entry for each of which there is something to remember. `now` is by
 * a clock that nobody sets: no patience ends with a jump of the time of day.
 */
#ifndef VPA_POLICY_UPDATE_MEMORY_H
#define VPA_POLICY_UPDATE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vpa/api/pod.h"
#include "vpa/api/vpa.h"
#include "vpa/base/time.h"

struct vpa_update_memory;
struct vpa_update_memory *vpa_update_memory_new(void);
void vpa_update_memory_free(struct vpa_update_memory *memory); /* NULL is allowed */
/* Drops what belongs to no live pod: live(ctx, uid) tells; and waiting that has lasted too long. */
void vpa_update_memory_sweep(struct vpa_update_memory *memory,
                             bool (*live)(void *ctx, const char *uid), void *ctx, vpa_time now);

/* Looks at the resize of a pod: a status that was not there before starts the timer, its end clears
 * it (U22). A status that ended and came again between two looks is known by its transition time.
 */
void vpa_update_memory_observe(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                               vpa_time now);
/* Notes that another size was sent to the pod: with the next look the timer starts again. */
void vpa_update_memory_note_resize(struct vpa_update_memory *memory, const char *uid);
/* Notes that the same size was sent to the pod once more / whether it was, since the status was
 * observed. */
void vpa_update_memory_note_repetition(struct vpa_update_memory *memory, const char *uid);
bool vpa_update_memory_is_repeated(const struct vpa_update_memory *memory, const char *uid);
/* When the status of the resize that was observed last had been seen first. False: no resize. */
bool vpa_update_memory_resize_since(const struct vpa_update_memory *memory, const char *uid,
                                    vpa_time *out);

/* How long a replacement is waited for: without one by then the group was perhaps scaled down. */
#define VPA_REPLACEMENT_PATIENCE (10 * VPA_MINUTE)
/* Notes that the eviction of the pod was accepted. newest: creation time of the newest pod of its
 * owner; what is created later is a replacement, which vpa_update_memory_observe recognises. */
void vpa_update_memory_note_eviction(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                     vpa_time newest, vpa_time now);
/* How long an eviction whose answer was lost may be the reason that the pod goes: longer than the
 * cache may be behind. */
#define VPA_DOUBT_PATIENCE (2 * VPA_MINUTE)
/* Notes that nobody has said whether the pod was evicted. It counts as alive while it looks so;
 * when vpa_update_memory_sweep finds it gone, and has not found it alive after that time, its
 * replacement is waited for. */
void vpa_update_memory_note_doubt(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                  vpa_time newest, vpa_time now);
/* How long a pod is taken for evicted that still looks alive: much longer than the cache may be
 * behind. Then the server has not carried out what it had accepted. */
#define VPA_EVICTION_PATIENCE VPA_HOUR
/* Whether the pod was evicted. */
bool vpa_update_memory_is_evicted(const struct vpa_update_memory *memory, const char *uid);
/* Evicted pods of the owner whose replacement has not been seen. */
int64_t vpa_update_memory_awaited(const struct vpa_update_memory *memory, const char *ns,
                                  const char *kind, const char *name);

/* How old a cache may be that has the pod as it was before a change of ours. */
#define VPA_RESTART_UNSEEN (90 * VPA_SECOND)
/* Notes that a resize was accepted for which the kubelet restarts containers of the pod, which was
 * ready. */
void vpa_update_memory_note_restart(struct vpa_update_memory *memory, const struct vpa_pod *pod,
                                    vpa_time now);
/* Whether the pod restarts for its resize, or replaces one that was evicted and had been ready, and
 * was not found ready by vpa_update_memory_observe since, for as long as a replacement is waited
 * for: it is missing in its group. */
bool vpa_update_memory_is_starting(const struct vpa_update_memory *memory, const char *uid);

/* Records (replacing) a copy of the recommendation / finds the record, borrowed until the next
 * change. */
void vpa_update_memory_record_infeasible(struct vpa_update_memory *memory, const char *uid,
                                         const struct vpa_recommendation *recommendation);
const struct vpa_recommendation *
vpa_update_memory_infeasible(const struct vpa_update_memory *memory, const char *uid);
/* Whether some container has in both lists a resource whose target in `now_wanted` is below the one
 * in `recorded` (updater.md 13.6). last_only: of several records with one name only the last
 * counts. */
bool vpa_recommendation_lower(const struct vpa_recommendation *now_wanted,
                              const struct vpa_recommendation *recorded, bool last_only);
/* Heap array of the UIDs with an infeasible record, bytewise order; the caller frees the array. */
const char **vpa_update_memory_infeasible_uids(const struct vpa_update_memory *memory,
                                               size_t *count);

/* How long a refusal holds: the API server, or what refuses in it, may be another one by then. */
#define VPA_REFUSAL_AGE VPA_HOUR
/* Notes that the API server refused what a resize of the pod asked for / whether it did of late /
 * whether that was the last of what it refused. patch: a hash of it. The first one returns whether
 * it is another one than was refused last. */
bool vpa_update_memory_note_refusal(struct vpa_update_memory *memory, const char *uid,
                                    uint64_t patch, vpa_time now);
bool vpa_update_memory_is_refused(const struct vpa_update_memory *memory, const char *uid,
                                  vpa_time now);
bool vpa_update_memory_was_refused(const struct vpa_update_memory *memory, const char *uid,
                                   uint64_t patch, vpa_time now);

/* Notes what the last resize sent to the pod was: the end of a boost, or an ordinary one. One that
 * an end outlasts is not to be noted. */
void vpa_update_memory_set_unboost(struct vpa_update_memory *memory, const char *uid, bool unboost);
/* Whether the pod is still to become what the end of its boost made of it: the kubelet waits,
 * refuses, fails, or has not acted. Such a pod is never evicted (S5); resizes go on. */
bool vpa_unboost_unfinished(const struct vpa_pod *pod, const struct vpa_update_memory *memory);
/* Whether an unfinished end is still one behind an ordinary resize to these requests, in the order
 * of the pod: less cpu is asked for then than a container has. */
bool vpa_unboost_outlasts(const struct vpa_pod *pod, const struct vpa_update_memory *memory,
                          const struct vpa_resource_list *requests);
/* Whether the pod looks as the end of a boost leaves it while the kubelet has not acted: no marker,
 * and less cpu is asked for than a container has. An ordinary resize may look the same, so this is
 * for a process that has just begun and remembers nothing. */
bool vpa_unboost_presumed(const struct vpa_pod *pod);

#endif
