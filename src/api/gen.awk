# Makes C of what tables.awk has read. What, and for which chapter:
#   awk -f tables.awk -f gen.awk -v make=proto                kinds.tbl api.tbl >mpi_proto.h
#   awk -f tables.awk -f gen.awk -v make=source -v chapter=X  kinds.tbl api.tbl >api_X.c
#   awk -f tables.awk -f gen.awk -v make=map                  kinds.tbl api.tbl >libmpi.map
#   awk -f tables.awk -f gen.awk -v make=calls                kinds.tbl api.tbl >a program that calls each function
#   awk -f tables.awk -f gen.awk -v make=names                kinds.tbl api.tbl >the names, one per line
#   awk -f tables.awk -f gen.awk -v make=fn_names             kinds.tbl api.tbl >api_fn_names.c
#   awk -f tables.awk -f gen.awk -v make=unsupported          kinds.tbl api.tbl >those that only fail

# ---- pieces of C ----

function params(r, large,    i, s) {
    s = ""
    for (i = 1; i <= n_args[r]; i++)
        s = s (i > 1 ? ", " : "") put(ctype[kind_of(r, i, large)], "@", arg[r, i])
    if (has(r, "variadic"))
        s = s ", ..."
    return s == "" ? "void" : s
}

function ret_type(r) {
    return note(r, "returns") != "" ? note(r, "returns") : "int"
}

function proto(r, prefix, large) {
    return ret_type(r) " " prefix mpi_name(r, large) "(" params(r, large) ")"
}

function is_count(k) {
    return k ~ /^(count|count_l|nint|nneg|nreq)(_if)?(\.c)?$/
}

# Fill the placeholders of a kind's text for argument i.
function fill(s, r, i, large,    j) {
    if (index(s, "$F")) {
        if (flag[r, i] == "")
            die("argument " arg[r, i] " of " name[r] " needs a condition")
        s = put(s, "$F", cond[flag[r, i]])
    }
    if (index(s, "$C"))
        s = put(s, "$C", find_kind(r, "comm") "_o")
    if (index(s, "$W"))
        s = put(s, "$W", find_kind(r, "win") "_o")
    if (index(s, "$N")) {
        for (j = i + 1; j <= n_args[r] && !is_count(kind[r, j]); j++)
            ;
        s = put(s, "$N", arg[r, j])
    }
    if (index(s, "$M")) {
        for (j = i - 1; j > 0 && !is_count(kind[r, j]); j--)
            ;
        s = put(s, "$M", arg[r, j])
    }
    if (index(s, "$K")) { # without a count: one element
        for (j = i - 1; j > 0 && !is_count(kind[r, j]); j--)
            ;
        s = put(s, "$K", j > 0 ? arg[r, j] : "1")
    }
    if (index(s, "$A")) {
        for (j = i - 1; j > 0 && kind[r, j] !~ /^[vln]counts$/; j--)
            ;
        s = put(s, "$A", (large ? "dm_counts_wide(" : "dm_counts_int(") arg[r, j] ")")
    }
    if (index(s, "$T")) {
        for (j = i + 1; j <= n_args[r] && kind[r, j] !~ /^dtype/; j++)
            ;
        if (j > n_args[r])
            for (j = i - 1; j > 0 && kind[r, j] !~ /^dtype/; j--)
                ;
        s = put(s, "$T", arg[r, j] "_o")
    }
    return put(s, "@", arg[r, i])
}

# Name of the first argument of a kind, "" when there is none.
function find_kind(r, what,    j) {
    for (j = 1; j <= n_args[r]; j++)
        if (kind[r, j] == what)
            return arg[r, j]
    return ""
}

function step(expr, label) {
    print "    err = " expr ";"
    print "    if (dm_unlikely(err != DM_OK))"
    print "        goto " (label != "" ? label : "fail") ";"
}

# How dm_api_fail writes the arguments: "name=letter ".
function arg_text(r, large,    i, s) {
    s = ""
    for (i = 1; i <= n_args[r]; i++)
        s = s (i > 1 ? " " : "") arg[r, i] "=" letter[kind_of(r, i, large)]
    return s
}

