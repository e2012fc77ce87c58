/* Bootstraps' parsers of launchers' texts: PMI's messages, Slurm's lists, PE 0's contact; and
 * reports that group PEs with the same text. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/pmi/client.h"
#include "bootstrap/slurm/nodes.h"
#include "bootstrap/control/tree/tree.h"
#include "util/list.h"
#include "util/bits.h"
#include "suite.h"

START_TEST(words)
{
    static const char line[] = "rc=0 cmd=get_result msg=success value=a=b;c empty= \n";
    char value[16];
    int number;

    ck_assert(sy_pmi_word(line, ' ', "cmd", value, sizeof value));
    ck_assert_str_eq(value, "get_result");
    ck_assert(sy_pmi_word(line, ' ', "value", value, sizeof value));
    ck_assert_str_eq(value, "a=b;c");
    ck_assert(sy_pmi_word(line, ' ', "empty", value, sizeof value));
    ck_assert_str_eq(value, "");
    ck_assert(!sy_pmi_word(line, ' ', "val", value, sizeof value));
    ck_assert(!sy_pmi_word(line, ' ', "cmd", value, 5));
    ck_assert(sy_pmi_number(line, ' ', "rc", &number) && number == 0);
    ck_assert(!sy_pmi_number(line, ' ', "msg", &number));
    ck_assert(!sy_pmi_number(line, ' ', "empty", &number));
    ck_assert(!sy_pmi_number("n=99999999999", ' ', "n", &number));
    ck_assert(sy_pmi_word("cmd=x;rank=7;", ';', "rank", value, sizeof value));
    ck_assert_str_eq(value, "7");
    ck_assert(!sy_pmi_word("", ' ', "cmd", value, sizeof value));
}
END_TEST

START_TEST(mappings)
{
    static const char *const one[] = {"(vector,(0,1,4))", "(vector,(0,1,1),(0,1,3))",
                                      "(vector,(5,1,2))"};
    static const char *const more[] = {
        "(vector,(0,2,4))", "(vector,(0,1,1),(1,1,3))", "",           "(vector",
        "(vector)",         "(vector,(0,1,4)",          "(vector,(,", "vector"};

    for (size_t i = 0; i < SY_COUNT(one); i++)
        ck_assert_msg(sy_pmi_mapping_is_one_node(one[i]), "%s", one[i]);
    for (size_t i = 0; i < SY_COUNT(more); i++)
        ck_assert_msg(!sy_pmi_mapping_is_one_node(more[i]), "%s", more[i]);
}
END_TEST

START_TEST(lengths)
{
    ck_assert_int_eq(sy_pmi_length("51    "), 51);
    ck_assert_int_eq(sy_pmi_length("   113"), 113);
    ck_assert_int_eq(sy_pmi_length("999999"), 999999);
    ck_assert_int_eq(sy_pmi_length("      "), -1);
    ck_assert_int_eq(sy_pmi_length("-1    "), -1);
    ck_assert_int_eq(sy_pmi_length("1 2   "), -1);
}
END_TEST

static void expect_host(const char *list, long index, const char *want)
{
    char host[64] = "?";
    bool found = sy_slurm_host(list, index, host, sizeof host);

    ck_assert_msg(found == (want != NULL), "%s[%ld]", list, index);
    if (want)
        ck_assert_str_eq(host, want);
}

START_TEST(hosts)
{
    expect_host("a", 0, "a");
    expect_host("a", 1, NULL);
    expect_host("a,b-1", 1, "b-1");
    expect_host("n[01-03,7]x,m", 0, "n01x");
    expect_host("n[01-03,7]x,m", 2, "n03x");
    expect_host("n[01-03,7]x,m", 3, "n7x");
    expect_host("n[01-03,7]x,m", 4, "m");
    expect_host("n[01-03,7]x,m", 5, NULL);
    expect_host("n[8-11]", 3, "n11");
    expect_host("r[1-2]n[1-2],m", 2, "r2n1");
    expect_host("r[1-2]n[1-2],m", 4, "m");
    expect_host("", 0, NULL);
    expect_host("n[", 0, NULL);
    expect_host("n[3-1]", 0, NULL);
    expect_host("n[]", 0, NULL);
    expect_host("n[1", 0, NULL);
}
END_TEST

START_TEST(tasks)
{
    ck_assert_int_eq(sy_slurm_node_of("4", 3), 0);
    ck_assert_int_eq(sy_slurm_node_of("4", 4), -1);
    ck_assert_int_eq(sy_slurm_node_of("2(x3),1", 0), 0);
    ck_assert_int_eq(sy_slurm_node_of("2(x3),1", 5), 2);
    ck_assert_int_eq(sy_slurm_node_of("2(x3),1", 6), 3);
    ck_assert_int_eq(sy_slurm_node_of("2(x3),1", 7), -1);
    ck_assert_int_eq(sy_slurm_node_of("0", 0), -1);
    ck_assert_int_eq(sy_slurm_node_of("2(x3", 9), -1);
    ck_assert_int_eq(sy_slurm_node_of("", 0), -1);
}
END_TEST

static struct tree_contact full_contact(int count)
{
    struct tree_contact contact = {.root.count = count, .root.port = 4711, .root.host = 0x0123456789abcdefu};

    for (int i = 0; i < TREE_SECRET; i++)
        contact.secret[i] = (unsigned char)(i * 9);
    for (int i = 0; i < count; i++) {
        struct sy_ip *ip = &contact.root.entry[i];
        bool four = i % 3 == 0;
        *ip = (struct sy_ip){.family = four ? 4 : 6, .prefix = four ? 32 : 128};
        ip->bytes[0] = four ? 10 : 0;
        ip->bytes[four ? 3 : 15] = (uint8_t)(i + 1);
    }
    return contact;
}

START_TEST(contacts)
{
    for (int count = 1; count <= TREE_ADDRESSES; count++) {
        struct tree_contact contact = full_contact(count), back;
        char text[TREE_CONTACT_TEXT];
        sy_tree_contact_encode(&contact, text);
        ck_assert_uint_lt(strlen(text), TREE_CONTACT_TEXT);
        ck_assert_uint_eq(strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-_"),
                          strlen(text));
        ck_assert_int_eq(sy_tree_contact_decode(text, &back), 0);
        ck_assert_mem_eq(&back, &contact, sizeof contact);
    }
}
END_TEST

START_TEST(damaged_contacts)
{
    struct tree_contact contact = full_contact(4), back;
    char text[TREE_CONTACT_TEXT];

    sy_tree_contact_encode(&contact, text);
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        /* The last character may have bits that belong to no byte. */
        ck_assert_msg(sy_tree_contact_decode(text, &back) != 0 || i == length - 1, "at %zu", i);
        text[i] = '=';
        ck_assert_int_ne(sy_tree_contact_decode(text, &back), 0);
        text[i] = kept;
    }
    for (size_t i = 0; i < length; i++) {
        char kept = text[i];
        text[i] = '\0';
        ck_assert_int_ne(sy_tree_contact_decode(text, &back), 0);
        text[i] = kept;
    }
    char longer[2000];
    memset(longer, 'A', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_int_ne(sy_tree_contact_decode(longer, &back), 0);
}
END_TEST

