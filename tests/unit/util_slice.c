/* test: layers=util timeout=20 */
/* A slice is shortened; priority and policy stay. */
#include "util/slice.h"

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

struct params {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static struct params get(void)
{
    struct params params = {.size = sizeof(params)};

    CHECK(syscall(SYS_sched_getattr, 0, &params, sizeof(params), 0) == 0);
    return params;
}

int main(void)
{
    struct sched_param none = {0};
    struct params first, now;

    CHECK(setpriority(PRIO_PROCESS, 0, 5) == 0);
    first = get();
    dm_slice_shorten();
    now = get();
    CHECK_EQ(now.nice, 5);
    CHECK_EQ(now.policy, first.policy);
    /* Older kernels tell no slice. */
    CHECK_EQ(now.runtime, first.runtime == 0 ? 0 : 100000);

    CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
    first = get();
    dm_slice_shorten();
    CHECK_EQ(get().policy, SCHED_BATCH);
    CHECK_EQ(get().runtime, first.runtime);
    return test_result();
}
