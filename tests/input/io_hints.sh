#!/bin/bash
# test: timeout=60
# Hints from a file (ROMIO_HINTS): they are followed, what the program says goes before, what cannot be read
# is said once; ROMIO_PRINT_HINTS shows what is in force.
. "$TEST_LIB"
need cc
mpicc -O1 -o prog "$TEST_SRC/tests/input/io_hints.c" || fail 'the program does not compile'

go() {
    mpiexec -n 4 env "$@" >said 2>&1 || { cat said; fail "status $?: $*"; }
}
cat >hints <<'END'
# of this host
cb_nodes 3
  romio_cb_write	enable   # always
romio_cb_read disable
cb_buffer_size much
lonely
too many words
no_such_key 7
END
sed -i 's/\\t/\t/' hints
go ROMIO_HINTS="$PWD/hints" ./prog romio_cb_read=enable
has_lines 'a number' 4 '^cb_nodes 3$'
has_lines 'a word' 4 '^romio_cb_write enable$'
has_lines 'the program goes before' 4 '^romio_cb_read enable$'
has_lines 'a value that makes no sense' 0 '^cb_buffer_size much'
has_lines 'a key alone, once for two files' 1 'hints, line 6: a hint is a key and a value, .*: lonely$'
has_lines 'too much' 1 'hints, line 7: .*: too$'
has_lines 'nothing is printed' 0 '^key = '
go ROMIO_HINTS="$PWD/hints" ROMIO_PRINT_HINTS=1 ./prog
has_lines 'printed, by one' 2 '^key = cb_nodes  *value = 3 *$'
has_lines 'printed' 2 '^key = romio_cb_read  *value = disable *$'
go ROMIO_HINTS="$PWD/none" ./prog
has_lines 'no such file' 1 'warning: ROMIO_HINTS names .*/none, which cannot be read: No such file'
has_lines 'no such file, defaults' 4 '^romio_cb_write automatic$'
echo 'cb_config_list *:2' >hints
go ROMIO_HINTS="$PWD/hints" ./prog
has_lines 'so many of a host' 4 '^cb_nodes [12]$'
has_lines 'the list' 4 '^cb_config_list \*:2$'
go ROMIO_HINTS="$PWD/hints" ./prog cb_nodes=4
has_lines 'no more than listed' 4 '^cb_nodes 2$'
totals
