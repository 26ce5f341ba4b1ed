/* test: layers=util timeout=60 */
/* The arena: who inherits it finds it, parts do not overlap, names and notes are found by others; what is
 * no arena, or too small, is none. It takes a part of a limited address space at most, and no memory from who
 * locks all that it maps. */
#include "util/arena.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { N_THREADS = 4, N_TAKES = 200, LEN = 8192 };

static struct dm_arena arena;

static void *take(void *arg)
{
    uint64_t *at = arg;

    for (int i = 0; i < N_TAKES; i++)
        at[i] = dm_arena_take(&arena, LEN, 4096);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void test_parts(void)
{
    static uint64_t at[N_THREADS * N_TAKES];
    pthread_t thread[N_THREADS];

    for (int i = 0; i < N_THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, take, &at[i * N_TAKES]) == 0);
    for (int i = 0; i < N_THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    qsort(at, N_THREADS * N_TAKES, sizeof(at[0]), compare);
    CHECK(at[0] >= sizeof(struct dm_arena_head));
    for (int i = 0; i < N_THREADS * N_TAKES; i++) {
        CHECK_EQ(at[i] % 4096, 0);
        CHECK(i == 0 || at[i] >= at[i - 1] + LEN);
    }
    CHECK_EQ(dm_arena_take(&arena, arena.size, 4096), 0); /* not so many are left */
    CHECK(dm_arena_take(&arena, LEN, 4096) > at[N_THREADS * N_TAKES - 1]);
}

static void test_names(void)
{
    const uint64_t name = UINT64_C(0x1234000000000007), mask = UINT64_C(0xffff) << 48;
    uint64_t at = dm_arena_take(&arena, LEN, 4096), found;
    struct dm_arena_part *part = dm_arena_name(&arena, name, at, LEN);
    size_t len;

    CHECK(part != NULL);
    CHECK(dm_arena_find(arena.head, arena.size, name, UINT64_MAX, 0, &found, &len));
    CHECK_EQ(found, at);
    CHECK_EQ(len, LEN);
    CHECK(dm_arena_find(arena.head, arena.size, name & mask, mask, getpid(), &found, &len));
    CHECK(!dm_arena_find(arena.head, arena.size, name & mask, mask, getpid() + 1, &found, &len));
    CHECK(!dm_arena_find(arena.head, arena.size, name + 1, UINT64_MAX, 0, &found, &len));
    part->len = arena.size; /* nonsense of somebody else */
    CHECK(!dm_arena_find(arena.head, arena.size, name, UINT64_MAX, 0, &found, &len));
    dm_arena_unname(part);
    CHECK(!dm_arena_find(arena.head, arena.size, name, UINT64_MAX, 0, &found, &len));
    for (int i = 0; dm_arena_name(&arena, 1, at, LEN) != NULL; i++)
        CHECK(i < DM_ARENA_PARTS);
}

static void test_notes(void)
{
    char buf[32] = "";
    char *text = malloc(DM_ARENA_TEXT);

    CHECK(!dm_arena_get(&arena, 5, buf, sizeof(buf)));
    dm_arena_put(&arena, 5, "five");
    dm_arena_put(&arena, 6, "six");
    CHECK(dm_arena_get(&arena, 5, buf, sizeof(buf)));
    CHECK_STR(buf, "five");
    dm_arena_put(&arena, 5, "five again");
    CHECK(dm_arena_get(&arena, 5, buf, sizeof(buf)));
    CHECK_STR(buf, "five again");
    CHECK(!dm_arena_get(&arena, 5, buf, 10)); /* with its end it is longer */
    CHECK(dm_arena_get(&arena, 5, buf, 11));
    memset(text, 'x', DM_ARENA_TEXT - 1);
    text[DM_ARENA_TEXT - 1] = '\0';
    dm_arena_put(&arena, 6, text); /* no space: then it is not there, nor what was */
    CHECK(!dm_arena_get(&arena, 6, buf, sizeof(buf)));
    CHECK(dm_arena_get(&arena, 5, buf, sizeof(buf)));
    free(text);
}

/* One for each process that it was made for; each note has a number of its own. */
static void test_rows(void)
{
    char *rows[2] = {dm_arena_row(&arena, 0), dm_arena_row(&arena, 1)};
    uint32_t a, b;

    CHECK(rows[0] != NULL && rows[1] != NULL);
    CHECK_EQ((uintptr_t)rows[0] % 64, 0);
    CHECK(rows[1] >= rows[0] + 2 * sizeof(uint64_t));
    CHECK_EQ((uintptr_t)rows[1] % 64, 0);
    CHECK(rows[1] + 64 <= (char *)(arena.head + 1));
    CHECK(dm_arena_row(&arena, 2) == NULL);
    dm_arena_put(&arena, 70, "a");
    dm_arena_put(&arena, 71, "b");
    CHECK(dm_arena_number(&arena, 70, &a));
    CHECK(dm_arena_number(&arena, 71, &b));
    CHECK(a != b);
    CHECK(!dm_arena_number(&arena, 72, &a));
    arena.head->n = UINT64_MAX; /* nonsense of somebody else */
    CHECK(dm_arena_row(&arena, 1) == NULL);
    arena.head->n = 2;
}

/* The slots of one length of all boxes are the whole of a table, each once; those with the same number side by side. */
static void check_slots(uint32_t from, uint32_t n, size_t len)
{
    static bool seen[2 * DM_ARENA_SLOTS];
    char *first = dm_arena_slot(&arena, 0, from);

    memset(seen, 0, sizeof(seen));
    CHECK_EQ((uintptr_t)first % 64, 0);
    CHECK((char *)dm_arena_slot(&arena, 1, from) == first + len);
    CHECK((char *)dm_arena_slot(&arena, 0, from + 1) == first + 2 * len);
    CHECK((char *)dm_arena_slot(&arena, 0, from + n - 1) ==
          (char *)dm_arena_slot(&arena, 0, from + n - 2) + len);
    for (uint32_t number = 0; number < 2; number++)
        for (uint32_t i = from; i < from + n; i++) {
            char *slot = dm_arena_slot(&arena, number, i);
            size_t at = (size_t)(slot - first) / len;

            CHECK(slot == first + at * len);
            CHECK(at < 2 * (size_t)n && !seen[at]);
            seen[at] = true;
            CHECK_EQ(dm_arena_slot_number(&arena, number, slot), i);
        }
}

/* Side by side; slots behind them, in front of all that is taken. */
static void test_boxes(void)
{
    char *boxes[2] = {dm_arena_box(&arena, 0), dm_arena_box(&arena, 1)};

    CHECK(boxes[0] >= (char *)(arena.head + 1));
    CHECK(boxes[1] == boxes[0] + DM_ARENA_BOX_LEN);
    CHECK(dm_arena_box(&arena, 2) == NULL);
    CHECK((char *)dm_arena_slot(&arena, 0, 0) >= boxes[1] + DM_ARENA_BOX_LEN);
    check_slots(0, DM_ARENA_SHORT_SLOTS, DM_ARENA_SHORT_LEN);
    CHECK((char *)dm_arena_slot(&arena, 0, DM_ARENA_SHORT_SLOTS) >=
          (char *)dm_arena_slot(&arena, 1, DM_ARENA_SHORT_SLOTS - 1) + DM_ARENA_SHORT_LEN);
    check_slots(DM_ARENA_SHORT_SLOTS, DM_ARENA_LONG_SLOTS, DM_ARENA_LONG_LEN);
    CHECK((char *)arena.head + dm_arena_take(&arena, 1, 1) >=
          (char *)dm_arena_slot(&arena, 1, DM_ARENA_SLOTS - 1) + DM_ARENA_LONG_LEN);
    arena.head->n = UINT64_MAX; /* nonsense of somebody else */
    CHECK(dm_arena_box(&arena, 1) == NULL);
    arena.head->n = 2;
}

static bool is_there(int fd, uint64_t at)
{
    char c = 0;

    CHECK(pread(fd, &c, 1, (off_t)at) == 1);
    return c != 0;
}

/* The last one that closes an arena gives its memory back, but not what is taken later. */
static void test_last(void)
{
    struct dm_arena one, two;
    char text[64], *old = strdup(getenv(DM_ARENA_ENV)), c = 'x';
    int fd = dm_arena_make(17, text, sizeof(text)), status;
    uint64_t at, later;
    pid_t pid;

    CHECK(fd >= 0);
    CHECK(setenv(DM_ARENA_ENV, text, 1) == 0);
    CHECK(dm_arena_open(&one, false));
    CHECK(dm_arena_is_large(&one));
    CHECK(dm_arena_open(&two, false));
    at = dm_arena_take(&one, LEN, 4096);
    CHECK(pwrite(fd, &c, 1, (off_t)at) == 1);
    pid = fork();
    if (pid == 0) { /* it has not opened it */
        dm_arena_close(&one);
        dm_arena_close(&two);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    dm_arena_close(&one);
    CHECK(is_there(fd, at));
    later = dm_arena_take(&two, LEN, 4096);
    CHECK(later > at);
    CHECK(pwrite(fd, &c, 1, (off_t)later) == 1);
    dm_arena_close(&two);
    CHECK(!is_there(fd, at));
    CHECK(!is_there(fd, later));
    CHECK(dm_arena_open(&one, false)); /* its head is still good */
    CHECK(dm_arena_take(&one, LEN, 4096) > later);
    dm_arena_close(&one);
    close(fd);
    CHECK(setenv(DM_ARENA_ENV, old, 1) == 0);
    free(old);
}

/* In another process, which has not inherited the mapping. */
static void test_inherited(void)
{
    struct dm_arena mine;
    char buf[32];
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        dm_arena_close(&arena);
        _exit(dm_arena_open(&mine, true) && dm_arena_get(&mine, 5, buf, sizeof(buf)) &&
                      strcmp(buf, "five again") == 0
                  ? 0
                  : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
}

/* In another process, which has limits: is it opened? */
static bool is_opened_with(size_t space)
{
    const struct rlimit lim = {.rlim_cur = space, .rlim_max = space};
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        dm_arena_close(&arena);
        CHECK(setrlimit(RLIMIT_AS, &lim) == 0);
        _exit(dm_arena_open(&arena, true));
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

static size_t mapped_now(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long n_pages = 0;

    CHECK(f != NULL && fscanf(f, "%lu", &n_pages) == 1);
    fclose(f);
    return n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void test_limited(void)
{
    if (mapped_now() > 5 * arena.size)
        return; /* a sanitizer has more than any limit allows */
    CHECK(is_opened_with(5 * arena.size));
    CHECK(!is_opened_with(3 * arena.size));
}

/* Where that is allowed. */
static void test_locked(int fd)
{
    struct stat before, after;
    pid_t pid;
    int status;

    CHECK(fstat(fd, &before) == 0);
    pid = fork();
    if (pid == 0) {
        dm_arena_close(&arena);
        if (mlockall(MCL_FUTURE) == 0)
            (void)dm_arena_open(&arena, true);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK(fstat(fd, &after) == 0);
    CHECK(after.st_blocks < before.st_blocks + (off_t)(arena.size / 512 / 100));
}

/* Another file under that number, and a file that is none. */
static void test_others(int fd)
{
    struct dm_arena other;
    int plain = memfd_create("plain", MFD_CLOEXEC);

    CHECK(setenv(DM_ARENA_ENV, "nonsense", 1) == 0);
    CHECK(!dm_arena_open(&other, false));
    CHECK(setenv(DM_ARENA_ENV, "9999:1:1", 1) == 0);
    CHECK(!dm_arena_open(&other, false));
    CHECK(dup2(plain, fd) == fd);
    CHECK(!dm_arena_open(&other, false));
    close(plain);
}

int main(void)
{
    struct dm_arena none;
    char text[64];
    int fd;

    CHECK(unsetenv(DM_ARENA_ENV) == 0);
    CHECK(!dm_arena_open(&none, true));
    fd = dm_arena_make(2, text, sizeof(text));
    CHECK(fd >= 0);
    CHECK(fcntl(fd, F_SETFD, 0) == 0);
    CHECK(setenv(DM_ARENA_ENV, text, 1) == 0);
    CHECK(dm_arena_open(&arena, true));
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    test_parts();
    test_names();
    CHECK(!dm_arena_is_large(&arena));
    test_last();
    test_rows();
    test_boxes();
    test_notes();
    test_inherited();
    test_limited();
    test_locked(fd);
    dm_arena_close(&arena);
    test_others(fd);
    return test_result();
}
