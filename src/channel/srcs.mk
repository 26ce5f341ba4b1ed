SRCS_channel += src/channel/start.c \
	src/channel/packet.c src/channel/send.c src/channel/small.c src/channel/self.c src/channel/bulk.c src/channel/zero_copy.c src/channel/rails.c \
	src/channel/progress.c src/channel/progress_thread.c src/channel/wait.c src/channel/account.c src/channel/queues.c src/channel/turns.c src/channel/yield.c
