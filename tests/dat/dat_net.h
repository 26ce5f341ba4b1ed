/*
 * Two hosts for a test of two processes: each in a network namespace of its
 * own, with one interface "net0" and a cable in between that can be pulled.
 * They are gone with the processes.
 */
#ifndef DM_TESTS_DAT_DAT_NET_H
#define DM_TESTS_DAT_DAT_NET_H

#include "dat_pair.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>

/* Run a command of ip(8), which must succeed. */
__attribute__((format(printf, 1, 2))) static inline void dn_ip(const char *fmt, ...)
{
    char cmd[256] = "ip ";
    va_list args;

    va_start(args, fmt);
    vsnprintf(cmd + 3, sizeof(cmd) - 3, fmt, args);
    va_end(args);
    if (system(cmd) != 0)
        DT_FAIL("\"%s\" failed", cmd);
}

/* May this process make hosts? Otherwise the test says that it is skipped. */
static inline bool dn_may(void)
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(unshare(CLONE_NEWNET) == 0 && system("ip link set lo up 2>/dev/null") == 0 ? 0 : 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    if (status == 0)
        return true;
    puts("0 passed, 0 failed, 1 skipped");
    return false;
}

/* Until there is a carrier, and the kernel knows. */
static inline void dn_until_up(void)
{
    for (int i = 0; i < 500; i++) {
        if (system("ip link show net0 | grep LOWER_UP | grep -q 'state UP'") == 0) {
            dn_ip("neigh flush dev net0"); /* who was not there a moment ago */
            return;
        }
        dt_sleep_ms(10);
    }
    DT_FAIL("the link does not come up");
}

/* Both sides call this before they open; number is 1 and 2. */
static inline void dn_host(struct dt *t, int number)
{
    pid_t other = 0;
    pid_t own = getpid();

    CHECK_EQ(unshare(CLONE_NEWNET), 0);
    dn_ip("link set lo up");
    dt_tell(t, &own, sizeof(own));
    dt_hear(t, &other, sizeof(other));
    if (number == 1)
        dn_ip("link add net0 type veth peer name net0 netns %d", (int)other);
    dt_meet(t);
    dn_ip("addr add 10.77.0.%d/24 dev net0", number);
    dn_ip("link set net0 up");
    dt_meet(t);
    dn_until_up();
    dt_meet(t);
}

/* Pull the cable at this side, or plug it in again. */
static inline void dn_cable(bool is_in)
{
    dn_ip("link set net0 %s", is_in ? "up" : "down");
}

/* Connect the two sides' t->ep, over the network. */
static inline void dn_join(struct dt *t, bool is_passive)
{
    struct sockaddr_in6 own = t->addr;

    dt_tell(t, &t->addr, sizeof(t->addr));
    dt_hear(t, &t->addr, sizeof(t->addr));
    dt_join(t, is_passive);
    t->addr = own;
}

#endif
