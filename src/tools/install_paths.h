/*
 * Where this installation (or build directory) is, found from the running program.
 */
#ifndef DM_TOOLS_INSTALL_PATHS_H
#define DM_TOOLS_INSTALL_PATHS_H

#include <stdbool.h>

/*
 * When DAT_OVERRIDE is unset or empty, let it name our own dat.conf (false: that
 * is not there, or the user's choice stands). libdat2 reads it when it is loaded.
 */
bool dm_install_set_dat_conf(void);

/* Put the library's directory in front of LD_LIBRARY_PATH. */
void dm_install_set_library_path(void);

#endif
