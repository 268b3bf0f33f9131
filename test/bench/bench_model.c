/*
 * The model alone: memory per pod, VPA and aggregate, time per sample and per pass.
 *
 *     bench_model [CONTAINERS]...      default 10000 100000
 *
 * One container per pod, ten pods per VPA, five labels. The second table gives every pod a label of
 * its own, as a StatefulSet does: then nothing is shared. Memory is what the C library handed out
 * (mallinfo2), so it includes the rounding of blocks. The usage of a container wanders over two
 * decades, day after day. The last table is a month of one CronJob: each job is over after one
 * sample and leaves a label set, which is kept for eight days.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vpa/model/recommend.h"

#define PODS_PER_VPA 10
#define PASSES 60
#define START (1768435200 * (vpa_time)VPA_SECOND)

struct bench {
    size_t containers;
    bool own_labels;
    struct vpa_aggregation aggregation;
    struct vpa_cluster *cluster;
    struct vpa_object *objects;
    struct vpa_arena arena; /* of the objects, which belong to the reflector in the recommender */
    uint64_t random;
};

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t used_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static double uniform(struct bench *b)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(b->random >> 11) / 9007199254740992.0;
}

static void put_vpas(struct bench *b)
{
    size_t count = b->containers / PODS_PER_VPA;
    struct vpa_error err;

    b->objects = vpa_arena_zalloc(&b->arena, count * sizeof(*b->objects));
    for (size_t i = 0; i < count; i++) {
        struct vpa_selector selector;
        struct vpa_object *object = &b->objects[i];
        char text[64];

        object->meta.ns = "production";
        object->meta.name = vpa_arena_printf(&b->arena, "service-%05zu", i);
        snprintf(text, sizeof(text), "app=service-%05zu", i);
        if (vpa_selector_parse(&b->arena, text, &selector, &err) < 0)
            exit(1);
        vpa_cluster_put_vpa(b->cluster, object, &selector, NULL, START);
    }
}

static void pod_name(char *out, size_t size, size_t i)
{
    snprintf(out, size, "service-%05zu-6d4cf56db6-%05zu", i / PODS_PER_VPA, i);
}

static void put_pods(struct bench *b)
{
    struct vpa_container container = {.name = "app"};

    for (size_t i = 0; i < b->containers; i++) {
        char name[64];
        char app[32];
        char own[64];
        struct vpa_label labels[] = {
            {"app", app},
            {"app.kubernetes.io/managed-by", "Helm"},
            {"app.kubernetes.io/part-of", "shop"},
            {"pod-template-hash", "6d4cf56db6"},
            {"tier", "backend"},
            {"zone-of-the-pod", own},
        };
        struct vpa_pod pod = {
            .meta = {.ns = "production", .name = name, .uid = name},
            .containers = &container,
            .container_count = 1,
            .phase = "Running",
        };

        pod_name(name, sizeof(name), i);
        snprintf(app, sizeof(app), "service-%05zu", i / PODS_PER_VPA);
        snprintf(own, sizeof(own), "%s", name);
        pod.meta.labels = (struct vpa_labels){labels, b->own_labels ? 6 : 5, true};
        vpa_cluster_put_pod(b->cluster, &pod, NULL, START);
    }
}

static size_t feed(struct bench *b, int pass)
{
    size_t refused = 0;

    for (size_t i = 0; i < b->containers; i++) {
        vpa_time t = START + (vpa_time)pass * 7 * VPA_HOUR + (vpa_time)(i % 60) * VPA_SECOND;
        double scale = 1.0 + (double)(i % 97);
        char name[64];
        struct vpa_sample_target to;

        pod_name(name, sizeof(name), i);
        const struct vpa_container_name container = {"production", name, "app"};
        vpa_amount cpu = (vpa_amount)(scale * (20.0 + 180.0 * uniform(b)));
        vpa_amount memory = (vpa_amount)(scale * 1e7 * (1.0 + uniform(b)));
        refused += vpa_cluster_container(b->cluster, &container, t, &to, NULL) < 0 ||
                   vpa_cluster_add_sample(&to, VPA_KIND_CPU, t, cpu, t, NULL) < 0 ||
                   vpa_cluster_add_sample(&to, VPA_KIND_MEMORY, t, memory, t, NULL) < 0;
    }
    return refused;
}

