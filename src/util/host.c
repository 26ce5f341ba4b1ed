/*
 * Facts about this host: its name, the cores we may use, shared memory.
 *
 * A core quota of a container counts like missing cores: a process that spins
 * beyond it is stopped by the scheduler in the middle of what it is doing.
 */
#include "util/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/err.h"

#define PATH_LEN     512
#define HOST_LEN     256
#define CPUS_PER_TRY 1024
#define CPUS_LIMIT   (1 << 20)

static struct {
    pthread_once_t once;
    char name[HOST_LEN];
} host = {.once = PTHREAD_ONCE_INIT};

static void host_read_name(void)
{
    if (gethostname(host.name, sizeof(host.name) - 1) != 0 || host.name[0] == '\0')
        snprintf(host.name, sizeof(host.name), "localhost");
}

const char *dm_host_name(void)
{
    pthread_once(&host.once, host_read_name);
    return host.name;
}

/* Number of CPUs in our affinity mask, at least 1. */
static int host_affinity_cores(void)
{
    for (int n = CPUS_PER_TRY; n <= CPUS_LIMIT; n *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        size_t len = CPU_ALLOC_SIZE((size_t)n);
        int count = 0;
        int rc;

        if (set == NULL)
            break;
        rc = sched_getaffinity(0, len, set);
        if (rc == 0)
            count = CPU_COUNT_S(len, set);
        CPU_FREE(set);
        if (rc == 0 && count > 0)
            return count;
        if (errno != EINVAL)
            break;
    }
    return 1;
}

bool dm_host_is_core_for_all(const char *loadavg)
{
    char text[128];
    int fd = open(loadavg, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    long running;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return sscanf(text, "%*s %*s %*s %ld/", &running) == 1 && running > 0 &&
           running <= sysconf(_SC_NPROCESSORS_ONLN);
}

/* Reads up to two numbers from a file; "max" reads as -1. Returns how many. */
static int host_read_numbers(const char *path, long long num[2])
{
    char text[2][32];
    FILE *f = fopen(path, "re");
    int n;

    if (f == NULL)
        return 0;
    n = fscanf(f, "%31s %31s", text[0], text[1]);
    fclose(f);
    for (int i = 0; i < n; i++)
        num[i] = strcmp(text[i], "max") == 0 ? -1 : strtoll(text[i], NULL, 10);
    return n < 0 ? 0 : n;
}

/* Cores that one group directory allows, 0 when it sets no limit. */
static int host_group_cores(const char *dir)
{
    char path[PATH_LEN + 32];
    long long num[2] = {-1, 0};
    long long period[2];

    snprintf(path, sizeof(path), "%s/cpu.max", dir);
    if (host_read_numbers(path, num) < 2) {
        snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", dir);
        if (host_read_numbers(path, num) < 1)
            return 0;
        snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
        if (host_read_numbers(path, period) < 1)
            return 0;
        num[1] = period[0];
    }
    if (num[0] <= 0 || num[1] <= 0)
        return 0;
    return num[0] < num[1] ? 1 : (int)(num[0] / num[1]);
}

/* The tightest limit from base/group up to base, 0 when there is none. */
static int host_tree_cores(const char *base, const char *group)
{
    char dir[PATH_LEN];
    size_t base_len = strlen(base);
    int least = 0;

    if (snprintf(dir, sizeof(dir), "%s%s", base, group) >= (int)sizeof(dir))
        return 0;
    for (;;) {
        int cores = host_group_cores(dir);
        char *slash;

        if (cores > 0 && (least == 0 || cores < least))
            least = cores;
        slash = strrchr(dir, '/');
        if (slash == NULL || slash < dir + base_len)
            return least;
        *slash = '\0';
    }
}

/* Whether a list like "cpu,cpuacct" holds the controller cpu. */
static int host_has_cpu(const char *list)
{
    while (*list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == 3 && strncmp(list, "cpu", 3) == 0)
            return 1;
        list += len + (list[len] == ',');
    }
    return 0;
}

