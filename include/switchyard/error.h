/* The text of a failure, for the user. Functions that can fail return 0 or -errno and, where they
 * take an `err`, write once, where the cause is seen: what failed, on what, why, and what to do. */
#ifndef SWITCHYARD_ERROR_H
#define SWITCHYARD_ERROR_H

struct sy_error {
    char text[480]; /* "" while nothing failed */
};

#endif
