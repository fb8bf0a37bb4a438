/* Event tracing. */
#ifndef IRPVERBS_WINDOWS_WINMETA_H_UMBRELLA
#define IRPVERBS_WINDOWS_WINMETA_H_UMBRELLA

#include <windows/wdk/trace_levels.h>
#include <windows/wdk/wmi.h>

#endif
