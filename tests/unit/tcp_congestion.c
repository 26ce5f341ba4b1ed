/* test: layers=util,provider_tcp timeout=20 */
/* Connections inside a host are not paced; those from other addresses have what the system chooses. */
#include "providers/tcp/transport/congestion.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static char system_control[DM_TCP_CONGESTION_LEN];

static const char *control(int fd)
{
    static char name[DM_TCP_CONGESTION_LEN];
    socklen_t len = sizeof(name) - 1;

    memset(name, 0, sizeof(name));
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0);
    return name;
}

static int open_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, system_control,
                     (socklen_t)strlen(system_control)) == 0);
    return fd;
}

static struct sockaddr_in loopback(uint8_t last)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last)};
}

/* A connection from 127.0.0.`last` to 127.0.0.1; what both ends have then. */
static void check_pair(uint8_t last, const char *expected)
{
    struct sockaddr_in own = loopback(last), to = loopback(1), peer;
    socklen_t len = sizeof(to);
    char kept[DM_TCP_CONGESTION_LEN];
    int listener = open_socket(), active = open_socket(), passive;

    dm_tcp_congestion_unpaced(listener, kept);
    CHECK(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&to, &len) == 0);
    CHECK(bind(active, (struct sockaddr *)&own, sizeof(own)) == 0);
    dm_tcp_congestion_connect(active, (struct sockaddr *)&own, (struct sockaddr *)&to);
    CHECK(connect(active, (struct sockaddr *)&to, sizeof(to)) == 0);
    len = sizeof(peer);
    passive = accept(listener, (struct sockaddr *)&peer, &len);
    CHECK(passive >= 0);
    dm_tcp_congestion_accepted(passive, (struct sockaddr *)&peer, kept);
    CHECK_STR(control(active), expected);
    CHECK_STR(control(passive), expected);
    close(active);
    close(passive);
    close(listener);
}

int main(void)
{
    static const char *const controls[] = {"reno", "cubic", "bbr"};
    int n = 0;

    for (size_t i = 0; i < 3; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const char *name = controls[i];

        /* What this kernel has, and this user may take. */
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0) {
            strcpy(system_control, name);
            check_pair(1, i == 2 ? "reno" : name);
            check_pair(2, name);
            n++;
        }
        close(fd);
    }
    CHECK(n > 0);
    return test_result();
}
