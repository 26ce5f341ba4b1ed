/*
 * Sessions: an isolated way to the library's processes, by names of process sets. There are two sets,
 * the world's and the process's own. A communicator from a group is agreed upon over the hidden
 * communicator, where the tag keeps agreements apart that run at the same time.
 */
#include "api/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/procs.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/glock.h"
#include "util/stack.h"

static const char *const psets[] = {DM_PSET_WORLD, DM_PSET_SELF};
enum { PSET_WORLD, PSET_SELF, N_PSETS };

#define KINDS_KEY "mpi_memory_alloc_kinds"

static const char *const level_names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                          "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

/* ---- begin and end ---- */

static int session_level_of(const struct dm_info *info)
{
    const char *name = dm_info_value(info, "thread_level");

    for (int level = MPI_THREAD_SINGLE; name != NULL && level <= MPI_THREAD_MULTIPLE; level++)
        if (strcmp(name, level_names[level]) == 0)
            return level;
    return MPI_THREAD_SINGLE;
}

/* Is this a kind of memory with restrictors that are known (MPI-4.1 section 11.4.3)? It is cut into pieces. */
static bool session_has_kind(char *kind)
{
    static const char *const restrictors[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};
    char *rest = NULL;
    const char *part = strtok_r(kind, ":", &rest);
    bool is_known = true;

    if (part == NULL || (strcmp(part, "mpi") != 0 && strcmp(part, "system") != 0))
        return false;
    if (strcmp(part, "system") == 0)
        return strtok_r(NULL, ":", &rest) == NULL;
    while (is_known && (part = strtok_r(NULL, ":", &rest)) != NULL) {
        is_known = false;
        for (size_t i = 0; i < sizeof(restrictors) / sizeof(restrictors[0]); i++)
            is_known = is_known || strcmp(part, restrictors[i]) == 0;
    }
    return is_known;
}

/* Of the kinds that are asked for those that it has; the two that all libraries have are always among them. */
static void session_grant_kinds(struct dm_session *session, const struct dm_info *info)
{
    const char *asked = dm_info_value(info, KINDS_KEY);
    char list[MPI_MAX_INFO_VAL], kind[MPI_MAX_INFO_VAL];
    char *rest = NULL;
    int n;

    if (asked == NULL)
        return;
    n = snprintf(session->alloc_kinds, sizeof(session->alloc_kinds), "mpi,system");
    snprintf(list, sizeof(list), "%s", asked);
    for (const char *at = strtok_r(list, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        snprintf(kind, sizeof(kind), "%s", at);
        if (strchr(at, ':') != NULL && session_has_kind(kind) &&
            (size_t)n + 1 + strlen(at) < sizeof(session->alloc_kinds))
            n += snprintf(session->alloc_kinds + n, sizeof(session->alloc_kinds) - (size_t)n, ",%s",
                          at);
    }
}

/* What was granted; hints that mean nothing here are not repeated. */
static int session_granted(const struct dm_session *session, struct dm_info **info_p)
{
    int err = dm_info_create(info_p);

    if (err == DM_OK)
        err = dm_info_set(*info_p, "thread_level", level_names[session->thread_level]);
    if (err == DM_OK && session->alloc_kinds[0] != '\0')
        err = dm_info_set(*info_p, KINDS_KEY, session->alloc_kinds);
    return err;
}

static int session_create(const struct dm_info *info, struct dm_errhandler *eh,
                          struct dm_session **session_p)
{
    struct dm_session *session = calloc(1, sizeof(*session));
    int level = session_level_of(info);
    int err;

    if (session == NULL)
        return DM_FAIL(DM_ENOMEM, "session object");
    err = dm_users_add("MPI_Session_init", level);
    if (err == DM_OK) {
        err = dm_users_expect_sessions();
        if (err == DM_OK)
            err = dm_handle_new(DM_KIND_SESSION, &session->obj);
        if (err != DM_OK)
            dm_users_drop();
    }
    if (err != DM_OK) {
        free(session);
        return err;
    }
    session->thread_level = dm_world.thread_level;
    session_grant_kinds(session, info);
    session->eh = eh;
    dm_errhandler_ref(eh);
    *session_p = session;
    return DM_OK;
}

/* A call that fails leaves where calls enter: not while they need not. */
static void session_forget_name(void)
{
    if (!dm_api.is_slow)
        dm_stack_leave();
}

int dm_session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    static const struct dm_fn fn = {.name = "MPI_Session_init",
                                    .args = "info=I errhandler=E session=p",
                                    .owner = DM_OWNER_ERRH};
    struct dm_info *info_o = NULL;
    struct dm_errhandler *eh;
    struct dm_session *made = NULL;
    int err = DM_OK;

    dm_api_enter_early(&fn);
    eh = dm_handle_get(DM_KIND_ERRHANDLER, errhandler);
    info_o = dm_handle_get(DM_KIND_INFO, info);
    if (eh == NULL)
        err = DM_FAIL(DM_ERR_ARG, "errhandler is 0x%x, which is no error handler",
                      (unsigned)errhandler);
    else if (eh->kind == DM_EH_USER && eh->object != DM_KIND_SESSION)
        err = DM_FAIL(DM_ERR_ARG, "errhandler was made for another kind of object than a session");
    else if (info_o == NULL && info != MPI_INFO_NULL)
        err = DM_FAIL(DM_ERR_INFO, "info is 0x%x, which is no info object", (unsigned)info);
    else if (session == NULL)
        err = DM_FAIL(DM_ERR_ARG, "session is a null pointer");
    if (err == DM_OK)
        err = session_create(info_o, eh, &made);
    if (err != DM_OK) {
        session_forget_name();
        return dm_api_fail(&fn, err, eh, info, errhandler, (const void *)session);
    }
    *session = made->obj.handle;
    dm_api_leave();
    return MPI_SUCCESS;
}

