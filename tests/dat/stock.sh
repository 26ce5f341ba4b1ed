#!/bin/sh
# test: timeout=400 san=no
# The distribution's own DAT tests against one provider, which must have all options of
# the standard: only what these tests cannot do anywhere is skipped. Rows for the provider over TCP without
# TEST_FULL=yes: a part, as the rest is about objects that both have in common. Row 24 is stock_spin.sh.
name=${1:?usage: stock.sh PROVIDER}
log=${TEST_TMP:-.}/conform.log
conform=$(dirname "$0")/../../scripts/dat-conform
rows='-k 1-23,25-29' skipped='6.6 6.14 6.16 29.1 '
if [ "$name" != datum-shm ]; then
    [ "${TEST_FULL:-}" = yes ] || rows='-k 3,10-13,16-19,22,23,25,27,28' skipped=''
fi
# The limits are for idle machines.
# shellcheck disable=SC2086 # an option and its value
if ! bash "$conform" -q -t 2 $rows -o "$log" "$name" >"$log.said"; then
    grep -v '^[0-9.]* *ok ' "$log.said"
    exit 1
fi
skips=$(sed -n 's/^\([0-9.]*\) *skipped .*/\1/p' "$log" | tr '\n' ' ')
if [ "$skips" = "$skipped" ]; then
    tail -n 1 "$log.said" # the runner counts the cases
    exit 0
fi
echo "FAILED: these cases were skipped: $skips"
exit 1
