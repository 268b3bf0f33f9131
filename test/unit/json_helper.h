/* Short forms that the tests of the json and api layers share. */
#ifndef TEST_JSON_HELPER_H
#define TEST_JSON_HELPER_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/json/json.h"
#include "vpa/json/json_writer.h"

/* Freed when the forked test ends: one arena per test process. */
static struct vpa_arena arena;

static inline const struct vpa_json *json_of(const char *text)
{
    const struct vpa_json *root = NULL;
    struct vpa_error err;

    if (vpa_json_parse(&arena, text, strlen(text), &root, &err) < 0)
        ck_abort_msg("%s: %s", text, err.text);
    return root;
}

static inline const char *text_of(const struct vpa_json *node)
{
    struct vpa_json_writer w;
    struct vpa_buf buf;
    const char *text;

    vpa_buf_init(&buf, 1 << 20);
    vpa_json_writer_init(&w, &buf);
    vpa_json_put_node(&w, node);
    ck_assert(vpa_json_writer_done(&w));
    text = vpa_arena_strdup(&arena, vpa_buf_text(&buf));
    vpa_buf_release(&buf);
    return text;
}

static inline void release_arena(void)
{
    vpa_arena_release(&arena);
}

/* Runs a suite of one case with the tests that `add` puts in. */
static inline int run_case(const char *name, void (*add)(TCase *tc))
{
    Suite *suite = suite_create(name);
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, NULL, release_arena);
    add(tc);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}

#endif
