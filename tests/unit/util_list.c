/* test: layers=util timeout=10 */
/* The intrusive list. */
#include "util/list.h"

#include "test.h"

struct item {
    int val;
    struct dm_list link;
};

int main(void)
{
    struct item items[4] = {{.val = 0}, {.val = 1}, {.val = 2}, {.val = 3}};
    struct dm_list head;
    int seen = 0;

    dm_list_init(&head);
    CHECK(dm_list_is_empty(&head));
    dm_list_add_tail(&head, &items[1].link);
    dm_list_add_tail(&head, &items[2].link);
    dm_list_add_head(&head, &items[0].link);
    dm_list_for_each (it, &head)
        CHECK_EQ(dm_container_of(it, struct item, link)->val, seen++);
    CHECK_EQ(seen, 3);
    dm_list_for_each_safe (it, tmp, &head)
        if (dm_container_of(it, struct item, link)->val == 1)
            dm_list_del(it);
    CHECK(head.next->next == &items[2].link);
    CHECK(dm_list_is_empty(&items[1].link));
    dm_list_del(&items[1].link);
    dm_list_del(&items[0].link);
    dm_list_del(&items[2].link);
    CHECK(dm_list_is_empty(&head));
    return test_result();
}
