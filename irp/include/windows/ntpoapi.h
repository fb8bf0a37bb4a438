/* Power management. */
#ifndef IRPVERBS_WINDOWS_NTPOAPI_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTPOAPI_H_UMBRELLA

#include <windows/wdk/power.h>

#endif
