/*
 * Facts about this host and process.
 */
#ifndef DM_UTIL_HOST_H
#define DM_UTIL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Host name as gethostname gives it; static storage. */
const char *dm_host_name(void);
/* Cores this process may use: the affinity mask cut by the cgroup's CPU quota, at least 1. */
int dm_host_cores(void);
/*
 * No more processes and threads run, or are ready to, than this host has cores, by a file of the form of /proc/loadavg.
 * False where it does not say.
 */
bool dm_host_is_core_for_all(const char *loadavg);
/* May this process lock memory beyond RLIMIT_MEMLOCK (CAP_IPC_LOCK)? */
bool dm_host_may_lock(void);
/*
 * The part of dm_host_cores that reads control groups: whole cores that the
 * groups in groups_file (form of /proc/self/cgroup) allow under root
 * (/sys/fs/cgroup), versions 1 and 2; 0 when they set no limit.
 */
int dm_host_quota(const char *groups_file, const char *root);
/*
 * An anonymous shared memory file (memfd, close-on-exec) of len bytes, mapped
 * read-write at *ptr_p; its pages are allocated on first touch. DM_ENOMEM or
 * DM_ESYS with the reason and the remedy.
 */
int dm_host_shm_alloc(const char *name, size_t len, void **ptr_p, int *fd_p);
/* Like it for who can do without the file: where memfd is refused, private memory and *fd_p is -1. */
int dm_host_mem_alloc(const char *name, size_t len, void **ptr_p, int *fd_p);
/*
 * Map the first len bytes of another process' file, its descriptor fd, when it is the one with
 * that device and inode number. DM_ESYS: not allowed, not this host, not that file.
 */
int dm_host_shm_open(int pid, int fd, uint64_t dev, uint64_t ino, size_t len, void **ptr_p);
/*
 * Copy len bytes at addr in another process of this host to dst. DM_ESYS: not allowed (the
 * container, the user), no such process, no such memory.
 */
int dm_host_vm_read(int pid, uint64_t addr, void *dst, size_t len);
/* The other way; whoever may read may write. */
int dm_host_vm_write(int pid, uint64_t addr, const void *src, size_t len);
/* Make memory of such a file zeros: its whole pages are given back, unless the system refuses that. */
void dm_host_shm_drop(void *at, size_t len);
/* Unmap and close what dm_host_shm_alloc or dm_host_mem_alloc made. */
void dm_host_shm_free(void *ptr, size_t len, int fd);
/*
 * Have room for n more file descriptors, where the hard limit allows: the soft limit is raised as
 * far as that needs, and not at all when there is room.
 */
void dm_host_want_files(size_t n);

#endif
