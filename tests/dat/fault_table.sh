#!/bin/bash
# test: timeout=60
# docs/FAULTS.md shows the table of protection faults that the test has seen.
name=${1:?usage: fault_table.sh PROVIDER}
. "$TEST_LIB"
"$DATUM_BUILD/tests/dat/protect" "$name" --table >seen || fail 'tests/dat/protect failed'
grep -q REMOTE_ACCESS seen || fail 'there is no table'
while read -r line; do
    grep -Fqx -- "$line" "$TEST_SRC/docs/FAULTS.md" || fail "not in docs/FAULTS.md: $line"
done <seen
