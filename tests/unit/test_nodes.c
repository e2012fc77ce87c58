/* The places of a team's members: core/start/nodes.c's result, for placements some of which follow
 * a rule and some do not, compared with the placement itself. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/nodes.h"
#include "core/team.h"
#include "core/start/world.h"
#include "suite.h"

enum { PES = 64 };

static int place[PES]; /* the node of each PE */

/* As ck_assert_int_eq, which makes a system call even on success; this check runs a million times.
 */
#define SAME(A, B)                                                                                 \
    do {                                                                                           \
        if ((A) != (B))                                                                            \
            ck_abort_msg("%s is not %s", #A, #B);                                                  \
    } while (0)

int sy_world_domain(int pe)
{
    return place[pe];
}

int sy_world_domains(void)
{
    return PES;
}

/* The same by counting: the nodes in the order of their first members, and the members of each. */
struct counted {
    int count, size[PES], member[PES][PES], node[PES];
};

static void count_members(const struct sy_members *members, struct counted *c)
{
    int known[PES], size = members->size;

    memset(c, 0, sizeof *c);
    memset(known, -1, sizeof known);
    for (int i = 0; i < size; i++) {
        int *node = &known[place[sy_members_pe(members, i)]];
        if (*node < 0)
            *node = c->count++;
        c->node[i] = *node;
        c->member[*node][c->size[*node]++] = i;
    }
}

static void compare_nodes(const struct sy_nodes *nodes, const struct counted *c)
{
    int before = 0;
    bool ordered = true;

    SAME(nodes->count, c->count);
    for (int j = 0; j < c->count; j++) {
        SAME(sy_nodes_before(nodes, j), before);
        SAME(sy_nodes_size(nodes, j), c->size[j]);
        SAME(nodes->least <= c->size[j], true);
        SAME(nodes->most >= c->size[j], true);
        for (int k = 0; k < c->size[j]; k++) {
            SAME(sy_nodes_member(nodes, j, k), c->member[j][k]);
            SAME(sy_nodes_of(nodes, c->member[j][k]), j);
            ordered = ordered && c->member[j][k] == before + k;
        }
        before += c->size[j];
    }
    SAME(nodes->ordered, ordered);
}

/* From every member's point of view. Returns whether it took a table. */
static bool try_members(struct sy_members members)
{
    struct counted c;
    bool table = false;

    count_members(&members, &c);
    for (members.me = 0; members.me < members.size; members.me++) {
        struct sy_nodes nodes;
        struct sy_members own;
        SAME(sy_nodes_open(&nodes, &members, &own), 0);
        compare_nodes(&nodes, &c);
        SAME(nodes.mine, c.node[members.me]);
        SAME(own.size, c.size[nodes.mine]);
        for (int k = 0; k < own.size; k++)
            SAME(sy_members_pe(&own, k), sy_members_pe(&members, c.member[nodes.mine][k]));
        SAME(c.member[nodes.mine][own.me], members.me);
        table = nodes.first != NULL;
        sy_nodes_free(&nodes);
    }
    return table;
}

static struct sy_members strided(int start, int stride, int size)
{
    return (struct sy_members){.start = start, .stride = stride, .size = size};
}

START_TEST(test_blocks)
{
    for (int width = 1; width <= 9; width++) {
        for (int pe = 0; pe < PES; pe++)
            place[pe] = pe / width;
        for (int start = 0; start < 12; start++)
            for (int size = 1; size < 30; size++) {
                ck_assert(!try_members(strided(start, 1, size)));
                ck_assert(!try_members(strided(start + size - 1, -1, size)));
            }
        for (int stride = 2; stride < 5; stride++)
            for (int size = 1; size < 12; size++)
                try_members(strided(3, stride, size));
    }
}
END_TEST

START_TEST(test_in_turn)
{
    for (int nodes = 2; nodes <= 7; nodes++) {
        for (int pe = 0; pe < PES; pe++)
            place[pe] = pe % nodes;
        for (int stride = 1; stride < 5; stride++)
            for (int size = 1; size < 16; size++) {
                ck_assert(!try_members(strided(1, stride, size)));
                ck_assert(!try_members(strided(1 + (size - 1) * stride, -stride, size)));
            }
    }
}
END_TEST

/* A parent with a table, whose numbers on a node are irregular. */
START_TEST(test_tables)
{
    int table[PES];

    for (int pe = 0; pe < PES; pe++) {
        place[pe] = pe / 4;
        table[pe] = (pe * 7 + 3) % PES;
    }
    for (int size = 1; size < 20; size++) {
        struct sy_members members = strided(2, 2, size);
        members.table = table;
        try_members(members);
    }
}
END_TEST

START_TEST(test_without_rule)
{
    srand(1);
    for (int round = 0; round < 500; round++) {
        int nodes = 1 + rand() % 8, stride = 1 + rand() % 3;
        for (int pe = 0; pe < PES; pe++)
            place[pe] = rand() % nodes;
        try_members(strided(rand() % 4, stride, 1 + rand() % 20));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes");
    TCase *all = tcase_create("all");

    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_blocks);
    tcase_add_test(all, test_in_turn);
    tcase_add_test(all, test_tables);
    tcase_add_test(all, test_without_rule);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
