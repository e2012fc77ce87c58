/* Programs that have more rights than the user that started them (setuid, setgid, file
 * capabilities, SELinux domains: AT_SECURE). That user controls the environment, so nothing in it
 * is trusted: all code of the library and of bootstraps reads it by secure_getenv, which finds
 * nothing then. */
#ifndef SY_UTIL_SECURE_H
#define SY_UTIL_SECURE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

static inline bool sy_secure(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Ends a command that has such rights, with words. does: what is dangerous with them. */
static inline void sy_secure_refuse(const char *command, const char *does)
{
    if (!sy_secure())
        return;
    fprintf(stderr,
            "%s: it %s, so it must not have rights that its user lacks; take setuid, setgid and "
            "capabilities off it\n",
            command, does);
    exit(EXIT_FAILURE);
}

#endif
