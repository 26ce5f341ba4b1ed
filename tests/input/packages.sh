#!/bin/sh
# test: timeout=60
# What quickstart and check do about missing packages, with made-up dpkg-query, apt-get,
# sudo and id: install as root or by sudo, and say clearly when neither is possible.
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
