/*
 * The settings: one row makes the struct field, the DATUM_* name, the parser,
 * `datum-info` and the documentation. Types: STR, BOOL, UINT, SIZE (bytes, with
 * k m g suffixes, or auto where that is the default), USEC (microseconds, with us ms s suffixes), ENUM (the help
 * text starts with "a|b|c: " and the value is the index).
 */
#ifndef DM_UTIL_CFG_TABLE_H
#define DM_UTIL_CFG_TABLE_H

#include "config.h" /* DM_DOC */
#include "util/rndv.h"

/* NAME, TYPE, default, field, help */
#define DM_CFG_TABLE(X)                                                                            \
    X(PROVIDER, STR, "", provider,                                                                 \
      "DAT provider names to use, in order of preference, separated by commas; empty: every "      \
      "provider that opens")                                                                       \
    X(EXPLAIN, BOOL, "no", explain,                                                                \
      "print once per job which provider and protocol each class of peers uses, who was "          \
      "refused and why, and which algorithms collectives take")                                    \
    X(STATS, ENUM, "no", stats,                                                                    \
      "no|yes|calls: print in MPI_Finalize what the job cost: start-up, memory, connections, "     \
      "traffic; least, mean and most over the processes; calls: a profile of the MPI functions, "  \
      "too: how often, bytes, time, waiting")                                                      \
    X(TRACE, STR, "", trace, "areas to trace, separated by commas, or all (debug builds)")         \
    X(CONNECT, ENUM, "auto", connect,                                                              \
      "auto|start|demand: when connections are made; auto: at start up to 8 processes")            \
    X(EAGER, ENUM, "auto", eager,                                                                  \
      "auto|rdma|sendrecv|basic: how small messages travel; auto: by RDMA into a ring, but over "  \
      "networks by send/receive when processes outnumber cores; basic: as rdma, but data, head "   \
      "and tail each in a write of its own (" DM_DOC("TUNING.md") ")")                             \
    X(RING_SLOTS, UINT, "64", ring_slots, "slots in the eager ring of a connection")               \
    X(RING_SLOT_SIZE, SIZE, "auto", ring_slot_size,                                                \
      "bytes in a slot of the eager ring; auto: 16k, but 64k in half as many slots over networks " \
      "where every message costs system calls and rings need not be locked")                       \
    X(SRQ, BOOL, "no", srq,                                                                        \
      "have small messages of all peers come into receives that they share, so that "              \
      "DATUM_SRQ_SIZE bounds the memory for them; not with providers that pin memory (" DM_DOC(    \
          "TUNING.md") ")")                                                                        \
    X(SRQ_FROM, UINT, "2", srq_from,                                                               \
      "DATUM_SRQ=yes holds for jobs of at least so many processes; in smaller ones each peer has " \
      "a ring")                                                                                    \
    X(SRQ_SIZE, SIZE, "1m", srq_size,                                                              \
      "bytes of the receives that the peers share, for each provider, and as many to send from; "  \
      "every process of the job has four of them, the rest is for those who are busy")             \
    X(EAGER_LIMIT, SIZE, "auto", eager_limit,                                                      \
      "largest message sent without rendezvous, bytes; auto: 16k, inside a host 32k to few "       \
      "peers, else 8k if processes outnumber cores, and two slots where those are larger")         \
    X(UNEXPECTED, SIZE, "64m", unexpected,                                                         \
      "bytes of messages without a receive that a process keeps: beyond, others send theirs by "   \
      "rendezvous until half of it is free; 0: always; a short message counts 64")                 \
    X(RNDV, ENUM, "auto", rndv,                                                                    \
      DM_RNDV_VALUES                                                                               \
      ": rendezvous by RDMA read and a FIN; by copies through the ring; "                          \
      "by RDMA write after the receiver's answer and a FIN; by RDMA write whose immediate value "  \
      "is the FIN, where the provider has that; serial: as pipe, but chunk after chunk, without "  \
      "any overlap; auto: read or pipe, whichever is faster now, by what large messages took")     \
    X(RNDV_INLINE, BOOL, "no", rndv_inline,                                                        \
      "send the first bytes of a message with the request to send, at most 4k of them")            \
    X(FIN, ENUM, "completion", fin,                                                                \
      "completion|chained: when the FIN behind an RDMA write (DATUM_RNDV=write) is posted: once "  \
      "the write has completed, as a packet, or at once behind the write on the same endpoint")    \
    X(CHUNK, SIZE, "auto", chunk,                                                                  \
      "bytes of a chunk of a large message that goes through the ring, all of them copied; auto: " \
      "as much as a slot takes, and sent from where it is where that is cheaper than a copy")      \
    X(REG_CACHE, ENUM, "yes", reg_cache,                                                           \
      "no|yes|exact|dme|interval: keep memory registrations after use; exact: for just the same "  \
      "range; dme: from the same page on; interval, which yes means: for all that lies within")    \
    X(REG_CACHE_SIZE, SIZE, "256m", reg_cache_size,                                                \
      "bytes the registration cache may keep unused")                                              \
    X(SPIN, USEC, "auto", spin,                                                                    \
      "how long to poll before waiting in the provider; auto: long while every process has a "     \
      "core, a few microseconds otherwise")                                                        \
    X(PROGRESS, ENUM, "adaptive", progress,                                                        \
      "poll|adaptive|wait|thread|threads2: how calls wait: polling for ever, polling for "         \
      "DATUM_SPIN and then asleep in the provider, asleep at once; thread: as adaptive, and a "    \
      "thread that sleeps in the provider makes progress while the program computes; threads2: "   \
      "two of them, one for what comes and one for what was posted and for connections")           \
    X(CQ, ENUM, "auto", cq,                                                                        \
      "auto|shared|split: completion queues of a provider (EVDs): one for all, or one for "        \
      "receives and one for requests; auto: shared, but split with DATUM_PROGRESS=threads2; "      \
      "completions are counted where this is set")                                                 \
    X(COLL, STR, "", coll,                                                                         \
      "algorithms of collectives to use where they can do the job, as in "                         \
      "bcast=scatter,barrier=tree; empty: by the library's table")                                 \
    X(COLL_SHM, ENUM, "auto", coll_shm,                                                            \
      "auto|yes|no: whether collectives use memory that the processes of a host share; auto: "     \
      "from the 16th of a communicator on, when a provider reaches peers on this host by "         \
      "sharing memory, too; yes: from the second on")                                              \
    X(COLL_FILE, STR, "", coll_file,                                                               \
      "a file of rows by which collectives choose their algorithms; for what it leaves open the "  \
      "library's table holds (" DM_DOC("TUNING.md") ")")                                           \
    X(TUNE, STR, "auto", tune,                                                                     \
      "auto, no, or a file: thresholds and algorithms that datum-tune has measured for "           \
      "providers; auto: the user's file or the installation's, if there is one (" DM_DOC(          \
          "TUNING.md") ")")                                                                        \
    X(RMA, ENUM, "auto", rma,                                                                      \
      "auto|emulated|direct: one-sided communication; emulated: everything by packets that the "   \
      "target's processor applies; direct: loads and stores or RDMA wherever the target's memory " \
      "can be reached, packets for nothing but the rest; auto: direct, and by the target's "       \
      "processor where that is faster")                                                            \
    X(RMA_ATOMIC, ENUM, "auto", rma_atomic,                                                        \
      "auto|yes|no: whether locks of windows are taken by the provider's fetch-and-add; auto: "    \
      "when the processes of a host share no memory for them, and no processor has to carry it "   \
      "out; yes: wherever a provider has it; no: nor the shared pointers of files of several "     \
      "hosts")                                                                                     \
    X(RMA_UPDATE, ENUM, "auto", rma_update,                                                        \
      "auto|yes|no: whether 8-byte integers in windows are updated by the provider's atomic "      \
      "operations alone; auto: in windows with the hint mpi_accumulate_granularity from 1 to 8, "  \
      "when no two of their processes share a host, and no processor has to carry it out; yes: "   \
      "wherever a provider has them, which makes long accumulates slow")                           \
    X(RECONNECT, USEC, "10s", reconnect,                                                           \
      "how long a broken connection is tried again over all rails before the loss is final; 0: "   \
      "lost at once")                                                                              \
    X(RAIL_RETRY, USEC, "3s", rail_retry,                                                          \
      "after how long a rail that was lost, or did not open, is tried again, twice as long with "  \
      "each time that it does not stay; 0: never")                                                 \
    X(RAILS, UINT, "4", rails, "network rails that a large transfer is spread over at most")       \
    X(STRIPE, SIZE, "256k", stripe, "bytes of a large transfer that are worth another rail")       \
    X(PMI, ENUM, "auto", pmi,                                                                      \
      "auto|pmi1|pmi2|pmix: how to speak to the launcher; auto: what its environment offers")      \
    X(PMIX_LIB, STR, "", pmix_lib,                                                                 \
      "the PMIx library to load for a PMIx launcher; empty: libpmix.so.2")                         \
    X(DEADLOCK, USEC, "10s", deadlock,                                                             \
      "how long a call waits before the library looks whether processes wait for each other for "  \
      "ever, and says so; 0: it never looks")                                                      \
    X(CHECK, STR, "no", check,                                                                     \
      "no, yes, or some of collectives,leaks,buffers,requests: whether to look for mistakes in "   \
      "how the program uses MPI (" DM_DOC("TROUBLESHOOTING.md") ")")                               \
    X(INITIAL_ERRHANDLER, ENUM, "mpi_errors_are_fatal", initial_errhandler,                        \
      "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return: the error handler that "           \
      "MPI_COMM_WORLD, MPI_COMM_SELF and the communicator with the parent begin with; set by "     \
      "mpiexec -initial-errhandler and the info key mpi_initial_errhandler")                       \
    X(TIMEOUT, USEC, "30s", timeout, "how long a connection may take before it is an error")

/*
 * Variables of this prefix that are read by the commands around the library
 * (mpiexec, mpicc, the tests), so that the library does not call them unknown.
 * NAME, help
 */
#define DM_CFG_OTHER_TABLE(X)                                                                      \
    X(HYDRA, "the Hydra that starts mpiexec on other hosts; default: mpiexec.hydra in PATH")       \
    X(CC, "the C compiler that mpicc calls; default: the one that built the library")              \
    X(CXX, "the C++ compiler that mpicxx calls; default: g++")                                     \
    X(FC, "the Fortran compiler that mpifort calls; default: gfortran")                            \
    X(MODULES, "whose Fortran modules mpifort takes: own or mpich; default: own, if built")        \
    X(TERMINAL, "set by mpiexec for its ranks: the width of the terminal that it writes to")       \
    X(AGENT, "set by mpiexec for itself on other hosts: its command line")                         \
    X(AGENT_HOSTS, "set by mpiexec for itself on other hosts: the hosts of the job")               \
    X(ARENA, "set by mpiexec for its ranks: the memory that those of a host share")                \
    X(BUILD, "the build directory, for the tests")

#endif
