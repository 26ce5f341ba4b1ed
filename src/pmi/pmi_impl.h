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

struct dm_pmi {
    struct dm_pmi_job job;
    pid_t pid;                  /* who opened it: a forked child must stay silent */
    char name[DM_PMI_NAME_MAX]; /* of the key-value space */
    char host[DM_PMI_NAME_MAX]; /* of this process, as the launcher calls it */
    int *node_of;               /* job.node_of */
    int n_nodes;
    char **hosts; /* names that were asked for, by rank; NULL: none yet */
    int n_fences;
    int key_max;             /* bytes of a key with its NUL */
    int val_max;             /* bytes of a value with its NUL */
    int report_fd;           /* socket to our mpiexec, or -1 */
    int ack_fd;              /* closed at the other end when our mpiexec knows us, or -1 */
    struct dm_list pairs;    /* key-value pairs of a job of one */
    struct dm_pmi_wire wire; /* fd is -1 in a job of one */
};

/* ---- pmi_singleton.c: no launcher ---- */

/* DM_ELAUNCH when the environment says that this is one of several processes. */
int dm_pmi_check_alone(void);
/* Fill in the facts of a job of one. */
int dm_pmi_singleton_init(struct dm_pmi *pmi);
/* The key-value space of a job of one. */
int dm_pmi_singleton_put(struct dm_pmi *pmi, const char *key, const char *val);
int dm_pmi_singleton_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len);
void dm_pmi_singleton_fini(struct dm_pmi *pmi);

/* ---- pmi_client.c: Hydra ---- */

/* True when the environment names a way to a launcher. */
bool dm_pmi_has_launcher(void);
/* Connect, say hello, learn about the job. DM_ELAUNCH, DM_ENOMEM. */
int dm_pmi_client_init(struct dm_pmi *pmi);
int dm_pmi_client_put(struct dm_pmi *pmi, const char *key, const char *val);
int dm_pmi_client_get(struct dm_pmi *pmi, const char *key, char *buf, size_t len);
int dm_pmi_client_barrier(struct dm_pmi *pmi);
int dm_pmi_client_finalize(struct dm_pmi *pmi);

/* Publish the name of this host under a key of its own, for those on other hosts. */
int dm_pmi_client_put_host(struct dm_pmi *pmi);
/* The host name that a rank has published. */
int dm_pmi_client_get_host(struct dm_pmi *pmi, int rank, char *host, size_t len);

/* ---- pmi_report.c: our mpiexec ---- */

/* Find the socket of our mpiexec, if there is one, and tell it who we are. */
void dm_pmi_report_open(struct dm_pmi *pmi);
/* Wait until it knows us: before the first fence ends, so that it knows all. */
void dm_pmi_report_wait(struct dm_pmi *pmi);
/* Leaving is all right from here on. */
void dm_pmi_report_bye(struct dm_pmi *pmi);
/* The whole job is going to end because of us, who have said why. */
void dm_pmi_report_end(struct dm_pmi *pmi);

#endif
