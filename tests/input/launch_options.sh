#!/bin/bash
# test: timeout=120
# Options of mpiexec: what each does, and what is said of a wrong one.
. "$TEST_LIB"

prints() { # WANT COMMAND...: the lines, sorted
    local want=$1 got
    shift
    got=$(timeout 30 "$@" 2>&1 </dev/null | sort)
    [ "$got" = "$want" ] && return
    echo "wanted: $want"
    echo "got: $got"
    return 1
}
rank='echo $PMI_RANK'

for option in -n -np -c --n -n= --np=; do
    if [[ $option == *= ]]; then words=("${option}3"); else words=("$option" 3); fi
    check "$option" prints $'0\n1\n2' mpiexec "${words[@]}" sh -c "$rank"
done
check 'one process is the default' prints 0 mpiexec sh -c "$rank"
check "programs after a ':'" prints $'0 a\n1 b\n2 b' mpiexec -n 1 sh -c 'echo $PMI_RANK a' : -n 2 sh -c 'echo $PMI_RANK b'
check 'arguments that look like options' prints '<-n><:x><a b>' mpiexec -n 1 sh -c 'printf "<%s>" "$@"' x -n :x 'a b'

# variables
check '-env NAME VALUE' prints 'b c' mpiexec -n 1 -env A 'b c' sh -c 'echo "$A"'
check '-env NAME=VALUE' prints b mpiexec -n 1 -env A=b sh -c 'echo $A'
check '-env is of one program' prints $'\nb' mpiexec -n 1 -env A b sh -c 'echo $A' : -n 1 sh -c 'echo $A'
check '-genv is of all' prints $'b\nb' mpiexec -genv A b -n 1 sh -c 'echo $A' : -n 1 sh -c 'echo $A'
check '-env wins' prints c mpiexec -genv A b -n 1 -env A c sh -c 'echo $A'
check '-x NAME=VALUE' prints b mpiexec -x A=b -n 1 sh -c 'echo $A'
check '-x NAME' prints here env A=here mpiexec -genvnone -x A -n 1 sh -c 'echo $A'
check '-genvnone' prints '<>' env A=here mpiexec -genvnone -n 1 sh -c 'echo "<$A>"'
check '-genvlist' prints '<1><><3>' env A=1 B=2 C=3 mpiexec -genvlist A,C -n 1 sh -c 'echo "<$A><$B><$C>"'
check '-envnone' prints $'<1>\n<>' env A=1 mpiexec -n 1 -envnone sh -c 'echo "<$A>"' : -n 1 sh -c 'echo "<$A>"'
check '-envall wins over -genvnone' prints '<1>' env A=1 mpiexec -genvnone -n 1 -envall sh -c 'echo "<$A>"'
check '-envlist' prints '<1><>' env A=1 B=2 mpiexec -n 1 -envlist A sh -c 'echo "<$A><$B>"'
check '-usize' prints 12 mpiexec -usize 12 -n 1 sh -c 'echo 12'

# directories
mkdir -p "dir with blank/sub"
printf '#!/bin/sh\npwd\n' >"dir with blank/where"
chmod +x "dir with blank/where"
check '-wdir' prints "$PWD/dir with blank" mpiexec -n 1 -wdir "dir with blank" pwd
check '-wdir and a relative program' prints "$PWD/dir with blank" mpiexec -n 1 -wdir "dir with blank" ./where
check '-path' prints "$PWD" mpiexec -n 1 -path "/nowhere:$PWD/dir with blank" where
handler='echo $DATUM_INITIAL_ERRHANDLER'
check '-initial-errhandler' prints $'mpi_errors_abort\nmpi_errors_return' \
    mpiexec -n 1 -initial-errhandler MPI_ERRORS_RETURN sh -c "$handler" : -n 1 -initial-errhandler mpi_errors_abort sh -c "$handler"
