#include "client_head.h"

#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "vpa/base/str.h"

/* Whole seconds; dates are not understood and count as absent (4.3). */
static int parse_retry_after(struct vpa_slice text)
{
    int seconds = 0;

    if (text.len == 0 || text.len > 6)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        seconds = seconds * 10 + (text.ptr[i] - '0');
    }
    return seconds;
}

static void keep_text(char out[CLIENT_HEAD_TEXT_MAX], struct vpa_slice value)
{
    size_t len = value.len < CLIENT_HEAD_TEXT_MAX - 1 ? value.len : CLIENT_HEAD_TEXT_MAX - 1;

    memcpy(out, value.ptr, len);
    out[len] = '\0';
}

static int64_t parse_date(struct vpa_slice value)
{
    char text[CLIENT_HEAD_TEXT_MAX];

    keep_text(text, value);
    return curl_getdate(text, NULL); /* -1: none */
}

static bool header_is(const char *line, size_t len, const char *name, struct vpa_slice *value)
{
    size_t n = strlen(name);

    if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
        return false;
    *value = vpa_slice_trim((struct vpa_slice){line + n + 1, len - n - 1});
    return true;
}

void client_head_init(struct client_head *head)
{
    *head = (struct client_head){.retry_after = -1};
}

void client_head_read(struct client_head *head, const char *line, size_t len)
{
    struct vpa_slice value;

    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        client_head_init(head);
    } else if (header_is(line, len, "content-type", &value)) {
        keep_text(head->content_type, value);
    } else if (header_is(line, len, "warning", &value)) {
        if (!head->warning[0])
            keep_text(head->warning, value);
    } else if (header_is(line, len, "retry-after", &value)) {
        head->retry_after = parse_retry_after(value);
    } else if (header_is(line, len, "date", &value)) {
        int64_t date = parse_date(value);
        head->date = date > 0 && date < INT64_MAX / VPA_SECOND ? date : 0;
    }
}

/* Whether the new one is less to be believed. */
static bool is_worse(int64_t offset, int64_t known, int64_t own)
{
    bool leads = offset - own > CLIENT_HEAD_LEAD, known_leads = known - own > CLIENT_HEAD_LEAD;

    return leads == known_leads ? offset < known : leads;
}

void client_head_tell_time(const struct client_head *head, struct vpa_transport *transport,
                           int64_t monotonic_now, int64_t own_offset)
{
    int64_t offset = head->date * VPA_SECOND - monotonic_now;
    bool known = transport->dated && monotonic_now - transport->peer_at < CLIENT_HEAD_TIME_KEPT;

    if (head->date <= 0 || (known && is_worse(offset, transport->peer_offset, own_offset)))
        return;
    transport->dated = true;
    transport->peer_offset = offset;
    transport->peer_at = monotonic_now;
}
