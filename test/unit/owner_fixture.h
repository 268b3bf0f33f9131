/*
 * Owners against the simulator: some controllers in namespace "n", and the custom resource Widget
 * of example.com in two versions, with the object "w" and its scale. Change what there is after
 * setup(), then synced().
 */
#ifndef TEST_OWNER_FIXTURE_H
#define TEST_OWNER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"
#include "suite.h"
#include "vpa/base/str.h"
#include "vpa/kube/owner.h"

extern struct vpa_owners *owners;
extern struct vpa_error err;

/* more: of the metadata */
#define KEY(KIND, NAME, VERSION) (&(struct vpa_controller_key){"n", KIND, NAME, VERSION})
#define WIDGET(NAME) KEY("Widget", NAME, "example.com/v1")
#define OBJECT(version, kind, name, more, spec)                                                    \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind                                             \
    "\",\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\"" more "},\"spec\":" spec "}"
#define OWNER(version, kind, name)                                                                 \
    ",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name \
    "\",\"uid\":\"u\",\"controller\":true}]"
#define DEPLOYMENT(name, more, spec) OBJECT("apps/v1", "Deployment", name, more, spec)
#define REPLICA_SET(name, more) OBJECT("apps/v1", "ReplicaSet", name, more, APP)
#define APP "{\"replicas\":3,\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}"
/* The body of one. */
#define SCALE(selector, replicas)                                                                  \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/"                                            \
    "v1\",\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"replicas\":" replicas      \
    "},\"status\":{\"replicas\":1,\"selector\":\"" selector "\"}}"

void setup(void);
void synced(void);
void teardown(void);

/* ---- the cluster ---- */

void put_widget(const char *name, const char *selector, int replicas);
void drop_widget(const char *name);
/* "w0", "w1", ... */
void put_widgets(int count);
/* Asks for as many scales to be followed. */
void follow_many(int count);
/* From now on each answer about a scale comes later, or is this one, and no other script holds.
 * body NULL: a Status "boom"; code 0: 200, or 404 without a body. */
void delay_scales(vpa_duration delay);
void answer_scales(int code, const char *body);
/* How many scales, and documents of discovery, were asked for. */
int scale_gets(void);
int discovery_gets(void);
/* Whether a view can tell the selector of it, or that it has none. */
bool knows_widget(const char *name);

#endif
