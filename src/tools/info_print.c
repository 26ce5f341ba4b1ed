/*
 * One object is written at a time: what stands before its next member is all that has to be known.
 */
#include "tools/info_print.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "tools/out.h"

static bool is_json;
static bool is_list;          /* the part that is being written has rows */
static const char *separator; /* before the next member */

/* A member's name, and what goes before. */
static void put_name(const char *name)
{
    fputs(separator, stdout);
    dm_out_json(stdout, name, SIZE_MAX);
    fputs(": ", stdout);
    separator = ", ";
}

void dm_info_json(void)
{
    is_json = true;
    printf("{\"format\": 1, \"version\": \"%s\"", DM_VERSION);
    separator = ",\n ";
}

bool dm_info_is_json(void)
{
    return is_json;
}

void dm_info_end(void)
{
    if (is_json)
        printf("}\n");
}

void dm_info_part(const char *key, bool has_rows)
{
    if (!is_json)
        return;
    put_name(key);
    putchar(has_rows ? '[' : '{');
    is_list = has_rows;
    separator = "";
}

void dm_info_part_end(void)
{
    if (!is_json)
        return;
    putchar(is_list ? ']' : '}');
    separator = ",\n ";
}

void dm_info_row(void)
{
    if (!is_json)
        return;
    printf("%s{", separator);
    separator = "";
}

void dm_info_row_end(void)
{
    if (!is_json)
        return;
    putchar('}');
    separator = ",\n  ";
}

void dm_info_put(const char *name, const char *value)
{
    if (!is_json)
        return;
    put_name(name);
    dm_out_json(stdout, value, SIZE_MAX);
}

void dm_info_put_bool(const char *name, bool value)
{
    if (!is_json)
        return;
    put_name(name);
    fputs(value ? "true" : "false", stdout);
}

void dm_info_fact(const char *name, int width, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (is_json)
        dm_info_put(name, text);
    else
        printf("  %-*s %s\n", width, name, text);
}
