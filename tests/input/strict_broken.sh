#!/bin/bash
# test: timeout=600 tier=full san=no
# Each rule of strict= finds who breaks it. The library is built again with a line changed, so that it relies on
# what DAT does not promise: traffic that passes over the usual provider fails over one with the rule. That a
# provider has the rules is tests/dat/strict.c.
. "$TEST_LIB"
need make make

mpicc -O1 -o traffic "$TEST_SRC/tests/input/traffic.c" || fail "traffic.c does not compile"
cat >buffers.c <<'END'
#include <mpi.h>
#include <string.h>
int main(int argc, char **argv)
{
    static char buf[30000];
    int rank, n_wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 500; i++) {
        memset(buf, i, sizeof(buf));
        if (rank == 0)
            MPI_Send(buf, sizeof(buf), MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buf, sizeof(buf), MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t k = 0; k < sizeof(buf); k++)
            n_wrong += buf[k] != (char)i;
        memset(buf, -1, sizeof(buf));
        if (i % 8 == 7)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return n_wrong != 0;
}
END
mpicc -O1 -o buffers buffers.c || fail 'buffers.c does not compile'
program='./traffic -n 3'
mkdir -p tree/build
(cd "$TEST_SRC" && tar cf - Makefile.in configure CHANGELOG src include scripts) | tar xf - -C tree
(cd "$DATUM_BUILD" && cp -a Makefile config.* gen obj "$OLDPWD/tree/build/" && mkdir -p "$OLDPWD/tree/build/lib")
lib=$PWD/tree/build/lib/libmpi.so.12
for rules in iov first last events first+events; do
    for word in nonthreadsafe threadsafe; do
        echo "datum-shm u2.0 $word default $DATUM_BUILD/lib/libdatum_dapl_shm.so datum.0.1 \"strict=$rules\" \"\""
    done >$rules.conf
done

build() { make -s -C tree/build srcdir=.. lib/libmpi.so.12 >make.out 2>&1 || { cat make.out; return 1; }; }
# runs CONF|'' SETTING...: the traffic passes, and a strict provider has nothing to say
runs() {
    local conf=${1:-$DAT_OVERRIDE}
    [ -z "$1" ] || conf=$PWD/$1.conf
    shift
    # shellcheck disable=SC2086 # a program and its arguments
    timeout -k 5 20 env DAT_OVERRIDE="$conf" DATUM_PROVIDER=datum-shm "$@" mpiexec -n 2 env LD_PRELOAD="$lib" \
        $program >said 2>&1 || { tail -n 20 said; return 1; }
    ! grep 'strict:' said
}
# finds RULE SETTING...: who breaks it; what depends on time is tried until it is seen
finds() {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        runs "$@" >/dev/null || return 0
    done
    return 1
}
# broken NAME RULE FILE SED SETTING...: with FILE changed by SED that rule, and only a rule, makes it fail
broken() {
    local name=$1 rule=$2 file=tree/$3 change=$4
    shift 4
    cp "$file" saved.c
    sed -i "$change" "$file"
    if cmp -s "$file" saved.c; then
        fail_one "$name: nothing of $3 is changed: say anew what is to be"
    else
        check "$name: builds" build
        check "$name: passes over the usual provider" runs '' "$@"
        check "$name: strict=$rule finds it" finds "$rule" "$@"
    fi
    cp saved.c "$file"
}

check 'the library as it is: builds' build
for rules in iov first last events first+events; do
    check "the library as it is: strict=$rules" runs $rules DATUM_EAGER=auto
done

# Triplets: who owns them is not asked; one place for those of all requests.
broken 'triplets on the stack' iov src/dapl_adapt/provider/probe_ia.c \
    's/limits->keeps_iov = .*/limits->keeps_iov = false;/' DATUM_EAGER=rdma
broken 'triplets of the request before' iov src/dapl_adapt/eager/setup.c \
    's/sq->n_descs < (uint32_t)conn->sq_size;/sq->n_descs < 1;/' DATUM_EAGER=rdma
# Who has accepted posts at once.
broken 'the acceptor of a pipe speaks first' first src/dapl_adapt/eager/attach.c \
    's/if (err != DM_OK || !link->is_active)/if (err != DM_OK)/' DATUM_EAGER=rdma
broken 'the acceptor of the endpoint for RDMA speaks first' first+events src/dapl_adapt/conn/progress.c \
    's|link->is_due = true; /.*|link->may_post = true; conn->adapt->ops->rdma_push(conn, rdmaq);|' \
    DATUM_EAGER=rdma DATUM_RNDV=read DATUM_CONNECT=demand
# Records count as whole when their last byte is there, wherever they come from.
broken 'last bytes are trusted' last src/dapl_adapt/provider/probe_ia.c \
    's/limits->last_byte = DM_LAST_IS_EARLY/limits->last_byte = DM_LAST_IS_LAST/' DATUM_EAGER=auto
# What was posted has gone: the program may write to its buffer before the completion is there.
program=./buffers
broken 'completions are not waited for' events src/dapl_adapt/eager/tx.c \
    's/return !conn->tx.direct.is_pending;/return conn != NULL;/' DATUM_EAGER=rdma DATUM_EAGER_LIMIT=64k

# Where the provider copies triplets, keeping them for others costs no instruction: counted beside a library
# without it.
command -v valgrind callgrind_annotate >/dev/null || totals
# sends N: instructions of N messages of 8 bytes in MPI_Send
sends() {
    # shellcheck disable=SC2016 # for the rank's shell
    timeout -k 5 60 env DATUM_PROVIDER=datum-shm DATUM_EAGER=rdma mpiexec -n 2 sh -c '
        run= preload=$1
        [ "$PMI_RANK" != 0 ] || run="valgrind --tool=callgrind --callgrind-out-file=calls"
        LD_PRELOAD=$preload exec $run "$DATUM_BUILD/bench/exchange" $2 8' sh "$lib" "$1" >said 2>&1 ||
        { tail -n 20 said >&2; return 1; }
    callgrind_annotate --inclusive=yes calls 2>/dev/null |
        awk '/:PMPI_Send \[/ { gsub(",", "", $1); print $1; exit }'
}
# cost NAME: of a message, in $NAME
cost() {
    local few many
    few=$(sends 100) many=$(sends 1100)
    [ "${few:-0}" -gt 0 ] && [ "${many:-0}" -gt "$few" ] || return 1
    eval "$1=$((many - few))"
}
check 'the library as it is: builds again' build
check 'the library as it is: is counted' cost with
sed -i 's/return tx->sq.descs == NULL ? own/return tx != NULL ? own/' tree/src/dapl_adapt/core/tx.h
sed -i 's/tx->is_slow = .*/tx->is_slow = tx->protocol != DM_RECORD_WRITE;/' tree/src/dapl_adapt/eager/setup.c
check 'nothing is kept for anybody: builds' build
check 'nothing is kept for anybody: is counted' cost without
# a credit or a wait differs by some in all; one instruction more in each would be 1000
check "1000 messages cost ${with:-?} instructions, without keeping ${without:-?}" \
    [ $((${with:-1000} - ${without:-0})) -lt 500 ]
totals
