SRCS_mpi += src/mpi/process/accept.c src/mpi/process/join.c src/mpi/process/jobs.c src/mpi/process/handshake.c \
	src/mpi/process/name.c src/mpi/process/part.c src/mpi/process/port_name.c \
	src/mpi/process/spawn.c src/mpi/process/handshake_pkt.c
