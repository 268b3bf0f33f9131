/*
 * Runs one path once over a world in which one field is n long, and says what it cost:
 *
 *     hostile PATH FIELD N
 *     -> instructions 1234567 last 1200 peak_kib 8812 largest 30012 copies 4
 *
 * hostile --fields lists the fields, those that are a number of objects with "objects" behind them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "vpa/base/log.h"

static int usage(void)
{
    fprintf(stderr, "usage: hostile PATH FIELD N | hostile --fields\n");
    return 2;
}

static int list_fields(void)
{
    for (size_t i = 0; world_field(i); i++)
        printf("%s%s\n", world_field(i), world_field_counts_objects(i) ? " objects" : "");
    return 0;
}

static void quiet(void)
{
    const struct vpa_log_options options = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)};
    struct vpa_error err;

    (void)vpa_log_configure(&options, &err);
}

int main(int argc, char **argv)
{
    const struct path *path = argc == 4 ? path_find(argv[1]) : NULL;
    struct world world;
    struct count count;

    if (argc == 2 && strcmp(argv[1], "--fields") == 0)
        return list_fields();
    if (!path || !world_build(&world, argv[2], strtoul(argv[3], NULL, 10)))
        return usage();
    quiet();
    bool counted = count_open(&count);
    path->run(&world, &count);
    if (counted)
        printf("instructions %" PRIu64 " last %" PRIu64 " ", count.instructions, count.last);
    printf("peak_kib %ld largest %zu copies %zu\n", count_peak_kib(), world.largest, world.copies);
    count_close(&count);
    world_release(&world);
    return 0;
}
