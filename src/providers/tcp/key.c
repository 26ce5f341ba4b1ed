/*
 * Who uses the memory that a context stands for: requests of ours, and of peers.
 */
#include "providers/tcp/key.h"

#include "providers/tcp/dto.h"

/* Does the peer write to the region now, or is it to get something from there? */
static bool conn_is_using(const struct dm_tcp_conn *conn, uint32_t key)
{
    const struct dm_tcp_in *in = &conn->in;

    if (in->left > 0 && in->head.type <= DM_TCP_WRITE_IMMED && in->head.key == key)
        return true;
    if (in->op != NULL && dm_tcp_op_uses(in->op, key))
        return true;
    dm_list_for_each (it, &conn->out.answers)
        if (dm_container_of(it, struct dm_tcp_answer, link)->key == key)
            return true;
    return false;
}

bool dm_tcp_key_is_left(struct dm_net *net, const struct dm_pz *pz, uint32_t key)
{
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_tcp_ep *ep = dm_container_of(it, struct dm_tcp_ep, ep.obj.link);

        if (ep->ep.pz == pz && ep->conn != NULL && ep->conn->state != DM_CONN_CLOSED &&
            (dm_tcp_dto_is_using(ep, key) || conn_is_using(ep->conn, key)))
            return false;
    }
    return true;
}
