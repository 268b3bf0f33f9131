/* Packed texts: whatever is packed comes back, lines of one form become short, junk is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/pack.h"
#include "vpa/base/random.h"

static struct vpa_slice slice_of(const char *text)
{
    return (struct vpa_slice){text, strlen(text)};
}

/* How long it becomes; it has to come back. */
static size_t pack(struct vpa_slice before, struct vpa_slice text)
{
    vpa_auto_buf packed = {0};
    vpa_auto_free char *back = vpa_xmalloc(text.len + 1);
    struct vpa_error err;

    vpa_buf_init(&packed, VPA_PACK_BOUND(VPA_PACK_MAX));
    vpa_pack(before, text, &packed);
    ck_assert(!vpa_buf_failed(&packed));
    ck_assert_uint_le(packed.len, VPA_PACK_BOUND(text.len));
    ck_assert_int_eq(
        vpa_unpack(before, (struct vpa_slice){packed.data, packed.len}, back, text.len, &err), 0);
    ck_assert(text.len == 0 || memcmp(back, text.ptr, text.len) == 0);
    return packed.len;
}

#define LINE                                                                                       \
    "{\"vpa\":{\"namespace\":\"team-%02d\",\"name\":\"web-%05d\"},\"estimates\":[{\"name\":"       \
    "\"app\",\"cpu\":[%d,25,100000000000000]}]}"

static const struct {
    const char *name, *before, *text;
    size_t at_most;
} cases[] = {
    {"nothing", "", "", 0},
    {"nothing again", "abc", "", 0},
    {"one byte", "", "x", 2},
    {"the same", "the same as before", "the same as before", 3},
    {"a word of it", "the same as before", "as before", 5},
    {"another number of the same length", "{\"cpu\":\"511m\",\"memory\":\"250Mi\"}",
     "{\"cpu\":\"617m\",\"memory\":\"250Mi\"}", 10},
    {"a longer number", "{\"cpu\":\"511m\",\"memory\":\"250Mi\"}",
     "{\"cpu\":\"13617m\",\"memory\":\"250Mi\"}", 12},
    {"itself", "", "abcdefgabcdefgabcdefgabcdefgabcdefg", 12},
    {"one byte many times", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
     10},
    {"what stood last comes first", "0123456789abcdef", "89abcdef01234567", 8},
    {"nothing repeats", "0123456789", "abcdefghijklmnopqrstuvwxyz", 28},
};

START_TEST(it_comes_back_and_is_short)
{
    ck_assert_msg(pack(slice_of(cases[_i].before), slice_of(cases[_i].text)) <= cases[_i].at_most,
                  "%s: %zu bytes", cases[_i].name,
                  pack(slice_of(cases[_i].before), slice_of(cases[_i].text)));
}
END_TEST

START_TEST(lines_of_one_form_become_a_fifth)
{
    vpa_auto_free char *before = vpa_xprintf(LINE, 7, 4711, 511);
    size_t all = 0, packed = 0;

    for (int i = 0; i < 100; i++) {
        char *line = vpa_xprintf(LINE, i % 20, i * 7919, 100 + i * 31);

        all += strlen(line);
        packed += pack(slice_of(before), slice_of(line));
        free(before);
        before = line;
    }
    ck_assert_uint_lt(packed, all / 5);
}
END_TEST

/* Few letters, so that there is much to find; every length up to the limit's neighbourhood. */
START_TEST(any_bytes_come_back)
{
    static char bytes[2 * VPA_PACK_MAX];
    struct vpa_random random = {(uint64_t)_i + 1};
    unsigned letters = _i % 4 == 3 ? 256 : 2u << (_i % 4);

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(vpa_random_next(&random) % letters);
    for (size_t len = 0; len <= VPA_PACK_MAX; len = len < 70 ? len + 1 : len * 3 + 1) {
        size_t before = vpa_random_next(&random) % (VPA_PACK_MAX + 1);

        pack((struct vpa_slice){bytes, before}, (struct vpa_slice){bytes + VPA_PACK_MAX, len});
        pack((struct vpa_slice){bytes, before}, (struct vpa_slice){bytes + before / 2, len});
        pack((struct vpa_slice){bytes, len}, (struct vpa_slice){bytes + 1, len});
    }
    pack((struct vpa_slice){bytes, VPA_PACK_MAX},
         (struct vpa_slice){bytes + VPA_PACK_MAX, VPA_PACK_MAX});
}
END_TEST

/* Whatever junk says, nothing is read or written beside the texts (the sanitizers see it). */
START_TEST(junk_is_refused)
{
    static const char before[] = "the text before";
    struct vpa_random random = {(uint64_t)_i + 1};
    char junk[32], text[64];
    struct vpa_error err;

    for (int round = 0; round < 20000; round++) {
        size_t len = vpa_random_next(&random) % sizeof(junk);
        vpa_auto_free char *exact = vpa_xmalloc(len + 1);

        for (size_t i = 0; i < len; i++)
            exact[i] = (char)(vpa_random_next(&random) % (round % 2 ? 256 : 24));
        if (vpa_unpack(slice_of(before), (struct vpa_slice){exact, len}, text, sizeof(text), &err) <
            0)
            ck_assert_int_eq(err.code, VPA_INVALID);
    }
}
END_TEST

START_TEST(another_length_is_refused)
{
    vpa_auto_buf packed = {0};
    struct vpa_error err;
    char text[64];

    vpa_buf_init(&packed, 64);
    vpa_pack(slice_of("before"), slice_of("after before"), &packed);
    const struct vpa_slice all = {packed.data, packed.len};
    ck_assert_int_eq(vpa_unpack(slice_of("before"), all, text, 12, &err), 0);
    ck_assert_int_eq(vpa_unpack(slice_of("before"), all, text, 13, &err), -1);
    ck_assert_int_eq(vpa_unpack(slice_of("before"), all, text, 11, &err), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack");
    TCase *tc = tcase_create("pack");

    tcase_add_loop_test(tc, it_comes_back_and_is_short, 0, VPA_COUNT(cases));
    tcase_add_test(tc, lines_of_one_form_become_a_fifth);
    tcase_add_loop_test(tc, any_bytes_come_back, 0, 8);
    tcase_add_loop_test(tc, junk_is_refused, 0, 4);
    tcase_add_test(tc, another_length_is_refused);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