static void recommend(struct bench *b, vpa_time now)
{
    struct vpa_estimator estimator;
    struct vpa_rendering rendering;
    struct vpa_arena arena = {0};
    struct vpa_error err;
    size_t count;

    vpa_estimator_init(&estimator);
    vpa_rendering_init(&rendering);
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(b->cluster, &count);
    for (size_t i = 0; i < count; i++) {
        struct vpa_estimates estimates;

        vpa_arena_clear(&arena);
        vpa_estimate(b->cluster, vpas[i], &estimator, now, &arena, &estimates);
        struct vpa_recommendation rec = vpa_render(&estimates, &rendering, &arena);
        if (vpa_cluster_set_recommendation(b->cluster, vpas[i], &rec, now, &err) < 0)
            fprintf(stderr, "%s\n", err.text);
    }
    vpa_arena_release(&arena);
}

static void count_checkpoint(void *ctx, const char *container,
                             const struct vpa_checkpoint_status *status,
                             const struct vpa_open_intervals *open)
{
    size_t *buckets = ctx;

    (void)container;
    (void)open;
    *buckets += status->cpu.bucket_count + status->memory.bucket_count;
}

static size_t save_all(struct bench *b, vpa_time now)
{
    size_t buckets = 0;
    size_t count;
    struct vpa_autoscaler *const *vpas = vpa_cluster_vpas(b->cluster, &count);

    for (size_t i = 0; i < count; i++)
        vpa_cluster_checkpoints(b->cluster, vpas[i], now, count_checkpoint, &buckets);
    return buckets;
}

static void run(size_t containers, bool own_labels)
{
    struct bench b = {.containers = containers, .own_labels = own_labels, .random = 1};
    size_t vpas = containers / PODS_PER_VPA;
    double feeding = 0;
    double recommending = 0;
    vpa_time now = START;

    vpa_aggregation_init(&b.aggregation);
    struct vpa_cluster_options options = {.aggregation = &b.aggregation};
    b.cluster = vpa_cluster_new(&options);

    size_t before = used_bytes();
    double t = now_seconds();
    put_vpas(&b);
    double vpa_seconds = now_seconds() - t;
    size_t with_vpas = used_bytes() - b.arena.used;
    t = now_seconds();
    put_pods(&b);
    double pod_seconds = now_seconds() - t;
    size_t with_pods = used_bytes() - b.arena.used;

    for (int pass = 0; pass < PASSES; pass++) {
        now = START + (vpa_time)pass * 7 * VPA_HOUR + VPA_MINUTE;
        t = now_seconds();
        feed(&b, pass);
        double fed = now_seconds();
        recommend(&b, now);
        feeding += fed - t;
        recommending += now_seconds() - fed;
    }
    size_t with_samples = used_bytes() - b.arena.used;
    t = now_seconds();
    size_t buckets = save_all(&b, now);
    double save_seconds = now_seconds() - t;
    t = now_seconds();
    vpa_cluster_collect_garbage(b.cluster, now, NULL, NULL);
    double collect_seconds = now_seconds() - t;
    size_t aggregates = vpa_cluster_aggregate_count(b.cluster);

    printf("%zu containers, %zu VPAs, %zu aggregates (%s)\n", containers, vpas, aggregates,
           own_labels ? "every pod its own labels" : "replicas share labels");
    printf("  memory: %.1f MiB; per VPA %.0f B, per pod %.0f B without samples,"
           " %.0f B with %d intervals of samples; per aggregate %.0f B of buckets\n",
           (double)(with_samples - before) / 1048576.0, (double)(with_vpas - before) / (double)vpas,
           (double)(with_pods - with_vpas) / (double)containers,
           (double)(with_samples - with_vpas) / (double)containers, PASSES,
           (double)(with_samples - with_pods) / (double)aggregates);
    printf("  put VPA %.0f ns, put pod %.0f ns, sample %.0f ns, recommendation %.0f ns per VPA,"
           " checkpoint %.0f ns per VPA (%.1f buckets), collection %.1f ms\n",
           vpa_seconds * 1e9 / (double)vpas, pod_seconds * 1e9 / (double)containers,
           feeding * 1e9 / PASSES / 2.0 / (double)containers,
           recommending * 1e9 / PASSES / (double)vpas, save_seconds * 1e9 / (double)vpas,
           (double)buckets / (double)vpas, collect_seconds * 1e3);
    printf("  pass: samples %.1f ms + recommendations %.1f ms\n", feeding * 1e3 / PASSES,
           recommending * 1e3 / PASSES);

    vpa_cluster_free(b.cluster);
    vpa_aggregation_release(&b.aggregation);
    vpa_arena_release(&b.arena);
}

