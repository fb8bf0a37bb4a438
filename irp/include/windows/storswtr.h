/* Trace settings of Microsoft's own storage drivers: none here. */
#ifndef IRPVERBS_WINDOWS_STORSWTR_H
#define IRPVERBS_WINDOWS_STORSWTR_H

#include <windows/wdk/trace_levels.h>
#include <windows/wdk/wpp.h>

#define TracePrint(arguments) WPP_NO_TRACE

#endif
