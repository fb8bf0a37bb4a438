/* WMI. */
#ifndef IRPVERBS_WINDOWS_WMILIB_H_UMBRELLA
#define IRPVERBS_WINDOWS_WMILIB_H_UMBRELLA

#include <windows/wdk/wmi.h>

#endif
