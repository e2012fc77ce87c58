/* The settings of the core: one structure, filled from one table (config.c). */
#ifndef SY_CORE_CONFIG_H
#define SY_CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <switchyard/bootstrap.h>
#include <switchyard/error.h>

struct sy_config {
    /* specification, section 8 */
    bool version, info;    /* SHMEM_VERSION, SHMEM_INFO: print at start-up on PE 0 */
    const char *debug;     /* SHMEM_DEBUG: "" = off, categories divided by commas, or "all" */
    size_t symmetric_size; /* SHMEM_SYMMETRIC_SIZE, bytes */

    const char *bootstrap;   /* SHMEM_BOOTSTRAP: "auto" or a name */
    struct sy_start start;   /* SHMEM_INIT_TIMEOUT, SHMEM_CONTROL_*, SHMEM_PE, ... */
    double stall_report;     /* SHMEM_STALL_REPORT, seconds that a wait lasts; 0: never */
    double deadlock_timeout; /* SHMEM_DEADLOCK_TIMEOUT, seconds; 0: never */
    const char *routes;      /* SHMEM_ROUTES: rules for pairs of PEs (route_rule.h) */
    bool show_routes;        /* SHMEM_SHOW_ROUTES: print the table of routes at start-up on PE 0 */
    long pes_per_node;       /* SHMEM_PES_PER_NODE: virtual nodes of so many PEs; 0: as they are */
    long teams_max;          /* SHMEM_TEAMS_MAX: teams that a PE can be in at a time */
    bool shared_only_self;   /* SHMEM_TEAM_SHARED_ONLY_SELF */
    bool barriers_flush;     /* SHMEM_BARRIERS_FLUSH */
    bool line_buffered;      /* SHMEM_LINE_BUFFERED: of stdout, where it is a pipe */
    int progress;            /* SHMEM_PROGRESS: enum sy_progress_mode */
    int wait;                /* SHMEM_WAIT: enum sy_wait_mode */
    int statics;             /* SHMEM_STATICS: enum sy_statics_mode; EARLY */
    bool check;              /* SHMEM_CHECK: argument checks */
    bool huge_pages;         /* SHMEM_SYMMETRIC_HEAP_USE_HUGE_PAGES: as HUGE_PAGES=2M */
    int symmetric_huge;      /* SHMEM_SYMMETRIC_HUGE_PAGES: enum sy_symmetric_huge */
    const char *symmetric_numa; /* SHMEM_SYMMETRIC_NUMA */
    const char *symmetric_file; /* SHMEM_SYMMETRIC_FILE: a directory */
    int log_level;              /* SHMEM_LOG_LEVEL: enum sy_log_level */
    const char *log_pes;        /* SHMEM_LOG_PES */
    const char *log_file;       /* SHMEM_LOG_FILE */
    bool warn_unknown_env;      /* SHMEM_WARN_UNKNOWN_ENV */
    bool backtrace;             /* SHMEM_BACKTRACE: of crashes */
    bool trap_on_abort; /* SHMEM_TRAP_ON_ABORT: SIGABRT instead of leaving, for a core file */

    /* SHMEM_x_ALGORITHM of collective routines on teams, and SHMEM_COLL_RADIX: children of a node
     * in the trees */
    int barrier_algorithm;  /* enum sy_barrier_algorithm */
    int bcast_algorithm;    /* enum sy_bcast_algorithm */
    int reduce_algorithm;   /* enum sy_reduce_algorithm */
    int scan_algorithm;     /* enum sy_scan_algorithm */
    int collect_algorithm;  /* enum sy_collect_algorithm: auto or linear */
    int fcollect_algorithm; /* enum sy_collect_algorithm */
    long coll_radix;
};

#define SY_TEAMS_MOST 3000 /* of teams_max: the control window has room for them */

enum sy_progress_mode { SY_PROGRESS_AUTO, SY_PROGRESS_THREAD, SY_PROGRESS_POLLING };
enum sy_wait_mode { SY_WAIT_AUTO, SY_WAIT_SPIN, SY_WAIT_YIELD, SY_WAIT_SLEEP };
enum sy_symmetric_huge { SY_SYMMETRIC_SMALL, SY_SYMMETRIC_2M, SY_SYMMETRIC_1G };
enum sy_statics_mode { SY_STATICS_AUTO, SY_STATICS_REMAP, SY_STATICS_SERVICE };

enum sy_barrier_algorithm {
    SY_BARRIER_AUTO,
    SY_BARRIER_LINEAR,
    SY_BARRIER_TREE,
    SY_BARRIER_DISSEM
};
enum sy_bcast_algorithm { SY_BCAST_AUTO, SY_BCAST_LINEAR, SY_BCAST_TREE };
enum sy_reduce_algorithm {
    SY_REDUCE_AUTO,
    SY_REDUCE_LINEAR,
    SY_REDUCE_TREE,
    SY_REDUCE_RECDBL,
    SY_REDUCE_RING
};
enum sy_scan_algorithm { SY_SCAN_AUTO, SY_SCAN_LINEAR, SY_SCAN_RING };
enum sy_collect_algorithm {
    SY_COLLECT_AUTO,
    SY_COLLECT_LINEAR,
    SY_COLLECT_RING,
    SY_COLLECT_RECDBL
};

extern struct sy_config sy_config;

/* Reads files and environment into sy_config; of files only `file`, unless it is NULL. May be
 * called again (re-initialisation). Returns the option set, to which plugins' tables are added, or
 * NULL with err. */
struct sy_options *sy_config_load(const char *file, struct sy_error *err);

/* The set of the last load, for tables that come later. */
struct sy_options *sy_config_options(void);

/* The startup texts of SHMEM_VERSION and SHMEM_INFO, written to stdout. */
void sy_config_print_version(void);
void sy_config_print_info(void);

#endif
