/* What the objects of checkpoints are called, and whose they are. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../recommender/checkpoint_names.h"
#include "suite.h"
#include "vpa/base/mem.h"

#define MANY 1000

static struct checkpoint_names names;

static void setup(void)
{
    names = (struct checkpoint_names){0};
}

static void teardown(void)
{
    checkpoint_names_release(&names);
}

/* What the pair's object is called in the namespace "n"; heap. */
static char *name_of(const char *vpa, const char *container)
{
    return checkpoint_names_assign(&names, checkpoint_names_entry(&names, "n", vpa, container));
}

static void expect_name(const char *vpa, const char *container, const char *want)
{
    vpa_auto_free char *name = name_of(vpa, container);

    ck_assert_str_eq(name, want);
}

static bool is_annotated(const char *vpa, const char *container)
{
    return checkpoint_names_entry(&names, "n", vpa, container)->annotated;
}

/* The name with a hash behind it that the second of the two pairs gets; heap. */
static char *hashed_name(void)
{
    struct checkpoint_names others = {0};
    struct checkpoint_entry *first = checkpoint_names_entry(&others, "n", "a", "b-c");
    struct checkpoint_entry *second = checkpoint_names_entry(&others, "n", "a-b", "c");
    vpa_auto_free char *plain = checkpoint_names_assign(&others, first);
    char *hashed = checkpoint_names_assign(&others, second);

    ck_assert_str_eq(plain, "a-b-c");
    checkpoint_names_release(&others);
    return hashed;
}

TEST(two_pairs_that_ask_for_one_name) {
    vpa_auto_free char *hashed = hashed_name();

    ck_assert_uint_eq(strlen(hashed), strlen("a-b-c-01234567"));
    ck_assert_int_eq(strncmp(hashed, "a-b-c-", 6), 0);
    for (int i = 0; i < 2; i++) { /* once decided on, it stays */
        expect_name("a", "b-c", "a-b-c");
        expect_name("a-b", "c", hashed);
        expect_name("other", "c", "other-c");
    }
    ck_assert_ptr_eq(checkpoint_names_entry(&names, "n", "a", "b-c"),
                     checkpoint_names_entry(&names, "n", "a", "b-c"));
    ck_assert_str_eq(checkpoint_entry_container(checkpoint_names_entry(&names, "n", "a-b", "c")),
                     "c");
    vpa_auto_free char *elsewhere =
        checkpoint_names_assign(&names, checkpoint_names_entry(&names, "m", "a-b", "c"));
    ck_assert_str_eq(elsewhere, "a-b-c"); /* free in another namespace */
}

/* Whoever has the object keeps it; who was found first when two say so. */
TEST_TIMES(the_owner_keeps_its_name, 2) {
    vpa_auto_free char *hashed = hashed_name();

    checkpoint_names_found(&names, "n", "a-b-c", "a", "b-c", _i == 1);
    checkpoint_names_found(&names, "n", "a-b-c", "a-b", "c", _i == 0);
    expect_name("a-b", "c", hashed);
    expect_name("a", "b-c", "a-b-c");
    ck_assert(!is_annotated("a-b", "c"));
    ck_assert(is_annotated("a", "b-c") == (_i == 1));
}

/* Once with a hash, always with it; and with what its object has. */
TEST_TIMES(the_owner_keeps_its_hashed_name, 2) {
    vpa_auto_free char *hashed = hashed_name();

    checkpoint_names_found(&names, "n", hashed, "a-b", "c", _i == 1);
    expect_name("a-b", "c", hashed);
    ck_assert(is_annotated("a-b", "c") == (_i == 1));
    expect_name("a", "b-c", "a-b-c");
    ck_assert(!is_annotated("a", "b-c"));
}

/* An object of each kind of name: the plain one counts. */
TEST(the_plain_name_counts_more) {
    vpa_auto_free char *hashed = hashed_name();

    checkpoint_names_found(&names, "n", hashed, "a-b", "c", true);
    checkpoint_names_found(&names, "n", "a-b-c", "a-b", "c", false);
    expect_name("a-b", "c", "a-b-c");
    ck_assert(!is_annotated("a-b", "c"));
}

/* A copy that was kept aside is nobody's; its name is never that of somebody's checkpoint. */
TEST(copies_take_no_name) {
    vpa_auto_free char *first = checkpoint_names_of_copy(&names, "n", "web-app");

    ck_assert_str_eq(first, "web-app-unreadable");
    checkpoint_names_found_copy(&names, "n", "web-app-unreadable");
    vpa_auto_free char *again = checkpoint_names_of_copy(&names, "n", "web-app");
    ck_assert_str_eq(again, "web-app-unreadable"); /* the newer one takes its place */
    vpa_auto_free char *pair = name_of("web-app", "unreadable");
    ck_assert_int_eq(strncmp(pair, "web-app-unreadable-", strlen("web-app-unreadable-")), 0);

    checkpoint_names_found(&names, "n", "db-app-unreadable", "db-app", "unreadable", false);
    vpa_auto_free char *other = checkpoint_names_of_copy(&names, "n", "db-app");
    ck_assert_int_eq(strncmp(other, "db-app-unreadable-", strlen("db-app-unreadable-")), 0);
    ck_assert_uint_eq(strlen(other), strlen("db-app-unreadable-01234567"));
    vpa_auto_free char *elsewhere = checkpoint_names_of_copy(&names, "m", "db-app");
    ck_assert_str_eq(elsewhere, "db-app-unreadable");
}

