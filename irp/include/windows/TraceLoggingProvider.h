/* TraceLogging. */
#ifndef IRPVERBS_WINDOWS_TRACELOGGINGPROVIDER_H_UMBRELLA
#define IRPVERBS_WINDOWS_TRACELOGGINGPROVIDER_H_UMBRELLA

#include <windows/wdk/trace_logging.h>

#endif
