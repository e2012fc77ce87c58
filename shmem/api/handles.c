/* The handles that are constants (7), as variables of the same names. C has them as macros;
 * Fortran's bind(C), and programs that look names up with dlsym, need an object of each name.
 * Nothing of the library reads them. */
#include <shmem.h>

/* The macro has the name in C, so the variable gets it from the assembler. */
#define HANDLE(TYPE, NAME, VARIABLE)                                                               \
    extern const TYPE VARIABLE __asm__(NAME) __attribute__((visibility("default")));               \
    const TYPE VARIABLE

/* clang-format off */

HANDLE(shmem_team_t, "SHMEM_TEAM_INVALID", sy_handle_team_invalid) = SHMEM_TEAM_INVALID;
HANDLE(shmem_team_t, "SHMEM_TEAM_WORLD", sy_handle_team_world) = SHMEM_TEAM_WORLD;
HANDLE(shmem_team_t, "SHMEM_TEAM_SHARED", sy_handle_team_shared) = SHMEM_TEAM_SHARED;
HANDLE(shmem_ctx_t, "SHMEM_CTX_INVALID", sy_handle_ctx_invalid) = SHMEM_CTX_INVALID;
HANDLE(shmem_ctx_t, "SHMEM_CTX_DEFAULT", sy_handle_ctx_default) = SHMEM_CTX_DEFAULT;

/* clang-format on */
