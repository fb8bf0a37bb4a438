/* Kernel-mode drivers. */
#ifndef IRPVERBS_WINDOWS_NTDDK_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTDDK_H_UMBRELLA

#include <windows/wdk/wdm.h>

#endif
