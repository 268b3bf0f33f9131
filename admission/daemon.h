/* The admission controller as a daemon: its table for the frame (vpa/daemon/daemon.h), its work. */
#ifndef ADMISSION_DAEMON_H
#define ADMISSION_DAEMON_H

#include "config.h"
#include "vpa/daemon/daemon.h"

/* config: what the flags set; it lives as long as the table. */
struct vpa_daemon admission_daemon(struct admission_config *config);

#endif
