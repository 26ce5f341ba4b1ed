/*
 * Probes of registration: kinds of memory, how much, at what cost, under which limit.
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define HUGE_LEN   (UINT64_C(64) << 30)
#define SPACE_LEN  ((UINT64_C(1) << 47) - 8192) /* of a process on x86-64 and arm64 */
#define MANY_LMRS  4096
#define COST_MAX   (UINT64_C(64) << 20)
#define COST_NS    50000000
#define LOCK_LIMIT 65536
#define LOCK_LEN   (4 << 20)
#define PAGE       4096

static DAT_RETURN try_range(struct dm_probe_side *side, void *addr, uint64_t len)
{
    struct dm_lmr lmr;
    DAT_RETURN rc = dm_lmr_try(side->ia, side->pz, addr, len, -1, &lmr);

    if (rc == DAT_SUCCESS)
        dm_lmr_free(&lmr);
    return rc;
}

/* Much more than there is memory, without a page behind it; then all there can be. */
static void try_huge(struct dm_probe_side *side)
{
    uint64_t best = 0;
    DAT_RETURN rc = DAT_SUCCESS;
    void *mem = mmap(NULL, HUGE_LEN, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mem == MAP_FAILED) {
        dm_probe_say_untested(side->env, "huge_region", "no 64 GiB of address space (ulimit -v?)");
    } else {
        for (uint64_t len = UINT64_C(1) << 30; len <= HUGE_LEN; len *= 2) {
            rc = try_range(side, mem, len);
            if (rc != DAT_SUCCESS)
                break;
            best = len;
        }
        dm_probe_say_value(side->env, "huge_region", (double)(best >> 30), "GiB", "%s%s",
                           best == HUGE_LEN ? "no more was tried" : "then ",
                           best == HUGE_LEN ? "" : dm_dat_text(rc));
        munmap(mem, HUGE_LEN);
    }
    rc = try_range(side, (void *)(uintptr_t)PAGE, SPACE_LEN);
    dm_probe_say(side->env, "whole_space", rc == DAT_SUCCESS, "%s",
                 rc == DAT_SUCCESS ? "one region took every address" : dm_dat_text(rc));
}

static void try_many(struct dm_probe_side *side)
{
    static struct dm_lmr lmrs[MANY_LMRS];
    static char mem[PAGE];
    DAT_RETURN rc = DAT_SUCCESS;
    int n = 0;

    while (n < MANY_LMRS) {
        rc = dm_lmr_try(side->ia, side->pz, mem, sizeof(mem), -1, &lmrs[n]);
        if (rc != DAT_SUCCESS)
            break;
        n++;
    }
    dm_probe_say_value(side->env, "many_regions", n, "regions", "%s%s",
                       n == MANY_LMRS ? "no more were tried" : "then ",
                       n == MANY_LMRS ? "" : dm_dat_text(rc));
    while (n > 0)
        dm_lmr_free(&lmrs[--n]);
}

int dm_probe_run_memory(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    bool is_pinning;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK) {
        dm_probe_say(env, "shared_virtual", dm_probe_share(side.ia, side.pz),
                     "SHARED_VIRTUAL with the cookie \"fd:N+0\"");
        is_pinning = dm_probe_pins(side.ia, side.pz);
        dm_probe_say(env, "pins_pages", is_pinning, "VmPin of the process");
        try_many(&side);
        if (is_pinning) {
            dm_probe_say_untested(env, "huge_region", "it would pin all memory");
            dm_probe_say_untested(env, "whole_space", "it would pin all memory");
        } else {
            try_huge(&side);
        }
    }
    dm_probe_close(&side);
    return err;
}

/* ---- cost ---- */

/* Best microseconds of registering and freeing the first len bytes; negative: refused. */
static double cost_of(struct dm_probe_side *side, char *mem, size_t len, int fd)
{
    uint64_t until = dm_clock_ns() + COST_NS;
    uint64_t best = UINT64_MAX;
    uint64_t start;
    uint64_t took;
    struct dm_lmr lmr;

    for (int i = 0; i < 50 && (i < 3 || dm_clock_ns() < until); i++) {
        start = dm_clock_ns();
        if (dm_lmr_try(side->ia, side->pz, mem, len, fd, &lmr) != DAT_SUCCESS)
            return -1;
        dm_lmr_free(&lmr);
        took = dm_clock_ns() - start;
        if (took < best)
            best = took;
    }
    return (double)best / 1000;
}

static void say_cost(struct dm_probe_side *side, const char *key, char *mem, size_t len)
{
    double us = cost_of(side, mem, len, -1);

    if (us < 0)
        dm_probe_say_untested(side->env, key, "%zu bytes cannot be registered", len);
    else
        dm_probe_say_value(side->env, key, us, "us", "register and free, %.1f ns a page",
                           us * 1000 * PAGE / (double)len);
}

int dm_probe_run_regcost(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    char *mem = MAP_FAILED;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK) {
        mem = mmap(NULL, COST_MAX, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (mem == MAP_FAILED)
            err = DM_FAIL(DM_ENOMEM, "64 MiB to register");
    }
    if (err == DM_OK) {
        say_cost(&side, "reg_4k", mem, PAGE);
        say_cost(&side, "reg_64k", mem, 64 << 10);
        say_cost(&side, "reg_1m", mem, 1 << 20);
        say_cost(&side, "reg_64m", mem, COST_MAX);
    }
    if (mem != MAP_FAILED)
        munmap(mem, COST_MAX);
    dm_probe_close(&side);
    return err;
}

/* ---- the limit of locked memory ---- */

/* Without the capability the limit holds for root too. */
static void drop_ipc_lock(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    memset(data, 0, sizeof(data));
    if (syscall(SYS_capget, &head, data) != 0)
        return;
    data[0].effective &= ~(1u << CAP_IPC_LOCK);
    data[0].permitted &= ~(1u << CAP_IPC_LOCK);
    data[0].inheritable &= ~(1u << CAP_IPC_LOCK);
    syscall(SYS_capset, &head, data);
}

/* Leaves the process with the limit, which is why it has a process of its own. */
int dm_probe_run_memlock(struct dm_probe_env *env)
{
    struct rlimit lim = {LOCK_LIMIT, LOCK_LIMIT};
    struct dm_probe_side side;
    struct dm_probe_mem mem = {.buf = NULL};
    int err;

    if (setrlimit(RLIMIT_MEMLOCK, &lim) != 0)
        return DM_FAIL(DM_ESYS, "RLIMIT_MEMLOCK cannot be set");
    drop_ipc_lock();
    err = dm_probe_open(env, &side);
    if (err != DM_OK)
        dm_probe_say(env, "memlock", true, "with a limit of 64 KiB it does not open: %s",
                     dm_err_detail());
    else if (dm_probe_alloc(&side, LOCK_LEN, false, &mem) != DM_OK)
        dm_probe_say(env, "memlock", true, "with a limit of 64 KiB, %s", dm_err_detail());
    else
        dm_probe_say(env, "memlock", false, "4 MiB were registered with a limit of 64 KiB");
    if (err == DM_OK)
        dm_probe_free(&mem);
    dm_probe_close(&side);
    return DM_OK;
}
