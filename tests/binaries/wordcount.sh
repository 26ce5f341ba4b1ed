#!/bin/sh
# test: timeout=120
# The whole table of examples/wordcount against what coreutils count, over real files and over
# odd ones; any number of processes; clear errors.
. "$TEST_LIB"
program=$DATUM_BUILD/examples/wordcount
[ -x "$program" ] || fail "$program is not built"

# Files are counted one by one: a word does not go on in the next file.
reference() {
    for f; do
        tr -cs A-Za-z '\n' <"$f"
        echo
    done | tr A-Z a-z | grep . | LC_ALL=C sort | uniq -c | awk '{ print $1 " " $2 }'
}
# same NAME N FILE...: N processes give the table of coreutils.
same() {
    same_name=$1 same_n=$2
    shift 2
    reference "$@" >want
    rm -f got
    if ! mpiexec -n "$same_n" "$program" -t 0 -o got "$@" >out 2>&1; then
        fail_one "$same_name: it ended with an error"
        tail -n 20 out
    elif ! cmp -s got want; then
        fail_one "$same_name: the table differs"
        diff want got | head -n 10
    elif [ -s out ]; then
        fail_one "$same_name: it printed something"
        tail -n 20 out
    else
        pass_one
    fi
}

set -- /usr/share/common-licenses/*
[ -e "$1" ] || skip 'no files in /usr/share/common-licenses (package base-files)'
for n in 1 2 3 4; do
    same "licenses, $n processes" $n "$@"
done
[ "$(wc -l <want)" -gt 1000 ] || fail_one 'the licenses have few words: nothing was tested'

# The most frequent words, on standard output.
sort -k1,1nr -k2,2 want | head -n 5 | awk '{ printf "%7d %s\n", $1, $2 }' >top
check 'top words' sh -c 'mpiexec -n 2 "$0" -t 5 "$@" | cmp - top' "$program" "$@"

: >empty
printf 'ab' >tiny
printf 'x' >letter
head -c 300000 /dev/zero | tr '\0' 'Q' >long
printf ' end Qq' >>long
head -c 100000 "$(command -v ls)" >binary
awk 'BEGIN { for (i = 0; i < 40000; i++) { n = i; w = "w"
    while (n > 0) { w = w sprintf("%c", 97 + n % 26); n = int(n / 26) }
    printf "%s%s", w, i % 7 ? " " : "\n" } }' >many
same 'an empty file' 3 empty
same 'more processes than letters' 4 tiny
same 'a word per file' 4 tiny letter empty tiny
same 'a long word' 3 long
same 'a binary file' 3 binary
same 'many words' 2 many

check_fails 'a missing file' 'cannot open nosuch' mpiexec -n 2 "$program" nosuch tiny
check_fails 'a directory' '/ is not a regular file' mpiexec -n 2 "$program" tiny /
check_fails 'no file' 'Usage: ' mpiexec -n 2 "$program"
check_fails 'a bad number' 'Usage: ' mpiexec -n 2 "$program" -t many tiny
check_fails 'an unwritable table' 'cannot write' mpiexec -n 2 "$program" -o no/such/dir tiny
totals
