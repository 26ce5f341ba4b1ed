# For each provider over a network.
SRCS_NET := \
    src/providers/net/alive.c \
    src/providers/net/cm.c \
    src/providers/net/cm_passive.c \
    src/providers/net/conn.c \
    src/providers/net/drive.c \
    src/providers/net/end.c \
    src/providers/net/ep.c \
    src/providers/net/fork.c \
    src/providers/net/interface.c \
    src/providers/net/key.c \
    src/providers/net/listener.c \
    src/providers/net/mem.c \
    src/providers/net/net.c \
    src/providers/net/op.c \
    src/providers/net/port.c \
    src/providers/net/post.c \
    src/providers/net/sleep.c \
    src/providers/net/srq.c \
    src/providers/net/thread.c
