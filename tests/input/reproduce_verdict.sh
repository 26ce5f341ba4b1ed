#!/bin/sh
# test: timeout=60 san=no
# The verdicts of bench/reproduce, by samples that are made up: nothing is measured.
. "$TEST_LIB"
need python3 python3-minimal
check 'claims, intervals, verdicts, rows' python3 -B "$TEST_SRC/tests/input/reproduce_verdict.py" "$TEST_SRC/bench/reproduce"
totals
