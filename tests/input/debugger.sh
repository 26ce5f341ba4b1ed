#!/bin/bash
# test: timeout=60 san=no
# The table of processes that debuggers read out of mpiexec.
. "$TEST_LIB"
need gdb gdb

cat >prog.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
END
mpicc -o debugger_prog prog.c || fail 'prog.c does not compile'
cat >commands <<'END'
set breakpoint pending off
set print elements 0
break MPIR_Breakpoint
run
set confirm off
printf "size %d state %d\n", MPIR_proctable_size, MPIR_debug_state
printf "0 %s %s\n", MPIR_proctable[0].host_name, MPIR_proctable[0].executable_name
printf "1 %s %s\n", MPIR_proctable[1].host_name, MPIR_proctable[1].executable_name
eval "shell ps -o args= -p %d,%d", MPIR_proctable[0].pid, MPIR_proctable[1].pid
continue
END
sed -i 's/^run$/break main\nrun\nset var MPIR_being_debugged = 1\ncontinue/' commands
timeout 50 gdb -q -batch -x commands --args "$(command -v mpiexec)" -n 2 ./debugger_prog >out 2>&1 </dev/null
host=$(uname -n)
shows() {
    cat out
    grep -q '^size 2 state 1$' out && grep -qE "^0 $host .*/debugger_prog$" out && grep -qE "^1 $host .*/debugger_prog$" out &&
        [ "$(grep -c '^\./debugger_prog$' out)" = 2 ] && grep -q 'exited normally' out
}
check 'the table' shows
totals
