/*
 * What the aggregated API says of itself: discovery (/apis, /apis/GROUP, /apis/GROUP/VERSION) and
 * its schema (/openapi/v2, /openapi/v3, /openapi/v3/apis/GROUP/VERSION), by which kubectl finds
 * and explains recommendationqueries.
 */
#ifndef RECOMMENDER_QUERY_DOCUMENTS_H
#define RECOMMENDER_QUERY_DOCUMENTS_H

/* The JSON text of that path, heap; NULL: there is none. */
char *query_document(const char *path);

#endif
