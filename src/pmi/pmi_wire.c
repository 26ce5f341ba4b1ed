/*
 * Messages of PMI-1 and PMI-2. Reading is robust against messages that come in
 * pieces or several at once, signals, and the end of the other side.
 */
#include "pmi/pmi_wire.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/err.h"
#include "util/futex.h"
#include "util/log.h"

/* Characters of the length in front of a message of PMI-2. */
#define FRAME_HEAD 6

void dm_pmi_wire_init(struct dm_pmi_wire *wire, int fd)
{
    wire->fd = fd;
    wire->is_framed = false;
    wire->n_msgs = 0;
    wire->n_bytes = 0;
    wire->start = 0;
    wire->end = 0;
    wire->out_len = 0;
}

/* Without SIGPIPE where the descriptor is a socket, as Hydra's is. */
static ssize_t wire_send_some(int fd, const char *buf, size_t len)
{
    ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

    if (n < 0 && errno == ENOTSOCK)
        n = write(fd, buf, len);
    return n;
}

static int wire_send_all(struct dm_pmi_wire *wire, const char *text, size_t len)
{
    size_t sent = 0;

    while (sent < len) {
        ssize_t n = wire_send_some(wire->fd, text + sent, len - sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return DM_FAIL(DM_ELAUNCH, "the process manager (mpiexec or srun) is gone");
        if (n < 0)
            return DM_FAIL(DM_ELAUNCH, "writing to the process manager (descriptor %d): %s",
                           wire->fd, strerror(errno));
        sent += (size_t)n;
    }
    wire->n_bytes += len;
    return DM_OK;
}

int dm_pmi_wire_flush(struct dm_pmi_wire *wire)
{
    size_t len = wire->out_len;

    wire->out_len = 0;
    return wire_send_all(wire, wire->out, len);
}

int dm_pmi_wire_send_text(struct dm_pmi_wire *wire, const char *text, size_t len)
{
    int err = dm_pmi_wire_flush(wire);

    wire->n_msgs++;
    return err == DM_OK ? wire_send_all(wire, text, len) : err;
}

static int wire_add_message(struct dm_pmi_wire *wire, const char *fmt, va_list ap)
{
    char text[DM_PMI_LINE_MAX];
    char head[FRAME_HEAD + 1] = "";
    size_t extra = wire->is_framed ? FRAME_HEAD : 1; /* the length, or the newline */
    int len = vsnprintf(text, sizeof(text), fmt, ap);

    if (len < 0 || (size_t)len + extra >= DM_PMI_LINE_MAX)
        return DM_FAIL(DM_EINTERN, "message to the process manager is too long");
    DM_TRACE(PMI, "send %s", text);
    if (wire->out_len + (size_t)len + extra >= DM_PMI_LINE_MAX) {
        int err = dm_pmi_wire_flush(wire);

        if (err != DM_OK)
            return err;
    }
    if (wire->is_framed)
        snprintf(head, sizeof(head), "%6d", len % 1000000);
    wire->out_len += (size_t)snprintf(wire->out + wire->out_len, sizeof(wire->out) - wire->out_len,
                                      "%s%s%s", head, text, wire->is_framed ? "" : "\n");
    wire->n_msgs++;
    return DM_OK;
}

int dm_pmi_wire_add(struct dm_pmi_wire *wire, const char *fmt, ...)
{
    va_list ap;
    int err;

    va_start(ap, fmt);
    err = wire_add_message(wire, fmt, ap);
    va_end(ap);
    return err;
}

int dm_pmi_wire_send(struct dm_pmi_wire *wire, const char *fmt, ...)
{
    va_list ap;
    int err;

    va_start(ap, fmt);
    err = wire_add_message(wire, fmt, ap);
    va_end(ap);
    return err == DM_OK ? dm_pmi_wire_flush(wire) : err;
}

/* Waits until there is something to read; deadline in nanoseconds. */
static int wire_wait_readable(int fd, uint64_t deadline)
{
    for (;;) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        int ms = -1;
        int n;

        if (deadline != DM_PMI_FOREVER) {
            uint64_t now = dm_futex_now();
            uint64_t left = now < deadline ? (deadline - now) / 1000000 + 1 : 0;

            ms = left < INT_MAX ? (int)left : INT_MAX;
        }
        n = poll(&pfd, 1, ms);
        if (n > 0)
            return DM_OK;
        if (n == 0)
            return DM_FAIL(DM_ELAUNCH,
                           "the process manager does not answer; is descriptor %d "
                           "(PMI_FD) really one of a launcher's?",
                           fd);
        if (errno != EINTR)
            return DM_FAIL(DM_ELAUNCH, "waiting for the process manager: %s", strerror(errno));
    }
}

