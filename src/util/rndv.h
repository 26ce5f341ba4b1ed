/*
 * Protocols of large messages (rendezvous), a row each. The name is what DATUM_RNDV and tuning files
 * say, the text what DATUM_EXPLAIN prints. Who does what is the table in mpi/pt2pt/rndv_proto.c;
 * which of read and pipe is the faster one, dapl_adapt finds out. Split takes the place of either while
 * both processes of one host wait in the library, each with a core.
 *
 *         in UCX          messages           copies
 * read    rndv/get/zcopy  RTS, FIN           none
 * pipe    rndv/am/bcopy   RTS, CTS, DATA...  into the ring and out of it
 * write   rndv/put/zcopy  RTS, CTS, FIN      none
 * imm     -               RTS, CTS           none; the write's immediate value is the FIN
 * serial  -               RTS, CTS, DATA...  as pipe, but no two at a time: a CTS for each DATA
 * split   -               RTS, CTS, FIN, FIN none; the receiver reads one half, the sender writes the other
 * zerocopy -              RTS, CTS, DATA...  none; as pipe, but channel/zero_copy.h reads what is in a DATA
 */
#ifndef DM_UTIL_RNDV_H
#define DM_UTIL_RNDV_H

/* X(PROTOCOL, name, text), in the order of their numbers, which RTS packets carry. */
#define DM_RNDV_PROTOS(X)                                                                          \
    X(READ, "read", "RDMA read")                                                                   \
    X(PIPE, "pipe", "copies through the pipe")                                                     \
    X(WRITE, "write", "RDMA write after the receiver's answer")                                    \
    X(IMM, "imm", "RDMA write with immediate value after the receiver's answer")                   \
    X(SERIAL, "serial", "copies through the pipe, one record after the other")                     \
    X(SPLIT, "split", "RDMA read of one half, RDMA write of the other")                            \
    X(ZEROCOPY, "zerocopy", "RDMA reads inside the pipe")

#define DM_RNDV_ENUM(PROTO, name, text) DM_RNDV_##PROTO,
/* AUTO: read or pipe, which is to be found out. */
enum dm_rndv { DM_RNDV_AUTO, DM_RNDV_PROTOS(DM_RNDV_ENUM) DM_N_RNDV };
#undef DM_RNDV_ENUM

/* The values of DATUM_RNDV: "auto|read|...". */
#define DM_RNDV_BAR_NAME(PROTO, name, text) "|" name
#define DM_RNDV_VALUES                      "auto" DM_RNDV_PROTOS(DM_RNDV_BAR_NAME)

const char *dm_rndv_name(enum dm_rndv proto);
const char *dm_rndv_text(enum dm_rndv proto);
/* The protocol of a name; DM_RNDV_AUTO: there is none. */
enum dm_rndv dm_rndv_find(const char *name);

#endif
