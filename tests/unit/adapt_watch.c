/*
 * The watch of memory, with the kernel's userfaultfd: what is unmapped, moved or given back is told before it
 * is relied on, by whatever thread; what cannot be watched is refused; a child and the end hold nobody up.
 * Where the kernel has no userfaultfd, that this is said.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dapl_adapt/provider/ranges.h"
#include "dapl_adapt/provider/watch.h"
#include "test.h"

#define PAGE  ((size_t)4096)
#define PAGES 64

static struct dm_watch *watch;

struct told {
    uintptr_t start, end;
    int n;
};

static void tell(void *arg, uintptr_t start, uintptr_t end)
{
    struct told *told = arg;

    told->n++;
    told->start = start;
    told->end = end;
}

/* One change of these pages, and they are not relied on any more. */
static void changed(const char *mem, size_t from, size_t to)
{
    struct told told = {0};

    CHECK(dm_watch_drain(watch, tell, &told));
    CHECK_EQ(told.n, 1);
    CHECK_EQ(told.start, (uintptr_t)(mem + from * PAGE));
    CHECK_EQ(told.end, (uintptr_t)(mem + to * PAGE));
    CHECK(!dm_watch_covers(watch, told.start, told.end));
    told.n = 0;
    CHECK(dm_watch_drain(watch, tell, &told)); /* told once */
    CHECK_EQ(told.n, 0);
}

static char *map(size_t n, int flags)
{
    char *mem = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    memset(mem, 1, n * PAGE);
    return mem;
}

static bool add(const char *mem, size_t from, size_t to)
{
    return dm_watch_add(watch, (uintptr_t)(mem + from * PAGE), (uintptr_t)(mem + to * PAGE));
}

static bool covers(const char *mem, size_t from, size_t to)
{
    return dm_watch_covers(watch, (uintptr_t)(mem + from * PAGE), (uintptr_t)(mem + to * PAGE));
}

