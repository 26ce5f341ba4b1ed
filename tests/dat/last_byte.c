/* test: kind=dat timeout=60 params=copy=auto|copy=cma|copy=staged */
/*
 * Two processes write to each other in turn and wait in memory alone: when the last byte of
 * a write is there, so are all others; for lengths and places on both sides of a cache
 * line's end, and without a call to the provider while they wait.
 */
#include "dat_pair.h"

#include <sched.h>

enum { ROUNDS = 16, N_SHORT = 33, N_SHIFTS = 8, BASE = 57, HALF = 1 << 18 };

static const int more[] = {4096, 65537, 200000};
enum { N_LENS = N_SHORT + sizeof(more) / sizeof(more[0]) };

/* The last byte is there; the first that is not. */
static int first_old(const volatile unsigned char *buf, int len, unsigned char want)
{
    double end = dt_now() + 10;

    for (unsigned n = 1; buf[len - 1] != want; n++) {
        if (n % 4096 == 0 && dt_now() > end)
            DT_FAIL("%d bytes: the last one did not come", len);
        if (n % 256 == 0)
            sched_yield(); /* the other side may need this core */
    }
    for (int i = 0; i < len; i++)
        if (buf[i] != want)
            return i;
    return len;
}

static void write_to(struct dt *t, const struct dt_mem *mine, const struct dt_mem *theirs,
                     int shift, int len, unsigned char value)
{
    DAT_LMR_TRIPLET from = dt_seg(mine, HALF, (size_t)len);
    DAT_RMR_TRIPLET to = dt_remote(theirs, (size_t)(BASE + shift), (size_t)len);

    memset(mine->buf + HALF, value, (size_t)len);
    OK(dat_ep_post_rdma_write(t->ep, 1, &from, dt_cookie(value), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, value, DAT_DTO_SUCCESS);
}

static int side(struct dt *t, const char *name, bool is_first)
{
    struct dt_mem mine;
    struct dt_mem theirs;

    dt_open(t, name);
    dt_alloc(t, &mine, 2 * HALF, true);
    dt_join(t, is_first);
    dt_swap_mem(t, &mine, &theirs);
    for (int k = 0; k < N_LENS; k++)
        for (int shift = 0; shift < N_SHIFTS; shift++) {
            int len = k < N_SHORT ? k + 1 : more[k - N_SHORT];

            memset(mine.buf, 0, HALF);
            dt_meet(t);
            for (int i = 1; i <= ROUNDS; i++) {
                int at;

                if (is_first)
                    write_to(t, &mine, &theirs, shift, len, (unsigned char)i);
                at = first_old((unsigned char *)mine.buf + BASE + shift, len, (unsigned char)i);
                if (at < len)
                    DT_FAIL("%d bytes, shifted by %d: byte %d came after the last", len, shift, at);
                if (!is_first)
                    write_to(t, &mine, &theirs, shift, len, (unsigned char)i);
            }
        }
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int one(struct dt *t, const char *name)
{
    return side(t, name, true);
}

static int two(struct dt *t, const char *name)
{
    return side(t, name, false);
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