static int wire_fill(struct dm_pmi_wire *wire, uint64_t deadline)
{
    ssize_t n;
    int err;

    if (wire->start > 0) {
        wire->end -= wire->start;
        memmove(wire->buf, wire->buf + wire->start, wire->end);
        wire->start = 0;
    }
    if (wire->end == sizeof(wire->buf))
        return DM_FAIL(DM_ELAUNCH, "the process manager sent a message of more than %d bytes",
                       DM_PMI_LINE_MAX);
    do {
        err = wire_wait_readable(wire->fd, deadline);
        if (err != DM_OK)
            return err;
        n = read(wire->fd, wire->buf + wire->end, sizeof(wire->buf) - wire->end);
    } while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return DM_FAIL(DM_ELAUNCH, "the process manager (mpiexec or srun) closed the connection");
    if (n < 0)
        return DM_FAIL(DM_ELAUNCH, "reading from the process manager (descriptor %d): %s", wire->fd,
                       strerror(errno));
    wire->end += (size_t)n;
    wire->n_bytes += (size_t)n;
    return DM_OK;
}

/* Takes a line from the buffer, if a whole one is there: its length, or -1. */
static int wire_take_line(struct dm_pmi_wire *wire, char **text_p)
{
    char *line = wire->buf + wire->start;
    char *end = memchr(line, '\n', wire->end - wire->start);

    if (end == NULL)
        return -1;
    *end = '\0';
    wire->start = (size_t)(end + 1 - wire->buf);
    *text_p = line;
    return (int)(end - line);
}

/* The length in front of a text, with blanks on either side; -2 when it is none. */
static int wire_read_length(const char *head)
{
    int len = 0;
    int pos = 0;
    int first;

    while (pos < FRAME_HEAD && head[pos] == ' ')
        pos++;
    for (first = pos; pos < FRAME_HEAD && head[pos] >= '0' && head[pos] <= '9'; pos++)
        len = len * 10 + head[pos] - '0';
    if (pos == first)
        return -2;
    while (pos < FRAME_HEAD && head[pos] == ' ')
        pos++;
    return pos == FRAME_HEAD ? len : -2;
}

/* The same for a text behind its length; -2 when there is no length. */
static int wire_take_frame(struct dm_pmi_wire *wire, char **text_p)
{
    char *head = wire->buf + wire->start;
    int len;

    if (wire->end - wire->start < FRAME_HEAD)
        return -1;
    len = wire_read_length(head);
    if (len < 0)
        return len;
    if (wire->end - wire->start < FRAME_HEAD + (size_t)len)
        return len > DM_PMI_LINE_MAX - FRAME_HEAD ? -2 : -1;
    /* To the left, over the length, so that there is room for the NUL. */
    memmove(head, head + FRAME_HEAD, (size_t)len);
    head[len] = '\0';
    for (int i = 0; i < len; i++) {
        if (head[i] == ';')
            head[i] = ' ';
        else if (head[i] == ' ')
            head[i] = '_';
    }
    wire->start += FRAME_HEAD + (size_t)len;
    *text_p = head;
    return len;
}

