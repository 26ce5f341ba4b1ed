/*
 * Probes of who owns what after a post: the triplets, which DAT lets a provider keep until the request
 * has completed, and the word of a completion, which may come after the peer's answer.
 */
#include <string.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define LEN       64
#define ELSEWHERE 1024 /* where triplets point that are changed after the post */
#define SPACE     4096
#define N_ROUNDS  12
#define ROUND_NS  UINT64_C(2000000000)

enum way { WRITE_IOV, WRITE_REMOTE, SEND_IOV, READ_IOV, N_WAYS };

static const struct dm_probe_ep modest;
static const char *const names[] = {"local ones of a write", "remote ones of a write",
                                    "those of a send", "those of a read"};

/* What has been found: the first that was not so, -1: none. */
struct found {
    int late;    /* used after the return */
    int changed; /* by the provider */
};

/* Post a request of LEN bytes, and change its triplets at once; they are still right. */
static int owner_post(struct dm_probe_side *side, enum way way, const struct dm_probe_mem *mem,
                      const struct dm_probe_remote *remote, DAT_LMR_TRIPLET **lmr_p)
{
    DAT_LMR_TRIPLET from = dm_probe_local(mem, 0, LEN);
    DAT_RMR_TRIPLET to = dm_probe_remote(remote, 0, LEN);
    DAT_LMR_TRIPLET *lmr = dm_probe_keep(side, &from, sizeof(from));
    DAT_RMR_TRIPLET *rmr = dm_probe_keep(side, &to, sizeof(to));
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_RETURN rc;

    if (way == SEND_IOV)
        rc = dat_ep_post_send(side->ep, 1, lmr, cookie, DAT_COMPLETION_DEFAULT_FLAG);
    else if (way == READ_IOV)
        rc = dat_ep_post_rdma_read(side->ep, 1, lmr, cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG);
    else
        rc = dat_ep_post_rdma_write(side->ep, 1, lmr, cookie, rmr, DAT_COMPLETION_DEFAULT_FLAG);
    if (way == WRITE_REMOTE)
        rmr->virtual_address += ELSEWHERE;
    else
        lmr->virtual_address += ELSEWHERE;
    *lmr_p = lmr;
    return rc == DAT_SUCCESS ? DM_OK : DM_FAIL(DM_EPROVIDER, "a post: %s", dm_dat_text(rc));
}

/* The process that posts. */
static int owner_active(struct dm_probe_side *side, enum way way, const struct dm_probe_mem *mem,
                        const struct dm_probe_remote *remote, struct found *found)
{
    DAT_LMR_TRIPLET *lmr = NULL;
    DAT_LMR_TRIPLET want = dm_probe_local(mem, way == WRITE_REMOTE ? 0 : ELSEWHERE, LEN);
    uint64_t is_as_posted = 0;
    int err;

    memset(mem->buf, way == READ_IOV ? 0 : 'a', LEN);
    memset(mem->buf + ELSEWHERE, way == READ_IOV ? 0 : 'b', LEN);
    err = dm_probe_barrier(side);
    if (err == DM_OK)
        err = owner_post(side, way, mem, remote, &lmr);
    if (err == DM_OK)
        err = dm_probe_done(side, side->req_evd, 1, "completion");
    if (err == DM_OK)
        err = dm_probe_put(side, 0);
    if (err == DM_OK)
        err = dm_probe_get(side, &is_as_posted);
    if (err != DM_OK)
        return err;
    if (way == READ_IOV)
        is_as_posted = mem->buf[0] == 'a';
    if (!is_as_posted && found->late < 0)
        found->late = (int)way;
    if (memcmp(lmr, &want, sizeof(want)) != 0 && found->changed < 0)
        found->changed = (int)way;
    return DM_OK;
}

/* The one whose memory it is. */
static int owner_passive(struct dm_probe_side *side, enum way way, const struct dm_probe_mem *mem)
{
    uint64_t none;
    int err = DM_OK;

    memset(mem->buf, way == READ_IOV ? 'a' : 0, SPACE);
    if (way == SEND_IOV)
        err = dm_probe_recv(side, mem, 0, LEN);
    if (err == DM_OK)
        err = dm_probe_barrier(side);
    if (err == DM_OK && way == SEND_IOV)
        err = dm_probe_done(side, side->recv_evd, 1, "receive");
    if (err == DM_OK)
        err = dm_probe_get(side, &none); /* completed */
    return err == DM_OK ? dm_probe_put(side, mem->buf[0] == 'a') : err;
}

/* A write is answered over the side channel as soon as it is seen: is its completion there then? */
DM_UNTRACKED static int answer_round(struct dm_probe_side *side, const struct dm_probe_mem *mem,
                                     const struct dm_probe_remote *remote, char mark, int *n_late_p)
{
    volatile const char *at = mem->buf + SPACE / 2;
    uint64_t until = dm_clock_ns() + ROUND_NS;
    DAT_EVENT event;
    uint64_t none;
    int err = dm_probe_barrier(side);

    if (err != DM_OK)
        return err;
    if (side->env->is_passive) {
        while (*at != mark && dm_clock_ns() < until)
            (void)dat_evd_dequeue(side->recv_evd, &event);
        return *at == mark ? dm_probe_put(side, 0)
                           : DM_FAIL(DM_ETIMEOUT, "a write does not arrive");
    }
    mem->buf[0] = mark;
    err = dm_probe_write(side, mem, 0, remote, SPACE / 2, 1, DAT_COMPLETION_DEFAULT_FLAG);
    if (err == DM_OK)
        err = dm_probe_get(side, &none);
    if (err != DM_OK || dat_evd_dequeue(side->req_evd, &event) == DAT_SUCCESS)
        return err;
    ++*n_late_p;
    return dm_probe_done(side, side->req_evd, 1, "completion");
}

static void owner_report(struct dm_probe_env *env, const struct found *found, int n_late,
                         bool is_kept)
{
    const char *says =
        is_kept ? "it says that it keeps them" : "it says that it does not keep them";

    dm_probe_say(env, "iov_copied", found->late < 0, "%s; %s",
                 found->late < 0 ? "as seen" : names[found->late], says);
    dm_probe_say(env, "iov_kept", found->changed < 0, "%s",
                 found->changed < 0 ? "as seen" : names[found->changed]);
    dm_probe_say(env, "done_first", n_late == 0, "%d of %d were not", n_late, N_ROUNDS);
}

int dm_probe_run_owner(struct dm_probe_env *env)
{
    struct found found = {-1, -1};
    struct dm_probe_remote remote;
    struct dm_probe_mem mem = {.buf = NULL};
    struct dm_probe_side side;
    int n_late = 0;
    int err = dm_probe_join(env, &modest, &side);

    if (err == DM_OK)
        err = dm_probe_alloc(&side, SPACE, false, &mem);
    if (err == DM_OK)
        err = dm_probe_swap(&side, &mem, &remote);
    for (int i = 0; i < N_ROUNDS && err == DM_OK; i++)
        err = env->is_passive ? owner_passive(&side, (enum way)(i % N_WAYS), &mem)
                              : owner_active(&side, (enum way)(i % N_WAYS), &mem, &remote, &found);
    for (int i = 1; i <= N_ROUNDS && err == DM_OK; i++)
        err = answer_round(&side, &mem, &remote, (char)i, &n_late);
    if (err == DM_OK && !env->is_passive)
        owner_report(env, &found, n_late, side.limits.keeps_iov);
    err = err == DM_OK ? dm_probe_barrier(&side) : err;
    dm_probe_free(&mem);
    dm_probe_close(&side);
    return err;
}
