#!/bin/bash
# test: timeout=400
# Jobs of different mpiexecs, and processes that nobody has started, meet at ports: over each software
# provider; many at once; the port of a process that is gone; a job that dies while it is connected,
# and after it has parted.
. "$TEST_LIB"

cat >meet.c <<'END'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
}
/* The name of a port goes by a file. */
static void write_port(const char *file, const char *port)
{
    char tmp[300];
    FILE *f;

    snprintf(tmp, sizeof(tmp), "%s.new", file);
    f = fopen(tmp, "w");
    fputs(port, f);
    fclose(f);
    rename(tmp, file);
}
static void read_port(const char *file, char *port)
{
    FILE *f;

    while ((f = fopen(file, "r")) == NULL)
        usleep(10000);
    if (fgets(port, MPI_MAX_PORT_NAME, f) == NULL)
        port[0] = '\0';
    fclose(f);
}
static void talk(MPI_Comm inter, int high)
{
    int rank, sum, size, *all;
    MPI_Comm both;

    must(MPI_Intercomm_merge(inter, high, &both));
    must(MPI_Comm_rank(both, &rank));
    must(MPI_Comm_size(both, &size));
    must(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both));
    if (sum != size * (size - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 4);
    all = malloc((size_t)size * 100000 * sizeof(int));
    for (int i = 0; i < 100000; i++)
        all[rank * 100000 + i] = rank + i;
    must(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 100000, MPI_INT, both));
    for (int i = 0; i < size * 100000; i++)
        if (all[i] != i / 100000 + i % 100000)
            MPI_Abort(MPI_COMM_WORLD, 5);
    free(all);
    must(MPI_Comm_free(&both));
}
int main(int argc, char **argv)
{
    const char *how = argv[1], *file = argv[2];
    int n = argc > 3 ? atoi(argv[3]) : 1, rank, code, class, n_others, others[64];
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "accept") == 0) {
        if (rank == 0) {
            must(MPI_Open_port(MPI_INFO_NULL, port));
            write_port(file, port);
        }
        for (int i = 0; i < n; i++) {
            must(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
            talk(inter, 0);
            must(MPI_Comm_disconnect(&inter));
        }
    } else if (strcmp(how, "connect") == 0) {
        if (rank == 0)
            read_port(file, port);
        for (int i = 0; i < n; i++) {
            must(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
            talk(inter, 1);
            must(MPI_Comm_disconnect(&inter));
        }
    } else if (strcmp(how, "refused") == 0) { /* the port is of a process that is gone */
        if (rank == 0)
            read_port(file, port);
        must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Error_class(code, &class);
        printf("class %s\n", class == MPI_ERR_PORT ? "port" : "another");
    } else if (strcmp(how, "die") == 0 || strcmp(how, "bereft") == 0) {
        if (strcmp(how, "die") == 0) {
            if (rank == 0) {
                must(MPI_Open_port(MPI_INFO_NULL, port));
                write_port(file, port);
            }
            must(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
        } else {
            if (rank == 0)
                read_port(file, port);
            must(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
        }
        talk(inter, strcmp(how, "die"));
        code = (int)getpid();
        must(MPI_Comm_remote_size(inter, &n_others));
        must(MPI_Allgather(&code, 1, MPI_INT, others, 1, MPI_INT, inter));
        if (n == 0)
            must(MPI_Comm_disconnect(&inter));
        if (strcmp(how, "die") == 0)
            raise(SIGKILL);
        if (n == 0) {
            for (int i = 0; i < n_others; i++)
                while (kill(others[i], 0) == 0)
                    usleep(10000);
            sleep(1); /* what their end could do to us would be done by now */
            printf("alive\n");
        } else {
            must(MPI_Recv(&code, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
        }
    }
    MPI_Finalize();
    return 0;
}
END
mpicc meet.c -o meet || fail "meet.c does not compile"

# both NAME ACCEPTOR... -- CONNECTOR...: both end well.
both() {
    name=$1 first=()
    shift
    while [ "$1" != -- ]; do first+=("$1"); shift; done
    shift
    rm -f port
    timeout 60 "${first[@]}" >first.out 2>&1 &
    first_pid=$!
    timeout 60 "$@" >second.out 2>&1
    second_rc=$?
    wait $first_pid
    first_rc=$?
    if [ $first_rc -eq 0 ] && [ $second_rc -eq 0 ] && [ ! -s first.out ] && [ ! -s second.out ]; then
        pass_one
    else
        fail_one "$name: $first_rc and $second_rc"
        tail -n 20 first.out second.out
    fi
}

n_many=16
[ -z "${TEST_FULL:-}" ] || n_many=64
for prov in datum-shm datum-tcp; do
    export DATUM_PROVIDER=$prov
    both "$prov: 2 and 2" mpiexec -n 2 ./meet accept port 2 -- mpiexec -n 2 ./meet connect port 2
    both "$prov: 3 and 1" mpiexec -n 3 ./meet accept port -- mpiexec -n 1 ./meet connect port
    both "$prov: nobody's and 2" ./meet accept port 3 -- mpiexec -n 2 ./meet connect port 3
    both "$prov: 2 and nobody's" mpiexec -n 2 ./meet accept port -- ./meet connect port
    both "$prov: nobody's and nobody's" ./meet accept port 5 -- ./meet connect port 5

    # many at once
    rm -f port
    timeout 100 ./meet accept port $n_many >first.out 2>&1 &
    first_pid=$!
    pids=
    for i in $(seq $n_many); do
        timeout 100 ./meet connect port >many.$i 2>&1 &
        pids="$pids $!"
    done
    n_failed_many=0
    for pid in $pids; do wait "$pid" || n_failed_many=$((n_failed_many + 1)); done
    wait $first_pid
    rc=$?
    if [ $rc -eq 0 ] && [ $n_failed_many -eq 0 ]; then
        pass_one
    else
        fail_one "$prov: $n_many at once: $rc, $n_failed_many of them failed"
        tail -n 5 first.out many.*
    fi

    # the port of a process that has ended
    said=$(DATUM_TIMEOUT=5s timeout 60 mpiexec -n 2 ./meet refused port 2>&1)
    if [ "$said" = "$(printf 'class port\nclass port')" ]; then
        pass_one
    else
        fail_one "$prov: a dead port: $said"
    fi

    # the other job dies: connected, it is the end of this one; parted, it is not
    rm -f port
    timeout 60 mpiexec -n 2 ./meet die port 1 >first.out 2>&1 &
    first_pid=$!
    timeout 60 mpiexec -n 2 ./meet bereft port 1 >second.out 2>&1
    rc=$?
    wait $first_pid
    if [ $rc -ne 0 ] && [ $rc -ne 124 ] && grep -q "is gone\|is lost" second.out; then
        pass_one
    else
        fail_one "$prov: a connected job died: $rc"
        tail -n 20 second.out
    fi
    rm -f port
    timeout 60 mpiexec -n 2 ./meet die port 0 >first.out 2>&1 &
    first_pid=$!
    timeout 60 mpiexec -n 2 ./meet bereft port 0 >second.out 2>&1
    rc=$?
    wait $first_pid
    if [ $rc -eq 0 ] && [ "$(cat second.out)" = "$(printf 'alive\nalive')" ]; then
        pass_one
    else
        fail_one "$prov: a job died that had parted: $rc"
        tail -n 20 second.out
    fi
done
totals
