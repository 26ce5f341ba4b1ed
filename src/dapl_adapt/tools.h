/*
 * What datum-check's probes (src/tools/check) use of this layer's inside, so that they and
 * the library open providers, listen and register memory in one and the same way:
 *
 *   the probes of every open    dm_probe_limits, _share, _pins, _iov, _time (probe_ia.h)
 *   names of providers          dm_conf_load, dm_conf_free, struct dm_conf_entry
 *   opening and listening       dm_ia_open_handle, dm_ia_listen
 *   registration                dm_lmr_try, dm_lmr_free, struct dm_lmr
 *   words for a return code     dm_dat_text
 *
 * For tools and tests alone; no layer of the library includes it.
 */
#ifndef DM_DAPL_ADAPT_TOOLS_H
#define DM_DAPL_ADAPT_TOOLS_H

#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/probe_ia.h"

#endif
