/* Joining a job: chooses the bootstrap plugin that recognises its launcher and keeps it for the
 * life of the process. */
#ifndef SY_CORE_BOOT_H
#define SY_CORE_BOOT_H

#include <switchyard/bootstrap.h>
#include <switchyard/host.h>

/* The chosen plugin, and its instance; NULL before sy_boot_open and after sy_boot_close. */
extern const struct sy_bootstrap *sy_boot;
extern void *sy_boot_self;

struct sy_options;

/* `wanted`: "auto" or a plugin's name. Fills *job but for its key. Does nothing else when already
 * open. */
int sy_boot_open(const char *wanted, struct sy_options *options, const struct sy_host *host,
                 struct sy_job *job, struct sy_error *err);
void sy_boot_close(void);

/* The job's key, or NULL. It stands in a page of its own, which core files leave out, from the
 * first initialisation to sy_boot_close: there may be another one. */
const unsigned char *sy_boot_key(void);

/* Reports to the launcher that the process ends, while its other threads may be anywhere, in the
 * plugin too; the plugin stays loaded. */
void sy_boot_leave(void);

#endif
