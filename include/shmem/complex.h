/* The routines of complex types for std::complex, which C++ lays out as C does its own: programs
 * hand over such arrays without a cast. It is a template's argument here, so nothing is included.
 * A program may have included shmem.h as extern "C". */
#ifndef SY_SHMEM_COMPLEX_H
#define SY_SHMEM_COMPLEX_H

#if defined __cplusplus && SY_HAVE_COMPLEX

#define SY_COMPLEX_OF_TEAM(NAME, REAL, TYPE)                                                       \
    template <template <typename> class C>                                                         \
    inline int shmem_##NAME(shmem_team_t team, C<REAL> *dest, const C<REAL> *source, size_t n)     \
    {                                                                                              \
        return shmem_##NAME(team, reinterpret_cast<TYPE *>(dest),                                  \
                            reinterpret_cast<const TYPE *>(source), n);                            \
    }
#define SY_COMPLEX_OF_SET(NAME, REAL, TYPE)                                                        \
    template <template <typename> class C>                                                         \
    inline void shmem_##NAME##_to_all(C<REAL> *dest, const C<REAL> *source, int n, int start,      \
                                      int stride, int size, C<REAL> *work, long *sync)             \
    {                                                                                              \
        shmem_##NAME##_to_all(reinterpret_cast<TYPE *>(dest),                                      \
                              reinterpret_cast<const TYPE *>(source), n, start, stride, size,      \
                              reinterpret_cast<TYPE *>(work), sync);                               \
    }
#define SY_COMPLEX_ALL(TYPENAME, REAL, TYPE)                                                       \
    SY_COMPLEX_OF_TEAM(TYPENAME##_sum_reduce, REAL, TYPE)                                          \
    SY_COMPLEX_OF_TEAM(TYPENAME##_prod_reduce, REAL, TYPE)                                         \
    SY_COMPLEX_OF_TEAM(TYPENAME##_sum_inscan, REAL, TYPE)                                          \
    SY_COMPLEX_OF_TEAM(TYPENAME##_sum_exscan, REAL, TYPE)                                          \
    SY_COMPLEX_OF_SET(TYPENAME##_sum, REAL, TYPE)                                                  \
    SY_COMPLEX_OF_SET(TYPENAME##_prod, REAL, TYPE)

extern "C++" {
SY_COMPLEX_ALL(complexd, double, sy_complexd)
SY_COMPLEX_ALL(complexf, float, sy_complexf)
}

#undef SY_COMPLEX_OF_TEAM
#undef SY_COMPLEX_OF_SET
#undef SY_COMPLEX_ALL

#endif
#endif
