/*
 * Failures of calls: what the user reads, and whose error handler runs.
 *
 * A text reads "MPI_Send(buf=0x7ff.., count=3, MPI_INT, dest=9, tag=0, MPI_COMM_WORLD): invalid rank:
 * dest is 9; ...". With MPI_ERRORS_ARE_FATAL it is printed and the job ends; otherwise
 * MPI_Error_string gives it without the call in front.
 */
#include "api/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/session.h"
#include "util/glock.h"
#include "util/log.h"
#include "util/strbuf.h"

#define CALL_LEN 1024
#define TEXT_LEN 2048

/* Handles that everybody knows by name; datatypes, operations and communicators know theirs. */
static const struct {
    int handle;
    const char *name;
} names[] = {
    {MPI_COMM_NULL, "MPI_COMM_NULL"},
    {MPI_GROUP_NULL, "MPI_GROUP_NULL"},
    {MPI_GROUP_EMPTY, "MPI_GROUP_EMPTY"},
    {MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"},
    {MPI_ERRHANDLER_NULL, "MPI_ERRHANDLER_NULL"},
    {MPI_ERRORS_ARE_FATAL, "MPI_ERRORS_ARE_FATAL"},
    {MPI_ERRORS_RETURN, "MPI_ERRORS_RETURN"},
    {MPI_ERRORS_ABORT, "MPI_ERRORS_ABORT"},
    {MPIR_ERRORS_THROW_EXCEPTIONS, "MPI::ERRORS_THROW_EXCEPTIONS"},
    {MPI_SESSION_NULL, "MPI_SESSION_NULL"},
    {MPI_OP_NULL, "MPI_OP_NULL"},
    {MPI_INFO_NULL, "MPI_INFO_NULL"},
    {MPI_INFO_ENV, "MPI_INFO_ENV"},
    {MPI_WIN_NULL, "MPI_WIN_NULL"},
    {MPI_REQUEST_NULL, "MPI_REQUEST_NULL"},
};

static const char *handle_name(char letter, int handle)
{
    const struct dm_type *type;
    const struct dm_comm *comm;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].handle == handle)
            return names[i].name;
    if (letter == 'T') {
        type = dm_type_get(handle);
        return type != NULL && type->name[0] != '\0' ? type->name : NULL;
    }
    if (letter == 'O')
        return dm_op_name(handle);
    if (letter == 'C') {
        comm = dm_handle_get(DM_KIND_COMM, handle);
        return comm != NULL && comm->name[0] != '\0' ? comm->name : NULL;
    }
    return NULL;
}

static const char *rank_name(int rank)
{
    switch (rank) {
    case MPI_PROC_NULL:
        return "MPI_PROC_NULL";
    case MPI_ANY_SOURCE:
        return "MPI_ANY_SOURCE";
    case MPI_ROOT:
        return "MPI_ROOT";
    default:
        return NULL;
    }
}

static void put_int(struct dm_strbuf *sb, const char *arg, int arg_len, char letter, int value)
{
    const char *known = NULL;

    switch (letter) {
    case 'i':
        break;
    case 'r':
        known = rank_name(value);
        break;
    case 't':
        known = value == MPI_ANY_TAG ? "MPI_ANY_TAG" : NULL;
        break;
    default: /* a handle */
        known = handle_name(letter, value);
        if (known != NULL)
            dm_strbuf_add(sb, known);
        else
            dm_strbuf_addf(sb, "%.*s=0x%x", arg_len, arg, (unsigned)value);
        return;
    }
    if (known != NULL)
        dm_strbuf_addf(sb, "%.*s=%s", arg_len, arg, known);
    else
        dm_strbuf_addf(sb, "%.*s=%d", arg_len, arg, value);
}

static void put_ptr(struct dm_strbuf *sb, const char *arg, int arg_len, const void *value)
{
    if (value == NULL)
        dm_strbuf_addf(sb, "%.*s=NULL", arg_len, arg);
    else if (value == MPI_IN_PLACE)
        dm_strbuf_addf(sb, "%.*s=MPI_IN_PLACE", arg_len, arg);
    else if (value == MPI_STATUS_IGNORE)
        dm_strbuf_add(sb, "MPI_STATUS_IGNORE");
    else
        dm_strbuf_addf(sb, "%.*s=%p", arg_len, arg, value);
}

