#include "workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "vpa/base/mem.h"

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *first, **end; /* those that wait */
    bool stopping;
    unsigned count;
    pthread_t threads[];
};

/* The next one, when there is any. */
static struct work *take(struct workers *w)
{
    struct work *work = w->first;

    if (!work)
        return NULL;
    w->first = work->next;
    if (!w->first)
        w->end = &w->first;
    return work;
}

static void *work_until_stopped(void *ctx)
{
    struct workers *w = ctx;

    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        struct work *work = take(w);

        if (!work) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        pthread_mutex_unlock(&w->lock);
        work->run(work, false);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct workers *workers_new(unsigned threads)
{
    struct workers *w = vpa_xcalloc(1, sizeof(*w) + threads * sizeof(w->threads[0]));

    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->end = &w->first;
    for (; w->count < threads; w->count++) {
        if (pthread_create(&w->threads[w->count], NULL, work_until_stopped, w) != 0) {
            workers_free(w);
            return NULL;
        }
    }
    return w;
}

void workers_give(struct workers *w, struct work *work)
{
    work->next = NULL;
    pthread_mutex_lock(&w->lock);
    bool stopping = w->stopping;
    if (!stopping) {
        *w->end = work;
        w->end = &work->next;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    if (stopping)
        work->run(work, true);
}

/* From then on nobody gives or takes any; what waited. */
static struct work *stop_taking(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    struct work *waiting = w->first;
    w->first = NULL;
    w->end = &w->first;
    w->stopping = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return waiting;
}

void workers_stop(struct workers *w)
{
    if (!w)
        return;
    for (struct work *work = stop_taking(w), *next; work; work = next) {
        next = work->next; /* running it may end its life */
        work->run(work, true);
    }
    while (w->count > 0)
        pthread_join(w->threads[--w->count], NULL);
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    workers_stop(w);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
