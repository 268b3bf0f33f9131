/* Redirects: followed by reads, and within a server alone. */
#include "http_fixture.h"

#include "../../src/net/client_redirect.h"

/* A server that sends whoever asks for /from to `location`, and says "ok" to all others. */
struct front {
    int fd, port, status;
    const char *location; /* as a header line, or "" */
    pthread_t thread;
    size_t count, with_token;
    char asked[2048]; /* request lines */
};

static void answer(struct front *f, int fd)
{
    char head[4096] = "", line[256] = "";

    if (read(fd, head, sizeof(head) - 1) <= 0)
        return;
    bool away = strstr(head, " /from") != NULL;
    f->count++;
    f->with_token +=
        strstr(head, "Authorization: Bearer t\r\n") && strstr(head, "Impersonate-User: u");
    snprintf(line, sizeof(line), "%.*s|", (int)strcspn(head, "\r"), head);
    strncat(f->asked, line, sizeof(f->asked) - strlen(f->asked) - 1);
    dprintf(fd, "HTTP/1.1 %d X\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n%s",
            away ? f->status : 200, away ? f->location : "", away ? 4 : 2, away ? "away" : "ok");
}

static void *be_front(void *ctx)
{
    struct front *f = ctx;
    int fd;

    while ((fd = accept(f->fd, NULL, NULL)) >= 0) {
        answer(f, fd);
        close(fd);
    }
    return NULL;
}

static void front_start(struct front *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);

    f->fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(f->fd, (struct sockaddr *)&a, len), 0);
    ck_assert_int_eq(listen(f->fd, 5), 0);
    getsockname(f->fd, (struct sockaddr *)&a, &len);
    f->port = ntohs(a.sin_port);
    pthread_create(&f->thread, NULL, be_front, f);
}

static void front_stop(struct front *f)
{
    shutdown(f->fd, SHUT_RDWR);
    close(f->fd);
    pthread_join(f->thread, NULL);
}

/* %d: a port. Heap. */
static char *with_port(const char *text, int port)
{
    const char *at = strstr(text, "%d");

    return at ? vpa_xprintf("%.*s%d%s", (int)(at - text), text, port, at + 2) : vpa_xstrdup(text);
}

static void ask(struct front *f, const char *method, const char *server_name, bool watch)
{
    static const struct vpa_header headers[] = {{"Authorization", "Bearer t"},
                                                {"Impersonate-User", "u"}};
    vpa_auto_free char *url = vpa_xprintf("http://127.0.0.1:%d", f->port);
    const struct vpa_http_client_options options = {.base_url = url, .server_name = server_name};
    const struct vpa_http_request request = {.method = method,
                                             .target = "/from?a=b",
                                             .headers = headers,
                                             .header_count = VPA_COUNT(headers),
                                             .body = strcmp(method, "GET") == 0 ? NULL : "{}",
                                             .body_len = strcmp(method, "GET") == 0 ? 0 : 2,
                                             .watch = watch,
                                             .response_max =
                                                 client_redirect_is(f->status) ? 3 : 0, /* away */
                                             .repeatable = true};
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);

    ck_assert_msg(t != NULL, "%s", err.text);
    fetch_with(t, &request, watch);
    vpa_transport_free(t);
    front_stop(f);
}

#define X "GET /from?a=b HTTP/1.1|GET /x?c=d HTTP/1.1|"

static const struct {
    int status;
    const char *location, *asked;
    const char *server_name;
    bool watch;
} followed[] = {
    {301, "Location: /x?c=d\r\n", X, NULL, false},
    {302, "Location: x?c=d\r\n", X, NULL, false},
    {303, "location: ./y/../x?c=d#f\r\n", X, NULL, false},
    {307, "Location: http://127.0.0.1:%d/x?c=d\r\n", X, NULL, false},
    {308, "Location: HTTP://127.0.0.1:%d/x?c=d\r\n", X, NULL, false},
    {307, "Location: //127.0.0.1:%d/x?c=d\r\n", X, NULL, false},
    {307, "Location: http://me:secret@127.0.0.1:%d/x?c=d\r\n", X, NULL, false},
    {307, "Location: /x\r\n", "GET /from?a=b HTTP/1.1|GET /x HTTP/1.1|", NULL, false},
    {307, "Location: /x%20y?c=d%2f\r\n", "GET /from?a=b HTTP/1.1|GET /x%20y?c=d%2f HTTP/1.1|", NULL,
     false},
    {307, "Location: /x?c=d\r\n", X, NULL, true},
    {307, "Location: /x?c=d\r\n", X, "api.invalid", false},
    {307, "Location: http://127.0.0.1:%d/x?c=d\r\n", X, "api.invalid", false},
    {307, "Location: http://api.invalid:%d/x?c=d\r\n", X, "api.invalid", false},
};

