/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * The source of an RDMA write of as many bytes as the provider says (write_taken) is free when the post returns, also
 * where the write waits: for a region that is not mapped yet, or behind others. What a read before it fetches it
 * writes as it is then.
 */
#include "dat_pair.h"

/* In a region: N places that are written, one that is read, and one for what was read. */
enum { ROUNDS = 20, N = 8, PLACE = 1 << 16, FETCHED = N, PASSED_ON, N_PLACES };

/* The longest one first, which is not done at once where it is the first to a region. */
static size_t len_of(size_t most, int i)
{
    return i == 0 ? most : 1 + (size_t)i * 509 % most;
}

static unsigned char value_of(int round, int i)
{
    return (unsigned char)(1 + round * N + i);
}

static unsigned char byte_of(int round, size_t k)
{
    return (unsigned char)(1 + (k * 7 + (size_t)round) % 251);
}

/* A read, and a write of the last that it fetches, before it is over. */
static void pass_on(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs)
{
    size_t len = dt_write_taken(t->ia) / 2;
    DAT_LMR_TRIPLET sink = dt_seg(mine, 0, PLACE), from = dt_seg(mine, PLACE - len, len);
    DAT_RMR_TRIPLET source = dt_remote(theirs, (size_t)FETCHED * PLACE, PLACE);
    DAT_RMR_TRIPLET to = dt_remote(theirs, (size_t)PASSED_ON * PLACE, len);

    OK(dat_ep_post_rdma_read(t->ep, 1, &sink, dt_cookie(FETCHED), &source,
                             DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_rdma_write(t->ep, 1, &from, dt_cookie(PASSED_ON), &to,
                              DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, FETCHED, DAT_DTO_SUCCESS);
    dt_want_dto(t->req_evd, PASSED_ON, DAT_DTO_SUCCESS);
}

/* From the same bytes all, in two segments. */
static void write_all(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs,
                      int round)
{
    size_t most = dt_write_taken(t->ia);

    for (int i = 0; i < N; i++) {
        size_t len = len_of(most, i), half = len / 2;
        DAT_LMR_TRIPLET from[2] = {dt_seg(mine, 0, half), dt_seg(mine, half, len - half)};
        DAT_RMR_TRIPLET to = dt_remote(theirs, (size_t)i * PLACE, len);

        memset(mine->buf, value_of(round, i), len);
        OK(dat_ep_post_rdma_write(t->ep, 2, from, dt_cookie((uint64_t)i), &to,
                                  DAT_COMPLETION_DEFAULT_FLAG));
        memset(mine->buf, 0, len);
    }
    for (int i = 0; i < N; i++)
        dt_want_dto(t->req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mine, theirs;

    dt_open(t, name);
    CHECK(dt_write_taken(t->ia) >= 16384 && dt_write_taken(t->ia) <= PLACE);
    dt_alloc(t, &mine, PLACE, true);
    dt_join(t, true);
    for (int round = 0; round < ROUNDS; round++) {
        dt_swap_mem(t, &mine, &theirs);
        pass_on(t, &mine, &theirs);
        write_all(t, &mine, &theirs, round);
        dt_meet(t);
    }
    dt_close(t);
    return 0;
}

static void check(const struct dt_mem *mem, size_t most, int round)
{
    const unsigned char *passed_on = (const unsigned char *)mem->buf + PASSED_ON * PLACE;

    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < PLACE; k++)
            CHECK_EQ((unsigned char)mem->buf[i * PLACE + (int)k],
                     k < len_of(most, i) ? value_of(round, i) : 0);
    for (size_t k = 0; k < most / 2; k++)
        CHECK_EQ(passed_on[k], byte_of(round, PLACE - most / 2 + k));
}

/* A region of its own for each round, which peers can map or not. */
static int two(struct dt *t, const char *name)
{
    struct dt_mem mine[ROUNDS], theirs;
    size_t most;

    dt_open(t, name);
    most = dt_write_taken(t->ia);
    dt_join(t, false);
    for (int round = 0; round < ROUNDS; round++) {
        dt_alloc(t, &mine[round], (size_t)N_PLACES * PLACE, round % 2 == 0);
        for (size_t k = 0; k < PLACE; k++)
            mine[round].buf[FETCHED * PLACE + k] = (char)byte_of(round, k);
        dt_swap_mem(t, &mine[round], &theirs);
        dt_meet(t);
        check(&mine[round], most, round);
    }
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
