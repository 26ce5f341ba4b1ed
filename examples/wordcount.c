/*
 * Count the words of text files with a hash table that is spread over all processes.
 *
 * Each process reads its share of the bytes and counts its own words. Then all of
 * them add their counts to one table, whose slots lie in a window on every process:
 *
 *   where   which process has the text of this slot's word in its pool, and where; 0: free
 *   count   how often the word occurs, a sum to which everybody adds
 *   length  of the word
 *
 * The texts stay with the process that came first, in a second window, the pool. A word looks for
 * its slot in rounds; in each, fences separate four steps, so that all see the same state:
 *
 *   1. MPI_Get         whose is the slot?
 *   2. MPI_Accumulate  free: ask for it; MPI_MAX decides between several who ask
 *   3. MPI_Get         who has got it, and then: is the text there mine?
 *   4. MPI_Accumulate  yes: add the count. No: look at the next slot in the next round.
 *
 * In the end process 0 reads the whole table with MPI_Get and prints it. Only MPI-2 is needed.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH     4096 /* words of a process that look for their slots in one round */
#define RANK_UNIT (1L << 40)

struct slot {
    long where; /* (rank + 1) * RANK_UNIT + offset in that rank's pool */
    long count;
    long length;
};
enum { WHERE, COUNT, LENGTH, SLOT_LONGS };

/* A word of this process: its text is in the pool, with a zero byte behind it. */
struct word {
    unsigned long hash;
    long offset;
    long length;
    long count;
    long tries;
};

static int rank, size;
static struct word *words;
static long n_words, words_cap;
static long *index_of; /* local hash table: number of a word plus 1 */
static long index_cap;
static char *pool;
static long pool_len, pool_cap;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "wordcount: %s%s%s\n", what, name[0] != '\0' ? ": " : "", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *grown(void *old, long n, size_t one)
{
    void *new = realloc(old, (size_t)n * one);

    if (new == NULL)
        die("out of memory", "");
    return new;
}

/* ---- the words of this process ---- */

