/* Who may hold a connection, for how long, and who goes when there is no room. In virtual time. */
#include <check.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/net/connections.h"
#include "suite.h"
#include "vpa/base/mem.h"

#define MS VPA_MILLISECOND
#define MAX 8

static struct connections *all;
static int64_t now;
static char dropped[256]; /* "3 4 " */

static void on_drop(void *ctx, int fd)
{
    size_t len = strlen(dropped);

    (void)ctx;
    snprintf(dropped + len, sizeof(dropped) - len, "%d ", fd);
}

static void setup(void)
{
    const struct connection_limits limits = {.max = MAX,
                                             .handshake = 10 * VPA_SECOND,
                                             .head = 30 * VPA_SECOND,
                                             .idle = 120 * VPA_SECOND,
                                             .transfer = 5 * VPA_SECOND,
                                             .rate = 1000,
                                             .answers_max = 1000};

    now = 1000 * VPA_SECOND;
    dropped[0] = '\0';
    all = connections_new(&limits, on_drop, NULL);
}

static void teardown(void)
{
    connections_free(all);
    connections_free(NULL);
}

/* From 10.0.0.HOST. */
static bool come(int fd, int host)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(0x0a000000u + (uint32_t)host)};
    bool room = connections_add(all, fd, (const struct sockaddr *)&a, CONNECTION_HANDSHAKE, now);

    if (room)
        connections_start(all, fd, now);
    return room;
}

/* One that is served in that phase. */
static void hold(int fd, int host, enum connection_phase phase)
{
    ck_assert(come(fd, host));
    connections_turn(all, fd, phase, 0, now);
}

static void expect_dropped(const char *fds)
{
    ck_assert_str_eq(dropped, fds);
    dropped[0] = '\0';
}

static const struct {
    enum connection_phase phase;
    size_t bytes;
    vpa_duration time; /* the longest */
} times[] = {
    {CONNECTION_HANDSHAKE, 0, 10 * VPA_SECOND},
    {CONNECTION_HEAD, 0, 30 * VPA_SECOND},
    {CONNECTION_IDLE, 0, 120 * VPA_SECOND},
    {CONNECTION_BODY, 0, 5 * VPA_SECOND},
    {CONNECTION_BODY, 2000, 7 * VPA_SECOND},
    {CONNECTION_ANSWER, 500, 5500 * MS},
    {CONNECTION_WORK, 0, 0}, /* for ever */
};

TEST_EACH(each_phase_has_its_time, times) {
    hold(3, 1, CONNECTION_HEAD);
    now += VPA_SECOND; /* the clock of a phase begins with the phase */
    connections_turn(all, 3, times[_i].phase, times[_i].bytes, now);
    now += times[_i].time;
    ck_assert(connections_sweep(all, now));
    expect_dropped("");
    now += times[_i].time > 0 ? 1 : 24 * VPA_HOUR;
    ck_assert(connections_sweep(all, now));
    expect_dropped(times[_i].time > 0 ? "3 " : "");
    ck_assert(connections_sweep(all, now + 24 * VPA_HOUR));
    expect_dropped(""); /* once */
    connections_remove(all, 3);
    ck_assert(!connections_sweep(all, now));
}

TEST(bytes_that_come_give_time) {
    hold(3, 1, CONNECTION_BODY);
    for (int i = 0; i < 60; i++) { /* 900 bytes a second: behind by a tenth of a second in each */
        now += VPA_SECOND;
        connections_sweep(all, now);
        connections_count(all, 3, 900);
    }
    expect_dropped("3 ");
    hold(4, 1, CONNECTION_BODY);
    for (int i = 0; i < 60; i++) {
        now += VPA_SECOND;
        connections_sweep(all, now);
        connections_count(all, 4, 1000);
    }
    expect_dropped("");
}

static void fill(int host, enum connection_phase phase)
{
    for (int fd = 10; fd < 10 + MAX; fd++)
        hold(fd, host, phase);
}

