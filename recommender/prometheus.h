/*
 * Prometheus as a source of history: what is asked and what an answer means. Text in, text out:
 * nothing here opens a connection (history.h does) or reads a clock.
 *
 *     struct prom_plan plan;
 *     if (prom_plan_init(&plan, &options, &err) < 0) ...          // bad settings end the process
 *     prom_arguments(&plan, PROM_CPU, now, &buf);                 // body of the POST
 *     if (prom_parse_answer(PROM_CPU, status, body, len, on_series, ctx, &err) < 0) ...
 *
 * Formulas and error texts: recommender.md 16 of the specification.
 */
#ifndef RECOMMENDER_PROMETHEUS_H
#define RECOMMENDER_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

#include "vpa/api/labels.h"
#include "vpa/base/buf.h"
#include "vpa/base/error.h"
#include "vpa/base/time.h"

/* The flags that concern Prometheus; texts are borrowed and never NULL ("" when not given). */
struct prom_options {
    const char *address;
    const char *cadvisor_job;
    const char *history_length;     /* Prometheus duration */
    const char *history_resolution; /* Prometheus duration */
    const char *query_timeout;      /* Go duration */
    const char *cpu_metric;
    const char *memory_metric;
    const char *pod_labels_metric; /* sent verbatim */
    const char *pod_label_prefix;
    const char *pod_namespace_label;
    const char *pod_name_label;
    const char *container_namespace_label;
    const char *container_pod_name_label;
    const char *container_name_label;
    const char *ns; /* only this namespace; "" means all */
    const char *username;
    const char *password;
    const char *bearer_token;
    const char *bearer_token_file; /* read anew for each plan; its content goes before the above */
    const char *env_username;      /* PROMETHEUS_USERNAME */
    const char *env_password;      /* PROMETHEUS_PASSWORD */
    bool insecure;
};

/* The settings after checking. Owns its texts. */
struct prom_plan {
    const struct prom_options *options; /* borrowed */
    vpa_duration length;
    vpa_duration resolution;
    vpa_duration timeout; /* of one query */
    char *origin;         /* scheme://host[:port] */
    char *path;           /* without a trailing slash */
    char *query;          /* of the address, without "?"; NULL when there is none */
    char *authorization;  /* header value or NULL */
};

/* The three queries, in the order they are asked. */
enum prom_kind { PROM_CPU, PROM_MEMORY, PROM_LABELS, PROM_KINDS };

/* The bearer token that the file, or else the setting, has now. Heap. */
int prom_read_token(const struct prom_options *options, char **token,
                    struct vpa_error *err) VPA_MUST_CHECK;

/* Takes the token as it is now, since tokens of service accounts are replaced every hour; while the
 * file is empty or cannot be read, which is told, it is the setting's. VPA_INVALID with upstream's
 * text when a setting cannot be used. */
int prom_plan_init(struct prom_plan *plan, const struct prom_options *options,
                   struct vpa_error *err) VPA_MUST_CHECK;
void prom_plan_release(struct prom_plan *plan);

/* "cpu", "memory", "labels": how errors name the query. */
const char *prom_kind_name(enum prom_kind kind);
/* The text of the query. */
void prom_query(const struct prom_plan *plan, enum prom_kind kind, struct vpa_buf *out);
/* Form arguments, sorted by name; those of the address come along. */
void prom_arguments(const struct prom_plan *plan, enum prom_kind kind, vpa_time now,
                    struct vpa_buf *out);
/* Any question about a range of time. */
struct prom_range {
    const char *query;
    vpa_time start;
    vpa_time end;
    vpa_duration step;
};
void prom_range_arguments(const struct prom_plan *plan, const struct prom_range *range,
                          struct vpa_buf *out);
void prom_range_url(const struct prom_plan *plan, const struct prom_range *range,
                    struct vpa_buf *out); /* to GET from */
/* URL to POST to, or to GET from with the arguments as query. */
void prom_post_url(const struct prom_plan *plan, enum prom_kind kind, struct vpa_buf *out);
void prom_get_url(const struct prom_plan *plan, enum prom_kind kind, vpa_time now,
                  struct vpa_buf *out);

struct prom_sample {
    int64_t millis; /* Unix time */
    double value;
};
struct prom_series {
    struct vpa_labels labels; /* sorted by name */
    const struct prom_sample *samples;
    size_t count;
};
/* Borrowed for the call; -1 with err ends the answer. */
typedef int (*prom_series_fn)(void *ctx, const struct prom_series *series, struct vpa_error *err);

/* One answer: HTTP status and body. Anything but a well-formed matrix is VPA_INVALID. A series that
 * comes before a malformed one has been given already: on -1 the caller drops what it has. */
int prom_parse_answer(enum prom_kind kind, int status, const char *body, size_t len,
                      prom_series_fn on_series, void *ctx, struct vpa_error *err) VPA_MUST_CHECK;

/* The first of the answer's "warnings", in the arena; NULL: none. */
const char *prom_answer_warning(struct vpa_arena *arena, const char *body, size_t len);

/* A metric as Prometheus prints it: name{a="b", c="d"}. */
void prom_format_metric(const struct vpa_labels *labels, struct vpa_buf *out);

#endif
