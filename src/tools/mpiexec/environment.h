/*
 * The environment of a program: what of ours it gets, what the command line sets, what a rank must
 * know.
 */
#ifndef DM_TOOLS_MPIEXEC_ENVIRONMENT_H
#define DM_TOOLS_MPIEXEC_ENVIRONMENT_H

#include "tools/mpiexec/node.h"

/* A list that ends with NULL, with n_own places in front for the caller. NULL: no memory. */
char **dm_launch_env_make(const struct dm_launch_node *node, const struct dm_launch_app *app,
                          int n_own);
/* Free it, but not what is in its first n_own places. */
void dm_launch_env_free(char **env, int n_own);
/* The value of a variable in a list, NULL: it is not set. */
const char *dm_launch_env_get(char *const *env, const char *name);

#endif
