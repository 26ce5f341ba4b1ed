/*
 * Where a process is: a memory file of each (or a file without a name, where those are refused), which others of the same user on its host find by its name among the
 * descriptors of the process (/proc/PID/fd). It is written by calls that wait for long, and by a signal. Nothing
 * stays behind, whatever ends the process.
 */
#ifndef DM_UTIL_WHERE_H
#define DM_UTIL_WHERE_H

#include <stdatomic.h>
#include <stdint.h>

#define DM_WHERE_FILE    "datum-where"
#define DM_WHERE_MAGIC   UINT32_C(0x65726877)
#define DM_WHERE_VERSION 2
#define DM_WHERE_STACK   12288
/* A wait that has not been seen for so long is over. */
#define DM_WHERE_STALE_NS UINT64_C(1000000000)

/* A wait, with times of dm_clock_ns. */
struct dm_where_wait {
    uint64_t since_ns; /* 0: there was none */
    uint64_t seen_ns;  /* it still waited */
    char call[64];     /* MPI function; "" */
    char text[320];    /* what it waits for */
    uint64_t n_posted; /* receives, */
    uint64_t n_unexpected;
    uint64_t unexpected_bytes; /* of messages without a receive, */
    char unexpected[320];      /* some of them */
};

struct dm_where {
    uint32_t magic;
    uint32_t version;
    int32_t rank;
    int32_t size; /* of the job */
    int32_t pid;
    char job[128];
    char host[128];
    _Atomic uint32_t seq; /* odd: wait is being written */
    struct dm_where_wait wait;
    _Atomic uint32_t n_stacks; /* written so far */
    char stack[DM_WHERE_STACK];
};

/* Open the file of this process. Where there can be none the rest does nothing. */
void dm_where_open(int rank, int size, const char *job, const char *host);
void dm_where_close(void);
/* What the process waits for. */
void dm_where_write(const struct dm_where_wait *wait);

/* ---- for others ---- */

/* A copy of a process's wait. */
struct dm_where_wait dm_where_read(struct dm_where *where);
/*
 * Have the main thread of a process write its stack: n_stacks is one more then. Nothing happens when it has taken the
 * signal for itself (SIGURG, which is ignored without a handler).
 */
void dm_where_ask(const struct dm_where *where);

#endif
