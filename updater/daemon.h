/* The updater as a daemon: its table for the frame (vpa/daemon/daemon.h), and its work. */
#ifndef UPDATER_DAEMON_H
#define UPDATER_DAEMON_H

#include "config.h"
#include "vpa/daemon/daemon.h"

/* config: what the flags set; it lives as long as the table. */
struct vpa_daemon updater_daemon(struct updater_config *config);

#endif
