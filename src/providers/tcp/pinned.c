#include "providers/tcp/pinned.h"

#include <stdlib.h>

#include "providers/tcp/stream.h"

static struct dm_tcp_answer *answer_of(struct dm_list *link)
{
    return dm_container_of(link, struct dm_tcp_answer, link);
}

/* One of each region stands for all. */
void dm_tcp_pinned_answered(struct dm_tcp_conn *conn, struct dm_tcp_answer *answer)
{
    if (!answer->is_pinned) {
        free(answer);
        return;
    }
    dm_list_for_each_safe (it, next, &conn->out.pinned) {
        if (answer_of(it)->key != answer->key)
            continue;
        dm_list_del(it);
        free(answer_of(it));
    }
    answer->question = 0;
    dm_list_add_head(&conn->out.pinned, &answer->link);
}

bool dm_tcp_pinned_uses(struct dm_tcp_conn *conn, uint32_t key)
{
    struct dm_tcp_head head = {.type = DM_TCP_ACK, .flags = DM_TCP_ACK_ME};
    bool is_used = false;
    bool is_asked = true;

    dm_list_for_each (it, &conn->out.pinned) {
        if (answer_of(it)->key != key)
            continue;
        is_used = true;
        is_asked &= answer_of(it)->question != 0;
    }
    if (is_asked)
        return is_used;
    head.va = ++conn->out.question;
    dm_list_for_each (it, &conn->out.pinned)
        if (answer_of(it)->question == 0)
            answer_of(it)->question = head.va;
    dm_tcp_out_ctrl(conn, &head, NULL);
    return true;
}

void dm_tcp_pinned_returned(struct dm_tcp_conn *conn, uint64_t question)
{
    dm_list_for_each_safe (it, next, &conn->out.pinned) {
        if (answer_of(it)->question == 0 || answer_of(it)->question > question)
            continue;
        dm_list_del(it);
        free(answer_of(it));
    }
}

void dm_tcp_pinned_drop(struct dm_tcp_conn *conn)
{
    while (!dm_list_is_empty(&conn->out.pinned)) {
        struct dm_tcp_answer *answer = answer_of(conn->out.pinned.next);

        dm_list_del(&answer->link);
        free(answer);
    }
}