int dm_host_quota(const char *groups_file, const char *root)
{
    char line[PATH_LEN];
    char base[PATH_LEN];
    FILE *f = fopen(groups_file, "re");
    int least = 0;

    if (f == NULL)
        return 0;
    /* Lines: "id:controllers:/group"; version 2 has id 0 and no controllers. */
    while (fgets(line, sizeof(line), f) != NULL) {
        char *list = strchr(line, ':');
        char *group = list != NULL ? strchr(list + 1, ':') : NULL;
        int cores;

        if (group == NULL)
            continue;
        *list++ = '\0';
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (*list == '\0')
            snprintf(base, sizeof(base), "%s", root);
        else if (host_has_cpu(list))
            snprintf(base, sizeof(base), "%s/%s", root, list);
        else
            continue;
        cores = host_tree_cores(base, group);
        if (cores > 0 && (least == 0 || cores < least))
            least = cores;
    }
    fclose(f);
    return least;
}

int dm_host_cores(void)
{
    int cores = host_affinity_cores();
    int quota = dm_host_quota("/proc/self/cgroup", "/sys/fs/cgroup");

    return quota > 0 && quota < cores ? quota : cores;
}

/* True when an rlimit is below len; *limit_p is then the limit. */
static int host_is_over_limit(int resource, size_t len, unsigned long long *limit_p)
{
    struct rlimit lim;

    if (getrlimit(resource, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY || lim.rlim_cur >= len)
        return 0;
    *limit_p = (unsigned long long)lim.rlim_cur;
    return 1;
}

static int host_open_memfd(const char *name, size_t len, int *fd_p)
{
    unsigned long long limit;
    int fd;

    /* Growing a file over this limit would kill us with SIGXFSZ. */
    if (host_is_over_limit(RLIMIT_FSIZE, len, &limit))
        return DM_FAIL(DM_ESYS,
                       "shared memory '%s' of %zu bytes is over the file size limit of %llu "
                       "bytes: raise it with ulimit -f",
                       name, len, limit);
    fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return DM_FAIL(DM_ESYS, "shared memory '%s': %s: raise the limit with ulimit -n", name,
                       strerror(errno));
    if (fd < 0)
        return DM_FAIL(DM_ESYS,
                       "shared memory '%s': memfd_create was refused (%s): the kernel or the "
                       "container's seccomp profile must allow it",
                       name, strerror(errno));
    if (ftruncate(fd, (off_t)len) != 0) {
        int saved = errno;

        close(fd);
        return DM_FAIL(DM_ENOMEM, "shared memory '%s' of %zu bytes: %s", name, len,
                       strerror(saved));
    }
    *fd_p = fd;
    return DM_OK;
}

int dm_host_shm_alloc(const char *name, size_t len, void **ptr_p, int *fd_p)
{
    unsigned long long limit;
    void *ptr;
    int fd = -1;
    int err = host_open_memfd(name, len, &fd);

    if (err != DM_OK)
        return err;
    ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ptr == MAP_FAILED) {
        int saved = errno;
        struct rlimit lim;

        close(fd);
        limit = 0;
        if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY)
            limit = (unsigned long long)lim.rlim_cur;
        if (limit != 0)
            return DM_FAIL(DM_ENOMEM,
                           "mapping shared memory '%s' of %zu bytes: %s: the address space is "
                           "limited to %llu bytes, raise it with ulimit -v",
                           name, len, strerror(saved), limit);
        return DM_FAIL(DM_ENOMEM, "mapping shared memory '%s' of %zu bytes: %s", name, len,
                       strerror(saved));
    }
    *ptr_p = ptr;
    *fd_p = fd;
    return DM_OK;
}

