/* libFuzzer target: messages of the handshake from a stranger, and the other texts and records of
 * the handshake that come from outside. The first byte chooses the kind of the rest. A message is
 * judged at each place of a handshake, as it is and with a valid MAC, so that the code behind the
 * check of the MAC is reached too. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host.h"
#include "transports/tcp/conn/candidates.h"
#include "transports/tcp/conn/handshake.h"
#include "util/auth.h"

static const struct sy_host host = {.size = sizeof host, .fail = host_fail};

static const unsigned char key[SY_AUTH_KEY] = "a job's key";

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The messages before the one that is judged: HELLO of PE 0 to PE 1, WELCOME, CONFIRM. */
static struct tcp_transcript begun(unsigned count)
{
    static const struct tcp_self self[2] = {{key, 0, 4}, {key, 1, 4}};
    struct tcp_transcript t = {0};

    if (count > 0)
        require(!sy_tcp_say_hello(&t, &self[0], 1, 1, 0, 1));
    if (count > 1)
        require(!sy_tcp_say_welcome(&t, &self[1]));
    if (count > 2)
        require(!sy_tcp_say_positions(&t, &self[0], (struct tcp_positions){1, 2, 3}));
    for (unsigned i = 0; i < count; i++)
        memset(t.message[i].nonce, (int)i, sizeof t.message[i].nonce);
    return t;
}

static void judge(const uint8_t *data, size_t size, unsigned count, bool sealed)
{
    struct tcp_transcript t = begun(count);
    struct tcp_self self = {key, count % 2 ? 0 : 1, 4};
    struct tcp_handshake message = {.magic = TCP_MAGIC};
    struct sy_auth_part part[2] = {{t.message, count * sizeof message},
                                   {&message, offsetof(struct tcp_handshake, mac)}};
    enum tcp_verdict verdict;

    memcpy(&message, data, size < sizeof message ? size : sizeof message);
    if (sealed)
        sy_auth_mac(key, part, 2, message.mac);
    verdict = sy_tcp_hear(&t, &self, &message);
    require(t.count == count + (verdict != TCP_STRANGE && verdict != TCP_FORGED));
    require(sealed || verdict == TCP_STRANGE || verdict == TCP_FORGED);
    if (verdict != TCP_GOOD)
        return;
    require(message.to == self.pe && message.from < self.npes && message.from != self.pe);
    if (message.kind == TCP_HELLO)
        require(!sy_tcp_say_welcome(&t, &self) && sy_tcp_last(&t)->to == message.from);
}

static void read_record(const uint8_t *data, size_t size)
{
    struct tcp_record record, again;
    struct sockaddr_storage out[TCP_CANDIDATES];
    static const struct sy_interface mine = {
        .name = "eth0", .up = true, .ip = {.family = 4, .prefix = 8, .bytes = {10}}};
    unsigned char bytes[512];
    size_t length;

    if (!sy_tcp_record_read(&record, data, size))
        return;
    length = sy_tcp_record_write(&record, bytes, sizeof bytes);
    require(sy_tcp_record_read(&again, bytes, length) && again.count == record.count);
    require(!memcmp(&again, &record, offsetof(struct tcp_record, endpoint)));
    for (unsigned i = 0; i < record.count; i++)
        require(sy_ip_equal(&again.endpoint[i].ip, &record.endpoint[i].ip) &&
                again.endpoint[i].port == record.endpoint[i].port);
    require(sy_tcp_candidates(&record, record.machine, &mine, 1, out) <= TCP_CANDIDATES);
}

static void read_texts(const uint8_t *data, size_t size)
{
    static const struct sy_interface all[] = {
        {.name = "lo", .up = true, .running = true, .loopback = true, .ip = {4, 8, {127, 0, 0, 1}}},
        {.name = "eth0", .up = true, .running = true, .ip = {4, 24, {10, 0, 0, 5}}},
        {.name = "eth0", .up = true, .running = true, .ip = {6, 64, {0xfe, 0x80, [15] = 5}}}};
    const struct sy_interface **chosen;
    struct tcp_record record = {.machine = 1, .count = 1, .endpoint[0] = {all[0].ip, 9}};
    struct sy_error err;
    unsigned first, last;
    size_t count;
    char *text = malloc(size + 1);

    require(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (!sy_interfaces_choose("SHMEM_TCP_INTERFACES", text, SY_IP_ANY, all, 3, &chosen, &count,
                              &err))
        require(count > 0 && count <= 3);
    free(chosen);
    if (!sy_ports_parse("SHMEM_TCP_PORT_RANGE", text, &first, &last, &err))
        require(first <= last && last <= 65535);
    if (!sy_tcp_record_advertise(&host, &record, text, 7, &err))
        require(record.count > 0 && record.count <= TCP_ENDPOINTS);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (*data < 8)
        judge(data + 1, size - 1, *data % 4, *data >= 4);
    else if (*data == 8)
        read_record(data + 1, size - 1);
    else if (*data == 9)
        read_texts(data + 1, size - 1);
    return 0;
}
