/*
 * The admission controller's settings: one field per flag, one table of flags.
 */
#ifndef ADMISSION_CONFIG_H
#define ADMISSION_CONFIG_H

#include "vpa/daemon/common_flags.h"
#include "vpa/daemon/ledger.h"
#include "vpa/net/http_server.h"

struct admission_config {
    struct vpa_common_flags common;
    bool shadow; /* ours: beside another installation */
    int64_t port;
    const char *client_ca_file;
    const char *tls_cert_file;
    const char *tls_private_key;
    bool reload_cert;
    const char *tls_ciphers;
    const char *min_tls_version;
    bool register_webhook;
    const char *webhook_config_name;
    bool manage_certificates;
    const char *certificate_secret;
    vpa_duration certificate_lifetime;
    const char *webhook_service;
    bool register_by_url;
    const char *webhook_address;
    const char *webhook_port;
    int64_t webhook_timeout_seconds;
    bool webhook_failure_policy_fail;
    const char *webhook_labels;
    const char *status_lease_name;
    const char *status_lease_namespace;
    vpa_duration status_lease_update_interval;
    struct vpa_quantity max_allowed_cpu_boost;
    const char *recommendation_query_url;      /* ours */
    vpa_duration recommendation_query_timeout; /* ours */
    struct vpa_ledger_flags ledger;            /* ours */
};

/* The name of the registration where --webhook-config-name is not given. */
extern const char admission_registration_name[];

extern const struct vpa_flag admission_flag_rows[];
extern const size_t admission_flag_count;

/* The checks after parsing (specification flags.md 7.2): -1 with the line to log; *exit_status is
 * set. */
int admission_config_check(const struct admission_config *config, int *exit_status,
                           struct vpa_error *err) VPA_MUST_CHECK;
/* Whether anybody has said what the registration is called: we, who make it, or whoever gave the
 * flag, were it with the default's text. */
bool admission_config_knows_registration(const struct admission_config *config);
/* --min-tls-version; fails with upstream's text. */
int admission_config_tls_version(const struct admission_config *config, enum vpa_tls_version *out,
                                 struct vpa_error *err) VPA_MUST_CHECK;

#endif
