/* test: kind=dat prov=datum-tcp,datum-ofi timeout=30 net="if=|if= family=6" stderr=allowed */
/*
 * The choice of an interface: the default route's first, bridges and the
 * devices of containers only when there is no other, none that is down, the
 * loopback last. Each case is a network namespace with such devices.
 */
#include "dat_net.h"

/* The provider's own attribute "interface"; "" if it does not open. */
static void chosen(const char *name, char *text, size_t len)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_PROVIDER_ATTR attr;
    DAT_IA_HANDLE ia;

    text[0] = '\0';
    if (dat_ia_open((DAT_NAME_PTR)name, 8, &evd, &ia) != DAT_SUCCESS)
        return;
    OK(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    for (int i = 0; i < attr.num_provider_specific_attr; i++)
        if (strcmp(attr.provider_specific_attr[i].name, "interface") == 0)
            snprintf(text, len, "%s", attr.provider_specific_attr[i].value);
    OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void want(const char *name, const char *interface)
{
    char text[64];

    chosen(name, text, sizeof(text));
    if (strcmp(text, interface) != 0)
        DT_FAIL("it chose \"%s\", not \"%s\"", text, interface);
}

/* What it says on stderr, however often it is tried: one line. */
static void want_one_line(const char *name)
{
    char text[64], all[4096];
    int err = dup(2), file = memfd_create("stderr", MFD_CLOEXEC), n = 0;
    ssize_t len;

    CHECK(err >= 0 && file >= 0 && dup2(file, 2) == 2);
    for (int i = 0; i < 3; i++)
        chosen(name, text, sizeof(text));
    CHECK_EQ(dup2(err, 2), 2);
    close(err);
    len = pread(file, all, sizeof(all) - 1, 0);
    close(file);
    CHECK(len > 0);
    all[len] = '\0';
    for (const char *p = strstr(all, "address is up"); p != NULL;
         p = strstr(p + 1, "address is up"))
        n++;
    if (n != 1)
        DT_FAIL("%d lines of 3 tries: %s", n, all);
}

/* A device with an address of both families; a pair of them, so that there is
 * a carrier. */
static void add(const char *device, int net)
{
    dn_ip("link add %s type veth peer name p%d", device, net);
    dn_ip("link set p%d up", net);
    dn_ip("link set %s up", device);
    dn_ip("addr add 10.9.%d.1/24 dev %s", net, device);
    dn_ip("-6 addr add fd00:%d::1/64 dev %s nodad", net, device);
}

static void wait_carrier(const char *device)
{
    char cmd[128];

    snprintf(cmd, sizeof(cmd), "ip link show %s | grep -q LOWER_UP", device);
    for (int i = 0; i < 200 && system(cmd) != 0; i++)
        dt_sleep_ms(10);
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);

    if (!dn_may())
        return 0;
    CHECK_EQ(unshare(CLONE_NEWNET), 0);
    want_one_line(name); /* nothing is up */
    want(name, "");
    dn_ip("link set lo up");
    want(name, "lo");
    add("docker0", 1);
    wait_carrier("docker0");
    want(name, "docker0"); /* rather than the loopback */
    add("net1", 2);
    wait_carrier("net1");
    want(name, "net1");
    dn_ip("link add br0 type bridge");
    dn_ip("addr add 10.8.0.1/24 dev br0");
    dn_ip("-6 addr add fd00:80::1/64 dev br0 nodad");
    dn_ip("link set br0 up");
    want(name, "net1");
    add("net2", 3);
    wait_carrier("net2");
    dn_ip("route add default via 10.9.3.9 dev net2");
    want(name, "net2");
    dn_ip("link set net2 down");
    want(name, "net1");
    dn_ip("link set p2 down"); /* its cable */
    dt_sleep_ms(200);
    want(name, "docker0");
    return 0;
}
