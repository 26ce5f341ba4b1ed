/* test: layers=util,provider_tcp timeout=20 */
/* What is taken for a greeting or a frame, and what is not, whatever the bytes. */
#include "providers/tcp/wire.h"

#include <string.h>

#include "test.h"

enum { TAG = 0xbeef, ROUNDS = 2000000 };

static const uint8_t with_data[] = {DM_TCP_WRITE, DM_TCP_WRITE_IMMED, DM_TCP_SEND,
                                    DM_TCP_SEND_INVAL, DM_TCP_READ_DATA};

/* A header that is right; the least that its type needs. */
static struct dm_tcp_head right(uint8_t type)
{
    struct dm_tcp_head head = {.type = type, .tag = TAG};

    for (size_t i = 0; i < sizeof(with_data); i++)
        if (type == with_data[i])
            head.len = 100;
    if (type == DM_TCP_SEND || type == DM_TCP_SEND_INVAL)
        head.va = 100;
    if (type == DM_TCP_FETCH_ADD || type == DM_TCP_CMP_SWAP)
        head.len = DM_TCP_OPERANDS_LEN;
    if (type == DM_TCP_ATOMIC_DATA)
        head.len = DM_TCP_OLD_LEN;
    if (type == DM_TCP_READ)
        head.value = 1;
    return head;
}

static bool is_right(struct dm_tcp_head head)
{
    return dm_tcp_head_is_valid(&head, TAG);
}

static void each_type(void)
{
    for (unsigned type = 0; type < 256; type++) {
        struct dm_tcp_head head = right((uint8_t)type);

        CHECK_EQ(is_right(head), type < DM_TCP_N);
        head.tag ^= 1;
        CHECK(!is_right(head));
        head = right((uint8_t)type);
        head.flags = 8;
        CHECK(!is_right(head));
        head = right((uint8_t)type);
        head.len = DM_TCP_PIECE_MAX + 1;
        CHECK(!is_right(head));
    }
}

static void lengths(void)
{
    struct dm_tcp_head head = right(DM_TCP_SEND);

    head.len = 101;
    CHECK(!is_right(head)); /* longer than its message */
    head.va = UINT64_C(1) << 32;
    CHECK(!is_right(head));
    head = right(DM_TCP_WRITE);
    head.flags = DM_TCP_MORE;
    CHECK(!is_right(head)); /* more of nothing */
    head.value = 101;
    CHECK(is_right(head));
    head = right(DM_TCP_READ);
    head.value = 0;
    CHECK(!is_right(head));
    head = right(DM_TCP_ACK);
    head.len = 1;
    CHECK(!is_right(head));
}

static void greetings(void)
{
    struct dm_tcp_handshake handshake = {.magic = DM_TCP_MAGIC, .version = DM_TCP_VERSION};

    CHECK(dm_tcp_handshake_is_valid(&handshake));
    handshake.data_len = 513;
    CHECK(!dm_tcp_handshake_is_valid(&handshake));
    handshake.data_len = 512;
    CHECK(dm_tcp_handshake_is_valid(&handshake));
    handshake.type = DM_HANDSHAKE_N;
    CHECK(!dm_tcp_handshake_is_valid(&handshake));
    handshake.type = 0;
    handshake.version++;
    CHECK(!dm_tcp_handshake_is_valid(&handshake));
}

/* No bytes pass that would have more data come than there may be. */
static void noise(void)
{
    uint64_t x = 88172645463325252u;
    unsigned n_right = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct dm_tcp_head head;
        uint64_t words[sizeof(head) / sizeof(uint64_t)];

        for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            words[k] = x;
        }
        memcpy(&head, words, sizeof(head));
        head.type %= DM_TCP_N + 1;
        head.flags %= 9;
        head.tag = TAG;
        head.len %= 64;
        head.va %= 64;
        if (!is_right(head))
            continue;
        n_right++;
        CHECK(head.type < DM_TCP_N && head.len <= DM_TCP_PIECE_MAX);
        if (head.type == DM_TCP_SEND || head.type == DM_TCP_SEND_INVAL)
            CHECK(head.len <= head.va);
    }
    CHECK(n_right > 0);
}

int main(void)
{
    each_type();
    lengths();
    greetings();
    noise();
    return test_result();
}
