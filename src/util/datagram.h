/*
 * Datagrams: short messages between processes of a host that are not connected.
 *
 * A DAT provider that has them fills this in when it is called as dat_extension_op(ia, DM_DATAGRAM_OP,
 * &datagrams), with struct dm_datagrams datagrams; once more, with wake_evd DAT_HANDLE_NULL, before that queue is
 * freed. Each instance has a box of slots that all others write to. A datagram is in its slot as soon as it
 * has been sent, and is not lost but with its receiver. Those of one sender may be found in any order.
 */
#ifndef DM_UTIL_DATAGRAM_H
#define DM_UTIL_DATAGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/port.h"

#define DM_DATAGRAM_OP 0x44430002

#define DM_DATAGRAM_MAX 1136 /* bytes of data */

/* What is in a slot. */
struct dm_datagram {
    uint32_t source;
    uint32_t number; /* the consumer's */
    uint32_t len;
    DM_ALIGNED(8) unsigned char data[];
};

struct dm_datagrams {
    /* From the consumer: its job, its number there, and the queue that gets a software event when one comes while
     * it is asleep. */
    uint64_t job;
    uint32_t me;
    void *wake_evd;
    /* From the provider. */
    void *arg;
    const _Atomic uint64_t *due; /* not 0: something has come */
    /* The box of another process of the job; NULL: it has none. */
    void *(*find)(void *arg, uint32_t number);
    /* A slot of it that takes *cap_p bytes, to be filled in, and in *cap_p how many it takes; NULL: all are taken,
     * and this consumer is woken when there are some. */
    struct dm_datagram *(*claim)(void *arg, void *box, uint32_t *cap_p);
    void (*send)(void *arg, void *box, const struct dm_datagram *slot);
    /* Hand over what has come, how many; their slots are free again when it returns, at the latest. */
    int (*receive)(void *arg, void (*take)(void *take_arg, const struct dm_datagram *slot),
                   void *take_arg);
    /* Has the owner of that box ended without leaving it? */
    bool (*has_died)(void *arg, void *box);
    /* From now on senders wake the consumer, or need not do it; then it looks at `due` once more. */
    void (*sleep)(void *arg, bool is_asleep);
};

#endif
