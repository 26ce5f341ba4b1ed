/*
 * Point-to-point communication (MPI-4.0 chapter 3): matching, eager and
 * rendezvous protocols, probes, completion.
 *
 * The bodies of MPI_Send and its kin (dm_send, ...) take objects, not handles; arguments are
 * checked by src/api. dm_p2p_* is for the layers above (collectives, communicator agreement,
 * one-sided).
 */
#ifndef DM_MPI_PT2PT_PT2PT_H
#define DM_MPI_PT2PT_PT2PT_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"

int dm_pt2pt_start(void); /* register packet handlers */
void dm_pt2pt_stop(void);
/* Wait until every send that was started is complete: buffered ones and freed requests included. */
void dm_pt2pt_drain(void);
/*
 * The same for the last time: a message that nobody has received when its receiver, too, is
 * here is forgotten. From now on this process receives only what it has posted.
 */
void dm_pt2pt_leave(void);
/* It was not the last time: a session is opened. */
void dm_pt2pt_return(void);

/* Counters for DATUM_STATS, at most max; how many. */
int dm_p2p_flow_stats(struct dm_adapt_stat *stats, int max);

/* The lengths of the queues. */
struct dm_p2p_lengths {
    size_t n_posted;     /* receives */
    size_t n_unexpected; /* messages, */
    size_t unexpected_bytes;
};
void dm_p2p_queues(struct dm_p2p_lengths *lengths);
/* "from rank 1 of MPI_COMM_WORLD, tag 5, 8 bytes; ...": some messages without a receive. */
void dm_p2p_unexpected_text(struct dm_strbuf *text);
/* Of them those of one communicator, without collectives, counted one by one. */
size_t dm_p2p_n_posted(const struct dm_comm *comm);
size_t dm_p2p_n_unexpected(const struct dm_comm *comm);
/*
 * What the program sends and gets on one communicator, kept while somebody has the tally. Without any a
 * message costs no more; with one every send of the process takes the way of those that cannot go at
 * once. Gone with the library, but for its memory.
 */
struct dm_p2p_tally {
    struct dm_list link; /* in dm_p2p.tallies */
    const struct dm_comm *comm;
    int n_users;
    uint64_t n_sent;
    uint64_t sent_bytes;
    uint64_t n_arrived; /* received or not */
    uint64_t arrived_bytes;
};
/* That of a communicator, made if there is none; NULL: no memory. */
struct dm_p2p_tally *dm_p2p_tally_get(const struct dm_comm *comm);
void dm_p2p_tally_put(struct dm_p2p_tally *tally);
/* The most unexpected messages that a communicator had since the last reset. NULL: no memory. */
struct dm_p2p_peak;
struct dm_p2p_peak *dm_p2p_peak_new(const struct dm_comm *comm);
size_t dm_p2p_peak_get(const struct dm_p2p_peak *peak);
void dm_p2p_peak_reset(struct dm_p2p_peak *peak);
void dm_p2p_peak_free(struct dm_p2p_peak *peak);
/* Has this process called MPI_Finalize? */
bool dm_p2p_is_leaving(void);
/*
 * To be called by a long wait: looks, once in a while, whether processes wait for each other for ever, and says so
 * (deadlock.c).
 */
void dm_p2p_deadlock_look(void);
/* For accounts of waits: a process that could end it, and the name of a communicator. */
void dm_p2p_account_proc(struct dm_wait_account *account, int proc);
void dm_p2p_account_comm(struct dm_wait_account *account, const struct dm_comm *comm);

/* ---- for layers above: explicit context, process numbers through comm ---- */

enum dm_send_mode { DM_SEND_STANDARD, DM_SEND_SYNC, DM_SEND_READY, DM_SEND_BUFFERED };

/* Start a send/receive on the collective context of comm (comm->ctx + 1). */
int dm_p2p_isend_coll(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                      struct dm_comm *comm, struct dm_req **req_p);
int dm_p2p_irecv_coll(void *buf, size_t count, struct dm_type *type, int source, int tag,
                      struct dm_comm *comm, struct dm_req **req_p);
/*
 * fn(arg) is called as the last thing when such a request ends and somebody still has it, in the
 * progress engine: it may send but not make progress. Of no effect on one that is complete.
 */
void dm_p2p_watch(struct dm_req *req, void (*fn)(void *arg), void *arg);
/* Blocking forms; cheaper than start and wait. */
int dm_p2p_send_coll(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                     struct dm_comm *comm);
int dm_p2p_recv_coll(void *buf, size_t count, struct dm_type *type, int source, int tag,
                     struct dm_comm *comm, MPI_Status *status);
