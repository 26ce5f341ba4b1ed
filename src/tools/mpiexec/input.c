/*
 * Standard input. A terminal gives its input to one process group only, which is mpiexec's: so it
 * is read here, as long as mpiexec is in the foreground.
 */
#include "tools/mpiexec/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"

enum { INPUT_LEN = 65536 };

/* A rank that input is passed on to. */
struct input_sink {
    int fd;      /* -1: it reads no more */
    size_t done; /* of the text that is here */
    struct dm_launch_watch watch;
};

static struct {
    struct dm_launch_loop *loop;
    struct dm_launch_watch watch; /* of our input */
    struct input_sink *sinks;
    int n_sinks;
    size_t len;
    char text[INPUT_LEN];
} input = {.watch.fd = -1};

static bool is_for(const struct dm_launch_rank *rank)
{
    int whose = rank->node->options->stdin_rank;

    return whose == DM_LAUNCH_STDIN_ALL || whose == rank->rank;
}

/* Makes a pipe, of which this end is kept; returns the rank's. */
static int input_pipe(void)
{
    struct input_sink *new = realloc(input.sinks, ((size_t)input.n_sinks + 1) * sizeof(*new));
    int fds[2];

    if (new == NULL)
        return -1;
    input.sinks = new;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    new[input.n_sinks++] = (struct input_sink){.fd = fds[1], .watch.fd = -1};
    return fds[0];
}

int dm_launch_input_open(struct dm_launch_rank *rank)
{
    bool is_relayed =
        isatty(STDIN_FILENO) || rank->node->options->stdin_rank == DM_LAUNCH_STDIN_ALL;
    int fd;

    if (!is_for(rank))
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else if (is_relayed)
        fd = input_pipe();
    else
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        dm_log_error("mpiexec: no input for rank %d: %s", rank->rank, strerror(errno));
    return fd;
}

static void sink_close(struct input_sink *sink)
{
    dm_launch_loop_remove(input.loop, &sink->watch);
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
}

static void on_input(void *arg);

/* Ours is watched when all have what there is; then there is more to come. */
static void input_next(void)
{
    bool is_wanted = false;

    for (int i = 0; i < input.n_sinks; i++) {
        if (input.sinks[i].fd >= 0 && input.sinks[i].done < input.len)
            return;
        is_wanted = is_wanted || input.sinks[i].fd >= 0;
    }
    input.len = 0;
    if (is_wanted && input.watch.fd < 0 &&
        !dm_launch_loop_add(input.loop, &input.watch, STDIN_FILENO, false, on_input, NULL) &&
        errno == EPERM)
        on_input(NULL); /* a file, which is always ready */
}

static void on_sink(void *arg)
{
    struct input_sink *sink = arg;
    ssize_t n = write(sink->fd, input.text + sink->done, input.len - sink->done);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        sink_close(sink);
    if (n > 0)
        sink->done += (size_t)n;
    if (sink->fd >= 0 && sink->done < input.len) {
        if (sink->watch.fd < 0)
            dm_launch_loop_add(input.loop, &sink->watch, sink->fd, true, on_sink, sink);
        return;
    }
    dm_launch_loop_remove(input.loop, &sink->watch);
    input_next();
}

static void on_input(void *arg)
{
    ssize_t n;

    (void)arg;
    dm_launch_loop_remove(input.loop, &input.watch);
    /* In the background we would be stopped; SIGCONT says when to try again. */
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp())
        return;
    n = read(STDIN_FILENO, input.text, INPUT_LEN);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        input_next();
        return;
    }
    input.len = n > 0 ? (size_t)n : 0;
    for (int i = 0; i < input.n_sinks; i++)
        input.sinks[i].done = 0;
    for (int i = 0; i < input.n_sinks; i++) {
        struct input_sink *sink = &input.sinks[i];

        if (n <= 0)
            sink_close(sink);
        else if (sink->fd >= 0 &&
                 !dm_launch_loop_add(input.loop, &sink->watch, sink->fd, true, on_sink, sink))
            sink_close(sink);
    }
}

void dm_launch_input_start(struct dm_launch_node *node)
{
    input.loop = node->loop;
    if (input.n_sinks > 0)
        input_next();
}

void dm_launch_input_again(void)
{
    if (input.n_sinks > 0 && input.watch.fd < 0)
        input_next();
}
