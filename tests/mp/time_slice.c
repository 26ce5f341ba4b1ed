/* test: np=2 prov=datum-shm timeout=30 */
/* Ranks have the shortest time slice, whatever it was before: a yield gives one away. */
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mp_test.h"

/* Of this thread, ns; 0: an older kernel, which does not tell. */
static uint64_t slice(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } params = {.size = sizeof(params)};

    CHECK(syscall(SYS_sched_getattr, 0, &params, sizeof(params), 0) == 0);
    return params.runtime;
}

int main(int argc, char **argv)
{
    uint64_t before = slice();

    mp_start(&argc, &argv);
    CHECK_EQ(slice(), before == 0 ? 0 : 100000);
    return mp_finish();
}
