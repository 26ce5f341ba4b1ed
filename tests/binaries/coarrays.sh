#!/bin/sh
# test: timeout=900
# The tests of OpenCoarrays as Debian built them for MPICH: coarrays, events, teams and atomics of
# Fortran over one-sided communication, with 2, 3 and 8 images on one host, and 2 and 3 over TCP; without TEST_FULL=yes
# each program with one number of images that it can have, in turn, every third one over TCP. Left
# out: image_fail_*, which kill an image and want an MPI that goes on without it, and increment_my_neighbor,
# which gets from its neighbour right after the allocation, when that may not have set its value yet
# (a trace of its calls shows it). Debian's MPICH itself fails about twenty of the others.
. "$TEST_LIB"
place=$(ls -d /usr/lib/*/open-coarrays/mpich/bin/OpenCoarrays-*-tests 2>/dev/null | head -n 1)
[ -n "$place" ] || skip "OpenCoarrays' tests are not there (package libcoarrays-mpich-dev)"

# suits NAME N: can it be run with N images? They say so themselves, by an error, but for
# one that reads neighbours all round and synchronizes with those beside it only (at more than
# 2 images it can fail with any library), and two that compare with an answer for 2.
suits() {
    case $1 in
    coarray_burgers_pde | issue-515-* | issue-552-*) [ "$2" = 2 ] ;;
    co_sum_test | coarray_distributed_transpose | source-alloc-sync) [ "$2" != 3 ] ;;
    issue-422-send-get | sendget_convert_* | static_event_post_* | strided_sendget | sync_image_ring_*)
        [ "$2" -ge 3 ]
        ;;
    allocatable_p2p_event_post) [ "$2" -ge 4 ] ;;
    issue-488-* | issue-493-* | sync_team | team_number) [ "$2" = 8 ] ;;
    esac
}
# passes N NAME PROVIDER
passes() {
    DATUM_PROVIDER=$3
    export DATUM_PROVIDER
    set -- "$1" "$2"
    case $2 in
    issue-488-*) set -- "$@" true ;; # whether to print
    esac
    name=$2 n=$1
    shift 2
    timeout 240 mpiexec -n "$n" "$place/$name" "$@" </dev/null >out 2>&1 || {
        echo "exit status $?"
        tail -n 20 out
        return 1
    }
    grep -qi 'test passed' out && ! grep -i 'test failed' out
}
different=0
for f in "$place"/*; do
    name=${f##*/}
    case $name in
    image_fail_* | increment_my_neighbor) continue ;;
    esac
    different=$((different + 1))
    sizes=''
    for n in 2 3 8; do ! suits "$name" $n || sizes="$sizes $n"; done
    if [ "${TEST_FULL:-}" != yes ]; then
        # shellcheck disable=SC2086 # a list
        sizes=$(printf '%s\n' $sizes | sed -n "$((different % $(printf '%s\n' $sizes | wc -l) + 1))p")
        provider=datum-shm
        [ $((different % 3)) != 0 ] || [ "$sizes" = 8 ] || provider=datum-tcp
        check "$name with $sizes images over $provider" passes "$sizes" "$name" $provider
        continue
    fi
    for n in $sizes; do
        check "$name with $n images" passes $n "$name" datum-shm
        [ $n = 8 ] || check "$name with $n images over TCP" passes $n "$name" datum-tcp
    done
done
[ $different -ge 80 ] || fail_one "only $different programs found in $place"
totals
