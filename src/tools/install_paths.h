/*
 * Where this installation (or build directory) is, found from the running program.
 */
#ifndef DM_TOOLS_INSTALL_PATHS_H
#define DM_TOOLS_INSTALL_PATHS_H

/* DAT_OVERRIDE, when that is unset or empty: our own dat.conf, if it is there. */
void dm_install_set_dat_conf(void);

/* Put the library's directory in front of LD_LIBRARY_PATH. */
void dm_install_set_library_path(void);

#endif
