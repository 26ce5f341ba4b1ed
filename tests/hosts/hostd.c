/*
 * The first process of a host made of namespaces, and the way into it.
 *
 *   hostd world COMMAND...         runs COMMAND in a world of its own (network, processes,
 *                                  mounts, IPC), in which hosts can be made; all of it is
 *                                  gone when COMMAND has ended, or when this process has
 *   hostd host SOCKET COMMAND...   makes namespaces for one host, runs COMMAND in them to
 *                                  set it up, then serves SOCKET until it is killed
 *   hostd run SOCKET COMMAND...    runs COMMAND in that host with this process's
 *                                  environment, directory and standard descriptors
 *   hostd rsh SOCKET WORD...       the same as ssh would: the words are one command line
 *                                  for a shell at home, the environment is the host's own
 *
 * "run" and "rsh" end with the command's status, with 255 when the host is gone.
 * A request is a struct request, its strings, and the three descriptors; the answer is
 * an int, the exit status. What "run" sends before that are signal numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define REQUEST_MAX (8 << 20)
#define GONE        255

struct request {
    uint32_t len; /* of the strings: directory, arguments, environment */
    uint32_t n_args;
    uint32_t n_env;
    uint32_t is_rsh;
};

static void die(const char *what)
{
    fprintf(stderr, "hostd: %s: %s\n", what, strerror(errno));
    exit(GONE);
}

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- signals by descriptor ---- */

static const int signals[] = {SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

static int open_signals(void)
{
    sigset_t mask;
    int fd;

    /* An ignored SIGCHLD would take the status of children away. */
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&mask, signals[i]);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    fd = signalfd(-1, &mask, SFD_CLOEXEC);
    if (fd < 0)
        die("signalfd");
    return fd;
}

static int next_signal(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static void reset_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
}

/* Starts a command in a process group of its own. */
static pid_t start(char **argv)
{
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid > 0)
        return pid;
    setpgid(0, 0);
    reset_signals();
    execvp(argv[0], argv);
    fprintf(stderr, "hostd: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* As process 1: waits for a command and passes signals on to it. */
static int wait_for(pid_t pid, int signal_fd)
{
    for (;;) {
        int signo = next_signal(signal_fd);
        int status;
        pid_t got;

        if (signo > 0 && signo != SIGCHLD)
            kill(-pid, signo);
        while ((got = waitpid(-1, &status, WNOHANG)) > 0)
            if (got == pid)
                return exit_status(status);
    }
}

/* ---- namespaces ---- */

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        die(path);
    close(fd);
}

static void enter_namespaces(void)
{
    int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    char text[64];

    if (uid != 0)
        flags |= CLONE_NEWUSER;
    if (unshare(flags) != 0)
        die("namespaces are not allowed here: unshare");
    if (uid == 0)
        return;
    put("/proc/self/setgroups", "deny");
    snprintf(text, sizeof(text), "0 %u 1", uid);
    put("/proc/self/uid_map", text);
    snprintf(text, sizeof(text), "0 %u 1", gid);
    put("/proc/self/gid_map", text);
}

/* The file systems that show which namespaces one is in. */
static void mount_own(void)
{
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("mount --make-rprivate /");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        die("mount /proc");
    if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        die("mount /sys");
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0)
        die("mount /dev/shm");
}

/* Goes on as process 1 of new namespaces; what is left behind waits for it. */
static void become_init(int signal_fd)
{
    pid_t pid;
    int signo;

    enter_namespaces();
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        mount_own();
        return;
    }
    for (;;) {
        int status;

        signo = next_signal(signal_fd);
        if (waitpid(pid, &status, WNOHANG) == pid)
            exit(exit_status(status));
        if (signo > 0 && signo != SIGCHLD)
            kill(pid, signo);
    }
}

static int do_world(char **argv)
{
    int signal_fd = open_signals();

    become_init(signal_fd);
    return wait_for(start(argv), signal_fd);
}

/* ---- the host's side ---- */

