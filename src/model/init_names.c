#include "init_names.h"

#include <stdlib.h>
#include <string.h>

#include "vpa/base/mem.h"
#include "vpa/base/str.h"

void init_names_put(const struct vpa_pod *pod, struct vpa_buf *out)
{
    size_t count = pod->init_container_count;
    vpa_auto_free const char **names = vpa_xcalloc(count + 1, sizeof(*names));

    for (size_t i = 0; i < count; i++)
        names[i] = pod->init_containers[i].name;
    qsort(names, count, sizeof(*names), vpa_str_compare);
    for (size_t i = 0; i < count; i++) {
        if (i)
            vpa_buf_putc(out, '\n');
        vpa_buf_puts(out, names[i]);
    }
}

/* As strcmp of the line and the name. */
static int compare_line(const char *line, size_t len, const char *name)
{
    int order = strncmp(line, name, len);

    return order != 0 || name[len] == '\0' ? order : -1;
}

bool init_names_have(const char *names, const char *name)
{
    const char *low = names, *high = names ? names + strlen(names) + 1 : NULL;

    while (low < high) { /* both begin a line; high may be behind the text */
        const char *line = low + (high - low) / 2;

        while (line > low && line[-1] != '\n')
            line--;

        size_t len = strcspn(line, "\n");
        int order = compare_line(line, len, name);

        if (order == 0)
            return true;
        if (order < 0)
            low = line + len + 1;
        else
            high = line;
    }
    return false;
}
