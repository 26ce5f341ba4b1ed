# Makes what Fortran programs include and use (MPI-4.0 section 19.1):
#   awk -f constants.awk -f tables.awk -f common.awk -f modules.awk -v make=X mpi.h kinds.tbl api.tbl
# X is mpif (mpif.h), types (module mpi_f08_types), mpi or f08 (modules mpi and mpi_f08), f08ts (the procedures of
# mpi_f08 with buffers).

# ---- constants ----

function kind_constants(    n, k, i) {
    n = split("MPI_ADDRESS_KIND MPI_OFFSET_KIND MPI_COUNT_KIND MPI_INTEGER_KIND", k, " ")
    for (i = 1; i <= n; i++)
        declare_constant("INTEGER", k[i], i < n ? 8 : 4)
}

# Valid in fixed and in free form.
function declare_constant(type, what, v) {
    print "      " type " " what
    print "      PARAMETER (" what "=" v ")"
}

function logical_constants(subarrays) {
    declare_constant("LOGICAL", "MPI_SUBARRAYS_SUPPORTED", subarrays)
    declare_constant("LOGICAL", "MPI_ASYNC_PROTECTS_NONBLOCKING", ".FALSE.")
}

function constants(f08,    i, what, type) {
    kind_constants()
    logical_constants(f08 ? ".TRUE." : ".FALSE.")
    for (i = 1; i <= n_constants; i++) {
        what = constant[i]
        type = "INTEGER"
        if (what == "MPI_DISPLACEMENT_CURRENT")
            type = "INTEGER(KIND=MPI_OFFSET_KIND)"
        if (f08 && handle[what] != "") {
            type = "TYPE(MPI_" handle[what] ")"
            print "      " type ", PARAMETER :: " what " = &"
            print "          MPI_" handle[what] "(" sprintf("%d", value[what]) ")"
        } else {
            declare_constant(type, what, sprintf("%d", value[what]))
        }
    }
}

# The constants that are addresses, in the common blocks of fortran.h.
function addresses(f08) {
    print "      INTEGER MPI_BOTTOM, MPI_IN_PLACE"
    print "      INTEGER MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)"
    print "      INTEGER MPI_ERRCODES_IGNORE(1)"
    print "      INTEGER" (f08 ? ", TARGET ::" : "") " MPI_BUFFER_AUTOMATIC(1)"
    if (f08) {
        print "      TYPE(MPI_Status) :: MPI_STATUS_IGNORE"
        print "      TYPE(MPI_Status) :: MPI_STATUSES_IGNORE(1)"
    } else {
        print "      INTEGER MPI_STATUS_IGNORE(MPI_STATUS_SIZE)"
        print "      INTEGER MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)"
    }
    print "      CHARACTER(1) MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)"
    print "      COMMON /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE"
    print "      COMMON /MPIPRIV1/ MPI_STATUS_IGNORE"
    print "      COMMON /MPIPRIV2/ MPI_STATUSES_IGNORE"
    print "      COMMON /MPIPRIV2/ MPI_ERRCODES_IGNORE"
    print "      COMMON /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL"
    print "      COMMON /MPIFCMB5/ MPI_UNWEIGHTED"
    print "      COMMON /MPIFCMB9/ MPI_WEIGHTS_EMPTY"
    print "      COMMON /DATUMPRIV/ MPI_BUFFER_AUTOMATIC"
    print "      SAVE /MPIPRIV1/, /MPIPRIV2/, /MPIPRIVC/"
    print "      SAVE /MPIFCMB5/, /MPIFCMB9/, /DATUMPRIV/"
}

function predefined_functions(    n, o, i) {
    print "      EXTERNAL MPI_DUP_FN, MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN"
    n = split("COMM TYPE WIN", o, " ")
    for (i = 1; i <= n; i++) {
        print "      EXTERNAL MPI_" o[i] "_DUP_FN, MPI_" o[i] "_NULL_COPY_FN"
        print "      EXTERNAL MPI_" o[i] "_NULL_DELETE_FN"
    }
    print "      EXTERNAL MPI_CONVERSION_FN_NULL"
}

# ---- arguments ----

function is_logical(r, i) {
    return arg[r, i] ~ /^(flag|commute|reorder|periods|remain_dims|high|weighted)$/
}

# int of "const int *@"
function base_type(t) {
    gsub(/const | *\*|@|\(|\)|\[3\]/, "", t)
    return trim(t)
}

function is_callback(r, i) {
    return kind[r, i] ~ /^fn_/
}