TEST_EACH(reads_follow_within_the_server, followed) {
    struct front f = {.status = followed[_i].status};

    front_start(&f);
    vpa_auto_free char *location = with_port(followed[_i].location, f.port);
    f.location = location;
    ask(&f, "GET", followed[_i].server_name, followed[_i].watch);
    ck_assert_msg(got.failure == VPA_TRANSPORT_OK && got.status == 200, "%d %s", got.status,
                  got.error);
    ck_assert_str_eq(f.asked, followed[_i].asked);
    ck_assert_uint_eq(f.with_token, 2);
    ck_assert_str_eq(got.body, followed[_i].watch ? "" : "ok");
    ck_assert_uint_eq(got.streamed, followed[_i].watch ? 2 : 0);
    ck_assert_int_eq(got.heads, 1);
}

#define OTHER "a redirect to another server is not followed: "
#define OF_A(method) "a redirect of a " method " is not followed: "

static const struct {
    const char *method;
    int status;
    const char *location, *error; /* "": the answer is taken as it is */
    bool watch;
} others[] = {
    {"GET", 307, "Location: http://127.0.0.1:%d/x\r\n", OTHER "http://127.0.0.1:%d/x", false},
    {"GET", 307, "Location: http://127.0.0.1:%d/x\r\n", OTHER "http://127.0.0.1:%d/x", true},
    {"GET", 302, "Location: http://localhost:%d/x\r\n", OTHER "http://localhost:%d/x", false},
    {"GET", 301, "Location: https://127.0.0.1:%d/x\r\n", OTHER "https://127.0.0.1:%d/x", false},
    {"GET", 302, "Location: http://me:secret@other.invalid/login?state=secret#secret\r\n",
     OTHER "http://other.invalid/login", false},
    {"GET", 302, "Location: ftp://other.invalid/\r\n", OTHER "ftp://other.invalid/", false},
    {"GET", 302, "Location: javascript:x\r\n", OTHER, false},
    {"GET", 302, "Location: http://a\x1b[31m/x\r\n", OTHER "a text that is no URL", false},
    {"GET", 307, "Location: /from\r\n", "a redirect after ten others is not followed: ", false},
    {"GET", 307, "Location: /from\r\n", "a redirect after ten others is not followed: ", true},
    {"POST", 307, "Location: /x\r\n", OF_A("POST") "http://", false},
    {"POST", 303, "Location: http://127.0.0.1:%d/x\r\n", OF_A("POST") "http://127.0.0.1:%d/x",
     false},
    {"PUT", 308, "Location: /x\r\n", OF_A("PUT") "http://", false},
    {"PATCH", 302, "Location: /x\r\n", OF_A("PATCH") "http://", false},
    {"DELETE", 301, "Location: /x\r\n", OF_A("DELETE") "http://", false},
    {"GET", 307, "", "", false},
    {"GET", 300, "Location: /x\r\n", "", false},
    {"GET", 304, "Location: /x\r\n", "", false},
};

TEST_EACH(other_redirects_are_told, others) {
    struct front f = {.status = others[_i].status}, other = {.status = 200, .location = ""};

    front_start(&f);
    front_start(&other);
    vpa_auto_free char *location = with_port(others[_i].location, other.port);
    vpa_auto_free char *error = with_port(others[_i].error, other.port);
    f.location = location;
    ask(&f, others[_i].method, NULL, others[_i].watch);
    front_stop(&other);
    ck_assert_str_eq(other.asked, "");
    ck_assert_int_eq(got.status, others[_i].status);
    ck_assert_int_eq(got.failure, *error ? VPA_TRANSPORT_OTHER : VPA_TRANSPORT_OK);
    ck_assert_msg(vpa_str_starts_with(got.error, error), "%s", got.error);
    ck_assert_ptr_null(strstr(got.error, "secret"));
    ck_assert_int_eq(got.heads, *error ? 0 : 1);
    ck_assert_uint_eq(f.count, strstr(error, "after ten") ? 11 : 1);
}

static bool send_once(void *ctx)
{
    return ++*(int *)ctx == 1;
}

/* Who may not ask at the second place has lost nothing. */
TEST(what_is_refused_behind_a_redirect_is_not_sent) {
    struct front f = {.status = 307, .location = "Location: /x\r\n"};
    int asked = 0;
    const struct vpa_http_handler handler = {
        .ctx = &asked, .may_send = send_once, .on_done = on_done};
    const struct vpa_http_request request = {.method = "GET", .target = "/from"};

    front_start(&f);
    vpa_auto_free char *url = vpa_xprintf("http://127.0.0.1:%d", f.port);
    const struct vpa_http_client_options options = {.base_url = url};
    struct vpa_transport *t = vpa_http_client_new(loop, &options, &err);
    got.done = false;
    vpa_transport_start(t, &request, &handler);
    while (!got.done)
        vpa_loop_pump(loop, VPA_SECOND);
    vpa_transport_free(t);
    front_stop(&f);
    ck_assert_int_eq(asked, 2);
    ck_assert_int_eq(got.failure, VPA_TRANSPORT_UNSENT);
    ck_assert_str_eq(got.error, "not sent");
}

int main(void)
{
    return run_tests_within(60, "client_redirect", setup, teardown);
}
