/*
 * A page for each connection that needs it, of its own: it is never given back to malloc, so that what
 * the peer has not read yet does not change, whatever becomes of the connection.
 */
#include "providers/tcp/transport/heads.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "providers/tcp/dto.h"

enum { N_REQUESTS = 64, PAGE = 4096 };

struct dm_tcp_heads {
    struct dm_tcp_head *at; /* the page: answers, then requests */
    uint32_t n_answers;     /* so far */
    uint32_t n_requests;
    uint32_t number[N_REQUESTS]; /* of the requests that have places */
};

_Static_assert((DM_TCP_READS_MAX + N_REQUESTS) * sizeof(struct dm_tcp_head) <= PAGE, "a page");

static struct dm_tcp_heads *heads_new(void)
{
    struct dm_tcp_heads *heads = calloc(1, sizeof(*heads));

    if (heads == NULL)
        return NULL;
    heads->at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (heads->at != MAP_FAILED)
        return heads;
    free(heads);
    return NULL;
}

void dm_tcp_heads_free(struct dm_tcp_out *out)
{
    if (out->heads == NULL)
        return;
    (void)munmap(out->heads->at, PAGE);
    free(out->heads);
    out->heads = NULL;
}

/* The peer asks for so many reads at a time: it has had all of the one whose place this was. */
static struct dm_tcp_head *heads_answer(const struct dm_tcp_out *out)
{
    struct dm_tcp_heads *heads = out->heads;

    if (dm_container_of(out->answers.next, struct dm_tcp_answer, link)->is_pinned)
        return NULL;
    return &heads->at[heads->n_answers++ % DM_TCP_READS_MAX];
}

/* The peer has acknowledged the request whose place this was. */
static struct dm_tcp_head *heads_request(const struct dm_tcp_conn *conn)
{
    struct dm_tcp_heads *heads = conn->out.heads;
    const struct dm_tcp_op *op = conn->out.op;
    uint32_t place = heads->n_requests % N_REQUESTS;

    if (op == NULL || op->base.pos > 0 ||
        (heads->n_requests >= N_REQUESTS &&
         (int32_t)(dm_tcp_conn_ep(conn)->n_acked - heads->number[place]) < 0))
        return NULL;
    heads->number[place] = op->number;
    heads->n_requests++;
    return &heads->at[DM_TCP_READS_MAX + place];
}

struct dm_tcp_head *dm_tcp_heads_keep(struct dm_tcp_conn *conn)
{
    struct dm_tcp_out *out = &conn->out;
    struct dm_tcp_head *head;

    if (out->heads == NULL)
        out->heads = heads_new();
    if (out->heads == NULL)
        return NULL;
    head = out->is_answer ? heads_answer(out) : heads_request(conn);
    if (head != NULL)
        *head = out->head;
    return head;
}
