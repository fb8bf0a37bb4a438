/* Event tracing. */
#ifndef IRPVERBS_WINDOWS_EVNTPROV_H_UMBRELLA
#define IRPVERBS_WINDOWS_EVNTPROV_H_UMBRELLA

#include <windows/wdk/wmi.h>

#endif
