/* Configurations of connections, their files in a folder that is made for each test. */
#ifndef CONFIG_FIXTURE_H
#define CONFIG_FIXTURE_H

#include <check.h>
#include <string.h>

#include "suite.h"
#include "temp_folder.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/kube/config.h"

/* Parts of a kubeconfig: the user u of the cluster k. */
#define CONTEXT                                                                                    \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context:\n"         \
    "    cluster: k\n    user: u\n    namespace: ignored\n- name: c\n  context: {cluster: "        \
    "other}\n"
#define CLUSTER(body) "clusters:\n- name: k\n  cluster:\n    server: https://host:6443\n" body
#define USER(body) "users:\n- name: u\n  user:\n" body

extern struct vpa_error err;

/* Of a kubeconfig in that folder, which is a good one. */
struct vpa_kube_config *load(const char *text);
/* The values of that header, joined by "|"; monotonic time. */
const char *header(struct vpa_kube_config *config, int64_t now, const char *name);

#endif
