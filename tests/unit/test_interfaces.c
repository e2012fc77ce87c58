/* The addresses that the TCP transport listens on, those it publishes, and the order in which a
 * peer tries them. The interfaces are invented. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host.h"
#include "transports/tcp/conn/candidates.h"
#include "suite.h"
#include "util/net/machine.h"

static const struct sy_host host = {.size = sizeof host, .fail = host_fail};

static struct sy_interface interface(const char *name, const char *address)
{
    struct sy_interface made = {.up = true, .running = true, .index = 7};

    snprintf(made.name, sizeof made.name, "%s", name);
    made.loopback = !strcmp(name, "lo");
    ck_assert(!address || !sy_ip_parse(address, &made.ip));
    return made;
}

/* A host of a cluster with every kind of interface. */
static size_t cluster_host(struct sy_interface *all)
{
    size_t n = 0;

    all[n++] = interface("lo", "127.0.0.1/8");
    all[n++] = interface("eth0", "10.0.0.5/24");
    all[n++] = interface("eth1", "192.168.7.5/24");
    all[n++] = interface("docker0", "172.17.0.1/16");
    all[n++] = interface("tailscale0", "100.64.1.1/32");
    all[n++] = interface("down0", "10.9.9.9/24");
    all[n - 1].up = all[n - 1].running = false;
    all[n++] = interface("plug0", "10.8.8.8/24");
    all[n - 1].running = false;
    all[n++] = interface("ib0", "10.1.0.5/16");
    all[n - 1].speed = 100000;
    all[n++] = interface("lo", "::1/128");
    all[n++] = interface("eth0", "2001:db8::5/64");
    all[n++] = interface("eth0", "fe80::5/64");
    all[n++] = interface("bare0", NULL);
    return n;
}

/* The chosen addresses as "a b c", or the error. */
static const char *chosen(const char *list, int family, const struct sy_interface *all,
                          size_t count)
{
    static char text[600];
    const struct sy_interface **choice;
    struct sy_error err = {""};
    size_t n, used = 0;
    int rc = sy_interfaces_choose("SHMEM_TCP_INTERFACES", list, family, all, count, &choice, &n,
                                  &err);

    ck_assert((rc != 0) == (n == 0));
    text[0] = '\0';
    if (rc) {
        snprintf(text, sizeof text, "%d: %s", -rc, err.text);
        free(choice);
        return text;
    }
    for (size_t i = 0; i < n; i++) {
        char ip[INET6_ADDRSTRLEN];
        inet_ntop(choice[i]->ip.family == 4 ? AF_INET : AF_INET6, choice[i]->ip.bytes, ip,
                  sizeof ip);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", ip);
    }
    free(choice);
    return text;
}

static const struct {
    const char *list;
    int family;
    const char *chosen;
} choices[] = {
    {"auto", SY_IP_ANY, "10.1.0.5 10.0.0.5 192.168.7.5 2001:db8::5 127.0.0.1"},
    {"", SY_IP_ANY, "10.1.0.5 10.0.0.5 192.168.7.5 2001:db8::5 127.0.0.1"},
    {"auto", SY_IP_FOUR, "10.1.0.5 10.0.0.5 192.168.7.5 127.0.0.1"},
    {"auto", SY_IP_SIX, "2001:db8::5 ::1"},
    {"!ib*", SY_IP_FOUR, "10.0.0.5 192.168.7.5 127.0.0.1"},
    {"! ib* ,!lo", SY_IP_FOUR, "10.0.0.5 192.168.7.5"},
    {"!10.0.0.0/8", SY_IP_FOUR, "192.168.7.5 127.0.0.1"},
    /* No other interface is left, then loopback only. */
    {"!eth*,!ib0", SY_IP_ANY, "172.17.0.1 100.64.1.1 127.0.0.1"},
    {"!eth*,!ib0,!docker0,!tail*", SY_IP_ANY, "127.0.0.1"},
    {"auto,docker0", SY_IP_FOUR, "10.1.0.5 10.0.0.5 192.168.7.5 127.0.0.1 172.17.0.1"},
    {"eth0", SY_IP_ANY, "10.0.0.5 2001:db8::5"},
    {"eth1,eth0", SY_IP_FOUR, "192.168.7.5 10.0.0.5"},
    {"eth?,eth0", SY_IP_FOUR, "10.0.0.5 192.168.7.5"},
    {"eth*,!192.168.0.0/16", SY_IP_FOUR, "10.0.0.5"},
    {"10.0.0.0/8", SY_IP_ANY, "10.0.0.5 10.1.0.5"},
    {"10.0.0.5", SY_IP_ANY, "10.0.0.5"},
    {"0.0.0.0/0,!lo,!docker0,!tailscale0", SY_IP_ANY, "10.0.0.5 192.168.7.5 10.1.0.5"},
    {"2001:db8::/32", SY_IP_ANY, "2001:db8::5"},
    {"fe80::/10", SY_IP_ANY, "fe80::5"},
    {"docker0", SY_IP_ANY, "172.17.0.1"},
    {"lo", SY_IP_ANY, "127.0.0.1 ::1"},
    {"ib7,ib0", SY_IP_ANY, "10.1.0.5"},
};

