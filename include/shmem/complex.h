/* The routines of complex types for std::complex, which C++ lays out as C does its own. As the
 * argument of a template it needs no header. shmem.h may have been included as extern "C". */
#ifndef SY_SHMEM_COMPLEX_H
#define SY_SHMEM_COMPLEX_H

#if defined __cplusplus && SY_HAVE_COMPLEX

#define SY_AS(TYPE, ARRAY) reinterpret_cast<TYPE *>(ARRAY)
#define SY_COMPLEX_OF_TEAM(NAME, REAL, TYPE)                                                       \
    template <template <typename> class C>                                                         \
    int shmem_##NAME(shmem_team_t team, C<REAL> *dest, const C<REAL> *source, size_t n)            \
    {                                                                                              \
        return shmem_##NAME(team, SY_AS(TYPE, dest), SY_AS(const TYPE, source), n);                \
    }
#define SY_COMPLEX_OF_SET(NAME, REAL, TYPE)                                                        \
    template <template <typename> class C>                                                         \
    void shmem_##NAME##_to_all(C<REAL> *dest, const C<REAL> *source, int n, int start, int stride, \
                               int size, C<REAL> *work, long *sync)                                \
    {                                                                                              \
        shmem_##NAME##_to_all(SY_AS(TYPE, dest), SY_AS(const TYPE, source), n, start, stride,      \
                              size, SY_AS(TYPE, work), sync);                                      \
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

#undef SY_AS
#undef SY_COMPLEX_OF_TEAM
#undef SY_COMPLEX_OF_SET
#undef SY_COMPLEX_ALL
#endif
#endif
