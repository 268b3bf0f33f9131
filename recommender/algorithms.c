/*
 * Algorithms of the recommender: names, flags, annotations.
 *
 * One method per algorithm is made of the flags and shared by all VPAs without annotations; a VPA
 * with some has a method of its own, made anew only when its values change. A wrong annotation
 * leaves the flag's value in force: the webhook refuses it, but may have been away.
 */
#include "algorithms.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vpa/base/log.h"
#include "vpa/base/str.h"

#define ALL "all"
#define ALGORITHMS_MAX 8

struct served {
    const struct vpa_algorithm *algorithm;
    char *name; /* in spec.recommenders */
    struct vpa_method *method;
};
struct algorithms {
    const char *name;
    bool own; /* VPA's own is served */
    struct served items[ALGORITHMS_MAX];
    size_t count;
};

/* ---- flags ---- */

static const char *help_of(const struct vpa_parameter *p)
{
    static const char *const kinds[] = {
        [VPA_PARAMETER_NUMBER] = "number",
        [VPA_PARAMETER_DURATION] = "duration, also in whole days: 7d",
        [VPA_PARAMETER_BOOL] = "true or false",
        [VPA_PARAMETER_TEXT] = NULL,
    };
    const char *kind = kinds[p->type] ? kinds[p->type] : p->choices;

    return kind ? vpa_xprintf("%s (%s; not known upstream)", p->help, kind)
                : vpa_xprintf("%s (not known upstream)", p->help);
}

static size_t add_rows(struct vpa_flag *rows, size_t count, const struct vpa_algorithm *a,
                       size_t offset)
{
    size_t parameters;
    const struct vpa_parameter *p = vpa_algorithm_parameters(a, &parameters);

    assert(count + parameters <= ALGORITHM_FLAGS_MAX);
    for (size_t i = 0; i < parameters; i++, count++) {
        rows[count] = (struct vpa_flag){
            .name = vpa_xprintf("%s-%s", vpa_algorithm_name(a), p[i].key),
            .kind = VPA_FLAG_KIND_STRING,
            .offset = offset + count * sizeof(const char *),
            .text_preset = p[i].preset,
            .help = help_of(&p[i]),
        };
    }
    return count;
}

const struct vpa_flag *algorithm_flag_rows(size_t offset, size_t *count)
{
    static struct vpa_flag rows[ALGORITHM_FLAGS_MAX];
    static size_t made;
    size_t algorithms, n = 0;
    const struct vpa_algorithm *const *all = vpa_algorithms(&algorithms);

    for (size_t i = 1; made == 0 && i < algorithms; i++)
        n = add_rows(rows, n, all[i], offset);
    made = made ? made : n;
    *count = made;
    return rows;
}

static bool lists(const char *list, const char *name)
{
    struct vpa_slice item;

    while (vpa_str_split(&list, ',', &item)) {
        item = vpa_slice_trim(item);
        if (vpa_slice_eq(item, name) || vpa_slice_eq(item, ALL))
            return true;
    }
    return false;
}

static int check_list(const char *list, struct vpa_error *err)
{
    struct vpa_slice item;

    while (vpa_str_split(&list, ',', &item)) {
        item = vpa_slice_trim(item);
        vpa_auto_free char *name = vpa_xstrndup(item.ptr, item.len);
        if (strcmp(name, ALL) != 0 && !vpa_algorithm_find(name))
            return vpa_fail(err, VPA_INVALID,
                            "--algorithms: there is no algorithm \"%.64s\"; give names separated "
                            "by commas, or all",
                            name);
    }
    return 0;
}

/* The parameters of the flags from *at on, which moves behind them. */
static int set_parameters(struct vpa_parameters *p, const struct algorithm_flags *flags, size_t *at,
                          struct vpa_error *err)
{
    size_t count;
    const struct vpa_parameter *parameters = vpa_algorithm_parameters(p->algorithm, &count);

    for (size_t i = 0; i < count; i++, (*at)++) {
        const char *text = flags->parameters[*at];
        struct vpa_error wrong;
        if (text && vpa_parameters_set(p, parameters[i].key, text, &wrong) < 0)
            return vpa_fail(err, VPA_INVALID, "--%s-%s", vpa_algorithm_name(p->algorithm),
                            wrong.text);
    }
    return 0;
}

/* Calls take for each algorithm but VPA's own with its method; stops at the first error. */
static int each_method(const struct algorithm_flags *flags,
                       void (*take)(void *ctx, struct vpa_method *m), void *ctx,
                       struct vpa_error *err)
{
    size_t count, at = 0;
    const struct vpa_algorithm *const *all = vpa_algorithms(&count);

    for (size_t i = 1; i < count; i++) {
        struct vpa_parameters p;
        struct vpa_method *m = NULL;

        vpa_parameters_init(&p, all[i]);
        if (set_parameters(&p, flags, &at, err) == 0)
            m = vpa_method_new(&p, err);
        vpa_parameters_release(&p);
        if (!m)
            return -1;
        take(ctx, m);
    }
    return 0;
}

static void drop_method(void *ctx, struct vpa_method *m)
{
    (void)ctx;
    vpa_method_unref(m);
}

int algorithm_flags_check(const struct algorithm_flags *flags, struct vpa_error *err)
{
    if (check_list(flags->served, err) < 0)
        return -1;
    return each_method(flags, drop_method, NULL, err);
}