START_TEST(alike)
{
    char a[] = "a", other_a[] = "a", b[] = "b", c[] = "c", who[64];
    char *text[] = {a, b, other_a, a, NULL, a, c};
    int at = 0;

    ck_assert(sy_list_next_alike(text, 7, &at, who, sizeof who));
    ck_assert_int_eq(at++, 0);
    ck_assert_str_eq(who, "PEs 0, 2-3, 5");
    ck_assert(sy_list_next_alike(text, 7, &at, who, sizeof who));
    ck_assert_int_eq(at++, 1);
    ck_assert_str_eq(who, "PE 1");
    ck_assert(sy_list_next_alike(text, 7, &at, who, sizeof who));
    ck_assert_int_eq(at++, 6);
    ck_assert_str_eq(who, "PE 6");
    ck_assert(!sy_list_next_alike(text, 7, &at, who, sizeof who));
}
END_TEST

/* A line never exceeds its buffer, wherever it is cut, and says how many PEs it leaves out. */
START_TEST(alike_room)
{
    enum { PES = 200 };
    char even[] = "even", odd[] = "odd", *text[PES];
    for (int pe = 0; pe < PES; pe++)
        text[pe] = pe % 4 == 1 ? odd : even;
    for (size_t room = 64; room < 400; room++) {
        char *who = malloc(room);
        int at = 0, lines = 0;
        for (; sy_list_next_alike(text, PES, &at, who, room); at++, lines++)
            ck_assert(strlen(who) < room && strstr(who, " more"));
        ck_assert_int_eq(lines, 2);
        free(who);
    }
    char who[4096];
    int at = 0;
    ck_assert(sy_list_next_alike(text, PES, &at, who, sizeof who));
    ck_assert_str_eq(who, "PEs 0, 2-4, 6-8, 10-12, 14-16, 18-20, 22-24, 26-28, 30-32, 34-36, "
                          "38-40, 42-44 and 116 more");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("start");
    TCase *all = tcase_create("all");

    tcase_add_test(all, words);
    tcase_add_test(all, mappings);
    tcase_add_test(all, lengths);
    tcase_add_test(all, hosts);
    tcase_add_test(all, tasks);
    tcase_add_test(all, contacts);
    tcase_add_test(all, damaged_contacts);
    tcase_add_test(all, alike);
    tcase_add_test(all, alike_room);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