static void changes(void)
{
    char *mem = map(PAGES, MAP_PRIVATE), *moved;
    struct told told = {0};

    CHECK(add(mem, 0, 40));
    CHECK(covers(mem, 3, 40));
    CHECK(!covers(mem, 3, 41));
    munmap(mem + 4 * PAGE, PAGE);
    changed(mem, 4, 5);
    CHECK(covers(mem, 0, 4));
    CHECK(covers(mem, 5, 40));
    CHECK(!add(mem, 3, 6)); /* a hole */
    CHECK(mmap(mem + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + 4 * PAGE);
    CHECK(!covers(mem, 4, 5)); /* nobody watches what has come there */
    CHECK(add(mem, 3, 6));
    CHECK(mmap(mem + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + 3 * PAGE);
    changed(mem, 3, 4);
    moved = mremap(mem + 8 * PAGE, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != mem + 8 * PAGE);
    CHECK(dm_watch_drain(watch, tell, &told));
    CHECK(told.n >= 2); /* from and to */
    CHECK(!covers(mem, 8, 9));
    CHECK(!covers(moved, 0, 1));
    CHECK(add(moved, 0, 8));
    munmap(moved, 8 * PAGE);
    changed(moved, 0, 8);
    madvise(mem + 20 * PAGE, 3 * PAGE, MADV_DONTNEED);
    changed(mem, 20, 23);
    CHECK(!add(mem, 22, 24)); /* given back: until it is unmapped */
    CHECK(add(mem, 23, 24));
    munmap(mem + 20 * PAGE, PAGE);
    changed(mem, 20, 21);
    munmap(mem + 50 * PAGE, PAGE); /* not watched, not told */
    told.n = 0;
    CHECK(dm_watch_drain(watch, tell, &told));
    CHECK_EQ(told.n, 0);
    munmap(mem, PAGES * PAGE);
    CHECK(dm_watch_drain(watch, tell, &told));
    CHECK(!covers(mem, 0, 1));
}

/* More than are noted, between two looks: no change is lost. */
static void many(void)
{
    enum { N = 3000 };
    char *mem = map(2 * N, MAP_PRIVATE);
    struct told told = {0};
    int n_covered = 0;

    CHECK(add(mem, 0, 2 * N));
    for (size_t i = 0; i < N; i++)
        CHECK_EQ(munmap(mem + 2 * i * PAGE, PAGE), 0);
    CHECK(dm_watch_drain(watch, tell, &told));
    CHECK(told.n > 100);
    for (size_t i = 0; i < N; i++)
        n_covered += covers(mem, 2 * i, 2 * i + 1);
    CHECK_EQ(n_covered, 0);
    munmap(mem, 2 * N * PAGE);
    CHECK(dm_watch_drain(watch, tell, &told));
}

static void refused(void)
{
    char *mem = map(4, MAP_SHARED), *both;
    int fd = memfd_create("watch", MFD_CLOEXEC);
    void *file;

    CHECK(!add(mem, 0, 4));
    CHECK_EQ(ftruncate(fd, 4 * (off_t)PAGE), 0);
    file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    memset(file, 1, 4 * PAGE);
    CHECK(!add(file, 0, 4)); /* who shortens the file takes the copies, too */
    both = map(4, MAP_PRIVATE);
    CHECK(mmap(both + 2 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
          both + 2 * PAGE);
    CHECK(!add(both, 0, 4));
    CHECK(add(both, 0, 2));
    munmap(mem, 4 * PAGE);
    munmap(file, 4 * PAGE);
    munmap(both, 4 * PAGE);
    close(fd);
}

static void *churn(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        char *mem = map(4, MAP_PRIVATE);

        (void)arg;
        munmap(mem, 4 * PAGE);
    }
    return NULL;
}

/*
 * Threads unmap and map, and the same addresses come again. Whatever this thread relies on after that
 * must be watched: it is told when it goes.
 */
static void threads(void)
{
    pthread_t thread[2];
    struct told told;

    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, churn, NULL);
    for (int i = 0; i < 2000; i++) {
        char *mem = map(4, MAP_PRIVATE);
        bool is_current = dm_watch_drain(watch, tell, &told);

        CHECK(is_current); /* nobody else's memory is watched */
        CHECK(!covers(mem, 0, 1));
        CHECK(add(mem, 0, 4));
        munmap(mem, 4 * PAGE);
        CHECK(dm_watch_drain(watch, tell, &told));
        CHECK(!covers(mem, 0, 1));
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

/* A child that stays does not keep the watch alive when its parent ends it, which would hold up every change. */
static void children(void)
{
    char *mem = map(4, MAP_PRIVATE), why[80];
    int go[2], status;
    pid_t child;
    char byte;

    CHECK(add(mem, 0, 4));
    CHECK_EQ(pipe(go), 0);
    child = fork();
    if (child == 0) {
        munmap(mem, PAGE);
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 0 ? 0 : 1);
    }
    CHECK(covers(mem, 0, 4));
    dm_watch_close(watch);
    munmap(mem, 4 * PAGE);
    close(go[1]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    close(go[0]);
    watch = dm_watch_open(why, sizeof(why));
    CHECK(watch != NULL);
}

/* Against a table of pages. */
static void ranges(void)
{
    struct dm_ranges set = {0};
    bool has[200] = {false};
    int n_wrong = 0;

    srand(1);
    for (int i = 0; i < 20000; i++) {
        uintptr_t from = (uintptr_t)(rand() % 190), to = from + 1 + (uintptr_t)(rand() % 9);
        bool is_in = rand() % 2 == 0, all = true, some = false;

        for (uintptr_t at = from; at < to; at++) {
            all = all && has[at];
            some = some || has[at];
            has[at] = is_in;
        }
        n_wrong +=
            dm_ranges_cover(&set, from, to) != all || dm_ranges_touch(&set, from, to) != some;
        CHECK(is_in ? dm_ranges_add(&set, from, to) : dm_ranges_cut(&set, from, to));
        for (size_t k = 1; k < set.n; k++)
            n_wrong += set.list[k - 1].end >= set.list[k].start;
    }
    CHECK_EQ(n_wrong, 0);
    dm_ranges_free(&set);
}

int main(void)
{
    char why[80];

    ranges();
    watch = dm_watch_open(why, sizeof(why));
    if (watch == NULL) {
        CHECK(strstr(why, "userfaultfd") != NULL);
        return test_result();
    }
    CHECK_STR(why, "");
    changes();
    many();
    refused();
    threads();
    children();
    dm_watch_close(watch);
    return test_result();
}
