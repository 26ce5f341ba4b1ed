/*
 * Where this installation (or build directory) is, found from the running program.
 */
#ifndef DM_TOOLS_INSTALL_PATHS_H
#define DM_TOOLS_INSTALL_PATHS_H

#include <stdbool.h>

/*
 * What libdat2 reads when it is loaded; true when something was set. DAT_OVERRIDE, when that is unset or
 * empty: our own dat.conf, if it is there. DAT_DBG_TYPE, when that is unset: nothing, since our messages
 * say all that libdat2's do.
 */
bool dm_install_set_registry(void);

/* Put the library's directory in front of LD_LIBRARY_PATH. */
void dm_install_set_library_path(void);

#endif
