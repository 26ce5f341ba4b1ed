/*
 * Requests whose buffers are copies: their operations are wrapped by some that keep the copies, too. The request's ops
 * are then in the space of the first copies; further ones of the same request follow it.
 */
#include "mpi/core/core.h"
#include "util/list.h"

struct req_wrap {
    struct dm_req_ops ops;
    const struct dm_req_ops *inner;
    struct dm_copies *next;
};

_Static_assert(sizeof(struct req_wrap) == sizeof(((struct dm_copies *)0)->space),
               "dm_copies.space");

static struct req_wrap *wrap_of(struct dm_copies *copies)
{
    return (struct req_wrap *)(void *)copies->space;
}

static struct dm_copies *first_of(const struct dm_req *req)
{
    return dm_container_of((void *)(uintptr_t)req->ops, struct dm_copies, space);
}

/* A request may be freed while it is active. */
static void copies_free(struct dm_req *req)
{
    struct dm_copies *copies = first_of(req), *next;

    req->has_copies = false;
    req->ops = wrap_of(copies)->inner;
    for (; copies != NULL; copies = next) {
        next = wrap_of(copies)->next;
        copies->end(copies);
        copies->drop(copies);
    }
    req->ops->free(req);
}

static int copies_start(struct dm_req *req)
{
    struct dm_copies *first = first_of(req);

    for (struct dm_copies *c = first; c != NULL; c = wrap_of(c)->next)
        c->start(c);
    return wrap_of(first)->inner->start(req);
}

void dm_req_set_copies(struct dm_req *req, struct dm_copies *copies)
{
    struct req_wrap *wrap = wrap_of(copies);

    *wrap = (struct req_wrap){.next = NULL};
    if (dm_req_is_shared(req)) { /* and over */
        copies->end(copies);
        copies->drop(copies);
        return;
    }
    if (req->has_copies) {
        struct req_wrap *first = wrap_of(first_of(req));

        wrap->next = first->next;
        first->next = copies;
        return;
    }
    wrap->inner = req->ops;
    wrap->ops = *req->ops;
    wrap->ops.free = copies_free;
    if (wrap->ops.start != NULL)
        wrap->ops.start = copies_start;
    req->ops = &wrap->ops;
    req->has_copies = true;
}

void dm_req_end_copies(const struct dm_req *req)
{
    for (struct dm_copies *c = first_of(req); c != NULL; c = wrap_of(c)->next)
        c->end(c);
}
