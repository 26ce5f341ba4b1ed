# Which runs go at the same time, and what has become of them: totals, durations. For tests/run,
# whose variables it uses.
#
# Two slots. A run that others may share the machine with takes one, any other both. Beside all
# that, one after the other, go runs of "beside=yes": scripts that keep one core busy and look at
# no clock (compilers, an emulated machine). They start when the C programs are done.

passed=0 failed=0 skipped=0
declare -A slots_of=() # of the runs that are under way, by number
n_taken=0
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
        [ -n "$(jobs -pr)" ] || { echo 'tests/run: a run was killed before its verdict' >&2; exit 2; }
    done
    group=${run_group[$id]}
    n_taken=$((n_taken - ${slots_of[$id]:-0}))
    unset "slots_of[$id]"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ -z "${is_beside[$id]:-}" ] || { group=beside; n_beside=$((n_beside - 1)); }
    group_passed[$group]=$((${group_passed[$group]:-0} + p))
    group_failed[$group]=$((${group_failed[$group]:-0} + f))
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

# Of several runs at a time nobody can say who left a file: the group did.
nothing_left() { # GROUP PATH...
    local left group=$1
    shift
    new_files "$@"
    [ -n "$left" ] || return 0
    echo "FAILED: $group: files left: $left"
    failed=$((failed + 1)) group_failed[$group]=$((${group_failed[$group]:-0} + 1))
}

# The runs of one group, those that share the machine first.
run_group() { # GROUP ID...
    local group=$1 id slots n_shared=0 t0=$SECONDS here
    shift
    [ $# -gt 0 ] || return 0
    case $group in unit | dat | mp) ;; *) start_beside ;; esac
    look_for_files
    for slots in 1 2; do
        for id; do
            [ "${run_slots[$id]}" = $slots ] || continue
            [ $slots = 2 ] && [ "$n_slots" = 2 ] || n_shared=$((n_shared + 1))
            start_run "$id"
        done
    done
    wait_for_slots "$n_slots"
    [ $n_shared = 0 ] || nothing_left "$group" "${here[@]}"
    [ "$rounds" -ge 3 ] || report_group "$group" $# $((SECONDS - t0))
}

report_group() { # GROUP RUNS SECONDS
    printf '%-9s %4d runs %5d passed %3d failed %4d s\n' "$1" "$2" "${group_passed[$1]:-0}" \
        "${group_failed[$1]:-0}" "$3"
    group_passed[$1]=0 group_failed[$1]=0
}

# What ran beside the others.
finish_beside() {
    local t0=$SECONDS
    [ ${#beside_ids[@]} -gt 0 ] || return 0
    start_beside
    while [ "$n_beside" -gt 0 ]; do take_result; done
    wait "$beside_pid"
    beside_pid=''
    report_group beside ${#beside_ids[@]} $((SECONDS - t0))
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

summary() {
    local text="$passed passed, $failed failed"
    [ $skipped = 0 ] || text="$text, $skipped skipped"
    echo "$text"
}
