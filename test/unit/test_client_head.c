/* What the heads of answers say: texts, pauses, what time it is at the server. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "../../src/net/client_head.h"
#include "vpa/base/str.h"

static void read_line(struct client_head *head, const char *line)
{
    client_head_read(head, line, strlen(line));
}

TEST(a_status_line_begins_anew) {
    struct client_head head;

    client_head_init(&head);
    read_line(&head, "HTTP/1.1 429 Too Many Requests\r\n");
    read_line(&head, "Retry-After: 7\r\n");
    read_line(&head, "warning: 299 - one\r\n");
    read_line(&head, "Warning: 299 - two\r\n");
    read_line(&head, "Content-Type: text/plain\r\n");
    read_line(&head, "Date: Thu, 26 Nov 2026 05:46:20 GMT\r\n");
    ck_assert_int_eq(head.retry_after, 7);
    ck_assert_str_eq(head.warning, "299 - one");
    ck_assert_str_eq(head.content_type, "text/plain");
    ck_assert_int_eq(head.date, 1795671980);
    read_line(&head, "HTTP/1.1 200 OK\r\n");
    ck_assert_int_eq(head.retry_after, -1);
    ck_assert_str_eq(head.warning, "");
    ck_assert_str_eq(head.content_type, "");
    ck_assert_int_eq(head.date, 0);
}

/* An answer at that monotonic second, of a server whose clock shows that; and by which offset the
 * time goes on. */
static const struct {
    int64_t at, date, offset;
} answers[] = {
    {100, 0, 0},                          /* none told */
    {100, 5000, 4900}, {160, 5059, 4900}, /* as old as its way was long */
    {200, 5101, 4901},                    /* and a fresher one */
    {260, 1160, 4901},                    /* another server, an hour behind */
    {320, 5221, 4901},                    /* the first one again */
    {900, 1800, 4901},                    /* it has told it within ten minutes */
    {920, 1820, 900},                     /* no longer: the time is what that one shows */
    {930, 5831, 4901},
};

TEST(a_server_that_is_behind_others_is_passed_over) {
    struct vpa_transport t = {.dated = false};

    for (size_t i = 0; i < VPA_COUNT(answers); i++) {
        const struct client_head head = {.date = answers[i].date};

        client_head_tell_time(&head, &t, answers[i].at * VPA_SECOND, 4901 * VPA_SECOND);
        ck_assert(t.dated == (answers[i].offset != 0));
        ck_assert_msg(t.peer_offset == answers[i].offset * VPA_SECOND, "answer %zu: %lld", i,
                      (long long)(t.peer_offset / VPA_SECOND));
    }
}

/* Ours is at 900; two servers, of which one is more than an hour ahead of that. */
TEST(a_server_that_is_ahead_of_us_and_another_is_passed_over) {
    const struct client_head ahead = {.date = 5000}, right = {.date = 1000};
    const int64_t now = 100 * VPA_SECOND, own = 900 * VPA_SECOND;
    struct vpa_transport t = {.dated = false};

    client_head_tell_time(&ahead, &t, now, own);
    ck_assert_int_eq(t.peer_offset, 4900 * VPA_SECOND); /* nobody else has told it */
    client_head_tell_time(&right, &t, now, own);
    ck_assert_int_eq(t.peer_offset, own);
    client_head_tell_time(&ahead, &t, now, own);
    ck_assert_int_eq(t.peer_offset, own);
    client_head_tell_time(&ahead, &t, now + CLIENT_HEAD_TIME_KEPT, own);
    ck_assert_int_gt(t.peer_offset, own); /* the other one is silent */
}

int main(void)
{
    return run_tests("client head", NULL, NULL);
}
