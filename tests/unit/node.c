/* test: timeout=20 layers=util,channel,mpi */
/* The node room: maps of groups, memory files, claiming pieces of a split copy. */
#include "mpi/node/node.h"

#include <fcntl.h>
#include <unistd.h>

#include "mpi/node/segment.h"
#include "mpi/node/split.h"

#include "../self.h"
#include "fake_adapt.h"
#include "test.h"
#include "util/cfg.h"

/* Six processes on three hosts; this is number 2. */
static const int hosts[] = {0, 1, 0, 2, 1, 0};

static void check_map(const struct dm_node_map *map, const int *node_of, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_EQ(map->node_of[i], node_of[i]);
    for (int i = 1; i < map->n_local; i++)
        CHECK(map->ranks[i] > map->ranks[i - 1]);
    for (int i = 0; i < map->n_local; i++)
        CHECK_EQ(map->node_of[map->ranks[i]], map->node);
    for (int i = 0; i < map->n_nodes; i++)
        CHECK_EQ(map->node_of[map->leaders[i]], i);
}

static void maps(void)
{
    static const int some[] = {4, 2, 5, 3}, others[] = {1, 4}, here[] = {0, 5, 2};
    static const int some_nodes[] = {0, 1, 1, 2};
    struct dm_group *world = dm_world.comm_world->group, *group;
    const struct dm_node_map *map = dm_node_map(world);

    check_map(map, hosts, 6);
    CHECK(!map->is_ordered);
    CHECK_EQ(map->n_nodes, 3);
    CHECK_EQ(map->n_local, 3);
    CHECK_EQ(map->lrank, 1);
    CHECK_EQ(map->leaders[2], 3);
    CHECK(dm_node_map(world) == map);
    CHECK(!dm_node_is_one(world));
    CHECK_EQ(dm_node_first_remote(world, 0), 1);
    CHECK_EQ(dm_node_first_remote(world, 3), 0);
    CHECK_EQ(dm_node_first_proc(), 0);

    CHECK_EQ(dm_group_new(4, some, NULL, &group), DM_OK);
    map = dm_node_map(group);
    check_map(map, some_nodes, 4);
    CHECK(map->is_ordered);
    CHECK_EQ(map->node, 1);
    CHECK_EQ(map->n_local, 2);
    CHECK_EQ(map->lrank, 0);
    CHECK_EQ(map->ranks[0], 1);
    dm_group_unref(group);

    CHECK_EQ(dm_group_new(2, others, NULL, &group), DM_OK);
    CHECK(dm_node_is_one(group));
    map = dm_node_map(group);
    CHECK_EQ(map->node, -1);
    CHECK_EQ(map->n_local, 0);
    CHECK_EQ(map->n_nodes, 1);
    CHECK(dm_node_is_one(group));
    CHECK_EQ(dm_node_first_remote(group, dm_world.rank), 0);
    dm_group_unref(group);

    CHECK_EQ(dm_group_new(3, here, NULL, &group), DM_OK);
    CHECK(dm_node_is_one(group));
    CHECK_EQ(dm_node_map(group)->lrank, 2);
    CHECK_EQ(dm_node_first_remote(group, dm_world.rank), -1);
    dm_group_unref(group);
}

static void segments(void)
{
    struct dm_node_segment made, mapped;
    struct dm_node_file file, wrong;

    CHECK_EQ(dm_node_segment_make(&made, "datum-test", 10000, &file), DM_OK);
    CHECK_EQ(file.len, 10000);
    CHECK_EQ(file.pid, getpid());
    CHECK_EQ(dm_node_segment_map(&mapped, &file, 10000), DM_OK);
    strcpy(made.at, "here");
    CHECK_STR(mapped.at, "here");
    dm_node_segment_free(&mapped);
    dm_node_segment_free(&mapped);
    CHECK(mapped.at == NULL);
    CHECK(dm_node_segment_map(&mapped, &file, 9999) != DM_OK);
    CHECK(mapped.at == NULL);
    wrong = file;
    wrong.ino++;
    CHECK(dm_node_segment_map(&mapped, &wrong, 10000) != DM_OK);
    dm_node_segment_close_file(&made);
    CHECK_EQ(made.fd, -1);
    CHECK_STR(made.at, "here");
    CHECK(fcntl(file.fd, F_GETFD) < 0);
    CHECK(dm_node_segment_map(&mapped, &file, 10000) != DM_OK);
    dm_node_segment_free(&made);
    CHECK(dm_node_file_describe(-1, 1, &file) != DM_OK);
    CHECK_EQ(file.len, 0);
}