function number_type(base) {
    if (base ~ /^(int|MPI_Fint)$/)
        return "integer"
    if (base ~ /^MPI_(Aint|Count|Offset)$/)
        return "integer(kind=" (base == "MPI_Aint" ? "MPI_ADDRESS" : toupper(base)) "_KIND)"
    return ""
}

function fortran_type(r, i, large, f08,    t, base) {
    t = ctype[kind_of(r, i, large)]
    base = base_type(t)
    if (is_logical(r, i))
        return "logical"
    if (is_callback(r, i))
        return f08 ? "procedure(" base ")" : "external"
    if (kind[r, i] == "ptr_out" && f08)
        return "type(c_ptr)"
    if (is_choice(r, i) || is_detach(r) && arg[r, i] == "buffer_addr")
        return "type(*)"
    if (base == "void")
        return "integer(kind=MPI_ADDRESS_KIND)"
    if (base == "char")
        return "character(len=*)"
    if (base == "MPI_F08_status" || base == "MPI_Status" && f08)
        return "type(MPI_Status)"
    if (base == "MPI_Status")
        return "integer"
    if (number_type(base) != "")
        return number_type(base)
    if (base !~ /^MPI_(Comm|Datatype|Errhandler|File|Group|Info|Message|Op|Request|Session|Win)$/)
        die("no type of Fortran for " t)
    return f08 ? "type(" base ")" : "integer"
}

function dimensions(r, i, f08, type) {
    if (type == "type(*)")
        return f08 ? "(..)" : "(*)"
    if (kind[r, i] == "ranges")
        return "(3, *)"
    if (kind[r, i] == "strss")
        return "(count, *)"
    if (kind[r, i] ~ /^status/ && type == "integer")
        return kind[r, i] == "statuses" ? "(MPI_STATUS_SIZE, *)" : "(MPI_STATUS_SIZE)"
    if (kind[r, i] ~ /^fint_/)
        return "(MPI_STATUS_SIZE)"
    return kind[r, i] in is_array_kind ? "(*)" : ""
}

function is_input(r, i, large,    t) {
    t = ctype[kind_of(r, i, large)]
    return is_number_by_value(t) || is_constant(r, i) || kind[r, i] ~ /^strs/ || \
        arg[r, i] ~ /^extra_state$/ || arg[r, i] == "attribute_val" && kind[r, i] == "ptr"
}

# A line of at most 100 columns, and those that continue it.
function put_lines(s, indent,    i, line, part) {
    line = indent
    while (s != "") {
        i = index(s, ", ")
        part = i ? substr(s, 1, i + 1) : s
        s = i ? substr(s, i + 2) : ""
        if (length(line) + length(part) > 98) {
            print line "&"
            line = indent "    "
        }
        line = line part
    }
    print line
}

function argument_names(r,    i, s) {
    s = ""
    for (i = 1; i <= n_args[r]; i++)
        if (!is_left_out(r, i))
            s = s arg[r, i] ", "
    return name[r] == "MPI_Pcontrol" ? "level" : s "ierror"
}

# Arrays beside buffers: programs for MPICH, whose module has no interfaces of these procedures, give 0 where an array is
# not significant, and an array of types where one is meant.
function is_unchecked(r, i, type,    j, has_array) {
    for (j = 1; j <= n_args[r]; j++)
        has_array = has_array || kind[r, j] in is_array_kind
    return type == "integer" && has_choice(r) && has_array && \
        (kind[r, i] in is_array_kind || kind[r, i] ~ /^dtype/)
}

function declare_arguments(r, large, f08,    i, type, s) {
    for (i = 1; i <= n_args[r]; i++) {
        if (is_left_out(r, i))
            continue
        type = fortran_type(r, i, large, f08)
        s = type
        if (f08 && is_input(r, i, large) && !is_callback(r, i))
            s = s ", intent(in)"
        if (f08 && type == "type(*)" && section_way(r, i) != "copy")
            s = s ", asynchronous"
        if (!f08 && (type == "type(*)" || is_unchecked(r, i, type)))
            print "        !GCC$ ATTRIBUTES NO_ARG_CHECK :: " arg[r, i]
        print "        " s " :: " arg[r, i] dimensions(r, i, f08, type)
    }
    if (name[r] != "MPI_Pcontrol")
        print "        integer" (f08 ? ", optional, intent(out)" : "") " :: ierror"
}

# One procedure; c_name: not "", and it is C's.
function procedure(r, large, f08, specific, c_name) {
    put_lines("subroutine " specific "(" argument_names(r) ")" \
        (c_name != "" ? " bind(C, name=\"" c_name "\")" : ""), "      ")
    print "        import"
    declare_arguments(r, large, f08)
    print "      end subroutine"
}

