/* test: np=1,2,5 timeout=30 */
/*
 * MPIX_COMM_TYPE_NEIGHBORHOOD: those that share a directory. (MPICH waits for ever when there is none of that name,
 * and when not all name the same one.)
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mp_test.h"

#define KEY "nbhd_common_dirname"

/* Ranks in the part that a directory of this name gives, 0: no part. */
static int n_with(const char *dir, int type)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm = MPI_COMM_SELF;
    int n = 0, rank, before = mp_rank, low;

    if (dir != NULL) {
        MUST(MPI_Info_create(&info));
        MUST(MPI_Info_set(info, KEY, dir));
    }
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, type, -mp_rank, info, &comm));
    if (comm != MPI_COMM_NULL) {
        MUST(MPI_Comm_size(comm, &n));
        MUST(MPI_Comm_rank(comm, &rank));
        MUST(MPI_Allreduce(&before, &low, 1, MPI_INT, MPI_MIN, comm));
        CHECK_EQ(rank == n - 1, mp_rank == low); /* ordered by key */
        MUST(MPI_Comm_free(&comm));
    }
    if (info != MPI_INFO_NULL)
        MUST(MPI_Info_free(&info));
    return n;
}

/* Ranks on this host. */
static int n_here(void)
{
    MPI_Comm here;
    int n;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    MUST(MPI_Comm_size(here, &n));
    MUST(MPI_Comm_free(&here));
    return n;
}

/* Nothing is left behind. */
static int n_files(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    CHECK(d != NULL);
    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    int type = MPIX_COMM_TYPE_NEIGHBORHOOD;
    char own[64];

    mp_start(&argc, &argv);
    CHECK_EQ(n_with(".", type), mp_size);
    CHECK_EQ(n_with(NULL, type), 0);
    if (!mp_is_library("Datum"))
        return mp_finish();
    snprintf(own, sizeof(own), "dir-%d", mp_rank);
    MUST(mkdir(own, 0700));
    /* One each, one under two names, one that only others name, none that is there, a file. */
    CHECK_EQ(n_with(own, type), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(n_with(mp_rank % 2 ? "dir-0" : "./dir-0/../dir-0/.", type), mp_size);
    CHECK_EQ(n_with(mp_rank == 0 ? "/no/such" : "dir-0", type), mp_rank == 0 ? 0 : mp_size - 1);
    CHECK_EQ(n_with(mp_rank == 0 ? NULL : "dir-0", type), mp_rank == 0 ? 0 : mp_size - 1);
    CHECK_EQ(n_with("/etc/passwd", type), 0);
    CHECK_EQ(n_with("dir-0", mp_rank == 0 ? MPI_UNDEFINED : type), mp_rank == 0 ? 0 : mp_size - 1);
    /* Nobody may write there, not even the administrator; each host has its own. */
    CHECK_EQ(n_with("/proc", type), n_here());
    CHECK_EQ(n_files(own), 2);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(rmdir(own));
    return mp_finish();
}