function call(r, large,    i, n, s) {
    s = ""
    n = r in form ? n_passed[r] : n_args[r]
    for (i = 1; i <= n; i++)
        s = s (i > 1 ? ", " : "") fill(pass[kind_of(r, i, large)], r, i, large)
    if (r in form)
        s = s ", " form[r]
    return body_name(r) "(" s ")"
}

# Kind of the object whose error handler a failure calls: of enum dm_owner.
function owner_kind(r,    i, k) {
    if (eobj[r] == "none")
        return ""
    if (eobj[r] == "blame")
        return "BLAME"
    if (eobj[r] == "nofile")
        return "FILE"
    i = arg_named(r, eobj[r])
    k = kind[r, i]
    sub(/_.*/, "", k)
    return toupper(k)
}

# Is there an object to name, and to check first?
function has_owner(r) {
    return arg_named(r, eobj[r])
}

function fail_call(r, large,    i, s) {
    s = "    return dm_api_fail(&fn, err, " (has_owner(r) ? eobj[r] "_o" : "NULL")
    for (i = 1; i <= n_args[r]; i++)
        s = s ", " (letter[kind_of(r, i, large)] == "p" ? \
            "DM_PTR(" arg[r, i] ")" : arg[r, i])
    return s ");"
}

# Is this the slow way? Of a quick function its two forms know.
function slow(r) {
    return has(r, "quick") ? "is_slow" : "dm_unlikely(dm_api.is_slow)"
}

# The two forms of a quick function, which emit has made as call_: the other way needs no stack frame for this one.
function emit_quick(r, large,    i, s) {
    for (i = 1; i <= n_args[r]; i++)
        s = s arg[r, i] ", "
    print ""
    print wrap("static DM_COLD " proto(r, "slow_", large), "    ")
    print "{"
    print wrap("    return call_" mpi_name(r, large) "(" s "true);", "        ")
    print "}"
    print ""
    print wrap("DM_EXPORT " proto(r, "P", large), "    ")
    print "{"
    print "    if (dm_unlikely(dm_api.is_slow))"
    print wrap("        return slow_" mpi_name(r, large) "(" substr(s, 1, length(s) - 2) ");", "            ")
    print wrap("    return call_" mpi_name(r, large) "(" s "false);", "        ")
    print "}"
}

function alias(r, large) {
    print "DM_EXPORT DM_WEAK_ALIAS(\"P" mpi_name(r, large) "\")"
    print wrap(proto(r, "", large) ";", "    ")
    print ""
}

# A body that takes the program's arguments as they are and returns what MPI returns. Tools may call at any
# time, from any thread: they have a lock of their own.
function emit_raw(r) {
    print wrap("DM_EXPORT " proto(r, "P", 0), "    ")
    print "{"
    if (chap[r] == "tool") {
        print "    int err;"
        print ""
        print "    dm_tool_lock();"
        print wrap("    err = " call(r, 0) ";", "        ")
        print "    dm_tool_unlock();"
        print "    return err;"
    } else {
        print wrap("    return " call(r, 0) ";", "        ")
    }
    print "}"
    alias(r, 0)
}

# The place of a function in the profile of calls; none has 0.
function fn_index(r, large) {
    return 2 * r + large
}

# The slow way out, with the bytes that the first buffer of the call has.
function leave(r, large,    i) {
    for (i = 1; i <= n_args[r] - 2; i++)
        if (kind[r, i] ~ /^[cr]?buf_/ && kind_of(r, i + 1, large) ~ /^count(_if)?(\.c)?$/ && \
            kind[r, i + 2] ~ /^dtype/)
            return "dm_api_leave_with((size_t)" arg[r, i + 1] ", " arg[r, i + 2] "_o)"
    return "dm_api_leave()"
}

# ---- what DATUM_CHECK has to do, all of it behind the test for the slow way (usage/usage.h) ----

# Of a kind that makes an object or gives one back: its DM_KIND.
function object_of(k, how) {
    if (k !~ ("^(comm|group|dtype|op|win|errh|info|file|keyval)_(" how ")$"))
        return ""
    sub(/_[a-z]*$/, "", k)
    if (k == "dtype")
        return "TYPE"
    return k == "errh" ? "ERRHANDLER" : toupper(k)
}

