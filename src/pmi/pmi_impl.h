/*
 * Inside of src/pmi: the client and what its files share.
 */
#ifndef DM_PMI_PMI_IMPL_H
#define DM_PMI_PMI_IMPL_H

#include <stdbool.h>
#include <sys/types.h>

#include "pmi/pmi.h"
#include "pmi/pmi_wire.h"
#include "util/list.h"

#define DM_PMI_NAME_MAX 256

/* Bytes of a value in the launcher's form, for buffers; a client's val_max is not above. */
#define DM_PMI_VAL_MAX (DM_PMI_LINE_MAX / 2)

enum dm_pmi_name { DM_PMI_PUBLISH, DM_PMI_UNPUBLISH, DM_PMI_LOOKUP };

/*
 * A way to speak to a launcher. Keys and values are in the form that the
 * launcher takes: within its limits, without characters that mean something to
 * it. All but abort: DM_ELAUNCH with the cause, or DM_ENOMEM.
 */
struct dm_pmi_proto {
    const char *name;
    /* Connect; learn rank, size, appnum, universe size, name, key_max and val_max. */
    int (*init)(struct dm_pmi *pmi);
    /* Fill node_of when the launcher knows who is where; *is_known_p says whether it does. */
    int (*map)(struct dm_pmi *pmi, bool *is_known_p);
    int (*put)(struct dm_pmi *pmi, const char *key, const char *val);
    /* rank: who has published it, -1 when that is not known. */
    int (*get)(struct dm_pmi *pmi, int rank, const char *key, char *buf, size_t len,
               bool *is_there_p);
    /* Fetch values of keys that will be asked for, first parts, as pairs; NULL: one by one, when they are. */
    int (*ahead)(struct dm_pmi *pmi, const char *const *keys, int n);
    int (*fence)(struct dm_pmi *pmi);
    /* The two halves of a fence over wire, which is readable when it is over; NULL: it has none. */
    int (*fence_start)(struct dm_pmi *pmi);
    int (*fence_end)(struct dm_pmi *pmi);
    int (*finalize)(struct dm_pmi *pmi);
    /*
     * Publish, unpublish or look up a name; words. NULL: it cannot. DM_ERR_SERVICE, DM_ERR_NAME,
     * DM_ELAUNCH.
     */
    int (*name_op)(struct dm_pmi *pmi, enum dm_pmi_name what, const char *service, const char *port,
                   char *answer, size_t len);
    /* Ask for the end of the whole job; returns when that was said. */
    void (*abort)(struct dm_pmi *pmi, int code, const char *text);
};

struct dm_pmi {
    struct dm_pmi_job job;
    const struct dm_pmi_proto *proto; /* NULL in a job of one that nobody has launched */
    pid_t pid;                        /* who opened it: a forked child must stay silent */
    char name[DM_PMI_NAME_MAX];       /* of the key-value space */
    char host[DM_PMI_NAME_MAX];       /* of this process, as the launcher calls it */
    int *node_of;                     /* job.node_of */
    int n_nodes;
    char **hosts; /* names that were asked for, by rank; NULL: none yet */
    int n_fences;
    int key_max;             /* bytes of a key with its NUL */
    int val_max;             /* bytes of a value with its NUL */
    bool takes_many;         /* the launcher reads several requests at once */
    struct dm_list pairs;    /* key-value pairs of a job of one, or that were fetched ahead */
    struct dm_pmi_wire wire; /* of PMI-1 and PMI-2, else its fd is -1 */
    struct dm_pmi_pmix *pmix;
    uint64_t own;   /* what other processes call this job, dm_pmi_set_own */
    int spawned_fd; /* of the mpiexec of the last job spawned; -1: none */
};

/* ---- pmi_choose.c ---- */

/*
 * Which client the environment, or the setting DATUM_PMI, asks for: *proto_p is
 * NULL when this is a job of one. DM_ELAUNCH when there should be others, and no
 * way to them. why (len bytes) gets the reason in words.
 */
int dm_pmi_choose(const struct dm_pmi_proto **proto_p, char *why, size_t len);

