/* Kernel-mode drivers. */
#ifndef IRPVERBS_WINDOWS_NTDDK_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTDDK_H_UMBRELLA
/* Sources test whether it is defined. */
#define _NTDDK_

#include <windows/wdk/wdm.h>

#endif
