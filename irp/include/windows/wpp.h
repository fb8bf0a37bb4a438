/* Software tracing by WPP. */
#ifndef IRPVERBS_WINDOWS_WPP_H_UMBRELLA
#define IRPVERBS_WINDOWS_WPP_H_UMBRELLA

#include <windows/wdk/wpp.h>

#endif
