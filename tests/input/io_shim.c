/*
 * Before the C library: calls of a rank on files named *.fault fail as the environment says.
 *
 *   IO_FAULT       call, errno and how many calls go well before: pwrite:28:3; errno 0: the call says
 *                  that it succeeded and does nothing
 *   IO_FAULT_RANK  at this rank only
 *   IO_VM          errno of process_vm_writev
 *   IO_TRUNCATE=1  a file is truncated as soon as it is mapped
 *   IO_SLOW        microseconds that each pwrite takes besides
 *   IO_SHORT=1     transfers move at most 7 bytes, and every third one is interrupted
 *
 * A program that finds io_nomem may have its n-th allocation of so many bytes fail; it returns how many
 * of the former ones are still to come: 0 when that one has failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_ours(int fd)
{
    char link[64], name[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    if (n < 0)
        return 0;
    name[n] = '\0';
    return n > 6 && strcmp(name + n - 6, ".fault") == 0;
}

/* -1: nothing; 0: pretend; else the errno. */
static int fault(const char *call, int fd)
{
    static int n_calls;
    const char *what = getenv("IO_FAULT"), *rank = getenv("IO_FAULT_RANK"),
               *me = getenv("PMI_RANK");
    size_t len = strlen(call);
    int code, after;

    if (what == NULL || strncmp(what, call, len) != 0 || what[len] != ':' || !is_ours(fd))
        return -1;
    if (rank != NULL && (me == NULL || strcmp(rank, me) != 0))
        return -1;
    if (sscanf(what + len, ":%d:%d", &code, &after) != 2 || n_calls++ < after)
        return -1;
    return code;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))
#define FAULT(name, fd, pretend)                                                                   \
    do {                                                                                           \
        int code = fault(name, fd);                                                                \
        if (code == 0)                                                                             \
            return pretend;                                                                        \
        if (code > 0) {                                                                            \
            errno = code;                                                                          \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

/* 1: the call is interrupted. */
static int make_short(int fd, size_t *len)
{
    static int n;

    if (getenv("IO_SHORT") == NULL || !is_ours(fd))
        return 0;
    if (*len > 7)
        *len = 7;
    errno = EINTR;
    return ++n % 3 == 0;
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    const char *slow = getenv("IO_SLOW");

    FAULT("pwrite", fd, (ssize_t)len);
    if (slow != NULL && is_ours(fd))
        usleep((unsigned int)atoi(slow));
    if (make_short(fd, &len))
        return -1;
    return REAL("pwrite", ssize_t(*)(int, const void *, size_t, off_t))(fd, buf, len, at);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    FAULT("pread", fd, (ssize_t)len);
    if (make_short(fd, &len))
        return -1;
    return REAL("pread", ssize_t(*)(int, void *, size_t, off_t))(fd, buf, len, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
    size_t len = iov[0].iov_len;

    FAULT("pwritev", fd, (ssize_t)len);
    if (getenv("IO_SHORT") != NULL)
        return pwrite(fd, iov[0].iov_base, len, at);
    return REAL("pwritev", ssize_t(*)(int, const struct iovec *, int, off_t))(fd, iov, n, at);
}

ssize_t preadv(int fd, const struct iovec *iov, int n, off_t at)
{
    if (getenv("IO_SHORT") != NULL)
        return pread(fd, iov[0].iov_base, iov[0].iov_len, at);
    return REAL("preadv", ssize_t(*)(int, const struct iovec *, int, off_t))(fd, iov, n, at);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long n_local,
                          const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
    const char *code = getenv("IO_VM");

    if (code != NULL) {
        errno = atoi(code);
        return -1;
    }
    return REAL("process_vm_writev",
                ssize_t(*)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                           unsigned long, unsigned long))(pid, local, n_local, remote, n_remote,
                                                          flags);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    void *mem = REAL("mmap", void *(*)(void *, size_t, int, int, int, off_t))(at, len, prot, flags,
                                                                              fd, offset);

    if (getenv("IO_TRUNCATE") != NULL && fd >= 0 && is_ours(fd))
        (void)!REAL("ftruncate", int (*)(int, off_t))(fd, 0);
    return mem;
}

int posix_fallocate(int fd, off_t at, off_t len)
{
    int code = fault("posix_fallocate", fd);

    return code >= 0 ? code : REAL("posix_fallocate", int (*)(int, off_t, off_t))(fd, at, len);
}

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *mem, size_t len);

static int n_allocs;
static size_t least_alloc;

int io_nomem(int n, size_t least)
{
    least_alloc = least;
    return __atomic_exchange_n(&n_allocs, n, __ATOMIC_SEQ_CST);
}

static int is_nomem(size_t len)
{
    if (__atomic_load_n(&n_allocs, __ATOMIC_SEQ_CST) == 0 || len < least_alloc)
        return 0;
    errno = ENOMEM;
    return __atomic_sub_fetch(&n_allocs, 1, __ATOMIC_SEQ_CST) == 0;
}

void *malloc(size_t len)
{
    return is_nomem(len) ? NULL : __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
    return is_nomem(n * len) ? NULL : __libc_calloc(n, len);
}

void *realloc(void *mem, size_t len)
{
    return is_nomem(len) ? NULL : __libc_realloc(mem, len);
}

int fsync(int fd)
{
    FAULT("fsync", fd, 0);
    return REAL("fsync", int (*)(int))(fd);
}

int ftruncate(int fd, off_t len)
{
    FAULT("ftruncate", fd, 0);
    return REAL("ftruncate", int (*)(int, off_t))(fd, len);
}

int close(int fd)
{
    int code = fault("close", fd), ret = REAL("close", int (*)(int))(fd);

    if (code <= 0)
        return ret;
    errno = code;
    return -1;
}
