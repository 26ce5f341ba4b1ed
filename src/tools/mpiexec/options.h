/*
 * The command line: [OPTION [VALUE]...]... PROGRAM [ARGUMENT]... [: the same again].
 *
 * Options of the standard (MPI-4.0 section 11.5) and of MPICH's Hydra, and the common ones of Open
 * MPI's mpirun, with one dash or two; a value may follow an equals sign.
 */
#ifndef DM_TOOLS_MPIEXEC_OPTIONS_H
#define DM_TOOLS_MPIEXEC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts in the order in which they came; list[n] is NULL. */
struct dm_launch_list {
    char **list;
    size_t n;
};

/* What of mpiexec's environment a program gets. */
enum dm_launch_pass { DM_LAUNCH_PASS_UNSET, DM_LAUNCH_PASS_ALL, DM_LAUNCH_PASS_NONE };

struct dm_launch_env {
    enum dm_launch_pass pass;
    const char *names;          /* with PASS_NONE: but these, separated by commas; NULL: none */
    struct dm_launch_list sets; /* NAME=VALUE */
};

/* A program of the job. */
struct dm_launch_app {
    int n;             /* processes; 0: not said */
    const char *soft;  /* numbers of processes that will do, NULL: not said */
    const char *hosts; /* its own, NAME[:SLOTS],...; NULL: those of the job */
    char **argv;
    const char *wdir; /* NULL: mpiexec's own */
    const char *path; /* of a spawn: directories to look for it in, with colons; NULL: none */
    struct dm_launch_env env;
};

/* Whom mpiexec's input is for: a rank, or one of these. */
enum { DM_LAUNCH_STDIN_NONE = -1, DM_LAUNCH_STDIN_ALL = -2 };

/* More of where ranks run, by options of Open MPI. */
struct dm_launch_map {
    const char *rank_by; /* NULL: not said */
    bool is_by_node;     /* the next rank is on the next host, as long as that has slots */
    int cores_each;      /* for each rank, 0: not said */
    bool is_printed;     /* which processors each rank is bound to */
};

struct dm_launch_options {
    struct dm_launch_app *apps;
    size_t n_apps;
    struct dm_launch_env env; /* of all programs; what one says of its own comes first */
    const char *hosts;        /* of programs that have none, NAME[:SLOTS],... */
    const char *hostfile;
    int ppn;                /* 0: not said */
    int universe_size;      /* 0: not said */
    const char *nameserver; /* HOST:PORT, NULL: none */
    int stdin_rank;
    int timeout;         /* seconds, 0: none */
    const char *prepend; /* what stands before each line, with %r and the like; NULL: nothing */
    bool is_tagged_by_stream; /* -tag-output */
    bool is_stamped;          /* with the time; prepend is not NULL */
    bool is_merged;           /* errors go where output goes */
    const char *outfile;      /* patterns, or NULL */
    const char *errfile;
    const char *bind_to;
    const char *map_by;
    struct dm_launch_map map;
    bool is_by_port; /* PMI_PORT instead of PMI_FD */
    bool is_verbose;
    bool prints_exit_codes;
    bool stays;                   /* a death ends nothing (-disable-auto-cleanup) */
    const char *launcher;         /* of the engine */
    struct dm_launch_list engine; /* arguments that are for the engine as they are */
    struct dm_launch_list
        args; /* all as given, with what the files of -configfile say in their place */
    struct dm_launch_list made; /* texts that are in none of args; allocated */
    bool wants_help;
    bool wants_version;
};

/* DM_OK, or DM_ELAUNCH and reported in one line. Texts are pointers into args or made. */
int dm_launch_options_parse(struct dm_launch_options *options, char *const *argv);
void dm_launch_options_free(struct dm_launch_options *options);
/* The setting, NAME=VALUE, of an initial error handler, by its name in any case; NULL: there is none of that name. */
#define DM_LAUNCH_ERRHANDLER "DATUM_INITIAL_ERRHANDLER="
char *dm_launch_errhandler(const char *name);
/* Append a text, which is not copied; false: no memory. */
bool dm_launch_list_add(struct dm_launch_list *list, char *text);

#endif
