/*
 * The system calls of files.
 */
#include "io/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/err.h"

#define CALL_MAX ((size_t)1 << 30) /* one system call moves at most somewhat less than 2 GiB */

/* Which hosts have the data of a file, and whether they keep what they cache alike. */
enum disk_reach { DISK_LOCAL, DISK_COHERENT, DISK_REMOTE };

/* Names of file systems by the magic number of statfs(2). */
static const struct {
    unsigned long magic;
    const char *name;
    enum disk_reach reach;
} disk_kinds[] = {
    {0x01021994, "tmpfs", DISK_LOCAL},     {0x858458f6, "ramfs", DISK_LOCAL},
    {0xef53, "ext4", DISK_LOCAL},          {0x58465342, "xfs", DISK_LOCAL},
    {0x9123683e, "btrfs", DISK_LOCAL},     {0xf2f52010, "f2fs", DISK_LOCAL},
    {0x2fc12fc1, "zfs", DISK_LOCAL},       {0xca451a4e, "bcachefs", DISK_LOCAL},
    {0x3153464a, "jfs", DISK_LOCAL},       {0x52654973, "reiserfs", DISK_LOCAL},
    {0x4d44, "vfat", DISK_LOCAL},          {0x2011bab0, "exfat", DISK_LOCAL},
    {0x794c7630, "overlayfs", DISK_LOCAL}, {0x6969, "nfs", DISK_REMOTE},
    {0x0bd00bd0, "lustre", DISK_COHERENT}, {0x65735546, "fuse", DISK_REMOTE},
    {0xff534d42, "cifs", DISK_REMOTE},     {0xfe534d42, "smb2", DISK_REMOTE},
    {0x47504653, "gpfs", DISK_COHERENT},   {0x00c36400, "ceph", DISK_COHERENT},
    {0x19830326, "beegfs", DISK_REMOTE},   {0x01021997, "9p", DISK_REMOTE},
    {0x20030528, "orangefs", DISK_REMOTE},
};

static const char *disk_kind(unsigned long magic, enum disk_reach *reach_p)
{
    for (size_t i = 0; i < sizeof(disk_kinds) / sizeof(disk_kinds[0]); i++) {
        if (disk_kinds[i].magic == (magic & 0xffffffff)) {
            *reach_p = disk_kinds[i].reach;
            return disk_kinds[i].name;
        }
    }
    *reach_p = DISK_REMOTE;
    return "other";
}

const char *dm_disk_path(const char *name)
{
    static const char *const prefixes[] = {
        "ufs:",  "nfs:",  "xfs:",    "lustre:", "panfs:",  "pvfs2:",
        "gpfs:", "daos:", "testfs:", "ime:",    "zoidfs:", "quobyte:"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return name;
}

const char *dm_disk_fs_of(const char *path, bool *is_local_p)
{
    char dir[4096], *slash;
    enum disk_reach reach;
    struct statfs fs;
    const char *name;

    snprintf(dir, sizeof(dir), "%s", path);
    if (statfs(dir, &fs) != 0) {
        slash = strrchr(dir, '/');
        if (slash == NULL)
            snprintf(dir, sizeof(dir), ".");
        else
            slash[slash == dir] = '\0';
        if (statfs(dir, &fs) != 0) {
            *is_local_p = false;
            return "unknown";
        }
    }
    name = disk_kind((unsigned long)fs.f_type, &reach);
    *is_local_p = reach == DISK_LOCAL;
    return name;
}

static int disk_err_of(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ESTALE:
        return DM_ERR_NO_SUCH_FILE;
    case EEXIST:
        return DM_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
        return DM_ERR_ACCESS;
    case EROFS:
        return DM_ERR_READ_ONLY;
    case ENOSPC:
        return DM_ERR_NO_SPACE;
    case EDQUOT:
        return DM_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY:
        return DM_ERR_FILE_IN_USE;
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return DM_ERR_BAD_FILE;
    case ENOMEM:
        return DM_ENOMEM;
    default:
        return DM_ERR_IO;
    }
}

int dm_disk_fail(const char *path, const char *what, int64_t offset, int errnum)
{
    char reason[128];

    if (offset < 0)
        return DM_FAIL(disk_err_of(errnum), "%s \"%s\": %s", what, path,
                       strerror_r(errnum, reason, sizeof(reason)));
    return DM_FAIL(disk_err_of(errnum), "%s \"%s\" at offset %lld: %s", what, path,
                   (long long)offset, strerror_r(errnum, reason, sizeof(reason)));
}

/* Another descriptor of the file, with these flags; it looks at the server. */
static int disk_reopen(const struct dm_disk *disk, int flags)
{
    char name[64];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", disk->fd);
    return open(name, flags | O_CLOEXEC);
}

