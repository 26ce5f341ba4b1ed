#!/bin/bash
# test: timeout=600 tier=full san=no
# Each rule of strict= finds who breaks it. The library is built again with a line changed, so that it relies on
# what DAT does not promise: traffic that passes over the usual provider fails over one with the rule. That a
# provider has the rules is tests/dat/strict.c.
. "$TEST_LIB"
need make make

mpicc -O1 -o traffic "$TEST_SRC/tests/input/traffic.c" || fail "traffic.c does not compile"
mkdir -p tree/build
(cd "$TEST_SRC" && tar cf - Makefile.in configure src include scripts) | tar xf - -C tree
(cd "$DATUM_BUILD" && cp -a Makefile config.* gen obj "$OLDPWD/tree/build/" && mkdir -p "$OLDPWD/tree/build/lib")
lib=$PWD/tree/build/lib/libmpi.so.12
for rules in iov first last events; do
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
    timeout -k 5 20 env DAT_OVERRIDE="$conf" DATUM_PROVIDER=datum-shm "$@" mpiexec -n 2 env LD_PRELOAD="$lib" \
        ./traffic -n 3 >said 2>&1 || { tail -n 20 said; return 1; }
    ! grep 'strict:' said
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
        if runs $rule "$@" >/dev/null; then
            fail_one "$name: strict=$rule does not find it"
        else
            pass_one
        fi
    fi
    cp saved.c "$file"
}

check 'the library as it is: builds' build
for rules in iov first last events; do
    check "the library as it is: strict=$rules" runs $rules DATUM_EAGER=auto
done

# Triplets: who owns them is not asked; one place for those of all requests.
broken 'triplets on the stack' iov src/dapl_adapt/provider/probe_ia.c \
    's/limits->keeps_iov = .*/limits->keeps_iov = false;/' DATUM_EAGER=rdma
broken 'triplets of the request before' iov src/dapl_adapt/eager/setup.c \
    's/sq->n_descs < (uint32_t)conn->sq_size;/sq->n_descs < 1;/' DATUM_EAGER=rdma
# Who has accepted posts at once, on either endpoint.
broken 'the acceptor of a pipe speaks first' first src/dapl_adapt/eager/attach.c \
    's/if (err != DM_OK || !link->is_active)/if (err != DM_OK)/' DATUM_EAGER=rdma
broken "the acceptor of RDMA's endpoint speaks first" first src/dapl_adapt/conn/progress.c \
    's/link->is_due = true; .*/link->is_due = link->may_post = true;/' DATUM_RNDV=read DATUM_EAGER_LIMIT=4k
# Records count as whole when their last byte is there, wherever they come from.
broken 'last bytes are trusted' last src/dapl_adapt/provider/probe_ia.c \
    's/limits->last_byte = DM_LAST_IS_EARLY/limits->last_byte = DM_LAST_IS_LAST/' DATUM_EAGER=auto
# A queue holds one completion at a time.
broken 'one event for each look' events src/dapl_adapt/progress/dispatch.c \
    's/^        dm_poll_event(ia, &event);/        if (n == 0) dm_poll_event(ia, \&event);/' DATUM_EAGER=rdma
totals
