/*
 * The file of -configfile.
 */
#include "tools/mpiexec/configfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"

/* Cuts the next word off a line, without its quotes; NULL: there is none. */
static char *cut_word(char **line_p)
{
    char *in = *line_p + strspn(*line_p, " \t\r\n");
    char *word = in;
    char *out = in;
    char quote = '\0';

    if (*in == '\0')
        return NULL;
    for (; *in != '\0' && (quote != '\0' || strchr(" \t\r\n", *in) == NULL); in++) {
        if (*in == quote)
            quote = '\0';
        else if (quote == '\0' && (*in == '"' || *in == '\''))
            quote = *in;
        else
            *out++ = *in;
    }
    *line_p = *in != '\0' ? in + 1 : in;
    *out = '\0';
    return word;
}

static bool add_line(char *line, struct dm_launch_list *words)
{
    static char colon[] = ":";
    bool is_first = words->n <= 1;
    char *word;

    if (line[strspn(line, " \t")] == '#')
        return true;
    while ((word = cut_word(&line)) != NULL) {
        bool needs_colon = !is_first && words->n > 1;

        is_first = true;
        if (needs_colon && !dm_launch_list_add(words, colon))
            return false;
        word = strdup(word);
        if (word == NULL || !dm_launch_list_add(words, word))
            return false;
    }
    return true;
}

/* The next line, with those that it goes on with behind a backslash; to be freed. NULL: there is none. */
static char *read_whole_line(FILE *f)
{
    char *whole = NULL, *part = NULL;
    size_t len = 0, cap = 0;
    bool goes_on = true;
    ssize_t n;

    while (goes_on && (n = getline(&part, &cap, f)) >= 0) {
        char *more = realloc(whole, len + (size_t)n + 1);

        if (more == NULL)
            break;
        whole = more;
        while (n > 0 && strchr("\r\n", part[n - 1]) != NULL)
            n--;
        goes_on = n > 0 && part[n - 1] == '\\';
        if (goes_on)
            n--;
        memcpy(whole + len, part, (size_t)n);
        len += (size_t)n;
        whole[len] = '\0';
    }
    free(part);
    return whole;
}

bool dm_launch_configfile_read(const char *path, struct dm_launch_list *words)
{
    FILE *f = fopen(path, "re");
    bool is_good = true;
    char *line;

    if (f == NULL) {
        dm_log_error("mpiexec: -configfile %s: %s", path, strerror(errno));
        return false;
    }
    while (is_good && (line = read_whole_line(f)) != NULL) {
        is_good = add_line(line, words);
        free(line);
    }
    fclose(f);
    return is_good;
}