/*
 * A client of NFS may write a whole page where the program has written a part of it, with what it takes
 * the rest to be: what another host has written there is lost. Linux does not do so while a part of the
 * file is locked. So a byte that no file has is; where locks do not work, writes wait for the server.
 */
void dm_disk_keep_to_ranges(struct dm_disk *disk)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = INT64_MAX - 1, .l_len = 1};
    int access = fcntl(disk->fd, F_GETFL) & O_ACCMODE, fd;

    if (strcmp(disk->fs, "nfs") != 0 || access == O_RDONLY)
        return;
    disk->is_exact = access == O_RDWR && fcntl(disk->fd, F_OFD_SETLK, &lock) == 0;
    if (disk->is_exact)
        return;
    fd = disk_reopen(disk, access | O_DSYNC);
    if (fd < 0)
        return;
    close(disk->fd);
    disk->fd = fd;
}

bool dm_disk_is_memory(const char *fs)
{
    return strcmp(fs, "tmpfs") == 0 || strcmp(fs, "ramfs") == 0;
}

int dm_disk_open(struct dm_disk *disk, const char *path, int flags)
{
    enum disk_reach reach = DISK_REMOTE;
    struct statfs fs;
    struct stat st;
    bool can_map;

    memset(disk, 0, sizeof(*disk));
    disk->fd = -1;
    disk->path = strdup(path);
    if (disk->path == NULL)
        return DM_FAIL(DM_ENOMEM, "name of a file");
    do {
        disk->fd = open(path, flags | O_CLOEXEC, 0666);
    } while (disk->fd < 0 && errno == EINTR);
    if (disk->fd < 0)
        return dm_disk_fail(path, "opening", -1, errno);
    if (fstat(disk->fd, &st) != 0)
        return dm_disk_fail(path, "opening", -1, errno);
    if (S_ISDIR(st.st_mode))
        return dm_disk_fail(path, "opening", -1, EISDIR);
    disk->dev = (uint64_t)st.st_dev;
    disk->ino = (uint64_t)st.st_ino;
    disk->fs = "unknown";
    if (fstatfs(disk->fd, &fs) == 0)
        disk->fs = disk_kind((unsigned long)fs.f_type, &reach);
    disk->is_local = reach == DISK_LOCAL;
    disk->is_coherent = reach != DISK_REMOTE;
    disk->is_memory = dm_disk_is_memory(disk->fs);
    can_map = disk->is_local && S_ISREG(st.st_mode);
    disk->can_map = can_map && (flags & O_ACCMODE) == O_RDWR;
    disk->can_map_read = can_map && !disk->is_memory && (flags & O_ACCMODE) != O_WRONLY;
    return DM_OK;
}

int dm_disk_close(struct dm_disk *disk)
{
    int fd = disk->fd;

    disk->fd = -1;
    /* Linux has closed it also when it says that it was interrupted. */
    if (fd >= 0 && close(fd) != 0 && errno != EINTR)
        return dm_disk_fail(disk->path, "closing", -1, errno);
    return DM_OK;
}

int dm_disk_unlink(const char *path)
{
    return unlink(path) == 0 ? DM_OK : dm_disk_fail(path, "deleting", -1, errno);
}

int dm_disk_read(const struct dm_disk *disk, void *buf, size_t len, uint64_t offset, size_t *done_p)
{
    size_t done = 0;
    int err = DM_OK;

    while (done < len) {
        size_t want = len - done < CALL_MAX ? len - done : CALL_MAX;
        ssize_t n = pread(disk->fd, (char *)buf + done, want, (off_t)(offset + done));

        if (n == 0)
            break;
        if (n > 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            err = dm_disk_fail(disk->path, "reading", (int64_t)(offset + done), errno);
            break;
        }
    }
    *done_p = done;
    return err;
}

bool dm_disk_read_cached(const struct dm_disk *disk, void *buf, size_t len, uint64_t offset)
{
    struct iovec all = {.iov_base = buf, .iov_len = len};
    ssize_t n = disk->is_memory ? pread(disk->fd, buf, len, (off_t)offset)
                                : preadv2(disk->fd, &all, 1, (off_t)offset, RWF_NOWAIT);

    return n == (ssize_t)len;
}

