#!/bin/bash
# test: timeout=240
# GUIDE: each answer fits on a screen, what it names is there, and its commands do what they should: here, and in a
# container that refuses what containers do.
. "$TEST_LIB"
guide=$TEST_SRC/GUIDE
SCREEN=24

# ---- the text ----

fits() {
    awk -v most=$SCREEN '
        function ends() { if (name != "" && last - first + 1 > most) { print name ": " last - first + 1 " lines"; bad = 1 } }
        /^[0-9]\. / { ends(); name = $0; first = last = NR }
        /[^ ]/ { last = NR }
        length($0) > 110 { print NR ": " length($0) " columns"; bad = 1 }
        END { ends(); exit bad }' "$guide"
}
answers() { [ "$(grep -cE '^[0-9]\. ' "$guide")" = 9 ] && [ "$(grep -c '^More: ' "$guide")" = 9 ]; }
# A page and names of its sections: all are there.
sections() {
    local page='' word bad=0
    while read -r word; do
        case $word in
        docs/*) page=$word && [ -f "$TEST_SRC/$page" ] || { echo "no $page" && bad=1; } ;;
        *) grep -qE "^##+ $word(:.*)?$" "$TEST_SRC/$page" || { echo "$page has no section $word" && bad=1; } ;;
        esac
    done < <(awk '/^More: /, /^$/' "$guide" | grep -oE 'docs/[A-Z]+\.md|"[^"]+"' | tr -d '"')
    return $bad
}
settings() {
    local name bad=0
    datum-info --settings >settings
    for name in $(grep -oE 'DATUM_[A-Z_]+' "$guide" | sort -u); do
        grep -qw "$name" settings || { echo "no setting $name" && bad=1; }
    done
    return $bad
}
options() {
    local name bad=0
    mpiexec -help >help
    for name in -n -np -l -hosts -host -hostfile -timeout -bind-to -map-by -x -tag-output -version; do
        grep -qE -e "(^|[ ,/])-?$name\b" help || { echo "mpiexec -help does not list $name" && bad=1; }
    done
    mpiexec --oversubscribe -np 1 true || bad=1
    return $bad
}
check 'answers fit on a screen' fits
check 'there are nine, with a page each' answers
check 'sections that are named' sections
check 'settings that are named' settings
check 'options that are named' options

# ---- the commands ----

# Those that begin with $, with what goes on behind a backslash; a remark stands behind several blanks and a hash.
commands() { # OF-WHICH-ANSWERS
    awk -v which="$1" '
        /^[0-9]\. / { on = index(which, substr($0, 1, 1)) > 0 }
        on && /^    \$ / { more = 1 }
        on && more { sub(/^    (\$ |  )/, ""); print; more = /\\$/ }' "$guide" | sed 's/  *#.*//'
}
follow() { # OF-WHICH-ANSWERS [COMMAND...]: by this command
    commands "$1" >steps
    [ -s steps ] || return 1
    cat steps
    shift
    timeout 100 "$@" bash -e -x steps
}
first_job() { follow 2 && [ "$(mpiexec -n 4 ./hello | sort | tr '\n' ' ')" = 'hello from 0 hello from 1 hello from 2 hello from 3 ' ]; }
check 'answer 1' follow 1
check 'answer 2' first_job
check 'answer 3' follow 3
check 'answer 4' follow 4
check 'answer 5' follow 5

# ---- a container ----

${CC:-cc} -o refuse "$TEST_SRC/tests/input/refuse.c" || fail 'refuse.c does not compile'
mpicc -O1 -o traffic "$TEST_SRC/tests/input/traffic.c" || fail 'traffic.c does not compile'
./refuse ptrace true || skip 'seccomp filters are not available here'
cat >container <<'END'
#!/bin/sh
# container CALLS COMMAND...: processes, network and mounts of its own; nothing in /dev/shm; those calls are refused
calls=$1
shift
exec unshare -m -p -f -n --mount-proc sh -c '
    mount -t tmpfs -o ro,size=0 none /dev/shm || exit 77
    ip link set lo up 2>/dev/null
    calls=$1; shift
    exec ./refuse "$calls" "$@"' - "$calls" "$@"
END
chmod +x container
refused=ptrace,process_vm_readv,process_vm_writev,userfaultfd,membarrier
if ! ./container "$refused" true 2>/dev/null; then
    skip_one 'a container: namespaces need root'
    totals
    exit
fi
inside() { timeout 100 ./container "$refused" "$@"; }
# A program, without a word of the library.
runs() {
    inside "$@" >out 2>err
    rc=$?
    cat out err
    [ $rc = 0 ] && ! grep -q 'datum:' err
}
says_why() {
    DATUM_PROVIDER=datum-shm inside mpiexec -n 2 ./hello >out 2>&1
    rc=$?
    cat out
    [ $rc != 0 ] && [ $rc != 124 ] && grep -qE 'datum:.*memfd' out
}
info() { inside datum-info --host | tee out && grep -qE 'process_vm_readv +no: ' out; }
check 'answer 7' follow 7 ./container "$refused"
check 'what is refused is said' info
check 'messages' runs mpiexec -n 4 ./traffic -n 20
check 'messages over TCP' runs env DATUM_PROVIDER=datum-tcp mpiexec -n 2 ./traffic -n 5
check 'a progress thread' runs env DATUM_PROGRESS=thread mpiexec -n 2 ./traffic -n 5
check 'collectives' runs mpiexec -n 3 "$DATUM_BUILD/tests/mp/coll_shm"
check 'windows' runs mpiexec -n 2 "$DATUM_BUILD/tests/mp/rma_put_get"
# A job that runs is seen from inside.
cat >seen <<'END'
#!/bin/sh
mpiexec -n 2 ./traffic >/dev/null 2>&1 &
for i in $(seq 300); do
    [ "$(datum-ps | grep -c '^rank [01] of 2 ')" != 2 ] || break
    sleep 0.1
done
datum-ps --stacks
kill $!
wait $!
[ $i != 300 ]
END
chmod +x seen
check 'what ranks are doing' inside ./seen
# The same without memory files: sockets.
refused=$refused,memfd_create
for n in 2 3 7; do
    check "answer $n without memory files" follow $n ./container "$refused"
done
check 'what ranks are doing without memory files' inside ./seen
check 'messages without memory files' runs mpiexec -n 4 ./traffic -n 20
check 'collectives without memory files' runs mpiexec -n 3 "$DATUM_BUILD/tests/mp/coll_shm"
check 'windows without memory files' runs mpiexec -n 2 "$DATUM_BUILD/tests/mp/rma_put_get"
check 'shared memory by name says what it needs' says_why
totals
