/*
 * What datum-info prints, as text or, after dm_info_json(), as one JSON object: parts that have facts, or rows of
 * facts. Names of facts are the same in both forms. Standard output; one thread.
 */
#ifndef DM_TOOLS_INFO_PRINT_H
#define DM_TOOLS_INFO_PRINT_H

#include <stdbool.h>

/* The object from here on; dm_info_end() ends it. */
void dm_info_json(void);
bool dm_info_is_json(void);
void dm_info_end(void);

/* A part of facts, or with is_list of rows: its key in JSON. The text form has a title of the caller's. */
void dm_info_part(const char *key, bool is_list);
void dm_info_part_end(void);
void dm_info_row(void);
void dm_info_row_end(void);

/* A fact for JSON: a string, or true or false. */
void dm_info_put(const char *name, const char *value);
void dm_info_put_bool(const char *name, bool value);
/* One for both forms; in text a line with the name in `width` columns. */
__attribute__((format(printf, 3, 4))) void dm_info_fact(const char *name, int width,
                                                        const char *format, ...);

#endif
