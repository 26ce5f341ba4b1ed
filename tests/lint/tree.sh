#!/bin/sh
# test: timeout=900 beside=yes
# The tree keeps the house rules, each one a check. The second compiler's warnings, and cppcheck's: TEST_FULL=yes.
. "$TEST_LIB"
for rule in $("$TEST_SRC/scripts/lint" -l); do
    case $rule in
    clang | cppcheck) [ "${TEST_FULL:-}" = yes ] || continue ;;
    esac
    case $rule in
    format) tool=clang-format ;;
    clang | cppcheck) tool=$rule ;;
    equal | arrows) tool=python3 ;;
    *) tool=sh ;;
    esac
    if command -v $tool >/dev/null 2>&1; then
        check "lint $rule" "$TEST_SRC/scripts/lint" -b "$DATUM_BUILD" -d "$DATUM_BUILD/lint" $rule
    else
        skip_one "lint $rule: apt-get install $tool"
    fi
done
totals
