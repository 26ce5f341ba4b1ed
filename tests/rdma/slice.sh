#!/bin/sh
# test: timeout=900 san=no beside=yes
# Part of make check-rdma: one guest with Soft-RoCE, some conformance cases and multi-process tests
# on OFED's libdaplofa, and the refusal of libdaploucm.
. "$TEST_LIB"
need apt-get apt
need qemu-system-x86_64 qemu-system-x86
need dtest dapl2-utils
need flock util-linux
"$TEST_SRC/tests/rdma/run" -s -o "$TEST_TMP/logs" -v
