#include "api_meters.h"

#include "vpa/base/mem.h"
#include "vpa/daemon/certificates.h"
#include "vpa/net/http_server.h"

static struct vpa_metric expiry = VPA_GAUGE(
    "vpa_recommender_certificate_expiry_seconds",
    "Unix time at which the certificate that the recommendation API serves ends, 0 for none.");
struct vpa_metric api_meter_steps =
    VPA_COUNTER("vpa_recommender_certificate_steps_total",
                "Steps of this replica in the life of the managed certificates of the "
                "recommendation API.",
                "step");
struct vpa_metric api_meter_failures =
    VPA_COUNTER("vpa_recommender_self_test_failures_total",
                "Looks that found that API servers cannot use the recommendation API, by what is "
                "in the way.",
                "step");
struct vpa_metric api_meter_repairs =
    VPA_COUNTER("vpa_recommender_registration_repairs_total",
                "Repairs of the APIService, by what was wrong.", "what");
struct vpa_metric api_meter_handshakes = VPA_COUNTER(
    "vpa_recommender_tls_handshake_failures_total",
    "TLS handshakes with the recommendation API that did not come to their end.", "reason");

struct vpa_metric *const api_meters[API_METERS] = {&expiry, &api_meter_steps, &api_meter_failures,
                                                   &api_meter_repairs, &api_meter_handshakes};

void api_meters_start(void)
{
    static const char *const found[] = {"secret", "registration", "chain", "listener"};

    for (enum vpa_certificates_step s = VPA_CERTIFICATES_CREATED; s <= VPA_CERTIFICATES_RETIRED;
         s++)
        vpa_metric_add(&api_meter_steps, 0, vpa_certificates_step_name(s));
    vpa_metric_start(&api_meter_failures, found, VPA_COUNT(found));
    vpa_metric_add(&api_meter_repairs, 0, "caBundle");
    for (size_t i = 0; vpa_server_handshake_failure(i); i++)
        vpa_metric_add(&api_meter_handshakes, 0, vpa_server_handshake_failure(i));
}

void api_meter_serves(const char *chain_pem)
{
    struct vpa_tls_info info;

    if (vpa_tls_describe(chain_pem, &info, NULL) < 0)
        return;
    vpa_time seconds = info.not_after / VPA_SECOND;
    vpa_metric_set(&expiry, (double)seconds);
}
