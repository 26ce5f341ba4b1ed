/*
 * Requests of the program: from the call that gives one to the call that takes it back.
 *
 * They are known by their handles, also those that were complete at once and share an object. That a request is over
 * is seen by comparing the array of a completion call with a copy from before it: the program may use the buffers
 * from then on, whenever the library was ready with them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "usage/state.h"
#include "util/log.h"

#define TEXT_LEN 4096

/* The array of a completion call that is under way. */
struct usage_await {
    struct dm_list link;
    const char *fn;
    pthread_t thread;
    const MPI_Request *array;
    int n;
    MPI_Request copy[];
};

static struct dm_usage_request *request_find(MPI_Request handle)
{
    return dm_hash_get(&dm_usage_state.requests, (uint32_t)handle);
}

void dm_usage_request_activate(struct dm_usage_request *request)
{
    request->is_active = true;
    for (int i = 0; i < request->n; i++)
        dm_usage_buffer_begin(&request->buffers[i]);
}

void dm_usage_request_release(struct dm_usage_request *request)
{
    for (int i = 0; i < request->n; i++)
        dm_usage_buffer_end(&request->buffers[i]);
}

void dm_usage_request_deactivate(struct dm_usage_request *request)
{
    request->is_active = false;
    dm_usage_request_release(request);
}

void dm_usage_request_drop(struct dm_usage_request *request)
{
    dm_list_del(&request->rma_link);
    for (int i = 0; i < request->n; i++) {
        dm_list_del(&request->buffers[i].link);
        dm_type_unref(request->buffers[i].b.type);
        free(request->buffers[i].sums);
    }
    free(request);
}

struct dm_usage_request *dm_usage_request_new(const char *fn, const struct dm_usage_buffer *buffers,
                                              int n)
{
    struct dm_usage_request *request =
        calloc(1, sizeof(*request) + (size_t)n * sizeof(request->buffers[0]));

    if (request == NULL)
        return NULL;
    request->n = n;
    dm_list_init(&request->rma_link);
    dm_usage_place_take(&request->made, fn);
    request->started = request->made;
    for (int i = 0; i < n; i++) {
        struct dm_usage_active *active = &request->buffers[i];

        active->b = buffers[i];
        active->request = request;
        if (active->b.type == NULL)
            active->b.type = dm_type_get(MPI_BYTE);
        if (active->b.peer == MPI_PROC_NULL || buffers[i].type == NULL)
            active->b.count = 0;
        dm_list_init(&active->link);
        dm_type_ref(active->b.type);
    }
    return request;
}

struct dm_usage_request *dm_usage_request_add(const char *fn, MPI_Request handle,
                                              const struct dm_usage_buffer *buffers, int n)
{
    const struct dm_req *req = dm_req_get(handle);
    struct dm_usage_request *request, *old;

    /* Those with number 0 and collectives of one process share a handle, and are over. */
    if (!dm_usage_has(DM_USAGE_BUFFERS | DM_USAGE_REQUESTS) || req == NULL ||
        (dm_req_is_done_handle(handle) && dm_req_done_number(handle) == 0) ||
        (uint32_t)handle == DM_REQ_DONE_COLL_HANDLE)
        return NULL;
    old = dm_hash_del(&dm_usage_state.requests, (uint32_t)handle);
    if (old != NULL)
        dm_usage_request_drop(old);
    request = dm_usage_request_new(fn, buffers, n);
    if (request == NULL)
        return NULL;
    if (dm_hash_put(&dm_usage_state.requests, (uint32_t)handle, request) != DM_OK) {
        dm_usage_request_drop(request);
        return NULL;
    }
    request->handle = handle;
    request->req = req;
    request->number = ++dm_usage_state.n_made;
    if (req->kind != DM_REQ_PERSISTENT)
        dm_usage_request_activate(request);
    return request;
}

void dm_usage_requested(const char *fn, MPI_Request handle, const struct dm_usage_buffer *buffers,
                        int n)
{
    (void)dm_usage_request_add(fn, handle, buffers, n);
}

void dm_usage_requested_by(const struct dm_usage_call *call, MPI_Request handle)
{
    struct dm_usage_buffer *buffers = malloc(dm_usage_call_most_buffers(call) * sizeof(*buffers));

    if (buffers != NULL)
        dm_usage_requested(call->fn, handle, buffers, dm_usage_call_buffers(call, buffers));
    free(buffers);
}

void dm_usage_used(const char *fn, const struct dm_usage_buffer *buffers, int n)
{
    struct dm_usage_request *call;

    if (!dm_usage_has(DM_USAGE_BUFFERS) || dm_list_is_empty(&dm_usage_state.active))
        return;
    call = dm_usage_request_new(fn, buffers, n);
    if (call == NULL)
        return;
    for (int i = 0; i < n; i++)
        (void)dm_usage_buffer_look(&call->buffers[i]);
    dm_usage_request_drop(call);
}

void dm_usage_started(const char *fn, int n, const MPI_Request *requests)
{
    if (!dm_usage_has(DM_USAGE_BUFFERS | DM_USAGE_REQUESTS))
        return;
    for (int i = 0; i < n; i++) {
        struct dm_usage_request *request = request_find(requests[i]);

        if (request == NULL)
            continue;
        dm_usage_place_take(&request->started, fn);
        dm_usage_request_activate(request);
    }
}

void dm_usage_ready(MPI_Request handle, int low, int high)
{
    struct dm_usage_request *request = dm_usage_has(DM_USAGE_BUFFERS) ? request_find(handle) : NULL;

    for (int i = low; i <= high && request != NULL; i++)
        dm_usage_buffer_ready(&request->buffers[0], i);
}

