#!/bin/bash
# test: timeout=120
# DATUM_CHECK finds mistakes of the program, says where they were made, and says nothing about what is right.
. "$TEST_LIB"

mpicc -O1 -g -rdynamic -o usage_prog "$TEST_SRC/tests/input/usage.c" || fail 'usage.c does not compile'
host=$(uname -n)
export DATUM_CHECK=all
run=(mpiexec -n 2 ./usage_prog)

# ---- collective calls: the job ends ----
r0="rank 0 on $host calls" r1="rank 1 on $host calls"
differs() { # NAME FUNCTION TEXT
    check_fails "$1" "$2\(.*: the program uses MPI wrongly: $3" "${run[@]}" "$1"
}
differs other_function '(MPI_Barrier|MPI_Bcast)' "call 1 of MPI_COMM_WORLD .*: $r0 MPI_Barrier, $r1 MPI_Bcast"
differs other_root MPI_Bcast "call 1 .*: $r0 MPI_Bcast with root 0, $r1 MPI_Bcast with root 1"
differs other_count MPI_Allreduce ".* with 20 bytes, .* with 28 bytes"
differs other_type MPI_Bcast '.* with 20 bytes of MPI_INT, .* with 20 bytes of MPI_FLOAT'
differs other_op MPI_Reduce '.* with MPI_SUM, .* with MPI_MAX'
differs other_counts MPI_Gatherv '(rank 1 has 20 bytes for rank 0, which expects 16 bytes of it|.*of another process)'
differs other_pair MPI_Alltoallv '(rank 1 has 16 bytes for rank 0, which expects 24 bytes of it|.*of another process)'
differs communicator '(MPI_Comm_dup|MPI_Comm_split)' ".*: $r0 MPI_Comm_dup, $r1 MPI_Comm_split"
differs window '(MPI_Win_fence|MPI_Win_free)' "call 2 of a window .*: $r0 MPI_Win_fence, $r1 MPI_Win_free"
differs file '(MPI_File_sync|MPI_File_set_size)' "call 1 of the file .usage_file. .*: $r0 MPI_File_sync, $r1 MPI_File_set_size"
check_fails nonblocking "call 1 of MPI_COMM_WORLD .*: $r0 MPI_Ibcast with root 0, $r1 MPI_Ibcast with root 1" \
    "${run[@]}" nonblocking
# Whoever finds first that data do not fit, both calls are named.
wrongly='the program uses MPI wrongly: call 1 of MPI_COMM_WORLD is not the same at all processes:'
both() { check_fails "$1" "$wrongly $r0 $2, $r1 $3\$" timeout 20 "${run[@]}" "$1"; }
for late in 0 1; do
    both nonblocking_function$late 'MPI_Ibcast with root 0 and 20 bytes of MPI_INT' MPI_Ibarrier
done
both persistent_count 'MPI_Bcast_init with 20 bytes' 'MPI_Bcast_init with 28 bytes'
both persistent_other 'MPI_Ibcast with root 0 and 20 bytes of MPI_INT' 'MPI_Bcast_init with root 0 and 20 bytes of MPI_INT'
check 'returned by MPI_Wait' says "^$wrongly $r0 MPI_Iscatter with 16 bytes, $r1 MPI_Iscatter with 4 bytes\$" \
    "${run[@]}" nonblocking_returned
