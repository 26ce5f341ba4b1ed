/* test: layers=util timeout=10 */
/* Core quotas of control groups, and shared memory with its limits. */
#include "util/host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "util/err.h"

static char root[] = "/tmp/datum-util-host-XXXXXX";

static void make_dir(const char *path)
{
    char full[512];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    if (mkdir(full, 0700) != 0)
        abort();
}

static const char *make_file(const char *path, const char *text)
{
    static char full[512];
    FILE *f;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    f = fopen(full, "w");
    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
        abort();
    return full;
}

static int quota(const char *groups)
{
    return dm_host_quota(make_file("groups", groups), root);
}

static void cores_for_all(void)
{
    CHECK(dm_host_is_core_for_all(make_file("load", "0.46 2.28 2.78 1/80 2510\n")));
    CHECK(!dm_host_is_core_for_all(make_file("load", "0.46 2.28 2.78 1000000/1000080 2510\n")));
    CHECK(!dm_host_is_core_for_all(make_file("load", "0.46 2.28 2.78 0/80 2510\n")));
    CHECK(!dm_host_is_core_for_all(make_file("load", "/80\n")));
    CHECK(!dm_host_is_core_for_all(make_file("load", "1 2 3\n")));
    CHECK(!dm_host_is_core_for_all(make_file("load", "")));
    CHECK(!dm_host_is_core_for_all("/no/such"));
}

static void version_2(void)
{
    make_dir("a");
    make_dir("a/b");
    CHECK_EQ(quota("0::/a/b\n"), 0);
    make_file("a/b/cpu.max", "max 100000\n");
    CHECK_EQ(quota("0::/a/b\n"), 0);
    make_file("a/b/cpu.max", "350000 100000\n");
    CHECK_EQ(quota("0::/a/b\n"), 3);
    /* An outer group may be tighter. */
    make_file("a/cpu.max", "200000 100000\n");
    CHECK_EQ(quota("0::/a/b\n"), 2);
    make_file("a/cpu.max", "50000 100000\n");
    CHECK_EQ(quota("0::/a/b\n"), 1);
    CHECK_EQ(quota("0::/a\n"), 1);
    CHECK_EQ(quota("0::/\n"), 0);
    /* In a container the group may not be visible, its root is what counts. */
    make_file("cpu.max", "400000 100000\n");
    CHECK_EQ(quota("0::/no/such/group\n"), 4);
    make_file("cpu.max", "garbage\n");
    CHECK_EQ(quota("0::/no/such/group\n"), 0);
}

