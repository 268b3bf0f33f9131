/* The admission controller's flags: names, defaults and meaning are upstream's. */
#include "config.h"

#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/url.h"
#include "vpa/daemon/certificate_manager.h"
#include "vpa/daemon/daemon.h"

#define ROW(KIND, NAME, FIELD, PRESET, HELP)                                                       \
    VPA_FLAG_##KIND(NAME, struct admission_config, FIELD, PRESET, HELP)

const char admission_registration_name[] = "vpa-webhook-config";

const struct vpa_flag admission_flag_rows[] = {
    VPA_COMMON_FLAGS(struct admission_config, common, ":8944"),
    ROW(INT, "port", port, 8000, "TCP port of the webhook, all interfaces"),
    ROW(STRING, "client-ca-file", client_ca_file, "/etc/tls-certs/caCert.pem",
        "CA for the caBundle of the registration (PEM); clients are not checked against it"),
    ROW(STRING, "tls-cert-file", tls_cert_file, "/etc/tls-certs/serverCert.pem",
        "Certificate chain of the webhook (PEM)"),
    ROW(STRING, "tls-private-key", tls_private_key, "/etc/tls-certs/serverKey.pem",
        "Private key of the webhook (PEM)"),
    ROW(BOOL, "reload-cert", reload_cert, false,
        "Act on changes of the certificate, key and CA files"),
    ROW(BOOL, "manage-certificates", manage_certificates, false,
        "Make CA and certificate, keep them in a Secret and rotate them; the files of "
        "--client-ca-file, --tls-cert-file and --tls-private-key are not read (not known "
        "upstream)"),
    ROW(STRING, "certificate-secret", certificate_secret, "vpa-webhook-certificates",
        "That Secret, in NAMESPACE (not known upstream)"),
    ROW(DURATION, "certificate-lifetime", certificate_lifetime, 90 * 24 * VPA_HOUR,
        "Life of CA and certificate; they are changed when two thirds are over; at least ten "
        "minutes "
        "(not known upstream)"),
    ROW(STRING, "tls-ciphers", tls_ciphers, "",
        "Cipher suites of TLS 1.2, comma- or colon-separated; empty: the default set"),
    ROW(STRING, "min-tls-version", min_tls_version, "tls1_2",
        "Lowest TLS version: tls1_2 or tls1_3"),
    ROW(BOOL, "shadow", shadow, false,
        "Run beside another installation: answer every review without a change, log what would be "
        "patched or refused, register nothing (not known upstream)"),
    ROW(BOOL, "register-webhook", register_webhook, true,
        "Create the MutatingWebhookConfiguration at start"),
    ROW(STRING, "webhook-config-name", webhook_config_name, admission_registration_name,
        "Name of the MutatingWebhookConfiguration, ours or made by others (not known upstream)"),
    ROW(STRING, "webhook-service", webhook_service, "vpa-webhook",
        "Service that the registration names"),
    ROW(BOOL, "register-by-url", register_by_url, false, "Register a URL instead of a service"),
    ROW(STRING, "webhook-address", webhook_address, "", "First part of that URL, with https://"),
    ROW(STRING, "webhook-port", webhook_port, "", "Port of that URL"),
    ROW(INT, "webhook-timeout-seconds", webhook_timeout_seconds, 30,
        "Time that the API server waits for an answer"),
    ROW(BOOL, "webhook-failure-policy-fail", webhook_failure_policy_fail, false,
        "Have pods refused while the webhook cannot be reached"),
    ROW(STRING, "webhook-labels", webhook_labels, "",
        "Labels of the registration: key1:value1,key2:value2"),
    ROW(STRING, "status-lease-name", status_lease_name, "vpa-admission-controller",
        "Name of the Lease that tells the updater that we work"),
    ROW(STRING, "status-lease-namespace", status_lease_namespace, "",
        "Namespace of that Lease; empty: NAMESPACE, else kube-system"),
    ROW(DURATION, "status-lease-update-interval", status_lease_update_interval, 10 * VPA_SECOND,
        "Time between its renewals; positive"),
    ROW(STRING, "recommendation-query-url", recommendation_query_url, "",
        "Ask the recommender here, http://host:port without a path, what a pod is recommended now; "
        "it needs --recommendation-query; without an answer what is stored counts (not known "
        "upstream)"),
    ROW(DURATION, "recommendation-query-timeout", recommendation_query_timeout,
        100 * VPA_MILLISECOND, "How long a pod waits for that answer (not known upstream)"),
    VPA_LEDGER_FLAGS(struct admission_config, ledger),
    VPA_FLAG_QUANTITY("max-allowed-cpu-boost", struct admission_config, max_allowed_cpu_boost,
                      "Highest CPU request that a startup boost may give; zero: no bound"),
};
const size_t admission_flag_count = sizeof(admission_flag_rows) / sizeof(admission_flag_rows[0]);

/* What has no scheme is a host, as it is for the client. */
static int check_query_url(const char *url, struct vpa_error *err)
{
    const char *scheme = *url && !strstr(url, "://") ? "http://" : "";
    vpa_auto_free char *whole = vpa_xprintf("%s%s", scheme, url);

    return vpa_url_check(whole, err);
}

int admission_config_check(const struct admission_config *config, int *exit_status,
                           struct vpa_error *err)
{
    if (vpa_daemon_check(&config->common, NULL, exit_status, err) < 0)
        return -1;
    *exit_status = 1;
    if (config->status_lease_update_interval <= 0)
        return vpa_fail(err, VPA_INVALID, "--status-lease-update-interval must be positive.");
    if (config->certificate_lifetime < VPA_CERTIFICATE_LIFETIME_MIN)
        return vpa_fail(err, VPA_INVALID, "--certificate-lifetime must be at least 10m0s.");
    if (config->shadow && config->manage_certificates)
        return vpa_fail(err, VPA_INVALID,
                        "--manage-certificates keeps certificates in a Secret, which --shadow does "
                        "not write: give the shadow files.");
    if (check_query_url(config->recommendation_query_url, err) < 0)
        return vpa_wrap(err, "--recommendation-query-url");
    if (config->recommendation_query_timeout <= 0)
        return vpa_fail(err, VPA_INVALID, "--recommendation-query-timeout must be positive.");
    if (config->port < 0 || config->port > 65535)
        return vpa_fail(err, VPA_INVALID, "--port must be between 0 and 65535.");
    return 0;
}

bool admission_config_knows_registration(const struct admission_config *config)
{
    return config->register_webhook || config->webhook_config_name != admission_registration_name;
}

int admission_config_tls_version(const struct admission_config *config, enum vpa_tls_version *out,
                                 struct vpa_error *err)
{
    const char *text = config->min_tls_version;

    if (text[0] == '\0' || strcmp(text, "tls1_2") == 0)
        *out = VPA_TLS_1_2;
    else if (strcmp(text, "tls1_3") == 0)
        *out = VPA_TLS_1_3;
    else
        return vpa_fail(err, VPA_INVALID,
                        "unable to determine value for --min-tls-version (%s), must be either "
                        "tls1_2 or tls1_3",
                        text);
    return 0;
}
