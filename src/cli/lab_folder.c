#include "lab_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab_top.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

static int is_trace_file(const struct dirent *entry)
{
    return vpa_str_ends_with(entry->d_name, ".csv") ||
           vpa_str_ends_with(entry->d_name, ".csv.gz") ||
           vpa_str_ends_with(entry->d_name, LAB_TOP_EXTENSION);
}

static void free_names(struct dirent **names, int count)
{
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static int read_files(const char *folder, struct dirent **names, int count, struct lab_traces *out,
                      struct vpa_error *err)
{
    for (int i = 0; i < count; i++) {
        vpa_auto_free char *path = vpa_xjoin(folder, '/', names[i]->d_name);
        struct lab_trace trace;
        if (out->count > LAB_TRACES_MAX)
            return vpa_fail(err, VPA_LIMIT, "%s: more than %d traces", folder, LAB_TRACES_MAX);
        if (vpa_str_ends_with(path, LAB_TOP_EXTENSION)) {
            if (lab_top_read_all(path, out, err) < 0)
                return -1;
            continue;
        }
        if (lab_trace_read(path, &trace, err) < 0)
            return -1;
        VPA_GROW(out->items, out->count, out->capacity);
        out->items[out->count++] = trace;
    }
    return 0;
}

static int read_folder(const char *folder, struct lab_traces *out, struct vpa_error *err)
{
    struct dirent **names;
    int count = scandir(folder, &names, is_trace_file, alphasort);

    if (count < 0)
        return vpa_fail(err, VPA_NOT_FOUND, "open %s: %s", folder, strerror(errno));
    int result = read_files(folder, names, count, out, err);
    free_names(names, count);
    if (result == 0 && !out->count)
        return vpa_fail(err, VPA_NOT_FOUND,
                        "%s: neither index.jsonl nor a .csv, .csv.gz or .top file", folder);
    return result;
}

int lab_traces_read(const char *folder, struct lab_traces *out, struct vpa_error *err)
{
    vpa_auto_free char *path = vpa_xjoin(folder, '/', "index.jsonl");
    struct lab_traces traces = {0};
    struct vpa_error inner;
    bool indexed = access(path, F_OK) == 0;
    int result = indexed ? lab_traces_read_index(folder, path, &traces, &inner)
                         : read_folder(folder, &traces, &inner);

    if (result < 0) {
        lab_traces_release(&traces);
        return vpa_fail(err, inner.code, "%s", inner.text);
    }
    *out = traces;
    return 0;
}
