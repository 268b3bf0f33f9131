/*
 * Members of JSON that the facts of every decision have (vpa/policy/decision.h): numbers so that
 * nothing is lost, objects by what names them for ever.
 */
#ifndef VPA_POLICY_FACTS_H
#define VPA_POLICY_FACTS_H

#include "vpa/api/meta.h"
#include "vpa/json/json_writer.h"

void vpa_facts_put_double(struct vpa_json_writer *w, const char *name, double value); /* "0x1p-3" */
void vpa_facts_put_nanos(struct vpa_json_writer *w, const char *name, int64_t value);
void vpa_facts_put_object(struct vpa_json_writer *w, const char *name, const struct vpa_meta *meta);

#endif
