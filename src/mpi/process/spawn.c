/*
 * MPI_Comm_spawn and MPI_Comm_spawn_multiple: the root opens a port, the launcher starts the programs
 * and tells them its name, and both sides connect there: the children in MPI_Init.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/process/process.h"
#include "mpi/process/state.h"
#include "pmi/pmi_spawn.h"
#include "util/key_file.h"
#include "util/soft.h"

#define PARENT_PORT "datum-parent-port" /* key of the port's name in the children's space */

/* All programs of a call, at the root. */
struct spawning {
    struct dm_pmi_program *programs; /* maxprocs: how many are asked for now */
    struct dm_info **infos;          /* of each program, ours, whose strings it has; or NULL */
    const int *maxprocs;             /* how many the caller wants */
    int n_programs;
    int n_procs;   /* wanted, of all */
    int n_started; /* of all */
    int *codes;    /* of each process that is wanted */
};

/* Keys that are read from the file that the info key file names. */
struct spawn_file {
    const struct dm_info *info;
    struct dm_info *all; /* the info's and the file's */
};

/* What counts at the root only, as the program has passed it. */
struct spawn_args {
    int count;
    char **commands;
    char ***argvs; /* NULL: MPI_ARGVS_NULL */
    const int *maxprocs;
    const MPI_Info *infos;
};

/* ---- the programs ---- */

/* Values of keys that can be judged here. */
static int spawn_check_info(const struct dm_info *info)
{
    const char *arch = dm_info_value(info, "arch");
    const char *errhandler = dm_info_value(info, "mpi_initial_errhandler");
    struct utsname machine;

    if (arch != NULL && uname(&machine) == 0 && strcmp(arch, machine.machine) != 0)
        return DM_FAIL(DM_ERR_SPAWN, "the info key arch asks for %.64s; there is only %s", arch,
                       machine.machine);
    if (errhandler != NULL && strcasecmp(errhandler, "mpi_errors_are_fatal") != 0 &&
        strcasecmp(errhandler, "mpi_errors_abort") != 0 &&
        strcasecmp(errhandler, "mpi_errors_return") != 0)
        return DM_FAIL(DM_ERR_INFO_VALUE,
                       "the info key mpi_initial_errhandler is %.64s, which is none of "
                       "mpi_errors_are_fatal, mpi_errors_abort, mpi_errors_return",
                       errhandler);
    return DM_OK;
}

/* A key of the file. What the info itself says goes before it, and the variables of env add up. */
static int spawn_take_key(void *arg, const char *key, const char *value)
{
    struct spawn_file *file = arg;
    const char *old = dm_info_value(file->all, key);
    char *both = NULL;
    int err;

    if (dm_info_value(file->info, key) != NULL)
        return DM_OK;
    if (old == NULL || strcmp(key, "env") != 0)
        return dm_info_set(file->all, key, value);
    if (asprintf(&both, "%s\n%s", old, value) < 0)
        return DM_FAIL(DM_ENOMEM, "info key env");
    err = dm_info_set(file->all, key, both);
    free(both);
    return err;
}

/* *info_p is replaced by an object of ours if it has the key file. */
static int spawn_read_file(struct dm_info **info_p)
{
    const char *path = dm_info_value(*info_p, "file");
    struct spawn_file file = {.info = *info_p};
    int err;

    if (path == NULL)
        return DM_OK;
    err = dm_info_dup(*info_p, &file.all);
    if (err == DM_OK)
        *info_p = file.all;
    return err == DM_OK ? dm_key_file_read(path, spawn_take_key, &file) : err;
}