# ---- mpif.h ----

function make_mpif() {
    print "! The constants of MPI for Fortran; made from mpi.h. Valid in fixed and in free form."
    constants(0)
    addresses(0)
    predefined_functions()
    print "      EXTERNAL MPI_WTIME, MPI_WTICK, PMPI_WTIME, PMPI_WTICK"
    # also where the compiler makes DOUBLE PRECISION longer
    print "      REAL(KIND=SELECTED_REAL_KIND(15,307)) MPI_WTIME, MPI_WTICK"
    print "      REAL(KIND=SELECTED_REAL_KIND(15,307)) PMPI_WTIME, PMPI_WTICK"
    print "      EXTERNAL MPI_AINT_ADD, MPI_AINT_DIFF"
    print "      EXTERNAL PMPI_AINT_ADD, PMPI_AINT_DIFF"
    print "      INTEGER(KIND=MPI_ADDRESS_KIND) MPI_AINT_ADD, MPI_AINT_DIFF"
    print "      INTEGER(KIND=MPI_ADDRESS_KIND) PMPI_AINT_ADD"
    print "      INTEGER(KIND=MPI_ADDRESS_KIND) PMPI_AINT_DIFF"
}

# ---- what both modules have ----

# MPI_Wtime and its like; in mpi_f08 each is one of a generic name.
function function_with_value(pre, fn, arguments, type, result_name, f08) {
    if (f08)
        print "    interface " pre fn
    print "      function " pre fn (f08 ? "_f08" : "") "(" arguments ") result(" result_name ")"
    print "        import"
    if (arguments != "")
        print "        " type ", intent(in) :: " arguments
    print "        " type " :: " result_name
    print "      end function"
    if (f08)
        print "    end interface"
}

function functions_with_values(pre, f08,    address) {
    address = "integer(kind=MPI_ADDRESS_KIND)"
    function_with_value(pre, "MPI_Wtime", "", "double precision", "seconds", f08)
    function_with_value(pre, "MPI_Wtick", "", "double precision", "seconds", f08)
    function_with_value(pre, "MPI_Aint_add", "base, disp", address, "address", f08)
    function_with_value(pre, "MPI_Aint_diff", "addr1, addr2", address, "distance", f08)
}

function size_of(pre) {
    print "    interface " pre "MPI_Sizeof"
    print "      subroutine " pre "MPI_Sizeof_f08ts(x, size, ierror) &"
    print "        bind(C, name=\"" tolower(pre) "mpi_sizeof_cdesc_\")"
    print "        type(*), intent(in) :: x(..)"
    print "        integer, intent(out) :: size"
    print "        integer, optional, intent(out) :: ierror"
    print "      end subroutine"
    print "    end interface"
}

# ---- module mpi ----

function mpi_interfaces(pre,    r) {
    print "    interface"
    for (r = 1; r <= n_rows; r++)
        if (in_fortran(r) && !is_wide(r) && !is_old(r) && !is_function(r) && \
            !(has_kind(r, "ptr_out") && !is_detach(r)))
            procedure(r, 0, 0, pre name[r], "")
    functions_with_values(pre, 0)
    print "      subroutine " pre "MPI_F_sync_reg(buf)"
    print "        !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf"
    print "        type(*) :: buf(*)"
    print "      end subroutine"
    print "    end interface"
    # memory by an integer or by a pointer
    for (r = 1; r <= n_rows; r++)
        if (in_fortran(r) && has_kind(r, "ptr_out") && !is_detach(r)) {
            print "    interface " pre name[r]
            procedure(r, 0, 0, pre name[r], "")
            procedure_of_pointer(r, pre)
            print "    end interface"
        }
    size_of(pre)
}

function procedure_of_pointer(r, pre,    i, type) {
    put_lines("subroutine " pre name[r] "_cptr(" argument_names(r) ")", "      ")
    print "        import"
    for (i = 1; i <= n_args[r]; i++) {
        type = kind[r, i] == "ptr_out" ? "type(c_ptr)" : fortran_type(r, i, 0, 0)
        print "        " type " :: " arg[r, i]
    }
    print "        integer :: ierror"
    print "      end subroutine"
}

function make_mpi() {
    print "! Made by modules.awk from api.tbl and mpi.h."
    print "module mpi"
    print "    use, intrinsic :: iso_c_binding, only: c_ptr"
    print "    use mpi_f08_types"
    print "    implicit none"
    print "    private :: c_ptr"
    constants(0)
    addresses(0)
    predefined_functions()
    mpi_interfaces("")
    mpi_interfaces("P")
    print "end module"
}

