/* Versions. */
#ifndef IRPVERBS_WINDOWS_NTVERP_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTVERP_H_UMBRELLA

#include <windows/wdk/types.h>

#endif
