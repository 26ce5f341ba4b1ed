#!/bin/sh
# test: timeout=60
# Words that all tools have in common: --help, --version, what is wrong with an option.
. "$TEST_LIB"

for tool in datum-info datum-check datum-bench datum-ps datum-tune datum-compare dat-conform; do
    [ $tool != datum-compare ] || command -v python3 >/dev/null || { skip_one "$tool: python3 is not there"; continue; }
    check "$tool --version" status 0 '^Datum [0-9][0-9.]*$' $tool --version
    check "$tool --version alone" test "$(wc -l <said)" = 1
    check "$tool --help" status 0 "^Usage: (mpiexec -n N )?$tool" $tool --help
    cp said help
    check "$tool -h" status 0 "^Usage: (mpiexec -n N )?$tool" $tool -h
    check "$tool -h is --help" cmp said help
    for option in version help; do
        check "$tool --help has --$option" grep -Eq "^  --$option  +(the version|this text)$" said
    done
    check "$tool --help has --json" grep -Eq '^  (-q, )?--json' said
    check "$tool: a wrong option" status 2 "$tool: unknown option \"--nothing\"; \"$tool --help\" says more" $tool --nothing
    check "$tool says it once" test "$(wc -l <said)" = 1
    check "$tool: no room for help" status 1 '' sh -c "$tool --help >/dev/full"
done
check 'mpiexec --version' status 0 '^Datum [0-9][0-9.]*$' mpiexec --version
check 'mpiexec --help' status 0 '^Usage: mpiexec' mpiexec --help
check 'mpiexec -h' status 0 '^Usage: mpiexec' mpiexec -h
totals
