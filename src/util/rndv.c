/*
 * Names of the protocols of large messages.
 */
#include "util/rndv.h"

#include <string.h>

#define NAME_ROW(PROTO, name, text) [DM_RNDV_##PROTO] = (name),
#define TEXT_ROW(PROTO, name, text) [DM_RNDV_##PROTO] = (text),

static const char *const rndv_names[DM_N_RNDV] = {"auto", DM_RNDV_PROTOS(NAME_ROW)};
static const char *const rndv_texts[DM_N_RNDV] = {"", DM_RNDV_PROTOS(TEXT_ROW)};

const char *dm_rndv_name(enum dm_rndv proto)
{
    return rndv_names[proto];
}

const char *dm_rndv_text(enum dm_rndv proto)
{
    return rndv_texts[proto];
}

enum dm_rndv dm_rndv_find(const char *name)
{
    for (int i = DM_RNDV_AUTO + 1; i < DM_N_RNDV; i++) {
        if (strcmp(name, rndv_names[i]) == 0)
            return (enum dm_rndv)i;
    }
    return DM_RNDV_AUTO;
}
