SRCS_mpi_datatype += src/mpi/datatype/life.c src/mpi/datatype/make.c \
	src/mpi/datatype/construct.c src/mpi/datatype/array.c src/mpi/datatype/env.c \
	src/mpi/datatype/prog.c src/mpi/datatype/moves.c src/mpi/datatype/blocks.c src/mpi/datatype/walk.c src/mpi/datatype/each.c \
	src/mpi/datatype/flatten.c src/mpi/datatype/pack.c src/mpi/datatype/predef.c \
	src/mpi/datatype/f90.c src/mpi/datatype/external.c src/mpi/datatype/order.c \
	src/mpi/datatype/rebuild.c