/* Everything of a request; false when the client went away. */
static bool receive(int fd, struct request *req, int *fds, char **text_p)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = req, .iov_len = sizeof(*req)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.buf,
        .msg_controllen = sizeof(control.buf),
    };
    struct cmsghdr *cmsg;
    uint32_t got = 0;

    if (recvmsg(fd, &msg, MSG_WAITALL) != (ssize_t)sizeof(*req) || req->len > REQUEST_MAX)
        return false;
    cmsg = CMSG_FIRSTHDR(&msg);
    if (cmsg == NULL || cmsg->cmsg_len != CMSG_LEN(3 * sizeof(int)))
        return false;
    memcpy(fds, CMSG_DATA(cmsg), 3 * sizeof(int));
    *text_p = malloc(req->len + 1);
    while (*text_p != NULL && got < req->len) {
        ssize_t n = read(fd, *text_p + got, req->len - got);

        if (n <= 0)
            return false;
        got += (uint32_t)n;
    }
    return *text_p != NULL;
}

/* Cuts the next n strings off the text, a list that ends with NULL. */
static char **take_list(char **text_p, uint32_t n)
{
    char **list = calloc(n + 1, sizeof(*list));

    if (list == NULL)
        die("memory");
    for (uint32_t i = 0; i < n; i++) {
        list[i] = *text_p;
        *text_p += strlen(*text_p) + 1;
    }
    return list;
}

static void exec_command(const struct request *req, const int *fds, char *text)
{
    char **dir = take_list(&text, 1);
    char **argv = take_list(&text, req->n_args);
    char **env = take_list(&text, req->n_env);
    const char *home = getenv("HOME");

    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(GONE);
    for (int i = 0; i < 3; i++)
        if (fds[i] > 2)
            close(fds[i]);
    setsid();
    reset_signals();
    if (!req->is_rsh)
        environ = env;
    if (chdir(req->is_rsh && home != NULL ? home : dir[0]) != 0) {
        fprintf(stderr, "hostd: %s: %s\n", dir[0], strerror(errno));
        _exit(126);
    }
    execvp(argv[0], argv);
    fprintf(stderr, "hostd: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* One process for each command: it alone knows client and command. */
static void attend(int fd, int signal_fd)
{
    struct request req;
    int fds[3], answer = GONE;
    char *text = NULL;
    pid_t pid;
    bool has_left = false;

    if (!receive(fd, &req, fds, &text))
        _exit(0);
    pid = fork();
    if (pid == 0) {
        close(fd);
        exec_command(&req, fds, text);
    }
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    while (pid > 0) {
        struct pollfd pfds[2] = {
            {.fd = signal_fd, .events = POLLIN},
            {.fd = has_left ? -1 : fd, .events = POLLIN},
        };
        unsigned char signo;
        int status;

        if (poll(pfds, 2, -1) < 0)
            continue;
        if (pfds[0].revents != 0) {
            next_signal(signal_fd);
            if (waitpid(pid, &status, WNOHANG) == pid) {
                answer = exit_status(status);
                break;
            }
        }
        if (pfds[1].revents == 0)
            continue;
        if (read(fd, &signo, 1) == 1) {
            kill(-pid, signo);
            continue;
        }
        /* A command of ssh without a terminal goes on; the others belong to the client. */
        has_left = true;
        if (!req.is_rsh)
            kill(-pid, SIGHUP);
    }
    if (!has_left)
        send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
    _exit(0);
}

static struct sockaddr_un address(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(addr.sun_path)) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(addr.sun_path, path);
    return addr;
}

static void serve(int listen_fd, int signal_fd)
{
    for (;;) {
        struct pollfd pfds[2] = {
            {.fd = signal_fd, .events = POLLIN},
            {.fd = listen_fd, .events = POLLIN},
        };
        int fd;

        if (poll(pfds, 2, -1) < 0)
            continue;
        if (pfds[0].revents != 0) {
            next_signal(signal_fd);
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        }
        if (pfds[1].revents == 0)
            continue;
        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        if (fork() == 0) {
            close(listen_fd);
            attend(fd, signal_fd);
        }
        close(fd);
    }
}

/* Not connectable before the host is set up. */
static int do_host(const char *path, char **argv)
{
    struct sockaddr_un addr = address(path);
    int signal_fd = open_signals();
    int fd, status;

    become_init(signal_fd);
    status = wait_for(start(argv), signal_fd);
    if (status != 0) {
        fprintf(stderr, "hostd: setting up the host ended with status %d\n", status);
        return status;
    }
    /* Leaves no terminal and no pipe open. */
    fd = open("/dev/null", O_RDWR);
    if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
        die("/dev/null");
    if (fd > 2)
        close(fd);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 256) != 0)
        die(path);
    dup2(0, 2);
    serve(fd, signal_fd);
    return 0;
}

