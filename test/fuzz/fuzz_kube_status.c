/* Answers that are no success: whatever the text, there is a message, and reasons are texts. */
#include "fuzz.h"
#include "vpa/kube/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vpa_arena arena = {0};
    struct vpa_kube_status status;

    if (size < 2)
        return 0;
    enum vpa_kube_verb verb = (enum vpa_kube_verb)(data[0] % VPA_KUBE_VERB_COUNT);
    int code = 300 + data[1] * 2;
    const char *text = fuzz_text(&arena, data + 2, size - 2);
    vpa_kube_status_decode(&arena, verb, text, code, (const char *)data + 2, size - 2, &status);
    FUZZ_CHECK(status.message && status.message[0] && status.reason);
    FUZZ_CHECK(vpa_kube_error_code(status.code, status.reason) != VPA_OK);
    for (size_t i = 0; i < status.cause_count; i++)
        FUZZ_CHECK(status.causes[i].reason && status.causes[i].message && status.causes[i].field);
    (void)vpa_kube_is_expired(&status);
    vpa_arena_release(&arena);
    return 0;
}
