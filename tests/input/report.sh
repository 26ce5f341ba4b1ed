#!/bin/sh
# test: timeout=60 san=no
# What datum-compare and bench-diff say of made-up figures: report.py. No clock is looked at.
. "$TEST_LIB"
need python3 python3
export PYTHONPATH="$TEST_SRC/scripts" PYTHONDONTWRITEBYTECODE=1
for name in $(sed -n 's/^class \([A-Za-z]*\)(unittest.*/\1/p' "$TEST_SRC/tests/input/report.py"); do
    check "$name" python3 "$TEST_SRC/tests/input/report.py" "$name"
done
totals