/* ---- the client's side ---- */

static void append(char **text_p, struct request *req, const char *string)
{
    size_t len = strlen(string) + 1;

    *text_p = realloc(*text_p, req->len + len);
    if (*text_p == NULL || req->len + len > REQUEST_MAX) {
        errno = E2BIG;
        die("the command");
    }
    memcpy(*text_p + req->len, string, len);
    req->len += (uint32_t)len;
}

static char *pack(struct request *req, char **argv)
{
    char *text = NULL, *dir = getcwd(NULL, 0);

    append(&text, req, dir != NULL ? dir : "/");
    free(dir);
    if (req->is_rsh) {
        char *line = NULL;
        size_t len = 0;
        FILE *f = open_memstream(&line, &len);

        for (int i = 0; f != NULL && argv[i] != NULL; i++)
            fprintf(f, "%s%s", i > 0 ? " " : "", argv[i]);
        if (f == NULL || fclose(f) != 0)
            die("memory");
        append(&text, req, "sh");
        append(&text, req, "-c");
        append(&text, req, line);
        req->n_args = 3;
        free(line);
        return text;
    }
    for (; argv[req->n_args] != NULL; req->n_args++)
        append(&text, req, argv[req->n_args]);
    for (; environ[req->n_env] != NULL; req->n_env++)
        append(&text, req, environ[req->n_env]);
    return text;
}

static void send_request(int fd, const struct request *req, const char *text)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)req, .iov_len = sizeof(*req)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.buf,
        .msg_controllen = sizeof(control.buf),
    };
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
    int fds[3] = {0, 1, 2};

    memset(&control, 0, sizeof(control));
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
    if (sendmsg(fd, &msg, MSG_NOSIGNAL) != (ssize_t)sizeof(*req))
        die("the host is gone");
    for (uint32_t done = 0; done < req->len;) {
        ssize_t n = send(fd, text + done, req->len - done, MSG_NOSIGNAL);

        if (n <= 0)
            die("the host is gone");
        done += (uint32_t)n;
    }
}

/* A closed one is the null device on the other side. */
static void open_standard(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

static int do_run(const char *path, char **argv, bool is_rsh)
{
    struct sockaddr_un addr = address(path);
    struct request req = {.is_rsh = is_rsh};
    int fd, signal_fd = -1, answer;
    char *text;

    open_standard();
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        die("socket");
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        die(path);
    if (!is_rsh)
        signal_fd = open_signals();
    text = pack(&req, argv);
    send_request(fd, &req, text);
    free(text);
    for (;;) {
        struct pollfd pfds[2] = {
            {.fd = signal_fd, .events = POLLIN},
            {.fd = fd, .events = POLLIN},
        };

        if (poll(pfds, 2, -1) < 0)
            continue;
        if (pfds[1].revents != 0)
            return read(fd, &answer, sizeof(answer)) == (ssize_t)sizeof(answer) ? answer : GONE;
        if (pfds[0].revents != 0) {
            unsigned char signo = (unsigned char)next_signal(signal_fd);

            if (signo != SIGCHLD && send(fd, &signo, 1, MSG_NOSIGNAL) != 1)
                return GONE;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "world") == 0)
        return do_world(argv + 2);
    if (argc > 3 && strcmp(argv[1], "host") == 0)
        return do_host(argv[2], argv + 3);
    if (argc > 3 && strcmp(argv[1], "run") == 0)
        return do_run(argv[2], argv + 3, false);
    if (argc > 3 && strcmp(argv[1], "rsh") == 0)
        return do_run(argv[2], argv + 3, true);
    fprintf(stderr, "Usage: hostd world|host SOCKET|run SOCKET|rsh SOCKET COMMAND...\n");
    return 2;
}
