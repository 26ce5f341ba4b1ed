#!/bin/sh
# test: timeout=300 san=no
# The distribution's dtest whose two sides wait for RDMA writes by looking at memory, without a call and without a
# yield. The two keep both cores busy, and beside other runs each of the thousands of turns waits for several time
# slices, so this runs alone (tests/runner/select.sh). Over sockets only the provider's own threads bring the bytes.
name=${1:?usage: stock_spin.sh PROVIDER}
log=${TEST_TMP:-.}/conform.log
conform=$(dirname "$0")/../../scripts/dat-conform
quick=-q
[ "${TEST_FULL:-}" != yes ] || quick=
# shellcheck disable=SC2086 # nothing, or one option
if ! bash "$conform" $quick -t 2 -k 24 -o "$log" "$name" >"$log.said"; then
    cat "$log.said"
    exit 1
fi
tail -n 1 "$log.said"
