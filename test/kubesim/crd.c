/* CustomResourceDefinitions: names, conditions and the types that come and go with them. */
#include "sim.h"

#include <ctype.h>
#include <string.h>

static void default_names(struct ctx *c, struct jv *names)
{
    const char *kind = jv_text_at(names, "kind");

    if (!jv_get(names, "listKind"))
        jv_set(c->a, names, "listKind", jv_strf(c->a, "%sList", kind));
    if (!jv_get(names, "singular")) {
        char *lower = vpa_arena_strdup(c->a, kind);
        for (char *p = lower; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        jv_set_str(c->a, names, "singular", lower);
    }
}

static struct jv *condition(struct ctx *c, const char *type, const char *reason,
                            const char *message)
{
    struct jv *v = jv_obj(c->a);

    jv_set_str(c->a, v, "type", type);
    jv_set_str(c->a, v, "status", "True");
    jv_set_str(c->a, v, "lastTransitionTime", sim_now_text(c->sim, c->a));
    jv_set_str(c->a, v, "reason", reason);
    jv_set_str(c->a, v, "message", message);
    return v;
}

static void establish(struct ctx *c, struct jv *object)
{
    struct jv *status = jv_ensure(c->a, object, "status"), *conditions = jv_arr(c->a), *stored;

    jv_push(c->a, conditions, condition(c, "NamesAccepted", "NoConflicts", "no conflicts found"));
    jv_push(c->a, conditions,
            condition(c, "Established", "InitialNamesAccepted",
                      "the initial names have been accepted"));
    if (!jv_len(jv_get(status, "conditions")))
        jv_set(c->a, status, "conditions", conditions);
    jv_set(c->a, status, "acceptedNames", jv_clone(c->a, jv_at(object, "spec.names")));
    stored = jv_get(status, "storedVersions");
    if (!stored) {
        stored = jv_arr(c->a);
        jv_set(c->a, status, "storedVersions", stored);
    }
    jv_each (m, jv_at(object, "spec.versions")) {
        bool known = false;
        const struct jv *name = jv_get(m->value, "name");
        jv_each (s, stored)
            known = known || jv_equal(s->value, name);
        if (jv_bool_at(m->value, "storage", false) && !known && name)
            jv_push(c->a, stored, jv_clone(c->a, name));
    }
}

int crd_prepare(struct ctx *c, struct jv *object, struct field_errors *errors)
{
    struct jv *spec = jv_ensure(c->a, object, "spec"), *names = jv_ensure(c->a, spec, "names");
    const char *group = jv_text_at(spec, "group"), *plural = jv_text_at(names, "plural"),
               *name = jv_text_at(object, "metadata.name");
    const char *wanted = vpa_arena_printf(c->a, "%s.%s", plural, group);
    size_t len = strlen(group);

    default_names(c, names);
    jv_default(c->a, spec, "conversion", "{\"strategy\":\"None\"}");
    if (strcmp(name, wanted) != 0)
        field_error(c, errors, "FieldValueInvalid", "metadata.name",
                    "Invalid value: \"%s\": must be spec.names.plural+\".\"+spec.group", name);
    if (len > 7 && (!strcmp(group + len - 7, ".k8s.io") || !strcmp(group + len - 7, "etes.io")) &&
        !jv_get(jv_at(object, "metadata.annotations"), "api-approved.kubernetes.io"))
        field_error(c, errors, "FieldValueRequired",
                    "metadata.annotations[api-approved.kubernetes.io]",
                    "Required value: protected groups must have approval annotation "
                    "\"api-approved.kubernetes.io\", see "
                    "https://github.com/kubernetes/enhancements/pull/1111");
    if (!jv_len(jv_get(spec, "versions")))
        field_error(c, errors, "FieldValueRequired", "spec.versions", "Required value");
    establish(c, object);
    return 0;
}

void crd_changed(struct ctx *c, const struct jv *object)
{
    if (!strcmp(c->type->kind, "CustomResourceDefinition") &&
        !strcmp(c->type->group, "apiextensions.k8s.io"))
        types_add_crd(&c->sim->types, &c->sim->store, object);
}

/* The definition takes its objects along. */
void crd_deleted(struct ctx *c, const char *name)
{
    for (struct restype *t = c->sim->types.first; t; t = t->next) {
        if (t->withdrawn || !t->crd || strcmp(t->crd->name, name) != 0)
            continue;
        while (t->store->count)
            store_delete(&c->sim->store, t->store, c->a, t->store->items[0], NULL);
    }
    types_drop_crd(&c->sim->types, name);
}
