#!/bin/bash
# test: timeout=60
# Collective access to a file within a host: data are exchanged where many processes would touch the same
# pages, and only there; hints decide otherwise.
. "$TEST_LIB"
need cc
says 'short ranges .*written into a mapping' datum-info --file . || skip 'the file system is no local one'
mpicc -O1 -o prog "$TEST_SRC/tests/input/io_choice.c" || fail 'the program does not compile'

# way NAME WRITTEN READ RANKS ARGUMENTS: all that was written, and read, went that way, and is right
way() {
    local name=$1 written=$2 read=$3 n=$4
    shift 4
    rm -f choice.dat
    DATUM_EXPLAIN=yes mpiexec -n "$n" ./prog "$@" >said 2>&1 || { cat said; fail "$name: status $?"; }
    if [ "$(sed -n 's/.*ranks: written //p' said)" = "$written" ] &&
        [ "$(sed -n 's/.*ranks: read //p' said)" = "$read" ] && ! grep -q WRONG said; then
        pass_one
    else
        fail_one "$name: not written $written, read $read"
        cat said
    fi
}

phases='in two phases'
# Pages that many read cost little where they can be read out of a mapping.
reads=$phases
after="as one range
with the holes
$phases"
if says 'short ranges .*read out of one' datum-info --file .; then
    reads='by a mapping'
    after="as one range
by a mapping"
fi
way 'blocks of 64 bytes' "$phases" "$reads" 8 64 1048576 1 0
way 'whole pages' 'each range by itself' 'each range by itself' 8 16384 1048576 1 0
way 'short ones' 'by a mapping' 'each range by itself' 8 64 512 1 0 romio_ds_read=disable
way 'one process' 'as one range' 'as one range' 1 64 1048576 1 0
way 'hint: not' 'by a mapping' 'each range by itself' 8 64 1048576 1 0 romio_cb_write=disable \
    romio_cb_read=disable romio_ds_read=disable
way 'hint: pages, too' "$phases" "$phases" 8 16384 1048576 1 0 romio_cb_write=enable romio_cb_read=enable
way 'hint: no mappings' "$phases" "$phases" 8 64 1048576 1 0 romio_ds_read=enable
way 'hint: one aggregator' "$phases" "$reads" 8 64 1048576 1 0 cb_nodes=1
# It is asked again, though not by each call, and in the same calls by all.
way 'after many short ones' "as one range
by a mapping
$phases" "$after" 8 256 1048576 36 16
totals
