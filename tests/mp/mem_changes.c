/* test: np=2 cfg=REG_CACHE=interval|exact|dme,RNDV=read|write,EAGER_LIMIT=4k timeout=120 */
/*
 * Memory that gets other pages between messages, and while others are under way: unmapped and mapped anew,
 * moved, given back, trimmed from the heap, shared with a child and with a file. Every message is
 * filled anew and looked at by the receiver, who also gives his own buffer other pages. MEM_CHANGES_ROUNDS says how
 * many (default 300), MEM_CHANGES_SEED which.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mp_test.h"

#define PAGES                                                                                      \
    48 /* of an area; the second half may change while messages from the first are under way */
#define WORDS    512
#define PAGE     ((size_t)4096)
#define MOST     20 /* pages of a message */
#define PER_LOOK 50

enum change {
    NONE,
    ANEW,
    OVER,
    MOVE_IN,
    MOVE_AWAY,
    GIVE_BACK,
    FREE,
    FORK,
    SHARE,
    FILL_FILE,
    CHANGES
};

static const char *const names[] = {"nothing",    "unmapped",   "mapped over", "moved in",
                                    "moved away", "given back", "free",        "fork",
                                    "shared",     "file"};

struct area {
    char *mem;
    int fd;          /* of a file as long */
    uint64_t random; /* of its changes */
    size_t at;       /* where the last message was */
    int is_lost;     /* the library has mapped something where a part was unmapped */
};

static struct area out, in;
static long n_changes[CHANGES];
static int last_change;
static size_t last_n; /* words of the last message from an area */

static unsigned draw(uint64_t *random, unsigned n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % n;
}

