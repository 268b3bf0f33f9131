/* What a client asks for, and compressed answers. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/net/negotiation.h"

/* The header of Prometheus 2.53. */
#define PROMETHEUS                                                                                 \
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"               \
    "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

static const struct {
    const char *header, *name;
    double weight;
} weights[] = {
    {NULL, "gzip", -1},
    {"", "gzip", -1},
    {"gzip", "gzip", 1},
    {"GZip", "gzip", 1},
    {"deflate, gzip", "gzip", 1},
    {" deflate ,\tgzip ; q=0.25", "gzip", 0.25},
    {"gzip;q=0", "gzip", 0},
    {"gzip;q=0.000", "gzip", 0},
    {"gzip;q=1.000", "gzip", 1},
    {"gzip;q=1.001", "gzip", 0},
    {"gzip;q=0.1234", "gzip", 0},
    {"gzip;q=", "gzip", 0},
    {"gzip;q=x", "gzip", 0},
    {"gzip;q=10", "gzip", 0},
    {"gzip;q=0x5", "gzip", 0},
    {"gzip;Q=0.5", "gzip", 0.5},
    {"gzip;quality=0", "gzip", 1},
    {"gzipped", "gzip", -1},
    {"x-gzip", "gzip", -1},
    {"*", "gzip", -1},
    {",,;;,", "gzip", -1},
    {PROMETHEUS, "application/openmetrics-text", 0.5},
    {PROMETHEUS, "text/plain", 0.3},
    {PROMETHEUS, "*/*", 0.2},
};

TEST_EACH(reads_weights, weights) {
    double weight = vpa_negotiation_weight(weights[_i].header, weights[_i].name);

    ck_assert_msg(weight > weights[_i].weight - 1e-9 && weight < weights[_i].weight + 1e-9,
                  "%s: %g", weights[_i].header, weight);
    if (strcmp(weights[_i].name, "gzip") == 0)
        ck_assert(vpa_gzip_is_accepted(weights[_i].header) == (weights[_i].weight > 0));
}

static char *unpacked(const char *packed, size_t len, size_t room)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)len};
    char *text = vpa_xcalloc(1, room + 1);

    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_out = (Bytef *)text;
    z.avail_out = (uInt)room;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, room);
    inflateEnd(&z);
    return text;
}

TEST_TIMES(packs_what_can_be_unpacked, 4) {
    static const size_t lengths[] = {0, 1, 1000, 300000};
    size_t len = lengths[_i], packed_len, again_len;
    vpa_auto_free char *text = vpa_xcalloc(1, len + 1), *packed = NULL, *again = NULL;

    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i * i % 23);
    ck_assert(vpa_gzip(text, len, &packed, &packed_len));
    ck_assert(vpa_gzip(text, len, &again, &again_len));
    vpa_auto_free char *back = unpacked(packed, packed_len, len);
    ck_assert_str_eq(back, text);
    ck_assert_uint_eq(packed_len, again_len);
    ck_assert_mem_eq(packed, again, packed_len);
    if (len >= 1000)
        ck_assert_uint_lt(packed_len, len / 2);
}

int main(void)
{
    return run_tests("negotiation", NULL, NULL);
}