START_TEST(choice)
{
    struct sy_interface all[16];
    size_t count = cluster_host(all);

    ck_assert_str_eq(chosen(choices[_i].list, choices[_i].family, all, count), choices[_i].chosen);
}
END_TEST

START_TEST(poor_machines)
{
    struct sy_interface all[3] = {interface("lo", "127.0.0.1/8"), interface("veth3", "10.5.0.2/24"),
                                  interface("veth3", "fe80::1/64")};

    ck_assert_str_eq(chosen("auto", SY_IP_ANY, all, 3), "10.5.0.2 127.0.0.1");
    ck_assert_str_eq(chosen("auto", SY_IP_SIX, all, 3), "fe80::1");
    ck_assert_str_eq(chosen("auto", SY_IP_ANY, all, 1), "127.0.0.1");
    all[0].up = all[0].running = false;
    ck_assert_str_eq(chosen("auto", SY_IP_ANY, all, 1),
                     "19: SHMEM_TCP_INTERFACES=auto fits no address of an interface that is up; "
                     "there are: lo (127.0.0.1, down)");
    ck_assert_str_eq(chosen("auto", SY_IP_ANY, all, 0),
                     "19: SHMEM_TCP_INTERFACES=auto fits no address of an interface that is up; "
                     "there are: none");
}
END_TEST

START_TEST(errors_name_what_is_there)
{
    struct sy_interface all[16];
    size_t count = cluster_host(all);
    const char *text = chosen("eth7", SY_IP_FOUR, all, count);

    ck_assert_str_eq(
        text, "22: SHMEM_TCP_INTERFACES=eth7 fits no IPv4 address of an interface that is up; "
              "there are: lo (127.0.0.1), eth0 (10.0.0.5), eth1 (192.168.7.5), docker0 "
              "(172.17.0.1), tailscale0 (100.64.1.1), down0 (10.9.9.9, down), plug0 "
              "(10.8.8.8, no carrier), ib0 (10.1.0.5), bare0 (no address)");
}
END_TEST

START_TEST(lists_without_sense)
{
    static const char *const lists[] = {
        "10.0.0.0/33", "10.0.0.0/",
        "10.0.0.0/x",  "eth0/24",
        "fd00::/129",  "!",
        "eth0,!",      "!auto",
        "::/-1",       "10.0.0/8",
        "1.2.3.4/8x",  "a-name-that-is-longer-than-any-interface's-name-could-ever-be-in-Linux",
    };
    struct sy_interface all[16];
    size_t count = cluster_host(all);

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *text = chosen(lists[i], SY_IP_ANY, all, count);
        ck_assert_msg(strstr(text, "22: ") == text && strstr(text, "neither"), "%s: %s", lists[i],
                      text);
    }
}
END_TEST

