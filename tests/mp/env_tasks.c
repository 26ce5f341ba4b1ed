/* test: np=8 prov=datum-shm cfg=CONNECT=demand */
/*
 * What a process costs inside a host: one thread beside its own, which answers connection requests
 * while the program computes, too; and a descriptor for each peer, beside those of a few files with rings.
 */
#include "mp_test.h"

#include <dirent.h>

enum { FILES = 6 };

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int n = 0;

    CHECK(dir != NULL);
    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    int n_tasks = count_entries("/proc/self/task"); /* a sanitizer may have one of its own */
    int n_fds;
    int mine;
    int theirs = -1;

    mp_start(&argc, &argv);
    n_fds = count_entries("/proc/self/fd");
    for (int d = 1; d < mp_size; d++) {
        mine = mp_rank;
        MUST(MPI_Sendrecv(&mine, 1, MPI_INT, (mp_rank + d) % mp_size, 0, &theirs, 1, MPI_INT,
                          (mp_rank + mp_size - d) % mp_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(theirs, (mp_rank + mp_size - d) % mp_size);
    }
    CHECK(count_entries("/proc/self/fd") <= n_fds + mp_size - 1 + FILES);
    CHECK(count_entries("/proc/self/task") <= n_tasks + 1);
    return mp_finish();
}
