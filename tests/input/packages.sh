#!/bin/sh
# test: timeout=60
# What quickstart and check do about missing packages, with made-up dpkg-query, apt-get,
# sudo and id: install as root or by sudo, and say clearly when neither is possible. And their arguments,
# at which they look before that.
. "$TEST_LIB"
mkdir fake
tool() {
    printf '#!/bin/sh\n%s\n' "$2" >"fake/$1"
    chmod +x "fake/$1"
}
# "have" is installed, everything else is not until apt-get has been here.
tool dpkg-query 'for p do :; done; case $p in have) echo "install ok installed";; *) [ ! -e installed ] || echo "install ok installed";; esac'
tool apt-get 'echo "apt-get $*" >>calls; case "$*" in *broken*) echo "E: no such thing"; exit 100;; *install*) touch installed;; esac'
tool sudo 'shift $(expr "$1" = -n); echo "sudo $1" >>calls; exec "$@"'
PATH=$PWD/fake:$PATH
as() { tool id "echo $1"; }
try() {
    rm -f calls
    sh -c 'src=. build=b; . "$1"; open_log; shift; packages "$@"; echo after' - \
        "$TEST_SRC/scripts/common.sh" "$@"
}

for script in quickstart check; do
    check "$script --help" status 0 "^Usage: $script" "$TEST_SRC/scripts/$script" --help
    for arg in --nonsense nonsense; do
        check "$script $arg" status 2 "nonsense" "$TEST_SRC/scripts/$script" $arg
    done
done
check 'options of the tests' sh -c '"$1" --help | grep -e "^  -k PATTERN"' - "$TEST_SRC/scripts/check"
check 'a wrong part' status 2 'no part "nonsense"' "$TEST_SRC/scripts/check" --full -c nonsense
check 'a pattern that is missing' status 2 '-k needs a value' "$TEST_SRC/scripts/check" -k
check 'a file that is not there' status 2 'no test nothing.sh' "$TEST_SRC/scripts/check" nothing.sh
check 'the parts' status 0 '^sanitize$' "$TEST_SRC/scripts/check" --full -l
check 'arguments that are right' "$TEST_SRC/tests/run" --parse -v -k x mp input/packages.sh
check 'nothing was installed' test ! -e calls

as 0
check 'nothing is missing' eval 'try have && test ! -e calls'
check 'as root' try have want
check 'by apt-get' grep -q 'apt-get .*install .*want' calls
check 'not what is there' eval '! grep -q have calls'
check 'without sudo' eval '! grep -q sudo calls'
check 'a second time' eval 'try have want && test ! -e calls'
rm -f installed
check_fails 'one that does not exist' 'E: no such thing' try broken
check_fails 'which one' 'could not install: broken' try broken
check_fails 'it stops' 'packages +FAILED' try broken
as 1000
rm -f installed
check 'by sudo' try want
check 'it was sudo' grep -q 'sudo env' calls
rm -f installed
tool sudo 'exit 1'
check_fails 'sudo refuses' 'As root: apt-get install want' try want
rm fake/sudo
mkdir path
for t in sh env mktemp rm tail date grep cat; do ln -s "$(command -v $t)" path/; done
PATH=$PWD/fake:$PWD/path
check_fails 'neither root nor sudo' 'neither root nor sudo' try want
check_fails 'what to do' 'As root: apt-get install want' try want
rm fake/dpkg-query
check 'not Debian' try want
totals
