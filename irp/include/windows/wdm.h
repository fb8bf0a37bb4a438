/* Windows Driver Model. */
#ifndef IRPVERBS_WINDOWS_WDM_H_UMBRELLA
#define IRPVERBS_WINDOWS_WDM_H_UMBRELLA
/* Sources test whether it is defined. */
#define _WDMDDK_

#include <windows/wdk/wdm.h>

#endif
