/*
 * The state that all windows share.
 */
#include "onesided/rma.h"

struct dm_rma_state dm_rma_state;
