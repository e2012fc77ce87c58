/* Stand-ins for the members that a transport plugin leaves out. */
#ifndef SY_CORE_TRANSPORT_STUBS_H
#define SY_CORE_TRANSPORT_STUBS_H

#include <switchyard/transport.h>

extern const struct sy_transport sy_transport_stubs;

#endif