START_TEST(networks)
{
    struct sy_ip ip, network;

    ck_assert(!sy_ip_parse("10.1.2.3", &ip) && ip.prefix == 32);
    ck_assert(!sy_ip_parse("10.1.0.0/15", &network) && sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("10.2.0.0/15", &network) && !sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("0.0.0.0/0", &network) && sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("10.1.2.2/31", &network) && sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("10.1.2.2/32", &network) && !sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("::/0", &network) && !sy_ip_within(&ip, &network));
    ck_assert(!sy_ip_parse("::ffff:10.1.2.3", &ip) && ip.family == 6 && ip.prefix == 128);
    ck_assert_int_eq(sy_ip_parse("", &ip), -EINVAL);
    ck_assert_int_eq(sy_ip_parse("localhost", &ip), -EINVAL);
}
END_TEST

START_TEST(ports)
{
    static const char *const wrong[] = {
        "5000", "5000:",      ":5000",      "0:10", "5100:5000",      "1:65536",      "5000-5001",
        "a:b",  "5000:5001 ", " 5000:5001", "-1:5", "5000:5001:5002", "500000:500001"};
    struct sy_error err = {""};
    unsigned first, last;

    ck_assert_int_eq(sy_ports_parse("SHMEM_TCP_PORT_RANGE", "5000:5100", &first, &last, &err), 0);
    ck_assert(first == 5000 && last == 5100);
    ck_assert_int_eq(sy_ports_parse("SHMEM_TCP_PORT_RANGE", "65535:65535", &first, &last, &err), 0);
    ck_assert_int_eq(sy_ports_parse("SHMEM_TCP_PORT_RANGE", "", &first, &last, &err), 0);
    ck_assert(first == 0 && last == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(sy_ports_parse("SHMEM_TCP_PORT_RANGE", wrong[i], &first, &last, &err) ==
                          -EINVAL,
                      "%s", wrong[i]);
}
END_TEST

/* ---- records ---- */

static void add(struct tcp_record *record, const char *address, uint16_t port)
{
    struct tcp_endpoint *endpoint = &record->endpoint[record->count++];

    ck_assert_int_eq(sy_ip_parse(address, &endpoint->ip), 0);
    endpoint->port = port;
}

static struct tcp_record example(void)
{
    struct tcp_record record = {.machine = 0x123456789abcdef0};

    add(&record, "10.0.0.5/24", 5000);
    add(&record, "2001:db8::5/64", 5000);
    add(&record, "192.168.7.5/16", 5007);
    add(&record, "127.0.0.1/8", 5000);
    return record;
}

START_TEST(record_comes_back)
{
    struct tcp_record record = example(), back;
    unsigned char bytes[128] = {0};
    size_t length = sy_tcp_record_write(&record, bytes, 127);

    ck_assert_uint_eq(length, 11 + 6 + 18 + 8 + 6);
    ck_assert(sy_tcp_record_read(&back, bytes, length));
    ck_assert_uint_eq(back.count, 4);
    ck_assert_uint_eq(back.machine, record.machine);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(sy_ip_equal(&back.endpoint[i].ip, &record.endpoint[i].ip));
        ck_assert_uint_eq(back.endpoint[i].ip.prefix, record.endpoint[i].ip.prefix);
        ck_assert_uint_eq(back.endpoint[i].port, record.endpoint[i].port);
    }
    ck_assert(sy_tcp_record_read(&back, bytes, sizeof bytes)); /* zeros behind it */
}
END_TEST

START_TEST(record_cut_short_or_damaged)
{
    struct tcp_record record = example(), back;
    unsigned char bytes[128] = {0}, copy[128];
    size_t length = sy_tcp_record_write(&record, bytes, 127);

    for (size_t cut = 0; cut < length; cut++)
        ck_assert(!sy_tcp_record_read(&back, bytes, cut));
    bytes[length] = 1;
    ck_assert(!sy_tcp_record_read(&back, bytes, length + 1));
    for (size_t at = 0; at < length; at++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(copy, bytes, sizeof copy);
            copy[at] = (unsigned char)value;
            if (sy_tcp_record_read(&back, copy, length))
                ck_assert(back.count >= 1 && back.count <= TCP_ENDPOINTS);
        }
}
END_TEST

