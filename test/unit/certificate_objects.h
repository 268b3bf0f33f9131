/*
 * What the simulator holds of managed certificates: the Secret ns/certificates, the APIService of
 * the recommendation API, and what was written to them.
 */
#ifndef TEST_CERTIFICATE_OBJECTS_H
#define TEST_CERTIFICATE_OBJECTS_H

#include "../../recommender/query_certificate.h"
#include "sim_cluster.h"

#define SECRET_PATH "/api/v1/namespaces/ns/secrets/certificates"

/* data: that member as JSON. */
void put_secret(struct sim_cluster *sim, const char *data);
/* annotations: members; bundle: base64, NULL: as it is. */
void put_service(struct sim_cluster *sim, const char *annotations, const char *bundle);
/* The live caBundle as PEM; heap. */
char *live_bundle(const struct sim_cluster *sim);
/* How many writes there got that answer; a change must rest on a version. */
int written(const struct sim_cluster *sim, const char *path, int code);

#endif
