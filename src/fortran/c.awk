# Makes the bindings of Fortran in C: mpi_send_ and pmpi_send_ for mpif.h and module mpi, with _f08 (MPI-4.0
# section 19.1.5) or, for buffers with descriptors, _cdesc for module mpi_f08, and their large-count twins.
#   awk -f tables.awk -f common.awk -f c.awk -v bound="coll op" kinds.tbl api.tbl >bindings.c

function linker_name(r, large, pre, post) {
    return tolower(pre mpi_name(r, large)) post "_"
}

function is_file(type) {
    return type ~ /^MPI_File \*?@$/
}

# Indices of requests begin with 1 in Fortran.
function is_index(r, i) {
    return name[r] ~ /^MPI_(Wait|Test|Request_get_status_)any$/ && arg[r, i] == "index"
}

function param(r, i, large,    t) {
    t = ctype[kind_of(r, i, large)]
    if (is_file(t))
        t = t ~ /\*/ ? "MPI_Fint *@" : "MPI_Fint @"
    if (arg[r, i] == "attribute_val")
        t = kind[r, i] == "ptr" ? "MPI_Aint @" : "MPI_Aint *@"
    if (is_number_by_value(t))
        t = "const " put(t, "@", "*@")
    return put(t, "@", arg[r, i])
}

# The parameters; sections: buffers and texts beside them come with descriptors.
function param_list(r, large, sections,    i, s, tail, t) {
    s = ""
    tail = ""
    for (i = 1; i <= n_args[r]; i++) {
        if (is_left_out(r, i))
            continue
        t = ctype[kind_of(r, i, large)]
        if (sections && (is_choice(r, i) || is_text_in(t))) {
            s = s "const CFI_cdesc_t *" arg[r, i] ", "
            continue
        }
        s = s param(r, i, large) ", "
        if (is_text_in(t) || is_text_out(t))
            tail = tail ", size_t " arg[r, i] "_len"
    }
    return s "MPI_Fint *ierror" tail
}

function passed(r, i, large,    t, a) {
    t = ctype[kind_of(r, i, large)]
    a = arg[r, i]
    if (is_left_out(r, i))
        return "0"
    if (t == "MPI_File @")
        return "MPI_File_f2c(*" a ")"
    if (t == "MPI_File *@" || is_index(r, i))
        return "&" a "_c"
    if (a == "attribute_val")
        return kind[r, i] == "ptr" ? "(void *)(intptr_t)*" a : a
    if (is_choice(r, i))
        return "dm_f_address(" a ")"
    if (is_text_in(t) || is_text_out(t))
        return a "_c"
    if (kind[r, i] == "status")
        return "dm_f_status(" a ")"
    if (kind[r, i] == "statuses")
        return "dm_f_statuses(" a ")"
    if (a ~ /weights$/)
        return "dm_f_weights(" a ")"
    return (is_number_by_value(t) ? "*" : "") a
}

# The call of C's function; attributes have hooks that know integers.
function c_call(r, large,    i, s, hook) {
    s = ""
    for (i = 1; i <= n_args[r]; i++)
        s = s (i > 1 ? ", " : "") passed(r, i, large)
    hook = name[r] ~ /_[gs]et_attr$/
    return (hook ? "MPII_" short_name(r) : mpi_name(r, large)) "(" s (hook ? ", DM_HOOK_ATTR_AINT" : "") ")"
}

function before(r, i, large,    t, a) {
    t = ctype[kind_of(r, i, large)]
    a = arg[r, i]
    if (t == "MPI_File *@")
        return "    MPI_File " a "_c = " (kind[r, i] == "file_out" ? "MPI_FILE_NULL" : "MPI_File_f2c(*" a ")") ";\n"
    if (is_index(r, i))
        return "    int " a "_c = MPI_UNDEFINED;\n"
    if (is_text_in(t))
        return "    char *" a "_c = dm_f_text(" a ", " a "_len, " (kind[r, i] ~ /^(key|value)$/ ? "true" : "false") ");\n"
    if (is_text_out(t))
        return "    char " a "_c[DM_F_TEXT] = \"\";\n"
    return ""
}

function after_call(r, i, large,    t, a) {
    t = ctype[kind_of(r, i, large)]
    a = arg[r, i]
    if (t == "MPI_File *@")
        return "    *" a " = MPI_File_c2f(" a "_c);\n"
    if (is_index(r, i))
        return "    *" a " = dm_f_index(" a "_c);\n"
    if (a == "array_of_indices")
        return "    dm_f_indices(err, *outcount, array_of_indices);\n"
    if (is_text_in(t))
        return "    free(" a "_c);\n"
    if (is_text_out(t))
        return "    if (err == MPI_SUCCESS)\n        dm_f_put_text(" a ", " a "_len, " a "_c, " \
            (arg_named(r, "resultlen") ? "resultlen" : "NULL") ");\n"
    return ""
}

function emit_plain(r, large, is_exported,    i, pre, post) {
    pre = post = ""
    for (i = 1; i <= n_args[r]; i++)
        if (!is_left_out(r, i)) {
            pre = pre before(r, i, large)
            post = post after_call(r, i, large)
        }
    print wrap((is_exported ? "DM_EXPORT " : "static ") "void " linker_name(r, large, "p", "") "(" \
        param_list(r, large, 0) ")", "    ")
    print "{"
    if (pre post == "") {
        print wrap("    dm_f_return(ierror, " c_call(r, large) ");", "        ")
    } else {
        printf "%s", pre
        print "    int err;"
        print ""
        print wrap("    err = " c_call(r, large) ";", "        ")
        printf "%s", post
        print "    dm_f_return(ierror, err);"
    }
    print "}"
}

