# Shared by bench/compare and bench/*/run: a table on standard output, and in a file for bench/results.
# Sourced with $here, the directory of the script, and $build, the build directory, set.

command -v python3 >/dev/null 2>&1 || {
    echo 'bench: python3 is not there, which makes the tables: apt-get install python3' >&2
    exit 2
}

# bench_version COMMAND...: the last word with a digit of what the command says first.
bench_version() {
    command -v "$1" >/dev/null 2>&1 || return
    "$@" 2>/dev/null | grep -m 1 -o '[0-9][0-9.]*[0-9][^ ]*' | head -n 1
}

# bench_commit: of the sources; "with changes" when they are not what was committed.
bench_commit() {
    git -C "$here" rev-parse --short HEAD 2>/dev/null || { echo unknown; return; }
    [ -z "$(git -C "$here" status --porcelain --untracked-files=no 2>/dev/null)" ] || echo 'with changes'
}

# bench_header TITLE COMMAND: where and when, in Markdown.
bench_header() {
    printf '# %s\n\n| | |\n|---|---|\n' "$1"
    printf '| date | %s |\n' "$(date -u '+%Y-%m-%d %H:%M UTC')"
    printf '| commit | %s |\n' "$(bench_commit | paste -sd' ' -)"
    printf '| command | `%s` |\n' "$2"
    printf '| processor | %s, %s cores |\n' \
        "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)" "$(getconf _NPROCESSORS_ONLN)"
    printf '| kernel | %s |\n' "$(uname -sr)"
    printf '| load | %s at the end |\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
    printf '| libraries | Datum %s, MPICH %s, Open MPI %s |\n\n' "$(bench_version "$build/bin/datum-info" --version)" \
        "$(bench_version mpichversion)" "$(bench_version ompi_info --version)"
}

# bench_show TABLE SAVE TITLE COMMAND: print the file TABLE; unless SAVE is empty, write it there with a header.
bench_show() {
    cat "$1"
    [ -n "$2" ] || return 0
    { bench_header "$3" "$4" && sed 's/^\(.\)/    \1/' "$1"; } >"$2.new" && mv "$2.new" "$2" && return
    echo "bench: $2 cannot be written" >&2
    return 1
}

# bench_has_peer mpich|openmpi: can programs be built with it, and run?
bench_has_peer() {
    case $1 in mpich) bench_launcher=mpiexec.mpich ;; *) bench_launcher=mpirun.openmpi ;; esac
    command -v $bench_launcher >/dev/null &&
        "mpicc.$1" -include mpi.h -fsyntax-only -xc /dev/null 2>/dev/null
}

# bench_words SCRIPT ARGUMENT...: the command line as it can be repeated, without -S and its file.
bench_words() {
    said="bench/${1##*/bench/}"
    shift
    skip=no
    for word do
        case $skip,$word in
        yes,*) skip=no && continue ;;
        no,-S) skip=yes && continue ;;
        esac
        case $word in
        *[!A-Za-z0-9_./:,=+-]* | '') said="$said '$word'" ;;
        *) said="$said $word" ;;
        esac
    done
    printf '%s\n' "$said"
}
