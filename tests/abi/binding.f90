! The interface as Fortran sees it, without a header: handles are variables of the library, constants are
! numbers. PEs put into each other's memory in a ring, and wait by a comparison that is a number here.
module handles
    use iso_c_binding
    type(c_ptr), protected, bind(C, name="SHMEM_TEAM_WORLD") :: team_world
    type(c_ptr), protected, bind(C, name="SHMEM_CTX_DEFAULT") :: ctx_default
end module

program binding
    use handles
    implicit none
    integer(c_int), parameter :: cmp_ge = 5
    integer(c_int64_t), target, save :: word = 0
    integer(c_int64_t), target, save :: total = 0, one = 1
    integer(c_int) :: me, npes, status

    interface
        subroutine shmem_init() bind(C)
        end subroutine
        subroutine shmem_finalize() bind(C)
        end subroutine
        function shmem_team_my_pe(team) bind(C)
            import
            type(c_ptr), value :: team
            integer(c_int) :: shmem_team_my_pe
        end function
        function shmem_team_n_pes(team) bind(C)
            import
            type(c_ptr), value :: team
            integer(c_int) :: shmem_team_n_pes
        end function
        subroutine shmem_ctx_int64_p(ctx, dest, value, pe) bind(C)
            import
            type(c_ptr), value :: ctx, dest
            integer(c_int64_t), value :: value
            integer(c_int), value :: pe
        end subroutine
        subroutine shmem_int64_wait_until(ivar, cmp, value) bind(C)
            import
            type(c_ptr), value :: ivar
            integer(c_int), value :: cmp
            integer(c_int64_t), value :: value
        end subroutine
        function shmem_int64_sum_reduce(team, dest, source, nreduce) bind(C)
            import
            type(c_ptr), value :: team, dest, source
            integer(c_size_t), value :: nreduce
            integer(c_int) :: shmem_int64_sum_reduce
        end function
    end interface

    call shmem_init()
    me = shmem_team_my_pe(team_world)
    npes = shmem_team_n_pes(team_world)
    call shmem_ctx_int64_p(ctx_default, c_loc(word), 8_c_int64_t, mod(me + 1, npes))
    call shmem_int64_wait_until(c_loc(word), cmp_ge, 7_c_int64_t)
    status = shmem_int64_sum_reduce(team_world, c_loc(total), c_loc(one), 1_c_size_t)
    call shmem_finalize()
    if (status /= 0 .or. total /= npes .or. word /= 8) stop 1
end program
