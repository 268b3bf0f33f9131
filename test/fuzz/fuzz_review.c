/* Admission reviews of VPA objects: any body is answered, and the answer is JSON with the same uid.
 */
#include "fuzz.h"
#include "vpa/api/pod.h"
#include "vpa/policy/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct vpa_validate_options options = {
        .in_place = size & 1, .cpu_startup_boost = size & 2, .per_vpa_config = size & 4};
    struct vpa_arena arena = {0};
    const struct vpa_json *root, *answer;
    struct vpa_review_request request;
    struct vpa_validation validation;
    struct vpa_error err;
    struct vpa_pod pod;
    struct vpa_buf buf;

    vpa_buf_init(&buf, 1 << 24);
    if (vpa_json_parse_folded(&arena, (const char *)data, size, &root, &err) == 0 &&
        vpa_review_decode(root, &request, &err) == 0) {
        (void)!vpa_pod_decode(&arena, request.object, &pod, &err);
        vpa_validate_review(&arena, &request, &options, &validation);
        FUZZ_CHECK(validation.allowed || validation.status.cause_count > 0);
        const struct vpa_review_response response = {
            .uid = request.uid,
            .allowed = validation.allowed,
            .status = validation.allowed ? NULL : &validation.status,
            .patch = validation.patch,
            .patch_len = validation.patch ? strlen(validation.patch) : 0,
            .warnings = validation.warnings,
            .warning_count = validation.warning_count,
        };
        vpa_review_encode(&buf, &response);
        FUZZ_CHECK(vpa_json_parse(&arena, buf.data, buf.len, &answer, &err) == 0);
        FUZZ_CHECK(vpa_json_string(vpa_json_at(answer, "response.uid")) != NULL);
    }
    vpa_buf_release(&buf);
    vpa_arena_release(&arena);
    return 0;
}
