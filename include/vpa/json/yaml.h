/*
 * YAML into the JSON reader: one document model for both. YAML 1.1 scalars as the Kubernetes tools
 * read them: plain true/false/yes/no/on/off, integers (decimal, 0x, 0o, leading-zero octal,
 * underscores), floats, null and ~; quoted scalars stay strings. Keys become strings. Aliases
 * of values are taken up to a bound, so that a small text cannot unfold into a large one; merge
 * keys, and tags other than the core ones, are refused. Errors name the line.
 */
#ifndef VPA_JSON_YAML_H
#define VPA_JSON_YAML_H

#include <stddef.h>

#include "vpa/base/error.h"
#include "vpa/base/mem.h"
#include "vpa/json/json.h"

/* Longest text that is read. */
#define VPA_YAML_MAX (16 << 20)
/* What the aliases of a text stand for at most, as JSON, in all its documents. */
#define VPA_YAML_REPEATED_MAX ((size_t)1 << 20)

/* Exactly one document (an empty text gives null). */
int vpa_yaml_parse(struct vpa_arena *arena, const char *text, size_t len,
                   const struct vpa_json **root, struct vpa_error *err) VPA_MUST_CHECK;
/* Any number of documents; empty ones are left out. The array lives in the arena. */
int vpa_yaml_parse_all(struct vpa_arena *arena, const char *text, size_t len,
                       const struct vpa_json *const **roots, size_t *count,
                       struct vpa_error *err) VPA_MUST_CHECK;

#endif
