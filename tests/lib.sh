# For the scripts among the tests: . "$TEST_LIB". They run in an empty directory of their
# own ($TEST_TMP), with bin/ of the build in PATH; the runner sets these and more:
#   DATUM_BUILD  the build directory       TEST_SRC  the source directory
#   DAT_OVERRIDE its dat.conf              TMPDIR    must be empty in the end
# A script that makes several checks ends with "totals"; a simple one just exits:
# 0 passed, 77 skipped (reason on the last line), else failed.

n_passed=0 n_failed=0 n_skipped=0

skip() {
    echo "$*"
    exit 77
}
fail() {
    echo "FAILED: $*"
    exit 1
}
# need COMMAND PACKAGE: skip when it is not there.
need() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not there (package $2)"; }

# Whose Fortran modules mpifort can take here, for DATUM_MODULES.
fortran_modules() {
    [ ! -e "$DATUM_BUILD/lib/libdatum_mpifort.so.0" ] || echo own
    [ -z "$(ls /usr/include/*/mpich/mpif.h 2>/dev/null)" ] || echo mpich
}

# gone SECONDS PATTERN: no process with such a command line is there, or soon; else they are printed
gone() {
    gone_looks=$((10 * $1))
    while [ $gone_looks -gt 0 ]; do
        pgrep -f "$2" >/dev/null || return 0
        gone_looks=$((gone_looks - 1))
        sleep 0.1
    done
    pgrep -af "$2"
    return 1
}

# has_lines NAME N PATTERN: so many lines of the file `said` are like that
has_lines() {
    if [ "$(grep -cE -e "$3" said)" = "$2" ]; then
        pass_one
    else
        fail_one "$1: not $2 lines like $3"
        cat said
    fi
}

pass_one() { n_passed=$((n_passed + 1)); }
fail_one() {
    echo "FAILED: $*"
    n_failed=$((n_failed + 1))
}
skip_one() {
    echo "skipped: $*"
    n_skipped=$((n_skipped + 1))
}
# check NAME COMMAND...: one check that passes when the command succeeds.
check() {
    check_name=$1
    shift
    if "$@" >check.out 2>&1; then
        pass_one
    else
        fail_one "$check_name"
        tail -n 30 check.out
    fi
}
# check_fails NAME PATTERN COMMAND...: passes when it fails and says PATTERN (grep -E).
check_fails() {
    check_name=$1 check_pattern=$2
    shift 2
    if "$@" >check.out 2>&1; then
        fail_one "$check_name: it succeeded, which it must not"
    elif ! grep -qE -e "$check_pattern" check.out; then
        fail_one "$check_name: it did not say \"$check_pattern\""
        tail -n 30 check.out
    else
        pass_one
    fi
}
# Run a command: its status in rc, what it says in the file said; false when that is not PATTERN
# (grep -E; '': anything or nothing).
listen() { # PATTERN COMMAND...
    pattern=$1
    shift
    "$@" >said 2>&1
    rc=$?
    [ -z "$pattern" ] || grep -Eqe "$pattern" said
}
# For check: the command's own status, or 1 when it did not say PATTERN.
says() { # PATTERN COMMAND...
    listen "$@" && return $rc
    cat said
    return 1
}
# For check: it must say PATTERN and end with STATUS.
status() { # STATUS PATTERN COMMAND...
    want=$1
    shift
    listen "$@" && [ $rc = "$want" ] && return
    echo "status $rc"
    cat said
    return 1
}
totals() {
    echo "$n_passed passed, $n_failed failed$([ $n_skipped = 0 ] || echo ", $n_skipped skipped")"
    [ $n_failed = 0 ]
    exit
}
