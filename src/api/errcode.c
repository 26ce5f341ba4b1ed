/*
 * MPI error codes: classes, texts, codes that programs add.
 *
 * A code of ours is class | slot << CLASS_BITS | generation << GEN_SHIFT; the slot of the ring
 * remembers the text until N_SLOTS later failures, the generation notices that it is gone. Codes that
 * the program added are ADDED | index. A bare class is a code too.
 */
#include "api/api.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/glock.h"

#define CLASS_BITS 7
#define SLOT_BITS  7
#define GEN_SHIFT  (CLASS_BITS + SLOT_BITS)
#define GEN_MASK   0xffff
#define N_SLOTS    (1 << SLOT_BITS)
#define N_CLASSES  (1 << CLASS_BITS)
#define CLASS_MASK (N_CLASSES - 1)
#define ADDED      0x40000000
#define ADDED_MIN  64

/* One row per error class: name and meaning. */
#define CLASS(name, text) [name] = {#name, text}
static const struct {
    const char *name;
    const char *text;
} classes[N_CLASSES] = {
    CLASS(MPI_SUCCESS, "no error"),
    CLASS(MPI_ERR_BUFFER, "invalid buffer pointer"),
    CLASS(MPI_ERR_COUNT, "invalid count argument"),
    CLASS(MPI_ERR_TYPE, "invalid datatype argument"),
    CLASS(MPI_ERR_TAG, "invalid tag argument"),
    CLASS(MPI_ERR_COMM, "invalid communicator"),
    CLASS(MPI_ERR_RANK, "invalid rank"),
    CLASS(MPI_ERR_ROOT, "invalid root"),
    CLASS(MPI_ERR_GROUP, "invalid group"),
    CLASS(MPI_ERR_OP, "invalid reduction operation"),
    CLASS(MPI_ERR_TOPOLOGY, "invalid topology"),
    CLASS(MPI_ERR_DIMS, "invalid dimension argument"),
    CLASS(MPI_ERR_ARG, "invalid argument"),
    CLASS(MPI_ERR_UNKNOWN, "unknown error"),
    CLASS(MPI_ERR_TRUNCATE, "message truncated"),
    CLASS(MPI_ERR_OTHER, "error of another class"),
    CLASS(MPI_ERR_INTERN, "internal error of the library"),
    CLASS(MPI_ERR_IN_STATUS, "the error codes are in the statuses"),
    CLASS(MPI_ERR_PENDING, "the request is pending"),
    CLASS(MPI_ERR_REQUEST, "invalid request"),
    CLASS(MPI_ERR_ACCESS, "permission denied"),
    CLASS(MPI_ERR_AMODE, "invalid access mode of a file"),
    CLASS(MPI_ERR_BAD_FILE, "invalid file name"),
    CLASS(MPI_ERR_CONVERSION, "a data conversion function failed"),
    CLASS(MPI_ERR_DUP_DATAREP, "the data representation exists already"),
    CLASS(MPI_ERR_FILE_EXISTS, "the file exists"),
    CLASS(MPI_ERR_FILE_IN_USE, "the file is in use"),
    CLASS(MPI_ERR_FILE, "invalid file handle"),
    CLASS(MPI_ERR_INFO, "invalid info object"),
    CLASS(MPI_ERR_INFO_KEY, "invalid info key"),
    CLASS(MPI_ERR_INFO_VALUE, "invalid info value"),
    CLASS(MPI_ERR_INFO_NOKEY, "info key not defined"),
    CLASS(MPI_ERR_IO, "input or output failed"),
    CLASS(MPI_ERR_NAME, "service name not found"),
    CLASS(MPI_ERR_NO_MEM, "out of memory"),
    CLASS(MPI_ERR_NOT_SAME, "arguments differ between processes"),
    CLASS(MPI_ERR_NO_SPACE, "no space left"),
    CLASS(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    CLASS(MPI_ERR_PORT, "invalid port name"),
    CLASS(MPI_ERR_QUOTA, "quota exceeded"),
    CLASS(MPI_ERR_READ_ONLY, "the file or its system is read-only"),
    CLASS(MPI_ERR_SERVICE, "invalid service name"),
    CLASS(MPI_ERR_SPAWN, "processes could not be started"),
    CLASS(MPI_ERR_UNSUPPORTED_DATAREP, "data representation not supported"),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION, "operation not supported"),
    CLASS(MPI_ERR_WIN, "invalid window"),
    CLASS(MPI_ERR_BASE, "invalid base address"),
    CLASS(MPI_ERR_LOCKTYPE, "invalid lock type"),
    CLASS(MPI_ERR_KEYVAL, "invalid attribute key"),
    CLASS(MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"),
    CLASS(MPI_ERR_RMA_SYNC, "wrong synchronization of one-sided calls"),
    CLASS(MPI_ERR_SIZE, "invalid size argument"),
    CLASS(MPI_ERR_DISP, "invalid displacement argument"),
    CLASS(MPI_ERR_ASSERT, "invalid assert argument"),
    CLASS(MPI_ERR_RMA_RANGE, "target memory is not part of the window"),
    CLASS(MPI_ERR_RMA_ATTACH, "memory cannot be attached"),
    CLASS(MPI_ERR_RMA_SHARED, "memory cannot be shared"),
    CLASS(MPI_ERR_RMA_FLAVOR, "the window has the wrong flavor"),
    CLASS(MPI_T_ERR_MEMORY, "out of memory in the tools interface"),
    CLASS(MPI_T_ERR_NOT_INITIALIZED, "tools interface not initialized"),
    CLASS(MPI_T_ERR_CANNOT_INIT, "tools interface cannot be initialized now"),
    CLASS(MPI_T_ERR_INVALID_INDEX, "index does not exist"),
    CLASS(MPI_T_ERR_INVALID_ITEM, "item does not exist"),
    CLASS(MPI_T_ERR_INVALID_HANDLE, "invalid handle of the tools interface"),
    CLASS(MPI_T_ERR_OUT_OF_HANDLES, "no more handles of the tools interface"),
    CLASS(MPI_T_ERR_OUT_OF_SESSIONS, "no more sessions of the tools interface"),
    CLASS(MPI_T_ERR_INVALID_SESSION, "invalid session of the tools interface"),
    CLASS(MPI_T_ERR_CVAR_SET_NOT_NOW, "control variable cannot be set now"),
    CLASS(MPI_T_ERR_CVAR_SET_NEVER, "control variable cannot be set any more"),
    CLASS(MPI_T_ERR_PVAR_NO_STARTSTOP, "performance variable cannot be started or stopped"),
    CLASS(MPI_T_ERR_PVAR_NO_WRITE, "performance variable cannot be written"),
    CLASS(MPI_T_ERR_PVAR_NO_ATOMIC, "performance variable cannot be read and reset at once"),
    CLASS(MPI_T_ERR_INVALID_NAME, "name does not exist"),
    CLASS(MPI_T_ERR_INVALID, "invalid use of the tools interface"),
    CLASS(MPI_T_ERR_NOT_SUPPORTED, "not supported by the tools interface"),
    CLASS(MPI_T_ERR_NOT_ACCESSIBLE, "not accessible now by the tools interface"),
    CLASS(MPI_ERR_ERRHANDLER, "invalid error handler"),
    CLASS(MPI_ERR_SESSION, "invalid session"),
    CLASS(MPI_ERR_PROC_ABORTED, "a peer process has aborted"),
    CLASS(MPI_ERR_VALUE_TOO_LARGE, "the value does not fit"),
    CLASS(MPIX_ERR_PROC_FAILED, "a peer process has failed"),
    CLASS(MPIX_ERR_PROC_FAILED_PENDING, "a peer process has failed; the request is pending"),
    CLASS(MPIX_ERR_REVOKED, "the communicator was revoked"),
    CLASS(MPIX_ERR_EAGAIN, "try again"),
    CLASS(MPIX_ERR_NOREQ, "no request available"),
};
#undef CLASS

#define ERR_CLASS(name, mpi_class, text) [name] = MPI_ERR_##mpi_class,
static const unsigned char class_of_err[DM_ERR_LAST] = {DM_ERRORS(ERR_CLASS)};

static struct {
    int code;
    char text[MPI_MAX_ERROR_STRING];
} slots[N_SLOTS];
static unsigned n_failures;

/* What MPI_Add_error_class and MPI_Add_error_code made. */
static struct added {
    bool is_class;
    bool is_deleted; /* its number is not used again */
    int class;
    int n_codes; /* of a class: its codes that are not deleted */
    char *text;
} * added;
static int n_added;
static int n_added_max; /* that there is room for */

int dm_errcode_class(int err)
{
    return err >= 0 && err < DM_ERR_LAST ? class_of_err[err] : MPI_ERR_INTERN;
}

int dm_errcode_new(int mpi_class, const char *text)
{
    unsigned slot = n_failures % N_SLOTS;
    unsigned generation = (n_failures / N_SLOTS) % GEN_MASK + 1;

    n_failures++;
    slots[slot].code = (int)((unsigned)mpi_class | slot << CLASS_BITS | generation << GEN_SHIFT);
    snprintf(slots[slot].text, sizeof(slots[slot].text), "%s", text);
    return slots[slot].code;
}

int dm_errcode_last(void)
{
    return n_added == 0 ? MPI_ERR_LASTCODE : ADDED + n_added - 1;
}

/* The entry of a code that the program added, NULL for others. */
static struct added *errcode_added_of(int code)
{
    int index = code - ADDED;

    return code >= ADDED && index < n_added && !added[index].is_deleted ? &added[index] : NULL;
}

static bool errcode_is_known(int code)
{
    if (code < 0 || code >= ADDED)
        return errcode_added_of(code) != NULL;
    return classes[code & CLASS_MASK].name != NULL;
}

int dm_error_class(int errorcode, int *errorclass)
{
    const struct added *entry;

    if (errorclass == NULL)
        return MPI_ERR_ARG;
    dm_glock_enter();
    entry = errcode_added_of(errorcode);
    if (!errcode_is_known(errorcode))
        *errorclass = MPI_ERR_UNKNOWN;
    else
        *errorclass = entry != NULL ? entry->class : errorcode & CLASS_MASK;
    dm_glock_leave();
    return MPI_SUCCESS;
}

static void errcode_text(int code, char *string)
{
    const struct added *entry = errcode_added_of(code);
    unsigned slot = (unsigned)code >> CLASS_BITS & (N_SLOTS - 1);

    if (entry != NULL)
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", entry->text != NULL ? entry->text : "");
    else if (!errcode_is_known(code))
        snprintf(string, MPI_MAX_ERROR_STRING, "%d is not an error code", code);
    else if (code > CLASS_MASK && slots[slot].code == code)
        snprintf(string, MPI_MAX_ERROR_STRING, "%s", slots[slot].text);
    else
        snprintf(string, MPI_MAX_ERROR_STRING, "%s: %s", classes[code & CLASS_MASK].name,
                 classes[code & CLASS_MASK].text);
}

int dm_error_string(int errorcode, char *string, int *resultlen)
{
    if (string == NULL || resultlen == NULL)
        return MPI_ERR_ARG;
    dm_glock_enter();
    errcode_text(errorcode, string);
    dm_glock_leave();
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}

static int errcode_grow(void)
{
    int max = n_added_max == 0 ? ADDED_MIN : 2 * n_added_max;
    struct added *grown =
        n_added_max > (INT_MAX - ADDED) / 2 ? NULL : realloc(added, (size_t)max * sizeof(*added));

    if (grown == NULL)
        return DM_FAIL(DM_ENOMEM, "error code %d of the program", n_added + 1);
    added = grown;
    n_added_max = max;
    return DM_OK;
}

static int errcode_add(bool is_class, int class, int *code_p)
{
    int err = n_added < n_added_max ? DM_OK : errcode_grow();
    struct added *owner;

    if (err != DM_OK)
        return err;
    owner = is_class ? NULL : errcode_added_of(class);
    if (owner != NULL)
        owner->n_codes++;
    *code_p = ADDED + n_added;
    added[n_added++] =
        (struct added){.is_class = is_class, .class = is_class ? *code_p : class, .text = NULL};
    return DM_OK;
}

int dm_add_error_class(int *errorclass)
{
    return errcode_add(true, 0, errorclass);
}

int dm_add_error_code(int errorclass, int *errorcode)
{
    const struct added *entry = errcode_added_of(errorclass);
    bool is_class = entry != NULL
                        ? entry->is_class
                        : errorclass >= 0 && errorclass < N_CLASSES && errcode_is_known(errorclass);

    if (!is_class)
        return DM_FAIL(DM_ERR_ARG, "errorclass is %d, which is no error class", errorclass);
    return errcode_add(false, errorclass, errorcode);
}

/* What MPIX_Delete_error_class and its kin may delete: the text stays until then. */
static int delete (int code, bool is_class, const char *what)
{
    struct added *entry = errcode_added_of(code);
    struct added *owner;

    if (entry == NULL || entry->is_class != is_class)
        return DM_FAIL(DM_ERR_ARG, "%s is %d, which was not added or is deleted", what, code);
    if (is_class && entry->n_codes > 0)
        return DM_FAIL(DM_ERR_ARG, "class %d still has %d codes", code, entry->n_codes);
    owner = is_class ? NULL : errcode_added_of(entry->class);
    if (owner != NULL)
        owner->n_codes--;
    free(entry->text);
    entry->text = NULL;
    entry->is_deleted = true;
    return DM_OK;
}

int dm_delete_error_class(int errorclass)
{
    return delete (errorclass, true, "errorclass");
}

int dm_delete_error_code(int errorcode)
{
    return delete (errorcode, false, "errorcode");
}

int dm_delete_error_string(int errorcode)
{
    struct added *entry = errcode_added_of(errorcode);

    if (entry == NULL || entry->text == NULL)
        return DM_FAIL(DM_ERR_ARG, "errorcode is %d, which has no text of the program's",
                       errorcode);
    free(entry->text);
    entry->text = NULL;
    return DM_OK;
}

int dm_add_error_string(int errorcode, const char *string)
{
    struct added *entry = errcode_added_of(errorcode);
    char *copy;

    if (entry == NULL)
        return DM_FAIL(
            DM_ERR_ARG,
            "errorcode is %d, which neither MPI_Add_error_class nor MPI_Add_error_code made",
            errorcode);
    if (strlen(string) >= MPI_MAX_ERROR_STRING)
        return DM_FAIL(DM_ERR_ARG, "string has %zu characters, MPI_MAX_ERROR_STRING is %d",
                       strlen(string), MPI_MAX_ERROR_STRING);
    copy = strdup(string);
    if (copy == NULL)
        return DM_FAIL(DM_ENOMEM, "error text");
    free(entry->text);
    entry->text = copy;
    return DM_OK;
}