# The requests that a call may complete: "1, request" or "count, array"; "" when there are none.
function awaited(r,    i) {
    if (name[r] ~ /^MPI_Start/)
        return ""
    for (i = 1; i <= n_args[r]; i++)
        if (kind[r, i] ~ /^(req|req_live)$/)
            return "1, " arg[r, i]
        else if (kind[r, i] == "reqs")
            return arg[r, i - 1] ", " arg[r, i]
    return ""
}

# The first argument behind i whose kind fits, or else what is not there.
function arg_behind(r, i, what,    j) {
    for (j = i + 1; j <= n_args[r]; j++)
        if (kind[r, j] ~ what)
            return arg[r, j]
    return "MPI_UNDEFINED"
}

# The buffers of a call with a request, as the members of an array; n_buffers: how many.
function buffers(r, large,    i, j, s, parts, parts_of) {
    s = ""
    n_buffers = 0
    for (i = 1; i <= n_args[r]; i++) {
        if (kind[r, i] !~ /^(buf|elem)_(in|out|if)$/)
            continue
        parts = kind[r, i + 1] == "parts"
        j = i + 1 + parts
        n_buffers++
        if (kind[r, i] ~ /^elem/)
            parts_of = ".count = 1, .type = datatype_o"
        else
            parts_of = ".count = (size_t)" arg[r, j] (parts ? " * (size_t)" arg[r, i + 1] : "") ", .type = " \
                arg[r, j + 1] "_o"
        if (kind[r, i] ~ /_if$/)
            sub(/\.count = /, "&op == MPI_NO_OP ? 0 : ", parts_of)
        s = s "            {.buf = " arg[r, i] ", " parts_of ",\n" \
            "             .peer = " arg_behind(r, i, "^rank_") ", .tag = " arg_behind(r, i, "^tag_") \
            ", .is_written = " (kind[r, i] ~ /_out$/ ? "true" : "false") \
            (parts ? ", .n_partitions = " arg[r, i + 1] : "") "},\n"
    }
    return s
}

# After success.
function usage_leave(r, large,    i, k, s) {
    for (i = 1; i <= n_args[r]; i++) {
        k = object_of(kind[r, i], "out|dup")
        if (k == "KEYVAL")
            print "        dm_usage_made_keyval(fn.name, *" arg[r, i] ");"
        else if (k != "" && !has(r, "kept"))
            print "        dm_usage_made(fn.name, DM_KIND_" k ", " arg[r, i] "_o);"
        k = object_of(kind[r, i], "free")
        if (k == "KEYVAL")
            print "        dm_usage_freed_keyval(" arg[r, i] "_o);"
        else if (k != "")
            print "        dm_usage_freed(" arg[r, i] "_o);"
        if (kind[r, i] == "req_out") {
            s = r in form ? "" : buffers(r, large)
            if (r in form)
                print wrap("        dm_usage_requested_by(" full_call(r, large) ", *request);", "            ")
            else if (s == "")
                print "        dm_usage_requested(fn.name, *" arg[r, i] ", NULL, 0);"
            else
                print "        dm_usage_" (find_kind(r, "rank_win") != "" ? "rma_" : "") "requested(fn.name, *" \
                    arg[r, i] (find_kind(r, "rank_win") != "" ? ", win_o, target_rank" : "") \
                    ", (struct dm_usage_buffer[]){\n" s "        }, " n_buffers ");"
        }
    }
    if (chap[r] == "pt2pt" && find_kind(r, "req_out") == "") {
        s = buffers(r, large)
        if (s != "")
            print "        dm_usage_used(fn.name, (struct dm_usage_buffer[]){\n" s "        }, " n_buffers ");"
    }
    if (chap[r] == "onesided" && find_kind(r, "rank_win") != "" && find_kind(r, "req_out") == "") {
        s = buffers(r, large)
        if (s != "")
            print "        dm_usage_rma(fn.name, win_o, target_rank, (struct dm_usage_buffer[]){\n" s \
                "        }, " n_buffers ");"
    }
    if (name[r] == "MPI_Pready")
        print "        dm_usage_ready(request, partition, partition);"
    else if (name[r] == "MPI_Pready_range")
        print "        dm_usage_ready(request, partition_low, partition_high);"
    else if (name[r] == "MPI_Pready_list")
        print "        for (int i = 0; i < length; i++)\n" \
            "            dm_usage_ready(request, array_of_partitions[i], array_of_partitions[i]);"
    if (name[r] == "MPI_Start")
        print "        dm_usage_started(fn.name, 1, request);"
    else if (name[r] == "MPI_Startall")
        print "        dm_usage_started(fn.name, count, array_of_requests);"
    if (awaited(r) != "")
        print "        dm_usage_awaited(fn.name);"
}

