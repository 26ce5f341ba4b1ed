# For debuggers: lib/libdatum_mqs.so.
SRCS_mqs := src/mqs/mqs.c src/mqs/read.c src/mqs/comms.c src/mqs/ops.c