/* The pairs of an info object, whose strings stay the object's; with those of its file, ours. */
static int spawn_read_info(MPI_Info handle, struct dm_pmi_program *program, struct dm_info **own_p)
{
    struct dm_pmi_pair *pairs;
    struct dm_info *given, *info;
    int n;
    int err = dm_process_check_info(handle, &given);

    if (err != DM_OK || given == NULL)
        return err;
    info = given;
    err = spawn_read_file(&info);
    *own_p = info != given ? info : NULL;
    if (err != DM_OK)
        return err;
    (void)dm_info_get_nkeys(info, &n);
    pairs = calloc((size_t)n + 1, sizeof(*pairs));
    if (pairs == NULL)
        return DM_FAIL(DM_ENOMEM, "list of %d info keys", n);
    program->info = pairs;
    dm_list_for_each (it, &info->pairs) {
        const struct dm_info_pair *pair = dm_container_of(it, struct dm_info_pair, link);

        pairs[program->n_info++] = (struct dm_pmi_pair){.key = pair->key, .val = pair->value};
    }
    return spawn_check_info(info);
}

/* The info key soft, NULL: it is not there. */
static const char *spawn_soft_of(const struct dm_pmi_program *program)
{
    for (int i = 0; i < program->n_info; i++)
        if (strcmp(program->info[i].key, "soft") == 0)
            return program->info[i].val;
    return NULL;
}

/* As many processes as it allows. */
static int spawn_soften(struct dm_pmi_program *program)
{
    const char *soft = spawn_soft_of(program);
    int n = program->maxprocs;
    int err = soft != NULL ? dm_soft_largest(soft, program->maxprocs, &n) : DM_OK;

    if (err == DM_OK && n < 0)
        err = DM_FAIL(DM_ERR_SPAWN, "the info key soft (%.100s) has no number up to maxprocs, %d",
                      soft, program->maxprocs);
    if (err == DM_OK)
        program->maxprocs = n;
    return err;
}

static int spawn_read_program(const struct spawn_args *args, int i, struct spawning *s)
{
    struct dm_pmi_program *program = &s->programs[i];
    int err;

    if (args->commands[i] == NULL || args->commands[i][0] == '\0')
        return DM_FAIL(DM_ERR_ARG, "command %d is %s", i,
                       args->commands[i] == NULL ? "a null pointer" : "empty");
    if (args->maxprocs[i] < 0)
        return DM_FAIL(DM_ERR_ARG, "maxprocs of %.100s is %d, a negative number", args->commands[i],
                       args->maxprocs[i]);
    program->command = args->commands[i];
    program->argv = args->argvs != NULL ? args->argvs[i] : NULL;
    program->maxprocs = args->maxprocs[i];
    err = spawn_read_info(args->infos != NULL ? args->infos[i] : MPI_INFO_NULL, program,
                          &s->infos[i]);
    return err == DM_OK ? spawn_soften(program) : err;
}

static int spawn_read(const struct spawn_args *args, struct spawning *s)
{
    int64_t n_procs = 0;
    int err = DM_OK;

    if (args->count < 1)
        return DM_FAIL(DM_ERR_ARG, "count is %d; at least one command is needed", args->count);
    if (args->commands == NULL || args->maxprocs == NULL)
        return DM_FAIL(DM_ERR_ARG, "%s is a null pointer",
                       args->commands == NULL ? "array_of_commands" : "array_of_maxprocs");
    s->programs = calloc((size_t)args->count, sizeof(*s->programs));
    s->infos = calloc((size_t)args->count, sizeof(struct dm_info *));
    if (s->programs == NULL || s->infos == NULL)
        return DM_FAIL(DM_ENOMEM, "list of %d commands", args->count);
    s->n_programs = args->count;
    s->maxprocs = args->maxprocs;
    for (int i = 0; i < args->count && err == DM_OK; i++) {
        err = spawn_read_program(args, i, s);
        n_procs += args->maxprocs[i];
    }
    if (err == DM_OK && n_procs > INT32_MAX / 2)
        err = DM_FAIL(DM_ERR_SPAWN, "%lld processes are too many", (long long)n_procs);
    if (err != DM_OK)
        return err;
    s->codes = malloc((size_t)(n_procs + 1) * sizeof(*s->codes));
    if (s->codes == NULL)
        return DM_FAIL(DM_ENOMEM, "codes of %lld processes", (long long)n_procs);
    s->n_procs = (int)n_procs;
    for (int i = 0; i < s->n_procs; i++)
        s->codes[i] = DM_ERR_SPAWN;
    return DM_OK;
}

