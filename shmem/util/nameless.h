/* A file of a file system that has no name, for memory that is larger than RAM: the kernel writes
 * what it needs room for to that file, and takes it away with the last process that has it. */
#ifndef SY_UTIL_NAMELESS_H
#define SY_UTIL_NAMELESS_H

#include <stdbool.h>
#include <stdint.h>
#include <switchyard/error.h>

/* Makes one of `length` bytes that read as zero in `directory`. Its blocks are set aside, so that a
 * full disk is an error now and not a SIGBUS when a page is first written; *reserved is false where
 * the file system cannot. Returns a descriptor; -errno with err, of a directory that is not there
 * or not to be written, or a disk that is too full. */
int sy_nameless_open(const char *directory, uint64_t length, bool *reserved, struct sy_error *err);

#endif
