/* What the routines of point-to-point synchronisation (9.11) share. */
#ifndef SY_API_P2P_H
#define SY_API_P2P_H

/* CASE(NAME, OPERATOR, ...) for each comparison SHMEM_CMP_NAME; the rest is handed on. */
#define SY_P2P_COMPARISONS(CASE, ...)                                                              \
    CASE(EQ, ==, __VA_ARGS__)                                                                      \
    CASE(NE, !=, __VA_ARGS__)                                                                      \
    CASE(LT, <, __VA_ARGS__)                                                                       \
    CASE(LE, <=, __VA_ARGS__)                                                                      \
    CASE(GT, >, __VA_ARGS__)                                                                       \
    CASE(GE, >=, __VA_ARGS__)

/* Ends the job: cmp is not one of the SHMEM_CMP_ constants. */
_Noreturn void sy_p2p_bad_comparison(int cmp) __attribute__((cold));

#endif
