#!/bin/bash
# test: timeout=300
# A process of a connected job is killed, under one mpiexec: with MPI_ERRORS_RETURN it is an error of
# the other job's calls, by default the end of both, after parting it is nothing.
. "$TEST_LIB"

cat >kin.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* kin WHO-DIES HANDLER WHEN N: parent or child; return, fatal or late; talk, merged, parted */
static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
static void wait_for_end(int pid)
{
    while (kill(pid, 0) == 0)
        usleep(10000);
}
int main(int argc, char **argv)
{
    MPI_Comm inter, both = MPI_COMM_NULL, comm;
    int rank, is_child, pid = (int)getpid(), pids[16], n, value = 0, code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&inter);
    is_child = inter != MPI_COMM_NULL;
    if (!is_child) {
        if (is(argv[2], "return"))
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Comm_spawn(argv[0], argv + 1, atoi(argv[4]), MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                           &inter, MPI_ERRCODES_IGNORE) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (!is(argv[2], "fatal"))
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(inter, &n);
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, inter);
    comm = inter;
    if (is(argv[3], "merged")) {
        MPI_Intercomm_merge(inter, is_child, &both);
        MPI_Comm_free(&inter);
        comm = both;
    }
    if (is(argv[3], "parted"))
        MPI_Comm_disconnect(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (comm != MPI_COMM_NULL)
        MPI_Barrier(comm);
    if (is(argv[1], is_child ? "child" : "parent"))
        for (;;)
            pause();
    /* The others die when all who live are done with them. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n && rank == 0; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < n; i++)
        wait_for_end(pids[i]);
    if (comm != MPI_COMM_NULL) {
        code = MPI_Recv(&value, 1, MPI_INT, is(argv[3], "merged") ? MPI_ANY_SOURCE : 0, 9, comm,
                        MPI_STATUS_IGNORE);
        printf("%s\n", code != MPI_SUCCESS ? "error" : "no error");
    }
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("alive\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
END
mpicc kin.c -o kin || fail "kin.c does not compile"

# dies WHAT-IS-SAID N-PARENTS ARGUMENTS...: the status is that of the killed one
dies() {
    local want=$1 n=$2 got rc
    shift 2
    timeout 60 mpiexec -n "$n" ./kin "$@" >said 2>err
    rc=$?
    got=$(sort said | uniq -c | awk '{ printf "%s%s%s", (NR > 1 ? ", " : ""), $1, $2 }')
    if [ $rc -eq 137 ] && [ "$got" = "$want" ] && ! pgrep -f "^./kin $*" >/dev/null; then
        pass_one
    else
        fail_one "$DATUM_PROVIDER: $n $*: status $rc, said $got"
        tail -n 20 err
    fi
}

for prov in datum-shm datum-tcp; do
    export DATUM_PROVIDER=$prov
    for who in child parent; do
        dies '1alive, 1error' 1 $who return talk 1
        dies '2alive, 2error' 2 $who return talk 2
        dies '2alive, 2error' 2 $who late talk 2
        dies '' 2 $who fatal talk 2
        dies '2alive' 2 $who return parted 2
        dies '2alive' 2 $who fatal parted 2
    done
done
totals
