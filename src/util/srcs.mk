SRCS_util += src/util/err.c src/util/log.c src/util/cfg.c src/util/cfg_mpich.c src/util/clock.c \
	src/util/host.c src/util/affinity.c src/util/glock.c src/util/mlock.c src/util/strbuf.c \
	src/util/pool.c src/util/rbtree.c \
	src/util/hash.c src/util/futex.c src/util/barrier.c src/util/tune.c src/util/copy.c src/util/copy_ways.c \
	src/util/rndv.c src/util/reserve.c src/util/search.c src/util/stack.c src/util/crash.c src/util/where.c \
	src/util/soft.c src/util/sparse.c src/util/slice.c src/util/key_file.c src/util/self.c src/util/arena.c src/util/trial.c
