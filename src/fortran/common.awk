# What the bindings in C (c.awk) and the modules (modules.awk) share: which functions Fortran has, and what
# their arguments are. Follows src/api/tables.awk.

BEGIN {
    # Written by hand: texts with lengths, callbacks with a state, arguments that differ from C's.
    n_hand = split("Info_get Info_get_string Session_get_nth_pset Comm_create_keyval Type_create_keyval " \
        "Win_create_keyval Keyval_create Attr_put Attr_get File_create_errhandler Grequest_start " \
        "Register_datarep Comm_spawn Comm_spawn_multiple Buffer_detach Comm_detach_buffer " \
        "Session_detach_buffer Wtime Wtick Aint_add Aint_diff " \
        "Address Type_hvector Type_hindexed Type_struct Type_extent Type_lb Type_ub Pcontrol", hand, " ")
    for (i_hand = 1; i_hand <= n_hand; i_hand++)
        by_hand["MPI_" hand[i_hand]] = 1
    n_arrays = split("ints ints_old ints_out iarr iarr_out aarr_out carr_out tarr_out counts displs adispls " \
        "vcounts lcounts vdispls vstypes vrtypes ncounts ndispls nadispls nstypes nrtypes counts_old " \
        "adispls_old dtypes dtypes_old ints_root infos reqs reqs_in statuses strs", arrays, " ")
    for (i_hand = 1; i_hand <= n_arrays; i_hand++)
        is_array_kind[arrays[i_hand]] = 1
}

# Functions of C alone: tools, hooks, MPICH's own, conversions of handles and statuses.
function in_fortran(r) {
    return name[r] ~ /^MPI_/ && chap[r] !~ /^(tool|hook|failure)$/ && \
        name[r] !~ /^MPI_(File_c2f|File_f2c|Status_c2f|Status_f2c|Status_c2f08|Status_f082c)$/
}

# Only in mpif.h and in module mpi without an interface: removed, or MPI-1's attributes.
function is_old(r) {
    return has(r, "old") || name[r] ~ /^MPI_(Attr|Keyval)_/
}

# A row of the table that is a large-count function by itself.
function is_wide(r) {
    return name[r] ~ /_c$/
}

function is_hand(r) {
    return name[r] in by_hand
}

function is_function(r) {
    return note(r, "returns") != ""
}

# C's arguments of main: Fortran has none.
function is_left_out(r, i) {
    return kind[r, i] ~ /^arg[cv]$/ || name[r] == "MPI_Info_create_env" && arg[r, i] ~ /^arg[cv]$/
}

function is_number_by_value(type) {
    return type !~ /\*/
}

# A buffer of any type.
function is_choice(r, i) {
    return ctype[kind[r, i]] ~ /^(const )?void \*@$/ && kind[r, i] !~ /^(ptr_out|attr_out)$/ && \
        arg[r, i] !~ /^(extra_state|attribute_val)$/
}

function is_constant(r, i) {
    return ctype[kind[r, i]] ~ /^const /
}

function has_choice(r,    i) {
    for (i = 1; i <= n_args[r]; i++)
        if (is_choice(r, i))
            return 1
    return 0
}

function has_kind(r, what,    i) {
    for (i = 1; i <= n_args[r]; i++)
        if (kind[r, i] == what)
            return 1
    return 0
}

function is_text_in(type) {
    return type == "const char *@"
}

function is_text_out(type) {
    return type == "char *@"
}

# Of a buffer for buffered sends, whose address only mpi_f08 gets.
function is_detach(r) {
    return name[r] ~ /_detach(_buffer)?$/ && has_kind(r, "ptr_out")
}

# Does the call end before its buffers may be used again?
function is_blocking(r) {
    if (has_kind(r, "req_out") || name[r] ~ /_begin$/)
        return 0
    return chap[r] != "onesided"
}

# What becomes of a section of an array that is not contiguous, as buffer i of mpi_f08:
#   address  its first element is meant
#   first    the same, of one element of a datatype
#   memory   an error: it has to be contiguous
#   copy     a contiguous copy, since the call ends before it returns
#   hold     the same, until the request is complete
#   type     a datatype describes it
#   parts    the same, of one of several partitions
function section_way(r, i) {
    if (name[r] ~ /^MPI_(Get_address|Free_mem|Win_detach|F_sync_reg)$/ || name[r] ~ /_end$/)
        return "address"
    if (name[r] ~ /^MPI_(Win_create|Win_attach|Buffer_attach|Comm_attach_buffer|Session_attach_buffer)$/)
        return "memory"
    if (name[r] ~ /^MPI_(Fetch_and_op|Compare_and_swap)$/)
        return "first"
    if (is_blocking(r))
        return "copy"
    if (chap[r] == "coll" && name[r] !~ /^MPI_(Ibcast|Bcast_init)$/)
        return "hold"
    if (kind[r, i + 1] == "parts")
        return "parts"
    if (i + 2 <= n_args[r] && kind[r, i + 1] ~ /^(count|count_if)$/ && kind[r, i + 2] ~ /^dtype/)
        return "type"
    die("no way for a section as " arg[r, i] " of " name[r])
}

function same_size(type) {
    sub(/MPI_(Aint|Count|Offset)/, "wide", type)
    return type
}

# Can Fortran tell the large-count form by its arguments? MPI_ADDRESS_KIND is MPI_COUNT_KIND here.
function is_different(r,    i) {
    for (i = 1; i <= n_args[r]; i++)
        if (same_size(ctype[kind_of(r, i, 0)]) != same_size(ctype[kind_of(r, i, 1)]))
            return 1
    return 0
}
