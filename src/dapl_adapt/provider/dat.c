/*
 * Text of DAT return codes.
 */
#include "dapl_adapt/provider/dat.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "util/port.h"

const char *dm_dat_text(DAT_RETURN rc)
{
    static DM_THREAD_LOCAL char text[112];
    const char *major = NULL;
    const char *minor = NULL;

    if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS || major == NULL)
        major = "unknown DAT error";
    if (minor != NULL && *minor != '\0' && strcmp(minor, "DAT_NO_SUBTYPE") != 0)
        snprintf(text, sizeof(text), "%s, %s (0x%x)", major, minor, (unsigned)rc);
    else
        snprintf(text, sizeof(text), "%s (0x%x)", major, (unsigned)rc);
    return text;
}