int dm_session_finalize(MPI_Session *session)
{
    static const struct dm_fn fn = {
        .name = "MPI_Session_finalize", .args = "session=p", .owner = DM_OWNER_SESSION};
    struct dm_session *obj = NULL;

    dm_api_enter_early(&fn);
    if (session != NULL)
        obj = dm_handle_get(DM_KIND_SESSION, *session);
    if (obj == NULL) {
        session_forget_name();
        return dm_api_fail(&fn,
                           DM_FAIL(DM_ERR_SESSION, "session is no session, or one that was "
                                                   "finalized"),
                           NULL, (const void *)session);
    }
    dm_p2p_bsend_end(&obj->bsend);
    dm_handle_drop(DM_KIND_SESSION, &obj->obj);
    dm_errhandler_unref(obj->eh);
    free(obj);
    *session = MPI_SESSION_NULL;
    dm_users_drop();
    dm_api_leave();
    return MPI_SUCCESS;
}

int dm_session_get_info(struct dm_session *session, struct dm_info **info_p)
{
    return session_granted(session, info_p);
}

/* ---- error handlers ---- */

int dm_session_set_errhandler(struct dm_session *session, struct dm_errhandler *eh)
{
    dm_errhandler_set(&session->eh, eh);
    return DM_OK;
}

int dm_session_get_errhandler(struct dm_session *session, struct dm_errhandler **eh_p)
{
    dm_errhandler_ref(session->eh);
    *eh_p = session->eh;
    return DM_OK;
}

/* ---- process sets ---- */

static int session_find_pset(const char *name, int *pset_p)
{
    for (*pset_p = 0; *pset_p < N_PSETS; ++*pset_p)
        if (strcasecmp(name, psets[*pset_p]) == 0) /* as in MPICH */
            return DM_OK;
    return DM_FAIL(DM_ERR_ARG, "there is no process set \"%s\", only %s and %s", name,
                   psets[PSET_WORLD], psets[PSET_SELF]);
}

int dm_session_get_num_psets(struct dm_session *session, struct dm_info *info, int *n)
{
    (void)session;
    (void)info;
    *n = N_PSETS;
    return DM_OK;
}

int dm_session_get_nth_pset(struct dm_session *session, struct dm_info *info, int n, int *len,
                            char *name)
{
    (void)session;
    (void)info;
    if (n < 0 || n >= N_PSETS)
        return DM_FAIL(DM_ERR_ARG, "n is %d; the process sets are 0 to %d", n, N_PSETS - 1);
    if (*len > 0 && name == NULL)
        return DM_FAIL(DM_ERR_ARG, "pset_name is a null pointer");
    if (*len > 0)
        snprintf(name, (size_t)*len, "%s", psets[n]);
    *len = (int)strlen(psets[n]) + 1;
    return DM_OK;
}

int dm_session_get_pset_info(struct dm_session *session, const char *name, struct dm_info **info_p)
{
    char size[16];
    int pset;
    int err = session_find_pset(name, &pset);

    (void)session;
    if (err == DM_OK)
        err = dm_info_create(info_p);
    if (err != DM_OK)
        return err;
    snprintf(size, sizeof(size), "%d", pset == PSET_WORLD ? dm_world.size : 1);
    return dm_info_set(*info_p, "mpi_size", size);
}

int dm_group_from_session_pset(struct dm_session *session, const char *name,
                               struct dm_group **group_p)
{
    const struct dm_group *group;
    int pset;
    int err = session_find_pset(name, &pset);

    if (err != DM_OK)
        return err;
    group = (pset == PSET_WORLD ? dm_world.comm_world : dm_world.comm_self)->group;
    err = dm_group_copy(group, group_p);
    if (err == DM_OK)
        (*group_p)->session = session->obj.handle;
    return err;
}

/* ---- communicators ---- */

