/* Bounded text builder and errors, which share the "cut, never overflow" promise. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "vpa/base/buf.h"
#include "vpa/base/mem.h"

TEST(appends_up_to_the_limit) {
    vpa_auto_buf buf = VPA_BUF(10);

    ck_assert_str_eq(vpa_buf_text(&buf), "");
    vpa_buf_puts(&buf, "12345");
    vpa_buf_printf(&buf, "%03d", 678);
    vpa_buf_putc(&buf, '9');
    vpa_buf_putc(&buf, '0');
    ck_assert(!vpa_buf_failed(&buf));
    ck_assert_str_eq(vpa_buf_text(&buf), "1234567890");
    vpa_buf_putc(&buf, 'x');
    ck_assert(vpa_buf_failed(&buf));
    ck_assert_uint_eq(buf.len, 10);
}

TEST(a_failed_buffer_takes_nothing_until_cleared) {
    vpa_auto_buf buf = VPA_BUF(4);

    vpa_buf_puts(&buf, "12345");
    vpa_buf_puts(&buf, "1");
    ck_assert_uint_eq(buf.len, 0);
    vpa_buf_clear(&buf);
    vpa_buf_puts(&buf, "1");
    ck_assert_str_eq(vpa_buf_text(&buf), "1");
}

TEST(long_formats_fit) {
    vpa_auto_buf buf = VPA_BUF(4096);
    char text[1000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    vpa_buf_printf(&buf, "<%s>", text);
    ck_assert_uint_eq(buf.len, 1001);
    ck_assert_int_eq(buf.data[1000], '>');
}

/* A piece fits into the room that is there, needs more, or is too long: the text before it stays.
 */
TEST(formats_at_every_edge_of_the_room) {
    for (size_t before = 0; before < 70; before++) {
        for (int len = 0; len < 70; len++) {
            vpa_auto_buf buf = VPA_BUF(100);

            for (size_t i = 0; i < before; i++)
                vpa_buf_putc(&buf, 'a');
            vpa_buf_printf(&buf, "%0*d", len, 0);
            size_t piece = len ? (size_t)len : 1;
            bool fits = before + piece <= 100;
            ck_assert_int_eq(vpa_buf_failed(&buf), !fits);
            ck_assert_uint_eq(buf.len, fits ? before + piece : before);
            ck_assert_uint_eq(strlen(vpa_buf_text(&buf)), buf.len);
            ck_assert_uint_eq(strspn(vpa_buf_text(&buf), "a"), before);
        }
    }
}

TEST(prints_numbers) {
    vpa_auto_buf buf = VPA_BUF(64);

    vpa_buf_put_uint(&buf, 0);
    vpa_buf_putc(&buf, ' ');
    vpa_buf_put_uint(&buf, 10);
    vpa_buf_putc(&buf, ' ');
    vpa_buf_put_uint(&buf, UINT64_MAX);
    ck_assert_str_eq(vpa_buf_text(&buf), "0 10 18446744073709551615");
}

TEST(consume_truncate_take) {
    vpa_auto_buf buf = VPA_BUF(100);

    vpa_buf_puts(&buf, "hello world");
    vpa_buf_consume(&buf, 6);
    vpa_buf_consume(&buf, 0);
    ck_assert_str_eq(vpa_buf_text(&buf), "world");
    vpa_buf_truncate(&buf, 2);
    char *room = vpa_buf_reserve(&buf, 3);
    memcpy(room, "xyz", 3);
    vpa_buf_advance(&buf, 3);
    vpa_auto_free char *taken = vpa_buf_take(&buf);
    ck_assert_str_eq(taken, "woxyz");
    vpa_auto_free char *empty = vpa_buf_take(&buf);
    ck_assert_str_eq(empty, "");
    ck_assert_ptr_null(vpa_buf_reserve(&buf, 101));
}

TEST(error_texts_grow_from_the_inside) {
    struct vpa_error err;

    ck_assert_int_eq(vpa_fail(&err, VPA_CONFLICT, "quantity %s", "\"1Zz\""), -1);
    ck_assert_int_eq(vpa_wrap(&err, "container %s", "app"), -1);
    ck_assert_str_eq(err.text, "container app: quantity \"1Zz\"");
    ck_assert_int_eq(err.code, VPA_CONFLICT);
    ck_assert_int_eq(vpa_fail(NULL, VPA_INVALID, "x"), -1);
    ck_assert_int_eq(vpa_wrap(NULL, "x"), -1);
}

TEST(long_error_texts_are_cut_visibly) {
    struct vpa_error err;
    char text[3000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    vpa_fail(&err, VPA_INVALID, "%s", text);
    ck_assert_str_eq(err.text + VPA_ERROR_TEXT_MAX - 6, "aa...");
    vpa_wrap(&err, "%.1000s", text);
    ck_assert_str_eq(err.text + VPA_ERROR_TEXT_MAX - 4, "...");
    vpa_wrap(&err, "%s", text);
    ck_assert_str_eq(err.text + VPA_ERROR_TEXT_MAX - 4, "...");
}

TEST(reserved_and_not_used_is_still_a_text) {
    struct vpa_buf buf;

    vpa_buf_init(&buf, 100);
    ck_assert_ptr_nonnull(vpa_buf_reserve(&buf, 50));
    ck_assert_str_eq(vpa_buf_text(&buf), "");
    vpa_auto_free char *text = vpa_buf_take(&buf);
    ck_assert_str_eq(text, "");
}

int main(void)
{
    return run_tests("buf", NULL, NULL);
}
