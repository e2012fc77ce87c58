dist_doc_DATA += docs/abi.md docs/architecture.md docs/architecture.svg docs/devices.md docs/launchers.md docs/mpi.md docs/mpi-paper.md docs/ofi.md docs/opencl.md docs/options.md \
	docs/performance.md docs/security.md docs/spaces.md docs/speed.svg docs/streams.md docs/tcp.md docs/tcp-wire.md

# Manual pages, and the tests that keep them true. A new page is added to the list here.
man_pages = \
	docs/man/man1/oshbench.1 \
	docs/man/man1/oshcc.1 \
	docs/man/man1/oshcheck.1 \
	docs/man/man1/oshinfo.1 \
	docs/man/man1/oshrun.1 \
	docs/man/man3/shmalloc.3 \
	docs/man/man3/shmem_alltoall.3 \
	docs/man/man3/shmem_alltoalls.3 \
	docs/man/man3/shmem_and_reduce.3 \
	docs/man/man3/shmem_atomic_compare_swap.3 \
	docs/man/man3/shmem_atomic_fetch.3 \
	docs/man/man3/shmem_atomic_fetch_add.3 \
	docs/man/man3/shmem_atomic_fetch_and.3 \
	docs/man/man3/shmem_atomic_fetch_inc.3 \
	docs/man/man3/shmem_atomic_fetch_or.3 \
	docs/man/man3/shmem_atomic_fetch_xor.3 \
	docs/man/man3/shmem_atomic_set.3 \
	docs/man/man3/shmem_atomic_swap.3 \
	docs/man/man3/shmem_barrier_all.3 \
	docs/man/man3/shmem_broadcast.3 \
	docs/man/man3/shmem_calloc.3 \
	docs/man/man3/shmem_collect.3 \
	docs/man/man3/shmem_ctx_create.3 \
	docs/man/man3/shmem_ctx_destroy.3 \
	docs/man/man3/shmem_ctx_get_team.3 \
	docs/man/man3/shmem_ctx_session_start.3 \
	docs/man/man3/shmem_fadd.3 \
	docs/man/man3/shmem_fence.3 \
	docs/man/man3/shmem_finalize.3 \
	docs/man/man3/shmem_g.3 \
	docs/man/man3/shmem_get.3 \
	docs/man/man3/shmem_get_nbi.3 \
	docs/man/man3/shmem_global_exit.3 \
	docs/man/man3/shmem_ibget.3 \
	docs/man/man3/shmem_ibput.3 \
	docs/man/man3/shmem_iget.3 \
	docs/man/man3/shmem_info_get_version.3 \
	docs/man/man3/shmem_init.3 \
	docs/man/man3/shmem_init_thread.3 \
	docs/man/man3/shmem_iput.3 \
	docs/man/man3/shmem_malloc.3 \
	docs/man/man3/shmem_malloc_with_hints.3 \
	docs/man/man3/shmem_max_reduce.3 \
	docs/man/man3/shmem_my_pe.3 \
	docs/man/man3/shmem_p.3 \
	docs/man/man3/shmem_pcontrol.3 \
	docs/man/man3/shmem_pe_accessible.3 \
	docs/man/man3/shmem_pe_quiet.3 \
	docs/man/man3/shmem_ptr.3 \
	docs/man/man3/shmem_put.3 \
	docs/man/man3/shmem_put_nbi.3 \
	docs/man/man3/shmem_put_signal.3 \
	docs/man/man3/shmem_put_signal_nbi.3 \
	docs/man/man3/shmem_query_initialized.3 \
	docs/man/man3/shmem_quiet.3 \
	docs/man/man3/shmem_set_lock.3 \
	docs/man/man3/shmem_signal_add.3 \
	docs/man/man3/shmem_signal_fetch.3 \
	docs/man/man3/shmem_signal_wait_until.3 \
	docs/man/man3/shmem_sum_inscan.3 \
	docs/man/man3/shmem_sum_reduce.3 \
	docs/man/man3/shmem_sum_to_all.3 \
	docs/man/man3/shmem_sync.3 \
	docs/man/man3/shmem_team_destroy.3 \
	docs/man/man3/shmem_team_get_config.3 \
	docs/man/man3/shmem_team_my_pe.3 \
	docs/man/man3/shmem_team_split_2d.3 \
	docs/man/man3/shmem_team_split_strided.3 \
	docs/man/man3/shmem_team_translate_pe.3 \
	docs/man/man3/shmem_test.3 \
	docs/man/man3/shmem_test_all.3 \
	docs/man/man3/shmem_test_any.3 \
	docs/man/man3/shmem_test_some.3 \
	docs/man/man3/shmem_udcflush.3 \
	docs/man/man3/shmem_wait_until.3 \
	docs/man/man3/shmem_wait_until_all.3 \
	docs/man/man3/shmem_wait_until_any.3 \
	docs/man/man3/shmem_wait_until_some.3 \
	docs/man/man3/shmemx_atomic_on_stream.3 \
	docs/man/man3/shmemx_collective_on_stream.3 \
	docs/man/man3/shmemx_event_create.3 \
	docs/man/man3/shmemx_putmem_on_stream.3 \
	docs/man/man3/shmemx_space_create.3 \
	docs/man/man3/shmemx_space_get_team.3 \
	docs/man/man3/shmemx_space_malloc.3 \
	docs/man/man3/shmemx_space_opencl_buffer.3 \
	docs/man/man3/shmemx_space_sync.3 \
	docs/man/man3/shmemx_stream_create.3 \
	docs/man/man3/shmemx_team_from_comm.3 \
	docs/man/man3/shmemx_team_from_group.3 \
	docs/man/man3/shmemx_wait_until_on_stream.3 \
	docs/man/man3/start_pes.3 \
	docs/man/man7/openshmem.7
