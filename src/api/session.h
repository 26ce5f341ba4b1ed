/*
 * Sessions (MPI-4.0 section 11.3), and the library's users: it is up while the world model
 * (MPI_Init) or a session is.
 */
#ifndef DM_API_SESSION_H
#define DM_API_SESSION_H

#include "mpi/core/core.h"

/* ---- users of the library, in init.c ---- */

/* One more: starts the library if need be, at least at this level. fn is for messages. */
int dm_users_add(const char *fn, int thread_level);
/*
 * Sessions may come: keep the library, which is up, when the last user goes, until the process exits.
 * DM_ENOMEM.
 */
int dm_users_expect_sessions(void);
/*
 * One less. After the last one nothing may be called but what may be called at any time and what
 * adds a user; the layers stay up for that until the process exits.
 */
void dm_users_drop(void);

/* ---- bodies ---- */

/* Takes what the program passes, since nothing is up yet; returns what MPI returns. */
int dm_session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session);
int dm_session_finalize(MPI_Session *session);
int dm_session_get_num_psets(struct dm_session *session, struct dm_info *info, int *n);
/* *len counts the terminating null; 0 asks for the length only. */
int dm_session_get_nth_pset(struct dm_session *session, struct dm_info *info, int n, int *len,
                            char *name);
int dm_session_get_pset_info(struct dm_session *session, const char *name, struct dm_info **info_p);
int dm_session_get_info(struct dm_session *session, struct dm_info **info_p);
int dm_group_from_session_pset(struct dm_session *session, const char *name,
                               struct dm_group **group_p);
int dm_session_set_errhandler(struct dm_session *session, struct dm_errhandler *eh);
int dm_session_get_errhandler(struct dm_session *session, struct dm_errhandler **eh_p);
int dm_session_call_errhandler(struct dm_session *session, int errorcode);

/* Collective over the group; MPI_GROUP_EMPTY gives NULL. DM_ERR_GROUP for those not in it. */
int dm_comm_create_from_group(struct dm_group *group, const char *tag, struct dm_info *info,
                              struct dm_errhandler *eh, struct dm_comm **comm_p);
/* remote counts at the leader of local only. */
int dm_intercomm_create_from_groups(struct dm_group *local, int local_leader,
                                    struct dm_group *remote, int remote_leader, const char *tag,
                                    struct dm_info *info, struct dm_errhandler *eh,
                                    struct dm_comm **comm_p);

#endif
