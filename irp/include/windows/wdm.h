/* Windows Driver Model. */
#ifndef IRPVERBS_WINDOWS_WDM_H_UMBRELLA
#define IRPVERBS_WINDOWS_WDM_H_UMBRELLA

#include <windows/wdk/wdm.h>

#endif