dist_doc_DATA += docs/transport-guide.md
dist_man_MANS = $(man_pages)
EXTRA_DIST += docs/man/names.awk docs/man/options.awk docs/man/shmem.json.5.in

# The page of the options has the tables of docs/options.md.
man_MANS = docs/man/man5/shmem.json.5
CLEANFILES += docs/man/man5/shmem.json.5
docs/man/man5/shmem.json.5: $(top_srcdir)/docs/man/options.awk $(top_srcdir)/docs/options.md \
		$(top_srcdir)/docs/man/shmem.json.5.in Makefile
	$(AM_V_GEN)mkdir -p docs/man/man5 && $(AWK) -v sysconfdir='$(sysconfdir)' \
	-f $(top_srcdir)/docs/man/options.awk $(top_srcdir)/docs/options.md \
	$(top_srcdir)/docs/man/shmem.json.5.in >$@.part && mv $@.part $@

# Every routine leads to the page of its family: "man shmem_long_put" is shmem_put(3). The lines of
# man_links are section, page and name.
man_links = (cd $(srcdir) && $(AWK) -v links=1 -f docs/man/names.awk $(man_pages))
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(mandir)/man1" "$(DESTDIR)$(mandir)/man3"
	@echo " names of all routines in $(DESTDIR)$(mandir)/man3"; umask 022; \
	$(man_links) | while read section page name; do \
		echo ".so man$$section/$$page" >"$(DESTDIR)$(mandir)/man$$section/$$name.$$section" || exit 1; \
	done
uninstall-local:
	@echo " names of all routines from $(DESTDIR)$(mandir)/man3"; \
	if test -d "$(DESTDIR)$(mandir)"; then \
		$(man_links) | while read section page name; do echo "man$$section/$$name.$$section"; done | \
		(cd "$(DESTDIR)$(mandir)" && xargs rm -f); \
	fi

manual_tests = tests/lint/man.test tests/conformance/manual.test
dist_check_SCRIPTS += $(manual_tests)
TESTS += $(manual_tests)
