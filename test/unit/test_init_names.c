/* Names of init containers are found by bisection as they are line by line. */
#include <check.h>
#include <string.h>

#include "../../src/model/init_names.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/random.h"

#define NAMES_MAX 40
#define NAME_MAX_LEN 5

static char texts[NAMES_MAX][NAME_MAX_LEN + 1];
static struct vpa_container containers[NAMES_MAX];

/* Of few letters, so that many begin alike; now and then none at all. */
static void make_name(struct vpa_random *random, char *out)
{
    size_t len = vpa_random_next(random) % (NAME_MAX_LEN + 1);

    for (size_t i = 0; i < len; i++)
        out[i] = "a-b"[vpa_random_next(random) % 3];
    out[len] = '\0';
}

static void put_names(struct vpa_random *random, size_t count, struct vpa_buf *out)
{
    for (size_t i = 0; i < count; i++) {
        make_name(random, texts[i]);
        containers[i] = (struct vpa_container){.name = texts[i]};
    }
    vpa_buf_init(out, sizeof(texts) + NAMES_MAX);
    init_names_put(&(struct vpa_pod){.init_containers = containers, .init_container_count = count},
                   out);
}

static bool is_among(const char *name, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts[i], name) == 0)
            return true;
    }
    return false;
}

TEST_TIMES(finds_what_is_there, 4) {
    struct vpa_random random;
    size_t found = 0, missed = 0;

    vpa_random_init(&random, (uint64_t)_i);
    for (int round = 0; round < 100; round++) {
        size_t count = 1 + vpa_random_next(&random) % NAMES_MAX;
        char name[NAME_MAX_LEN + 1];
        vpa_auto_buf text = {0};

        put_names(&random, count, &text);
        make_name(&random, name);
        bool there = is_among(name, count);
        ck_assert_msg(init_names_have(vpa_buf_text(&text), name) == there, "\"%s\" in \"%s\"", name,
                      vpa_buf_text(&text));
        *(there ? &found : &missed) += 1;
        for (size_t i = 0; i < count; i++)
            ck_assert_msg(init_names_have(vpa_buf_text(&text), texts[i]), "\"%s\" in \"%s\"",
                          texts[i], vpa_buf_text(&text));
    }
    ck_assert_uint_gt(found, 10);
    ck_assert_uint_gt(missed, 10);
}

/* Pods of one workload share the text, in whatever order they name the containers. */
TEST(one_text_for_one_set) {
    static const struct vpa_container two[] = {{.name = "b"}, {.name = "a"}};
    vpa_auto_buf text = VPA_BUF(64);

    init_names_put(&(struct vpa_pod){.init_containers = two, .init_container_count = 2}, &text);
    ck_assert_str_eq(vpa_buf_text(&text), "a\nb");
    ck_assert(!init_names_have(NULL, "a"));
}

int main(void)
{
    return run_tests("init_names", NULL, NULL);
}