TEST(the_half_open_go_first_and_the_oldest_of_them) {
    hold(3, 1, CONNECTION_IDLE);
    now += VPA_SECOND;
    hold(4, 1, CONNECTION_HEAD);
    now += 1;
    for (int fd = 5; fd < 3 + MAX; fd++)
        hold(fd, fd, fd % 2 ? CONNECTION_HANDSHAKE : CONNECTION_HEAD);
    now += VPA_SECOND + 1;
    ck_assert(come(20, 100));
    expect_dropped("4 ");
    ck_assert(come(21, 100));
    ck_assert(come(22, 100));
    connections_remove(all, 4);
    ck_assert(strchr(dropped, '3') == NULL);
}

/* While others are young, those of the address that holds more than a quarter of all places. */
TEST(the_greedy_go_before_the_idle) {
    hold(3, 1, CONNECTION_IDLE);
    hold(4, 2, CONNECTION_HEAD);
    hold(5, 2, CONNECTION_HEAD); /* a quarter of 8 */
    hold(6, 3, CONNECTION_HEAD);
    hold(7, 3, CONNECTION_HEAD);
    now += 1;
    hold(8, 3, CONNECTION_HANDSHAKE);
    hold(9, 1, CONNECTION_IDLE);
    hold(10, 1, CONNECTION_IDLE);
    ck_assert(come(20, 9));
    expect_dropped("6 ");
}

TEST(bodies_of_the_greedy_are_no_half_open_ones) {
    hold(3, 3, CONNECTION_BODY);
    now += 1;
    for (int fd = 4; fd < 7; fd++)
        hold(fd, 3, CONNECTION_HEAD);
    for (int fd = 7; fd < 3 + MAX; fd++)
        hold(fd, fd, CONNECTION_HEAD);
    ck_assert(come(20, 9));
    expect_dropped("4 ");
}

static void hold_from(int fd, const struct sockaddr *from)
{
    ck_assert(connections_add(all, fd, from, CONNECTION_IDLE, now));
    connections_start(all, fd, now++);
}

/* IPv4 is the same address in both spellings, each IPv6 address one of its own. */
TEST(addresses_are_told_apart) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6}, v6 = {.sin6_family = AF_INET6};

    ck_assert_int_eq(inet_pton(AF_INET, "10.0.0.1", &v4.sin_addr), 1);
    ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:10.0.0.1", &mapped.sin6_addr), 1);
    ck_assert_int_eq(inet_pton(AF_INET6, "fd00::1", &v6.sin6_addr), 1);
    hold_from(3, (struct sockaddr *)&v6);
    hold_from(4, (struct sockaddr *)&v6);
    hold_from(5, (struct sockaddr *)&v4);
    hold_from(6, (struct sockaddr *)&mapped);
    hold_from(7, (struct sockaddr *)&mapped);
    for (int fd = 8; fd < 3 + MAX; fd++)
        hold(fd, fd, CONNECTION_WORK);
    ck_assert(come(20, 9));
    expect_dropped("5 ");
}

TEST(the_idle_go_longest_idle_of_the_largest_first) {
    hold(3, 1, CONNECTION_IDLE);
    now += 1;
    for (int fd = 4; fd < 8; fd++)
        hold(fd, 2, CONNECTION_IDLE);
    now += 1;
    connections_turn(all, 4, CONNECTION_IDLE, 0, now); /* asked once more */
    hold(8, 3, CONNECTION_WORK);
    hold(9, 3, CONNECTION_HEAD);
    hold(10, 4, CONNECTION_HEAD);
    ck_assert(come(20, 9));
    expect_dropped("5 ");
}

TEST(who_transfers_at_the_rate_stays) {
    fill(1, CONNECTION_BODY);
    now += 1;
    connections_turn(all, 11, CONNECTION_ANSWER, 100000, now); /* sent is not taken */
    for (int fd = 12; fd < 10 + MAX; fd++)
        connections_count(all, fd, 2000); /* two seconds' worth */
    now += VPA_SECOND + 100 * MS;
    ck_assert(come(20, 2));
    ck_assert(come(21, 2));
    expect_dropped("10 11 ");
    now += 1;
    ck_assert(come(22, 2));
    expect_dropped("20 "); /* has waited longest */
    now += VPA_SECOND;
    ck_assert(come(23, 2));
    expect_dropped("21 ");
    connections_remove(all, 10);
    connections_remove(all, 11);
    connections_remove(all, 20);
    ck_assert(come(24, 2));
    expect_dropped("22 "); /* a second against a tenth of one */
}

