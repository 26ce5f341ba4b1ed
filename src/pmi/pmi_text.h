/*
 * A text that grows. When there is no memory it is short, and stays so.
 */
#ifndef DM_PMI_PMI_TEXT_H
#define DM_PMI_PMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/port.h"

struct dm_pmi_text {
    char *text; /* to be freed; NULL: nothing yet */
    size_t len;
    size_t max;
    bool is_short;
};

void dm_pmi_text_add(struct dm_pmi_text *text, const char *fmt, ...) DM_PRINTF(2, 3);

#endif