static void spawn_free(struct spawning *s)
{
    for (int i = 0; i < s->n_programs; i++) {
        free((void *)(uintptr_t)s->programs[i].info);
        if (s->infos[i] != NULL)
            (void)dm_info_free(s->infos[i]);
    }
    free(s->programs);
    free(s->infos);
    free(s->codes);
}

/* ---- the root ---- */

/* Spawns of this process so far: the launcher knows of the last one whether it has ended. */
static int n_spawns;

static bool spawn_is_over(void *arg)
{
    return *(int *)arg == n_spawns && dm_pmi_spawned_is_over(dm_process_state.pmi);
}

static int spawn_count(const struct spawning *s)
{
    int n = 0;

    for (int i = 0; i < s->n_programs; i++)
        n += s->programs[i].maxprocs;
    return n;
}

/* The largest number up to max, or else the smallest above, if it is fewer than now. */
static void spawn_lower(struct dm_pmi_program *program, int max)
{
    const char *soft = spawn_soft_of(program);
    int n = -1;

    for (; soft != NULL && n < 0 && max < program->maxprocs; max++)
        (void)dm_soft_largest(soft, max, &n);
    if (n >= 0)
        program->maxprocs = n;
}

/*
 * The launcher had room for n processes: ask for no more, where the info key soft allows that, of the
 * last programs first. False: it does not.
 */
static bool spawn_shrink(struct spawning *s, int n)
{
    for (int i = s->n_programs - 1; i >= 0; i--) {
        struct dm_pmi_program *program = &s->programs[i];
        int over = spawn_count(s) - n;

        if (over > 0)
            spawn_lower(program, over < program->maxprocs ? program->maxprocs - over : 0);
    }
    return spawn_count(s) <= n;
}

/* Those that are not asked for have not been started. */
static void spawn_spread_codes(struct spawning *s, const int *codes)
{
    int *to = s->codes;

    for (int i = 0; i < s->n_programs; i++)
        for (int k = 0; k < s->maxprocs[i]; k++)
            *to++ = k < s->programs[i].maxprocs ? *codes++ : DM_ERR_SPAWN;
}

/* As many as can be started. DM_ERR_SPAWN, DM_ENOMEM. */
static int spawn_start(struct spawning *s, const char *port)
{
    struct dm_pmi_pair preput = {.key = PARENT_PORT, .val = port};
    struct dm_pmi_spawn spawn = {
        .programs = s->programs, .n_programs = s->n_programs, .preput = &preput, .n_preput = 1};
    int *codes = calloc((size_t)s->n_procs + 1, sizeof(*codes));
    int n_asked, n_could;
    int err;

    if (codes == NULL)
        return DM_FAIL(DM_ENOMEM, "codes of %d processes", s->n_procs);
    do {
        n_asked = n_could = spawn_count(s);
        err = n_asked == 0 ? DM_OK : dm_pmi_spawn(dm_process_state.pmi, &spawn, codes, &n_could);
    } while (err == DM_ERR_SPAWN && n_could > 0 && n_could < n_asked && spawn_shrink(s, n_could));
    if (err == DM_ENOTSUP)
        err = DM_FAIL(DM_ERR_SPAWN, "%.400s", dm_err_detail());
    spawn_spread_codes(s, codes);
    s->n_started = err == DM_OK ? n_asked : 0;
    free(codes);
    return err;
}

/* Start them and connect one of them. */
static int spawn_launch(struct spawning *s, struct dm_bridge *bridge_p)
{
    int number = 0;
    struct dm_handshake_wait wait = {.until = UINT64_MAX, .is_over = spawn_is_over, .arg = &number};
    char port[MPI_MAX_PORT_NAME];
    int err = dm_handshake_open(port);

    if (err != DM_OK)
        return err;
    err = spawn_start(s, port);
    if (err == DM_OK && s->n_started > 0) {
        number = ++n_spawns;
        err = dm_handshake_accept(port, &wait, bridge_p);
    }
    if (err == DM_EAGAIN)
        err = DM_FAIL(DM_ERR_SPAWN, "the processes have ended without calling MPI_Init");
    for (int i = 0; i < s->n_procs && err != DM_OK; i++) /* also those of programs that there are */
        s->codes[i] = DM_ERR_SPAWN;
    (void)dm_handshake_close(port);
    return err;
}

