SRCS_mpi += src/mpi/node/kept.c src/mpi/node/map.c src/mpi/node/segment.c src/mpi/node/split.c