int dm_p2p_sendrecv_coll(const void *sbuf, size_t scount, struct dm_type *stype, int dest,
                         void *rbuf, size_t rcount, struct dm_type *rtype, int source, int tag,
                         struct dm_comm *comm);

/* ---- buffered sends ---- */

/* The buffer that is attached to an object, which goes: wait until its messages have gone; NULL: there is none. */
void dm_p2p_bsend_end(struct dm_bsend **b_p);

/* ---- bodies of the MPI functions ---- */

/* In order of chapter 3; each does what the MPI function of that name says. */
int dm_send_to(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
               struct dm_comm *comm);
static inline int dm_send(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                          struct dm_comm *comm)
{
    return dm_unlikely(dest == MPI_PROC_NULL) ? DM_OK
                                              : dm_send_to(buf, count, type, dest, tag, comm);
}
int dm_bsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm);
int dm_ssend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm);
int dm_rsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm);
int dm_recv(void *buf, size_t count, struct dm_type *type, int source, int tag,
            struct dm_comm *comm, MPI_Status *status);
/*
 * Buffers of the process, a communicator, a session (MPI-4.1 section 3.6). buffer may be MPI_BUFFER_AUTOMATIC, whose
 * size does not count. Detaching waits until all its messages have gone, a flush until those have that are in it
 * now; *buffer_addr is a void *, NULL when none was attached. DM_ERR_BUFFER: one is attached already.
 */
int dm_buffer_attach(void *buffer, MPI_Count size);
int dm_buffer_detach(void *buffer_addr, MPI_Count *size);
int dm_buffer_flush(void);
int dm_buffer_iflush(struct dm_req **req_p);
int dm_comm_attach_buffer(struct dm_comm *comm, void *buffer, MPI_Count size);
int dm_comm_detach_buffer(struct dm_comm *comm, void *buffer_addr, MPI_Count *size);
int dm_comm_flush_buffer(struct dm_comm *comm);
int dm_comm_iflush_buffer(struct dm_comm *comm, struct dm_req **req_p);
int dm_session_attach_buffer(struct dm_session *session, void *buffer, MPI_Count size);
int dm_session_detach_buffer(struct dm_session *session, void *buffer_addr, MPI_Count *size);
int dm_session_flush_buffer(struct dm_session *session);
int dm_session_iflush_buffer(struct dm_session *session, struct dm_req **req_p);
int dm_isend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
             struct dm_comm *comm, struct dm_req **req_p);
int dm_ibsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p);
int dm_issend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p);
int dm_irsend(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
              struct dm_comm *comm, struct dm_req **req_p);
int dm_irecv(void *buf, size_t count, struct dm_type *type, int source, int tag,
             struct dm_comm *comm, struct dm_req **req_p);
/* Persistent requests (3.9); those of other chapters are started and ended by the same calls. */
int dm_send_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                 struct dm_comm *comm, struct dm_req **req_p);
int dm_bsend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p);
int dm_ssend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p);
int dm_rsend_init(const void *buf, size_t count, struct dm_type *type, int dest, int tag,
                  struct dm_comm *comm, struct dm_req **req_p);
int dm_recv_init(void *buf, size_t count, struct dm_type *type, int source, int tag,
                 struct dm_comm *comm, struct dm_req **req_p);
int dm_start(MPI_Request *request);
/* All must be persistent and inactive, else none is started. */
int dm_startall(int count, MPI_Request requests[]);
int dm_sendrecv(const void *sbuf, size_t scount, struct dm_type *stype, int dest, int stag,
                void *rbuf, size_t rcount, struct dm_type *rtype, int source, int rtag,
                struct dm_comm *comm, MPI_Status *status);
int dm_sendrecv_replace(void *buf, size_t count, struct dm_type *type, int dest, int stag,
                        int source, int rtag, struct dm_comm *comm, MPI_Status *status);
/* Their requests cannot be cancelled. */
int dm_isendrecv(const void *sbuf, size_t scount, struct dm_type *stype, int dest, int stag,
                 void *rbuf, size_t rcount, struct dm_type *rtype, int source, int rtag,
                 struct dm_comm *comm, struct dm_req **req_p);
int dm_isendrecv_replace(void *buf, size_t count, struct dm_type *type, int dest, int stag,
                         int source, int rtag, struct dm_comm *comm, struct dm_req **req_p);
