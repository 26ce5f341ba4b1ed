/*
 * Error codes of the library, from the bottom to the MPI layer.
 *
 * A function that can fail returns DM_OK or one of these. The first detector
 * records what happened with DM_FAIL(); callers pass the code up. DM_EAGAIN
 * records nothing: it is back-pressure, not an error. Only src/api turns a
 * code into an MPI error code and calls an error handler.
 */
#ifndef DM_UTIL_ERR_H
#define DM_UTIL_ERR_H

/* name, MPI error class (without MPI_ERR_), general text */
#define DM_ERRORS(X)                                                                               \
    X(DM_EAGAIN, OTHER, "no credit or buffer right now, retry")                                    \
    X(DM_ENOMEM, NO_MEM, "out of memory")                                                          \
    X(DM_EPEER, OTHER, "a peer process closed the connection or died")                             \
    X(DM_ECONN, OTHER, "a connection could not be made")                                           \
    X(DM_ECONFIG, OTHER, "a setting or configuration file is wrong")                               \
    X(DM_EPROVIDER, OTHER, "the DAT provider reported an error")                                   \
    X(DM_ELAUNCH, OTHER, "the process manager could not be reached or misbehaved")                 \
    X(DM_ESYS, OTHER, "a system call failed")                                                      \
    X(DM_ETIMEOUT, OTHER, "timed out")                                                             \
    X(DM_ENOTSUP, UNSUPPORTED_OPERATION, "not supported")                                          \
    X(DM_EINTERN, INTERN, "internal error")                                                        \
    X(DM_EUSAGE, OTHER, "the program uses MPI wrongly")                                            \
    X(DM_EINIT, OTHER, "MPI is not initialized, or already finalized")                             \
    X(DM_ERR_BUFFER, BUFFER, "invalid buffer pointer")                                             \
    X(DM_ERR_COUNT, COUNT, "invalid count argument")                                               \
    X(DM_ERR_TYPE, TYPE, "invalid datatype argument")                                              \
    X(DM_ERR_TAG, TAG, "invalid tag argument")                                                     \
    X(DM_ERR_COMM, COMM, "invalid communicator")                                                   \
    X(DM_ERR_RANK, RANK, "invalid rank")                                                           \
    X(DM_ERR_ROOT, ROOT, "invalid root")                                                           \
    X(DM_ERR_TRUNCATE, TRUNCATE, "message truncated")                                              \
    X(DM_ERR_GROUP, GROUP, "invalid group")                                                        \
    X(DM_ERR_OP, OP, "invalid reduction operation")                                                \
    X(DM_ERR_REQUEST, REQUEST, "invalid request")                                                  \
    X(DM_ERR_TOPOLOGY, TOPOLOGY, "invalid topology")                                               \
    X(DM_ERR_DIMS, DIMS, "invalid dimension argument")                                             \
    X(DM_ERR_ARG, ARG, "invalid argument")                                                         \
    X(DM_ERR_NEWCOMM, ARG, "invalid argument")                                                     \
    X(DM_ERR_OTHER, OTHER, "other error")                                                          \
    X(DM_ERR_UNKNOWN, UNKNOWN, "unknown error")                                                    \
    X(DM_ERR_IN_STATUS, IN_STATUS, "the error codes are in the statuses")                          \
    X(DM_ERR_PENDING, PENDING, "pending request")                                                  \
    X(DM_ERR_NO_MEM, NO_MEM, "no memory for MPI_Alloc_mem")                                        \
    X(DM_ERR_BASE, BASE, "invalid base pointer")                                                   \
    X(DM_ERR_KEYVAL, KEYVAL, "invalid keyval")                                                     \
    X(DM_ERR_INFO, INFO, "invalid info object")                                                    \
    X(DM_ERR_INFO_KEY, INFO_KEY, "invalid info key")                                               \
    X(DM_ERR_INFO_VALUE, INFO_VALUE, "invalid info value")                                         \
    X(DM_ERR_INFO_NOKEY, INFO_NOKEY, "info key not defined")                                       \
    X(DM_ERR_WIN, WIN, "invalid window")                                                           \
    X(DM_ERR_SIZE, SIZE, "invalid size argument")                                                  \
    X(DM_ERR_DISP, DISP, "invalid displacement argument")                                          \
    X(DM_ERR_LOCKTYPE, LOCKTYPE, "invalid lock type")                                              \
    X(DM_ERR_ASSERT, ASSERT, "invalid assert argument")                                            \
    X(DM_ERR_RMA_CONFLICT, RMA_CONFLICT, "conflicting accesses to a window")                       \
    X(DM_ERR_RMA_SYNC, RMA_SYNC, "wrong synchronization of one-sided calls")                       \
    X(DM_ERR_RMA_RANGE, RMA_RANGE, "target memory is not part of the window")                      \
    X(DM_ERR_RMA_ATTACH, RMA_ATTACH, "memory cannot be attached")                                  \
    X(DM_ERR_RMA_SHARED, RMA_SHARED, "memory cannot be shared")                                    \
    X(DM_ERR_RMA_FLAVOR, RMA_FLAVOR, "the window has the wrong flavor")                            \
    X(DM_ERR_FILE, FILE, "invalid file handle")                                                    \
    X(DM_ERR_SESSION, SESSION, "invalid session")                                                  \
    X(DM_ERR_VALUE_TOO_LARGE, VALUE_TOO_LARGE, "the value does not fit")                           \
    X(DM_ERR_NAME, NAME, "service name not found")                                                 \
    X(DM_ERR_PORT, PORT, "invalid port name")                                                      \
    X(DM_ERR_SERVICE, SERVICE, "invalid service name")                                             \
    X(DM_ERR_SPAWN, SPAWN, "processes could not be spawned")                                       \
    X(DM_ERR_UNSUPPORTED_OPERATION, UNSUPPORTED_OPERATION, "unsupported operation")                \
    X(DM_ERR_IO, IO, "input or output failed")                                                     \
    X(DM_ERR_ACCESS, ACCESS, "permission denied")                                                  \
    X(DM_ERR_AMODE, AMODE, "invalid access mode of a file")                                        \
    X(DM_ERR_BAD_FILE, BAD_FILE, "invalid file name")                                              \
    X(DM_ERR_NO_SUCH_FILE, NO_SUCH_FILE, "the file does not exist")                                \
    X(DM_ERR_FILE_EXISTS, FILE_EXISTS, "the file exists")                                          \
    X(DM_ERR_FILE_IN_USE, FILE_IN_USE, "the file is in use")                                       \
    X(DM_ERR_NO_SPACE, NO_SPACE, "no space left")                                                  \
    X(DM_ERR_QUOTA, QUOTA, "quota exceeded")                                                       \
    X(DM_ERR_READ_ONLY, READ_ONLY, "the file or its system is read-only")                          \
    X(DM_ERR_NOT_SAME, NOT_SAME, "arguments differ between processes")                             \
    X(DM_ERR_DUP_DATAREP, DUP_DATAREP, "the data representation exists already")                   \
    X(DM_ERR_UNSUPPORTED_DATAREP, UNSUPPORTED_DATAREP, "data representation not supported")        \
    X(DM_ERR_CONVERSION, CONVERSION, "a data conversion function failed")