/* The tag of a text: the same in all processes. */
static int session_tag_of(const char *text, unsigned seed)
{
    unsigned hash = 2166136261u ^ seed;

    while (*text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 16777619u;
    return (int)(hash & INT32_MAX);
}

static int session_check_tag(const char *tag)
{
    size_t len = strnlen(tag, MPI_MAX_STRINGTAG_LEN);

    return len < MPI_MAX_STRINGTAG_LEN
               ? DM_OK
               : DM_FAIL(DM_ERR_ARG, "stringtag has more than %d characters",
                         MPI_MAX_STRINGTAG_LEN - 1);
}

static int session_check_member(const struct dm_group *group, const char *name)
{
    return group->rank != MPI_UNDEFINED
               ? DM_OK
               : DM_FAIL(DM_ERR_GROUP, "the calling process is not in %s", name);
}

static int session_finish(struct dm_comm *comm, struct dm_info *info, struct dm_errhandler *eh)
{
    dm_errhandler_set(&comm->eh, eh);
    return info != NULL ? dm_comm_set_info(comm, info) : DM_OK;
}

static int session_agree(struct dm_group *group, int tag, struct dm_comm **comm_p)
{
    struct dm_comm *hidden;
    int err = dm_comm_hidden_get(group, &hidden);

    if (err != DM_OK)
        return err;
    err = dm_comm_create_group(hidden, group, tag, comm_p);
    dm_comm_unref(hidden);
    return err;
}

int dm_comm_create_from_group(struct dm_group *group, const char *tag, struct dm_info *info,
                              struct dm_errhandler *eh, struct dm_comm **comm_p)
{
    int err = session_check_tag(tag);

    *comm_p = NULL;
    if (err == DM_OK && group->size == 0)
        return DM_OK;
    if (err == DM_OK)
        err = session_check_member(group, "group");
    if (err == DM_OK)
        err = session_agree(group, session_tag_of(tag, 0), comm_p);
    return err == DM_OK ? session_finish(*comm_p, info, eh) : err;
}

static int session_check_leader(const struct dm_group *group, int leader, const char *name)
{
    return leader >= 0 && leader < group->size
               ? DM_OK
               : DM_FAIL(DM_ERR_ARG, "%s is %d; the group has %d processes", name, leader,
                         group->size);
}

/*
 * Where the leaders talk, and the rank of the other one there: a communicator of both, since their
 * processes know no better place yet.
 */
static int session_find_peer(struct dm_group *local, int local_leader, struct dm_group *remote,
                             int remote_leader, struct dm_comm **peer_p, int *there_p)
{
    int procs[2] = {dm_group_proc(local, local_leader), dm_group_proc(remote, remote_leader)};
    bool is_first = dm_procs_compare(procs[0], procs[1]) < 0;
    int ordered[2] = {procs[!is_first], procs[is_first]};
    struct dm_group *both;
    int err = dm_group_new(2, ordered, local, &both);

    if (err != DM_OK)
        return err;
    *there_p = dm_group_is_own(both) ? procs[1] : is_first;
    err = dm_comm_hidden_get(both, peer_p);
    dm_group_unref(both);
    return err;
}

/* The same in all of the group; of groups that differ it differs. */
static unsigned session_seed_of(const struct dm_group *group)
{
    struct dm_proc_id id = dm_adapt_proc_id(dm_chan_adapt(dm_world.chan), dm_group_proc(group, 0));

    return 1 + id.rank + (dm_group_is_own(group) ? 0 : (unsigned)id.job);
}

int dm_intercomm_create_from_groups(struct dm_group *local, int local_leader,
                                    struct dm_group *remote, int remote_leader, const char *tag,
                                    struct dm_info *info, struct dm_errhandler *eh,
                                    struct dm_comm **comm_p)
{
    struct dm_comm *comm = NULL;
    struct dm_comm *peer = NULL;
    bool is_leader = local->rank == local_leader;
    int there = 0;
    int err = session_check_tag(tag);

    *comm_p = NULL;
    if (err == DM_OK)
        err = session_check_member(local, "local_group");
    if (err == DM_OK)
        err = session_check_leader(local, local_leader, "local_leader");
    if (err == DM_OK && is_leader && remote == NULL)
        err = DM_FAIL(DM_ERR_GROUP, "remote_group is MPI_GROUP_NULL at the local leader");
    if (err == DM_OK && is_leader)
        err = session_check_leader(remote, remote_leader, "remote_leader");
    if (err == DM_OK && is_leader)
        err = session_find_peer(local, local_leader, remote, remote_leader, &peer, &there);
    if (err == DM_OK)
        err = session_agree(local, session_tag_of(tag, session_seed_of(local)), &comm);
    if (err == DM_OK)
        err = dm_intercomm_create(comm, local_leader, peer, there, session_tag_of(tag, 0), comm_p);
    if (comm != NULL)
        dm_comm_free(comm);
    dm_comm_unref(peer);
    return err == DM_OK ? session_finish(*comm_p, info, eh) : err;
}
