SRCS_tools_mpiexec := src/tools/mpiexec/mpiexec.c src/tools/mpiexec/args.c src/tools/mpiexec/remote.c \
	src/tools/mpiexec/ranks.c src/tools/mpiexec/starts.c src/tools/out.c src/tools/install_paths.c
SRCS_tools_datum-info := src/tools/datum_info.c src/tools/out.c src/tools/install_paths.c

