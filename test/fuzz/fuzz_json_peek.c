/* The text of a peek: a path up to the first NUL, then anything. What is found in a document that
 * can be parsed is what is found there by walking. */
#include "fuzz.h"
#include "vpa/json/json.h"
#include "vpa/json/json_peek.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    struct vpa_arena arena = {0};
    const struct vpa_json *root;

    if (!nul)
        return 0;
    const char *path = (const char *)data;
    size_t len = size - (size_t)(nul - data) - 1;
    char *text = vpa_xmalloc(len + (len == 0)); /* exact bounds for the sanitizer */
    if (len)
        memcpy(text, nul + 1, len);
    const char *found = vpa_json_peek(&arena, text, len, path);
    /* Escaped names, which only walking finds, may stand for the same name. */
    if (*path && path[strlen(path) - 1] != '.' && !memchr(text, '\\', len) &&
        vpa_json_parse(&arena, text, len, &root, NULL) == 0) {
        const char *walked = vpa_json_string(vpa_json_at(root, path));
        FUZZ_CHECK((found == NULL) == (walked == NULL));
        FUZZ_CHECK(!found || strcmp(found, walked) == 0);
    }
    free(text);
    vpa_arena_release(&arena);
    return 0;
}