/* "MPI_Send(buf=0x.., count=3, ...)" */
static void put_call(struct dm_strbuf *sb, const struct dm_fn *fn, va_list ap)
{
    const char *arg = fn->args;

    dm_strbuf_addf(sb, "%s(", fn->name);
    while (*arg != '\0') {
        int len = (int)strcspn(arg, "=");
        char letter = arg[len + 1];
        const char *text;

        if (arg != fn->args)
            dm_strbuf_add(sb, ", ");
        switch (letter) {
        case 'p':
            put_ptr(sb, arg, len, va_arg(ap, const void *));
            break;
        case 'l':
            dm_strbuf_addf(sb, "%.*s=%ld", len, arg, va_arg(ap, long));
            break;
        case 's':
            text = va_arg(ap, const char *);
            dm_strbuf_addf(sb, "%.*s=\"%.80s\"", len, arg, text != NULL ? text : "(null)");
            break;
        default:
            put_int(sb, arg, len, letter, va_arg(ap, int));
            break;
        }
        arg += len + 2;
        arg += *arg == ' ';
    }
    dm_strbuf_add(sb, ")");
}

/* The handler eh of an object and what handle it gets: where nobody has set one, MPI_COMM_WORLD's. */
static struct dm_errhandler *set_one(struct dm_errhandler *eh, const struct dm_obj *obj,
                                     const void **handle_p)
{
    if (eh == &dm_errhandler_unset && dm_world.comm_world != NULL) {
        eh = dm_world.comm_world->eh;
        obj = &dm_world.comm_world->obj;
    }
    *handle_p = &obj->handle;
    return eh;
}

/*
 * The handler of calls that concern no object. MPI-4 says MPI_COMM_SELF's, earlier versions
 * MPI_COMM_WORLD's: the one that the program has set.
 */
static struct dm_errhandler *default_handler(const void **handle_p)
{
    if (dm_world.comm_self == NULL) { /* not initialized */
        *handle_p = NULL;
        return &dm_errhandler_fatal;
    }
    return set_one(dm_world.comm_self->eh, &dm_world.comm_self->obj, handle_p);
}

void dm_api_abort(int exit_code, const char *text)
{
    if (dm_world.abort != NULL)
        dm_world.abort(dm_world.abort_arg, exit_code, text);
    dm_log_error("%s", text);
    fflush(stdout);
    _exit(exit_code);
}

/* A handler of other bindings wants the kind of object and the function it belongs to. */
static void call_bound(const struct dm_errhandler *eh, void *handle, int *code)
{
    enum { CXX_COMM, CXX_FILE, CXX_WIN };

    switch (eh->object) {
    case DM_KIND_FILE:
        eh->bound(CXX_FILE, handle, code, (void (*)(void))eh->fn.file);
        return;
    case DM_KIND_WIN:
        eh->bound(CXX_WIN, handle, code, (void (*)(void))eh->fn.win);
        return;
    default:
        eh->bound(CXX_COMM, handle, code, (void (*)(void))eh->fn.comm);
    }
}

/* What the call returns: the code as the function leaves it. C++ has no codes: its functions throw. */
static int call_user(const struct dm_errhandler *eh, const void *handle, int code)
{
    int object = 0;           /* a copy: the function might change it */
    bool is_cxx = eh->is_cxx; /* which may be gone afterwards */
    MPI_File file;

    if (eh->object == DM_KIND_FILE)
        file = *(const MPI_File *)handle;
    else
        object = *(const int *)handle;
    if (eh->bound != NULL)
        call_bound(eh, eh->object == DM_KIND_FILE ? (void *)&file : (void *)&object, &code);
    else if (eh->object == DM_KIND_FILE)
        eh->fn.file(&file, &code);
    else if (eh->object == DM_KIND_WIN)
        eh->fn.win(&object, &code);
    else if (eh->object == DM_KIND_SESSION)
        eh->fn.session(&object, &code);
    else
        eh->fn.comm(&object, &code);
    return is_cxx ? MPI_SUCCESS : code;
}