static unsigned long hash_of(const char *text, long length)
{
    unsigned long hash = 14695981039346656037UL;

    for (long i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211UL;
    hash ^= hash >> 32;
    return hash * 0x9e3779b97f4a7c15UL;
}

static void grow_index(void)
{
    index_cap = index_cap == 0 ? 1024 : 2 * index_cap;
    index_of = grown(index_of, index_cap, sizeof(*index_of));
    memset(index_of, 0, (size_t)index_cap * sizeof(*index_of));
    for (long i = 0; i < n_words; i++) {
        unsigned long at = words[i].hash >> 20;

        while (index_of[at % (unsigned long)index_cap] != 0)
            at++;
        index_of[at % (unsigned long)index_cap] = i + 1;
    }
}

/* A word ends: its letters are at pool + pool_len. Known words leave no text behind. */
static void count_word(long length)
{
    const char *text = pool + pool_len;
    unsigned long hash = hash_of(text, length);
    unsigned long at = hash >> 20;
    struct word *word;
    long i;

    if (2 * n_words >= index_cap)
        grow_index();
    while ((i = index_of[at % (unsigned long)index_cap]) != 0) {
        word = &words[i - 1];
        if (word->hash == hash && word->length == length &&
            memcmp(pool + word->offset, text, (size_t)length) == 0) {
            word->count++;
            return;
        }
        at++;
    }
    if (n_words == words_cap) {
        words_cap = words_cap == 0 ? 1024 : 2 * words_cap;
        words = grown(words, words_cap, sizeof(*words));
    }
    words[n_words] = (struct word){hash, pool_len, length, 1, 0};
    index_of[at % (unsigned long)index_cap] = ++n_words;
    pool[pool_len + length] = '\0';
    pool_len += length + 1;
}

/* 0: no letter, otherwise the letter in lower case. */
static int letter(int c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 'a';
    return c >= 'a' && c <= 'z' ? c : 0;
}

/* The words that begin in bytes [from, to) of a file; the last one may end later. */
static void read_file(const char *name, long from, long to)
{
    FILE *file = fopen(name, "rb");
    long length = 0;
    int is_skipping = 0; /* the rest of a word that began before */
    int c;

    if (file == NULL || fseek(file, from > 0 ? from - 1 : 0, SEEK_SET) != 0)
        die("cannot read", name);
    if (from > 0)
        is_skipping = letter(getc(file)) != 0;
    for (long at = from; (c = getc(file)) != EOF; at++) {
        int low = letter(c);

        if (low != 0 && length == 0 && at >= to)
            break;
        if (low == 0 && length > 0) {
            count_word(length);
            length = 0;
        }
        is_skipping = is_skipping && low != 0;
        if (low == 0 || is_skipping) {
            if (at >= to)
                break;
            continue;
        }
        if (length == INT_MAX - 1)
            die("a word is too long", name);
        if (pool_len + length + 2 > pool_cap) {
            pool_cap = pool_cap == 0 ? 1 << 16 : 2 * pool_cap;
            pool = grown(pool, pool_cap, 1);
        }
        pool[pool_len + length++] = (char)low;
    }
    if (length > 0)
        count_word(length);
    if (ferror(file))
        die("cannot read", name);
    fclose(file);
}

/* All files as one sequence of bytes, cut into equal parts; process 0 says how long they are. */
static long read_share(int n_files, char **names)
{
    long *sizes = grown(NULL, n_files, sizeof(*sizes));
    long total = 0;
    long start = 0;
    int n_bad = 0;

    if (rank == 0) {
        for (int i = 0; i < n_files; i++) {
            struct stat st;
            FILE *file = fopen(names[i], "rb");

            sizes[i] = 0;
            if (file == NULL || fstat(fileno(file), &st) != 0) {
                fprintf(stderr, "wordcount: cannot open %s\n", names[i]);
                n_bad++;
            } else if (!S_ISREG(st.st_mode)) {
                fprintf(stderr, "wordcount: %s is not a regular file\n", names[i]);
                n_bad++;
            } else {
                sizes[i] = (long)st.st_size;
            }
            if (file != NULL)
                fclose(file);
        }
    }
    MPI_Bcast(&n_bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (n_bad > 0) {
        free(sizes);
        return -1;
    }
    MPI_Bcast(sizes, n_files, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n_files; i++)
        total += sizes[i];
    for (int i = 0; i < n_files; start += sizes[i++]) {
        long from = total / size * rank + total % size * rank / size - start;
        long to = total / size * (rank + 1) + total % size * (rank + 1) / size - start;

        if (from < 0)
            from = 0;
        if (to > sizes[i])
            to = sizes[i];
        if (from < to)
            read_file(names[i], from, to);
    }
    free(sizes);
    return total;
}

/* ---- the table of all processes ---- */

struct table {
    struct slot *slots; /* this process's part */
    long n_slots;       /* in all parts together, a power of two */
    long longest;       /* letters of the longest word */
    MPI_Win slot_win;
    MPI_Win pool_win;
    char *shared_pool; /* the pool in memory for windows */
};

static void open_table(struct table *table)
{
    long mine[2] = {n_words, 0};
    long sum = 0;
    long n_local;

    for (long i = 0; i < n_words; i++)
        if (words[i].length > mine[1])
            mine[1] = words[i].length;
    MPI_Allreduce(&mine[0], &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &table->longest, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    /* At most half full, since words that several processes have are counted more than once. */
    for (table->n_slots = 1024; table->n_slots < 2 * sum; table->n_slots *= 2)
        ;
    n_local = (table->n_slots + size - 1) / size;
    MPI_Alloc_mem((MPI_Aint)(n_local * (long)sizeof(struct slot)), MPI_INFO_NULL, &table->slots);
    memset(table->slots, 0, (size_t)n_local * sizeof(struct slot));
    /* Whoever compares a text reads as many bytes as its own word has: let them be there. */
    MPI_Alloc_mem((MPI_Aint)(pool_len + table->longest + 1), MPI_INFO_NULL, &table->shared_pool);
    memset(table->shared_pool, 0, (size_t)(pool_len + table->longest + 1));
    if (pool_len > 0)
        memcpy(table->shared_pool, pool, (size_t)pool_len);
    MPI_Win_create(table->slots, (MPI_Aint)(n_local * (long)sizeof(struct slot)), sizeof(long),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &table->slot_win);
    MPI_Win_create(table->shared_pool, (MPI_Aint)(pool_len + table->longest + 1), 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &table->pool_win);
}

static void close_table(struct table *table)
{
    MPI_Win_free(&table->slot_win);
    MPI_Win_free(&table->pool_win);
    MPI_Free_mem(table->slots);
    MPI_Free_mem(table->shared_pool);
}

/* The slot a word tries now. The step is odd, so that it comes to all slots in the end. */
static long slot_of(const struct table *table, const struct word *word)
{
    unsigned long step = word->hash >> 7 | 1;

    return (long)((word->hash + (unsigned long)word->tries * step) &
                  (unsigned long)(table->n_slots - 1));
}

/* One field of a slot, to or from *value. */
static void get_field(struct table *table, long slot, int field, long *value)
{
    MPI_Get(value, 1, MPI_LONG, (int)(slot % size), (MPI_Aint)(slot / size * SLOT_LONGS + field), 1,
            MPI_LONG, table->slot_win);
}
static void add_field(struct table *table, long slot, int field, long *value, MPI_Op op)
{
    MPI_Accumulate(value, 1, MPI_LONG, (int)(slot % size),
                   (MPI_Aint)(slot / size * SLOT_LONGS + field), 1, MPI_LONG, op, table->slot_win);
}

static long my_place(const struct word *word)
{
    return (rank + 1) * RANK_UNIT + word->offset;
}

/* One round for n words of the list. All processes call it, those without words too. */
static void try_words(struct table *table, struct word **list, long n, char *text, int *is_done)
{
    static long owner[BATCH], wish[BATCH];
    static int is_wanted[BATCH];
    char *at = text;

    MPI_Win_fence(0, table->slot_win);
    for (long i = 0; i < n; i++)
        get_field(table, slot_of(table, list[i]), WHERE, &owner[i]);
    MPI_Win_fence(0, table->slot_win);
    for (long i = 0; i < n; i++) {
        wish[i] = my_place(list[i]);
        is_wanted[i] = owner[i] == 0;
        if (is_wanted[i])
            add_field(table, slot_of(table, list[i]), WHERE, &wish[i], MPI_MAX);
    }
    MPI_Win_fence(0, table->slot_win);
    for (long i = 0; i < n; i++)
        if (is_wanted[i])
            get_field(table, slot_of(table, list[i]), WHERE, &owner[i]);
    MPI_Win_fence(0, table->slot_win);

    MPI_Win_fence(0, table->pool_win);
    for (long i = 0; i < n; i++) {
        int bytes = (int)list[i]->length + 1;

        MPI_Get(at, bytes, MPI_CHAR, (int)(owner[i] / RANK_UNIT - 1),
                (MPI_Aint)(owner[i] % RANK_UNIT), bytes, MPI_CHAR, table->pool_win);
        at += bytes;
    }
    MPI_Win_fence(0, table->pool_win);
    at = text;
    for (long i = 0; i < n; i++) {
        long slot = slot_of(table, list[i]);

        is_done[i] = memcmp(at, pool + list[i]->offset, (size_t)list[i]->length + 1) == 0;
        at += list[i]->length + 1;
        if (!is_done[i]) {
            list[i]->tries++;
            continue;
        }
        add_field(table, slot, COUNT, &list[i]->count, MPI_SUM);
        if (owner[i] == wish[i])
            add_field(table, slot, LENGTH, &list[i]->length, MPI_SUM);
    }
    MPI_Win_fence(0, table->slot_win);
}

/* Returns the number of rounds. */
static long fill_table(struct table *table)
{
    struct word **waiting = grown(NULL, n_words + 1, sizeof(struct word *));
    static int is_done[BATCH];
    char *text = NULL;
    long text_cap = 0;
    long n_waiting = n_words;
    long n_rounds = 0;
    long most;

    for (long i = 0; i < n_words; i++)
        waiting[i] = &words[n_words - 1 - i];
    for (;; n_rounds++) {
        long n = n_waiting < BATCH ? n_waiting : BATCH;
        struct word **list = waiting + n_waiting - n;
        long bytes = 1;
        long n_kept = 0;

        MPI_Allreduce(&n_waiting, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
        if (most == 0)
            break;
        for (long i = 0; i < n; i++)
            bytes += list[i]->length + 1;
        if (bytes > text_cap)
            text = grown(text, text_cap = bytes, 1);
        try_words(table, list, n, text, is_done);
        for (long i = 0; i < n; i++)
            if (!is_done[i])
                list[n_kept++] = list[i];
        n_waiting += n_kept - n;
    }
    free(waiting);
    free(text);
    return n_rounds;
}

/* ---- the result, on process 0 ---- */

struct result {
    long count;
    char *text;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct result *)a)->text, ((const struct result *)b)->text);
}
static int by_count(const void *a, const void *b)
{
    const struct result *x = a;
    const struct result *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->text, y->text);
}

