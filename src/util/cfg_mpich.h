/*
 * Variables of MPICH (MPIR_CVAR_*, and their older forms MPICH_*) that mean what a setting of ours
 * means. A DATUM_* variable goes before them.
 */
#ifndef DM_UTIL_CFG_MPICH_H
#define DM_UTIL_CFG_MPICH_H

#include <stddef.h>

#define DM_CFG_MPICH_MAX 512 /* bytes of a value */

/*
 * The value that MPICH's variables give to setting `name` (with DATUM_ in front), written to text,
 * which has DM_CFG_MPICH_MAX bytes. The name of the variable, NULL: none gives one. A value that
 * Datum has no counterpart for gives none.
 */
const char *dm_cfg_mpich(const char *name, char *text);

/* Each such variable whose value has no counterpart, and is none that leaves the choice to the library. */
void dm_cfg_mpich_ignored(void (*say)(const char *name, const char *value));

#endif