int dm_errcode_raise(struct dm_errhandler *eh, const void *handle, int code, const char *text)
{
    int levels;

    switch (eh->kind) {
    case DM_EH_FATAL:
    case DM_EH_ABORT:
    case DM_EH_UNSET:
        dm_api_abort(code > 0 && code < 256 ? code : 1, text);
    case DM_EH_RETURN:
    case DM_EH_THROW: /* the C++ bindings throw when they see the code */
        break;
    case DM_EH_USER:
        /* The handler may call MPI, wait for other threads, or never return. */
        levels = dm_glock_release_all();
        code = call_user(eh, handle, code);
        dm_glock_reacquire(levels);
        break;
    }
    return code;
}

/* The owner's error handler, and what handle its functions get. */
static struct dm_errhandler *handler_of(const struct dm_fn *fn, int err, void *owner,
                                        const void **handle_p)
{
    static const MPI_Comm no_comm = MPI_COMM_NULL;
    struct dm_comm *comm = fn->owner == DM_OWNER_COMM ? owner : NULL;
    struct dm_win *win = fn->owner == DM_OWNER_WIN ? owner : NULL;
    struct dm_session *session = owner;
    struct dm_file *file = fn->owner == DM_OWNER_FILE ? owner : NULL;
    struct dm_errhandler *eh;

    if (fn->owner == DM_OWNER_BLAME)
        dm_core_blamed(&comm, &win, &file);
    if (win != NULL)
        return set_one(win->eh, &win->obj, handle_p);
    /* MPICH's programs rely on it: there the world's handler takes the place of one that was not set. */
    if (comm != NULL && err == DM_ERR_NEWCOMM && dm_errhandler_is_fatal(comm->eh))
        comm = dm_world.comm_world;
    if (comm != NULL) {
        eh = set_one(comm->eh, &comm->obj, handle_p);
        if (comm->is_freed && *handle_p == &comm->obj.handle)
            *handle_p = &no_comm;
        return eh;
    }
    if (fn->owner == DM_OWNER_FILE || file != NULL)
        return dm_file_errhandler(file, handle_p);
    if (fn->owner == DM_OWNER_SESSION && session != NULL) {
        *handle_p = &session->obj.handle;
        return session->eh;
    }
    if (fn->owner == DM_OWNER_ERRH && owner != NULL) {
        *handle_p = &no_comm;
        return owner;
    }
    return default_handler(handle_p);
}

/*
 * What is not supported, and what DATUM_CHECK has found of files, whose errors return by default, is said once for each
 * function also to programs that look at no error code: for them a call that does nothing would be one that has worked.
 */
static void say_returned(const struct dm_fn *fn, int err, const char *text)
{
    static bool *said;
    int class = err > 0 ? dm_errcode_class(err) : MPI_SUCCESS;

    if (class != MPI_ERR_UNSUPPORTED_OPERATION && class != MPI_ERR_UNSUPPORTED_DATAREP &&
        (err != DM_EUSAGE || fn->owner != DM_OWNER_FILE))
        return;
    if (said == NULL)
        said = calloc((size_t)dm_calls_n_functions(), sizeof(*said));
    if (said == NULL || said[fn->index])
        return;
    said[fn->index] = true;
    dm_log_warn("%s; said once for each function", text);
}

/*
 * What the call returns. Of several requests it is the very code MPI_ERR_IN_STATUS (MPI-4.0 section 3.7.5), with
 * which programs compare it.
 */
static int code_of(int err, const char *text)
{
    if (err < 0)
        return -err;
    return err == DM_ERR_IN_STATUS ? MPI_ERR_IN_STATUS
                                   : dm_errcode_new(dm_errcode_class(err), text);
}

