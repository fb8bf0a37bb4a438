/* WMI. */
#ifndef IRPVERBS_WINDOWS_WMISTR_H_UMBRELLA
#define IRPVERBS_WINDOWS_WMISTR_H_UMBRELLA

#include <windows/wdk/wmi.h>

#endif