check '-soft' prints $'0\n1\n2' mpiexec -n 4 -soft 1:9:2 sh -c "$rank"
check '-soft of one program' prints $'0 a\n1 a\n2 b' mpiexec -n 5 -soft 0,2 sh -c 'echo $PMI_RANK a' : -n 1 sh -c 'echo $PMI_RANK b'
check '-arch' prints 0 mpiexec -n 1 -arch "$(uname -m)" sh -c "$rank"
printf '# of a program\nn 2\nwdir = dir with blank\n\nenv A=b c\nl\n' >own
check '-file' prints "[0] b c $PWD/dir with blank"$'\n'"[1] b c $PWD/dir with blank"$'\n[2] -file\n[2] own' \
    mpiexec -file own sh -c 'echo $A $PWD' : -n 1 printf '%s\n' -file own
check '-file=, and what comes behind it' prints '[0] d' mpiexec --file=own -n 1 -env A=d sh -c 'echo $A'
check '-wdir that is not there' status 1 'no directory nowhere' mpiexec -n 1 -wdir nowhere pwd

# output
check '-l' prints $'[0] a\n[0] b\n[1] a\n[1] b' mpiexec -l -n 2 sh -c 'echo a; echo b'
check '-prepend-rank' prints '[0] a' mpiexec -prepend-rank -n 1 echo a
check '-tag-output' prints $'[1,0]<stderr>:b\n[1,0]<stdout>:a' mpiexec -tag-output -n 1 sh -c 'echo a; echo b >&2'
check '-prepend-pattern' prints "1/2 on $(uname -n): a" mpiexec -n 1 -prepend-pattern '%r/%w on %h: ' true : -n 1 echo a
check 'a line without an end' prints $'[0] a\n[1] a' mpiexec -l -n 2 printf a
whole() { # lines of many ranks are whole, however they are written
    timeout 60 mpiexec -l -n 8 awk 'BEGIN { for (i = 0; i < 2000; i++) { printf "%s ", "begin"; if (i % 7 == 0) fflush(); print i, "end" } }' >out
    [ "$(wc -l <out)" = 16000 ] && ! grep -Ev '^\[[0-7]\] begin [0-9]+ end$' out
}
check 'lines stay whole' whole
all_of_it() { [ "$(mpiexec -l -n 4 seq 100000 | wc -l)" = 400000 ]; }
check 'nothing is lost' all_of_it
to_file() { # by a program that seeks to where it has written last, as Fortran's library does
    timeout 60 mpiexec -n 4 perl -e 'for (1..500) { sysseek(STDOUT, $at, 0); $at += syswrite(STDOUT, "line $_\n") }' >out
    [ "$(grep -c '^line [0-9]*$' out)" = 2000 ]
}
check 'ranks that seek in a file' to_file
check 'a full disk' status 1 'writing the output of rank [01]: No space left' sh -c 'mpiexec -l -n 2 seq 10 >/dev/full'
files() {
    mpiexec -n 2 -outfile-pattern 'out.%r' -errfile-pattern 'err.%r.%w' sh -c 'echo o$PMI_RANK; echo e$PMI_RANK >&2' &&
        [ "$(cat out.0 out.1 err.0.2 err.1.2 | tr '\n' ' ')" = 'o0 o1 e0 e1 ' ]
}
check '-outfile-pattern, -errfile-pattern' files

# input
check '-stdin none' [ "$(echo x | mpiexec -stdin none -n 2 cat)" = '' ]
check '-stdin RANK' [ "$(echo x | mpiexec -stdin 1 -n 2 sh -c 'sed "s/^/$PMI_RANK/"')" = 1x ]
seq 100000 >numbers
check '-stdin all' [ "$(mpiexec -stdin all -n 3 wc -l <numbers | tr '\n' ' ')" = '100000 100000 100000 ' ]
check '-stdin all, a pipe' [ "$(cat numbers | mpiexec -stdin all -n 3 wc -l | tr '\n' ' ')" = '100000 100000 100000 ' ]
if command -v script >/dev/null 2>&1; then
    check 'input of a terminal' bash -c \
        '(sleep 1; echo hello; sleep 1) | timeout 20 script -qec "mpiexec -n 2 head -n 1" /dev/null | grep -c hello | grep -q 2'