# ---- modules mpi_f08_types and mpi_f08 ----

function make_types(    n, h, i) {
    n = split("Comm Datatype Errhandler File Group Info Message Op Request Session Win", h, " ")
    print "module mpi_f08_types"
    print "    implicit none"
    
    for (i = 1; i <= n; i++) {
        print "    type, bind(C) :: MPI_" h[i]
        print "        integer :: MPI_VAL"
        print "    end type"
    }
    print "    type, bind(C) :: MPI_Status"
    print "        integer :: count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR"
    print "    end type"
    print "    interface operator(==)"
    for (i = 1; i <= n; i++)
        print "        module procedure equal_" tolower(h[i])
    print "    end interface"
    print "    interface operator(/=)"
    for (i = 1; i <= n; i++)
        print "        module procedure not_equal_" tolower(h[i])
    print "    end interface"
    for (i = 1; i <= n; i++)
        print "    private :: equal_" tolower(h[i]) ", not_equal_" tolower(h[i])
    print "contains"
    for (i = 1; i <= n; i++) {
        compare("equal_" tolower(h[i]), "MPI_" h[i], "==")
        compare("not_equal_" tolower(h[i]), "MPI_" h[i], "/=")
    }
    print "end module"
}

function compare(fn, type, op) {
    print "    elemental logical function " fn "(a, b)"
    print "        type(" type "), intent(in) :: a, b"
    print "        " fn " = a%MPI_VAL " op " b%MPI_VAL"
    print "    end function"
}

function abstract_arguments(s,    n, a, i, g) {
    n = split(s, a, ";")
    for (i = 1; i <= n; i++)
        print "        " trim(a[i])
}

function abstract_one(fn, args, declarations) {
    print "      subroutine " fn "(" args ")"
    print "        import"
    abstract_arguments(declarations)
    print "      end subroutine"
}

# The interfaces of callbacks (MPI-4.0 section 19.1.17), whose names are those of C's types.
function callbacks(    n, o, i, t, address, big) {
    address = "integer(kind=MPI_ADDRESS_KIND) :: "
    print "    abstract interface"
    for (i = 0; i <= 1; i++)
        abstract_one("MPI_User_function" (i ? "_c" : ""), "invec, inoutvec, len, datatype", \
            "type(c_ptr), value :: invec, inoutvec; integer" (i ? "(kind=MPI_COUNT_KIND)" : "") \
            " :: len; type(MPI_Datatype) :: datatype")
    n = split("Comm Type Win", o, " ")
    for (i = 1; i <= n; i++) {
        t = "type(MPI_" (o[i] == "Type" ? "Datatype" : o[i]) ") :: object"
        abstract_one("MPI_" o[i] "_copy_attr_function", \
            "object, keyval, extra_state, attribute_val_in, &\n          attribute_val_out, flag, ierror", \
            t "; integer :: keyval, ierror; " address "extra_state; " address \
            "attribute_val_in, attribute_val_out; logical :: flag")
        abstract_one("MPI_" o[i] "_delete_attr_function", \
            "object, keyval, attribute_val, extra_state, ierror", \
            t "; integer :: keyval, ierror; " address "attribute_val, extra_state")
    }
    n = split("Comm Win File Session", o, " ")
    for (i = 1; i <= n; i++)
        abstract_one("MPI_" o[i] "_errhandler_function", "object, error_code", \
            "type(MPI_" o[i] ") :: object; integer :: error_code")
    abstract_one("MPI_Grequest_query_function", "extra_state, status, ierror", \
        address "extra_state; type(MPI_Status) :: status; integer :: ierror")
    abstract_one("MPI_Grequest_free_function", "extra_state, ierror", \
        address "extra_state; integer :: ierror")
    abstract_one("MPI_Grequest_cancel_function", "extra_state, complete, ierror", \
        address "extra_state; logical :: complete; integer :: ierror")
    abstract_one("MPI_Datarep_extent_function", "datatype, extent, extra_state, ierror", \
        "type(MPI_Datatype) :: datatype; " address "extent, extra_state; integer :: ierror")
    for (i = 0; i <= 1; i++)
        abstract_one("MPI_Datarep_conversion_function" (i ? "_c" : ""), \
            "userbuf, datatype, count, filebuf, position, &\n          extra_state, ierror", \
            "type(c_ptr), value :: userbuf, filebuf; type(MPI_Datatype) :: datatype; integer" \
            (i ? "(kind=MPI_COUNT_KIND)" : "") \
            " :: count; integer(kind=MPI_OFFSET_KIND) :: position; " address "extra_state; integer :: ierror")
    print "    end interface"
    n = split("Comm Type Win", o, " ")
    for (i = 1; i <= n; i++) {
        t = toupper(o[i])
        print "    procedure(MPI_" o[i] "_copy_attr_function) :: MPI_" t "_DUP_FN, MPI_" t "_NULL_COPY_FN"
        print "    procedure(MPI_" o[i] "_delete_attr_function) :: MPI_" t "_NULL_DELETE_FN"
    }
    print "    procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL"
    print "    procedure(MPI_Datarep_conversion_function_c) :: MPI_CONVERSION_FN_NULL_C"
}

