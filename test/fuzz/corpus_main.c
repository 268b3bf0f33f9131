/*
 * Runs a fuzz target over the files of folders: the corpora as ordinary tests, with any compiler.
 *
 *     corpus_quantity test/fuzz/corpus/quantity
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

#define INPUT_MAX (16 << 20)

static int run_file(const char *path)
{
    uint8_t *data = vpa_xmalloc(INPUT_MAX);
    FILE *f = fopen(path, "rb");

    if (!f) {
        perror(path);
        free(data);
        return -1;
    }
    size_t size = fread(data, 1, INPUT_MAX, f);
    fclose(f);
    uint8_t *exact = vpa_xmalloc(size + 1); /* so that a sanitizer sees reads behind the end */
    memcpy(exact, data, size);
    free(data);
    data = vpa_xrealloc(exact, size ? size : 1);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int run_folder(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, is_input, alphasort), failed = 0;

    if (count < 0) {
        perror(folder);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *path = vpa_xjoin(folder, '/', names[i]->d_name);
        if (run_file(path) < 0)
            failed = 1;
        free(names[i]);
    }
    free(names);
    printf("%s: %d inputs\n", folder, count);
    return count == 0 || failed ? -1 : 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    for (int i = 1; i < argc; i++)
        if (run_folder(argv[i]) < 0)
            failed = 1;
    return failed;
}