else
    skip_one 'script is not there (package bsdutils)'
fi

# cores
cores=$(nproc)
first=$(awk '/Cpus_allowed_list/ { split($2, a, /[-,]/); print a[1] }' /proc/self/status)
allowed='awk "/Cpus_allowed_list/ { print \$2 }" /proc/self/status'
for unit in core socket numa hwthread none core:1; do
    check "-bind-to $unit" mpiexec -bind-to $unit -n 3 true
done
check '-bind-to hwthread binds' prints "$first" mpiexec -bind-to hwthread -n 1 sh -c "$allowed"
check '-bind-to user' prints "$first"$'\n'"$first" mpiexec -bind-to user:$first,$first -n 2 sh -c "$allowed"
one_each="mpiexec -n $cores sh -c '$allowed' | grep -x '[0-9]*' | sort -u | wc -l"
if [ "$(cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | sort -u | wc -l)" = "$cores" ]; then
    check 'cores are dealt out' prints "$cores" bash -c "$one_each"
    for by in core slot node ppr:$cores:node; do
        check "cores are dealt out with -map-by $by" prints "$cores" bash -c "${one_each/mpiexec/mpiexec -map-by $by}"
    done
else
    skip_one 'processors share cores, or this process may not use all'
fi
check 'not when there are too few' prints "$(for i in $(seq 0 $cores); do eval "$allowed"; done)" \
    mpiexec -n $((cores + 1)) sh -c "$allowed"
check 'nor with -bind-to none' prints "$(for i in $(seq $cores); do eval "$allowed"; done)" \
    mpiexec -bind-to none -n $cores sh -c "$allowed"
check '-map-by' mpiexec -bind-to core -map-by socket -n 3 true
check '-bind-to core:overload-allowed' mpiexec -bind-to core:overload-allowed -n $((cores + 1)) true

# scripts for Open MPI
for by in slot node core:OVERSUBSCRIBE slot:PE=1 ppr:2:node NUMA; do
    check "--map-by $by" prints $'0\n1' mpiexec --map-by $by -n 2 sh -c "$rank"
done
check '--map-by ppr:3:node, without -n' prints $'0\n1\n2' mpiexec --map-by ppr:3:node sh -c "$rank"
check '-pernode' prints 0 mpiexec -hosts localhost:3 -pernode sh -c "$rank"
check '-npernode' prints $'0\n1' mpiexec -npernode 2 sh -c "$rank"
check '--rank-by' mpiexec --rank-by slot -bynode --rank-by node -n 1 true
check '--report-bindings' says "rank 1 on host $(uname -n) is bound to processors $first\$" \
    mpiexec --report-bindings -bind-to user:$first,$first -n 2 true
check '--report-bindings, not bound' says 'rank 0 on host .* is not bound' mpiexec --report-bindings -bind-to none -n 1 true
check '--display-map' says 'rank 1 on host .* is process' mpiexec --display-map -n 2 true
check '--prefix' mpiexec --prefix /nowhere -n 1 true
both='echo a; echo b >&2'
check '--timestamp-output' says '^[A-Z][a-z]+ [A-Z][a-z]+ +[0-9]+ [0-9:]+ [0-9]+\[1,0\]<stderr>:b$' \
    mpiexec --timestamp-output --tag-output -n 1 sh -c "$both"
merged() { # OPTION...: both streams at its output, nothing at its errors
    mpiexec --merge-stderr-to-stdout "$@" -n 2 sh -c "$both" 2>errors | sort >merged
    [ ! -s errors ] && [ "$(tr -d '\n' <merged)" = "$want" ]
}
want=aabb check '--merge-stderr-to-stdout' merged
want='[0] a[0] b[1] a[1] b' check '--merge-stderr-to-stdout, marked' merged -l
merged_file() {
    mpiexec --merge-stderr-to-stdout -n 2 sh -c "$both" >merged 2>errors && [ ! -s errors ] && [ "$(sort merged | tr -d '\n')" = aabb ]
}
check '--merge-stderr-to-stdout, a file' merged_file
output_filename() { mpiexec --output-filename joined -n 2 sh -c "$both" && [ "$(cat joined.0 joined.1 | tr '\n' ' ')" = 'a b a b ' ]; }
check '--output-filename' output_filename

