/*
 * The two directions of a socket. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_STREAM_H
#define DM_PROVIDERS_TCP_STREAM_H

#include "providers/tcp/dto.h"

enum { DM_TCP_STAGE_LEN = 20480, DM_TCP_SINK_LEN = 65536 };

/* ---- transport/out.c ---- */

/* Send what there is to send, as long as the socket takes it. */
void dm_tcp_out_push(struct dm_tcp_conn *conn);
/* A request has been posted: send it, or hold it until the next round where it is one of many. */
void dm_tcp_out_post(struct dm_tcp_conn *conn);
/* Send what there is when the socket has been full. */
void dm_tcp_out_retry(struct dm_tcp_conn *conn);
/* Data have come: send what they ask for. An acknowledgement alone waits for some rounds where
 * requests answer what comes. */
void dm_tcp_out_answer(struct dm_tcp_conn *conn);
/* The peer may use more receives, which requests tell it, too: what is not urgent waits some rounds for one. */
void dm_tcp_out_grant(struct dm_tcp_conn *conn, bool is_urgent);
/* A round has passed, for one whose acknowledgement waits; and it was the last. */
void dm_tcp_out_late(struct dm_tcp_conn *conn, bool is_last);
/* Send a control frame as soon as may be. */
void dm_tcp_out_ctrl(struct dm_tcp_conn *conn, const struct dm_tcp_head *head, const void *data);
/* Send a greeting. */
void dm_tcp_out_greeting(struct dm_tcp_conn *conn, const struct dm_tcp_greeting *greeting);
/* The next n bytes of data of the frame under way: at most DM_IOV_MAX pieces, how many. */
uint32_t dm_tcp_out_data(const struct dm_tcp_conn *conn, uint32_t n, struct iovec *vec);
/* Forget everything that waits. */
void dm_tcp_out_drop(struct dm_tcp_conn *conn);

/* ---- transport/in.c ---- */

/* Read what has come, and carry it out. Did anything come? */
bool dm_tcp_in_read(struct dm_tcp_conn *conn);
/* Frames are next, not greetings. */
void dm_tcp_in_frames(struct dm_tcp_conn *conn);

/* ---- frame.c ---- */

/* A header is there, in.head: check it and say where its data go, in.vec. False: the connection
 * ends. */
bool dm_tcp_frame_begin(struct dm_tcp_conn *conn);
/* All its data are there. False: the connection ends. */
bool dm_tcp_frame_end(struct dm_tcp_conn *conn);

#endif
