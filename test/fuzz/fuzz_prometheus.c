/* Answers of Prometheus: any bytes give samples or an error; samples are in order of time. */
#include "fuzz.h"

#include "../../recommender/history.h"

#include "vpa/base/table.h"

static const struct prom_options options = {.address = "http://p",
                                            .cadvisor_job = "j",
                                            .history_length = "8d",
                                            .history_resolution = "1h",
                                            .query_timeout = "5m",
                                            .cpu_metric = "c",
                                            .memory_metric = "m",
                                            .pod_labels_metric = "l",
                                            .pod_label_prefix = "pod_label_",
                                            .pod_namespace_label = "kubernetes_namespace",
                                            .pod_name_label = "kubernetes_pod_name",
                                            .container_namespace_label = "namespace",
                                            .container_pod_name_label = "pod_name",
                                            .container_name_label = "name",
                                            .ns = "",
                                            .username = "",
                                            .password = "",
                                            .bearer_token = "",
                                            .bearer_token_file = "",
                                            .env_username = "",
                                            .env_password = ""};

static void check_list(const struct history_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        FUZZ_CHECK(list->items[i - 1].millis <= list->items[i].millis);
}

static void check_pod(const struct history_pod *pod)
{
    struct history_container **containers = history_containers(pod);

    for (size_t i = 0; i < pod->containers.count; i++) {
        check_list(&containers[i]->cpu);
        check_list(&containers[i]->memory);
    }
    free(containers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prom_plan plan;
    struct history history;
    struct vpa_error err;
    const char *bytes = size > 0 ? (const char *)data : "";

    FUZZ_CHECK(prom_plan_init(&plan, &options, &err) == 0);
    history_init(&history, &plan);
    /* The same answer to every question, as the one of a server that is something else. */
    for (enum prom_kind kind = PROM_CPU; kind < PROM_KINDS; kind++)
        if (prom_parse_answer(kind, 200, bytes, size, history_add,
                              &(struct history_adding){&history, kind}, &err) < 0)
            FUZZ_CHECK(err.text[0] != '\0');
    history_finish(&history);
    struct history_pod **pods = history_pods(&history);
    for (size_t i = 0; i < history.pods.count; i++)
        check_pod(pods[i]);
    free(pods);
    history_release(&history);
    prom_plan_release(&plan);
    return 0;
}