# time, files of options, hosts of this machine
check '-timeout' status 124 'has run for 1 second' timeout 20 mpiexec -timeout 1 -n 2 sleep 20
check '-timeout with a unit' status 124 'has run for 1 second' timeout 20 mpiexec -timeout 1s -n 2 sleep 20
check '-timeout that is long' mpiexec -timeout 100 -n 2 true
for time in 90s 5m 2h; do
    check "-timeout $time" mpiexec -timeout $time -n 1 true
    check "MPIEXEC_TIMEOUT=$time" env MPIEXEC_TIMEOUT=$time mpiexec -n 1 true
done
check 'MPIEXEC_TIMEOUT' status 124 'has run for 1 second' env MPIEXEC_TIMEOUT=1 timeout 20 mpiexec -n 2 sleep 20
check 'MPIEXEC_TIMEOUT of no time' env MPIEXEC_TIMEOUT=-1 mpiexec -n 2 true
check '-timeout wins' status 124 'has run for 1 second' env MPIEXEC_TIMEOUT=100 timeout 20 mpiexec -timeout 1 -n 2 sleep 20
printf '# two\n-n 1 sh -c "echo a $0" x\n\n-n 2 -env B 2 sh -c '"'echo b \$B'"'\n' >config
check '-configfile' prints $'a x\nb 2\nb 2' mpiexec -configfile config
printf -- '-n 1 sh -c \\\n"echo a" \\\r\n\n-n 1 sh -c "echo \\\nb"\\' >config
check 'lines that go on' prints $'a\nb' mpiexec -configfile config
check '-configfile that is not there' status 2 'No such file' mpiexec -configfile nowhere
check '-hosts, this one' prints $'0\n1' mpiexec -hosts localhost:2 -n 2 sh -c "$rank"
check 'a program with its host' prints $'0 a\n1 b\n2 b' mpiexec -n 1 -host localhost sh -c 'echo $PMI_RANK a' : -host localhost:2 -n 2 sh -c 'echo $PMI_RANK b'
check 'a process for each slot' prints $'0\n1\n2' mpiexec -hosts localhost:3 sh -c "$rank"
printf '# hosts\nlocalhost slots=2 # of ours\n' >hosts
for option in -f -hostfile -machinefile; do
    check "$option" prints $'0\n1' mpiexec $option hosts sh -c "$rank"
done
check 'a file of hosts that is not there' status 2 'the file of hosts nowhere' mpiexec -f nowhere -n 1 true
check 'a file of no hosts' status 2 'names none' mpiexec -f /dev/null -n 1 true
check 'a number that is none' status 2 "'localhost:x' must be" mpiexec -hosts localhost:x -n 1 true
check 'accepted' mpiexec -nameserver x:1 -v -ppn 1 -n 1 true
check '-print-all-exitcodes' status 3 'rank 1 on host .* exit code 3' mpiexec -print-all-exitcodes -n 2 sh -c '[ $PMI_RANK = 0 ] || exit 3'
check '-disable-auto-cleanup' status 137 lives mpiexec -disable-auto-cleanup -n 2 sh -c '[ $PMI_RANK = 0 ] || kill -9 $$; sleep 1; echo lives'
check '-version' says '^Datum [0-9]' mpiexec -version
check '-help' says 'outfile-pattern' mpiexec -h