/* Bodies that have only just begun do not keep others out. */
TEST(young_bodies_make_way) {
    fill(1, CONNECTION_BODY);
    ck_assert(come(20, 20));
    now += MS;
    connections_count(all, 11, 10000);
    for (int fd = 21; fd < 26; fd++)
        ck_assert(come(fd, fd));
    expect_dropped("10 12 13 14 15 16 ");
    connections_turn(all, 17, CONNECTION_WORK, 0, now);
    ck_assert(come(30, 30));
    expect_dropped("20 ");
    for (int fd = 21; fd < 31; fd++)
        connections_turn(all, fd, CONNECTION_WORK, 0, now);
    ck_assert(!come(31, 31)); /* 11 comes at its rate */
    expect_dropped("");
}

TEST(work_is_never_dropped) {
    fill(1, CONNECTION_WORK);
    now += VPA_HOUR;
    ck_assert(!come(20, 2));
    ck_assert(!connections_make_room(all, now));
    expect_dropped("");
    connections_turn(all, 12, CONNECTION_IDLE, 0, now);
    ck_assert(connections_make_room(all, now));
    expect_dropped("12 ");
    ck_assert(come(20, 2)); /* into the place of 12, whose end comes later */
    expect_dropped("");
}

/* Fresh ones from many addresses: the newest always finds a place. */
TEST(a_flood_displaces_itself) {
    for (int i = 0; i < 1000; i++) {
        now += MS;
        ck_assert(come(10 + i, i));
        if (i >= MAX)
            connections_remove(all, 10 + i - MAX); /* has closed meanwhile */
    }
    ck_assert(strncmp(dropped, "10 11 12 ", 9) == 0);
}

/* What is dropped and not closed yet counts, up to as many again. */
TEST(the_total_is_bounded) {
    fill(1, CONNECTION_IDLE);
    for (int i = 0; i < MAX; i++)
        ck_assert(come(30 + i, 2 + i));
    ck_assert(!come(50, 2));
    connections_remove(all, 10);
    ck_assert(come(50, 2));
}

TEST(whoever_stops_waits_for_work_only) {
    hold(3, 1, CONNECTION_WORK);
    hold(4, 1, CONNECTION_BODY);
    hold(5, 1, CONNECTION_IDLE);
    hold(6, 1, CONNECTION_HEAD);
    hold(7, 1, CONNECTION_BODY);
    connections_count(all, 7, 2000);
    connections_hurry(all, now);
    expect_dropped("5 6 ");
    now += VPA_SECOND + 1;
    connections_hurry(all, now);
    expect_dropped("4 ");
    now += 2 * VPA_SECOND;
    connections_hurry(all, now);
    expect_dropped("7 ");
}

/* Not served yet: libmicrohttpd may have closed it, its descriptor may be another's. */
TEST(what_is_not_served_yet_is_not_dropped) {
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    for (int fd = 10; fd < 10 + MAX; fd++)
        ck_assert(connections_add(all, fd, (struct sockaddr *)&a, CONNECTION_HANDSHAKE, now));
    now += VPA_HOUR;
    connections_sweep(all, now);
    ck_assert(!come(50, 2));
    expect_dropped("");
    ck_assert(come(12, 2));          /* the descriptor came again: the other one is gone */
    connections_start(all, 10, now); /* late; its time begins now */
    connections_sweep(all, now);
    expect_dropped("");
    connections_remove(all, 99);
    connections_turn(all, 99, CONNECTION_BODY, 0, now);
    connections_count(all, 1 << 20, 1);
    connections_start(all, 99, now);
}

/* An answer of so many bytes on a new connection, if there is room for it. */
static bool answer(int fd, int host, size_t bytes)
{
    hold(fd, host, CONNECTION_WORK);
    bool room = connections_take_room(all, fd, bytes, now);
    connections_turn(all, fd, CONNECTION_ANSWER, 0, now);
    return room;
}

/* No answer goes for one that asks after it, but what has waited long enough. */
TEST(answers_that_are_not_read_make_way) {
    ck_assert(answer(10, 1, 400));
    now += 1;
    ck_assert(answer(11, 1, 400));
    ck_assert(!answer(12, 1, 400));
    ck_assert(answer(13, 1, 200));
    now += VPA_SECOND;
    ck_assert(answer(14, 1, 300)); /* 10 has waited for more than a second */
    expect_dropped("10 ");
    now += 1;
    ck_assert(answer(15, 1, 600)); /* 11 was not enough, 12 holds nothing */
    expect_dropped("11 13 ");
}