/* ---- names ---- */

struct making {
    struct algorithms *algorithms;
    const struct algorithm_flags *flags;
};

static void serve(void *ctx, struct vpa_method *m)
{
    const struct making *making = ctx;
    struct algorithms *a = making->algorithms;
    const char *name = vpa_algorithm_name(vpa_method_algorithm(m));

    if (!lists(making->flags->served, name) || a->count == ALGORITHMS_MAX) {
        vpa_method_unref(m);
        return;
    }
    a->items[a->count++] = (struct served){
        .algorithm = vpa_method_algorithm(m),
        .name = strcmp(a->name, "default") == 0 ? vpa_xstrdup(name) : vpa_xjoin(a->name, '/', name),
        .method = m,
    };
}

struct algorithms *algorithms_new(const struct algorithm_flags *flags, const char *name)
{
    struct algorithms *a = vpa_xcalloc(1, sizeof(*a));
    struct vpa_error err;

    a->name = name;
    a->own = lists(flags->served, VPA_ALGORITHM_VPA);
    if (each_method(flags, serve, &(struct making){a, flags}, &err) < 0)
        VPA_ERROR("Cannot use the parameters of an algorithm", VPA_KERR(&err));
    return a;
}

void algorithms_free(struct algorithms *a)
{
    for (size_t i = 0; a && i < a->count; i++) {
        free(a->items[i].name);
        vpa_method_unref(a->items[i].method);
    }
    free(a);
}

/* The algorithm that a name of spec.recommenders means here; NULL with *own: VPA's own. */
static const struct served *find_name(const struct algorithms *a, const char *name, bool *own)
{
    *own = a->own && strcmp(name, a->name) == 0;
    for (size_t i = 0; !*own && i < a->count; i++) {
        if (strcmp(a->items[i].name, name) == 0)
            return &a->items[i];
    }
    return NULL;
}

static const struct served *choose(const struct algorithms *a, const struct vpa_object *vpa,
                                   bool *own)
{
    *own = a->own && vpa->recommender_count == 0 && strcmp(a->name, "default") == 0;
    for (size_t i = 0; !*own && i < vpa->recommender_count; i++) {
        const struct served *found = find_name(a, vpa->recommenders[i], own);
        if (found)
            return found;
    }
    return NULL;
}

bool algorithms_serve(const struct algorithms *a, const struct vpa_object *vpa,
                      const struct vpa_algorithm **out)
{
    bool own;
    const struct served *found = choose(a, vpa, &own);

    *out = found ? found->algorithm : NULL;
    return found || own;
}

struct vpa_method *algorithms_method(const struct algorithms *a, const char *algorithm)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(vpa_algorithm_name(a->items[i].algorithm), algorithm) == 0)
            return a->items[i].method;
    }
    return NULL;
}

/* ---- parameters of one VPA ---- */

/* A reference to the method of these values: the shared one, that of the VPA, or a new one. */
static struct vpa_method *method_of(const struct served *served, const struct vpa_autoscaler *v,
                                    const struct vpa_parameters *p, struct vpa_error *err)
{
    const struct vpa_method *current = vpa_autoscaler_method(v);

    if (vpa_parameters_equal(p, vpa_method_parameters(served->method)))
        return vpa_method_ref(served->method);
    if (current && vpa_parameters_equal(p, vpa_method_parameters(current)))
        return vpa_method_ref((struct vpa_method *)current);
    return vpa_method_new(p, err);
}

static void say_choice(const struct vpa_autoscaler *v, const struct vpa_method *before,
                       const struct vpa_method *now, const char *note)
{
    bool same = before && vpa_method_algorithm(before) == vpa_method_algorithm(now);

    if (!same)
        VPA_V(2, "Recommending with another algorithm", VPA_KV("vpa", vpa_autoscaler_name(v)),
              VPA_KV("namespace", vpa_autoscaler_ns(v)),
              VPA_KV("algorithm", vpa_algorithm_name(vpa_method_algorithm(now))));
    if (note && !vpa_str_eq(note, vpa_autoscaler_method_note(v)))
        VPA_WARN("Wrong parameter of an algorithm", VPA_KV("vpa", vpa_autoscaler_name(v)),
                 VPA_KV("namespace", vpa_autoscaler_ns(v)), VPA_KV("err", note));
}

static void use(const struct served *served, struct vpa_autoscaler *v, vpa_time now)
{
    struct vpa_parameters p;
    struct vpa_error err;
    const char *note = NULL;

    vpa_parameters_copy(&p, vpa_method_parameters(served->method));
    if (vpa_parameters_annotate(&p, &vpa_autoscaler_object(v)->meta.annotations, &err) < 0)
        note = err.text;
    struct vpa_error misfit;
    struct vpa_method *m = method_of(served, v, &p, &misfit);
    if (!m) {
        note = misfit.text;
        m = vpa_method_ref(served->method);
    }
    say_choice(v, vpa_autoscaler_method(v), m, note);
    vpa_autoscaler_set_method(v, m, note, now);
    vpa_method_unref(m);
    vpa_parameters_release(&p);
}

void algorithms_apply(const struct algorithms *a, struct vpa_autoscaler *v, vpa_time now)
{
    bool own;
    const struct served *served = choose(a, vpa_autoscaler_object(v), &own);

    if (served)
        use(served, v, now);
    else
        vpa_autoscaler_set_method(v, NULL, NULL, now);
}