START_TEST(record_without_room)
{
    struct tcp_record record = {.machine = 1}, back;
    unsigned char bytes[127];

    for (int i = 0; i < 14; i++) {
        char text[40];
        snprintf(text, sizeof text, "2001:db8::%d/64", i + 1);
        add(&record, text, 5000);
    }
    add(&record, "127.0.0.1/8", 5000);
    for (size_t room = 0; room <= sizeof bytes; room++) {
        size_t length = sy_tcp_record_write(&record, bytes, room);
        ck_assert_uint_le(length, room);
        if (!length) {
            ck_assert_uint_lt(room, 11 + 6);
            continue;
        }
        ck_assert(sy_tcp_record_read(&back, bytes, length));
        ck_assert(sy_ip_loopback(&back.endpoint[back.count - 1].ip));
    }
    ck_assert_uint_eq(back.count, 7);
}
END_TEST

START_TEST(advertised)
{
    static const char *const wrong[] = {"host.example", "192.0.2.1:", "192.0.2.1:70000", "[::1",
                                        "192.0.2.1:0",  "[]:5",       "192.0.2.0/24",    "[",
                                        "0.0.0.0",      "ff02::1",    "192.0.2.1:1x"};
    struct tcp_record record = example();
    struct sy_error err = {""};

    ck_assert_int_eq(sy_tcp_record_advertise(&host, &record, "", 5000, &err), 0);
    ck_assert_uint_eq(record.count, 4);
    ck_assert_int_eq(sy_tcp_record_advertise(&host, &record,
                                             "192.0.2.1, 192.0.2.2:7000,2001:db8::1,"
                                             "[2001:db8::2]:7001,[2001:db8::3]",
                                             5000, &err),
                     0);
    ck_assert_uint_eq(record.count, 6);
    ck_assert_uint_eq(record.endpoint[0].port, 5000);
    ck_assert_uint_eq(record.endpoint[0].ip.prefix, 32);
    ck_assert_uint_eq(record.endpoint[1].port, 7000);
    ck_assert_uint_eq(record.endpoint[2].port, 5000);
    ck_assert_uint_eq(record.endpoint[3].port, 7001);
    ck_assert_uint_eq(record.endpoint[4].port, 5000);
    ck_assert(sy_ip_loopback(&record.endpoint[5].ip));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(sy_tcp_record_advertise(&host, &record, wrong[i], 5000, &err) == -EINVAL,
                      "%s", wrong[i]);
    ck_assert_uint_eq(record.count, 6);
}
END_TEST

/* ---- the order of trying ---- */

static const char *tried(const struct tcp_record *peer, uint64_t machine,
                         const struct sy_interface *mine, size_t count)
{
    static char text[1000];
    struct sockaddr_storage out[TCP_CANDIDATES];
    unsigned n = sy_tcp_candidates(peer, machine, mine, count, out);
    char one[SY_IP_TEXT];
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "",
                                 sy_socket_text(&out[i], one));
    return text;
}

START_TEST(order_of_trying)
{
    struct tcp_record peer = {.machine = 77};
    struct sy_interface all[16];
    size_t count = cluster_host(all);

    add(&peer, "203.0.113.9/24", 1);
    add(&peer, "2001:db8:1::9/64", 2);
    add(&peer, "172.17.0.1/16", 3); /* this machine has the same, so it cannot lead there */
    add(&peer, "192.168.7.9/24", 4);
    add(&peer, "fe80::9/64", 5);
    add(&peer, "10.0.0.9/32", 6); /* advertised: not known to be near */
    add(&peer, "127.0.0.1/8", 7);
    ck_assert_str_eq(tried(&peer, 1, all, count),
                     "192.168.7.9:4 203.0.113.9:1 [2001:db8:1::9]:2 10.0.0.9:6 [fe80::9%7]:5");
    ck_assert_str_eq(tried(&peer, 77, all, count),
                     "127.0.0.1:7 172.17.0.1:3 192.168.7.9:4 203.0.113.9:1 [2001:db8:1::9]:2 "
                     "10.0.0.9:6 [fe80::9%7]:5");
    /* The peer's machine is unknown, so loopback comes last. */
    peer.machine = 0;
    ck_assert_str_eq(tried(&peer, 1, all, count),
                     "172.17.0.1:3 192.168.7.9:4 203.0.113.9:1 [2001:db8:1::9]:2 10.0.0.9:6 "
                     "[fe80::9%7]:5 127.0.0.1:7");
    /* This host has no IPv6: those addresses come last. */
    peer.machine = 77;
    ck_assert_str_eq(tried(&peer, 1, all, 4),
                     "192.168.7.9:4 203.0.113.9:1 10.0.0.9:6 [2001:db8:1::9]:2");
}
END_TEST

