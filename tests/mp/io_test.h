/*
 * What the tests of files share: names, and looking at files without MPI. Files are in the current
 * directory, which all hosts of a test see.
 */
#ifndef IO_TEST_H
#define IO_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "mp_test.h"

/* Is the directory a file server's, by NFS? */
static inline int io_is_nfs(void)
{
    struct statfs fs;

    return statfs(".", &fs) == 0 && fs.f_type == 0x6969;
}

static inline void io_open(const char *name, int amode, MPI_File *fh)
{
    MUST(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, fh));
}

/* A new empty file of all ranks. */
static inline void io_create(const char *name, MPI_File *fh)
{
    if (mp_rank == 0)
        unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    io_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, fh);
}

/* The same that goes when it is closed. */
static inline void io_scratch(const char *name, MPI_File *fh)
{
    if (mp_rank == 0)
        unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    io_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, fh);
}

/* Size of a file, -1: there is none. It is opened, since a network file system asks its server then. */
static inline long long io_size(const char *name)
{
    int fd = open(name, O_RDONLY);
    struct stat st;
    long long size = fd >= 0 && fstat(fd, &st) == 0 ? (long long)st.st_size : -1;

    if (fd >= 0)
        close(fd);
    return size;
}

/* Up to len bytes at an offset; how many. */
static inline long io_peek(const char *name, long long offset, void *buf, size_t len)
{
    int fd = open(name, O_RDONLY);
    long n = fd < 0 ? -1 : (long)pread(fd, buf, len, offset);

    if (fd >= 0)
        close(fd);
    return n;
}

static inline MPI_Count io_count(const MPI_Status *status, MPI_Datatype type)
{
    MPI_Count n;

    MPI_Type_size_x(type, &n);
    MPI_Get_elements_x(status, type, &n);
    return n;
}

#endif
