# Which runs go at the same time, and what has become of them: totals, durations. For tests/run,
# whose variables it uses.
#
# Three slots, for two cores: many a run waits. A program of two processes takes one, of four two.
# What wants the machine for itself takes all: C programs of that kind come first, scripts last.
# Scripts that share go one after the other beside the C programs, for they wait most; when those are
# through, three at a time. Beside these, one after the other, go runs of "beside=yes": scripts that keep
# one core busy and look at no clock (compilers, an emulated machine).

passed=0 failed=0 skipped=0
declare -A slots_of=() # of the runs that are under way, by number
n_taken=0
n_scripts=0 # of them
ms_all=0 cpu_all=0 # milliseconds of all runs, hundredths of processor seconds
declare -A group_ms=() group_cpu=()
beside_pid='' beside_ids=()
declare -A group_passed=() group_failed=()

# Takes results until so many slots are free.
wait_for_slots() { # SLOTS
    while [ $n_taken -gt 0 ] && [ $((n_taken + $1)) -gt "$n_slots" ]; do take_result; done
}

# Waits for the next result.
take_result() {
    local id verdict p f s ms cpu why group
    while ! read -r -t 60 -u "$results" id verdict p f s ms cpu why; do
        [ -n "$(jobs -pr | grep -vx "${load_pid:--}")" ] || { echo 'tests/run: a run was killed before its verdict' >&2; exit 2; }
    done
    group=${run_group[$id]}
    n_taken=$((n_taken - ${slots_of[$id]:-0}))
    [ -z "${slots_of[$id]:-}" ] || [[ ${run_file[$id]} != *.sh ]] || n_scripts=$((n_scripts - 1))
    unset "slots_of[$id]"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ -z "${is_beside[$id]:-}" ] || { group=beside; n_beside=$((n_beside - 1)); }
    group_passed[$group]=$((${group_passed[$group]:-0} + p))
    group_failed[$group]=$((${group_failed[$group]:-0} + f))
    group_ms[$group]=$((${group_ms[$group]:-0} + ms))
    group_cpu[$group]=$((${group_cpu[$group]:-0} + 10#${cpu/./}))
    printf '%d.%03d\t%s\t%s\n' $((ms / 1000)) $((ms % 1000)) "$cpu" "${run_label[$id]}" >>"$work/durations"
    if [ "$verdict" = fail ]; then
        cat "$work/$id.txt"
    elif [ "$verdict" = skip ]; then
        echo "skipped: ${run_label[$id]}: $why"
    elif [ $verbose = yes ]; then
        printf '%-60s ok %6d ms\n' "${run_label[$id]}" "$ms"
    fi
    if [ $stop = yes ] && [ $failed -gt 0 ]; then
        [ -z "$beside_pid" ] || kill "$beside_pid" 2>/dev/null
        wait
        summary
        exit 1
    fi
}

start_run() { # ID
    local id=$1 slots=${run_slots[$1]} is_alone=no command
    [ -z "$jobs" ] || slots=1
    wait_for_slots "$slots"
    [[ ${run_file[$id]} != *.sh ]] || n_scripts=$((n_scripts + 1))
    [ "$slots" -lt "$n_slots" ] || is_alone=yes
    eval "command=(${run_command[$id]})"
    execute "$id" $is_alone 0 "${command[@]}" &
    slots_of[$id]=$slots
    n_taken=$((n_taken + slots))
}

declare -A is_beside=()
n_beside=0
start_beside() {
    local id command
    [ -z "$beside_pid" ] && [ ${#beside_ids[@]} -gt 0 ] || return 0
    for id in "${beside_ids[@]}"; do is_beside[$id]=yes; done
    n_beside=${#beside_ids[@]}
    (
        for id in "${beside_ids[@]}"; do
            eval "command=(${run_command[$id]})"
            execute "$id" no 10 "${command[@]}"
        done
    ) &
    beside_pid=$!
}

# Of several runs at a time nobody can say who left a file.
nothing_left() { # PATH...
    local left
    new_files "$@"
    [ -n "$left" ] || return 0
    echo "FAILED: files left by one of those that ran together: $left"
    failed=$((failed + 1))
}

# The runs that have the machine for themselves: C programs, or scripts.
run_alone() { # yes or no: scripts?
    local id
    for id in "${round_ids[@]}"; do
        [ "${run_slots[$id]}" = 3 ] && [ -z "$jobs" ] || continue
        if [[ ${run_file[$id]} = *.sh ]]; then [ "$1" = yes ]; else [ "$1" = no ]; fi || continue
        start_run "$id"
    done
    wait_for_slots "$n_slots"
}

# The others: a script whenever none is under way, a program else.
run_shared() {
    local id scripts=() programs=() here
    for id in "${round_ids[@]}"; do
        [ "${run_slots[$id]}" != 3 ] || [ -n "$jobs" ] || continue
        if [[ ${run_file[$id]} = *.sh ]] && [ -z "$jobs" ]; then scripts+=("$id"); else programs+=("$id"); fi
    done
    look_for_files
    while [ $((${#scripts[@]} + ${#programs[@]})) -gt 0 ]; do
        wait_for_slots 1
        if [ ${#scripts[@]} -gt 0 ] && { [ $n_scripts = 0 ] || [ ${#programs[@]} = 0 ]; }; then
            start_run "${scripts[0]}"
            scripts=("${scripts[@]:1}")
        else
            start_run "${programs[0]}"
            programs=("${programs[@]:1}")
        fi
    done
    wait_for_slots "$n_slots"
    nothing_left "${here[@]}"
}

run_round() {
    local group
    round_ids=()
    # shellcheck disable=SC2206 # numbers
    for group in "${group_order[@]}"; do round_ids+=(${runs_of[$group]:-}); done
    run_alone no
    start_beside
    run_shared
    finish_beside
    run_alone yes
    [ "$rounds" -lt 3 ] || return 0
    for group in "${group_order[@]}"; do
        # shellcheck disable=SC2086 # numbers
        set -- ${runs_of[$group]:-}
        [ $# = 0 ] || report_group "$group" $#
    done
    [ ${#beside_ids[@]} = 0 ] || report_group beside ${#beside_ids[@]}
}

# The seconds are those of its runs, some of which went at the same time, and of processors.
report_group() { # GROUP RUNS
    local ms=${group_ms[$1]:-0} cpu=${group_cpu[$1]:-0}
    printf '%-9s %4d runs %5d passed %3d failed %5d s %5d s of processors\n' "$1" "$2" "${group_passed[$1]:-0}" \
        "${group_failed[$1]:-0}" $((ms / 1000)) $((cpu / 100))
    ms_all=$((ms_all + ms)) cpu_all=$((cpu_all + cpu))
    group_passed[$1]=0 group_failed[$1]=0 group_ms[$1]=0 group_cpu[$1]=0
}

# What ran beside the others.
finish_beside() {
    [ ${#beside_ids[@]} -gt 0 ] || return 0
    while [ "$n_beside" -gt 0 ]; do take_result; done
    wait "$beside_pid"
    beside_pid=''
}

# The durations of this run replace those of the same labels in BUILD/durations.txt.
keep_durations() {
    local file=$build/durations.txt
    [ -s "$work/durations" ] || return 0
    sort -rn "$work/durations" >"$work/now"
    [ -f "$file" ] || : 2>/dev/null >"$file" || return 0 # a guest may not write there
    # The slowest of several rounds.
    { awk -F '\t' 'FNR == NR { if (!seen[$3]++) print; next } !($3 in seen)' "$work/now" "$file" | sort -rn; } \
        >"$work/all" 2>/dev/null && cp "$work/all" "$file" 2>/dev/null
    if [ "$(wc -l <"$work/now")" -ge 50 ]; then
        echo "the ten slowest runs, seconds and those of processors (all: $file)"
        head -n 10 "$work/now" | awk -F '\t' '{ printf "%8.1f %8.1f  %s\n", $1, $2, $3 }'
    fi
}

# CHECK_BUILD: seconds, and those of processors, that scripts/check has taken before.
summary() {
    local text="$passed passed, $failed failed" s=$SECONDS cpu=$((cpu_all / 100)) of=''
    if [ -n "${CHECK_BUILD:-}" ]; then
        s=$((s + ${CHECK_BUILD% *})) cpu=$((cpu + ${CHECK_BUILD#* })) of=' with the build'
    fi
    [ $cpu = 0 ] || echo "in all $s s, $cpu s of processors$of"
    [ $skipped = 0 ] || text="$text, $skipped skipped"
    echo "$text"
}
