/* test: layers=util,pmi,tools_mpiexec timeout=20 */
/* mpiexec's command line, placement of ranks on hosts, the key-value space. */
#include "tools/mpiexec/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "tools/mpiexec/kvs.h"
#include "tools/mpiexec/placement.h"
#include "util/err.h"

static struct dm_launch_options options;
static struct dm_launch_place place;

#define PARSE(...) dm_launch_options_parse(&options, (char *[]){"mpiexec", __VA_ARGS__, NULL})

static void two_programs(void)
{
    CHECK_EQ(PARSE("-genv", "A", "1", "-n", "2", "--env=B=2", "one", "-x", ":", "-np=3", "two"),
             DM_OK);
    CHECK_EQ(options.n_apps, 2);
    CHECK_EQ(options.apps[0].n, 2);
    CHECK_STR(options.apps[0].argv[0], "one");
    CHECK_STR(options.apps[0].argv[1], "-x");
    CHECK(options.apps[0].argv[2] == NULL);
    CHECK_STR(options.apps[0].env.sets.list[0], "B=2");
    CHECK_STR(options.env.sets.list[0], "A=1");
    CHECK_EQ(options.apps[1].n, 3);
    CHECK_STR(options.apps[1].argv[0], "two");
    dm_launch_options_free(&options);
}