/* Blocks of one file: each has places of its own, for all who map it, and the last one that is freed unmaps them. */
static void blocks(void)
{
    struct dm_node_blocks want = {.head_len = 1000, .tail_len = 5000, .n = 5};
    struct dm_node_segment made[5], mapped[5];
    struct dm_node_file file;
    size_t len = dm_node_blocks_len(&want);

    CHECK_EQ(len, 2 * 4096 + 5 * 8192);
    CHECK_EQ(want.head_len, 1024);
    CHECK_EQ(dm_node_segment_make(&made[0], "datum-test", len, &file), DM_OK);
    CHECK_EQ(dm_node_segment_cut(&made[0], &want), DM_OK);
    CHECK_EQ(dm_node_segment_map(&mapped[0], &file, len), DM_OK);
    CHECK_EQ(dm_node_segment_cut(&mapped[0], &want), DM_OK);
    for (uint32_t i = 0; i < 5; i++) {
        if (i > 0) {
            made[i] = dm_node_segment_block(&made[0], i);
            mapped[i] = dm_node_segment_block(&mapped[0], i);
        }
        CHECK_EQ(made[i].len, 1024);
        memset(made[i].at, 'a' + (int)i, 1024);
        memset(made[i].tail, 'k' + (int)i, 8192);
    }
    dm_node_segment_empty_tail(&mapped[2]);
    CHECK_EQ(self_count_maps("memfd:datum-test"), 2);
    for (uint32_t i = 0; i < 5; i++) {
        const char *head = mapped[i].at, *tail = mapped[i].tail;

        CHECK(head[0] == 'a' + (int)i && head[1023] == 'a' + (int)i);
        CHECK_EQ(tail[0], i == 2 ? 0 : 'k' + (int)i);
        CHECK_EQ(tail[8191], tail[0]);
        dm_node_segment_free(&mapped[i]);
        dm_node_segment_free(&mapped[i]);
        CHECK_EQ(self_count_maps("memfd:datum-test"), i < 4 ? 2 : 1);
        dm_node_segment_free(&made[4 - i]);
    }
    CHECK_EQ(self_count_maps("memfd:datum-test"), 0);
    CHECK(fcntl(file.fd, F_GETFD) < 0);
}

static void splits(void)
{
    struct dm_split split = {0};
    size_t piece;

    CHECK_EQ(dm_split_claim_front(&split, 0), -1);
    dm_split_open(&split, 7, 3);
    CHECK_EQ(dm_split_number(&split), 7);
    CHECK_EQ(dm_split_claim_back(&split, 6), -1);
    CHECK_EQ(dm_split_claim_front(&split, 7), 0);
    CHECK_EQ(dm_split_claim_back(&split, 7), 2);
    CHECK_EQ(dm_split_claim_back(&split, 7), 1);
    CHECK_EQ(dm_split_claim_front(&split, 7), -1);
    CHECK_EQ(dm_split_n_front(&split), 1);
    /* numbers are compared by their low half */
    dm_split_open(&split, (UINT64_C(1) << 32) + 8, 65535);
    CHECK_EQ(dm_split_claim_back(&split, (UINT64_C(1) << 32) + 8), 65534);
    CHECK_EQ(dm_split_claim_front(&split, (UINT64_C(1) << 32) + 8), 0);

    CHECK_EQ(dm_split_piece(1 << 20, 128 << 10, 4096), 128 << 10);
    CHECK_EQ(dm_split_piece(100, 128 << 10, 12), 16392);
    piece = dm_split_piece((size_t)1 << 40, 128 << 10, 4096);
    CHECK(dm_split_n_pieces((size_t)1 << 40, piece) <= UINT16_MAX);
    CHECK_EQ(dm_split_piece_len(100, 40, 80), 20);
    CHECK_EQ(dm_split_piece_len(100, 40, 40), 40);
}

int main(void)
{
    struct dm_adapt_job job = {.rank = 2, .size = 6, .n_local = 3, .node_of = hosts};

    dm_cfg_load(true);
    FAKE_DEFAULTS;
    CHECK_EQ(dm_chan_start(&job, &dm_world.chan), DM_OK);
    dm_world.rank = job.rank;
    dm_world.size = job.size;
    CHECK_EQ(dm_core_start(), DM_OK);
    maps();
    dm_core_stop();
    dm_chan_stop(dm_world.chan);
    segments();
    blocks();
    splits();
    return test_result();
}