# With which rank of a window does a call synchronize as an origin? MPI_ANY_SOURCE: with all; "": it does not.
function synced(r) {
    if (name[r] ~ /^MPI_Win_(fence|complete|unlock_all|flush_all|flush_local_all|free)$/)
        return "MPI_ANY_SOURCE"
    return name[r] ~ /^MPI_Win_(unlock|flush|flush_local)$/ ? "rank" : ""
}

# Is the call collective over a communicator, window or file, and compared by its name? Then which communicator.
function collective_comm(r,    i) {
    for (i = 1; i <= n_args[r] && has(r, "collective"); i++) {
        if (kind[r, i] ~ /^comm(_free)?$/)
            return arg[r, i] "_o"
        if (kind[r, i] ~ /^win(_free)?$/)
            return arg[r, i] "_o->comm"
        if (kind[r, i] ~ /^file(_free)?$/)
            return "dm_file_comm(" arg[r, i] "_o)"
    }
    return ""
}

function emit_compare(r, s) {
    print "    if (" slow(r) ") {"
    print wrap("        err = " s ";", "            ")
    print "        if (err != DM_OK)"
    print "            goto fail;"
    print "    }"
}

# A collective with data, and all its arguments that count.
function full_call(r, large,    i, a, s, v) {
    s = "&(struct dm_usage_call){.fn = fn.name, .coll = DM_USAGE_" \
        toupper(substr(body_name(r), 9)) ", .comm = comm_o, .is_nonblocking = " \
        (find_kind(r, "req_out") != "" ? "true" : "false")
    if (!arg_named(r, "root"))
        s = s ", .root = MPI_UNDEFINED"
    for (i = 1; i <= n_args[r]; i++) {
        a = arg[r, i]
        v = large || kind[r, i] == "nadispls" ? "dm_counts_wide(" a ")" : "dm_counts_int(" a ")"
        if (a == "root")
            s = s ", .root = root"
        else if (a == "op")
            s = s ", .op = op_o"
        else if (a == "buffer")
            s = s ", .rbuf = buffer"
        else if (a ~ /^(send|recv)buf$/)
            s = s ", ." substr(a, 1, 1) "buf = " a
        else if (a ~ /^(send|recv)counts$/)
            s = s ", ." substr(a, 1, 1) "counts = " v
        else if (a ~ /^[sr]displs$/)
            s = s ", ." a " = " v
        else if (a == "displs")
            s = s ", ." (name[r] ~ /[Ss]catterv/ ? "s" : "r") "displs = " v
        else if (a ~ /^(send|recv)types$/)
            s = s ", ." substr(a, 1, 1) "types = " a
        else if (a ~ /^(send|recv)count$/)
            s = s ", ." substr(a, 1, 1) "count = (size_t)" a
        else if (a ~ /^(send|recv)type$/)
            s = s ", ." substr(a, 1, 1) "type = " a "_o"
        else if (a == "count")
            s = s ", .rcount = (size_t)count"
        else if (a == "datatype")
            s = s ", .rtype = datatype_o"
    }
    return s "}"
}