/* What a call that writes has returned; adds to *done_p. False: an error, recorded in *err_p. */
static bool disk_wrote(const struct dm_disk *disk, ssize_t n, uint64_t offset, size_t *done_p,
                       int *err_p)
{
    if (n > 0) {
        *done_p += (size_t)n;
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    *err_p = dm_disk_fail(disk->path, "writing", (int64_t)offset, n == 0 ? EIO : errno);
    return false;
}

int dm_disk_write(const struct dm_disk *disk, const void *buf, size_t len, uint64_t offset,
                  size_t *done_p)
{
    size_t done = 0;
    int err = DM_OK;

    while (done < len) {
        size_t want = len - done < CALL_MAX ? len - done : CALL_MAX;
        ssize_t n = pwrite(disk->fd, (const char *)buf + done, want, (off_t)(offset + done));

        if (!disk_wrote(disk, n, offset + done, &done, &err))
            break;
    }
    *done_p = done;
    return err;
}

int dm_disk_write_near(const struct dm_disk *disk, const void *buf, size_t len, uint64_t offset,
                       size_t *done_p)
{
    struct iovec all = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    ssize_t n = disk->is_exact ? pwritev2(disk->fd, &all, 1, (off_t)offset, RWF_DSYNC) : -1;

    /* The rest, and what that call does not do, as usual. */
    if (n < 0 || (size_t)n < len) {
        size_t before = n > 0 ? (size_t)n : 0;
        int err =
            dm_disk_write(disk, (const char *)buf + before, len - before, offset + before, done_p);

        *done_p += before;
        return err;
    }
    *done_p = len;
    return DM_OK;
}

/* Leave out the first n bytes. */
static void disk_skip(struct iovec **iov, int *n_iov, size_t n)
{
    while (n > 0 && n >= (*iov)->iov_len) {
        n -= (*iov)->iov_len;
        (*iov)++;
        (*n_iov)--;
    }
    if (n > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + n;
        (*iov)->iov_len -= n;
    }
}

int dm_disk_readv(const struct dm_disk *disk, struct iovec *iov, int n, uint64_t offset,
                  size_t *done_p)
{
    *done_p = 0;
    while (n > 0) {
        ssize_t got = preadv(disk->fd, iov, n, (off_t)(offset + *done_p));

        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return dm_disk_fail(disk->path, "reading", (int64_t)(offset + *done_p), errno);
        *done_p += (size_t)got;
        disk_skip(&iov, &n, (size_t)got);
    }
    return DM_OK;
}

int dm_disk_writev(const struct dm_disk *disk, struct iovec *iov, int n, uint64_t offset,
                   size_t *done_p)
{
    int err = DM_OK;

    *done_p = 0;
    while (n > 0) {
        size_t before = *done_p;
        ssize_t put = pwritev(disk->fd, iov, n, (off_t)(offset + before));

        if (!disk_wrote(disk, put, offset + before, done_p, &err))
            break;
        disk_skip(&iov, &n, *done_p - before);
    }
    return err;
}

int dm_disk_size(const struct dm_disk *disk, uint64_t *size_p)
{
    struct stat st;

    if (fstat(disk->fd, &st) != 0)
        return dm_disk_fail(disk->path, "asking for the size of", -1, errno);
    *size_p = (uint64_t)st.st_size;
    if (S_ISBLK(st.st_mode)) {
        off_t end = lseek(disk->fd, 0, SEEK_END);

        *size_p = end > 0 ? (uint64_t)end : 0;
    }
    return DM_OK;
}

int dm_disk_truncate(const struct dm_disk *disk, uint64_t size)
{
    int ret;

    do {
        ret = ftruncate(disk->fd, (off_t)size);
    } while (ret != 0 && errno == EINTR);
    return ret == 0 ? DM_OK : dm_disk_fail(disk->path, "setting the size of", (int64_t)size, errno);
}

int dm_disk_allocate(const struct dm_disk *disk, uint64_t size)
{
    int errnum;

    if (size == 0)
        return DM_OK;
    do {
        errnum = posix_fallocate(disk->fd, 0, (off_t)size);
    } while (errnum == EINTR);
    return errnum == 0 ? DM_OK
                       : dm_disk_fail(disk->path, "reserving space for", (int64_t)size, errnum);
}

int dm_disk_write_out(const struct dm_disk *disk, uint64_t offset, uint64_t len)
{
    const unsigned int all =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    int ret;

    do {
        ret = sync_file_range(disk->fd, (off_t)offset, (off_t)len, all);
    } while (ret != 0 && errno == EINTR);
    /* Special files have nothing in this cache. */
    if (ret == 0 || errno == EINVAL || errno == ESPIPE)
        return DM_OK;
    return dm_disk_fail(disk->path, "writing out", (int64_t)offset, errno);
}

int dm_disk_sync(const struct dm_disk *disk)
{
    int ret;

    do {
        ret = fsync(disk->fd);
    } while (ret != 0 && errno == EINTR);
    /* There is nothing to be synchronized in a special file. */
    if (ret == 0 || errno == EINVAL || errno == EROFS)
        return DM_OK;
    return dm_disk_fail(disk->path, "synchronizing", -1, errno);
}

void dm_disk_refresh(const struct dm_disk *disk)
{
    int fd;

    if (disk->is_local)
        return;
    /* Length and so on are asked for when a file is opened; cached data may be taken for right then. */
    fd = disk_reopen(disk, O_RDONLY);
    if (fd >= 0)
        close(fd);
    (void)posix_fadvise(disk->fd, 0, 0, POSIX_FADV_DONTNEED);
}
