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

/* Longest text of one series: it is held until it is complete. 30 days of a sample every five
 * seconds are 11 MB. */
#define PROM_SERIES_MAX ((size_t)16 << 20)

/* An answer as its bytes come: on_series is called for each series as soon as that is complete.
 * Whether the answer is one shows at its end: on -1 of either function the caller drops what it was
 * given. */
struct prom_reader;
struct prom_reader *prom_reader_new(enum prom_kind kind, size_t answer_max,
                                    prom_series_fn on_series, void *ctx);
void prom_reader_free(struct prom_reader *reader); /* NULL is allowed */
/* VPA_LIMIT: the answer, one series or what is around them is too long. Nothing more may come. */
int prom_reader_feed(struct prom_reader *reader, const char *bytes, size_t len,
                     struct vpa_error *err) VPA_MUST_CHECK;
/* The end, with the HTTP status. Anything but a well-formed matrix is VPA_INVALID; what on_series
 * refused fails as on_series said. */
int prom_reader_finish(struct prom_reader *reader, int status,
                       struct vpa_error *err) VPA_MUST_CHECK;
/* The first of a whole answer's "warnings", in the arena; NULL: none. */
const char *prom_reader_warning(const struct prom_reader *reader, struct vpa_arena *arena);

/* An answer that is there whole. No series of one that is no success is given. */
int prom_parse_answer(enum prom_kind kind, int status, const char *body, size_t len,
                      prom_series_fn on_series, void *ctx, struct vpa_error *err) VPA_MUST_CHECK;

/* A metric as Prometheus prints it: name{a="b", c="d"}. */
void prom_format_metric(const struct vpa_labels *labels, struct vpa_buf *out);

#endif
