/* Basic types. */
#ifndef IRPVERBS_WINDOWS_BASETSD_H_UMBRELLA
#define IRPVERBS_WINDOWS_BASETSD_H_UMBRELLA

#include <windows/wdk/types.h>

#endif
