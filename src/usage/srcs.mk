SRCS_usage += src/usage/usage.c src/usage/objects.c src/usage/requests.c src/usage/buffers.c src/usage/call_buffers.c \
	src/usage/compare.c src/usage/edges.c src/usage/explain.c src/usage/rma.c src/usage/lengths.c src/usage/signature.c
