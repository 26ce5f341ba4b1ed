#!/bin/bash
# test: timeout=400
# kill -9 of a parent, a child, the root or the launcher in each phase of spawning, talking and parting: all ends in
# seconds with the status of the killed one, and nothing is left.
. "$TEST_LIB"

cat >victim.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static char **words;
/* victim WHO PHASE: root, parent, child, launcher */
static void phase(const char *name, int is_child, int rank)
{
    const char *who = words[1];

    if (strcmp(words[2], name) != 0)
        return;
    if (strcmp(who, "launcher") == 0 && is_child && rank == 0)
        kill(getppid(), SIGKILL);
    else if (is_child ? strcmp(who, "child") == 0 && rank == 1
                      : strcmp(who, rank == 0 ? "root" : "parent") == 0)
        raise(SIGKILL);
}
int main(int argc, char **argv)
{
    int rank, is_child = argc > 3, buf[2000] = {0}, all[8000];
    MPI_Comm inter, both;

    words = argv;
    phase("before", is_child, is_child && getenv("PMI_RANK") != NULL ? atoi(getenv("PMI_RANK")) : -1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is_child) {
        MPI_Comm_get_parent(&inter);
    } else {
        char *args[] = {words[1], words[2], "child", NULL};

        MPI_Comm_spawn(words[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    }
    phase("connected", is_child, rank);
    MPI_Allgather(buf, 1, MPI_INT, all, 1, MPI_INT, inter);
    MPI_Intercomm_merge(inter, is_child, &both);
    phase("merged", is_child, rank);
    for (int i = 0; i < 100; i++) {
        if (i == 50)
            phase("talking", is_child, rank);
        MPI_Allgather(buf, 2000, MPI_INT, all, 2000, MPI_INT, both);
    }
    MPI_Comm_free(&both);
    phase("parting", is_child, rank);
    MPI_Comm_disconnect(&inter);
    MPI_Barrier(MPI_COMM_WORLD);
    phase("past", is_child, rank);
    MPI_Finalize();
    return 0;
}
END
mpicc victim.c -o victim || fail "victim.c does not compile"
program=$PWD/victim

left() { # is anything left after five seconds?
    local i
    for ((i = 0; i < 50; i++)); do
        pgrep -f "$program" >/dev/null || return 1
        sleep 0.1
    done
}

for prov in datum-shm datum-tcp; do
    export DATUM_PROVIDER=$prov
    for when in before connected merged talking parting past; do
        for who in root parent child launcher; do
            [ "$when" != before ] || [ "$who" = child ] || [ "$who" = launcher ] || continue
            timeout 60 mpiexec -n 2 "$program" $who $when >said 2>&1
            rc=$?
            if [ $rc -ne 137 ]; then
                fail_one "$prov: $who, $when: status $rc"
                tail -n 20 said
            elif left; then
                fail_one "$prov: $who, $when: processes are left"
                pgrep -af "$program"
            else
                pass_one
            fi
        done
    done
done
totals