# Has the large-count form a procedure of its own?
function has_large(r) {
    return has(r, "large") && is_different(r)
}

# Specific names are the standard's (MPI-4.0 section 19.1.5), so that profiling libraries can take their place.
function specific_name(r, large, pre) {
    return pre name[r] (large ? "_c" : "") (has_choice(r) ? "_f08ts" : "_f08")
}

# Generic names; the large-count forms of functions without other differences have names of their own.
function f08_interface(r, pre,    generic) {
    generic = name[r]
    if (generic ~ /^MPI_Type_get_(envelope|contents)_c$/)
        sub(/_c$/, "", generic)
    print "    interface " pre generic
    procedure(r, 0, 1, specific_name(r, 0, pre), "")
    if (has_large(r) && name[r] != "MPI_Register_datarep") {
        procedure(r, 1, 1, specific_name(r, 1, pre), "")
    } else if (has_large(r)) {
        print "    end interface"
        print "    interface " pre name[r] "_c"
        procedure(r, 1, 1, specific_name(r, 1, pre), "")
    }
    print "    end interface"
}

function f08_interfaces(pre,    r) {
    for (r = 1; r <= n_rows; r++)
        if (in_fortran(r) && !is_old(r) && !is_function(r))
            f08_interface(r, pre)
    functions_with_values(pre, 1)
    print "    interface " pre "MPI_F_sync_reg"
    print "      subroutine " pre "MPI_F_sync_reg_f08ts(buf)"
    print "        type(*), asynchronous :: buf(..)"
    print "      end subroutine"
    print "    end interface"
    size_of(pre)
}

function make_f08() {
    print "! Made by modules.awk from api.tbl and mpi.h."
    print "module mpi_f08"
    print "    use, intrinsic :: iso_c_binding, only: c_ptr"
    print "    use mpi_f08_types"
    print "    implicit none"
    print "    private :: c_ptr"
    constants(1)
    addresses(1)
    callbacks()
    f08_interfaces("")
    f08_interfaces("P")
    print "end module"
}

# ---- procedures of mpi_f08 with buffers ----

# They have gfortran's descriptors, which it turns into C's here.
function is_f08ts(r) {
    return in_fortran(r) && !is_old(r) && !is_function(r) && has_choice(r)
}

function cdesc_name(r, large) {
    return "cdesc_" name[r] (large ? "_c" : "")
}

function f08ts_procedure(r, large) {
    put_lines("subroutine " specific_name(r, large, "P") "(" argument_names(r) ")", "")
    print "        use mpi_f08_types"
    print "        implicit none"
    kind_constants()
    print "      interface"
    procedure(r, large, 1, cdesc_name(r, large), tolower("p" name[r] (large ? "_c" : "")) "_cdesc_")
    print "      end interface"
    declare_arguments(r, large, 1)
    put_lines("call " cdesc_name(r, large) "(" argument_names(r) ")", "        ")
    print "end subroutine"
}

function make_f08ts(    r) {
    print "! Made by modules.awk from api.tbl."
    for (r = 1; r <= n_rows; r++)
        if (is_f08ts(r)) {
            f08ts_procedure(r, 0)
            if (has_large(r))
                f08ts_procedure(r, 1)
        }
}

# The standard's name of what is "error" in C, where "err" is taken.
function name_errors(    r, i) {
    for (r = 1; r <= n_rows; r++)
        for (i = 1; i <= n_args[r]; i++)
            if (arg[r, i] == "error")
                arg[r, i] = "err"
}

END {
    if (failed)
        exit 1
    name_errors()
    if (make == "types")
        make_types()
    else if (make == "mpif")
        make_mpif()
    else if (make == "mpi")
        make_mpi()
    else if (make == "f08")
        make_f08()
    else if (make == "f08ts")
        make_f08ts()
    else
        die("make=" make "?")
}
