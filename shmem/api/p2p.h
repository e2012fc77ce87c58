/* What the routines of point-to-point synchronisation (9.11) share. */
#ifndef SY_API_P2P_H
#define SY_API_P2P_H

/* Ends the job: cmp is not one of the SHMEM_CMP_ constants. */
_Noreturn void sy_p2p_bad_comparison(int cmp) __attribute__((cold));

#endif
