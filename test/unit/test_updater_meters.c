/* The updater's metrics: which series there are before anything has happened, and after a pass. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "../../updater/meters.h"

#include "vpa/base/buf.h"
#include "vpa/base/mem.h"
#include "vpa/base/str.h"

static struct vpa_metrics all;
static struct meter_pass pass;

static void setup(void)
{
    all = (struct vpa_metrics){.table = updater_metrics, .count = updater_metric_count};
    pass = (struct meter_pass){0};
}

static void teardown(void)
{
    vpa_metrics_release(&all);
}

/* The series of one family as they are shown, each behind the family's name and before a line's
 * end; heap. */
static char *series_of(const char *family)
{
    vpa_auto_buf page = VPA_BUF(1 << 16);

    vpa_metrics_write(&all, VPA_EXPOSITION_TEXT, &family, 1, &page);
    const char *text = vpa_buf_text(&page);
    while (*text == '#') /* HELP and TYPE */
        text = strchr(text, '\n') + 1;
    return vpa_xstrdup(text);
}

static void check(const char *family, const char *expected)
{
    vpa_auto_free char *text = series_of(family);

    ck_assert_str_eq(text, expected);
}

/* Of an alert's increase() the first event is one only where 0 was shown before it. */
TEST(our_series_are_there_from_the_start) {
#define PROOF(reason)                                                                              \
    "vpa_updater_failed_proofs_total{reason=\"" reason "\",vpa_name=\"\",vpa_namespace=\"\"} 0\n"

    updater_meters_start();
    check("vpa_updater_held_pods", "vpa_updater_held_pods{reason=\"UnknownLimitRange\"} 0\n"
                                   "vpa_updater_held_pods{reason=\"UnknownVPA\"} 0\n");
    check("vpa_updater_failed_proofs_total",
          PROOF("Crashing") PROOF("NoReplacement") PROOF("NotPatched") PROOF("NotReady")
              PROOF("NotResized") PROOF("PatchedBack") PROOF("Unschedulable"));
    check("vpa_updater_paused", "vpa_updater_paused{scope=\"cluster\"} 0\n"
                                "vpa_updater_paused{scope=\"namespace\"} 0\n"
                                "vpa_updater_paused{scope=\"vpa\"} 0\n");
}

static const struct {
    size_t pods;
    const char *size;
} sizes[] = {{1, "0"},        {2, "1"},        {3, "1"},
             {4, "2"},        {7, "2"},        {(1 << 20) - 1, "19"},
             {1 << 20, "20"}, {1 << 21, "20"}, {1 << 30, "20"}};

/* A VPA counts by the power of two of its pods, the largest of all in the last class. */
TEST_EACH(pods_count_by_size_and_mode, sizes) {
    vpa_auto_free char *expected =
        vpa_xprintf("vpa_updater_evictable_pods_total{update_mode=\"Recreate\","
                    "vpa_size_log2=\"%s\"} 5\n",
                    sizes[_i].size);

    updater_meter_sums_add(&pass.evictable, VPA_MODE_RECREATE, sizes[_i].pods, 2);
    updater_meter_sums_add(&pass.evictable, VPA_MODE_RECREATE, sizes[_i].pods, 3);
    updater_meter_pass_publish(&pass);
    check("vpa_updater_evictable_pods_total", expected);
    check("vpa_updater_controlled_pods_total", "");
    pass = (struct meter_pass){0};
    updater_meter_pass_publish(&pass); /* what the next pass does not touch is gone */
    check("vpa_updater_evictable_pods_total", "");
}

#define UPDATABLE "vpa_updater_in_place_updatable_pods_total"

static size_t lines_of(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* As upstream: all sizes below the last, touched or not; the last when there is such a VPA. */
TEST(pods_to_resize_have_every_size) {
    updater_meter_sums_add(&pass.updatable, 0, 8, 6);
    updater_meter_pass_publish(&pass);
    vpa_auto_free char *text = series_of(UPDATABLE);
    ck_assert_uint_eq(lines_of(text), METER_SIZES - 1);
    ck_assert_ptr_nonnull(strstr(text, UPDATABLE "{vpa_size_log2=\"0\"} 0\n"));
    ck_assert_ptr_nonnull(strstr(text, UPDATABLE "{vpa_size_log2=\"3\"} 6\n"));
    ck_assert_ptr_nonnull(strstr(text, UPDATABLE "{vpa_size_log2=\"19\"} 0\n"));

    updater_meter_sums_add(&pass.updatable, 0, 1 << 20, 1);
    updater_meter_pass_publish(&pass);
    vpa_auto_free char *more = series_of(UPDATABLE);
    ck_assert_uint_eq(lines_of(more), METER_SIZES);
    ck_assert_ptr_nonnull(strstr(more, UPDATABLE "{vpa_size_log2=\"20\"} 1\n"));
}

static bool is_there(void *ctx, const char *ns, const char *name)
{
    (void)ctx;
    return vpa_str_eq(ns, "n") && vpa_str_eq(name, "there");
}

static size_t all_series(void)
{
    size_t count = 0;

    for (size_t i = 0; i < updater_metric_count; i++)
        count += updater_metrics[i]->series.count;
    return count;
}

static void meet(const char *ns, const char *name)
{
    const struct meter_vpa vpa = {.size = "0", .mode = "Recreate", .name = name, .ns = ns};

    updater_meter_touch(&vpa);
    updater_meter_evicted(&vpa);
    updater_meter_eviction_failed(&vpa, "EvictionError");
    updater_meter_updated_in_place(&vpa);
    updater_meter_in_place_failed(&vpa, "InPlaceUpdateError");
    updater_meter_infeasible_skipped(&vpa);
    updater_meter_failed_proof("Crashing", name, ns);
}

/* Whoever makes VPAs and deletes them, or a cluster that does so for years, has as many names as he
 * likes. */
TEST(vpas_that_are_gone_have_no_series) {
    updater_meters_start();
    size_t at_first = all_series();
    meet("n", "there");
    size_t with_one = all_series();
    ck_assert_uint_eq(with_one, at_first + 6);
    for (int i = 0; i < METER_SERIES(1); i++) {
        vpa_auto_free char *name = vpa_xprintf("v%d", i);
        meet("n", name);
        meet("m", "there");
        if (i == METER_SERIES(1) / 2) { /* few: they may come back */
            size_t before = all_series();
            updater_meters_sweep(is_there, NULL, 1);
            ck_assert_uint_eq(all_series(), before);
        }
    }
    updater_meters_sweep(is_there, NULL, 1);
    ck_assert_uint_eq(all_series(), with_one);
    check("vpa_updater_evicted_pods_total",
          "vpa_updater_evicted_pods_total{update_mode=\"Recreate\",vpa_name=\"there\","
          "vpa_namespace=\"n\",vpa_size_log2=\"0\"} 1\n");
}

int main(void)
{
    return run_tests("updater_meters", setup, teardown);
}
