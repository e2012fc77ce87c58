/* Long records for memory of a device of this PE: see device.c. */
#ifndef TCP_PEER_DEVICE_H
#define TCP_PEER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcp_peer;
struct tcp_stream;

/* Where a payload is received that is for memory of a device; NULL: it is for no such memory. */
char *sy_tcp_device_place(struct tcp_peer *peer, uint64_t header, size_t length);

/* More of it has come, in.payload says how far. */
void sy_tcp_device_follow(struct tcp_stream *stream);

/* All of it has come, and is in the device on return. False: there is no such memory. */
bool sy_tcp_device_placed(struct tcp_peer *peer);

/* Gives the long reply that the record at `at` asks for from where the device's memory is mapped,
 * and sends it. have: bytes there, with the records that follow. False: it cannot be mapped, or not
 * be sent now, so it has to be copied. */
bool sy_tcp_device_send(struct tcp_peer *peer, const char *at, size_t have, size_t length);

/* No more of what was mapped for such replies is asked for now. */
void sy_tcp_device_unmap(struct tcp_peer *peer);

/* Copies a reply that has been sent so and is to be sent once more. */
bool sy_tcp_device_again(struct tcp_stream *stream, uint64_t header, char *to, size_t length);

/* Begins a long reply with memory of a device. False: *why, or it has to be copied at once. */
bool sy_tcp_device_read(struct tcp_peer *peer, uint64_t header, size_t length, const char **why);

/* Sends all that have been begun. NULL, or how the other side breaks the rules. */
const char *sy_tcp_device_reply(struct tcp_peer *peer);

void sy_tcp_device_close(struct tcp_peer *peer);

#endif