# wrong ones
wrong() { # PATTERN COMMAND...: one line, status 2
    status 2 "$@" && [ "$(wc -l <said)" = 1 ] || { cat said; return 1; }
}
check 'unknown' wrong 'unknown option -wdirr; did you mean -wdir\?' mpiexec -wdirr x true
for unit in moon core:x core:0 core:1x user user: user:x user:1-0; do
    check "-bind-to $unit" wrong "-bind-to is '$unit', but must be" mpiexec -bind-to $unit -n 1 true
done
check '-map-by, unknown' wrong "-map-by is 'moon', but must be slot, node, ppr:N:node" mpiexec -map-by moon -n 1 true
check '-map-by ppr of sockets' wrong "is 'ppr:2:socket', but must be" mpiexec -map-by ppr:2:socket -n 1 true
check '-map-by with another modifier' wrong "'NOLOCAL' is not possible here: only PE=N" mpiexec --map-by slot:PE=1:NOLOCAL -n 1 true
check '-map-by :PE=N without cores' wrong 'PE=2 of -map-by goes with -bind-to core' mpiexec --map-by slot:PE=2 -bind-to socket -n 1 true
check '-rank-by another' wrong "-rank-by is 'node', but ranks are numbered as they are placed, by slot" mpiexec --rank-by node -n 1 true
for option in --nolocal --nooversubscribe --rankfile --display --output=file; do
    check "$option" wrong "option $option is for Open MPI; " mpiexec $option x -n 1 true
done
check 'unknown, and like no other' wrong 'unknown option --json; mpiexec -help lists them' mpiexec --json -n 1 true
for list in 1023 99999 $first,1023 $first-99999 $first-1023; do
    check "-bind-to user:$list" wrong "-bind-to is 'user:$list', but the processors that mpiexec may use on host $(uname -n) are [0-9]" \
        mpiexec -bind-to user:$list -n 2 true
done
check '-bind-to more cores than there are' wrong "-bind-to is 'core:1025', but mpiexec may use [0-9]+ of them on host $(uname -n)" \
    mpiexec -bind-to core:1025 -n 2 true
check '-stdin without such a rank' wrong "-stdin is '2', but the job has only 2 ranks" mpiexec -stdin 2 -n 2 true
check '-initial-errhandler of no such name' wrong "is 'none', but must be mpi_errors_are_fatal" mpiexec -initial-errhandler none true
for time in soon 5x 5ms 99999999h -2; do
    check "MPIEXEC_TIMEOUT=$time" wrong "MPIEXEC_TIMEOUT is '$time', but must be a number of seconds.* 5m or 2h; 0 and -1 are none" \
        env MPIEXEC_TIMEOUT=$time mpiexec -n 1 true
    check "-timeout $time" wrong "-timeout is '$time', but must be a number of seconds from 1.* 5m" mpiexec -timeout $time -n 1 true
done
check '-timeout 0' wrong 'must be a number of seconds from 1' mpiexec -timeout 0 -n 1 true
check 'settings of Open MPI' wrong 'option --mca is for Open MPI; .* DATUM_\*: datum-info --settings' mpiexec --mca btl tcp,self -n 1 true
check 'unknown, two dashes' wrong 'unknown option --hots=a; did you mean -host' mpiexec --hots=a true
check '-soft without such a number' wrong 'soft 5:9 has no number from 1 to 4' mpiexec -n 4 -soft 5:9 true
check '-soft of no list' wrong 'soft is "some"; a list of numbers' mpiexec -soft some true
check '-arch of another kind' wrong "arch is 'pdp11', but there is only" mpiexec -arch pdp11 true
check '-file that is not there' wrong 'the file nowhere: No such file' mpiexec -file nowhere true
check '-file in a file' wrong 'names no other' sh -c 'echo file other >files; exec mpiexec -file files true'
check '-file without a name' wrong 'file needs a value' mpiexec -file
check 'a wrong option in a file' wrong 'unknown option -wdri' sh -c 'echo wdri x >files; exec mpiexec -file files true'
check 'no value' wrong 'n needs a value' mpiexec -n
check 'no value of a variable' wrong "needs the variable's value" mpiexec -env A
check 'nothing' wrong 'no program is named' mpiexec
totals
