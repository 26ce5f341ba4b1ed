/*
 * A file as the operating system has it: a descriptor, its name for messages, what its file system
 * can do. Transfers are repeated after interruptions and short ones; errors say name, offset and
 * reason. Nothing here knows MPI; any thread may call.
 */
#ifndef DM_IO_DISK_H
#define DM_IO_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct dm_disk {
    int fd; /* -1: closed */
    char *path;
    const char *fs;    /* name of the kind of file system; static */
    bool is_local;     /* one that only processes of this host write, through one cache */
    bool is_coherent;  /* hosts see at once what others write */
    bool is_memory;    /* all of it: reading a hole takes a copy, and spares no wait */
    bool can_map;      /* for writing, too */
    bool can_map_read; /* in memory it takes longer than to read, and holes would get pages */
    bool is_exact;     /* NFS that writes no bytes but ours: a message for each range */
    uint64_t dev;
    uint64_t ino;
};

/* The part of a name behind a prefix that names a file system, as in "ufs:/tmp/x". */
const char *dm_disk_path(const char *name);
/* What kind of file system a path, or else its directory, is on. */
const char *dm_disk_fs_of(const char *path, bool *is_local_p);
/* Is a kind of file system one that has its files in memory only? */
bool dm_disk_is_memory(const char *fs);
/*
 * Open path with these flags of open(2). The error says name and reason; DM_ERR_NO_SUCH_FILE,
 * DM_ERR_ACCESS, ...
 */
int dm_disk_open(struct dm_disk *disk, const char *path, int flags);
/* Nothing is written but what the program writes, though other hosts may write to the same pages. */
void dm_disk_keep_to_ranges(struct dm_disk *disk);
/* Close it, if it is open; the path stays. */
int dm_disk_close(struct dm_disk *disk);
int dm_disk_unlink(const char *path);
/* The code of an errno, recorded with what was done ("writing"), name and offset (-1: none). */
int dm_disk_fail(const char *path, const char *what, int64_t offset, int errnum);

/* *done_p: bytes that were moved, also after an error; reading less than asked is the end. */
int dm_disk_read(const struct dm_disk *disk, void *buf, size_t len, uint64_t offset,
                 size_t *done_p);
/* Read all of it, or say that it would take a device, or is not there; a local file. */
bool dm_disk_read_cached(const struct dm_disk *disk, void *buf, size_t len, uint64_t offset);
int dm_disk_write(const struct dm_disk *disk, const void *buf, size_t len, uint64_t offset,
                  size_t *done_p);
/* Writing, where others of this process' ranges are in the same page. */
int dm_disk_write_near(const struct dm_disk *disk, const void *buf, size_t len, uint64_t offset,
                       size_t *done_p);
/* The same for n pieces of memory; iov is changed. n is at most DM_DISK_IOV. */
#define DM_DISK_IOV 1024
int dm_disk_readv(const struct dm_disk *disk, struct iovec *iov, int n, uint64_t offset,
                  size_t *done_p);
int dm_disk_writev(const struct dm_disk *disk, struct iovec *iov, int n, uint64_t offset,
                   size_t *done_p);
int dm_disk_size(const struct dm_disk *disk, uint64_t *size_p);
int dm_disk_truncate(const struct dm_disk *disk, uint64_t size);
/* Space for the first size bytes; the file is at least that long then. */
int dm_disk_allocate(const struct dm_disk *disk, uint64_t size);
/* What this host has in its cache of len bytes (0: to the end) goes to where other hosts can read it. */
int dm_disk_write_out(const struct dm_disk *disk, uint64_t offset, uint64_t len);
/* To the device. */
int dm_disk_sync(const struct dm_disk *disk);
/* Forget what this host may have cached of what other hosts wrote; what it wrote itself is synchronized. */
void dm_disk_refresh(const struct dm_disk *disk);

#endif
