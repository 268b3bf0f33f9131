#include <check.h>

#include "method_fixture.h"
#include "vpa/json/json_writer.h"

vpa_time t0;
struct vpa_error err;
struct vpa_arena arena;
struct vpa_method *m;
struct vpa_knowledge *k;

void setup(void)
{
    t0 = at("2026-03-01T00:00:00Z");
    err = (struct vpa_error){0};
    vpa_arena_init(&arena, 0);
    m = NULL;
    k = NULL;
}

void teardown(void)
{
    vpa_knowledge_free(k);
    vpa_method_unref(m);
    vpa_arena_release(&arena);
}

struct vpa_method *method(const char *algorithm, const char *key, const char *value)
{
    struct vpa_parameters p;

    vpa_parameters_init(&p, vpa_algorithm_find(algorithm));
    if (key)
        ck_assert_msg(vpa_parameters_set(&p, key, value, &err) == 0, "%s", err.text);
    struct vpa_method *made = vpa_method_new(&p, &err);
    ck_assert_msg(made != NULL, "%s", err.text);
    vpa_parameters_release(&p);
    return made;
}

void begin(const char *algorithm, const char *key, const char *value)
{
    m = method(algorithm, key, value);
    k = vpa_knowledge_new(m, t0);
}

void add(struct vpa_knowledge *of, enum vpa_usage_type type, vpa_time t, vpa_amount amount)
{
    ck_assert(vpa_knowledge_add(of, &(struct vpa_usage){type, t, 1, amount}));
}

vpa_time live(struct vpa_knowledge *of)
{
    vpa_time t = t0;

    for (int i = 0; i < 10 * 288; i++, t += 5 * VPA_MINUTE) {
        bool spike = i % 288 < 12;
        add(of, VPA_USAGE_CPU, t, spike ? 2000 : 100);
        add(of, VPA_USAGE_MEMORY, t, (spike ? 600 : 512) * MI);
        vpa_knowledge_age(of, t);
    }
    return t;
}

char *stored_text(const struct vpa_knowledge *of, vpa_time now)
{
    vpa_auto_buf text = VPA_BUF(VPA_KNOWLEDGE_TEXT_MAX);
    struct vpa_json_writer w;

    vpa_json_writer_init(&w, &text);
    vpa_knowledge_save(of, now, &w);
    ck_assert(vpa_json_writer_done(&w));
    return vpa_arena_strdup(&arena, vpa_buf_text(&text));
}
