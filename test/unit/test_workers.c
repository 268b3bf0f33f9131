/* Work on threads: its order, and what becomes of it when they stop. No test rests on time. */
#include <pthread.h>
#include <semaphore.h>

#include "../../src/net/workers.h"
#include "suite.h"
#include "vpa/base/str.h"

struct job {
    struct work work; /* first: the workers give it back */
    sem_t begun, may_end;
    bool slow;
    int runs, cancelled;
};

static struct workers *workers;
static struct job jobs[3];

static void run_job(struct work *work, bool cancelled)
{
    struct job *job = (struct job *)work;

    job->runs++;
    job->cancelled += cancelled;
    sem_post(&job->begun);
    if (job->slow)
        sem_wait(&job->may_end);
}

static void give(struct job *job, bool slow)
{
    job->slow = slow;
    workers_give(workers, &job->work);
}

static void setup(void)
{
    for (size_t i = 0; i < VPA_COUNT(jobs); i++) {
        jobs[i] = (struct job){.work.run = run_job};
        sem_init(&jobs[i].begun, 0, 0);
        sem_init(&jobs[i].may_end, 0, 0);
    }
    workers = workers_new(1);
    ck_assert_ptr_nonnull(workers);
}

static void teardown(void)
{
    workers_free(workers);
    workers_free(NULL);
    workers_stop(NULL);
    for (size_t i = 0; i < VPA_COUNT(jobs); i++) {
        sem_destroy(&jobs[i].begun);
        sem_destroy(&jobs[i].may_end);
    }
}

static void expect(const struct job *job, int runs, int cancelled)
{
    ck_assert_int_eq(job->runs, runs);
    ck_assert_int_eq(job->cancelled, cancelled);
}

TEST(all_of_it_is_run) {
    give(&jobs[0], true);
    sem_wait(&jobs[0].begun);
    give(&jobs[1], false);
    give(&jobs[2], false);
    expect(&jobs[1], 0, 0);
    sem_post(&jobs[0].may_end);
    sem_wait(&jobs[2].begun);
    expect(&jobs[1], 1, 0); /* it came before */
    workers_stop(workers);
    expect(&jobs[0], 1, 0);
    expect(&jobs[2], 1, 0);
}

static void *stop(void *ctx)
{
    (void)ctx;
    workers_stop(workers);
    return NULL;
}

/* It does not wait for its turn behind a slow one to be told that there will be none. */
TEST(what_waits_is_cancelled_at_once) {
    pthread_t thread;

    give(&jobs[0], true);
    sem_wait(&jobs[0].begun);
    give(&jobs[1], false);
    give(&jobs[2], false);
    ck_assert_int_eq(pthread_create(&thread, NULL, stop, NULL), 0);
    sem_wait(&jobs[2].begun); /* while the first is still under way */
    sem_post(&jobs[0].may_end);
    pthread_join(thread, NULL);
    expect(&jobs[0], 1, 0);
    expect(&jobs[1], 1, 1);
    expect(&jobs[2], 1, 1);
}

TEST(what_comes_after_the_stop_is_cancelled) {
    workers_stop(workers);
    give(&jobs[0], false);
    expect(&jobs[0], 1, 1);
    workers_stop(workers);
    expect(&jobs[0], 1, 1);
}

int main(void)
{
    return run_tests("workers", setup, teardown);
}
