/*
 * A table of options, and what each does to the program at hand or to the job.
 */
#ifndef DM_TOOLS_MPIEXEC_OPTION_ROWS_H
#define DM_TOOLS_MPIEXEC_OPTION_ROWS_H

#include "tools/mpiexec/options.h"

/* The option at hand. */
struct dm_launch_option_at {
    struct dm_launch_options *options;
    struct dm_launch_app *app; /* the program that its options are of */
    const char *name;
    char *value; /* NULL: has none */
};

enum dm_launch_option_kind {
    DM_LAUNCH_OPT_FLAG,
    DM_LAUNCH_OPT_VALUE,
    DM_LAUNCH_OPT_VARIABLE,    /* NAME VALUE, or NAME=VALUE */
    DM_LAUNCH_OPT_ENGINE_FLAG, /* for the engine that starts the agents */
    DM_LAUNCH_OPT_ENGINE_VALUE
};

struct dm_launch_option_row {
    const char *name;
    enum dm_launch_option_kind kind;
    bool (*set)(const struct dm_launch_option_at *at); /* false: reported */
};

/* The row of a word -NAME or --NAME, with =VALUE or not; NULL: there is none. */
const struct dm_launch_option_row *dm_launch_option_find(const char *word);
/* Report a word that is no option, with a name that is near to it, or what there is here. False. */
bool dm_launch_option_unknown(const char *word);
/* a, b and c in a text that lives as long as the options; NULL: no memory. */
char *dm_launch_option_text(struct dm_launch_options *options, const char *a, const char *b,
                            const char *c);
/* The number that is the value, from min; false: reported. */
bool dm_launch_option_count(const struct dm_launch_option_at *at, int min, int *num_p);
/* What MPICH's variable says of the time that a job may take. False: reported. */
bool dm_launch_option_timeout(struct dm_launch_options *options, const char *text);
/* Of a program whose options are read: as many processes as -soft allows. False: reported. */
bool dm_launch_option_soften(struct dm_launch_app *app);

#endif
