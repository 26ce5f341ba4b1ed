/* test: layers=util,dapl_adapt timeout=60 */
/*
 * Pending bits: writers put records into rings and set their bits, a reader looks only at rings whose bits it
 * has taken and at that of the hot one, now this and now that, who sets no bits, and sleeps when there are none.
 * No record stays unread, and nobody sleeps beside one: else this does not end.
 */
#include "dapl_adapt/core/pending.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "test.h"

enum { N_WRITERS = 3, N_WORDS = 2, N_SLOTS = 4, N_RECORDS = 60000, HOT_LOOKS = 50 };

struct ring {
    uint32_t number;
    bool waits; /* until a record is read, before the next one */
    uint64_t data[N_SLOTS];
    _Atomic uint64_t trailers[N_SLOTS];
    _Atomic uint64_t n_read;
    uint64_t n_wakes, n_hot;
    pthread_t thread;
};

static struct ring rings[N_WRITERS] = {
    {.number = 3, .waits = true}, {.number = 64, .waits = true}, {.number = 127}};
static struct dm_pending_row *row;
static struct ring *hot; /* or NULL */
static sem_t doorbell;

static void *writer(void *arg)
{
    struct ring *ring = arg;

    for (uint64_t n = 0; n < N_RECORDS; n++) {
        while (n - atomic_load(&ring->n_read) >= (ring->waits ? 1 : N_SLOTS))
            sched_yield();
        ring->data[n % N_SLOTS] = 3 * n;
        atomic_store_explicit(&ring->trailers[n % N_SLOTS], n + 1, memory_order_release);
        if (dm_pending_is_hot(row, ring->number))
            ring->n_hot++;
        else
            dm_pending_set(row, ring->number);
        if (dm_pending_wakes(row)) {
            ring->n_wakes++;
            CHECK(sem_post(&doorbell) == 0);
        }
    }
    return NULL;
}

static struct ring *find_ring(uint32_t number)
{
    for (int i = 0; i < N_WRITERS; i++)
        if (rings[i].number == number)
            return &rings[i];
    CHECK(!"a bit that nobody sets");
    return NULL;
}

/* All that is there. */
static uint64_t read_ring(struct ring *ring)
{
    uint64_t n = atomic_load_explicit(&ring->n_read, memory_order_relaxed), first = n;

    for (; atomic_load_explicit(&ring->trailers[n % N_SLOTS], memory_order_acquire) == n + 1; n++) {
        CHECK_EQ(ring->data[n % N_SLOTS], 3 * n);
        atomic_store(&ring->n_read, n + 1);
    }
    return n - first;
}

static bool has_any(const struct ring *ring)
{
    uint64_t n = atomic_load_explicit(&ring->n_read, memory_order_relaxed);

    return atomic_load_explicit(&ring->trailers[n % N_SLOTS], memory_order_acquire) == n + 1;
}

/* Each writer in turn, and nobody. */
static uint64_t change_hot(void)
{
    struct ring *before = hot;

    if (hot == NULL)
        hot = &rings[0];
    else
        hot = hot == &rings[N_WRITERS - 1] ? NULL : hot + 1;
    dm_pending_heat(row, hot != NULL ? (uint64_t)hot->number + 1 : 0);
    return before != NULL ? read_ring(before) : 0;
}

static uint64_t look(void)
{
    static uint64_t n_looks;
    uint64_t n = hot != NULL ? read_ring(hot) : 0;

    if (++n_looks % HOT_LOOKS == 0)
        n += change_hot();
    for (uint32_t word = 0; word < N_WORDS; word++)
        for (uint64_t bits = dm_pending_take(row, word); bits != 0; bits &= bits - 1)
            n += read_ring(find_ring(word * DM_PENDING_WORD + (uint32_t)__builtin_ctzll(bits)));
    return n;
}

static void test_threads(void)
{
    uint64_t n = 0, n_sleeps = 0, n_wakes = 0;

    for (int i = 0; i < N_WRITERS; i++)
        CHECK(pthread_create(&rings[i].thread, NULL, writer, &rings[i]) == 0);
    while (n < (uint64_t)N_WRITERS * N_RECORDS) {
        uint64_t found = look();

        n += found;
        if (found > 0)
            continue;
        atomic_store(&row->is_asleep, 1);
        atomic_thread_fence(memory_order_seq_cst);
        if (dm_pending_is_empty(row, N_WORDS) && (hot == NULL || !has_any(hot))) {
            n_sleeps++;
            CHECK(sem_wait(&doorbell) == 0);
        } else if (atomic_exchange(&row->is_asleep, 0) == 0) {
            CHECK(sem_wait(&doorbell) == 0); /* somebody has it already */
        }
    }
    for (int i = 0; i < N_WRITERS; i++) {
        CHECK(pthread_join(rings[i].thread, NULL) == 0);
        n_wakes += rings[i].n_wakes;
        CHECK_EQ(atomic_load(&rings[i].n_read), N_RECORDS);
    }
    CHECK(n_wakes >= n_sleeps); /* each by one */
    CHECK(n_sleeps > 0);
    CHECK(rings[0].n_hot + rings[1].n_hot + rings[2].n_hot > 0);
}

static void test_words(void)
{
    CHECK(dm_pending_is_empty(row, N_WORDS));
    dm_pending_set(row, 65);
    dm_pending_set(row, 65);
    CHECK(!dm_pending_is_empty(row, N_WORDS));
    CHECK(!dm_pending_wakes(row));
    CHECK_EQ(dm_pending_take(row, 0), 0);
    CHECK_EQ(dm_pending_take(row, 1), 2);
    CHECK_EQ(dm_pending_take(row, 1), 0);
    atomic_store(&row->is_asleep, 1);
    CHECK(dm_pending_wakes(row));
    CHECK(!dm_pending_wakes(row));
    CHECK(!dm_pending_is_hot(row, 0));
    dm_pending_heat(row, 65 + 1);
    CHECK(dm_pending_is_hot(row, 65));
    CHECK(!dm_pending_is_hot(row, 0) && !dm_pending_is_hot(row, 66));
    dm_pending_heat(row, 0);
    CHECK(!dm_pending_is_hot(row, 65));
}

int main(void)
{
    row = calloc(1, sizeof(*row) + N_WORDS * sizeof(row->bits[0]));
    CHECK(row != NULL);
    CHECK(sem_init(&doorbell, 0, 0) == 0);
    test_words();
    test_threads();
    free(row);
    return test_result();
}