int dm_api_fail(const struct dm_fn *fn, int err, void *owner, ...)
{
    char call[CALL_LEN];
    char text[TEXT_LEN];
    struct dm_strbuf sb;
    struct dm_errhandler *eh;
    struct dm_comm *held;
    const void *handle;
    size_t call_len;
    int code;
    va_list ap;

    if (dm_api.is_slow) {
        if (fn->owner == DM_OWNER_BLAME)
            err = dm_usage_explained(dm_core_blamed_coll(), err);
        dm_usage_awaited(fn->name);
    }
    dm_strbuf_init(&sb, call, sizeof(call));
    va_start(ap, owner);
    put_call(&sb, fn, ap);
    va_end(ap);
    eh = handler_of(fn, err, owner, &handle);
    held = dm_core_unblame();

    dm_strbuf_init(&sb, text, sizeof(text));
    dm_strbuf_addf(&sb, "%s: ", call);
    call_len = sb.len;
    dm_strbuf_add(&sb, err < 0 ? "a callback of the program failed" : dm_err_text(err));
    /* A request may have failed long before the call that reports it: the detail is another's then. */
    if (dm_err_code() == err && dm_err_detail()[0] != '\0')
        dm_strbuf_addf(&sb, ": %s", dm_err_detail());
    dm_err_clear();
    DM_TRACE(API, "%s", text);

    code = code_of(err, text + call_len);
    if (dm_errhandler_is_fatal(eh))
        dm_api_abort(err < 0 ? MPI_ERR_OTHER : dm_errcode_class(err), text);
    say_returned(fn, err, text);
    if (dm_api.is_slow)
        dm_api_leave(); /* the handler may throw, or jump away */
    code = dm_errcode_raise(eh, handle, code, text);
    dm_comm_unref(held);
    return code;
}

int dm_api_unsupported(const struct dm_fn *fn, const char *part)
{
    return DM_FAIL(DM_ENOTSUP, "%s: this version of Datum has no %s", fn->name, part);
}

void dm_api_statuses(int n, MPI_Status *statuses)
{
    if (statuses == MPI_STATUSES_IGNORE)
        return;
    for (int i = 0; i < n; i++)
        if (statuses[i].MPI_ERROR > 0)
            statuses[i].MPI_ERROR = dm_errcode_class(statuses[i].MPI_ERROR);
        else
            statuses[i].MPI_ERROR = -statuses[i].MPI_ERROR; /* of a callback, or success */
}

bool dm_api_raise(struct dm_comm *comm, const char *text, bool may_call)
{
    const void *handle;
    struct dm_errhandler *eh = set_one(comm->eh, &comm->obj, &handle);

    if (!may_call && eh->kind != DM_EH_RETURN && !dm_errhandler_is_fatal(eh))
        return false;
    if (eh->kind == DM_EH_RETURN || eh->kind == DM_EH_THROW)
        dm_log_error("%s", text);
    dm_errcode_raise(eh, handle, dm_errcode_new(MPI_ERR_OTHER, text), text);
    return true;
}

/* ---- MPI_Comm_call_errhandler and its kin ---- */

static int call_errhandler(struct dm_errhandler *eh, const void *handle, int errorcode)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    dm_error_string(errorcode, text, &len);
    dm_errcode_raise(eh, handle, errorcode, text);
    return DM_OK;
}

int dm_comm_call_errhandler(struct dm_comm *comm, int errorcode)
{
    const void *handle;
    struct dm_errhandler *eh = set_one(comm->eh, &comm->obj, &handle);

    return call_errhandler(eh, handle, errorcode);
}

int dm_win_call_errhandler(struct dm_win *win, int errorcode)
{
    const void *handle;
    struct dm_errhandler *eh = set_one(win->eh, &win->obj, &handle);

    return call_errhandler(eh, handle, errorcode);
}

int dm_session_call_errhandler(struct dm_session *session, int errorcode)
{
    return call_errhandler(session->eh, &session->obj.handle, errorcode);
}

int dm_file_call_errhandler(struct dm_file *file, int errorcode)
{
    const void *handle;
    struct dm_errhandler *eh = dm_file_errhandler(file, &handle);

    return call_errhandler(eh, handle, errorcode);
}
