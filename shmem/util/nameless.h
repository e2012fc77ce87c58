/* A file without a name in a file system, for memory larger than RAM: the kernel writes pages to it
 * when it needs room, and deletes the file when the last process that has it open ends. */
#ifndef SY_UTIL_NAMELESS_H
#define SY_UTIL_NAMELESS_H

#include <stdbool.h>
#include <stdint.h>
#include <switchyard/error.h>

/* Makes one in `directory`, of `length` bytes that read as zero. Its blocks are reserved, so that a
 * full disk is an error now and not a SIGBUS when a page is first written; *reserved is false where
 * the file system cannot do that. Returns a descriptor, or -errno with err: the directory is
 * missing or not writable, or the disk is too full. */
int sy_nameless_open(const char *directory, uint64_t length, bool *reserved, struct sy_error *err);

#endif
