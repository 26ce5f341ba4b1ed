SRCS_mpi_op += src/mpi/op/op.c src/mpi/op/kernels.c src/mpi/op/kernels_wide.c
