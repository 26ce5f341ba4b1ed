/* test: np=1,2,3 timeout=30 */
/*
 * Hints of communicators, which add up and which a duplicate does not get; MPI_Comm_split_type of
 * hardware by name and of any; overlapping groups of an intercommunicator.
 */
#include "mp_test.h"

#include <sched.h>

#define KEY "mpi_hw_resource_type"

static int has(MPI_Comm comm, const char *key, const char *want)
{
    char value[64] = "";
    int flag;
    MPI_Info info;

    MUST(MPI_Comm_get_info(comm, &info));
    MUST(MPI_Info_get(info, key, sizeof(value) - 1, value, &flag));
    MUST(MPI_Info_free(&info));
    return flag && strcmp(value, want) == 0;
}

static MPI_Info hint(const char *key, const char *value)
{
    MPI_Info info;

    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, key, value));
    return info;
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = hint(key, value);

    MUST(MPI_Comm_set_info(comm, info));
    MUST(MPI_Info_free(&info));
}

static void hints(void)
{
    MPI_Comm comm, copy;
    MPI_Info info;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    set(comm, "mpi_assert_no_any_tag", "true");
    set(comm, "mpi_assert_allow_overtaking", "true");
    CHECK(has(comm, "mpi_assert_no_any_tag", "true"));
    CHECK(has(comm, "mpi_assert_allow_overtaking", "true"));
    set(comm, "mpi_assert_no_any_tag", "false");
    CHECK(has(comm, "mpi_assert_no_any_tag", "false"));
    CHECK(has(comm, "mpi_assert_allow_overtaking", "true"));
    MUST(MPI_Comm_dup(comm, &copy));
    CHECK(!has(copy, "mpi_assert_allow_overtaking", "true"));
    MUST(MPI_Comm_free(&copy));
    info = hint("mpi_assert_exact_length", "true");
    MUST(MPI_Comm_dup_with_info(comm, info, &copy));
    CHECK(has(copy, "mpi_assert_exact_length", "true"));
    CHECK(!has(copy, "mpi_assert_allow_overtaking", "true"));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Comm_free(&copy));
    MUST(MPI_Comm_free(&comm));
}

static int is_one_host(void)
{
    MPI_Comm shared;
    int size;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    MUST(MPI_Comm_size(shared, &size));
    MUST(MPI_Comm_free(&shared));
    return size == mp_size;
}

/* All ranks of the test are on one host, or on several. */
static void hardware(void)
{
    MPI_Info info = hint(KEY, "mpi_shared_memory");
    MPI_Comm shared, comm;
    char value[64] = "";
    int result, flag, size;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
    CHECK(comm != MPI_COMM_NULL);
    MUST(MPI_Comm_compare(comm, shared, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Info_set(info, KEY, "a thing nobody has"));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Info_delete(info, KEY));
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &comm));
    MUST(MPI_Info_get(info, KEY, sizeof(value) - 1, value, &flag));
    CHECK_EQ(flag, comm != MPI_COMM_NULL);
    if (comm != MPI_COMM_NULL) {
        MUST(MPI_Comm_size(comm, &size));
        CHECK(size < mp_size);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_free(&shared));
    MUST(MPI_Info_free(&info));
}

/* Below the host: who is bound to one core shares it with nobody who is bound to another. */
static void below_host(void)
{
    static const char *const names[] = {"hwloc://Package", "NUMANode", "l3cache", "core", "pu"};
    cpu_set_t before, one;
    int n_cores, mine = -1, cores[64], n_same = 0, size;
    MPI_Comm comm;

    CHECK(sched_getaffinity(0, sizeof(before), &before) == 0);
    n_cores = CPU_COUNT(&before);
    for (int i = 0, k = 0; i < CPU_SETSIZE && mine < 0; i++)
        if (CPU_ISSET(i, &before) && k++ == mp_rank % n_cores)
            mine = i;
    CPU_ZERO(&one);
    CPU_SET(mine, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    MUST(MPI_Allgather(&mine, 1, MPI_INT, cores, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < mp_size; i++)
        n_same += cores[i] == mine;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        MPI_Info info = hint(KEY, names[i]);
        int type = MPI_COMM_TYPE_HW_GUIDED;

        MUST(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &comm));
        if (strcmp(names[i], "pu") == 0 && is_one_host()) {
            MUST(MPI_Comm_size(comm, &size));
            CHECK_EQ(size, n_same);
        }
        if (comm != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&comm));
        /* Some do not take part. */
        MUST(MPI_Comm_split_type(MPI_COMM_WORLD, mp_rank == 0 ? MPI_UNDEFINED : type, 0, info,
                                 &comm));
        CHECK(mp_rank != 0 || comm == MPI_COMM_NULL);
        if (comm != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&comm));
        MUST(MPI_Info_free(&info));
    }
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm));
    CHECK_EQ(comm != MPI_COMM_NULL, n_same < mp_size || !is_one_host());
    if (comm != MPI_COMM_NULL) {
        MUST(MPI_Comm_size(comm, &size));
        CHECK(size < mp_size);
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD,
                             mp_rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_HW_UNGUIDED, 0,
                             MPI_INFO_NULL, &comm));
    if (comm != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&comm));
    CHECK(sched_setaffinity(0, sizeof(before), &before) == 0);
}

/* Every rank would be on both sides. */
static void overlap(void)
{
    MPI_Comm inter = MPI_COMM_WORLD;

    FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, 4, &inter), MPI_ERR_COMM);
    CHECK(inter == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    hints();
    hardware();
    if (!mp_is_library("MPICH")) /* binds by what Hydra says */
        below_host();
    if (!mp_is_library("MPICH")) /* finds only some overlaps, and not at every rank */
        overlap();
    return mp_finish();
}
