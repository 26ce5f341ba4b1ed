/*
 * The tuning file: what datum-tune has measured for providers here. docs/TUNING.md tells the form
 * and where it is looked for (DATUM_TUNE). It holds for the version of the library that it was
 * measured with, and for providers by their names and ia_params. What a setting says wins.
 */
#ifndef DM_UTIL_TUNE_H
#define DM_UTIL_TUNE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/rndv.h"

/* The values of one provider; 0 or NULL where the file says nothing. */
struct dm_tune_rail {
    const char *provider;
    const char *params; /* ia_params that it was measured with */
    const char *measured;
    size_t eager_limit;
    enum dm_rndv rndv; /* read or pipe; DM_RNDV_AUTO: nothing */
    unsigned int ring_slots;
    size_t ring_slot_size;
};

/*
 * Find and read the file. A named one that cannot be read or has a wrong line is DM_ECONFIG with
 * the place; one at a default place is left out then, with a warning, and so is any that another
 * version of the library has measured. quiet: without the warnings (all but one process of a job).
 */
int dm_tune_load(bool quiet);
/* Forget it. */
void dm_tune_unload(void);

/* The file in use; NULL: none. */
const char *dm_tune_path(void);
/*
 * What it says of a provider with these ia_params; NULL: nothing. A section for other ia_params is
 * not taken.
 */
const struct dm_tune_rail *dm_tune_find(const char *provider, const char *params);
/*
 * The i-th line of a provider's section that is not about its transfers: rows for collectives,
 * which their layer reads. NULL past the last. The text is writable and may be spoilt.
 */
char *dm_tune_row(const struct dm_tune_rail *rail, size_t i, int *line_p);

#endif