/*
 * Read all slots in blocks, then the texts of each block. Fences are for all processes, so
 * all come along; only process 0 gets anything.
 */
static struct result *read_table(struct table *table, long *n_p)
{
    struct slot *block = grown(NULL, BATCH, sizeof(*block));
    struct result *results = NULL;
    long n_local = (table->n_slots + size - 1) / size;
    long cap = 0;
    long n = 0;

    for (long at = 0, n_block; at < n_local * size; at += n_block) {
        int owner = (int)(at / n_local);
        long first = at % n_local;

        n_block = n_local - first < BATCH ? n_local - first : BATCH;
        MPI_Win_fence(0, table->slot_win);
        if (rank == 0)
            MPI_Get(block, (int)n_block * SLOT_LONGS, MPI_LONG, owner,
                    (MPI_Aint)(first * SLOT_LONGS), (int)n_block * SLOT_LONGS, MPI_LONG,
                    table->slot_win);
        MPI_Win_fence(0, table->slot_win);
        MPI_Win_fence(0, table->pool_win);
        for (long i = 0; rank == 0 && i < n_block; i++) {
            const struct slot *s = &block[i];
            int bytes = (int)s->length + 1;

            if (s->where == 0)
                continue;
            if (n == cap)
                results = grown(results, cap = cap == 0 ? 1024 : 2 * cap, sizeof(*results));
            results[n] = (struct result){s->count, grown(NULL, bytes, 1)};
            MPI_Get(results[n++].text, bytes, MPI_CHAR, (int)(s->where / RANK_UNIT - 1),
                    (MPI_Aint)(s->where % RANK_UNIT), bytes, MPI_CHAR, table->pool_win);
        }
        MPI_Win_fence(0, table->pool_win);
    }
    free(block);
    *n_p = n;
    return results;
}