/* ---- jobs ---- */

#define JOBS_PER_DAY 144

static void run_job(struct bench *b, int number, vpa_time now)
{
    struct vpa_container container = {.name = "app"};
    char name[64], uid[64];
    struct vpa_label labels[] = {
        {"app", "service-00000"},
        {"batch.kubernetes.io/controller-uid", uid},
        {"batch.kubernetes.io/job-name", name},
        {"controller-uid", uid},
        {"job-name", name},
    };
    struct vpa_pod pod = {
        .meta = {.ns = "production", .name = name, .uid = uid},
        .containers = &container,
        .container_count = 1,
        .phase = "Running",
    };
    struct vpa_sample_target to;

    snprintf(name, sizeof(name), "backup-%d", 29540000 + number);
    snprintf(uid, sizeof(uid), "7f6c92b1-4c1d-4e11-8e11-0242ac%06d", number);
    pod.meta.labels = (struct vpa_labels){labels, VPA_COUNT(labels), true};
    vpa_cluster_put_pod(b->cluster, &pod, NULL, now);
    const struct vpa_container_name key = {"production", name, "app"};
    if (vpa_cluster_container(b->cluster, &key, now, &to, NULL) < 0 ||
        vpa_cluster_add_sample(&to, VPA_KIND_CPU, now, 500 + number % 37, now, NULL) < 0 ||
        vpa_cluster_add_sample(&to, VPA_KIND_MEMORY, now, 50000000, now, NULL) < 0)
        exit(1);
    vpa_cluster_remove_pod(b->cluster, "production", name);
}

static void run_jobs(void)
{
    static const int days[] = {3, 8, 12, 30};
    struct bench b = {.containers = PODS_PER_VPA};
    int number = 0;

    vpa_aggregation_init(&b.aggregation);
    struct vpa_cluster_options options = {.aggregation = &b.aggregation};
    b.cluster = vpa_cluster_new(&options);
    put_vpas(&b);
    size_t before = used_bytes();
    printf("one job every ten minutes\n");
    for (size_t i = 0; i < VPA_COUNT(days); i++) {
        for (; number < days[i] * JOBS_PER_DAY; number++) {
            vpa_time now = START + (vpa_time)number * 10 * VPA_MINUTE;
            run_job(&b, number, now);
            vpa_cluster_collect_garbage(b.cluster, now, NULL, NULL);
        }
        size_t sets = vpa_cluster_aggregate_count(b.cluster);
        size_t used = used_bytes() - before;
        printf("  day %d: %zu label sets, %zu bytes, %zu each\n", days[i], sets, used, used / sets);
    }
    vpa_cluster_free(b.cluster);
    vpa_aggregation_release(&b.aggregation);
    vpa_arena_release(&b.arena);
}

int main(int argc, char **argv)
{
    static const size_t defaults[] = {10000, 100000};

    for (int i = 1; i < argc; i++) {
        run(strtoul(argv[i], NULL, 10), false);
        run(strtoul(argv[i], NULL, 10), true);
    }
    for (size_t i = 0; argc == 1 && i < VPA_COUNT(defaults); i++) {
        run(defaults[i], false);
        run(defaults[i], true);
    }
    run_jobs();
    return 0;
}