static void version_1(void)
{
    make_dir("cpu,cpuacct");
    make_dir("cpu,cpuacct/g");
    make_file("cpu,cpuacct/g/cpu.cfs_quota_us", "-1\n");
    make_file("cpu,cpuacct/g/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(quota("4:memory:/m\n3:cpu,cpuacct:/g\n0::/\n"), 0);
    make_file("cpu,cpuacct/g/cpu.cfs_quota_us", "600000\n");
    CHECK_EQ(quota("4:memory:/m\n3:cpu,cpuacct:/g\n0::/\n"), 6);
    CHECK_EQ(quota("4:cpuset:/g\n"), 0);
    CHECK_EQ(quota("nonsense\n\n:\n::\n"), 0);
    CHECK_EQ(dm_host_quota("/nonexistent", root), 0);
}

static void this_host(void)
{
    CHECK(dm_host_name()[0] != '\0');
    CHECK(dm_host_cores() >= 1);
    CHECK(dm_host_cores() <= sysconf(_SC_NPROCESSORS_CONF));
}

static void memory_is_shared_and_private(void)
{
    void *ptr = NULL;
    int fd = -1;

    CHECK_EQ(dm_host_shm_alloc("test", 100000, &ptr, &fd), DM_OK);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK_EQ(((char *)ptr)[99999], 0);
    if (fork() == 0) {
        ((char *)ptr)[99999] = 7;
        _exit(0);
    }
    wait(NULL);
    CHECK_EQ(((char *)ptr)[99999], 7);
    dm_host_shm_free(ptr, 100000, fd);
    CHECK_EQ(fcntl(fd, F_GETFD), -1);
}

/* By its process and descriptor, and only the very file. */
static void memory_of_another(void)
{
    void *ptr = NULL, *view = NULL;
    struct stat st;
    int fd = -1, status = 1;

    CHECK_EQ(dm_host_shm_alloc("test", 100000, &ptr, &fd), DM_OK);
    CHECK_EQ(fstat(fd, &st), 0);
    strcpy(ptr, "theirs");
    if (fork() == 0) {
        bool ok = dm_host_shm_open(getppid(), fd, st.st_dev, st.st_ino, 100000, &view) == DM_OK &&
                  strcmp(view, "theirs") == 0;

        if (ok)
            strcpy((char *)view + 99990, "mine");
        _exit(!ok);
    }
    wait(&status);
    CHECK_EQ(status, 0);
    CHECK_EQ(strcmp((char *)ptr + 99990, "mine"), 0);
    CHECK_EQ(dm_host_shm_open(getpid(), fd, st.st_dev, st.st_ino + 1, 100000, &view), DM_ESYS);
    CHECK_EQ(dm_host_shm_open(getpid(), fd, st.st_dev + 1, st.st_ino, 100000, &view), DM_ESYS);
    CHECK_EQ(dm_host_shm_open(getpid(), fd, st.st_dev, st.st_ino, 100001, &view), DM_ESYS);
    CHECK_EQ(dm_host_shm_open(getpid(), 9999, st.st_dev, st.st_ino, 100000, &view), DM_ESYS);
    dm_host_shm_free(ptr, 100000, fd);
}

/* In a child, since a limit cannot be taken back: what does allocating say? */
static void refused(int resource, rlim_t limit, int code, const char *text)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit lim = {limit, limit};
        void *ptr;
        int fd;

        setrlimit(resource, &lim);
        CHECK_EQ(dm_host_shm_alloc("big", (size_t)1 << 30, &ptr, &fd), code);
        CHECK(strstr(dm_err_detail(), text) != NULL);
        if (strstr(dm_err_detail(), text) == NULL)
            printf("%s\n", dm_err_detail());
        fflush(stdout);
        _exit(test_n_failed);
    }
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
}

/* In a child as well: raised as far as necessary, and not beyond the hard limit. */
static void more_files(void)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit lim = {100, 1000};

        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
        dm_host_want_files(10);
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        CHECK_EQ(lim.rlim_cur, 100);
        dm_host_want_files(300);
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        CHECK(lim.rlim_cur > 300 && lim.rlim_cur < 400);
        dm_host_want_files(5000);
        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &lim), 0);
        CHECK_EQ(lim.rlim_cur, 1000);
        fflush(stdout);
        _exit(test_n_failed);
    }
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
}

static long pages_mapped(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f == NULL || fscanf(f, "%ld", &pages) != 1)
        abort();
    fclose(f);
    return pages;
}

int main(void)
{
    char cmd[600];

    if (mkdtemp(root) == NULL)
        abort();
    cores_for_all();
    version_2();
    version_1();
    this_host();
    memory_is_shared_and_private();
    memory_of_another();
    refused(RLIMIT_FSIZE, 1 << 20, DM_ESYS, "ulimit -f");
    more_files();
    refused(RLIMIT_NOFILE, 3, DM_ESYS, "ulimit -n");
    /* Sanitizers reserve terabytes and cannot live under this limit. */
    if (pages_mapped() < (128 << 20) / sysconf(_SC_PAGESIZE))
        refused(RLIMIT_AS, 256 << 20, DM_ENOMEM, "ulimit -v");
    snprintf(cmd, sizeof(cmd), "rm -rf '%s'", root);
    CHECK_EQ(system(cmd), 0);
    return test_result();
}
