/*
 * contract: replays recorded request and response pairs against an API server and reports what
 * differs.
 *
 *     contract [options] DIR URL
 *
 * DIR holds one file per topic, TOPIC.jsonl, one pair per line; the format is described beside the
 * recordings. Scenarios are independent of each other; within one, values are saved and used later.
 */
#include <curl/curl.h>
#include <dirent.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

static const char help[] = "contract [options] DIR URL: replays recorded answers of API servers\n"
                           "  --minor N           whose answers where they differ (36)\n"
                           "  --token USER=TEXT   bearer token of admin or alice (repeatable); "
                           "without one admin sends none\n"
                           "  --compact URL       a POST to this (a path of the server, or an "
                           "address) makes it forget all old versions\n"
                           "  --ca FILE           CA of the server\n"
                           "  --lagging           of a real server, whose caches may be behind: "
                           "what reads or was refused, and differs, is repeated for a while\n"
                           "  --controllers       replay the scenarios that need the workload "
                           "controllers, and only those\n"
                           "  --topic NAME        only this topic (repeatable)\n"
                           "  -v                  every difference, not only ten per topic\n";

struct totals {
    size_t pairs, different, skipped;
};
struct settings {
    bool controllers;
    const char *topics[32];
    size_t topic_count;
};

static bool wanted(const struct settings *s, const char *topic)
{
    for (size_t i = 0; i < s->topic_count; i++)
        if (!strcmp(s->topics[i], topic))
            return true;
    return !s->topic_count;
}

static bool needs_controllers(const struct jv *line)
{
    jv_each (m, jv_get(line, "requires"))
        if (jv_text(m->value) && !strcmp(m->value->text, "controllers"))
            return true;
    return false;
}

static void replay_file(struct runner *r, const struct settings *s, const char *path,
                        const char *topic, struct totals *all)
{
    FILE *f = fopen(path, "r");
    char *text = NULL, scenario[256] = "";
    size_t capacity = 0, shown = 0;
    struct totals t = {0};

    while (f && getline(&text, &capacity, f) > 0) {
        vpa_auto_arena a = {0};
        struct jv *line;
        struct strings differences = {0};
        if (jv_parse(&a, text, strlen(text), &line, NULL, NULL) < 0)
            continue;
        if (needs_controllers(line) != s->controllers)
            continue;
        if (strcmp(scenario, jv_text_at(line, "scenario")) != 0) {
            snprintf(scenario, sizeof(scenario), "%s", jv_text_at(line, "scenario"));
            vpa_arena_clear(&r->a);
            r->vars = jv_obj(&r->a);
        }
        t.pairs++;
        replay_line(r, line, &differences);
        t.different += differences.count > 0;
        for (size_t i = 0; i < differences.count && (r->verbose || shown < 10); i++, shown++)
            printf("%s %s\n    %s\n", jv_text_at(line, "id"), jv_text_at(line, "note"),
                   differences.items[i]);
    }
    free(text);
    if (f)
        fclose(f);
    if (t.pairs)
        printf("%-12s %4zu pairs, %zu differ\n", topic, t.pairs, t.different);
    fflush(stdout);
    all->pairs += t.pairs;
    all->different += t.different;
}

static int only_jsonl(const struct dirent *d)
{
    size_t len = strlen(d->d_name);
    return len > 6 && !strcmp(d->d_name + len - 6, ".jsonl");
}

static int replay_all(struct runner *r, const struct settings *s, const char *dir)
{
    struct dirent **names;
    struct totals all = {0};
    int n = scandir(dir, &names, only_jsonl, alphasort);

    if (n < 0) {
        fprintf(stderr, "contract: %s cannot be read\n", dir);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        vpa_auto_free char *path = vpa_xjoin(dir, '/', names[i]->d_name);
        names[i]->d_name[strlen(names[i]->d_name) - 6] = 0;
        if (wanted(s, names[i]->d_name))
            replay_file(r, s, path, names[i]->d_name, &all);
        free(names[i]);
    }
    free(names);
    printf("contract: %zu passed, %zu failed, %zu skipped\n", all.pairs - all.different,
           all.different, all.skipped);
    return all.different || !all.pairs ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"minor", required_argument, NULL, 'm'},
                                            {"token", required_argument, NULL, 't'},
                                            {"compact", required_argument, NULL, 'c'},
                                            {"ca", required_argument, NULL, 'a'},
                                            {"controllers", no_argument, NULL, 'C'},
                                            {"topic", required_argument, NULL, 'T'},
                                            {"lagging", no_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    struct runner r = {.minor = 36};
    struct settings s = {0};
    int opt;

    while ((opt = getopt_long(argc, argv, "hv", options, NULL)) != -1) {
        switch (opt) {
        case 'h':
            fputs(help, stdout);
            return 0;
        case 'v':
            r.verbose = true;
            break;
        case 'm':
            r.minor = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 't': {
            char *eq = strchr(optarg, '=');
            if (!eq || r.user_count == VPA_COUNT(r.users))
                return 2;
            *eq = 0;
            r.users[r.user_count++] = (struct user_token){optarg, eq + 1};
            break;
        }
        case 'c':
            r.compact_url = optarg;
            break;
        case 'a':
            r.ca_file = optarg;
            break;
        case 'l':
            r.lagging = true;
            break;
        case 'C':
            s.controllers = true;
            break;
        case 'T':
            if (s.topic_count < VPA_COUNT(s.topics))
                s.topics[s.topic_count++] = optarg;
            break;
        default:
            return 2;
        }
    }
    if (argc - optind != 2) {
        fputs(help, stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    r.url = argv[optind + 1];
    r.hook = hook_start();
    r.vars = jv_obj(&r.a);
    int rc = replay_all(&r, &s, argv[optind]);
    hook_stop(r.hook);
    vpa_arena_release(&r.a);
    curl_global_cleanup();
    return rc;
}
