/* The recommender as a daemon: its table for the frame (vpa/daemon/daemon.h), and its work. */
#ifndef RECOMMENDER_DAEMON_H
#define RECOMMENDER_DAEMON_H

#include "config.h"
#include "vpa/daemon/daemon.h"

/* config: what the flags set; it lives as long as the table. */
struct vpa_daemon recommender_daemon(struct recommender_config *config);

#endif
