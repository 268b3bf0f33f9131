/* vpa-admission-controller: what it is made of is in daemon.c. */
#include "daemon.h"

int main(int argc, char **argv)
{
    static struct admission_config config;
    const struct vpa_daemon daemon = admission_daemon(&config);

    return vpa_daemon_main(&daemon, argc, argv);
}
