/*
 * refuse CALL[,CALL...] COMMAND...: runs the command with these system calls
 * refused (EPERM) for it and its children, as a container's seccomp profile does.
 * Knows memfd_create, process_vm_readv, process_vm_writev, membarrier, ptrace, userfaultfd.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned int nr;
} calls[] = {
    {"memfd_create", SYS_memfd_create},
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"membarrier", SYS_membarrier},
    {"ptrace", SYS_ptrace},
    {"userfaultfd", SYS_userfaultfd},
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

int main(int argc, char **argv)
{
    struct sock_filter prog[2 * N_CALLS + 2];
    struct sock_fprog fprog = {.filter = prog};
    unsigned short n = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: refuse CALL[,CALL...] COMMAND...\n");
        return 2;
    }
    prog[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        size_t i = 0;

        while (i < N_CALLS && strcmp(calls[i].name, name) != 0)
            i++;
        if (i == N_CALLS || n + 3u > sizeof(prog) / sizeof(prog[0])) {
            fprintf(stderr, "refuse: unknown or repeated call %s\n", name);
            return 2;
        }
        prog[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
        prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    prog[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    fprog.len = n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) != 0) {
        perror("refuse: prctl");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