TEST(room_comes_back_with_the_end_of_an_answer) {
    ck_assert(answer(10, 1, 600));
    ck_assert(answer(11, 1, 400));
    ck_assert(!answer(12, 1, 600));
    connections_turn(all, 10, CONNECTION_IDLE, 0, now);
    ck_assert(answer(13, 1, 600));
    ck_assert(!answer(14, 1, 400));
    connections_remove(all, 11);
    ck_assert(answer(15, 1, 400));
    expect_dropped("");
}

/* Whoever asks seldom is not kept out by an address that fills the room again and again. */
TEST(an_address_that_holds_most_makes_way_at_once) {
    ck_assert(answer(10, 1, 300));
    ck_assert(answer(11, 2, 200));
    now += 1;
    ck_assert(answer(12, 1, 200));
    ck_assert(answer(13, 2, 200));
    ck_assert(!answer(14, 3, 500)); /* as much as the address that holds most */
    expect_dropped("");
    ck_assert(answer(15, 3, 300));
    expect_dropped("10 ");
    ck_assert(!answer(16, 3, 200)); /* now it holds more than the others */
    expect_dropped("");
}

/* Requests that are worked on are never dropped, whatever their answers hold. */
TEST(work_keeps_its_room) {
    hold(10, 1, CONNECTION_WORK);
    ck_assert(connections_take_room(all, 10, 1000, now));
    now += VPA_HOUR;
    ck_assert(!answer(11, 2, 1));
    expect_dropped("");
}

/* What is dropped holds its answer until it is closed: as much again as may be held. */
TEST(answers_that_went_count_until_they_are_closed) {
    ck_assert(answer(10, 1, 1000));
    now += VPA_SECOND + 1;
    ck_assert(answer(11, 1, 1000));
    now += VPA_SECOND + 1;
    ck_assert(!answer(12, 1, 1));
    expect_dropped("10 ");
    connections_turn(all, 10, CONNECTION_IDLE, 0, now);
    ck_assert(answer(13, 1, 1000));
    expect_dropped("11 ");
    connections_remove(all, 11);
    now += VPA_SECOND + 1;
    ck_assert(answer(14, 1, 1000));
    expect_dropped("13 ");
}

/* Who has waited long enough goes before who is young, whatever the young one's address holds. */
TEST(the_slow_make_way_before_the_greedy) {
    ck_assert(answer(10, 2, 100));
    ck_assert(answer(11, 1, 100));
    now += VPA_SECOND + 1;
    ck_assert(answer(12, 2, 800));
    ck_assert(answer(13, 3, 100));
    expect_dropped("10 ");
    ck_assert(answer(14, 3, 100));
    expect_dropped("11 ");
    ck_assert(answer(15, 3, 100));
    expect_dropped("12 ");
}

/* What may go would not be enough, so nothing goes, and all of it counts as before. */
TEST(nobody_goes_for_an_answer_that_is_refused) {
    ck_assert(answer(10, 1, 300));
    ck_assert(answer(11, 1, 100));
    now += VPA_SECOND + 1;
    ck_assert(answer(12, 1, 600));
    ck_assert(!answer(13, 1, 500)); /* 10 and 11 have waited long enough */
    expect_dropped("");
    ck_assert(!answer(14, 2, 600)); /* nor is 12 of an address that holds more then */
    expect_dropped("");
    ck_assert(answer(15, 1, 300)); /* they hold what they held */
    expect_dropped("10 ");
    ck_assert(answer(16, 2, 100));
    expect_dropped("11 ");
}

TEST(an_answer_beyond_the_bound_is_held_alone) {
    ck_assert(answer(10, 1, 3000));
    ck_assert(!answer(11, 2, 1));
    connections_turn(all, 10, CONNECTION_IDLE, 0, now);
    ck_assert(answer(12, 2, 1));
    ck_assert(!answer(13, 1, 3000));
    expect_dropped("");
    ck_assert(!connections_take_room(all, 99, 1, now)); /* nobody's */
}

int main(void)
{
    return run_tests("connections", setup, teardown);
}
