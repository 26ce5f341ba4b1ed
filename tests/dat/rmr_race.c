/* test: kind=dat timeout=120 params=copy=auto|copy=cma|copy=staged */
/*
 * Windows that move while a peer writes through them. Once a bind has
 * completed, the context before it reaches nothing: not one byte lands outside
 * the window that is open, at any moment. The peer writes until its context is
 * dead, which breaks the connection; then both connect again.
 */
#include "dat_ext.h"

enum { ROUNDS = 120, SLOTS = 32, SLOT = 2048, LEN = SLOTS * SLOT, FREE_BYTE = 0x11 };

enum how { REBIND, UNBIND, FREE, N_HOWS };

struct offer {
    uint32_t context;
    uint64_t va;
    uint32_t len;
    uint8_t value;
};

static void want_bound(struct dt *t, DAT_DTO_COMPLETION_STATUS status)
{
    DAT_EVENT event = dt_wait(t->req_evd);

    CHECK_EQ(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
    CHECK_EQ(event.event_data.rmr_completion_event_data.status, status);
}

static uint32_t bind_slot(struct dt *t, DAT_RMR_HANDLE rmr, const struct dt_mem *mem, int slot,
                          uint32_t len)
{
    DAT_RMR_COOKIE cookie = {.as_64 = 1};
    DAT_LMR_TRIPLET seg = dt_seg(mem, (size_t)slot * SLOT, len);
    DAT_RMR_CONTEXT context = 0;

    OK(dat_rmr_bind(rmr, mem->lmr, &seg, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, t->ep,
                    cookie, DAT_COMPLETION_DEFAULT_FLAG, &context));
    want_bound(t, DAT_DTO_SUCCESS);
    return context;
}

/* Every byte is still what it has to be. */
ORDERED_BY_PEER static void check_all(const struct dt_mem *mem, int round)
{
    for (size_t i = 0; i < LEN; i++)
        if (mem->buf[i] != FREE_BYTE)
            DT_FAIL("round %d: byte %zu is 0x%x", round, i, (uint8_t)mem->buf[i]);
}

ORDERED_BY_PEER static void wait_written(const struct dt_mem *mem, int slot, uint8_t value)
{
    double end = dt_now() + 10;

    while (*(volatile uint8_t *)(mem->buf + (size_t)slot * SLOT) != value)
        if (dt_now() > end)
            DT_FAIL("nothing is written to slot %d", slot);
}

ORDERED_BY_PEER static void wipe(struct dt_mem *mem)
{
    memset(mem->buf, FREE_BYTE, LEN);
}

static void end_window(struct dt *t, DAT_RMR_HANDLE *rmr, const struct dt_mem *mem, int slot,
                       enum how how)
{
    if (how == FREE) {
        OK(dat_rmr_free(*rmr));
        OK(dat_rmr_create(t->pz, rmr));
    } else {
        (void)bind_slot(t, *rmr, mem, slot, how == REBIND ? 64 : 0);
    }
}

static int owner(struct dt *t, const char *name)
{
    struct dt_mem mem;
    DAT_RMR_HANDLE rmr;
    DAT_EVENT event;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        dt_alloc(t, &mem, LEN, is_shared != 0);
        OK(dat_rmr_create(t->pz, &rmr));
        for (int round = 0; round < ROUNDS; round++) {
            int slot = round * 7 % SLOTS;
            struct offer offer = {.len = SLOT, .value = (uint8_t)(round % 100 + 100)};

            wipe(&mem);
            dt_join(t, true);
            offer.context = bind_slot(t, rmr, &mem, slot, SLOT);
            offer.va = (uint64_t)(uintptr_t)mem.buf + (size_t)slot * SLOT;
            dt_tell(t, &offer, sizeof(offer));
            wait_written(&mem, slot, offer.value);
            for (volatile int i = 0; i < round * 50; i++)
                continue;
            end_window(t, &rmr, &mem, (slot + 1) % SLOTS, (enum how)(round % N_HOWS));
            wipe(&mem); /* from now on nothing of this context arrives */
            dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
            event = dt_wait(t->async_evd);
            CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
            check_all(&mem, round);
            OK(dat_ep_reset(t->ep));
            dt_meet(t);
        }
        dt_close(t);
    }
    return 0;
}

static int user(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct offer offer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;

    for (int is_shared = 0; is_shared < 2; is_shared++) {
        dt_open(t, name);
        dt_alloc(t, &mem, SLOT, false);
        for (int round = 0; round < ROUNDS; round++) {
            DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;

            dt_join(t, false);
            dt_hear(t, &offer, sizeof(offer));
            memset(mem.buf, offer.value, SLOT);
            while (status == DAT_DTO_SUCCESS) {
                seg = dt_seg(&mem, 0, SLOT);
                to.virtual_address = offer.va;
                to.segment_length = SLOT;
                to.rmr_context = offer.context;
                OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to,
                                          DAT_COMPLETION_DEFAULT_FLAG));
                status = dt_wait(t->req_evd).event_data.dto_completion_event_data.status;
            }
            CHECK_EQ(status, DAT_DTO_ERR_REMOTE_ACCESS);
            dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
            OK(dat_ep_reset(t->ep));
            dt_meet(t);
        }
        dt_close(t);
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), owner, user, false);
}
