#!/bin/bash
# test: timeout=120
# The PMIx client: against a library of the test's own that answers as it is told, and
# under the mpirun of Open MPI, if that is there.
. "$TEST_LIB"

datum-info --build | grep -q 'PMIx (' || skip 'Datum was built without PMIx (package libpmix-dev)'
cat >prog.c <<'END2'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0, has, *universe, *appnum;
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &has);
    printf("rank %d of %d, sum %d, universe %d", rank, size, sum, has ? *universe : -1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &has);
    printf(", appnum %d\n", has ? *appnum : -1);
    fflush(stdout);
    if (strcmp(how, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 13);
    if (strcmp(how, "exit") == 0 && rank == size - 1) exit(5);
    if (*how != '\0') MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
END2
mpicc -o prog prog.c || fail 'prog.c does not compile'
flags=$(sed -n 's/^PMIX_CPPFLAGS = //p' "$DATUM_BUILD/config.mk")
${CC:-cc} -shared -fPIC $flags -o libfake.so "$TEST_SRC/tests/input/fake_pmix.c" ||
    fail 'fake_pmix.c does not compile'

# fake VARIABLE=VALUE... [ARGUMENT]: a process of the fake launcher.
fake() {
    env PMIX_RANK=0 PMIX_NAMESPACE=fake DATUM_PMIX_LIB=$PWD/libfake.so DATUM_EXPLAIN=1 \
        "${@:1:$#-1}" ./prog ${!#}
}
prints() { # PATTERN COMMAND...
    local pattern=$1
    shift
    "$@" 2>&1 | tee said | grep -Eqe "$pattern" && return
    cat said
    return 1
}

check 'a job of one' prints '^rank 0 of 1, sum 0, universe 9, appnum -1$' fake FAKE_SIZE=1 ''
check 'it says who launched' prints 'launcher: PMIx \(PMIX_NAMESPACE is fake\), 1 process on 1 host$' \
    fake FAKE_NODES=a FAKE_PEERS=a:0 ''
check_fails 'no server' 'PMIx_Init.*SOME-ERROR \(-25\)' fake FAKE_INIT=-25 ''
check_fails 'no size' 'says rank 0 of 0' fake FAKE_SIZE=0 ''
check_fails 'a size that is none' 'says rank 0 of -1' fake FAKE_SIZE=text ''
check_fails 'a rank that is none' 'says rank 3 of 3' fake FAKE_SIZE=3 FAKE_RANK=3 ''
check_fails 'a failing fence' 'PMIx_Fence' fake FAKE_FENCE=-1 ''
check 'a failing end' prints 'MPI_Finalize: .*PMIx_Finalize' fake FAKE_FINALIZE=-1 ''

# Ranks that are not there: the client knows the hosts, then finds no addresses.
alone="FAKE_SIZE=3 FAKE_NODES=b,a"
check 'hosts' prints 'launcher: PMIx .*, 3 processes on 2 hosts$' \
    fake $alone 'FAKE_PEERS=a:0,2;b:1' DATUM_TIMEOUT=1s ''
check_fails 'no addresses' 'no process has published the key datum-addr-[01]' \
    fake $alone 'FAKE_PEERS=a:0,2;b:1' FAKE_RANK=2 DATUM_CONNECT=start DATUM_TIMEOUT=1s ''
for peers in 'a:0,2' 'a:0,2;b:3' 'a:0,1;b:1,2' 'a:0,0;b:1' 'a:0;b:1'; do
    check_fails "hosts that cannot be: $peers" 'no process has published the key host-1' \
        fake $alone "FAKE_PEERS=$peers" ''
done
for value in number long; do
    check_fails "a damaged value: $value" 'no usable value' fake FAKE_SIZE=1 FAKE_VALUE=$value ''
done
check_fails 'a lost server' 'LOST' fake FAKE_SIZE=1 FAKE_VALUE=lost ''

check 'MPI_Abort' prints '^abort 13: MPI_Abort' fake FAKE_SIZE=1 abort
aborted() { fake FAKE_SIZE=1 abort >said 2>&1; [ $? = 90 ]; }
check "MPI_Abort's exit status is the launcher's" aborted

# Which way is chosen.
check_fails 'no library' 'PMIX_RANK is 0.*PMIx cannot be used: /no/lib' \
    fake DATUM_PMIX_LIB=/no/lib.so ''
check_fails 'another library' 'has no PMIx_Init' fake DATUM_PMIX_LIB=libm.so.6 ''
check 'no library, and one process' prints '^rank 0 of 1' \
    fake DATUM_PMIX_LIB=/no/lib.so OMPI_COMM_WORLD_SIZE=1 ''
check_fails 'DATUM_PMI=pmix, no library' 'DATUM_PMI is pmix, but PMIx cannot be used' \
    fake DATUM_PMI=pmix DATUM_PMIX_LIB=/no/lib.so ''
check_fails 'DATUM_PMI=pmix, no launcher' 'DATUM_PMI is pmix, but no PMIx launcher' \
    env DATUM_PMI=pmix ./prog
check_fails 'DATUM_PMI=pmi2, no launcher' 'DATUM_PMI is pmi2.*PMI_FD' env DATUM_PMI=pmi2 ./prog
check_fails 'DATUM_PMI is wrong' 'DATUM_PMI is .pmi3' env DATUM_PMI=pmi3 ./prog
check 'Hydra comes first' prints 'launcher: PMI-1 .*, 2 processes' \
    env DATUM_EXPLAIN=1 mpiexec -n 2 -env PMIX_RANK 0 -env PMIX_NAMESPACE outer ./prog
check 'Hydra also speaks PMI-2' prints 'launcher: PMI-2 .*, 2 processes' \
    env DATUM_EXPLAIN=1 DATUM_PMI=pmi2 mpiexec.hydra -n 2 ./prog

# ---- Open MPI's server ----

if ! command -v mpirun.openmpi >/dev/null 2>&1; then
    skip_one "Open MPI's mpirun is not there (package openmpi-bin)"
    totals
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 DATUM_EXPLAIN=1
run() { timeout 60 mpirun.openmpi --oversubscribe --mca orte_tmpdir_base "$PWD" "$@"; }
ended() { # STATUS PATTERN ARGUMENT
    run -n 4 ./prog $3 >said 2>&1
    [ $? = $1 ] && grep -Eq "$2" said && ! pgrep -f "$PWD/prog" && return
    cat said
    return 1
}
check "Open MPI's mpirun" prints '^rank 3 of 4, sum 6, universe [0-9]+, appnum 0$' run -n 4 ./prog
check "Open MPI's mpirun, explained" prints 'launcher: PMIx .*, 4 processes on 1 host$' run -n 4 ./prog
check "Open MPI's mpirun, two programs" prints '^rank 2 of 3, .*, appnum 1$' \
    run -n 2 ./prog : -n 1 ./prog
check "Open MPI's mpirun, one process" prints '^rank 0 of 1' run -n 1 ./prog
check "Open MPI's mpirun, MPI_Abort" ended 13 'MPI_Abort\(MPI_COMM_WORLD, 13\)' abort
check "Open MPI's mpirun, exit" ended 5 'exit\(5\) before MPI_Finalize' exit
check "Open MPI's mpirun, published names" run -n 3 "$DATUM_BUILD/tests/mp/dyn_names"
check 'no PMIx: never four singletons' prints 'PMIx cannot be used' \
    run -n 4 -x DATUM_PMIX_LIB=/no/lib.so ./prog
totals
