#!/bin/bash
# test: timeout=60
# The table of protection faults that "protect NAME --table" prints is the one beside this file.
name=${1:?usage: fault_table.sh PROVIDER}
. "$TEST_LIB"
"$DATUM_BUILD/tests/dat/protect" "$name" --table >seen || fail 'tests/dat/protect failed'
grep -q REMOTE_ACCESS seen || fail 'there is no table'
while read -r line; do
    grep -Fqx -- "$line" "$TEST_SRC/tests/dat/protect.table" || fail "not in tests/dat/protect.table: $line"
done <seen
