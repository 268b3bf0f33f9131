#include "temp_folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vpa/base/mem.h"

static struct vpa_arena paths;
static char *folder;

static void need(bool done, const char *what)
{
    if (done)
        return;
    perror(what);
    abort();
}

void temp_folder_make(void)
{
    vpa_arena_init(&paths, 0);
    folder = vpa_arena_strdup(&paths, "/tmp/plumb-test-XXXXXX");
    need(mkdtemp(folder), folder);
}

const char *temp_folder(void)
{
    return folder;
}

const char *temp_path(const char *name)
{
    return vpa_arena_printf(&paths, "%s/%s", folder, name);
}

const char *temp_put(const char *name, const char *text)
{
    const char *path = temp_path(name);
    FILE *file = fopen(path, "we");

    need(file, path);
    need(fputs(text, file) >= 0 && fclose(file) == 0, path);
    return path;
}

void temp_folder_remove(void)
{
    DIR *files = opendir(folder);

    need(files, folder);
    for (const struct dirent *d; (d = readdir(files));)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            unlink(temp_path(d->d_name));
    closedir(files);
    need(rmdir(folder) == 0, folder);
    vpa_arena_release(&paths);
}
