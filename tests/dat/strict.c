/* test: kind=dat timeout=60 params=strict=yes,copy=auto|strict=yes,copy=staged net=strict=yes warn="strict: .*(were.changed|posts.a.request)" */
/*
 * What a strict provider does: triplets stay the consumer's memory and the provider's property, are used
 * after the post has returned and unusable after completion; who accepts may not send first; the last
 * byte of a write comes before the others; completions come together.
 */
#include "dat_pair.h"

enum { LEN = 4096, ROUNDS = 200, BATCH = 4 };

static void check_attr(struct dt *t)
{
    DAT_PROVIDER_ATTR attr;

    OK(dat_ia_query(t->ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    CHECK_EQ(attr.iov_ownership_on_return, DAT_IOV_PROVIDER_MOD);
    CHECK_EQ(attr.is_thread_safe, DAT_FALSE);
    for (DAT_COUNT i = 0; i < attr.num_provider_specific_attr; i++)
        if (strcmp(attr.provider_specific_attr[i].name, "last_byte_last") == 0)
            CHECK_EQ(strcmp(attr.provider_specific_attr[i].value, "no"), 0);
}

/* Triplets are whole until completion, and useless then. */
static void kept(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs)
{
    DAT_LMR_TRIPLET from[2] = {dt_seg(mine, 0, 100), dt_seg(mine, 100, LEN - 100)};
    DAT_LMR_TRIPLET was[2];
    DAT_RMR_TRIPLET to = dt_remote(theirs, 0, LEN);

    memcpy(was, from, sizeof(was));
    memset(mine->buf, 'k', LEN);
    OK(dat_ep_post_rdma_write(t->ep, 2, from, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS), LEN);
    for (int i = 0; i < 2; i++)
        CHECK(from[i].virtual_address != was[i].virtual_address &&
              from[i].lmr_context != was[i].lmr_context);
}

/* Of a request that is changed too early the provider takes what it finds; a test that was held up was late. */
static void changed(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs)
{
    bool is_seen = false;

    for (int i = 0; i < ROUNDS && !is_seen; i++) {
        DAT_LMR_TRIPLET from = dt_seg(mine, 0, 8), back = dt_seg(mine, 16, 8);
        DAT_RMR_TRIPLET to = dt_remote(theirs, 0, 8);

        memset(mine->buf, 'o', 8);
        memset(mine->buf + 8, 'n', 8);
        OK(dat_ep_post_rdma_write(t->ep, 1, &from, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
        from.virtual_address += 8;
        dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
        OK(dat_ep_post_rdma_read(t->ep, 1, &back, dt_cookie(3), &to, DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 3, DAT_DTO_SUCCESS);
        is_seen = mine->buf[16] == 'n';
    }
    CHECK(is_seen);
}

/* Post reads, and wait for all. Were none there at once, and all when the first one was? */
static bool are_together(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs)
{
    DAT_LMR_TRIPLET to[BATCH];
    DAT_RMR_TRIPLET from[BATCH];
    bool is_together;
    DAT_EVENT event;

    for (int i = 0; i < BATCH; i++) {
        to[i] = dt_seg(mine, (size_t)i * 64, 64);
        from[i] = dt_remote(theirs, (size_t)i * 64, 64);
        OK(dat_ep_post_rdma_read(t->ep, 1, &to[i], dt_cookie((uint64_t)i), &from[i],
                                 DAT_COMPLETION_DEFAULT_FLAG));
    }
    is_together = dat_evd_dequeue(t->req_evd, &event) != DAT_SUCCESS;
    if (is_together)
        dt_want_dto(t->req_evd, 0, DAT_DTO_SUCCESS);
    for (int i = 1; i < BATCH; i++) {
        if (is_together && dat_evd_dequeue(t->req_evd, &event) == DAT_SUCCESS)
            continue;
        is_together = false;
        dt_want_dto(t->req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
    }
    return is_together;
}

/* Reads that are posted together complete together, late; not each time where others answer them. */
static void together(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs)
{
    bool is_together = false;

    for (int i = 0; i < ROUNDS && !is_together; i++)
        is_together = are_together(t, mine, theirs);
    CHECK(is_together || dt_is_fabric(t->ia));
}

/* Has a last byte been seen before the first one? */
static bool ORDERED_BY_PEER is_early(const volatile char *buf, char mark)
{
    double end = dt_now() + 10;

    while (buf[LEN - 1] != mark)
        if (dt_now() > end)
            DT_FAIL("a write does not come");
    return buf[0] != mark;
}

static void last_bytes(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs,
                       bool is_writer)
{
    bool is_seen = false;
    char again = 'a';

    for (int i = 1; i <= ROUNDS && again == 'a'; i++) {
        DAT_LMR_TRIPLET from = dt_seg(mine, LEN, LEN);
        DAT_RMR_TRIPLET to = dt_remote(theirs, 0, LEN);

        dt_meet(t);
        if (is_writer) {
            memset(mine->buf + LEN, i % 100 + 1, LEN);
            OK(dat_ep_post_rdma_write(t->ep, 1, &from, dt_cookie((uint64_t)i), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
            dt_want_dto(t->req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
            dt_hear(t, &again, 1);
        } else {
            is_seen = is_early(mine->buf, (char)(i % 100 + 1));
            again = is_seen ? 'd' : 'a';
            dt_tell(t, &again, 1);
        }
    }
    CHECK(is_writer || is_seen);
}

/* Who has accepted. */
static int one(struct dt *t, const char *name)
{
    struct dt_mem mine, theirs;
    DAT_LMR_TRIPLET got, from;

    dt_open(t, name);
    check_attr(t);
    dt_alloc(t, &mine, 2 * LEN, true);
    got = dt_seg(&mine, LEN, 8);
    OK(dat_ep_post_recv(t->ep, 1, &got, dt_cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, true);
    dt_swap_mem(t, &mine, &theirs);
    from = dt_seg(&mine, 0, 8);
    CHECK_RC(dat_ep_post_send(t->ep, 1, &from, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
             DAT_INVALID_STATE);
    dt_meet(t);
    dt_want_dto(t->recv_evd, 7, DAT_DTO_SUCCESS);
    CHECK_EQ(mine.buf[LEN], 'n');
    last_bytes(t, &mine, &theirs, false);
    OK(dat_ep_post_send(t->ep, 1, &from, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mine, theirs;
    DAT_LMR_TRIPLET got, from;

    dt_open(t, name);
    dt_alloc(t, &mine, 2 * LEN, true);
    dt_join(t, false);
    dt_swap_mem(t, &mine, &theirs);
    memset(mine.buf, 'n', 8);
    from = dt_seg(&mine, 0, 8);
    dt_meet(t);
    OK(dat_ep_post_send(t->ep, 1, &from, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS);
    changed(t, &mine, &theirs);
    kept(t, &mine, &theirs);
    together(t, &mine, &theirs);
    last_bytes(t, &mine, &theirs, true);
    got = dt_seg(&mine, 0, 8);
    OK(dat_ep_post_recv(t->ep, 1, &got, dt_cookie(8), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->recv_evd, 8, DAT_DTO_SUCCESS);
    dt_meet(t);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
