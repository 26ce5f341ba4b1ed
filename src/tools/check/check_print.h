/*
 * What datum-check prints: a table for people, or JSON.
 */
#ifndef DM_TOOLS_CHECK_CHECK_PRINT_H
#define DM_TOOLS_CHECK_CHECK_PRINT_H

#include <stdbool.h>

#include "tools/check/probe.h"
#include "tools/check/check_run.h"

/* One provider: begin, the run of every probe, end. */
void dm_check_print_begin(bool is_json, const struct dm_check *check,
                          const struct dm_probe_provider *provider);
void dm_check_print_run(bool is_json, const struct dm_probe *probe, const struct dm_check_run *run);
/* error: why it could not be checked, NULL when it could. */
void dm_check_print_end(bool is_json, const char *error);

#endif
