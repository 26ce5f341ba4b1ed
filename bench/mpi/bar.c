/*
 * How far it is, in a line of the terminal that the next line of the table takes away again. Ranks have no terminal;
 * Datum's mpiexec says in DATUM_TERMINAL which of the streams it passes on ends at one, and how wide that is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define WIDTH_USUAL 80
#define TEXT_LEN    256
#define CELLS_MAX   30

static struct bar {
    FILE *out; /* NULL: no terminal */
    int width;
    int is_shown;
} bar;

/* Some launchers give ranks a terminal that is none. */
static int is_terminal(int fd)
{
    return isatty(fd) && tcgetpgrp(fd) >= 0;
}

static int is_pipe(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

void bar_begin(void)
{
    const char *far = getenv("DATUM_TERMINAL"); /* WIDTH:out or WIDTH:err */
    const char *stream = far != NULL ? strchr(far, ':') : NULL;
    struct winsize size = {0};

    if (is_terminal(STDOUT_FILENO) || is_terminal(STDERR_FILENO)) {
        bar.out = is_terminal(STDOUT_FILENO) ? stdout : stderr;
        ioctl(fileno(bar.out), TIOCGWINSZ, &size);
        bar.width = size.ws_col;
    } else if (stream != NULL) {
        bar.out = strcmp(stream, ":out") == 0 ? stdout : stderr;
        /* its terminal is of another session than the ranks */
        bar.out = is_pipe(fileno(bar.out)) || isatty(fileno(bar.out)) ? bar.out : NULL;
        bar.width = (int)strtol(far, NULL, 10);
    }
    if (bar.width <= 0 || bar.width >= TEXT_LEN)
        bar.width = WIDTH_USUAL;
}

void bar_show(double share, const char *name, size_t len)
{
    char text[TEXT_LEN], field[CELLS_MAX + 1] = "";
    int cells = bar.width - 45 < CELLS_MAX ? bar.width - 45 : CELLS_MAX;

    if (bar.out == NULL)
        return;
    if (cells > 4) {
        memset(field, '.', (size_t)cells);
        memset(field, '#', (size_t)(share * cells));
    }
    snprintf(text, sizeof(text), "%s%s%s%3d %% %s, %zu bytes", field[0] != '\0' ? "[" : "", field,
             field[0] != '\0' ? "] " : "", (int)(share * 100), name, len);
    text[bar.width - 1] = '\0'; /* a line that is full would begin another */
    fprintf(bar.out, "\r\033[K%s", text);
    fflush(bar.out);
    bar.is_shown = 1;
}

void bar_clear(void)
{
    if (!bar.is_shown)
        return;
    fprintf(bar.out, "\r\033[K");
    fflush(bar.out);
    bar.is_shown = 0;
}
