/* Clocks: how long is waited for a time of each, and what a simulated one makes of its file. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock_file.h"
#include "suite.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"
#include "vpa/net/monotonic.h"

static char path[] = "/tmp/plumb-clock-XXXXXX";
static int fd;
static struct vpa_clock_file *file;
static struct vpa_clock *simulated;
static struct vpa_error err;

static void setup(void)
{
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, sizeof(*file)), 0);
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    file->magic = VPA_CLOCK_FILE_MAGIC;
    simulated = vpa_clock_new_simulated(path, &err);
    ck_assert_msg(simulated != NULL, "%s", err.text);
}

static void teardown(void)
{
    vpa_clock_free(simulated);
    vpa_clock_free(NULL);
    munmap(file, sizeof(*file));
    close(fd);
    unlink(path);
}

/* Begun at 1000 s, an hour ago. */
static void begin(double rate)
{
    vpa_clock_file_write(file, 1000 * VPA_SECOND, vpa_monotonic_read() - VPA_HOUR, rate);
}

/* Rates that stand still whatever time passes, and what is waited for a minute of them: a moment,
 * until somebody has moved the clock. */
static const double standing[] = {0, -1, -INFINITY, INFINITY, NAN};

TEST_EACH(it_stands_still_without_a_rate, standing) {
    begin(standing[_i]);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(simulated->monotonic(simulated), 1000 * VPA_SECOND);
    ck_assert_int_eq(simulated->real_wait(simulated, VPA_MINUTE), 2 * VPA_MILLISECOND);
    ck_assert_int_eq(simulated->real_wait(simulated, 1), 2 * VPA_MILLISECOND);
    ck_assert_int_eq(simulated->real_wait(simulated, 0), 0);
}

/* Some are a server's as well, and some nobody else's. */
TEST(whether_a_server_lives_by_it_is_told) {
    ck_assert(!simulated->alone);
    file->magic = VPA_CLOCK_FILE_ALONE;
    struct vpa_clock *other = vpa_clock_new_simulated(path, &err);
    ck_assert_msg(other && other->alone, "%s", err.text);
    vpa_clock_free(other);
    other = vpa_clock_new_real();
    ck_assert(!other->alone);
    vpa_clock_free(other);
}

TEST(it_runs_at_its_rate) {
    begin(2);
    int64_t now = simulated->monotonic(simulated);

    ck_assert_int_ge(now, 1000 * VPA_SECOND + 2 * VPA_HOUR);
    ck_assert_int_lt(now, 1000 * VPA_SECOND + 3 * VPA_HOUR);
    begin(0.5);
    now = simulated->monotonic(simulated);
    ck_assert_int_ge(now, 1000 * VPA_SECOND + VPA_HOUR / 2);
    ck_assert_int_lt(now, 1000 * VPA_SECOND + VPA_HOUR);
}

/* Virtual time that is waited for, and how long that takes; a bound, since the rate may change. */
static const struct {
    double rate;
    vpa_duration wait, takes;
} waits[] = {
    {1000, VPA_SECOND, VPA_MILLISECOND},
    {1000, 20 * VPA_SECOND, 20 * VPA_MILLISECOND},
    {1000, 50 * VPA_SECOND, 50 * VPA_MILLISECOND},
    {1000, 51 * VPA_SECOND, 50 * VPA_MILLISECOND},
    {1, VPA_HOUR, 50 * VPA_MILLISECOND},
    {0.5, VPA_MILLISECOND, 2 * VPA_MILLISECOND},
    {1000, 0, 0},
    {1000, -1, 0},
    {1e-300, VPA_SECOND, 50 * VPA_MILLISECOND},
};

TEST_EACH(a_wait_is_as_long_as_its_rate_says, waits) {
    begin(waits[_i].rate);
    ck_assert_int_eq(simulated->real_wait(simulated, waits[_i].wait), waits[_i].takes);
}

/* What does not fit is the end of time. */
TEST(time_has_an_end) {
    begin(1e300);
    ck_assert_int_ge(simulated->monotonic(simulated), 9000000000 * VPA_SECOND);
    vpa_clock_file_write(file, INT64_MAX - 5, vpa_monotonic_read() - VPA_HOUR, 1);
    ck_assert_int_eq(simulated->monotonic(simulated), INT64_MAX);
}

TEST(the_wall_clock_can_be_set) {
    begin(0);
    ck_assert(vpa_clock_now(simulated) == (vpa_time)1000 * VPA_SECOND);
    file->wall_offset_ns = VPA_MINUTE;
    ck_assert(vpa_clock_now(simulated) == (vpa_time)1060 * VPA_SECOND);
    ck_assert_int_eq(simulated->monotonic(simulated), 1000 * VPA_SECOND);
}

TEST(a_real_clock_waits_for_a_day_at_most) {
    struct vpa_clock *clock = vpa_clock_new_real();

    ck_assert_int_eq(clock->real_wait(clock, -1), 0);
    ck_assert_int_eq(clock->real_wait(clock, 0), 0);
    ck_assert_int_eq(clock->real_wait(clock, 1), 1);
    ck_assert_int_eq(clock->real_wait(clock, VPA_HOUR), VPA_HOUR);
    ck_assert_int_eq(clock->real_wait(clock, 24 * VPA_HOUR), 24 * VPA_HOUR);
    ck_assert_int_eq(clock->real_wait(clock, 24 * VPA_HOUR + 1), 24 * VPA_HOUR);
    vpa_clock_free(clock);
}

TEST(other_files_are_no_clocks) {
    ck_assert_ptr_null(vpa_clock_new_simulated("/nonexistent/clock", &err));
    ck_assert(vpa_str_ends_with(err.text, "No such file or directory"));
    file->magic++;
    ck_assert_ptr_null(vpa_clock_new_simulated(path, &err));
    ck_assert(vpa_str_ends_with(err.text, "not a clock file"));
    file->magic--;
    ck_assert_int_eq(ftruncate(fd, sizeof(*file) - 1), 0);
    ck_assert_ptr_null(vpa_clock_new_simulated(path, &err));
    ck_assert(vpa_str_ends_with(err.text, "too short"));
    ck_assert_int_eq(err.code, VPA_INVALID);
    ck_assert_int_eq(ftruncate(fd, sizeof(*file)), 0);
}

/* Neither a clock nor what is none keeps the file open. */
TEST(no_file_stays_open) {
    int first = dup(0);

    close(first);
    vpa_clock_free(vpa_clock_new_simulated(path, &err));
    ck_assert_int_eq(ftruncate(fd, sizeof(*file) - 1), 0);
    ck_assert_ptr_null(vpa_clock_new_simulated(path, &err));
    ck_assert_int_eq(ftruncate(fd, sizeof(*file)), 0);
    int next = dup(0);
    ck_assert_int_eq(next, first);
    close(next);
}

TEST(the_environment_names_the_file) {
    struct vpa_clock *clock;

    begin(0);
    setenv(VPA_SIMULATED_CLOCK_ENV, path, 1);
    clock = vpa_clock_new_from_env(&err);
    ck_assert_int_eq(clock->monotonic(clock), 1000 * VPA_SECOND);
    vpa_clock_free(clock);
    setenv(VPA_SIMULATED_CLOCK_ENV, "", 1); /* none */
    clock = vpa_clock_new_from_env(&err);
    ck_assert_int_eq(clock->real_wait(clock, VPA_HOUR), VPA_HOUR);
    vpa_clock_free(clock);
    unsetenv(VPA_SIMULATED_CLOCK_ENV);
}

int main(void)
{
    return run_tests("clock", setup, teardown);
}