#define DM_ERRORS_ENUM(name, class, text) name,
enum dm_err { DM_OK = 0, DM_ERRORS(DM_ERRORS_ENUM) DM_ERR_LAST };
#undef DM_ERRORS_ENUM

/*
 * What a callback of the program returned, an MPI error code of its own, is passed on as it is: as
 * a negative number, which src/api turns back. One that is no code counts as DM_ERR_OTHER.
 */
static inline int dm_err_of_code(int mpi_code)
{
    if (mpi_code == 0)
        return DM_OK;
    return mpi_code > 0 ? -mpi_code : DM_ERR_OTHER;
}

/* The general text of a code, static storage. */
const char *dm_err_text(int err);

/*
 * Record the detail of a failure for this thread (truncated to 511 bytes,
 * overwriting an earlier one) and return err, so that
 * `return DM_FAIL(DM_ENOMEM, "channel state, %zu bytes", n);` reads well.
 */
int dm_err_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define DM_FAIL(err, ...) dm_err_fail((err), __VA_ARGS__)

/* The detail recorded last by this thread, "" when none; valid until the next. */
const char *dm_err_detail(void);
/* The code it was recorded with, DM_OK when none. */
int dm_err_code(void);
/* Forget it (done on entry of error-prone API calls by the error path only). */
void dm_err_clear(void);

#endif