static void *map(void *at, size_t len, int fd, int flags, size_t offset)
{
    void *mem = mmap(at, len, PROT_READ | PROT_WRITE, flags | (at != NULL ? MAP_FIXED : 0), fd,
                     (off_t)offset);

    if (mem == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return mem;
}

static char *map_private(void *at, size_t len)
{
    return map(at, len, -1, MAP_PRIVATE | MAP_ANONYMOUS, 0);
}

/* Where nothing is mapped, unless another thread has been there. */
static void map_hole(struct area *area, char *mem, size_t len)
{
    void *got = mmap(mem, len, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    area->is_lost |= got != mem;
}

/* The pages of a file go by its descriptor: all of them, or just these. */
static void change_file(const struct area *area, char *mem, size_t len, int is_all)
{
    size_t offset = (size_t)(mem - area->mem);
    int is_ok;

    map(mem, len, area->fd, len / PAGE % 2 == 0 ? MAP_SHARED : MAP_PRIVATE, offset);
    memset(mem, 3, len);
    if (is_all)
        is_ok = ftruncate(area->fd, 0) == 0 && ftruncate(area->fd, (off_t)(PAGES * PAGE)) == 0;
    else
        is_ok = fallocate(area->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                          (off_t)len) == 0;
    CHECK(is_ok);
}

/* Children write to the pages, or take them from under a shared mapping, and end. */
static void change_in_child(char *mem, size_t len, int advice)
{
    pid_t child = fork();

    if (child == 0) {
        mem[0] = 1;
        mem[len - 1] = 1;
        if (advice >= 0)
            madvise(mem, len, advice);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void change(struct area *area, enum change how, char *mem, size_t len, int is_alone)
{
    char *other;

    switch (how) {
    case ANEW:
        munmap(mem, len);
        map_hole(area, mem, len);
        break;
    case OVER:
        map_private(mem, len);
        break;
    case MOVE_IN:
        other = map_private(NULL, len);
        memset(other, 7, len);
        CHECK(mremap(other, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, mem) == mem);
        break;
    case MOVE_AWAY: /* several mappings are not moved at a time */
        other = map_private(NULL, len);
        map_private(mem, len);
        CHECK(mremap(mem, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
        munmap(other, len);
        map_hole(area, mem, len);
        break;
    case GIVE_BACK:
        madvise(mem, len, MADV_DONTNEED);
        break;
    case FREE:
        madvise(mem, len, MADV_FREE);
        break;
    case FORK:
        change_in_child(mem, len, -1);
        break;
    case SHARE:
        map(mem, len, -1, MAP_SHARED | MAP_ANONYMOUS, 0);
        memset(mem, 5, len);
        change_in_child(mem, len, MADV_REMOVE);
        break;
    case FILL_FILE:
        change_file(area, mem, len, is_alone);
        break;
    default:
        break;
    }
}

/* A change of some pages from `from` on. */
static void change_some(struct area *area, unsigned from)
{
    unsigned first = from + draw(&area->random, PAGES - from);
    unsigned n = 1 + draw(&area->random, PAGES - first);
    enum change how = draw(&area->random, CHANGES);

    last_change = how;
    n_changes[how]++;
    change(area, how, area->mem + first * PAGE, n * PAGE, from == 0);
}

static void *change_beside(void *arg)
{
    change_some(arg, PAGES / 2);
    return NULL;
}

static uint64_t word(long round, int rank, size_t i)
{
    return ((uint64_t)round << 32 | (uint64_t)rank << 28) + i + 1;
}

static void fill(char *mem, size_t n, long round, int rank)
{
    uint64_t *words = (uint64_t *)(void *)mem;

    for (size_t i = 0; i < n; i++)
        words[i] = word(round, rank, i);
}

static void look(const char *mem, size_t n, long round, int rank)
{
    const uint64_t *words = (const uint64_t *)(const void *)mem;

    for (size_t i = 0; i < n; i++)
        if (words[i] != word(round, rank, i)) {
            if (mp_failures < 10)
                fprintf(stderr,
                        "round %ld: rank %d, word %zu of %zu: %llx; the last change was \"%s\"\n",
                        round, mp_rank, i, n, (unsigned long long)words[i], names[last_change]);
            mp_fail(__FILE__, __LINE__, "the bytes are those that were sent", 0, 0, 0);
            return;
        }
}

/* Where the message is: in the area, where the last one was perhaps, or in fresh memory of the heap. */
static char *place(struct area *area, int is_heap, int is_again, int is_first_half, size_t n)
{
    unsigned words = PAGES * WORDS / (is_first_half ? 2 : 1) - (unsigned)n;

    if (is_heap)
        return malloc(n * 8);
    if (!is_again)
        area->at = 8 * (size_t)draw(&area->random, words);
    return area->mem + area->at;
}

static void open_area(struct area *area)
{
    area->mem = map_private(NULL, PAGES * PAGE);
    area->fd = memfd_create("mem_changes", MFD_CLOEXEC);
    area->is_lost = 0;
    CHECK_EQ(ftruncate(area->fd, (off_t)(PAGES * PAGE)), 0);
}

/* One that was lost stays as it is. */
static void close_area(struct area *area)
{
    close(area->fd);
    if (!area->is_lost)
        munmap(area->mem, PAGES * PAGE);
}

/* Now and then all of it is private memory again, at the same place perhaps. */
static void mend_area(struct area *area)
{
    if (!area->is_lost && draw(&area->random, 8) > 0)
        return;
    close_area(area);
    open_area(area);
}

static void exchange(long round, uint64_t *common)
{
    size_t n = WORDS + draw(common, (MOST - 1) * WORDS);
    int is_heap = draw(common, 8) == 0, is_beside = draw(common, 4) == 0;
    int is_again = last_n > 0 && !is_heap && !is_beside && draw(common, 2) == 0, peer = mp_rank ^ 1;
    MPI_Request req[2];
    pthread_t thread;
    char *from, *to;

    if (!is_heap && draw(&out.random, 2) == 0)
        change_some(draw(&out.random, 2) == 0 ? &out : &in, 0);
    mend_area(&out);
    mend_area(&in);
    if (is_again)
        n = last_n;
    else if (!is_heap)
        last_n = n;
    from = place(&out, is_heap, is_again, is_beside, n);
    to = place(&in, is_heap, is_again, is_beside, n);
    fill(from, n, round, mp_rank);
    memset(to, 0xee, n * 8);
    if (is_beside)
        pthread_create(&thread, NULL, change_beside, round % 2 == 0 ? &out : &in);
    MPI_Irecv(to, (int)n, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &req[0]);
    MPI_Isend(from, (int)n, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &req[1]);
    MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
    if (is_beside)
        pthread_join(thread, NULL);
    look(to, n, round, peer);
    if (is_heap) {
        free(to);
        free(from); /* the heap is trimmed */
    }
}

static long number(const char *name, long other)
{
    const char *text = getenv(name);

    return text != NULL ? atol(text) : other;
}

int main(int argc, char **argv)
{
    long n_rounds = number("MEM_CHANGES_ROUNDS", 300), seed = number("MEM_CHANGES_SEED", 1);
    uint64_t common = (uint64_t)seed;

    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* from the heap, however long */
    mallopt(M_TRIM_THRESHOLD, 4096);
    mallopt(M_TOP_PAD, 0);
    mp_start(&argc, &argv);
    out.random = (uint64_t)(seed * 4 + mp_rank);
    in.random = out.random + 2;
    open_area(&out);
    open_area(&in);
    for (long round = 0; round < n_rounds; round++) {
        int all = 0;

        exchange(round, &common);
        if (round % PER_LOOK == PER_LOOK - 1) { /* all stop where one has failed */
            MPI_Allreduce(&mp_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            if (all > 0)
                break;
        }
    }
    for (int i = 0; i < CHANGES && n_rounds >= 300; i++)
        CHECK(n_changes[i] > 0);
    close_area(&out);
    close_area(&in);
    return mp_finish();
}
