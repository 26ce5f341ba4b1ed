/* test: np=2,4 timeout=60 san=no cfg=COLL_SHM=yes */
/*
 * One rank gets no memory when that which ranks share is made: neither a mapping nor, in another
 * communicator, a piece of its own. All go on without, and make it for the communicators after that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mp_test.h"

static int fails_map, fails_alloc, n_failed, n_here; /* n_here: ranks on this host */

/* In front of the C library's. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fails_map && (flags & MAP_SHARED) != 0) {
        fails_map = 0;
        n_failed++;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

extern void *__libc_calloc(size_t n, size_t size);

void *calloc(size_t n, size_t size)
{
    if (fails_alloc) {
        fails_alloc = 0;
        n_failed++;
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(n, size);
}

static void work(MPI_Comm comm)
{
    int rank;

    MUST(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < 40; i++) {
        int sum = -1, root = i % mp_size, all[64] = {0};

        MUST(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQ(sum, i * mp_size);
        MUST(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, comm));
        CHECK(rank != root || all[mp_size - 1] == mp_size - 1);
    }
}

/* The second collective of a communicator makes its memory. */
static void deny(int who, int *fails)
{
    MPI_Comm comm;

    /* in an order of its own: memory of a freed communicator is kept for the next one of the same group */
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, (mp_rank + who) % mp_size, &comm));
    MUST(MPI_Barrier(comm));
    n_failed = 0;
    *fails = mp_rank == who;
    MUST(MPI_Barrier(comm));
    *fails = 0;
    /* One that is alone on its host shares none; MPICH and others do not make it here. */
    CHECK(mp_rank != who || n_failed == 1 || n_here == 1 || !mp_is_library("Datum"));
    work(comm);
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    MPI_Comm here;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    MUST(MPI_Comm_size(here, &n_here));
    MUST(MPI_Comm_free(&here));
    work(MPI_COMM_WORLD);
    for (int who = 0; who < mp_size; who++) {
        deny(who, &fails_map);
        deny(who, &fails_alloc);
    }
    return mp_finish();
}
