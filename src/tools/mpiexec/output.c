/*
 * Output of ranks. Where no line needs a mark, ranks have mpiexec's own streams: nothing is faster,
 * none waits for us, and a terminal is one. A file is not handed on: Fortran's library seeks to
 * where it has written last before it writes, so that ranks would overwrite each other; bytes are
 * passed on as they come. With marks each line is passed on whole, by one write.
 */
#include "tools/mpiexec/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/log.h"
#include "util/strbuf.h"

enum {
    READ_LEN = 65536,
    LINE_LEN_MAX = 1 << 20, /* what has no end until then is passed on in parts */
    PREFIX_LEN_MAX = 512,
};

/* Does what ranks write to this stream pass through us? */
static bool output_is_ours(const struct dm_launch_options *options, int stream)
{
    struct stat st;

    if (options->is_merged)
        stream = STDOUT_FILENO;
    return options->prepend != NULL || (fstat(stream, &st) == 0 && S_ISREG(st.st_mode));
}

void dm_launch_output_expand(const char *pattern, const struct dm_launch_rank *rank, char *text,
                             size_t len)
{
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, text, len);
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '%' || pattern[1] == '\0') {
            dm_strbuf_add_len(&sb, pattern, 1);
            continue;
        }
        switch (*++pattern) {
        case 'r':
            dm_strbuf_addf(&sb, "%d", rank->rank);
            break;
        case 'w':
        case 's':
            dm_strbuf_addf(&sb, "%d", rank->node->place->n_ranks);
            break;
        case 'p':
            dm_strbuf_addf(&sb, "%d", (int)rank->was);
            break;
        case 'h':
            dm_strbuf_add(&sb, rank->node->host_name);
            break;
        default:
            dm_strbuf_add_len(&sb, pattern, 1);
            break;
        }
    }
}

/* What cannot be written ends the job, or is how it ended well: nobody else would be told. */
static void output_fail(const struct dm_launch_stream *stream)
{
    struct dm_launch_node *node = stream->rank->node;
    int status = errno == EPIPE ? 128 + SIGPIPE : 1;

    if (errno != EPIPE && (!node->is_ending || node->status == 0))
        dm_log_error("mpiexec: writing the output of rank %d: %s", stream->rank->rank,
                     strerror(errno));
    if (node->is_ending)
        dm_launch_verdict_status(node, status);
    else
        dm_launch_verdict_fail(node, status);
}

static void output_write(const struct dm_launch_stream *stream, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(stream->to, text, len);

        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            output_fail(stream);
            return;
        }
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
}

/* ---- lines ---- */

/* The time as Open MPI's -timestamp-output has it; "" without that. */
static void make_stamp(const struct dm_launch_options *options, char *text, size_t len)
{
    time_t now = time(NULL);
    struct tm parts;

    text[0] = '\0';
    if (options->is_stamped && localtime_r(&now, &parts) != NULL)
        (void)strftime(text, len, "%a %b %e %H:%M:%S %Y", &parts);
}

/* Passes a line on; one without an end gets one where others may follow it. */
static void write_line(struct dm_launch_stream *stream, const char *line, size_t len)
{
    const struct dm_launch_rank *rank = stream->rank;
    const struct dm_launch_options *options = rank->node->options;
    bool is_err = stream == &rank->streams[1];
    bool has_end = len > 0 && line[len - 1] == '\n';
    char prefix[PREFIX_LEN_MAX];
    char stamp[64];
    char *text;
    int all;

    dm_launch_output_expand(options->prepend, rank, prefix, sizeof(prefix));
    make_stamp(options, stamp, sizeof(stamp));
    all = asprintf(&text, "%s%s%s%.*s%s", stamp, prefix,
                   !options->is_tagged_by_stream ? ""
                   : is_err                      ? "<stderr>:"
                                                 : "<stdout>:",
                   (int)len, line, has_end ? "" : "\n");
    if (all < 0)
        return;
    output_write(stream, text, strlen(text));
    free(text);
}