int dm_pmi_wire_recv(struct dm_pmi_wire *wire, uint64_t timeout_us, const char **line_p)
{
    uint64_t deadline = DM_PMI_FOREVER;

    if (timeout_us < UINT64_MAX / 2000)
        deadline = dm_futex_now() + timeout_us * 1000;
    for (;;) {
        char *text = NULL;
        int len = wire->is_framed ? wire_take_frame(wire, &text) : wire_take_line(wire, &text);
        int err;

        if (len == -2)
            return DM_FAIL(DM_ELAUNCH, "the process manager sent no length of a message: '%.6s'",
                           wire->buf + wire->start);
        if (len >= 0) {
            if (strlen(text) != (size_t)len)
                return DM_FAIL(DM_ELAUNCH, "the process manager sent binary data");
            DM_TRACE(PMI, "recv %s", text);
            *line_p = text;
            return DM_OK;
        }
        err = wire_fill(wire, deadline);
        if (err != DM_OK)
            return err;
    }
}

ssize_t dm_pmi_wire_read(struct dm_pmi_wire *wire)
{
    ssize_t n;

    if (wire->start > 0) {
        wire->end -= wire->start;
        memmove(wire->buf, wire->buf + wire->start, wire->end);
        wire->start = 0;
    }
    if (wire->end == sizeof(wire->buf))
        return 0;
    do {
        n = recv(wire->fd, wire->buf + wire->end, sizeof(wire->buf) - wire->end, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -1 : 0;
    wire->end += (size_t)n;
    return n;
}

bool dm_pmi_wire_next(struct dm_pmi_wire *wire, const char **line_p)
{
    char *text = NULL;

    if (wire_take_line(wire, &text) < 0)
        return false;
    DM_TRACE(PMI, "recv %s", text);
    *line_p = text;
    return true;
}

bool dm_pmi_wire_field(const char *line, const char *name, char *out, size_t len)
{
    size_t name_len = strlen(name);

    for (;;) {
        size_t word_len;

        line += strspn(line, " ");
        if (*line == '\0')
            return false;
        word_len = strcspn(line, " ");
        if (word_len > name_len && strncmp(line, name, name_len) == 0 && line[name_len] == '=') {
            size_t val_len = word_len - name_len - 1;

            if (val_len >= len)
                return false;
            memcpy(out, line + name_len + 1, val_len);
            out[val_len] = '\0';
            return true;
        }
        line += word_len;
    }
}

bool dm_pmi_wire_number(const char *line, const char *name, int *num_p)
{
    char text[16];
    char *end;
    long num;

    if (!dm_pmi_wire_field(line, name, text, sizeof(text)) || text[0] == '\0')
        return false;
    errno = 0;
    num = strtol(text, &end, 10);
    if (errno != 0 || *end != '\0' || num < INT_MIN || num > INT_MAX)
        return false;
    *num_p = (int)num;
    return true;
}

static bool wire_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("._-:,/+@", c) != NULL);
}

bool dm_pmi_wire_escape(const char *text, char *out, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t pos = 0;

    for (; *text != '\0'; text++) {
        size_t need = wire_is_plain(*text) ? 1 : 3;

        if (pos + need >= len)
            return false;
        if (need == 1) {
            out[pos++] = *text;
        } else {
            out[pos++] = '%';
            out[pos++] = digits[(unsigned char)*text >> 4];
            out[pos++] = digits[(unsigned char)*text & 15];
        }
    }
    if (pos >= len)
        return false;
    out[pos] = '\0';
    return true;
}

static int wire_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool dm_pmi_wire_unescape(char *text)
{
    char *out = text;

    for (; *text != '\0'; text++) {
        int high;
        int low;

        if (*text != '%') {
            *out++ = *text;
            continue;
        }
        high = wire_hex_digit(text[1]);
        low = high >= 0 ? wire_hex_digit(text[2]) : -1;
        if (low < 0 || high * 16 + low == 0)
            return false;
        *out++ = (char)(high * 16 + low);
        text += 2;
    }
    *out = '\0';
    return true;
}
