/*
 * Atomic operations are carried out by the target's processor, on an aligned 64-bit word in host
 * byte order: they are atomic to each other and to the program's own atomic instructions.
 */
#include "providers/tcp/ext.h"

#include <stdatomic.h>

#include "providers/net/key.h"
#include "providers/tcp/stream.h"

/* The word, if the peer may use it: read and write it, or the privilege of its own. */
static _Atomic uint64_t *tcp_atomic_word(const struct dm_tcp_ep *ep, const struct dm_tcp_head *head)
{
    const uint64_t len = sizeof(uint64_t);
    char *mem = dm_net_key_mem(&ep->base.ep, head->key, head->va, len,
                               (uint32_t)DAT_IB_MEM_PRIV_REMOTE_ATOMIC);

    if (mem == NULL && dm_net_key_mem(&ep->base.ep, head->key, head->va, len,
                                      DAT_MEM_PRIV_REMOTE_READ_FLAG) != NULL)
        mem =
            dm_net_key_mem(&ep->base.ep, head->key, head->va, len, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
    if (mem == NULL || (uintptr_t)mem % sizeof(uint64_t) != 0)
        return NULL;
    return (_Atomic uint64_t *)(void *)mem;
}

bool dm_tcp_ext_atomic(struct dm_tcp_conn *conn)
{
    const struct dm_tcp_head answer = {.type = DM_TCP_ATOMIC_DATA, .len = DM_TCP_OLD_LEN};
    struct dm_tcp_in *in = &conn->in;
    _Atomic uint64_t *word = tcp_atomic_word(dm_tcp_conn_ep(conn), &in->head);
    uint64_t old = in->operands[0];

    if (word == NULL)
        return false;
    if (in->head.type == DM_TCP_FETCH_ADD)
        old = atomic_fetch_add(word, old);
    else
        (void)atomic_compare_exchange_strong(word, &old, in->operands[1]);
    in->n_done++; /* in the header of the answer already */
    dm_tcp_out_ctrl(conn, &answer, &old);
    in->n_done--;
    return true;
}

bool dm_tcp_ext_answered(struct dm_tcp_conn *conn)
{
    struct dm_tcp_op *op = dm_tcp_dto_oldest(dm_tcp_conn_ep(conn), true);

    if (op == NULL)
        return false;
    if (op->base.len >= sizeof(conn->in.last))
        memcpy(op->vec[0].iov_base, &conn->in.last, sizeof(conn->in.last));
    dm_tcp_dto_answered(dm_tcp_conn_ep(conn), op,
                        op->base.len >= sizeof(conn->in.last) ? DAT_DTO_SUCCESS
                                                              : DAT_DTO_ERR_LOCAL_PROTECTION);
    return true;
}
