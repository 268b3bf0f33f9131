/*
 * What an API server in memory knows of the recommendation API's certificate: the Secret and the
 * APIService, each with a version on which writes must rest.
 */
#ifndef TEST_CERTIFICATE_SERVER_H
#define TEST_CERTIFICATE_SERVER_H

#include <stdio.h>

#include "../../recommender/api_service.h"
#include "suite.h"
#include "memory_transport.h"
#include "vpa/base/str.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

#define SECRET_PATH "/api/v1/namespaces/ns/secrets/certificates"

extern char data[64 << 10];     /* member of the Secret */
extern char bundle[64 << 10];   /* caBundle of the APIService, base64 */
extern const char *annotations; /* of the APIService */
extern int secret_version, service_version;
extern int secret_writes, service_writes, conflicts;
extern bool no_service, no_rights, raced; /* raced: somebody is faster, once */
extern char written[128 << 10];           /* the last body for the APIService */
extern char event[8 << 10];               /* the last one */
extern int events_written;

void serve_certificates(void *ctx, const struct vpa_memory_request *request,
                        struct vpa_memory_reply *reply);

#endif
