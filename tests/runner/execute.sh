# One run: a command under the guard, then the verdict. For tests/run, whose variables it uses.
# To start a process costs more than to run many a test: here is only the guard's.

# What is there with names that Datum gives, of ours, to the array here: anything else in these
# places belongs to others.
look_for_files() {
    local path
    here=()
    [ $is_inner = no ] || return 0
    for path in /dev/shm/*datum* /tmp/*datum*; do
        [ -O "$path" ] || continue
        case $path in
        "$work" | */datum-tests.* | */datum-conf.* | */datum-lint.* | */datum-log.*) ;;
        *) here+=("$path") ;;
        esac
    done
}
# new_files PATH...: those that are there now and not among these, to left.
new_files() {
    local path here before=" $* "
    look_for_files
    left=''
    for path in "${here[@]}"; do
        [[ $before == *" $path "* ]] || left="${left:+$left }$path"
    done
}

# Seconds of processor time of all that this shell has waited for, from "times >FILE", to cpu.
cpu_seconds() { # FILE
    local line m s
    { read -r line; read -r line; } <"$1"
    # 0m1.234s 0m0.567s
    line=${line//s/} line=${line//./}
    read -r m s <<<"$line"
    s=$(((${m%m*} + ${s%m*}) * 60000 + 10#${m#*m} + 10#${s#*m}))
    printf -v cpu '%d.%02d' $((s / 1000)) $((s % 1000 / 10))
}

# execute ID IS_ALONE NICE COMMAND...: writes the verdict as a line to the pipe of results, what a
# failed run said to $work/ID.txt. IS_ALONE: nothing else runs, so that a file that is left is its.
execute() {
    local id=$1 is_alone=$2 niceness=$3 file=${run_file[$1]} limit=$((${run_limit[$1]} * factor))
    local label=${run_label[$id]} rc t0 t1 why='' n_pass=0 n_fail=0 n_skip=0 verdict='' last='' left cpu
    local dir=$work/$id opts=() is_script=no here=() out=() err=() start=(exec)
    shift 3
    [[ $file != *.sh ]] || is_script=yes
    [ $niceness = 0 ] || start+=(nice -n "$niceness")
    [ $is_alone = no ] || look_for_files
    ! command -v gdb >/dev/null || opts=(-b)
    t0=${EPOCHREALTIME/./}
    (
        cd "$dir/cwd" || exit 125
        export TMPDIR=$dir/tmp TEST_TMP=$dir/cwd
        exec {results}>&-
        "${start[@]}" "$guard" -t "$limit" -o "$dir/out" -e "$dir/err" "${opts[@]}" -- "$@"
    ) >"$dir/guard" 2>&1 &
    # Not in the foreground: a trap must be able to run, and pass the signal on.
    guard_pid=$!
    trap 'kill $guard_pid 2>/dev/null; wait $guard_pid; exit 130' INT TERM HUP
    wait $guard_pid
    rc=$?
    t1=${EPOCHREALTIME/./}
    times >"$dir/times"
    cpu_seconds "$dir/times"
    [ ! -s "$dir/out" ] || mapfile -t out <"$dir/out"
    [ ! -s "$dir/err" ] || mapfile -t err <"$dir/err"
    [ ${#out[@]} = 0 ] || last=${out[-1]}
    if [[ $last =~ ^([0-9]+)' passed, '([0-9]+)' failed'(', '([0-9]+)' skipped')?$ ]]; then
        n_pass=${BASH_REMATCH[1]} n_fail=${BASH_REMATCH[2]} n_skip=${BASH_REMATCH[4]:-0}
        [ $((n_pass + n_fail + n_skip)) -gt 0 ] || why='it ran no test'
    fi
    case $rc in
    124) why="time-out after $limit s" ;;
    125) why='the guard failed' ;;
    126) why='processes were left' ;;
    77)
        if [ $is_script = yes ] && [ "$n_fail" = 0 ]; then
            verdict=skip
        else
            why='exit status 77'
        fi
        ;;
    *)
        case ${exit_of[$file]} in
        any) ;;
        '!0' | nonzero) [ $rc != 0 ] || why='exit status 0, which is not expected' ;;
        *) [ $rc = "${exit_of[$file]}" ] || why="exit status $rc, expected ${exit_of[$file]}" ;;
        esac
        ;;
    esac
    judge_output
    left=("$dir/tmp"/* "$dir/tmp"/.[!.]*) # nullglob is set
    left="${left[*]#"$dir/tmp/"}"
    [ -z "$left" ] || why="${why:+$why; }files left in TMPDIR: $left"
    if [ $is_alone = yes ]; then
        new_files "${here[@]}"
        [ -z "$left" ] || why="${why:+$why; }files left: $left"
    fi
    if [ -n "$why" ]; then
        verdict=fail
        [ "$n_fail" -gt 0 ] || n_fail=1
    elif [ "$verdict" = skip ]; then
        why=${last:-no reason given}
        n_skip=1
    else
        verdict=pass
        [ "$n_pass" -gt 0 ] || [ "$n_skip" -gt 0 ] || n_pass=1
    fi
    [ $verdict != fail ] || tell_failure >"$work/$id.txt"
    [ $is_script = no ] || rm -rf "$dir"
    why=${why//$'\n'/ }
    printf '%s %s %s %s %s %s %s %s\n' "$id" $verdict "$n_pass" "$n_fail" "$n_skip" $(((t1 - t0) / 1000)) \
        "$cpu" "${why:0:1000}" >&"$results"
}

# Adds to why what is wrong with what a run has said.
judge_output() {
    local line warn=${warn_of[$file]} is_said=no is_ours='^(\[[^]]*\] )?datum: .*(error|warning)' odd='' bad=no
    for line in "${err[@]}"; do
        [[ $line != *'Sanitizer: '* && $line != *'runtime error: '* ]] || bad=yes
        if [ -n "$warn" ] && [[ $line =~ $warn ]]; then
            is_said=yes
        elif [ -z "$odd" ] && [[ $line =~ $is_ours ]]; then
            odd=$line
        fi
    done
    for line in "${out[@]}"; do
        [[ $line != *'Sanitizer: '* && $line != *'runtime error: '* ]] || bad=yes
    done
    [ $bad = no ] || why="${why:+$why; }a sanitizer complains"
    [ -z "$odd" ] || [ "${stderr_of[$file]}" = allowed ] || [ $is_script = yes ] ||
        why="${why:+$why; }an unannounced message: $odd"
    [ -z "$warn" ] || [ $is_said = yes ] || why="${why:+$why; }the announced message ($warn) did not come"
}

tell_failure() {
    echo "FAILED: $label: $why"
    cat "$dir/guard"
    for f in out err; do
        [ -s "$dir/$f" ] || continue
        echo "---- $f, last 60 lines"
        tail -n 60 "$dir/$f"
    done
    echo "---- again: DATUM_BUILD='$build' '$src/tests/run' -k '$label' $file"
}