/* ---- pmi_singleton.c: no launcher ---- */

/*
 * DM_ELAUNCH when the environment says that this is one of several processes;
 * note, if not empty, tells why the way that there is cannot be used.
 */
int dm_pmi_check_alone(const char *note);
/* Fill in the facts of a job of one. */
int dm_pmi_singleton_init(struct dm_pmi *pmi);
/* The key-value space of a job of one. */
int dm_pmi_singleton_put(struct dm_pmi *pmi, const char *key, const char *val);
int dm_pmi_singleton_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len);
void dm_pmi_singleton_fini(struct dm_pmi *pmi);
/* Take a value that was put there, before its key was asked for. False: it was not, or is too long. */
bool dm_pmi_singleton_take(struct dm_pmi *pmi, const char *key, char *buf, size_t len);

/* ---- pmi_client.c: what is the same for all launchers ---- */

/* Connect, learn about the job and who is where. DM_ELAUNCH, DM_ENOMEM. */
int dm_pmi_client_init(struct dm_pmi *pmi);
/* The parts in which the launcher takes a value, to fn one by one. */
int dm_pmi_client_parts(struct dm_pmi *pmi, const char *key, const char *val,
                        int (*fn)(void *arg, const char *key, const char *val), void *arg);
/* Values of any characters, up to DM_KV_VAL_MAX, in parts that the launcher takes. */
int dm_pmi_client_put(struct dm_pmi *pmi, const char *key, const char *val);
int dm_pmi_client_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len);
/* Publish the name of this host under a key of its own, for those on other hosts. */
int dm_pmi_client_put_host(struct dm_pmi *pmi);
/* The host name that a rank has published. */
int dm_pmi_client_get_host(struct dm_pmi *pmi, int rank, char *host, size_t len);
/* How long a launcher may take for an answer, microseconds: longer with more ranks, whose start
 * keeps the cores of a host busy. That it is gone is seen at once. */
uint64_t dm_pmi_client_timeout(const struct dm_pmi *pmi);

/* Is the launcher our mpiexec, or an agent of it? */
bool dm_pmi_is_ours(const struct dm_pmi *pmi);

/* ---- pmi_search.c ---- */

struct dm_pmi_program;
/* Would a launcher find this program to execute on this host? */
bool dm_pmi_can_execute(const struct dm_pmi_program *program);

/* ---- pmi_fd.c: the descriptor that PMI-1 and PMI-2 are spoken over ---- */

/* True when PMI_FD or PMI_PORT is set, and not only inherited from a job of one. */
bool dm_pmi_fd_is_offered(void);
/* Take rank and size from the environment, and PMI_FD for the wire. */
int dm_pmi_fd_open(struct dm_pmi *pmi);
/* Connect the wire to HOST:PORT, the value of PMI_PORT. */
int dm_pmi_fd_dial(struct dm_pmi *pmi, const char *port);
/* Read the answer to the oldest request that has none; it must be the command cmd. */
int dm_pmi_fd_answer(struct dm_pmi *pmi, const char *cmd, uint64_t timeout, const char **line_p);
/* True when the line says rc=0 or has no rc at all. */
bool dm_pmi_fd_is_success(const char *line);

/* ---- pmi_v1.c, pmi_v2.c, pmi_pmix.c or pmi_pmix_none.c: the ways to speak ---- */

/* PMI-1 of Hydra and others, PMI-2 of Slurm and Cray, PMIx of Open MPI, Slurm and others. */
const struct dm_pmi_proto *dm_pmi_v1(void);
const struct dm_pmi_proto *dm_pmi_v2(void);
const struct dm_pmi_proto *dm_pmi_pmix(void);
/* True when libpmix can be used; else why (len bytes) tells the reason. */
bool dm_pmi_pmix_probe(char *why, size_t len);
/* What the client of PMIx was built with, for datum-info. */
const char *dm_pmi_pmix_built(void);
/* Free what init has allocated. */
void dm_pmi_pmix_fini(struct dm_pmi *pmi);

#endif
