#!/bin/sh
# test: timeout=600
# The tree keeps the house rules, each one a check.
. "$TEST_LIB"
for rule in layers text shell paths format gcc headers symbols clang cppcheck; do
    case $rule in
    format) tool=clang-format ;;
    clang | cppcheck) tool=$rule ;;
    *) tool=sh ;;
    esac
    if command -v $tool >/dev/null 2>&1; then
        check "lint $rule" "$TEST_SRC/scripts/lint" -b "$DATUM_BUILD" -d "$DATUM_BUILD/lint" $rule
    else
        skip_one "lint $rule: apt-get install $tool"
    fi
done
totals