# Does a datatype describe section i? Then its count is how many arguments behind it: 1, or 2 after partitions.
function count_behind(r, i,    way) {
    if (i < 1 || !is_choice(r, i))
        return 0
    way = section_way(r, i)
    return way == "type" ? 1 : way == "parts" ? 2 : 0
}

# The call of the plain function behind sections.
function inner_call(r, large, ierror,    i, k, s, tail, t, a) {
    s = tail = ""
    for (i = 1; i <= n_args[r]; i++) {
        t = ctype[kind_of(r, i, large)]
        a = arg[r, i]
        if (is_text_in(t)) {
            tail = tail ", " a "->elem_len"
            a = a "->base_addr"
        } else if (is_choice(r, i)) {
            a = a "_s.address"
        } else {
            for (k = 1; k <= 3; k++)
                if (count_behind(r, i - k) == k)
                    a = "&" arg[r, i - k] "_n"
                else if (count_behind(r, i - k) == k - 1 && k > 1)
                    a = "&" arg[r, i - k] "_s.type"
        }
        s = s a ", "
    }
    return linker_name(r, large, "p", "") "(" s ierror tail ")"
}

# The beginning of a section: what it is for C.
function section_begin(r, i, large,    a, way, n, type) {
    a = arg[r, i]
    way = section_way(r, i)
    n = count_behind(r, i)
    if (n > 0) {
        type = ctype[kind_of(r, i + n, large)]
        return "    struct dm_f_section " a "_s = dm_f_section_" way "(" a ", " \
            (way == "parts" ? "*" arg[r, i + 1] ", " : "") "*" arg[r, i + n] ", *" arg[r, i + n + 1] ");\n" \
            "    " put(type, "@", a "_n") " = " a "_s.is_type ? 1 : *" arg[r, i + n] ";"
    }
    return "    struct dm_f_section " a "_s = dm_f_section_" way "(" a \
        (way == "first" ? ", *datatype" : way == "hold" ? (is_constant(r, i) ? ", false" : ", true") : "") ");"
}

function emit_sections(r, large,    i, a, way, tests, ends, is_held, indent, why) {
    print wrap("DM_EXPORT void " linker_name(r, large, "p", "_cdesc") "(" param_list(r, large, 1) ")", "    ")
    print "{"
    tests = ends = why = ""
    is_held = 0
    for (i = 1; i <= n_args[r]; i++) {
        if (!is_choice(r, i))
            continue
        a = arg[r, i]
        way = section_way(r, i)
        print wrap(section_begin(r, i, large), "        ")
        if (way ~ /^(type|parts|first|memory)$/) {
            tests = tests (tests == "" ? "" : " || ") a "_s.why != NULL"
            why = why == "" ? a "_s.why" : a "_s.why != NULL ? " a "_s.why : " why
        }
        if (way ~ /^(type|parts|copy)$/)
            ends = ends "    dm_f_section_end(&" a "_s, " \
                (way == "copy" && !is_constant(r, i) ? "true" : "false") ");\n"
        if (way == "hold") {
            ends = ends "    dm_f_section_keep(&" a "_s, err, *request);\n"
            is_held = 1
        }
    }
    if (is_held)
        print "    MPI_Fint err = MPI_SUCCESS;"
    print ""
    indent = "    "
    if (tests != "") {
        print "    if (" tests ")"
        print wrap("        dm_f_refuse(\"" mpi_name(r, large) "\", " why ", ierror);", "            ")
        print "    else"
        indent = "        "
    }
    print wrap(indent inner_call(r, large, is_held ? "&err" : "ierror") ";", indent "    ")
    printf "%s", ends
    if (is_held)
        print "    dm_f_return(ierror, err);"
    print "}"
    also(r, large, "p", "_cdesc", "", "_cdesc")
}

# Another name of a function.
function also(r, large, pre, post, pre_2, post_2) {
    print "DM_ALSO_AS(" linker_name(r, large, pre, post) ", " linker_name(r, large, pre_2, post_2) ");"
}

function emit(r, large,    is_large, choice) {
    is_large = large || is_wide(r)
    choice = has_choice(r)
    if (large && !is_different(r))
        return
    emit_plain(r, large, !is_large || !choice)
    if (!is_large) {
        also(r, large, "p", "", "", "")
        if (has_kind(r, "ptr_out")) {
            also(r, large, "p", "", "", "_cptr")
            also(r, large, "p", "", "p", "_cptr")
        }
    }
    if (!is_old(r) && !choice) {
        also(r, large, "p", "", "", "_f08")
        also(r, large, "p", "", "p", "_f08")
    }
    if (!is_old(r) && choice)
        emit_sections(r, large)
    print ""
}

END {
    if (failed)
        exit 1
    print "/* Made by c.awk from api.tbl. */"
    print "#include \"fortran/section.h\""
    print ""
    n_wanted = split(bound, wanted, " ")
    for (w = 1; w <= n_wanted; w++)
        for (row = 1; row <= n_rows; row++)
            if (chap[row] == wanted[w] && in_fortran(row) && !is_hand(row)) {
                emit(row, 0)
                if (has(row, "large"))
                    emit(row, 1)
            }
}
