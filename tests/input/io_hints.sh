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
# expect NAME LINES PATTERN: so many lines are like that
expect() {
    if [ "$(grep -cE -e "$3" said)" = "$2" ]; then
        pass_one
    else
        fail_one "$1: not $2 lines like $3"
        cat said
    fi
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
expect 'a number' 4 '^cb_nodes 3$'
expect 'a word' 4 '^romio_cb_write enable$'
expect 'the program goes before' 4 '^romio_cb_read enable$'
expect 'a value that makes no sense' 0 '^cb_buffer_size much'
expect 'a key alone, once for two files' 1 'hints, line 6: a hint is a key and a value, .*: lonely$'
expect 'too much' 1 'hints, line 7: .*: too$'
expect 'nothing is printed' 0 '^key = '
go ROMIO_HINTS="$PWD/hints" ROMIO_PRINT_HINTS=1 ./prog
expect 'printed, by one' 2 '^key = cb_nodes  *value = 3 *$'
expect 'printed' 2 '^key = romio_cb_read  *value = disable *$'
go ROMIO_HINTS="$PWD/none" ./prog
expect 'no such file' 1 'warning: ROMIO_HINTS names .*/none, which cannot be read: No such file'
expect 'no such file, defaults' 4 '^romio_cb_write automatic$'
echo 'cb_config_list *:2' >hints
go ROMIO_HINTS="$PWD/hints" ./prog
expect 'so many of a host' 4 '^cb_nodes [12]$'
expect 'the list' 4 '^cb_config_list \*:2$'
go ROMIO_HINTS="$PWD/hints" ./prog cb_nodes=4
expect 'no more than listed' 4 '^cb_nodes 2$'
totals
