#!/bin/sh
# test: timeout=120 san=no prov=datum-shm
# The data path makes no system calls: a post to memory that can be mapped, its
# completion, a send to a posted receive, a look at an empty queue. strace counts
# those of all threads while each is done many times.
. "$TEST_LIB"
need strace strace
strace -c -o trace true 2>/dev/null || skip "strace may not trace here"

prov=$1 few=100 many=20100 slack=50
count=$DATUM_BUILD/bench/dat_count
[ -x "$count" ] || fail "$count is not built"

# calls OPERATION N [NAME]: made by the program, all of them or those of this name
calls() {
    timeout 60 strace -f -c -o trace "$count" "$1" "$2" "$prov" >out 2>&1 || {
        status=$?
        [ $status = 77 ] || cat out >&2
        return $status
    }
    awk -v name="${3:-total}" '$NF == name { n = $4 } END { print n + 0 }' trace
}

for op in $("$count"); do
    low=$(calls "$op" $few) && high=$(calls "$op" $many)
    case $? in
    0)
        more=$((high - low))
        check "$op: $more system calls for $((many - few)) operations" [ $more -lt $slack ]
        ;;
    77) skip_one "$op: the provider has none" ;;
    *) fail_one "$op does not run" ;;
    esac
done

# That this can fail: without mapping, every post is a system call.
printf '%s u2.0 nonthreadsafe default "%s" datum.0.1 "copy=cma" ""\n' "$prov" \
    "$DATUM_BUILD/lib/libdatum_dapl_${prov#datum-}.so" >cma.conf
high=$(DAT_OVERRIDE=$PWD/cma.conf calls write $many process_vm_writev)
case $? in
0)
    # 0: the kernel refuses process_vm here.
    if [ "$high" = 0 ]; then
        skip_one 'the counting itself: no process_vm_writev here'
    else
        check "counting: $high calls of process_vm_writev" [ "$high" -ge $many ]
    fi
    ;;
*) fail_one 'write with copy=cma does not run' ;;
esac
rm -f trace out
totals