went_on() { "${run[@]}" returned >out 2>&1 && [ "$(grep -c 'went on' out)" = 2 ] && [ "$(wc -l <out)" = 2 ]; }
check returned went_on
# Those of files return by default: it is said all the same, once for each function.
files() { "${run[@]}" file_default >out 2>&1; rc=$?; cat out; [ $rc = 0 ] && [ "$(grep -c 'went on' out)" = 2 ] && [ "$(wc -l <out)" = 4 ] &&
    [ "$(grep -c "warning: MPI_File_[a-z_]*(.*wrongly: call 1 of the file .* $r0 MPI_File_sync, $r1 MPI_File_set_size; said once" out)" = 2 ]; }
check 'files by default' files

# ---- what MPI_Finalize finds; each rank says it ----
found() { # NAME LINE...: both ranks say each of them once, and where
    local name=$1 line rc=0
    shift
    "${run[@]}" "$name" >out 2>&1 || rc=1
    cat out
    for line; do
        [ "$(grep -cE "warning: DATUM_CHECK: $line" out)" = 2 ] || { echo "not there twice: $line"; rc=1; }
    done
    grep -qE "^    #0 .*\(\./usage_prog\+0x" out || rc=1
    return $rc
}
check leaks found leaks '3 datatypes by MPI_Type_vector were never freed, made in' \
    '1 communicator by MPI_Comm_dup was' '1 group by MPI_Comm_group was' '1 operation by MPI_Op_create was' \
    '1 info object by MPI_Info_create was' '1 error handler by MPI_Comm_create_errhandler was' \
    '1 keyval by MPI_Comm_create_keyval was' '1 window by MPI_Win_create was' '1 file by MPI_File_open was'
check 'the place' grep -qE '#0 leaks\+0x[0-9a-f]+ \(\./usage_prog' out
check 'many leaks' found many_leaks '12 objects in all, from 12 places'
check 'ten of them' eval '[ $(grep -c "1 datatype by MPI_Type_contiguous" out) = 20 ]'
check requests found requests 'a request of MPI_Irecv \(from rank [01], tag 7, 40 bytes\) was never completed' \
    'a request of MPI_Isend \(to rank [01], tag 8, 4 bytes\) was never completed' \
    'a request of MPI_Send_init \(to rank [01], tag 9, 12 bytes\) was never freed'
check 'only leaks' eval 'DATUM_CHECK=leaks "${run[@]}" requests >out 2>&1 && [ ! -s out ]'

# ---- buffers ----
once() { # NAME LINE
    "${run[@]}" "$1" >out 2>&1
    rc=$?
    cat out
    [ $rc = 0 ] && [ "$(grep -c 'DATUM_CHECK:' out)" = "$(grep -cE "DATUM_CHECK: $2" out)" ] && grep -qE "$2" out
}
check changed once changed 'the buffer of MPI_Isend \(to rank 1, tag 5, 4000 bytes\) was changed before'
check 'a long one' once changed_large 'the buffer of MPI_Isend \(to rank 1, tag 5, 4194304 bytes\) was changed'
check persistent once changed_persistent 'the buffer of MPI_Send_init \(to rank 1, tag 5, 8 bytes\) was changed'
check 'one round' eval '[ $(grep -c DATUM_CHECK: out) = 1 ]'
check 'a collective' once changed_collective 'the buffer of MPI_Ibcast \(4000 bytes\) was changed'
check 'a partition' once changed_partition 'the buffer of MPI_Psend_init \(to rank [01], tag 5, 80 bytes\) was changed'
check 'one round of each' eval '[ $(grep -c DATUM_CHECK: out) = 2 ]'
check overlap once overlap \
    'the buffer of MPI_Irecv \(from rank [01], tag 2, 40 bytes\) overlaps that of MPI_Irecv \(from rank [01], tag 1, 40'

check 'a call that waits' once used \
    'the buffer of MPI_Sendrecv \(from rank [01], tag 2, 4 bytes\) overlaps that of MPI_Irecv \(from rank [01], tag 1, 40'

# ---- what is right, and the setting ----
silent() { # [VARIABLE=VALUE]... NAME
    env "${@:1:$#-1}" "${run[@]}" "${@: -1}" >out 2>&1
    rc=$?
    cat out
    [ $rc = 0 ] && [ ! -s out ]
}
check right silent right
check 'right, large messages' silent DATUM_EAGER_LIMIT=0 right
for name in other_op leaks requests changed overlap; do
    check "off: $name" silent DATUM_CHECK=no $name
done
check_fails "another word" 'DATUM_CHECK .from the environment.: "lakes" is none of no, yes' env DATUM_CHECK=leaks,lakes "${run[@]}" right

# ---- blocks of any lengths, one-sided calls ----
mpicc -O1 -g -rdynamic -o usage_blocks "$TEST_SRC/tests/input/usage_blocks.c" || fail 'usage_blocks.c does not compile'
run=(mpiexec -n 2 ./usage_blocks)
check_fails igatherv 'rank 1 has 20 bytes for rank 0, which expects 16 bytes of it \(MPI_Igatherv, call 1 of MPI_COMM_WORLD\)' \
    "${run[@]}" igatherv
check_fails iscatterv 'rank 0 has 16 bytes for rank 1, which expects as many, but of other basic types' "${run[@]}" iscatterv
check_fails alltoallv_init 'rank 1 has 16 bytes for rank 0, which expects 24 bytes of it \(MPI_Alltoallv_init' \
    "${run[@]}" alltoallv_init
differs neighbor MPI_Neighbor_allgather 'rank 0 has 8 bytes for rank 1, which expects 12 bytes of it .*, call 1 of ring'
check_fails neighbor_any 'rank 0 has 4 bytes for rank 1, which expects 8 bytes of it \(MPI_Ineighbor_alltoallv' \
    "${run[@]}" neighbor_any
check 'a block' once changed_blocks 'the buffer of MPI_Ialltoallv \(16 bytes\) was changed before'
check 'one-sided' once changed_put 'the buffer of MPI_Put \(to rank [01], 40 bytes\) was changed before'
check 'once in each rank' eval '[ $(grep -c DATUM_CHECK: out) = 2 ]'
check 'one-sided overlap' once overlap_get \
    'the buffer of MPI_Get \(from rank [01], 4 bytes\) overlaps that of MPI_Irecv \(from rank [01], tag 1, 40 bytes\)'
check 'requests overlap' once overlap_rget \
    'the buffer of MPI_Rget \(from rank [01], 4 bytes\) overlaps that of MPI_Rget \(from rank [01], 40 bytes\)'
check 'flushed, but not completed' once flushed_rput \
    'a request of MPI_Rput \(to rank [01], 40 bytes\) was never completed'
check 'right blocks' silent right
check 'right blocks, large messages' silent DATUM_EAGER_LIMIT=0 right
check 'off: one-sided' silent DATUM_CHECK=no changed_put

# ---- the first call of what is not supported ----
run=(mpiexec -n 2 ./usage_prog)
check 'not supported' says 'MPIX_Comm_shrink.*said once' env DATUM_CHECK=no "${run[@]}" unsupported
check 'said once' eval '[ $(grep -c "warning: MPIX_Comm_shrink(" said) = 2 ] && [ $(grep -c "warning: MPIX_Comm_revoke(" said) = 2 ]'
totals
