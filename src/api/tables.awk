# Reads kinds.tbl and api.tbl (in this order) for gen.awk and the Fortran bindings (src/fortran/*.awk),
# which follow as further -f.
# Only POSIX awk; every awk must give the same bytes. Nothing may depend on the order of "for (k in a)".

function die(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

function trim(s) {
    sub(/^[ \t]+/, "", s)
    sub(/[ \t]+$/, "", s)
    return s
}

# Replace every `what` (plain text) in s.
function put(s, what, by,    out, i) {
    out = ""
    while ((i = index(s, what)) > 0) {
        out = out substr(s, 1, i - 1) by
        s = substr(s, i + length(what))
    }
    return out s
}

# Break a text with ", " to lines of 100 columns.
function wrap(s, indent,    out, line, i, part) {
    out = ""
    line = ""
    while (s != "") {
        i = index(s, ", ")
        part = i ? substr(s, 1, i + 1) : s
        s = i ? substr(s, i + 2) : ""
        if (length(line) + length(part) > 101) {
            sub(/ $/, "", line)
            out = out line "\n"
            line = indent part
        } else {
            line = line part
        }
    }
    return out line
}

# ---- the tables ----

function read_kind(    f, n, k) {
    n = split($0, f, "|")
    k = trim(f[1])
    if (k ~ /^\?/) {
        if (n != 2)
            die("a condition has two fields")
        cond[substr(k, 2)] = trim(f[2])
        return
    }
    if (n != 7)
        die("kind " k " has " n " fields, not 7")
    if (k in ctype)
        die("kind " k " is there twice")
    ctype[k] = trim(f[2])
    letter[k] = trim(f[3])
    local[k] = trim(f[4])
    check[k] = trim(f[5])
    pass[k] = trim(f[6])
    after[k] = trim(f[7])
    if (check[k] != "" && check[k] !~ /^[1-5]: /)
        die("the check of kind " k " has no stage")
}

function read_chapter(    f, n) {
    n = split($0, f, "|")
    if (n != 3)
        die("a chapter has three fields")
    sub(/^@chapter /, "", f[1])
    n_chapters++
    chapters[n_chapters] = trim(f[1])
    headers[trim(f[1])] = trim(f[3])
    titles[trim(f[1])] = trim(f[2])
}

function read_row(    f, n, a, m, i, g) {
    n = split($0, f, "|")
    if (n != 6)
        die("a row has " n " fields, not 6: name | chapter | since | arguments | error object | notes")
    n_rows++
    name[n_rows] = trim(f[1])
    chap[n_rows] = trim(f[2])
    since[n_rows] = trim(f[3])
    eobj[n_rows] = trim(f[5])
    notes[n_rows] = " " trim(f[6]) " "
    if (!(chap[n_rows] in headers))
        die("unknown chapter " chap[n_rows])
    if (name[n_rows] in row_of)
        die(name[n_rows] " is there twice")
    row_of[name[n_rows]] = n_rows
    m = split(trim(f[4]), a, /[ \t]+/)
    if (m == 1 && a[1] == "-")
        m = 0
    n_args[n_rows] = m
    for (i = 1; i <= m; i++) {
        n = split(a[i], g, ":")
        if (n < 2 || n > 3)
            die("argument " a[i] " is not name:kind or name:kind:condition")
        if (!(g[2] in ctype))
            die("unknown kind " g[2] " of argument " g[1] " in " name[n_rows])
        if (n == 3 && !(g[3] in cond))
            die("unknown condition " g[3] " of argument " g[1] " in " name[n_rows])
        arg[n_rows, i] = g[1]
        kind[n_rows, i] = g[2]
        flag[n_rows, i] = n == 3 ? g[3] : ""
    }
    if (eobj[n_rows] !~ /^(none|blame|nofile)$/ && !arg_named(n_rows, eobj[n_rows]))
        die("error object " eobj[n_rows] " of " name[n_rows] " is no argument")
    if (name[n_rows] !~ /^MPI[IX]?_/)
        die(name[n_rows] " does not begin with MPI_, MPIX_ or MPII_")
    if (note(n_rows, "forms") != "")
        add_forms(n_rows)
}

function add_arg(r, a, k) {
    n_args[r]++
    arg[r, n_args[r]] = a
    kind[r, n_args[r]] = k
    flag[r, n_args[r]] = ""
}

# The other forms of a collective: copies of row r with a name, a version and arguments of their own.
function add_form(r, new, version, how,    i) {
    n_rows++
    name[n_rows] = new
    if (new in row_of)
        die(new " is there twice")
    row_of[new] = n_rows
    chap[n_rows] = chap[r]
    since[n_rows] = version
    eobj[n_rows] = eobj[r]
    notes[n_rows] = notes[r]
    n_args[n_rows] = n_args[r]
    for (i = 1; i <= n_args[r]; i++) {
        arg[n_rows, i] = arg[r, i]
        kind[n_rows, i] = kind[r, i]
        flag[n_rows, i] = flag[r, i]
    }
    n_passed[n_rows] = n_args[r]
    body_of[n_rows] = body_name(r)
    form[n_rows] = how
}

# forms=NONBLOCKING,PERSISTENT
function add_forms(r,    f) {
    if (split(note(r, "forms"), f, ",") != 2)
        die("forms= of " name[r] " wants two names")
    n_passed[r] = n_args[r]
    body_of[r] = "dm_coll_" tolower(short_name(r))
    form[r] = "dm_coll_blocking()"
    add_form(r, f[1], "3.0", "dm_coll_nonblocking(&request_o)")
    add_arg(n_rows, "request", "req_out")
    add_form(r, f[2], "4.0", "dm_coll_persistent(info_o, &request_o)")
    add_arg(n_rows, "info", "info_null")
    add_arg(n_rows, "request", "req_out")
}

function arg_named(r, what,    i) {
    for (i = 1; i <= n_args[r]; i++)
        if (arg[r, i] == what)
            return i
    return 0
}

# Value of "key=value" in the notes, "" when absent.
function note(r, key,    i, s) {
    i = index(notes[r], " " key "=")
    if (i == 0)
        return ""
    s = substr(notes[r], i + length(key) + 2)
    return substr(s, 1, index(s, " ") - 1)
}

function has(r, word) {
    return index(notes[r], " " word " ") > 0
}

function kind_of(r, i, large) {
    return large && (kind[r, i] ".c") in ctype ? kind[r, i] ".c" : kind[r, i]
}

function mpi_name(r, large) {
    return name[r] (large ? "_c" : "")
}

# Send of MPI_Send
function short_name(r) {
    return substr(name[r], index(name[r], "_") + 1)
}

function body_name(r) {
    if (r in body_of)
        return body_of[r]
    if (note(r, "body") != "")
        return note(r, "body")
    return "dm_" tolower(short_name(r))
}

/^[ \t]*(#|$)/ { next }
FILENAME ~ /kinds\.tbl$/ { read_kind(); next }
/^@chapter / { read_chapter(); next }
/^@data / { data[++n_data] = trim(substr($0, 7)); next }
{ read_row() }
