/* Basic types. */
#ifndef IRPVERBS_WINDOWS_NTDEF_H_UMBRELLA
#define IRPVERBS_WINDOWS_NTDEF_H_UMBRELLA

#include <windows/wdk/exceptions.h>
#include <windows/wdk/guid.h>
#include <windows/wdk/types.h>

#endif