# The beginning of a function, up to the checks of its arguments; only says whether for all.
function emit_head(r, large, only,    i, k, s) {
    if (has(r, "hook"))
        print wrap(proto(r, "", large) ";", "    ")
    if (has(r, "quick")) {
        s = proto(r, "call_", large)
        print wrap("static DM_ALWAYS_INLINE " substr(s, 1, length(s) - 1) ", bool is_slow)", "    ")
    } else {
        print wrap("DM_EXPORT " proto(r, has(r, "hook") ? "" : "P", large), "    ")
    }
    print "{"
    print "    static const struct dm_fn fn = {"
    print "        .name = \"" mpi_name(r, large) "\","
    print "        .args = \"" arg_text(r, large) "\","
    if (owner_kind(r) != "")
        print "        .owner = DM_OWNER_" owner_kind(r) ","
    print "        .index = " fn_index(r, large) ","
    print "    };"
    for (i = 1; i <= n_args[r]; i++) {
        k = kind_of(r, i, large)
        if (local[k] != "" && (!only || arg[r, i] == eobj[r]))
            print "    " put(local[k], "@", arg[r, i]) ";"
    }
    print "    int err;"
    print ""
    s = "        dm_api_enter" (has(r, "early") ? "_early" : "") "(&fn);"
    if (awaited(r) == "") {
        print "    if (" slow(r) ")\n" s
        return
    }
    print "    if (" slow(r) ") {\n" s
    print "        dm_usage_await(fn.name, " awaited(r) ");"
    print "    }"
}

# A function that there is not yet: an error, by the error handler that it will have.
function emit_unsupported(r, large,    i, k) {
    emit_head(r, large, 1)
    for (i = 1; i <= n_args[r]; i++) {
        k = kind_of(r, i, large)
        if (has_owner(r) && arg[r, i] == eobj[r] && check[k] != "")
            step(fill(substr(check[k], 4), r, i, large))
    }
    print "    err = dm_api_unsupported(&fn, \"" titles[chap[r]] "\");"
    if (has_owner(r))
        print "fail:"
    print wrap(fail_call(r, large), "        ")
    print "}"
    alias(r, large)
}

function emit(r, large,    i, k, stage, s, decline) {
    decline = note(r, "decline") != "" ? "decline" : "fail"
    emit_head(r, large, 0)
    for (stage = 1; stage <= 5; stage++)
        for (i = 1; i <= n_args[r]; i++) {
            k = kind_of(r, i, large)
            if (check[k] != "" && substr(check[k], 1, 1) == stage)
                step(fill(substr(check[k], 4), r, i, large), arg[r, i] == eobj[r] ? "fail" : decline)
            if (stage == 1 && i == n_args[r] && collective_comm(r) != "")
                emit_compare(r, "dm_usage_compare_name(fn.name, " collective_comm(r) ", " \
                    (find_kind(r, "req_out") != "" ? "true" : "false") ")")
        }
    if (r in form)
        emit_compare(r, "dm_usage_compare(" full_call(r, large) ")")
    if (synced(r) != "")
        print "    if (" slow(r) ")\n        dm_usage_synced(win_o, " synced(r) ");"
    step(call(r, large))
    for (i = 1; i <= n_args[r]; i++) {
        s = after[kind_of(r, i, large)]
        if (s ~ /^err: /)
            step(fill(substr(s, 6), r, i, large))
        else if (s != "")
            print "    " fill(s, r, i, large) ";"
    }
    print "    if (" slow(r) ") {"
    usage_leave(r, large)
    print "        " leave(r, large) ";"
    print "    }"
    print "    return MPI_SUCCESS;"
    if (decline != "fail") {
        print decline ":"
        s = note(r, "decline")
        gsub(/,/, ", ", s)
        print "    err = " s ";"
    }
    print "fail:"
    if (note(r, "statuses") != "") {
        split(note(r, "statuses"), pair, ",")
        print "    if (err == DM_ERR_IN_STATUS)"
        print "        dm_api_statuses(" pair[1] ", " pair[2] ");"
    }
    print wrap(fail_call(r, large), "        ")
    print "}"
    if (has(r, "quick"))
        emit_quick(r, large)
    if (!has(r, "hook"))
        alias(r, large)
}

# ---- products ----

function make_source(    r) {
    print "/* Made by gen.awk from api.tbl: " titles[chapter] ". */"
    print "#include \"api/check_inl.h\""
    print "#include \"" headers[chapter] "\""
    print ""
    for (r = 1; r <= n_rows; r++) {
        if (chap[r] != chapter)
            continue
        if (has(r, "raw")) {
            emit_raw(r)
        } else if (has(r, "unsupported")) {
            emit_unsupported(r, 0)
            if (has(r, "large"))
                emit_unsupported(r, 1)
        } else {
            emit(r, 0)
            if (has(r, "large"))
                emit(r, 1)
        }
    }
}

