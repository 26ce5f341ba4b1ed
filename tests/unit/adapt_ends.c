/* test: layers=util,dapl_adapt timeout=60 */
/*
 * Calls of a provider that end an endpoint: one that does not come back is left alone, and of its endpoint nothing
 * more is called; the others are waited for.
 */
#include <semaphore.h>
#include <stdatomic.h>

#include "dapl_adapt/provider/ep_end.h"

#include "test.h"

#define SOON UINT64_C(2000000)
#define LATE UINT64_C(20000000000)

static sem_t go_on, is_back;
static atomic_int n_calls;
static DAT_EP_HANDLE ep_of_call;

static DAT_RETURN comes_back(DAT_EP_HANDLE ep)
{
    ep_of_call = ep;
    atomic_fetch_add(&n_calls, 1);
    return DAT_SUCCESS;
}

static DAT_RETURN waits(DAT_EP_HANDLE ep)
{
    (void)ep;
    atomic_fetch_add(&n_calls, 1);
    sem_wait(&go_on);
    sem_post(&is_back);
    return DAT_SUCCESS;
}

int main(void)
{
    int memory[100];

    sem_init(&go_on, 0, 0);
    sem_init(&is_back, 0, 0);
    dm_ep_end_guard();
    CHECK(dm_ep_end_call(comes_back, &memory[0], LATE));
    CHECK(ep_of_call == &memory[0] && !dm_ep_end_is_left(&memory[0]) && !dm_ep_end_has_left());
    /* one that takes long, but comes back */
    sem_post(&go_on);
    CHECK(dm_ep_end_call(waits, &memory[0], LATE));
    CHECK(!dm_ep_end_is_left(&memory[0]));
    sem_wait(&is_back);
    /* many that do not */
    for (int i = 1; i < 100; i++) {
        CHECK(!dm_ep_end_call(waits, &memory[i], SOON));
        CHECK(dm_ep_end_is_left(&memory[i]));
    }
    CHECK(!dm_ep_end_is_left(&memory[0]) && dm_ep_end_has_left());
    /* nothing is called for these, which are no endpoints; the others are not held up */
    dm_ep_disconnect(&memory[99]);
    dm_ep_free(&memory[99]);
    CHECK(dm_ep_end_call(comes_back, &memory[0], LATE));
    /* those that were left come back */
    for (int i = 1; i < 100; i++)
        sem_post(&go_on);
    for (int i = 1; i < 100; i++)
        sem_wait(&is_back);
    CHECK_EQ(atomic_load(&n_calls), 102);
    CHECK(dm_ep_end_is_left(&memory[99]));
    return test_result();
}