/* ---- completion ---- */

void dm_usage_await(const char *fn, int n, const MPI_Request *requests)
{
    struct usage_await *await;

    if (!dm_usage_is_on() || n <= 0 || requests == NULL)
        return;
    await = malloc(sizeof(*await) + (size_t)n * sizeof(await->copy[0]));
    if (await == NULL)
        return;
    await->fn = fn;
    await->thread = pthread_self();
    await->array = requests;
    await->n = n;
    memcpy(await->copy, requests, (size_t)n * sizeof(await->copy[0]));
    dm_list_add_head(&dm_usage_state.awaits, &await->link);
}

/* What has become of a request? now: what stands where its handle was. */
static void request_look(MPI_Request handle, MPI_Request now)
{
    struct dm_usage_request *request = request_find(handle);

    if (request == NULL)
        return;
    if (now != handle) {
        if (request->is_active)
            dm_usage_request_deactivate(request);
        dm_hash_del(&dm_usage_state.requests, (uint32_t)handle);
        dm_usage_request_drop(request);
    } else if (request->is_active && dm_req_is_inactive(request->req)) {
        dm_usage_request_deactivate(request);
    }
}

/* Calls that callbacks make end before those that have called them: the latest comes first. */
void dm_usage_awaited(const char *fn)
{
    if (!dm_usage_is_on())
        return;
    dm_list_for_each_safe (it, tmp, &dm_usage_state.awaits) {
        struct usage_await *await = dm_container_of(it, struct usage_await, link);

        if (await->fn != fn || !pthread_equal(await->thread, pthread_self()))
            continue;
        for (int i = 0; i < await->n; i++)
            if (await->copy[i] != MPI_REQUEST_NULL)
                request_look(await->copy[i], await->array[i]);
        dm_list_del(&await->link);
        free(await);
        dm_usage_look();
        return;
    }
}

/* ---- the report ---- */

void dm_usage_buffer_add(struct dm_strbuf *sb, const struct dm_usage_buffer *b)
{
    const char *way = b->is_written ? "from" : "to";

    if (b->peer == MPI_ANY_SOURCE)
        dm_strbuf_addf(sb, "%s any rank, ", way);
    else if (b->peer == MPI_PROC_NULL)
        dm_strbuf_addf(sb, "%s MPI_PROC_NULL, ", way);
    else if (b->peer != MPI_UNDEFINED)
        dm_strbuf_addf(sb, "%s rank %d, ", way, b->peer);
    if (b->tag == MPI_ANY_TAG)
        dm_strbuf_add(sb, "any tag, ");
    else if (b->tag != MPI_UNDEFINED)
        dm_strbuf_addf(sb, "tag %d, ", b->tag);
    dm_strbuf_addf(sb, "%llu bytes",
                   (unsigned long long)b->count * (unsigned long long)b->type->size);
}

static bool request_is_there(const struct dm_usage_request *request)
{
    return dm_req_is_done_handle(request->handle) || dm_req_get(request->handle) == request->req;
}

static void request_print(const struct dm_usage_request *request)
{
    char what[256], text[TEXT_LEN];
    struct dm_strbuf sb;
    const char *end = request->is_active ? "was never completed" : "was never freed";

    dm_strbuf_init(&sb, what, sizeof(what));
    for (int i = 0; i < request->n; i++) {
        dm_strbuf_add(&sb, i == 0 ? " (" : "; ");
        dm_usage_buffer_add(&sb, &request->buffers[i].b);
    }
    dm_strbuf_add(&sb, request->n > 0 ? ")" : "");
    dm_strbuf_init(&sb, text, sizeof(text));
    dm_usage_place_add(&sb, &request->started);
    dm_log_warn("DATUM_CHECK: a request of %s%s %s, made in\n%s", request->made.fn, what, end,
                text);
}

static int request_by_number(const void *a, const void *b)
{
    const struct dm_usage_request *x = *(struct dm_usage_request *const *)a;
    const struct dm_usage_request *y = *(struct dm_usage_request *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

void dm_usage_requests_report(void)
{
    struct dm_usage_request **left, *request;
    size_t pos = 0;
    uint64_t key;
    int n = 0;

    if (!dm_usage_has(DM_USAGE_REQUESTS) || dm_usage_state.requests.n_used == 0)
        return;
    left = calloc(dm_usage_state.requests.n_used, sizeof(struct dm_usage_request *));
    if (left == NULL)
        return;
    while ((request = dm_hash_next(&dm_usage_state.requests, &pos, &key)) != NULL)
        if (request_is_there(request))
            left[n++] = request;
    qsort(left, (size_t)n, sizeof(struct dm_usage_request *), request_by_number);
    for (int i = 0; i < n && i < DM_USAGE_LINES; i++)
        request_print(left[i]);
    if (n > DM_USAGE_LINES)
        dm_log_warn("DATUM_CHECK: %d requests in all were never completed or freed", n);
    free(left);
}

void dm_usage_requests_drop(void)
{
    struct dm_usage_request *request;
    size_t pos = 0;
    uint64_t key;

    while ((request = dm_hash_next(&dm_usage_state.requests, &pos, &key)) != NULL)
        dm_usage_request_drop(request);
    dm_hash_fini(&dm_usage_state.requests);
    dm_list_for_each_safe (it, tmp, &dm_usage_state.awaits)
        free(dm_container_of(it, struct usage_await, link));
    dm_list_init(&dm_usage_state.awaits);
}
