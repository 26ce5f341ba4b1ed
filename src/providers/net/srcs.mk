# For each provider over a network.
SRCS_NET := \
    src/providers/net/alive.c \
    src/providers/net/drive.c \
    src/providers/net/fork.c \
    src/providers/net/interface.c \
    src/providers/net/key.c \
    src/providers/net/mem.c \
    src/providers/net/net.c \
    src/providers/net/net_state.c \
    src/providers/net/port.c \
    src/providers/net/sleep.c \
    src/providers/net/thread.c
