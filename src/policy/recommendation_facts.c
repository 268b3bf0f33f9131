/* From estimates to what is recommended, and what that rested on. */
#include "vpa/policy/recommendation_facts.h"

#include "facts.h"

struct vpa_recommendation vpa_recommendation_make(struct vpa_arena *arena,
                                                  const struct vpa_recommendation_facts *facts)
{
    struct vpa_recommendation rec = vpa_render(facts->estimates, facts->rendering, arena);

    if (facts->integer_cpu)
        vpa_recommend_integer_cpu(&rec, &facts->vpa->meta.annotations, arena);
    return vpa_capping_policy(arena, &rec, &facts->vpa->resource_policy, facts->global_max);
}

static void put_estimate(struct vpa_json_writer *w, const struct vpa_container_estimate *e)
{
    static const char *const kinds[VPA_KINDS] = {"cpu", "memory"};

    vpa_json_open_object(w);
    vpa_json_member_string(w, "name", e->container);
    for (int kind = 0; kind < VPA_KINDS; kind++) {
        if (!e->controlled[kind])
            continue;
        vpa_json_member_array(w, kinds[kind]);
        for (int bound = 0; bound < VPA_BOUNDS; bound++)
            vpa_json_put_int(w, e->estimate.bound[bound].value[kind]);
        vpa_json_close_array(w);
    }
    vpa_json_close_object(w);
}

void vpa_recommendation_facts_encode(struct vpa_json_writer *w,
                                     const struct vpa_recommendation_facts *facts,
                                     const struct vpa_recommendation *rec)
{
    vpa_json_open_object(w);
    vpa_facts_put_object(w, "vpa", &facts->vpa->meta);
    vpa_json_member_bool(w, "humanizeMemory", facts->rendering->humanize_memory);
    vpa_json_member_int(w, "roundCPUMillicores", facts->rendering->round_cpu_millicores);
    vpa_json_member_int(w, "roundMemoryBytes", facts->rendering->round_memory_bytes);
    vpa_json_member_bool(w, "integerCPU", facts->integer_cpu);
    vpa_json_key(w, "maxAllowed");
    vpa_resource_list_encode(w, facts->global_max);
    vpa_json_member_array(w, "estimates");
    for (size_t i = 0; i < facts->estimates->count; i++)
        put_estimate(w, &facts->estimates->items[i]);
    vpa_json_close_array(w);
    vpa_json_key(w, "recommendation");
    vpa_recommendation_encode(w, rec);
    vpa_json_close_object(w);
}
