/* Files without a name. */
#ifndef SY_UTIL_FILE_H
#define SY_UTIL_FILE_H

#include <stdint.h>

/* ftruncate, except that the process is not killed (SIGXFSZ) where `ulimit -f` forbids the length:
 * 0 or -errno, then -EFBIG. */
int sy_file_set_length(int fd, uint64_t length);

#endif
