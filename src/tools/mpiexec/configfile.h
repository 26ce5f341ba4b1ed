/*
 * Files of words: that of -configfile.
 */
#ifndef DM_TOOLS_MPIEXEC_CONFIGFILE_H
#define DM_TOOLS_MPIEXEC_CONFIGFILE_H

#include <stdbool.h>

#include "tools/mpiexec/options.h"

/*
 * Append the words of a file: each line is one part of the command line, as if a ':' stood between
 * them; what stands in quotes is one word, lines that begin with # are none, and a \ at its end
 * continues a line (MPI-4.0 section 11.5). False: reported.
 * The words are never freed.
 */
bool dm_launch_configfile_read(const char *path, struct dm_launch_list *words);

#endif
