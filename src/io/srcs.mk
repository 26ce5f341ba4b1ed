SRCS_io += src/io/file.c src/io/access.c src/io/calls.c src/io/split.c src/io/set_view.c \
	src/io/size.c src/io/cache.c src/io/agree.c src/io/shared.c src/io/words.c src/io/request.c src/io/view.c \
	src/io/move.c src/io/mapped.c src/io/fault.c src/io/disk.c src/io/convert.c src/io/datarep.c \
	src/io/hints.c src/io/lock.c src/io/stats.c src/io/job.c src/io/plan.c src/io/exchange.c \
	src/io/exchange_queue.c src/io/ship.c src/io/two_phase.c src/io/way.c \
	src/io/window.c src/io/bundle.c
