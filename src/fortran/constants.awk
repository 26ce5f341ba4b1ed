# Reads the constants of include/mpi.h for modules.awk: what is an integer or a handle. Precedes tables.awk.
#   constant[n], n_constants    the names, in the order of the header
#   value[NAME]                 an integer
#   handle[NAME]                Comm of MPI_Comm, "" when it is no handle

# A number of C, or what a name stands for.
function number(s,    i, v) {
    if (match(s, /0x[0-9a-f]+/)) {
        v = 0
        for (i = RSTART + 2; i < RSTART + RLENGTH; i++)
            v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
        return v < 2147483648 ? v : v - 4294967296
    }
    if (match(s, /MPI_[A-Z0-9_]+/) && substr(s, RSTART, RLENGTH) in value)
        return value[substr(s, RSTART, RLENGTH)]
    if (match(s, /-?[0-9]+/))
        return substr(s, RSTART, RLENGTH) + 0
    return ""
}

function add_constant(what, v, kind) {
    if (v == "" || what in value)
        return
    n_constants++
    constant[n_constants] = what
    value[what] = v
    handle[what] = kind
}

# The other name that a name stands for.
function trim_define(s) {
    gsub(/ /, "", s)
    return s
}

# Fortran's keys of attributes are one higher, and its texts have no null character at the end.
function add_define(what, s,    v, kind) {
    if (what ~ /^MPI_(T_|F08_|INCLUDED|AINT_FMT)/ || what ~ /_FN$/ || s ~ /\*/)
        return
    kind = trim_define(s) in handle ? handle[trim_define(s)] : ""
    v = s
    if (match(s, /MPI_[A-Z][a-z]+\)/)) {
        kind = substr(s, RSTART + 4, RLENGTH - 5)
        v = substr(s, RSTART + RLENGTH)
    }
    v = number(v)
    if (s ~ /0x6[46]/ && kind == "" || what ~ /^MPI_F_(SOURCE|TAG|ERROR)$/)
        v++
    if (what ~ /^MPI_MAX_/)
        v--
    sub(/^MPI_F_/, "MPI_", what)
    add_constant(what, v, kind)
}

function read_constant(    s) {
    s = $0
    sub(/\/\*.*/, "", s)
    if (s ~ /^#define MPI_[A-Z0-9_]+ +[^ ]/) {
        sub(/^#define [A-Z0-9_]+ +/, "", s)
        add_define($2, s)
        return
    }
    while (match(s, /MPI_[A-Z0-9_]+ = [0-9]+/)) {
        if (substr(s, RSTART, 6) != "MPI_T_")
            add_constant(substr(s, RSTART, index(substr(s, RSTART), " ") - 1), \
                number(substr(s, RSTART + index(substr(s, RSTART), "="), 6)), "")
        s = substr(s, RSTART + RLENGTH)
    }
}

FILENAME ~ /\.h$/ { read_constant(); next }