/* Does nobody get a memory file here, however small? */
static bool host_refuses_memfd(void)
{
    int fd = memfd_create("datum-probe", MFD_CLOEXEC);

    if (fd < 0)
        return errno != EMFILE && errno != ENFILE && errno != ENOMEM;
    close(fd);
    return false;
}

int dm_host_mem_alloc(const char *name, size_t len, void **ptr_p, int *fd_p)
{
    int err = dm_host_shm_alloc(name, len, ptr_p, fd_p);
    void *ptr;

    if (err != DM_ESYS || !host_refuses_memfd())
        return err;
    ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ptr == MAP_FAILED)
        return DM_FAIL(DM_ENOMEM, "memory '%s' of %zu bytes: %s", name, len, strerror(errno));
    *ptr_p = ptr;
    *fd_p = -1;
    return DM_OK;
}

int dm_host_shm_open(int pid, int fd, uint64_t dev, uint64_t ino, size_t len, void **ptr_p)
{
    char path[64];
    struct stat st;
    void *ptr;
    int mine;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    mine = open(path, O_RDWR | O_CLOEXEC);
    if (mine < 0)
        return DM_FAIL(DM_ESYS, "%s cannot be opened: %s", path, strerror(errno));
    if (fstat(mine, &st) != 0 || st.st_dev != dev || st.st_ino != ino ||
        (uint64_t)st.st_size < len) {
        close(mine);
        return DM_FAIL(DM_ESYS, "%s is another file: are the processes in different containers?",
                       path);
    }
    ptr = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, mine, 0);
    close(mine);
    if (ptr == MAP_FAILED)
        return DM_FAIL(DM_ENOMEM, "mapping %zu bytes of %s: %s", len, path, strerror(errno));
    *ptr_p = ptr;
    return DM_OK;
}

void dm_host_shm_drop(void *at, size_t len)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)at, end = start + len;
    uintptr_t low = (start + page - 1) / page * page, high = end / page * page;

    if (low >= high || madvise((void *)low, high - low, MADV_REMOVE) != 0)
        low = high = end;
    memset(at, 0, low - start);
    memset((void *)high, 0, end - high);
}

/* process_vm_readv or process_vm_writev of all of it. */
static int host_vm_copy(int pid, uint64_t addr, char *here, size_t len, bool is_write)
{
    while (len > 0) {
        struct iovec mine = {.iov_base = here, .iov_len = len};
        struct iovec other = {.iov_base = (void *)(uintptr_t)addr, .iov_len = len};
        ssize_t n = is_write ? process_vm_writev(pid, &mine, 1, &other, 1, 0)
                             : process_vm_readv(pid, &mine, 1, &other, 1, 0);

        if (n <= 0)
            return DM_FAIL(DM_ESYS, "memory of process %d cannot be %s: %s", pid,
                           is_write ? "written" : "read",
                           n < 0 ? strerror(errno) : "it ended early");
        here += n;
        addr += (uint64_t)n;
        len -= (size_t)n;
    }
    return DM_OK;
}

int dm_host_vm_read(int pid, uint64_t addr, void *dst, size_t len)
{
    return host_vm_copy(pid, addr, dst, len, false);
}

int dm_host_vm_write(int pid, uint64_t addr, const void *src, size_t len)
{
    return host_vm_copy(pid, addr, (char *)(uintptr_t)src, len, true);
}

void dm_host_shm_free(void *ptr, size_t len, int fd)
{
    munmap(ptr, len);
    if (fd >= 0)
        close(fd);
}

bool dm_host_may_lock(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    return syscall(SYS_capget, &head, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

void dm_host_want_files(size_t n)
{
    DIR *dir = opendir("/proc/self/fd");
    struct rlimit lim;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    if (getrlimit(RLIMIT_NOFILE, &lim) != 0 || lim.rlim_cur >= n)
        return;
    lim.rlim_cur = lim.rlim_max < n ? lim.rlim_max : n;
    (void)setrlimit(RLIMIT_NOFILE, &lim);
}