/* Passes whole lines on, and all when nothing more comes, or when lines need no mark. */
static void write_lines(struct dm_launch_stream *stream, bool is_last)
{
    char *line = stream->text;
    char *end;

    if (stream->rank->node->options->prepend == NULL) {
        output_write(stream, stream->text, stream->len);
        stream->len = 0;
        return;
    }
    while ((end = memchr(line, '\n', stream->len - (size_t)(line - stream->text))) != NULL) {
        write_line(stream, line, (size_t)(end + 1 - line));
        line = end + 1;
    }
    stream->len -= (size_t)(line - stream->text);
    memmove(stream->text, line, stream->len);
    if (stream->len > 0 && (is_last || stream->len >= LINE_LEN_MAX)) {
        write_line(stream, stream->text, stream->len);
        stream->len = 0;
    }
}

static void stream_close(struct dm_launch_stream *stream)
{
    int fd = stream->watch.fd;

    if (fd < 0)
        return;
    dm_launch_loop_remove(stream->rank->node->loop, &stream->watch);
    close(fd);
    if (stream->text != NULL)
        write_lines(stream, true);
    free(stream->text);
    stream->text = NULL;
}

/* Reads once; false: there is nothing, or no more. */
static bool stream_read(struct dm_launch_stream *stream)
{
    ssize_t n;

    if (stream->watch.fd < 0)
        return false;
    if (stream->max - stream->len < READ_LEN) {
        size_t max = stream->max + READ_LEN + LINE_LEN_MAX / 16;
        char *new = realloc(stream->text, max);

        if (new == NULL) {
            stream_close(stream);
            return false;
        }
        stream->text = new;
        stream->max = max;
    }
    n = read(stream->watch.fd, stream->text + stream->len, READ_LEN);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        stream_close(stream);
        return false;
    }
    stream->len += (size_t)n;
    write_lines(stream, false);
    return true;
}

static void on_output(void *arg)
{
    stream_read(arg);
}

void dm_launch_output_drain(struct dm_launch_rank *rank)
{
    for (int i = 0; i < 2; i++) {
        while (stream_read(&rank->streams[i]))
            ;
        stream_close(&rank->streams[i]);
    }
}

/* ---- where to ---- */

static bool output_file(const struct dm_launch_rank *rank, const char *pattern, int *fd_p)
{
    /* A spawned job's may be one that a rank of the first writes to. */
    int truncate = rank->node->kin.is_spawned ? 0 : O_TRUNC;
    char name[4096];

    dm_launch_output_expand(pattern, rank, name, sizeof(name));
    *fd_p = open(name, O_WRONLY | O_CREAT | truncate | O_APPEND | O_CLOEXEC, 0666);
    if (*fd_p < 0)
        dm_log_error("mpiexec: the file %s for the output of rank %d: %s", name, rank->rank,
                     strerror(errno));
    return *fd_p >= 0;
}

/* One of mpiexec's streams in the place of another; false: reported. */
static bool own_stream(const struct dm_launch_rank *rank, int stream, int *fd_p)
{
    *fd_p = fcntl(stream, F_DUPFD_CLOEXEC, 3);
    if (*fd_p < 0)
        dm_log_error("mpiexec: no output for rank %d: %s", rank->rank, strerror(errno));
    return *fd_p >= 0;
}

bool dm_launch_output_open(struct dm_launch_rank *rank, int stream, int *fd_p)
{
    const struct dm_launch_options *options = rank->node->options;
    struct dm_launch_stream *to = &rank->streams[stream - 1];
    bool is_out = stream == STDOUT_FILENO || options->is_merged;
    const char *pattern = is_out ? options->outfile : options->errfile;
    int fds[2];

    *fd_p = -1;
    to->watch.fd = -1;
    to->rank = rank;
    to->to = is_out ? STDOUT_FILENO : stream;
    if (pattern != NULL)
        return output_file(rank, pattern, fd_p);
    if (!output_is_ours(options, stream))
        return to->to == stream || own_stream(rank, to->to, fd_p);
    if (pipe2(fds, O_CLOEXEC) != 0) {
        dm_log_error("mpiexec: no pipe for the output of rank %d: %s%s", rank->rank,
                     strerror(errno), errno == EMFILE ? "; raise ulimit -Hn" : "");
        return false;
    }
    *fd_p = fds[1];
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    if (dm_launch_loop_add(rank->node->loop, &to->watch, fds[0], false, on_output, to))
        return true;
    close(fds[0]);
    return false;
}
