/*
 * Where the daemons are installed and their settings, read from their Deployments.
 */
#ifndef CLI_DAEMON_CONFIG_H
#define CLI_DAEMON_CONFIG_H

#include "../../admission/config.h"
#include "../../recommender/config.h"
#include "../../updater/config.h"
#include "cli.h"
#include "vpa/json/json.h"

/* Where the manifests install. */
#define CLI_KUBE_SYSTEM "kube-system"

enum cli_daemon { CLI_RECOMMENDER, CLI_UPDATER, CLI_ADMISSION_CONTROLLER, CLI_DAEMONS };
/* "vpa-updater": in the name of its image; in the manifests that of Deployment and account too. */
extern const char *const cli_daemon_names[CLI_DAEMONS];
/* By the image of a container; CLI_DAEMONS: none. */
enum cli_daemon cli_daemon_of(const struct vpa_json *container);

/* The settings of one of them. */
struct cli_config {
    enum cli_daemon which;
    union {
        struct recommender_config recommender;
        struct updater_config updater;
        struct admission_config admission;
    };
};
/* By the flags of a container of a Deployment, which may go after the call. $(NAME) in a flag is
 * what the kubelet would put there, as far as the Deployment tells: a value, or the namespace. -1:
 * they cannot be read, and *out has the defaults. Texts live in the arena of the command. */
int cli_config_of(struct cli *cli, enum cli_daemon which, const struct vpa_json *deployment,
                  const struct vpa_json *container, struct cli_config *out,
                  struct vpa_error *err) VPA_MUST_CHECK;
void cli_note_config(struct cli *cli, enum cli_daemon which, const struct vpa_error *err);
/* Whether it runs beside another installation and changes nothing (--shadow). */
bool cli_config_is_shadow(const struct cli_config *config);

/* The namespace where daemons run that are no shadows: kube-system when it is one of several, and
 * where none is found. */
const char *cli_installation(struct cli *cli);

/* The Deployment of a daemon. */
struct cli_installed {
    const char *ns, *name;
    bool found;
    bool idle; /* found, and its status says that none of its pods is ready */
};
/* Defaults, then the flags of the option --updater-flags or --recommender-flags, else of the
 * Deployment vpa-updater, vpa-recommender or vpa-admission-controller in kube-system, or else of
 * the first one with an image of that name there, or anywhere; shadows are passed over, and what is
 * not known is noted. *at: that Deployment, whatever the options say; that of kube-system where
 * none is found. With the option and without `at` nothing is looked for. */
void cli_config_read(struct cli *cli, enum cli_daemon which, struct cli_config *out,
                     struct cli_installed *at);

#endif
