/* The known key that shim.c gives: byte i is FACTOR * i + FIRST. */
#ifndef SHIM_KEY_H
#define SHIM_KEY_H

enum { SHIM_KEY = 32, SHIM_KEY_FACTOR = 167, SHIM_KEY_FIRST = 41 };

#endif
