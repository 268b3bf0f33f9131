/* The closed loop on standard input: the first byte chooses the policy, the rest are its lines.
 * Each question that is understood gets one line of two numbers or dashes. */
#include <ctype.h>

#include "fuzz.h"
#include "lab.h"

static void check_value(const char *text, size_t len)
{
    FUZZ_CHECK(len > 0);
    FUZZ_CHECK((len == 1 && *text == '-') || isdigit((unsigned char)*text));
}

static void check_answers(const char *text)
{
    while (*text) {
        const char *blank = strchr(text, ' ');
        const char *end = strchr(text, '\n');

        FUZZ_CHECK(blank && end && blank < end);
        check_value(text, (size_t)(blank - text));
        check_value(blank + 1, (size_t)(end - blank - 1));
        text = end + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0, len;
    char *text = NULL;
    struct vpa_error err = {.text = ""};

    if (size < 2)
        return 0;
    while (lab_policy_at(count))
        count++;
    FILE *in = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    FILE *out = open_memstream(&text, &len);
    FUZZ_CHECK(in && out);
    if (lab_drive(lab_policy_at(data[0] % count), in, out, &err) < 0)
        FUZZ_CHECK(strncmp(err.text, "line ", 5) == 0);
    fclose(in);
    fclose(out);
    check_answers(text);
    free(text);
    return 0;
}