/* 0, or 1 when the file could not be written. */
static int write_results(struct result *results, long n, const char *name, long n_top)
{
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    int is_bad = name != NULL && file == NULL;

    if (n > 0)
        qsort(results, (size_t)n, sizeof(*results), by_text);
    for (long i = 0; file != NULL && i < n; i++)
        fprintf(file, "%ld %s\n", results[i].count, results[i].text);
    if (file != NULL) {
        is_bad = ferror(file);
        is_bad |= fclose(file) != 0;
    }
    if (is_bad)
        fprintf(stderr, "wordcount: cannot write %s\n", name);
    if (n > 0)
        qsort(results, (size_t)n, sizeof(*results), by_count);
    for (long i = 0; i < n && i < n_top; i++)
        printf("%7ld %s\n", results[i].count, results[i].text);
    for (long i = 0; i < n; i++)
        free(results[i].text);
    free(results);
    return is_bad;
}

static int count_files(int n_files, char **names, const char *table_name, long n_top,
                       int is_verbose)
{
    double start = MPI_Wtime();
    double filled;
    long total = read_share(n_files, names);
    struct result *results;
    struct table table;
    long n_results, n_rounds;
    int is_bad = 0;

    if (total < 0)
        return 1;
    open_table(&table);
    n_rounds = fill_table(&table);
    filled = MPI_Wtime();
    results = read_table(&table, &n_results);
    if (rank == 0)
        is_bad = write_results(results, n_results, table_name, n_top);
    if (rank == 0 && is_verbose)
        printf("%d files, %ld bytes, %ld words; %d processes, %ld slots, %ld rounds; "
               "%.3f s to count, %.3f s to read back\n",
               n_files, total, n_results, size, table.n_slots, n_rounds, filled - start,
               MPI_Wtime() - filled);
    close_table(&table);
    MPI_Bcast(&is_bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return is_bad;
}

static int usage(void)
{
    if (rank == 0)
        fprintf(stderr, "Usage: wordcount [-o TABLE] [-t TOP] [-v] FILE...\n"
                        "Counts words, which are runs of the letters A-Z and a-z, in files.\n"
                        "  -o TABLE  write all words with their counts to this file, sorted\n"
                        "  -t TOP    print this many of the most frequent words (default 10)\n"
                        "  -v        print how much work it was\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *table_name = NULL;
    long n_top = 10;
    int is_verbose = 0;
    int status = 0;
    char *end;
    int c;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    opterr = rank == 0;
    while (status == 0 && (c = getopt(argc, argv, "o:t:v")) != -1) {
        if (c == 'o') {
            table_name = optarg;
        } else if (c == 't') {
            n_top = strtol(optarg, &end, 10);
            if (*optarg == '\0' || *end != '\0' || n_top < 0)
                status = usage();
        } else if (c == 'v') {
            is_verbose = 1;
        } else {
            status = usage();
        }
    }
    if (status == 0 && optind == argc)
        status = usage();
    if (status == 0)
        status = count_files(argc - optind, argv + optind, table_name, n_top, is_verbose);
    free(words);
    free(index_of);
    free(pool);
    MPI_Finalize();
    return status;
}
