/*
 * What a peer may say; the rest depends on the state of the connection.
 */
#include "providers/tcp/wire.h"

#include "providers/common/ep.h"

_Static_assert(sizeof(struct dm_tcp_handshake) == 64, "no holes");
_Static_assert(sizeof(struct dm_tcp_head) == 32, "no holes");

bool dm_tcp_handshake_is_valid(const struct dm_tcp_handshake *handshake)
{
    return handshake->magic == DM_TCP_MAGIC && handshake->version == DM_TCP_VERSION &&
           handshake->type < DM_HANDSHAKE_N && handshake->data_len <= DM_PRIVATE_MAX;
}

/* The bytes that follow a header of this type. */
static bool head_is_len_valid(const struct dm_tcp_head *head)
{
    bool is_more = (head->flags & DM_TCP_MORE) != 0;

    switch ((enum dm_tcp_type)head->type) {
    case DM_TCP_WRITE:
        return is_more ? head->len > 0 && head->value > head->len : true;
    case DM_TCP_WRITE_IMMED:
        return !is_more;
    case DM_TCP_SEND:
    case DM_TCP_SEND_INVAL:
        return head->va <= UINT32_MAX && head->len <= head->va && (!is_more || head->len > 0);
    case DM_TCP_READ_DATA:
        return head->len > 0;
    case DM_TCP_FETCH_ADD:
    case DM_TCP_CMP_SWAP:
        return !is_more && head->len == DM_TCP_OPERANDS_LEN;
    case DM_TCP_ATOMIC_DATA:
        return !is_more && head->len == DM_TCP_OLD_LEN;
    case DM_TCP_READ:
        return !is_more && head->len == 0 && head->value > 0;
    default:
        return !is_more && head->len == 0;
    }
}

bool dm_tcp_head_is_valid(const struct dm_tcp_head *head, uint16_t tag)
{
    return head->type < DM_TCP_N && head->tag == tag && head->len <= DM_TCP_PIECE_MAX &&
           head->flags < 2 * DM_TCP_SOLICITED && head_is_len_valid(head);
}
