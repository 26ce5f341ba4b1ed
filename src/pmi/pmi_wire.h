/*
 * The wire protocols of PMI-1 and PMI-2 over a stream socket. PMI-1: lines of
 * "name=value" words. PMI-2: texts "name=value;name=value;" behind their length
 * in six characters. Knows how messages look and how to read and write them, not
 * what they mean.
 */
#ifndef DM_PMI_PMI_WIRE_H
#define DM_PMI_PMI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/port.h"

#define DM_PMI_LINE_MAX 8192 /* bytes of a line with its newline */

#define DM_PMI_FOREVER UINT64_MAX

struct dm_pmi_wire {
    int fd;
    bool is_framed;   /* PMI-2 */
    uint64_t n_msgs;  /* requests so far */
    uint64_t n_bytes; /* in both directions */
    size_t start;     /* first byte of buf that was not returned yet */
    size_t end;       /* end of what was read */
    size_t out_len;   /* bytes of out that wait to be sent */
    char buf[DM_PMI_LINE_MAX];
    char out[DM_PMI_LINE_MAX];
};

/* Speak over fd, which stays the caller's. */
void dm_pmi_wire_init(struct dm_pmi_wire *wire, int fd);

/*
 * Add a message to those that wait to be sent; the newline or the length is
 * added. DM_ELAUNCH when the launcher is gone.
 */
int dm_pmi_wire_add(struct dm_pmi_wire *wire, const char *fmt, ...) DM_PRINTF(2, 3);
/* Send what waits. DM_ELAUNCH when the launcher is gone. */
int dm_pmi_wire_flush(struct dm_pmi_wire *wire);
/* Send what waits, and this, which is as the other side takes it. */
int dm_pmi_wire_send_text(struct dm_pmi_wire *wire, const char *text, size_t len);
/* Both at once. */
int dm_pmi_wire_send(struct dm_pmi_wire *wire, const char *fmt, ...) DM_PRINTF(2, 3);

/*
 * Wait for one message, at most timeout_us microseconds or DM_PMI_FOREVER. It
 * comes without newline or length and with blanks between its fields, and is
 * valid until the next call. DM_ELAUNCH when the launcher is gone, says nothing
 * in time, or sends what is no message.
 */
int dm_pmi_wire_recv(struct dm_pmi_wire *wire, uint64_t timeout_us, const char **line_p);

/*
 * For a server of PMI-1, which does not wait: read what is there. How many bytes; 0: the other side
 * is gone, or sends what is no message; -1: there is nothing now.
 */
ssize_t dm_pmi_wire_read(struct dm_pmi_wire *wire);
/* The next line of what was read, valid until the next read; false: there is no whole one. */
bool dm_pmi_wire_next(struct dm_pmi_wire *wire, const char **line_p);

/*
 * The value of a name in a message, copied into out (len bytes with the NUL). False
 * when it has no such name or the value does not fit.
 */
bool dm_pmi_wire_field(const char *line, const char *name, char *out, size_t len);

/* The same for a whole number. */
bool dm_pmi_wire_number(const char *line, const char *name, int *num_p);

/*
 * A text as one word of letters that no launcher trips over: everything but
 * letters, digits and a few signs becomes %XX. False when out (len bytes with
 * the NUL) is too short.
 */
bool dm_pmi_wire_escape(const char *text, char *out, size_t len);

/* Back, in place; false for what escape cannot have made. */
bool dm_pmi_wire_unescape(char *text);

#endif
