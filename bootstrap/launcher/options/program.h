/* Finds the program to run before anything starts: a wrong name gives one line, not one per PE. */
#ifndef SY_LAUNCHER_PROGRAM_H
#define SY_LAUNCHER_PROGRAM_H

/* The path of `name`: itself if it has a slash, else the first that can be executed along PATH. The
 * result is allocated. Otherwise NULL, *status is 127 (not found) or 126 (cannot be run), and *why
 * says why (allocated); both may be left out. */
char *sy_program_find(const char *name, int *status, char **why);

/* The status with which a shell would report this error of exec. */
int sy_program_status(int error);

#endif
