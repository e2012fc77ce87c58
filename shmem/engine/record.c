#include "engine/record.h"

static uint64_t record_most(unsigned op)
{
    return op == SY_RECORD_PUT_STRIDED || op == SY_RECORD_GET_STRIDED ? SY_RECORD_PACKED
                                                                      : SY_RECORD_CHUNK;
}

size_t sy_record_size(const char *from, size_t have, const char **why)
{
    uint64_t header = sy_record_word(from), length;
    unsigned op = sy_record_op(header);
    size_t head = sy_record_head(header);

    if (op != SY_RECORD_PUT_LONG && op != SY_RECORD_PUT_STRIDED)
        return head;
    if (have < head)
        return 0;
    length = sy_record_data(from);
    if (length > record_most(op))
        *why = "a record is longer than agreed";
    return *why ? 0 : head + sy_record_padded((size_t)length);
}

long sy_record_reply(const char *words)
{
    unsigned op = sy_record_op(sy_record_word(words));

    if (op == SY_RECORD_GET_LARGE)
        return 8;
    if (op >= SY_RECORD_AMO_FETCH || op == SY_RECORD_GET)
        return 1L << sy_record_code(sy_record_word(words));
    if (op != SY_RECORD_GET_LONG && op != SY_RECORD_GET_STRIDED)
        return 0;
    uint64_t length = sy_record_data(words);
    return length && length <= record_most(op) ? (long)length : -1;
}
