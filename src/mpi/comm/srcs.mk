SRCS_mpi += src/mpi/comm/agree.c src/mpi/comm/create.c src/mpi/comm/group.c \
	src/mpi/comm/hints.c src/mpi/comm/idup.c src/mpi/comm/inquire.c src/mpi/comm/intercomm.c \
	src/mpi/comm/procmap.c src/mpi/comm/procs.c src/mpi/comm/split.c src/mpi/comm/split_dir.c src/mpi/comm/split_type.c