/* All ranks get the codes of all processes, and whether none were to be started. */
static int spawn_report_codes(struct dm_comm *comm, int root, struct spawning *s, int *errcodes,
                              bool *is_empty_p)
{
    struct dm_type *type = dm_type_get(MPI_INT);
    int *codes = s->codes;
    int head[2] = {s->n_procs, *is_empty_p};
    int err = dm_bcast(head, 2, type, root, comm);
    int n = head[0];

    *is_empty_p = head[1] != 0;
    if (err != DM_OK || n == 0)
        return err;
    if (comm->rank != root)
        codes = malloc((size_t)n * sizeof(*codes));
    if (codes == NULL)
        return DM_FAIL(DM_ENOMEM, "codes of %d processes", n);
    err = dm_bcast(codes, (size_t)n, type, root, comm);
    for (int i = 0; i < n && errcodes != MPI_ERRCODES_IGNORE && err == DM_OK; i++)
        errcodes[i] = codes[i] == DM_OK ? MPI_SUCCESS : MPI_ERR_SPAWN;
    if (comm->rank != root)
        free(codes);
    return err;
}

static int spawn_all(const struct spawn_args *args, int root, struct dm_comm *comm,
                     struct dm_comm **comm_p, int *errcodes)
{
    struct spawning s = {0};
    struct dm_bridge bridge = {0};
    int err = dm_process_check_comm(comm);
    bool is_empty = false;
    int reported;

    *comm_p = NULL;
    if (err != DM_OK)
        return err;
    if (comm->rank == root) {
        err = spawn_read(args, &s);
        if (err == DM_OK)
            err = spawn_launch(&s, &bridge);
        is_empty = err == DM_OK && s.n_started == 0;
    }
    reported = spawn_report_codes(comm, root, &s, errcodes, &is_empty);
    spawn_free(&s);
    if (is_empty) /* no group, so no communicator */
        return reported;
    err = dm_process_join_groups(comm, root, err, &bridge, comm_p);
    return err == DM_OK ? reported : err;
}

int dm_comm_spawn(const char *command, char **argv, int maxprocs, MPI_Info info, int root,
                  struct dm_comm *comm, struct dm_comm **comm_p, int *errcodes)
{
    char *commands[1] = {(char *)(uintptr_t)command};
    struct spawn_args args = {
        .count = 1, .commands = commands, .argvs = &argv, .maxprocs = &maxprocs, .infos = &info};

    return spawn_all(&args, root, comm, comm_p, errcodes);
}

int dm_comm_spawn_multiple(int count, char **commands, char ***argvs, const int *maxprocs,
                           const MPI_Info *infos, int root, struct dm_comm *comm,
                           struct dm_comm **comm_p, int *errcodes)
{
    struct spawn_args args = {
        .count = count, .commands = commands, .argvs = argvs, .maxprocs = maxprocs, .infos = infos};

    return spawn_all(&args, root, comm, comm_p, errcodes);
}

/* ---- a child ---- */

int dm_process_connect_parent(void)
{
    struct dm_kv_ops kv = dm_pmi_kv(dm_process_state.pmi);
    char port[MPI_MAX_PORT_NAME] = "";
    struct dm_comm *parent = NULL;
    int err = DM_OK;

    if (!dm_pmi_job(dm_process_state.pmi)->is_spawned)
        return DM_OK;
    if (dm_world.rank == 0)
        err = kv.get(kv.arg, PARENT_PORT, port, sizeof(port));
    if (err == DM_OK)
        err = dm_comm_connect(port, MPI_INFO_NULL, 0, dm_world.comm_world, &parent);
    if (err != DM_OK)
        return err;
    dm_process_state.parent = parent;
    return dm_comm_set_name(parent, "MPI_COMM_PARENT");
}