/* The address that each of streams 1 to 4 tries first. */
static const char *spread(struct tcp_record *peer, const struct sy_interface *mine, size_t count,
                          bool named)
{
    static char text[400];
    struct sockaddr_storage out[TCP_CANDIDATES];
    char one[SY_IP_TEXT];
    size_t used = 0;

    for (unsigned number = 1; number <= 4; number++) {
        unsigned n = sy_tcp_candidates(peer, 1, mine, count, out);
        sy_tcp_candidates_spread(out, n, mine, count, named, number);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                                 sy_socket_text(&out[0], one));
        for (unsigned i = 1; i < n; i++)
            ck_assert_str_ne(sy_socket_text(&out[i], (char[SY_IP_TEXT]){0}), one);
    }
    return text;
}

/* Streams between two PEs are spread over equally fast networks; see sy_tcp_candidates_spread. */
START_TEST(rails)
{
    struct tcp_record peer = {.machine = 77};
    struct sy_interface all[16];
    size_t count = cluster_host(all);

    add(&peer, "192.168.7.9/24", 1);
    add(&peer, "10.0.0.9/24", 2);
    add(&peer, "2001:db8::9/64", 3);
    add(&peer, "203.0.113.9/24", 4);
    ck_assert_str_eq(spread(&peer, all, count, false),
                     "192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 ");
    ck_assert_str_eq(spread(&peer, all, count, true),
                     "192.168.7.9:1 10.0.0.9:2 192.168.7.9:1 10.0.0.9:2 ");
    all[1].speed = all[2].speed = 1000; /* eth0 and eth1 */
    ck_assert_str_eq(spread(&peer, all, count, false),
                     "192.168.7.9:1 10.0.0.9:2 192.168.7.9:1 10.0.0.9:2 ");
    /* Further addresses in a network are no further networks. */
    add(&peer, "10.0.0.10/24", 5);
    add(&peer, "10.0.0.11/24", 6);
    ck_assert_str_eq(spread(&peer, all, count, false),
                     "192.168.7.9:1 10.0.0.9:2 192.168.7.9:1 10.0.0.9:2 ");
    all[2].speed = 10000;
    ck_assert_str_eq(spread(&peer, all, count, true),
                     "192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 ");
    peer.count = 1;
    ck_assert_str_eq(spread(&peer, all, count, true),
                     "192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 192.168.7.9:1 ");
}
END_TEST

START_TEST(loopback_of_another_machine)
{
    struct tcp_record peer = {.machine = 77};
    struct sy_interface all[16];
    size_t count = cluster_host(all);

    add(&peer, "127.0.0.1/8", 7);
    ck_assert_str_eq(tried(&peer, 1, all, count), "");
    ck_assert_str_eq(tried(&peer, 77, all, count), "127.0.0.1:7");
}
END_TEST

START_TEST(this_machine)
{
    struct sy_interface *all;
    size_t count;

    ck_assert_uint_eq(sy_machine_network(), sy_machine_network());
    ck_assert_int_eq(sy_interfaces_list(&all, &count), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert(all[i].ip.family == 0 || all[i].ip.family == 4 || all[i].ip.family == 6);
    free(all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interfaces");
    TCase *cases = tcase_create("interfaces");

    tcase_add_loop_test(cases, choice, 0, (int)(sizeof choices / sizeof *choices));
    tcase_add_test(cases, poor_machines);
    tcase_add_test(cases, errors_name_what_is_there);
    tcase_add_test(cases, lists_without_sense);
    tcase_add_test(cases, networks);
    tcase_add_test(cases, ports);
    tcase_add_test(cases, record_comes_back);
    tcase_add_test(cases, record_cut_short_or_damaged);
    tcase_add_test(cases, record_without_room);
    tcase_add_test(cases, advertised);
    tcase_add_test(cases, order_of_trying);
    tcase_add_test(cases, rails);
    tcase_add_test(cases, loopback_of_another_machine);
    tcase_add_test(cases, this_machine);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