function make_proto(    c, r) {
    print "/*"
    print " * Prototypes of the MPI functions; included by mpi.h. Made from the library's table of functions."
    print " */"
    print "#ifndef DM_INCLUDE_MPI_PROTO_H"
    print "#define DM_INCLUDE_MPI_PROTO_H"
    for (c = 1; c <= n_chapters; c++) {
        print ""
        print "/* " titles[chapters[c]] " */"
        for (r = 1; r <= n_rows; r++) {
            if (chap[r] != chapters[c] || has(r, "hook"))
                continue
            print wrap(proto(r, "", 0) ";", "    ")
            print wrap(proto(r, "P", 0) ";", "    ")
            if (has(r, "large")) {
                print wrap(proto(r, "", 1) ";", "    ")
                print wrap(proto(r, "P", 1) ";", "    ")
            }
        }
    }
    print ""
    print "#endif"
}

function each_name(pre, post,    r, large) {
    for (r = 1; r <= n_rows; r++)
        for (large = 0; large <= has(r, "large"); large++) {
            print pre mpi_name(r, large) post
            if (!has(r, "hook"))
                print pre "P" mpi_name(r, large) post
        }
}

function make_map(    i) {
    print "/* Made by gen.awk from api.tbl: what libmpi.so.12 exports. */"
    print "{"
    print "global:"
    each_name("    ", ";")
    for (i = 1; i <= n_data; i++)
        print "    " data[i] ";"
    print "local:"
    print "    *;"
    print "};"
}

function make_names(    i) {
    each_name("", "")
    for (i = 1; i <= n_data; i++)
        print data[i]
}

function make_fn_names(    r, large) {
    print "/* Made by gen.awk from api.tbl: the functions by their index. */"
    print "#include \"api/calls.h\""
    print ""
    print "static const char *const names[] = {"
    for (r = 1; r <= n_rows; r++)
        for (large = 0; large <= has(r, "large"); large++)
            print "    [" fn_index(r, large) "] = \"" mpi_name(r, large) "\","
    print "};"
    print ""
    print "int dm_calls_n_functions(void)"
    print "{"
    print "    return (int)(sizeof(names) / sizeof(names[0]));"
    print "}"
    print ""
    print "const char *dm_calls_function(int index)"
    print "{"
    print "    return names[index];"
    print "}"
}

function make_unsupported(    r, large) {
    for (r = 1; r <= n_rows; r++)
        if (has(r, "unsupported"))
            for (large = 0; large <= has(r, "large"); large++)
                print mpi_name(r, large)
}

# One call of every function, never run: the compiler and the linker do the test.
function make_calls(    r, i, s, large, type) {
    print "#include <mpi.h>"
    print "int main(int argc, char **argv)"
    print "{"
    print "    (void)argv;"
    print "    if (argc < 1000)"
    print "        return 0;"
    for (r = 1; r <= n_rows; r++)
        for (large = 0; large <= has(r, "large"); large++) {
            if (has(r, "hook"))
                continue
            print "    {"
            s = ""
            for (i = 1; i <= n_args[r]; i++) {
                type = ctype[kind_of(r, i, large)]
                print "        static " put(put(type, "const ", ""), "@", "a" i) ";"
                s = s (i > 1 ? ", " : "") "a" i
            }
            print "        (void)" mpi_name(r, large) "(" s ");"
            print "        (void)P" mpi_name(r, large) "(" s ");"
            print "    }"
        }
    print "    return 0;"
    print "}"
}

END {
    if (failed)
        exit 1
    if (make == "source")
        make_source()
    else if (make == "proto")
        make_proto()
    else if (make == "map")
        make_map()
    else if (make == "names")
        make_names()
    else if (make == "fn_names")
        make_fn_names()
    else if (make == "unsupported")
        make_unsupported()
    else if (make == "calls")
        make_calls()
    else
        die("make=" make "?")
}