/* As long as a name may be; the end of what is common to all such names is no end of a name. */
static char *copy_of_a_long_name(char last)
{
    char object[CHECKPOINT_NAME_MAX + 1];

    memset(object, 'a', CHECKPOINT_NAME_MAX);
    memcpy(object + 220, "...---....---....", 17);
    object[CHECKPOINT_NAME_MAX - 1] = last;
    object[CHECKPOINT_NAME_MAX] = '\0';
    char *name = checkpoint_names_of_copy(&names, "n", object);

    ck_assert_uint_le(strlen(name), CHECKPOINT_NAME_MAX);
    ck_assert_int_eq(strncmp(name, object, 220), 0);
    ck_assert_int_eq(name[220], '-');
    ck_assert_ptr_nonnull(strstr(name, CHECKPOINT_UNREADABLE_SUFFIX));
    return name;
}

/* The API server takes no longer ones. */
TEST(copies_of_long_names_have_names) {
    vpa_auto_free char *first = copy_of_a_long_name('x');
    vpa_auto_free char *second = copy_of_a_long_name('y');
    vpa_auto_free char *again = copy_of_a_long_name('x');

    ck_assert_str_ne(first, second);
    ck_assert_str_eq(first, again);
}

/* A new list says which objects there are; of the entries nothing is forgotten. */
TEST(a_new_list_takes_the_place_of_the_old) {
    struct checkpoint_names listed = {0};

    checkpoint_names_found(&names, "n", "a-b-c", "a", "b-c", false);
    checkpoint_names_entry(&names, "n", "x", "y")->due = 7;
    checkpoint_names_found(&listed, "n", "d", "d", "e", false);
    checkpoint_names_take_objects(&names, &listed);
    ck_assert_uint_eq(names.object_count, 1);
    ck_assert_uint_eq(listed.object_count, 0);
    ck_assert_uint_eq(listed.object_capacity, 0);
    ck_assert_ptr_null(listed.objects);
    checkpoint_names_release(&listed);
    expect_name("a-b", "c", "a-b-c"); /* free by now */
    ck_assert_int_eq(checkpoint_names_entry(&names, "n", "x", "y")->due, 7);
}

static void take(struct checkpoint_names *listed)
{
    checkpoint_names_take_objects(&names, listed);
    checkpoint_names_release(listed);
}

/* Its object could not be created yet, or is one of a pair whose name has a hash. */
TEST_TIMES(a_name_that_was_decided_on_stays_taken, 2) {
    vpa_auto_free char *hashed = hashed_name();
    struct checkpoint_names listed = {0};

    expect_name("a", "b-c", "a-b-c");
    if (_i == 1)
        checkpoint_names_found(&listed, "n", "a-b-c", "a", "b-c", false);
    take(&listed);
    expect_name("a-b", "c", hashed);
    take(&listed);
    expect_name("a", "b-c", "a-b-c");
    expect_name("a-b", "c", hashed);
    ck_assert_uint_eq(names.object_count, 2);
}

/* Somebody has put it there under the name that was only decided on: what is stored counts. */
TEST(an_object_that_a_list_brought_belongs_to_its_owner) {
    vpa_auto_free char *hashed = hashed_name();
    struct checkpoint_names listed = {0};

    expect_name("a-b", "c", "a-b-c");
    checkpoint_names_entry(&names, "n", "a-b", "c")->written = true;
    checkpoint_names_found(&listed, "n", "a-b-c", "a", "b-c", true);
    take(&listed);
    ck_assert(!checkpoint_names_entry(&names, "n", "a-b", "c")->written);
    expect_name("a-b", "c", hashed);
    expect_name("a", "b-c", "a-b-c");
    checkpoint_names_found(&listed, "n", hashed, "somebody", "else", false);
    take(&listed);
    expect_name("a-b", "c", hashed); /* there is no third name */
}

/* The table grows, and each object is found in it. */
TEST(many_objects_are_known) {
    char vpa[16], object[32];

    for (int i = 0; i < MANY; i++) {
        snprintf(vpa, sizeof(vpa), "v%d", i);
        snprintf(object, sizeof(object), "v%d-c", i);
        checkpoint_names_found(&names, "n", object, vpa, "c", i % 3 == 0);
        checkpoint_names_found(&names, "n", object, "somebody", "else", true);
    }
    ck_assert_uint_eq(names.object_count, MANY);
    ck_assert_uint_lt(names.object_count * 4, names.object_capacity * 3 + 4);
    for (int i = 0; i < MANY; i++) {
        snprintf(vpa, sizeof(vpa), "v%d", i);
        snprintf(object, sizeof(object), "v%d-c", i);
        expect_name(vpa, "c", object);
        ck_assert(is_annotated(vpa, "c") == (i % 3 == 0));
    }
    ck_assert_uint_eq(names.object_count, MANY);
}

int main(void)
{
    return run_tests("recommender_checkpoint_names", setup, teardown);
}
