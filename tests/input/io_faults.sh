#!/bin/bash
# test: timeout=120
# Calls of the system that fail, move less than asked for, or are interrupted, below files: errors name
# the file, the offset and the reason, at every rank that has to know; nothing hangs or dies.
. "$TEST_LIB"
need cc gcc
cc -shared -fPIC -O1 -o shim.so "$TEST_SRC/tests/input/io_shim.c" -ldl || fail 'the shim does not compile'
mpicc -O1 -o prog "$TEST_SRC/tests/input/io_faults.c" || fail 'the program does not compile'

# run N WHAT CB VARIABLE=VALUE...
run() {
    n=$1 what=$2 cb=$3
    shift 3
    rm -f x.fault
    mpiexec -n "$n" env LD_PRELOAD="$PWD/shim.so" "$@" ./prog "$what" "$cb" >said 2>&1
}

run 2 contig automatic IO_FAULT=pwrite:28:0 IO_FAULT_RANK=1
has_lines 'full disk' 1 'rank 1: contig: no space left: writing "x.fault" at offset 16384: No space left'
has_lines 'full disk, the other' 1 'rank 0: contig: good'
run 1 request automatic IO_FAULT=pwrite:5:0
has_lines 'request' 1 'rank 0: request: input or output failed: writing "x.fault" at offset 0: Input/output error'
run 2 read automatic IO_FAULT=pread:5:0
has_lines 'reading' 2 'read: input or output failed: reading "x.fault" at offset 0: Input/output error'
run 2 sync automatic IO_FAULT=fsync:5:0 IO_FAULT_RANK=1
has_lines 'sync' 2 'sync: input or output failed: synchronizing "x.fault": Input/output error'
run 2 size automatic IO_FAULT=ftruncate:27:0
has_lines 'size' 2 'size: .*setting the size of "x.fault" at offset 100: File too large'
run 2 preallocate automatic IO_FAULT=posix_fallocate:122:0
has_lines 'quota' 2 'preallocate: quota exceeded: reserving space for "x.fault"'
run 2 close automatic IO_FAULT=close:122:0 IO_FAULT_RANK=1
has_lines 'close' 2 'MPI_File_close: quota exceeded: closing "x.fault"'

# A mapping of a file that is truncated: no signal reaches the program, whoever copies.
run 2 strided automatic IO_TRUNCATE=1
has_lines 'truncated' 2 'strided: good'
run 2 strided automatic IO_TRUNCATE=1 IO_VM=1
has_lines 'truncated, the processor copies' 2 'strided: good'
run 1 vector automatic IO_TRUNCATE=1 IO_VM=1
has_lines 'truncated, one process' 1 'vector: good'
# The same, reading: what is there then is read.
run 1 every_other disable
has_lines 'read, not truncated' 1 'rank 0: 2048 integers'
has_lines 'read, not truncated' 0 WRONG
if says 'short ranges .*read out of one' datum-info --file .; then
    run 1 every_other disable IO_TRUNCATE=1
    has_lines 'truncated, and read' 1 'every_other: good'
    has_lines 'truncated, nothing is left to read' 1 'rank 0: 0 integers'
fi
# The system does not copy: the processor does, or each range goes by itself.
for errno in 1 14 38; do
    run 3 twice disable IO_VM=$errno
    has_lines "errno $errno of process_vm_writev" 3 'twice: good'
    has_lines "errno $errno of process_vm_writev" 0 WRONG
done
if says 'short ranges .*written into a mapping' datum-info --file .; then
    run 2 strided automatic IO_VM=14 IO_FAULT=pwrite:28:1 IO_FAULT_RANK=1
    has_lines 'full disk behind a mapping' 1 'strided: no space left: writing "x.fault" at offset 8: No space'
fi

# Who waits for a thread of the library sleeps.
run 1 slow automatic IO_SLOW=600000
has_lines 'slow' 1 'rank 0: slow: good'
has_lines 'slow' 0 'woke up'
run 2 slow_all disable IO_SLOW=600000
has_lines 'slow, two processes' 2 'slow_all: good'
has_lines 'slow, two processes' 0 'woke up'

# The aggregator's error is everybody's.
run 4 all enable IO_FAULT=pwrite:28:0
has_lines 'two phases' 4 'all: no space left: writing "x.fault" at offset 0: No space left'
has_lines 'two phases, nothing is written' 4 ': 0 bytes are good'
# Two calls write 7 bytes each, one is interrupted: the first block of rank 0 and 6 bytes of rank 1.
run 4 all enable IO_SHORT=1 IO_FAULT=pwrite:28:3
has_lines 'two phases, what is written' 4 'all: no space left: writing "x.fault" at offset 14: No space left'
has_lines 'two phases, rank 0' 1 'rank 0: 8 bytes are good'
has_lines 'two phases, rank 1' 1 'rank 1: 6 bytes are good'
has_lines 'two phases, others' 2 'rank [23]: 0 bytes are good'
for what in twice itwice; do
    run 2 $what enable DATUM_EXPLAIN=yes
    has_lines "$what explained" 1 'file "x.fault" on [a-z0-9]+, 2 ranks: written in two phases'
    has_lines "$what explained" 1 'file "x.fault" on [a-z0-9]+, 2 ranks: read in two phases'
    has_lines "$what" 0 WRONG
done
run 4 iall enable IO_SHORT=1 IO_FAULT=pwrite:28:3
has_lines 'nonblocking' 4 'iall: no space left: writing "x.fault" at offset 14: No space left'
has_lines 'nonblocking, who it was' 3 'No space left on device \(rank 0\)'
has_lines 'nonblocking, rank 0' 1 'rank 0: 8 bytes are good'
has_lines 'nonblocking, rank 1' 1 'rank 1: 6 bytes are good'
has_lines 'nonblocking, others' 2 'rank [23]: 0 bytes are good'

# Of many windows the sixth fails, which a thread writes: what was before it is there at every rank.
for what in windows iwindows; do
    run 4 $what enable IO_FAULT=pwrite:28:5
    has_lines "$what" 4 "$what: no space left: writing \"x.fault\" at offset 327680: No space left"
    has_lines "$what, what is written" 4 'rank [0-3]: 81920 bytes are good'
done

# No memory at the aggregator, or at another process.
for what in nomemb0 nomemb1 nomemn0 nomemn1; do
    run 3 $what enable
    has_lines "$what" 3 "$what: good"
    has_lines "$what" 3 'failed where it must'
    has_lines "$what" 0 WRONG
done
run 4 twice enable IO_FAULT=pread:5:0
has_lines 'two phases, reading' 4 'twice: input or output failed: reading "x.fault" at offset 0'

for cb in enable automatic disable; do
    run 3 twice "$cb" IO_SHORT=1
    has_lines "short and interrupted, $cb" 3 'twice: good'
    has_lines "short and interrupted, $cb" 0 WRONG
done
[ "$(ls -A | tr '\n' ' ')" = 'prog said shim.so x.fault ' ] || fail_one "files are left: $(ls -A)"
rm -f x.fault
totals
