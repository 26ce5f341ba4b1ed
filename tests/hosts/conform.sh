#!/bin/bash
# test: timeout=150 san=no
# The distribution's DAT programs between two hosts, over datum-tcp: row 29 of dat-conform with
# the smaller counts. Both hosts have the same processors, so what spins on memory (row 24)
# takes its time here; "dat-conform -R" without -k has it, too.
. "$TEST_SRC/tests/hosts/lib.sh"
. "$TEST_LIB"
need dapltest dapl2-utils
hosts_enter "$@"
hosts_make 2
conform=$TEST_SRC/scripts/dat-conform
cases=$(bash "$conform" -l -k 29 -R there datum-tcp | grep -v 'dtest .* -W' | sed 's/ .*//')
n=$(wc -l <<<"$cases")
[ "$n" = 13 ] || fail "row 29 has $n cases that do not spin"
on_host h1 bash "$conform" -q -t 2 -k "$(paste -sd , <<<"$cases")" -R "$HOSTS_RSH h2" datum-tcp |
    tee said
[ "$(tail -n 1 said)" = '13 passed, 0 failed, 0 skipped' ]