int dm_probe(int source, int tag, struct dm_comm *comm, MPI_Status *status);
int dm_iprobe(int source, int tag, struct dm_comm *comm, int *flag, MPI_Status *status);
/*
 * A matched message is a request of kind DM_REQ_RECV with a handle; MPI_MESSAGE_NO_PROC is not one.
 */
int dm_mprobe(int source, int tag, struct dm_comm *comm, MPI_Message *message, MPI_Status *status);
int dm_improbe(int source, int tag, struct dm_comm *comm, int *flag, MPI_Message *message,
               MPI_Status *status);
int dm_mrecv(void *buf, size_t count, struct dm_type *type, MPI_Message *message,
             MPI_Status *status);
int dm_imrecv(void *buf, size_t count, struct dm_type *type, MPI_Message *message,
              struct dm_req **req_p);
/* Until a request of a file is complete: whoever waits does what a thread of the library would do. */
void dm_wait_for_job(struct dm_req *req);
/* Completion calls take the program's arrays: handles are resolved, checked and reset here. */
int dm_wait(MPI_Request *request, MPI_Status *status);
int dm_test(MPI_Request *request, int *flag, MPI_Status *status);
int dm_waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int dm_waitany(int count, MPI_Request requests[], int *index, MPI_Status *status);
int dm_waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                MPI_Status statuses[]);
int dm_testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]);
int dm_testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status);
int dm_testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                MPI_Status statuses[]);
int dm_request_free(MPI_Request *request);
/* As MPI_Test and its kin, but the requests stay, and an error of an operation is for the call that completes it. */
int dm_request_get_status(MPI_Request request, int *flag, MPI_Status *status);
int dm_request_get_status_all(int count, const MPI_Request requests[], int *flag,
                              MPI_Status statuses[]);
int dm_request_get_status_any(int count, const MPI_Request requests[], int *index, int *flag,
                              MPI_Status *status);
int dm_request_get_status_some(int incount, const MPI_Request requests[], int *outcount,
                               int indices[], MPI_Status statuses[]);
int dm_cancel(MPI_Request *request);
/*
 * Partitioned communication (chapter 4). The two sides may have different numbers of partitions;
 * count is of one partition.
 */
int dm_psend_init(const void *buf, int partitions, size_t count, struct dm_type *type, int dest,
                  int tag, struct dm_comm *comm, struct dm_info *info, struct dm_req **req_p);
int dm_precv_init(void *buf, int partitions, size_t count, struct dm_type *type, int source,
                  int tag, struct dm_comm *comm, struct dm_info *info, struct dm_req **req_p);
int dm_pready(int partition, MPI_Request request);
int dm_pready_range(int low, int high, MPI_Request request);
int dm_pready_list(int length, const int partitions[], MPI_Request request);
int dm_parrived(MPI_Request request, int partition, int *flag);
/* Generalized requests (13.2) and MPICH's extension, whose poll_fn and wait_fn may be NULL. */
int dm_grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                      MPI_Grequest_cancel_function *cancel_fn, void *extra, struct dm_req **req_p);
int dm_grequest_complete(MPI_Request request);
int dm_grequest_start_x(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn,
                        MPIX_Grequest_poll_function *poll_fn, MPIX_Grequest_wait_function *wait_fn,
                        void *extra, struct dm_req **req_p);
int dm_grequest_class_create(MPI_Grequest_query_function *query_fn,
                             MPI_Grequest_free_function *free_fn,
                             MPI_Grequest_cancel_function *cancel_fn,
                             MPIX_Grequest_poll_function *poll_fn,
                             MPIX_Grequest_wait_function *wait_fn, int *class);
int dm_grequest_class_allocate(int class, void *extra, struct dm_req **req_p);
/* The callbacks of this request are Fortran subroutines; nothing when it is no generalized one. */
void dm_grequest_set_fortran(MPI_Request request);
int dm_test_cancelled(const MPI_Status *status, int *flag);
static inline int dm_get_count(const MPI_Status *status, const struct dm_type *type,
                               MPI_Count *count)
{
    *count = dm_type_count_of(type, dm_status_bytes(status));
    return DM_OK;
}
int dm_get_elements(const MPI_Status *status, struct dm_type *type, MPI_Count *count);
/* Fill in at most max counters of DATUM_STATS; how many there are. */
int dm_p2p_stats(struct dm_adapt_stat *stats, int max);

#endif