static void wrong_options(void)
{
    CHECK_EQ(PARSE("-n", "0", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-n", "1"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-n", "1", "one", ":"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-nope", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
}

static void place_all(const char *hosts, const struct dm_launch_options *some)
{
    memset(&place, 0, sizeof(place));
    CHECK(dm_launch_place_hosts(&place, hosts));
    CHECK(dm_launch_place_ranks(&place, some));
}

/* Where the ranks of -map-by node are: a digit each. */
static void places_by_node(const char *hosts, int ppn, int n, const char *want)
{
    struct dm_launch_app app = {.n = n};
    struct dm_launch_options some = {
        .apps = &app, .n_apps = 1, .ppn = ppn, .map = {.is_by_node = true}};
    char text[32] = "";

    place_all(hosts, &some);
    for (int i = 0; i < place.n_ranks; i++)
        text[i] = (char)('0' + place.host_of[i]);
    CHECK_STR(text, want);
    dm_launch_place_free(&place);
}

static void by_node(void)
{
    places_by_node("a,b,c", 0, 5, "01201");
    places_by_node("a:2,b:4", 0, 0, "010111");
    places_by_node("a:2,b:4", 0, 9, "010111010");
    places_by_node("a,b", 3, 0, "010101");
}

/* Options of Open MPI that need more than a row. */
static void map_options(void)
{
    CHECK_EQ(PARSE("--map-by", "ppr:3:node:PE=2,OVERSUBSCRIBE", "-n", "6", "one"), DM_OK);
    CHECK_EQ(options.ppn, 3);
    CHECK_STR(options.bind_to, "core:2");
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("--map-by", "node", "--rank-by", "node", "one"), DM_OK);
    CHECK(options.map.is_by_node && options.map_by == NULL);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("--map-by", "node", "--rank-by", "slot", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("--map-by", "slot:PE=0", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
}

/* Places what the words ask for, and compares the mapping. */
static void places(const char *hosts, int ppn, int n, const char *mapping)
{
    struct dm_launch_app app = {.n = n};
    struct dm_launch_options some = {.apps = &app, .n_apps = 1, .ppn = ppn};
    char text[256];

    place_all(hosts, &some);
    CHECK(dm_launch_place_mapping(&place, text, sizeof(text)));
    CHECK_STR(text, mapping);
    dm_launch_place_free(&place);
}

static void many_places(void)
{
    places("a", 0, 4, "(vector,(0,1,4))");
    places("a,b,c", 0, 7, "(vector,(0,3,1))");
    places("a,b", 2, 8, "(vector,(0,2,2))");
    places("a:2,b:1", 0, 0, "(vector,(0,1,2),(1,1,1))");
    places("a:2,b:1", 0, 6, "(vector,(0,1,2),(1,1,1),(0,1,2),(1,1,1))");
    places("a:3,b", 0, 2, "(vector,(0,1,2))");
    places("a,a,b", 0, 0, "(vector,(0,1,2),(1,1,1))");
    CHECK(!dm_launch_place_hosts(&place, "a:0"));
    CHECK(!dm_launch_place_hosts(&place, ":3"));
}

/* The host of each rank, by the first letter of its name. */
static void each_rank(const char *want)
{
    char text[32] = "";

    for (int rank = 0; rank < place.n_ranks; rank++)
        text[rank] = place.hosts[place.host_of[rank]].name[0];
    CHECK_STR(text, want);
}

/* Programs with hosts of their own, beside those of the job. */
static void own_places(void)
{
    CHECK_EQ(PARSE("-host", "b:2,c", "-n", "4", "one", ":", "-n", "3", "two", ":", "-host", "d",
                   "three"),
             DM_OK);
    memset(&place, 0, sizeof(place));
    CHECK(dm_launch_place_hosts(&place, "a,b"));
    CHECK(dm_launch_place_ranks(&place, &options));
    CHECK_EQ(place.n_hosts, 4);
    each_rank("bbcbabad");
    CHECK_EQ(place.app_of[3], 0);
    CHECK_EQ(place.app_of[4], 1);
    CHECK_EQ(place.app_of[7], 2);
    dm_launch_place_free(&place);
    dm_launch_options_free(&options);

    CHECK_EQ(PARSE("-host", "b:2,c:3", "one"), DM_OK);
    memset(&place, 0, sizeof(place));
    CHECK(dm_launch_place_ranks(&place, &options));
    each_rank("bbccc");
    dm_launch_place_free(&place);
    dm_launch_options_free(&options);
}

static void soft_numbers(void)
{
    CHECK_EQ(PARSE("-n", "4", "-soft", "1:10:2", "one"), DM_OK);
    CHECK_EQ(options.apps[0].n, 3);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-soft", "2,5", "one", ":", "-n", "2", "two"), DM_OK);
    CHECK_EQ(options.apps[0].n, 5);
    CHECK_EQ(options.apps[1].n, 2);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-n", "4", "-soft", "5:9", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-n", "4", "-soft", "0", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
    CHECK_EQ(PARSE("-n", "4", "-soft", "few", "one"), DM_ELAUNCH);
    dm_launch_options_free(&options);
}

/* What Slurm says of the hosts of a job. */
static void slurm_hosts(void)
{
    memset(&place, 0, sizeof(place));
    setenv("SLURM_JOB_ID", "1", 1);
    setenv("SLURM_JOB_NODELIST", "n[08-10,12]-x,head", 1);
    setenv("SLURM_TASKS_PER_NODE", "2(x3),1,4", 1);
    CHECK(dm_launch_place_resources(&place));
    CHECK_EQ(place.n_hosts, 5);
    CHECK_STR(place.hosts[0].name, "n08-x");
    CHECK_STR(place.hosts[2].name, "n10-x");
    CHECK_EQ(place.hosts[2].slots, 2);
    CHECK_STR(place.hosts[3].name, "n12-x");
    CHECK_EQ(place.hosts[3].slots, 1);
    CHECK_STR(place.hosts[4].name, "head");
    CHECK_EQ(place.hosts[4].slots, 4);
    dm_launch_place_free(&place);
}

static void many_pairs(void)
{
    struct dm_launch_kvs kvs;
    char key[32];
    char value[32];

    dm_launch_kvs_init(&kvs);
    CHECK(dm_launch_kvs_get(&kvs, "key") == NULL);
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "value %d", i);
        CHECK(dm_launch_kvs_put(&kvs, key, value));
    }
    CHECK(dm_launch_kvs_put(&kvs, "key-7", "other"));
    CHECK_EQ(kvs.n_pairs, 1000);
    CHECK_STR(dm_launch_kvs_get(&kvs, "key-7"), "other");
    CHECK_STR(dm_launch_kvs_get(&kvs, "key-999"), "value 999");
    CHECK(dm_launch_kvs_get(&kvs, "key-1000") == NULL);
    dm_launch_kvs_fini(&kvs);
}

int main(void)
{
    CHECK(freopen("/dev/null", "w", stderr) != NULL);
    two_programs();
    wrong_options();
    many_places();
    own_places();
    by_node();
    map_options();
    soft_numbers();
    slurm_hosts();
    many_pairs();
    return test_result();
}
