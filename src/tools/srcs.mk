SRCS_tools_mpiexec := $(addprefix src/tools/mpiexec/,mpiexec.c agent.c binding.c configfile.c debugger.c engine.c \
	engine_command.c environment.c foreign.c guard.c input.c jobs.c kvs.c local.c loop.c name_server.c names.c node.c open_mpi.c options.c option_rows.c output.c parent.c \
	placement.c pmi_jobs.c pmi_server.c report.c reports.c resources.c server.c server_ask.c session.c signals.c spawn.c spawn_request.c spawned.c upstream.c usage.c verdict.c) src/tools/out.c \
	src/tools/install_paths.c src/tools/where.c
SRCS_tools_datum-ps := src/tools/datum_ps.c src/tools/where.c src/tools/out.c
SRCS_tools_datum-info := $(addprefix src/tools/,datum_info.c info_host.c info_print.c out.c install_paths.c)

