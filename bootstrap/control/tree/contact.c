/* The one value that a bootstrap carries, as text that survives every launcher: PMI-1 servers cut a
 * value at 1023 bytes or at the first blank, some in silence. Bytes in the order of the network. */
#include <errno.h>
#include <nettle/base64.h>
#include <string.h>

#include "bootstrap/control/tree/tree.h"
#include "util/bits.h"
#include "util/net/bytes.h"

enum {
    VERSION = 2,
    FIXED = 1 + 1 + 2 + 8 + TREE_SECRET, /* version, count, port, host, secret */
    BINARY_MOST = FIXED + TREE_ADDRESSES * 17 + 4
};

_Static_assert(BASE64_ENCODE_RAW_LENGTH(BINARY_MOST) < TREE_CONTACT_TEXT, "a full contact fits");

/* Against a launcher that cuts or changes the value, not against an enemy. */
static uint32_t tree_contact_checksum(const unsigned char *bytes, size_t length)
{
    return (uint32_t)sy_hash(bytes, length, 0);
}

/* ---- addresses ---- */

static size_t tree_contact_pack_address(unsigned char *out, const struct sy_ip *ip)
{
    *out = ip->family;
    memcpy(out + 1, ip->bytes, sy_ip_length(ip));
    return 1 + sy_ip_length(ip);
}

/* Returns the bytes used, or 0 where they make no sense. */
static size_t tree_contact_unpack_address(const unsigned char *in, size_t left, struct sy_ip *ip)
{
    *ip = (struct sy_ip){.family = *in};
    ip->prefix = (uint8_t)(8 * sy_ip_length(ip));
    if ((*in != 4 && *in != 6) || left < 1 + sy_ip_length(ip))
        return 0;
    memcpy(ip->bytes, in + 1, sy_ip_length(ip));
    return 1 + sy_ip_length(ip);
}

/* ---- all of it ---- */

/* Without the padding, of which launchers might take the sign for one of their own. */
static void tree_contact_to_text(const unsigned char *bytes, size_t length, char *text)
{
    struct base64_encode_ctx encoder;

    base64url_encode_init(&encoder);
    size_t used = base64_encode_update(&encoder, text, length, bytes);
    text[used + base64_encode_final(&encoder, text + used)] = '\0';
    text[strcspn(text, "=")] = '\0';
}

/* Returns how many bytes there were, or 0. */
static size_t tree_contact_from_text(const char *text, unsigned char *bytes, size_t room)
{
    struct base64_decode_ctx decoder;
    size_t length = strlen(text);

    base64url_decode_init(&decoder);
    return BASE64_DECODE_LENGTH(length) <= room &&
                   base64_decode_update(&decoder, &length, bytes, length, text)
               ? length
               : 0;
}

void sy_tree_contact_encode(const struct tree_contact *contact, char text[TREE_CONTACT_TEXT])
{
    unsigned char bytes[BINARY_MOST];
    size_t length = FIXED;

    bytes[0] = VERSION;
    bytes[1] = (unsigned char)contact->root.count;
    sy_bytes_put(bytes + 2, contact->root.port, 2);
    sy_bytes_put(bytes + 4, contact->root.host, 8);
    memcpy(bytes + 12, contact->secret, TREE_SECRET);
    for (int i = 0; i < contact->root.count; i++)
        length += tree_contact_pack_address(bytes + length, &contact->root.entry[i]);
    sy_bytes_put(bytes + length, tree_contact_checksum(bytes, length), 4);
    tree_contact_to_text(bytes, length + 4, text);
}

int sy_tree_contact_decode(const char *text, struct tree_contact *contact)
{
    unsigned char bytes[BINARY_MOST + 2]; /* as many as the longest text may have */
    size_t length = tree_contact_from_text(text, bytes, sizeof bytes), at = FIXED;

    if (length < FIXED + 4 || bytes[0] != VERSION ||
        sy_bytes_get(bytes + length - 4, 4) != tree_contact_checksum(bytes, length - 4))
        return -EINVAL;
    length -= 4;
    memset(contact, 0, sizeof *contact);
    memcpy(contact->secret, bytes + 12, TREE_SECRET);
    contact->root.host = sy_bytes_get(bytes + 4, 8);
    contact->root.port = (uint16_t)sy_bytes_get(bytes + 2, 2);
    while (at < length && contact->root.count < TREE_ADDRESSES) {
        size_t used = tree_contact_unpack_address(bytes + at, length - at,
                                                  &contact->root.entry[contact->root.count]);
        if (!used)
            return -EINVAL;
        at += used;
        contact->root.count++;
    }
    return at == length && contact->root.count == bytes[1] && contact->root.count ? 0 : -EINVAL;
}
