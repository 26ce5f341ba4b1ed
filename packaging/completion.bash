# Completion of Datum's programs in bash. Options are those that --help prints, settings those of
# datum-info, providers those of the dat.conf in force: nothing here has to follow them.

_datum_options()
{
    "$1" --help 2>/dev/null |
        sed -n 's/^ *\(-.*\)/\1/p' |
        sed 's/   *.*//' |
        grep -oE -- '(^|[ ,])--?[A-Za-z][A-Za-z0-9_-]*' |
        tr -d ' ,'
}

_datum_providers()
{
    local conf=${DAT_OVERRIDE:-}
    [ -n "$conf" ] || conf=$("$1" --dat-conf 2>/dev/null)
    [ -r "$conf" ] && sed -n 's/^\("[^"]*"\|[^#[:space:]"][^[:space:]]*\)[[:space:]].*/\1/p' "$conf" | sort -u
}

# The program of the same installation as the one that is completed.
_datum_beside()
{
    local path
    path=$(type -P -- "$1") && path=$(dirname -- "$(readlink -f -- "$path")")/$2
    [ -x "$path" ] && printf '%s\n' "$path" || printf '%s\n' "$2"
}

# Names for COMPREPLY, by what compgen is told: each once; quoted where they are typed, and with a slash behind
# directories, by readline, which knows the quotes that the word has so far.
_datum_names() # WORD COMPGEN_OPTION...
{
    local word=${1#[\'\"]}
    shift
    mapfile -t COMPREPLY < <(compgen "$@" -- "${word//\\/}" | sort -u)
    compopt -o filenames 2>/dev/null # outside of a completion there are none
    return 0
}

_datum()
{
    local command=$1 current=$2 before=$3 info words=''
    COMPREPLY=()
    info=$(_datum_beside "$command" datum-info)
    case $before in
    -env | -genv | -x | -envlist | -genvlist)
        words=$("$info" --settings 2>/dev/null | grep -o '^ *DATUM_[A-Z0-9_]*' | tr -d ' ')
        ;;
    -hostfile | -f | -configfile | -file | -outfile-pattern | -errfile-pattern | --json | -o)
        _datum_names "$current" -f
        return
        ;;
    --output | --diff | -wdir)
        _datum_names "$current" -d
        return
        ;;
    --raw | --providers | --peer) words=$(_datum_providers "$info") ;;
    --only) [ "${command##*/}" != datum-check ] || words=$("$command" --list 2>/dev/null | grep '^[a-z]') ;;
    esac
    if [ -z "$words" ]; then
        case ${command##*/}:$current in
        *:-*) words=$(_datum_options "$command") ;;
        datum-check:* | dat-conform:*) words=$(_datum_providers "$info") ;;
        esac
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        return
    fi
    case ${command##*/} in
    mpiexec* | mpirun*) _datum_names "$current" -c -f ;;
    *) _datum_names "$current" -f ;;
    esac
}

complete -F _datum datum-info datum-check datum-bench datum-tune datum-compare dat-conform \
    mpiexec mpirun mpicc mpicxx mpic++ mpifort mpif77 mpif90 mpiexec.datum mpirun.datum
