/*
 * Where this installation (or build directory) is, found from the running program.
 */
#ifndef DM_TOOLS_INSTALL_PATHS_H
#define DM_TOOLS_INSTALL_PATHS_H

#include <stddef.h>

/* DAT_OVERRIDE, when that is unset or empty: our own dat.conf, if it is there. */
void dm_install_set_dat_conf(void);

/* Where our libraries are, and what is above all of it: as configure was told, unless they were moved. */
void dm_install_libraries(char *dir, size_t len);
void dm_install_prefix(char *dir, size_t len);

/* Put the library's directory in front of LD_LIBRARY_PATH. */
void dm_install_set_library_path(void);

#endif
