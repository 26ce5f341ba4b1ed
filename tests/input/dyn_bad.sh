#!/bin/bash
# test: timeout=120
# What a spawn is given that is wrong or much, and limits that it meets: an error by the error handler
# that says why, and the parent goes on.
. "$TEST_LIB"
cat >bad.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *self;
/* Spawn, say how it went, and part. */
static void spawn(const char *what, char **args, int n, MPI_Info info)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int code, class, len, codes[200];
    MPI_Comm inter = MPI_COMM_WORLD;

    code = MPI_Comm_spawn(self, args, n, info, 0, MPI_COMM_SELF, &inter, codes);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    printf("%s: %s\n", what, class == MPI_ERR_SPAWN ? text : class == MPI_ERR_ARG ? "MPI_ERR_ARG" : class == MPI_SUCCESS ? "fine" : text);
    fflush(stdout);
    if (code == MPI_SUCCESS)
        MPI_Comm_disconnect(&inter);
    else if (inter != MPI_COMM_NULL)
        printf("%s: a communicator in spite of the error\n", what);
}
int main(int argc, char **argv)
{
    char *lines[] = {"a\nb c", "", NULL}, *large = calloc(1, 70001), *one[] = {large, NULL}, key[16];
    MPI_Comm parent;
    MPI_Info info;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        if (argc == 3 && strcmp(argv[1], lines[0]) == 0 && argv[2][0] == '\0')
            printf("child: both lines\n");
        if (argc == 2 && strlen(argv[1]) == 70000)
            printf("child: all of it\n");
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    self = argv[0];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc > 1) {
        spawn("many", MPI_ARGV_NULL, atoi(argv[1]), MPI_INFO_NULL);
    } else {
        spawn("less than none", MPI_ARGV_NULL, -1, MPI_INFO_NULL);
        spawn("none", MPI_ARGV_NULL, 0, MPI_INFO_NULL);
        spawn("lines", lines, 1, MPI_INFO_NULL);
        memset(large, 'x', 70000);
        spawn("a long argument", one, 1, MPI_INFO_NULL);
        MPI_Info_create(&info);
        large[1000] = '\0';
        for (int i = 0; i < 70; i++) {
            snprintf(key, sizeof(key), "key%d", i);
            MPI_Info_set(info, key, large);
        }
        spawn("much info", MPI_ARGV_NULL, 1, info);
        MPI_Info_set(info, "host", "no.such.host.example");
        spawn("no host", MPI_ARGV_NULL, 1, info);
        MPI_Info_free(&info);
    }
    spawn("afterwards", MPI_ARGV_NULL, 1, MPI_INFO_NULL);
    MPI_Finalize();
    return 0;
}
END
mpicc bad.c -o bad || fail 'bad.c does not compile'
# told PATTERN COMMAND...: it says so, and ends well, and nothing is left
told() {
    status 0 "$@" || return 1
    grep -q '^afterwards: fine$' said && ! pgrep -f "$PWD/bad" >/dev/null && return
    cat said
    pgrep -af "$PWD/bad"
    return 1
}
said_so() { grep -qxE "$1" said || { cat said; return 1; }; }
check 'with mpiexec' told '' timeout 60 mpiexec -n 1 "$PWD/bad"
check 'a negative number' said_so 'less than none: MPI_ERR_ARG'
check 'none' said_so 'none: fine'
check 'arguments with newlines' said_so 'child: both lines'
check 'an argument of 70000 bytes' said_so 'child: all of it'
check '70 KB of info' said_so 'much info: fine'
check 'a host that is not there' said_so "no host: .*no host 'no.such.host.example'"
check 'few descriptors' told '^many: processes could not be spawned' bash -c "ulimit -n 40; timeout 60 mpiexec -n 1 '$PWD/bad' 40"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod a+rx .
if "${nobody[@]}" test -r "$DAT_OVERRIDE" -a -x "$PWD/bad" 2>/dev/null; then
    check 'a full table of processes' told '^many: .*the table of processes is full .ulimit -u.' \
        "${nobody[@]}" bash -c "ulimit -u 25; timeout 60 mpiexec -n 1 '$PWD/bad' 40"
else
    skip_one 'nobody else can run this build (root, and setpriv of package util-linux)'
fi
totals
