/* What our events say beyond upstream's. */
#include "updater_event.h"

#include <string.h>

#include "vpa/base/quantity.h"
#include "vpa/base/str.h"

#define REQUEST " request "
#define ARROW " -> "

static const char *const endings[] = {
    "to apply resource recommendation.",
    "Pod was resized in place by VPA Updater.",
};

static bool is_quantity(struct golden_case *c, const char *text)
{
    struct vpa_quantity quantity;
    struct vpa_error err;

    return vpa_str_eq(text, "none") || vpa_quantity_parse(c->arena, text, &quantity, &err) == 0;
}

/* Numerically: the pod's text may be written in another way. */
static bool pod_has(struct golden_case *c, const char *pod, const char *old)
{
    struct vpa_quantity wanted, there;
    struct vpa_error err;

    if (!pod || vpa_quantity_parse(c->arena, old, &wanted, &err) < 0)
        return true;
    for (const char *at = pod; (at = strpbrk(at, ":,[")); at++) {
        const char *from = at + 1 + strspn(at + 1, " \"");
        char *text = golden_label(c, "%.*s", (int)strcspn(from, "\",}]"), from);

        if (vpa_quantity_parse(c->arena, text, &there, &err) == 0 &&
            vpa_quantity_cmp(&wanted, &there) == 0)
            return true;
    }
    return false;
}

static const char *wrong_addition(struct golden_case *c, const char *pod, const char *text)
{
    const char *request = strstr(text, REQUEST);
    const char *arrow = request ? strstr(request, ARROW) : NULL;
    const char *colon = arrow ? strstr(arrow, ": ") : NULL;

    if (!colon || !colon[2])
        return "the addition is not of the form \"request OLD -> NEW: reason\"";
    request += strlen(REQUEST);

    const char *old = golden_label(c, "%.*s", (int)(arrow - request), request);

    arrow += strlen(ARROW);
    if (!is_quantity(c, old) ||
        !is_quantity(c, golden_label(c, "%.*s", (int)(colon - arrow), arrow)))
        return "old or new value is no quantity";
    return pod_has(c, pod, old) ? NULL : "the pod has not the old value";
}

const char *updater_event_message(struct golden_case *c, const char *pod, const char *message)
{
    for (size_t i = 0; i < VPA_COUNT(endings); i++) {
        const char *at = strstr(message, endings[i]);
        const char *rest = at ? at + strlen(endings[i]) : NULL;

        if (!rest || !*rest)
            continue;

        const char *wrong = vpa_str_starts_with(rest, ": ") ? wrong_addition(c, pod, rest + 2)
                                                            : "no colon behind upstream's text";
        if (wrong)
            golden_difference(c, "event", wrong, message);
        return golden_label(c, "%.*s", (int)(rest - message), message);
    }
    return message;
}

bool updater_event_is_ours(const char *kind, const char *reason, const char *message)
{
    if (!vpa_str_eq(kind, "VerticalPodAutoscaler"))
        return false;
    if (vpa_str_eq(reason, "InPlaceResizeRefused"))
        return strstr(message, "VPA Updater cannot resize Pod ");
    return vpa_str_eq(reason, "InPlaceResizedPod") && strstr(message, "VPA Updater resized Pod ") &&
           strstr(message, " in place");
}
