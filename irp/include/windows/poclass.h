/* Power management. */
#ifndef IRPVERBS_WINDOWS_POCLASS_H_UMBRELLA
#define IRPVERBS_WINDOWS_POCLASS_H_UMBRELLA

#include <windows/wdk/power.h>

#endif
