/*
 * What the launcher and the system tell of how the process was started (MPI-4.0 section 11.5).
 */
#include "mpi/core/core_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/host.h"

#define CMDLINE_LEN 65536

static int info_env_set(struct dm_info *info, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL + 1];

    if (value == NULL || value[0] == '\0')
        return DM_OK;
    snprintf(text, sizeof(text), "%s", value); /* a long one is cut */
    return dm_info_set(info, key, text);
}

static const char *info_env_level(int level)
{
    static const char *const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                        "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

    return names[level];
}

/* What the system knows. */
static int info_env_set_system(struct dm_info *info)
{
    char wdir[MPI_MAX_INFO_VAL + 1];
    struct utsname system;
    int err = info_env_set(info, "host", dm_host_name());

    if (err == DM_OK && uname(&system) == 0)
        err = info_env_set(info, "arch", system.machine);
    if (err == DM_OK && getcwd(wdir, sizeof(wdir)) != NULL)
        err = info_env_set(info, "wdir", wdir);
    return err;
}

static const char *info_env_errhandler(int errhandler)
{
    static const char *const names[] = {"mpi_errors_are_fatal", "mpi_errors_abort",
                                        "mpi_errors_return"};

    return names[errhandler];
}

/* What only the job knows. */
static int info_env_set_job(struct dm_info *info)
{
    char number[16];
    int err;

    snprintf(number, sizeof(number), "%d", dm_world.size);
    err = info_env_set(info, "maxprocs", number);
    if (err == DM_OK)
        err = info_env_set(info, "mpi_initial_errhandler",
                           info_env_errhandler(dm_cfg()->initial_errhandler));
    return err == DM_OK ? info_env_set(info, "thread_level", info_env_level(dm_world.thread_level))
                        : err;
}

/* The arguments behind the first, with blanks between. */
static int info_env_set_args(struct dm_info *info, int argc, char **argv)
{
    char line[MPI_MAX_INFO_VAL + 1] = "";
    size_t len = 0;

    for (int i = 1; i < argc && argv[i] != NULL && len < sizeof(line) - 1; i++) {
        int n = snprintf(line + len, sizeof(line) - len, "%s%s", len > 0 ? " " : "", argv[i]);

        len += n > 0 ? (size_t)n : 0;
    }
    return info_env_set(info, "argv", line);
}

int dm_info_create_env(int argc, char **argv, struct dm_info **info_p)
{
    int err = dm_info_create(info_p);

    if (err == DM_OK && argc > 0 && argv != NULL) {
        err = info_env_set(*info_p, "command", argv[0]);
        if (err == DM_OK)
            err = info_env_set_args(*info_p, argc, argv);
    }
    if (err == DM_OK)
        err = info_env_set_system(*info_p);
    if (err != DM_OK) {
        dm_info_unref(*info_p);
        *info_p = NULL;
    }
    return err;
}

/* The command line as the kernel has it: texts with a null behind each. */
static int info_env_set_command(struct dm_info *info)
{
    char *line = malloc(CMDLINE_LEN);
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t len = file != NULL && line != NULL ? fread(line, 1, CMDLINE_LEN - 1, file) : 0;
    size_t first;
    int err = DM_OK;

    if (file != NULL)
        fclose(file);
    if (len > 0) {
        line[len] = '\0';
        first = strlen(line) + 1;
        for (size_t i = first; i + 1 < len; i++)
            if (line[i] == '\0')
                line[i] = ' ';
        err = info_env_set(info, "command", line);
        if (err == DM_OK && first < len)
            err = info_env_set(info, "argv", line + first);
    }
    free(line);
    return err;
}

int dm_info_env_fill(void)
{
    struct dm_info *info = dm_handle_get(DM_KIND_INFO, MPI_INFO_ENV);
    int err = info_env_set_command(info);

    if (err == DM_OK)
        err = info_env_set_job(info);
    return err == DM_OK ? info_env_set_system(info) : err;
}
